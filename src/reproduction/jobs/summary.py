"""What a run came to, in at most ten lines for the terminal."""

import io
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.errors import DataError
from reproduction.grid import paths
from reproduction.grid.checkout import git
from reproduction.grid.config import Config, load_config
from reproduction.grid.table_files import read_table

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["dataset", "interval", "algorithm", "kappa"]
QUALITIES = ("accuracy", "risk")  # of classification, of regression
SHOWN = 7  # settings of one experiment that are printed
MISSED = "tolerance missed"
SAME = "same as the committed results"
STATUS_WORDS = {
    MISSED: "above kappa, or above what the method accepts, in training",
    "not_applicable": "of a method that does not apply (fit.json says why)",
    "not_run": "not run",
}
"""Statuses in other words than their own."""
LABELS = ["algorithm", "dataset", "interval", "kappa", "metric", "seed", "split"]


def summary(config_path: str | Path, experiment: str | None = None, root: str | Path = ".") -> Iterator[str]:
    """Yield the results of one experiment, or the verdict of each paper, as lines; see :func:`read`."""
    content = read(config_path, experiment, root)
    yield from _verdicts(content) if "papers" in content else _table(content)


def read(config_path: str | Path, experiment: str | None = None, root: str | Path = ".") -> dict[str, Any]:
    """Return the results of one experiment, or the verdict of each paper, in plain types.

    Quality is the accuracy, of regressions the risk; fairness is 1 minus the metric that belongs to the experiment's
    kappa scale. Means and standard deviations are over the seeds, on the test rows; what is not estimable is ``None``,
    as kappa is without a constraint. Of the statuses other than ``ok``, the numbers of runs are given.

    Raises:
        ConfigError: there is no such experiment.
        DataError: an experiment has not been evaluated, or there is no scorecard.
    """
    config = load_config(config_path)
    if experiment is None and len(config.experiments) > 1:
        return _papers(Path(root), config_path)
    name = experiment or next(iter(config.experiments))
    page = config.reports if experiment is None else config.restricted(name).reports  # of a grid, or of one experiment
    pages = [str(page / "index.html"), str(config.restricted(name).reports / "index.html")]
    made = next((page_path for page_path in pages if (Path(root) / page_path).is_file()), None)
    return _experiment(config, name, Path(root)) | {"page": made or pages[0], "drawn": made is not None}


def _papers(root: Path, params: str | Path) -> dict[str, Any]:
    """Return the verdicts, how the scorecard differs from the committed one, and where to read on."""
    from reproduction.site.papers import Verdict
    from reproduction.site.project import Project

    project = Project(root, params)
    verdicts = {name: Verdict.of_paper(project, name) for name in project.papers}
    reports = project.config.reports
    return {
        "papers": [
            {
                "paper": name,
                "title": verdict.short,
                "verdict": verdict.word,
                "counts": [text for text in verdict.counts if text],
            }
            for name, verdict in verdicts.items()
        ],
        "committed": _against_committed(root, reports / "scorecard.csv", "verdict", "line"),
        "page": str(reports / "index.html"),
    }


def _verdicts(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line per paper, and where to read on."""
    for verdict in content["papers"]:
        yield f"{verdict['title']:<22}{verdict['verdict']:<15}{'; '.join(verdict['counts'])}"
    yield content["committed"]
    yield f"page: {content['page']}; make docs builds site/index.html, which explains all verdicts"


def _experiment(config: Config, name: str, root: Path) -> dict[str, Any]:
    """Return the settings of one experiment with what was measured."""
    from partialfair import plugins

    experiment = config.experiment(name)
    path = root / "reports" / name / "metrics.parquet"
    if not path.is_file():
        config_option = [] if config.source == "params.yaml" else ["--config", config.source]
        raise DataError(f"{path}: missing; run `{shlex.join(['partialfair', 'run', name, *config_option])}` first")
    violation = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
    metrics = read_table(path)
    test = metrics[(metrics["split"] == "test") & metrics["metric"].isin([*QUALITIES, violation])]
    values = test.pivot_table(index=[*KEYS, "seed"], columns="metric", values="value", dropna=False)
    values = values.dropna(how="all").reindex(columns=[*QUALITIES, violation])
    qualities = [name for name in QUALITIES if values[name].notna().any()] or [QUALITIES[0]]
    values["fairness"] = 1 - values[violation]
    measured = dict(iter(values.groupby(KEYS)))
    runs = root / paths.COLLECTED.format(experiment=name, table="runs")
    excess = dict(_excess(runs)) if runs.is_file() else {}
    settings = []
    for key, status in metrics.drop_duplicates([*KEYS, "seed"]).groupby(KEYS)["status"]:
        rows = measured.get(key, values.iloc[:0])
        settings.append(
            dict(zip(KEYS, key, strict=True))
            | {"kappa": None if math.isinf(key[-1]) else float(key[-1]), "seeds": len(rows)}
            | {measure: _spread(rows[measure]) for measure in (*qualities, "fairness")}
            | {"excess": None if math.isnan(most := float(excess.get(key, math.nan))) else most}
            | {"statuses": {str(word): int(count) for word, count in status[status != "ok"].value_counts().items()}}
        )
    return {
        "experiment": name,
        "title": experiment.title,
        "qualities": qualities,
        "violation": violation,
        "settings": settings,
        "committed": _tables_against_committed(root, name),
    }


def _table(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one experiment, at most ten."""
    settings = content["settings"]
    listed = settings if len(settings) <= SHOWN else settings[: SHOWN - 1]
    unlisted = settings[len(listed) :]
    measures = [*content["qualities"], "fairness"]
    lines = [
        [
            "dataset",
            "method",
            "kappa",
            *measures,
            f"test rows, mean ± standard deviation over seeds: {content['title']}",
        ]
    ]
    for setting in listed:
        kappa = "inf" if setting["kappa"] is None else f"{setting['kappa']:g}"
        last = f"{setting['seeds']} seeds{_note(setting)}"
        lines.append(
            [setting["dataset"], setting["algorithm"], kappa, *(_number_text(setting[name]) for name in measures), last]
        )
    yield from _aligned(lines)
    if unlisted:
        yield f"and {len(unlisted)} more settings{_faults(unlisted, '; of their runs ')}"
    yield content["committed"]
    remedy = f" (not drawn yet: partialfair run {content['experiment']})"
    yield f"page: {content['page']}{'' if content['drawn'] else remedy}"


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines whose columns are as wide as their longest text: names at the left, numbers at the right."""
    *columns, _ = zip(*lines, strict=True)
    widths = [max(map(len, column)) for column in columns]
    for *cells, last in lines:
        names = map(str.ljust, cells[:2], widths[:2])
        numbers = map(str.rjust, cells[2:], widths[2:])
        yield "  ".join([*names, *numbers, last])


def _note(setting: Mapping[str, Any]) -> str:
    """Say of a setting by how much training exceeded kappa, and what else is to be said of its runs."""
    statuses = {status: count for status, count in setting["statuses"].items() if status != MISSED}
    notes = _faults([{"statuses": statuses}], ", ")
    if not setting["statuses"].get(MISSED):
        return notes
    excess = setting["excess"]
    if excess is None or excess <= 0:
        return f", smoothed constraint not met in training{notes}"
    return f", at most {excess:.2g} above kappa in training{notes}"


def _excess(path: Path) -> "pd.Series[float]":
    """Return by how much the constraint exceeds kappa on the training rows, the most over the seeds of each setting."""
    import pandas as pd

    runs = read_table(path)
    if "true_violation" not in runs or not set(KEYS) <= set(runs.columns):
        return pd.Series(dtype=float)
    return runs.groupby(KEYS)["true_violation"].max()


def _faults(settings: Sequence[Mapping[str, Any]], lead: str) -> str:
    """Say of how many runs something is to be said, after the words that lead there; nothing if of none."""
    counts = Counter[str]()
    for setting in settings:
        counts.update(setting["statuses"])
    phrases = [f"{count} {STATUS_WORDS.get(status, status)}" for status, count in sorted(counts.items())]
    return lead + ", ".join(phrases) if phrases else ""


def _tables_against_committed(root: Path, name: str) -> str:
    """Say in a line how the tables of an experiment differ from the committed ones: values, or what became of runs."""
    differing = _against_committed(root, Path("reports") / name / "metrics.parquet", "value", "value")
    runs = root / paths.COLLECTED.format(experiment=name, table="runs")
    if differing != SAME or not runs.is_file():
        return differing
    return _against_committed(root, runs.relative_to(root), "status", "run")


def _against_committed(root: Path, path: Path, column: str, kind: str) -> str:
    """Say in a line how a table of results differs from the committed one."""
    import pandas as pd

    checkout = (root / "Snakefile").resolve().parent  # the demo's folder has links to its files
    committed = git("show", f"HEAD:./{path}", folder=checkout)
    if committed is None:
        return f"committed results: none of {path} to compare with"
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    before, now = read(io.BytesIO(committed)), read(root / path)
    if len(before) != len(now):
        return f"committed results: {len(before)} {kind}s in {path}, now {len(now)}"
    if column == "value":
        before, now = (table.sort_values(LABELS, ignore_index=True) for table in (before, now))
        if not before[LABELS].equals(now[LABELS]):
            return f"committed results: those in {path} are of other settings"
        lone = before[column].isna() != now[column].isna()
        apart = (before[column] - now[column]).abs().fillna(0.0).mask(lone, math.inf)
        count = int((apart > 0).sum())
    else:
        count = int((before[column] != now[column]).sum())
    if not count:
        return SAME
    note = f" in their {column}"
    if column == "value":
        worst = now.loc[apart.idxmax()]
        note = f", at most by {apart.max():.2g} ({worst['algorithm']} at {worst['kappa']:g}, {worst['metric']})"
    return f"committed results: {count} of {len(now)} {kind}s differ{note}"


def _spread(values: "pd.Series[float]") -> dict[str, float | None]:
    """Return mean and standard deviation, each ``None`` where there is none."""
    moments = {"mean": float(values.mean()), "sd": float(values.std())}
    return {name: None if math.isnan(value) else value for name, value in moments.items()}


def _number_text(spread: Mapping[str, float | None]) -> str:
    """Return mean ± standard deviation over seeds."""
    if spread["mean"] is None:
        return "not estimable"
    return f"{spread['mean']:.4f}" + ("" if spread["sd"] is None else f" ± {spread['sd']:.4f}")
