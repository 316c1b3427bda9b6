"""Everything that is checked of a grid before anything runs: settings, exhibits and claims."""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

from partialfair import plugins
from partialfair.errors import ConfigError
from reproduction.datasets.named import module_name
from reproduction.grid import answer_cache, fingerprint, papers
from reproduction.grid.checks import check_settings
from reproduction.grid.config import Config

COMMON = plugins.ROOT / "metrics"
NAMED_AS_IN_THE_GRID = {"pairs", "levels", "mean_std_table"}
"""Kinds of exhibits whose printed numbers name datasets and algorithms as the grid does."""


def check_grid(config: Config) -> None:
    """Refuse settings, exhibits, claims and published numbers that cannot be, before anything runs.

    The algorithms and the kinds of exhibits of the grid are imported for it.

    Raises:
        ConfigError: one sentence that names the key, the value and the remedy.
        DataError: the same of a line of ``published.csv``.
    """
    from reproduction.exhibits.exhibit import check_exhibits
    from reproduction.verdicts import published

    check_common_metrics()
    check_settings(config)
    check_labels(config)
    for paper in config.papers:
        if paper not in papers.folders() and (stray := papers.files(paper)):
            about = papers.file(paper, papers.ABOUT)
            raise ConfigError(
                f"{about}: there is no such file, and there is {stray[0]}; write it, with a title at least"
            )
        papers.paper(paper)
        published.load(paper)
    check_exhibits(config)
    check_published(config)
    check_first_figures(config)


def check_common_metrics(folder: Path = COMMON) -> None:
    """Refuse a metric beside the common ones: every run would have it, and no evaluation would count with it.

    Raises:
        ConfigError: naming all such files.
    """
    further = [path for path in sorted(folder.glob("[a-z]*.py")) if path.stem not in fingerprint.COMMON_METRICS]
    if wrong := [path.name for path in further if re.search(r"^METRICS\b", path.read_text(encoding="utf-8"), re.M)]:
        raise ConfigError(
            f"metrics/{', metrics/'.join(wrong)}: the metrics of every run are fixed, as a new one would outdate all "
            "evaluations; move such a file to metrics/on_request, and name its metrics where they are wanted: metrics: "
            "[NAME] in an experiment"
        )


def check_first_figures(config: Config) -> None:
    """Refuse a figure of the site's first page that the grid does not have or that shows something else.

    Raises:
        ConfigError: naming file, key, value and remedy.
    """
    from reproduction.exhibits.exhibit import kind_of

    exhibits, methods = config.params.exhibits, plugins.names("algorithms")
    for paper in config.papers:
        figure = papers.paper(paper).first_figure
        if figure is None or not papers.experiments(paper) <= config.experiments.keys():
            continue
        where = f"{papers.file(paper, papers.ABOUT)}: first_figure"
        if figure.exhibit not in exhibits:
            hint = plugins.did_you_mean(figure.exhibit, exhibits)
            raise ConfigError(f"{where}.exhibit: unknown exhibit {figure.exhibit!r}; {hint}")
        if not {"algorithm", "kappa", "fairness", "accuracy"} <= {*kind_of(config, figure.exhibit).columns}:
            raise ConfigError(
                f"{where}.exhibit: {figure.exhibit} does not show accuracy against fairness; name an exhibit of the "
                "kind scatter with the source fairness"
            )
        for name in figure.hidden:
            if name not in methods:
                raise ConfigError(f"{where}.hidden: unknown algorithm {name!r}; {plugins.did_you_mean(name, methods)}")


def check_published(config: Config) -> None:
    """Refuse printed numbers of an exhibit that the grid does not have, and of datasets or methods that nothing knows.

    What a row is of is left open where the kind of exhibit has words of its own for it.

    Raises:
        ConfigError: naming file, line, name and remedy.
    """
    from reproduction.verdicts import published
    from reproduction.verdicts.claim_checks import shown_as

    kinds_by_exhibit = shown_as(config)
    exhibits = {*config.params.exhibits, *kinds_by_exhibit}
    names_by_field = {
        "dataset": {name for experiment in config.experiments.values() for name in experiment.runs},
        "algorithm": set(plugins.names("algorithms")),
    }
    for paper in config.papers:
        experiments = papers.experiments(paper)
        for row in published.load(paper) if experiments <= config.experiments.keys() else ():
            if row.exhibit not in exhibits:
                hint = plugins.did_you_mean(row.exhibit, exhibits)
                raise ConfigError(f"{row.where}: unknown exhibit {row.exhibit!r}; {hint}")
            kinds = kinds_by_exhibit.get(row.exhibit, set())
            for field, names in names_by_field.items() if kinds and kinds <= NAMED_AS_IN_THE_GRID else ():
                name = getattr(row, field)
                if name and name not in names:
                    raise ConfigError(f"{row.where}: unknown {field} {name!r}; {plugins.did_you_mean(name, names)}")


def check_labels(config: Config) -> None:
    """Refuse to constrain tables whose label is a number where the violation is one of classes.

    No such run could be made. Methods without a constraint are let through.

    Raises:
        ConfigError: naming dataset and constraint.
    """
    from reproduction.jobs.evaluate import REGRESSION

    for name, experiment in config.experiments.items():
        violation = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
        if violation in (*REGRESSION, *experiment.metrics):
            continue
        for dataset, run in experiment.runs.items():
            chosen = [plugins.load("algorithms", algorithm).ALGORITHM for algorithm in run.algorithms]
            constrained = any(getattr(algorithm, "constrained", True) for algorithm in chosen)
            if constrained and label_is_number(config, dataset):
                raise ConfigError(
                    f"{config.source}: experiments.{name}.runs.{dataset}: the label of {dataset} is a number, and "
                    f"{experiment.constraint} needs two classes; use distribution_parity, or a table with classes"
                )


def label_is_number(config: Config, dataset: str) -> bool:
    """Tell whether the entry of a dataset, or the text of its module, says that the label is a number."""
    options = config.dataset_options(dataset)
    module = module_name(dataset, options)
    if "task" in (plugins.parameters("datasets", module, "load") or ()):
        return options.get("task") == "regression"
    return _makes_numbers(module)


@cache
def _makes_numbers(module: str) -> bool:
    """Tell whether the text of a dataset's module says that its label is a number."""
    tree = ast.parse(plugins.file_of("datasets", module).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Dataset"]
    tasks = [{word.arg: ast.unparse(word.value) for word in call.keywords}.get("task") for call in calls]
    return bool(tasks) and all(task == repr("regression") for task in tasks)


def without_folder(config: Config) -> list[str]:
    """Return a sentence on each paper of a grid that has no folder: nothing is held against its results."""
    sentences, folders = [], papers.folders()
    for paper in config.papers:
        if paper not in folders:
            names = ", ".join(name for name, experiment in config.experiments.items() if experiment.paper == paper)
            near = plugins.nearest(paper, folders)
            hint = f"did you mean {near!r}?" if near else f"`partialfair new paper {paper}` writes one"
            about = papers.file(paper, papers.ABOUT)
            sentences.append(f"{config.source}: no numbers or claims for the paper of {names}: no {about}; {hint}")
    return sentences


def check_grid_once(config: Config) -> None:
    """The same, unless this source has found nothing to refuse in the same grid and papers before.

    Raises:
        ConfigError: see :func:`check_grid`.
    """
    digest = hashlib.sha256(repr((config.name, config.source, config.whole, config.params)).encode())
    for path in sorted([*papers.FOLDER.rglob("*.yaml"), *papers.FOLDER.rglob("*.csv")]):
        digest.update(f"\0{path.as_posix()}\0".encode() + path.read_bytes())

    def check() -> str:
        check_grid(config)
        return "nothing to refuse"

    answer_cache.answer(f"grid {digest.hexdigest()}", check)
