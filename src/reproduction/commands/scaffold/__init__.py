"""Skeletons: of a plug-in, a documented module that works, its test and its page; of a paper, a folder that runs."""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from partialfair import plugins
from partialfair.data.files import atomic_path
from partialfair.errors import ConfigError

TEMPLATES = Path(__file__).parent / "templates"
SHARED = "cross_paper"
"""Folder of ``papers`` for what serves several of them."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True)
class Kind:
    """The files of a kind of skeleton by their templates, what to do next, what the project must have, and its room.

    The room is the folder of a house or a paper in which plug-ins of that kind are; a paper has none.
    """

    files: Mapping[str, str]
    next_steps: tuple[str, ...]
    needs: tuple[str, ...] = ("src/partialfair", "papers")
    folder: str = ""


def _plugin(kind: str, folder: str, *next_steps: str, has_page: bool = True) -> Kind:
    """A plug-in of a paper: a module, its test and, of some kinds, its page of the documentation."""
    module, test = f"papers/{{paper}}/{folder}/{{name}}.py", "papers/{paper}/tests/test_{name}.py"
    if kind == "metric":  # which the library offers to everybody
        module, test = f"src/partialfair/{folder}/{{name}}.py", f"tests/{folder}/test_{{name}}.py"
    files = {f"{kind}.txt": module, f"{kind}_test.txt": test}
    steps = [step.replace("{module}", module) for step in next_steps]
    if has_page:
        page = files[f"{kind}_page.txt"] = f"docs/{folder}/{{name}}.md"
        steps.append(f"describe it in {page}, its page of the documentation")
    steps.append(f"run `pytest {test}`, and `partialfair check` once params.yaml names it")
    return Kind(files, tuple(steps), folder=folder)


_PAPER_FILES = ("paper.yaml", "grid.yaml", "published.csv", "claims.yaml", "README.md")

KINDS = {
    "dataset": _plugin(
        "dataset",
        "datasets",
        "put the raw file at data/raw/{name}/{name}.csv; describe it in {module}, and change the rows of its test",
        "add `{name}: {{}}` under datasets in params.yaml, and under the runs of an experiment",
    ),
    "algorithm": _plugin(
        "algorithm",
        "algorithms",
        "replace the solver in {module} by your own",
        "add `{name}: [0.1, 0.05]`, its values of kappa, under the algorithms of an experiment in params.yaml",
        "add a row for it to the table in docs/algorithms/index.md",
    ),
    "metric": _plugin(
        "metric",
        "metrics/on_request",
        "replace the formula in {module}, and CASES in its test by values computed by hand",
        "write `metrics: [{name}]` in the experiments that want it; no other run is outdated by it",
        has_page=False,
    ),
    "exhibit": _plugin(
        "exhibit",
        "exhibits",
        "replace csv_lines and draw in {module}",
        "add `{name}: {{kind: {name}, title: ..., experiments: [demo]}}` under exhibits in params.yaml",
        has_page=False,
    ),
    "constraint": _plugin(
        "constraint",
        "constraints",
        "replace the bound in {module} and `expected` in its test; name in VIOLATION the metric that measures it",
        "write `constraint: {name}` in an experiment of params.yaml; the estimators take it by the same name",
        has_page=False,
    ),
    "paper": Kind(
        {f"paper/{file}": f"papers/{{name}}/{file}" for file in _PAPER_FILES},
        (
            "run `snakemake --cores all --config params=papers/{name}/grid.yaml`, and open reports/{name}/index.html",
            "put the paper's experiments, numbers and sentences into papers/{name}/, which params.yaml includes",
        ),
        needs=("params.yaml",),
    ),
}


@dataclass(frozen=True)
class Created:
    """The files of a skeleton, relative to the project, and what to do next."""

    files: tuple[Path, ...]
    next_steps: tuple[str, ...]


def create(kind: str, name: str, project: str | Path = ".", paper: str = SHARED) -> Created:
    """Write a skeleton into a checkout of the project.

    Args:
        kind: ``"dataset"``, ``"algorithm"``, ``"metric"``, ``"constraint"``, ``"exhibit"`` or ``"paper"``.
        name: the plug-in's or the paper's: lower case letters, digits and underscores.
        project: root of the checkout.
        paper: the paper that a plug-in serves, a folder of ``papers``; by default the one that papers share.

    Raises:
        ConfigError: another kind or paper, a name that cannot be one or is taken, a file that exists, or no checkout.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}; {plugins.did_you_mean(kind, KINDS)}")
    if not NAME.fullmatch(name):
        raise ConfigError(f"name {name!r}: use lower case letters, digits and underscores, beginning with a letter")
    if keyword.iskeyword(name):
        raise ConfigError(f"name {name!r}: it is a word of Python itself; choose another name")
    root, skeleton = Path(project), KINDS[kind]
    if not all((root / needed).exists() for needed in skeleton.needs):
        raise ConfigError(
            f"{root.resolve()} has no {' and '.join(skeleton.needs)}; run this in a checkout of the project, or name "
            "it with --project"
        )
    papers = sorted(path.name for path in (root / "papers").glob("[a-z]*") if path.is_dir())
    if kind not in ("paper", "metric") and paper not in (SHARED, *papers):
        raise ConfigError(f"there is no paper {paper!r}; {plugins.did_you_mean(paper, papers)}")
    files = {template: Path(target.format(name=name, paper=paper)) for template, target in skeleton.files.items()}
    for path in files.values():
        if (root / path).exists():
            raise ConfigError(f"{path} exists already; choose another name, or move the file away")
    _refuse_taken(kind, name, root, next(iter(files.values())).parent)
    packages = []
    for template, path in files.items():
        _write(root / path, template, name, paper)
        if kind != "paper" and path.parts[0] == "papers":
            packages += _make_packages(root, path)
    steps = tuple(step.format(name=name, paper=paper) for step in skeleton.next_steps)
    return Created((*files.values(), *packages), steps)


def _make_packages(root: Path, path: Path) -> list[Path]:
    """Make the folders that hold a module of a paper packages, as those of the papers are; return what is written."""
    modules = [folder / "__init__.py" for folder in path.parents[:-1]]
    absent = [module for module in modules if not (root / module).exists()]
    for module in absent:
        title = module.parent.name.replace("_", " ").capitalize()
        with atomic_path(root / module) as file:
            file.write_text(f'"""{title} of papers."""\n', encoding="utf-8")
    return absent


def _refuse_taken(kind: str, name: str, root: Path, target: Path) -> None:
    """Refuse the name of a plug-in of that kind that exists, or a paper's that the grid uses.

    With two of one name, every command would fail, or two reports would share a folder.
    """
    if kind == "paper":
        from reproduction.grid.checks import RESERVED
        from reproduction.grid.config import load_config

        grid = load_config(root / "params.yaml")
        if name in {*RESERVED, *grid.experiments, *grid.params.exhibits}:
            raise ConfigError(f"{name!r} is an experiment, an exhibit or a rule of the workflow; choose another name")
    folder = KINDS[kind].folder
    if folder and (root / target / name).is_dir():
        raise ConfigError(f"{target.as_posix()}/{name} is a folder of the package; choose another name")
    if kind == "dataset" and (root / "params.yaml").is_file():
        from reproduction.grid.config import load_config

        if name in load_config(root / "params.yaml").params.datasets:
            raise ConfigError(f"{name!r} is an entry of datasets in params.yaml; choose another name")
    room = folder.removesuffix("/on_request")
    houses = [root / "src/partialfair", root / "src/reproduction", *sorted((root / "papers").glob("[a-z]*"))]
    for path in [path for house in houses if folder for path in sorted((house / room).rglob(f"{name}.py"))]:
        raise ConfigError(f"{path.relative_to(root)} exists already; choose another name than {name!r}")
    if kind != "metric":
        return
    from partialfair.metrics import registry

    if name in registry.registry() or name in registry.on_request():
        raise ConfigError(f"metric {name!r} exists already; choose another name")


def _write(target: Path, template: str, name: str, paper: str) -> None:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    text = text.replace("__NAME__", name).replace("__PAPER__", paper).replace("__TITLE__", name.replace("_", " "))
    text = text.replace("__CLASS__", "".join(word.capitalize() for word in name.split("_")))
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
