"""What a run came to, in at most ten lines for the terminal."""

import io
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.errors import DataError
from reproduction.grid.checkout import git
from reproduction.grid.config import Config, load_config

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["dataset", "interval", "algorithm", "kappa"]
QUALITIES = ("accuracy", "risk")  # of classification, of regression
SHOWN = 7  # settings of one experiment that are printed
STATUS_WORDS = {
    "tolerance missed": "missed the tolerance in training",
    "not_applicable": "of a method that does not apply (fit.json says why)",
    "not_run": "not run",
}
"""Statuses in other words than their own."""
LABELS = ["algorithm", "dataset", "interval", "kappa", "metric", "seed", "split"]


def summary(config_path: str | Path, experiment: str | None = None, root: str | Path = ".") -> Iterator[str]:
    """Yield the results of one experiment, or the verdict of each paper, as lines; see :func:`read`."""
    found = read(config_path, experiment, root)
    yield from _verdicts(found) if "papers" in found else _table(found)


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
    made = next((one for one in pages if (Path(root) / one).is_file()), None)
    return _experiment(config, name, Path(root)) | {"page": made or pages[0], "drawn": made is not None}


def _papers(root: Path, params: str | Path) -> dict[str, Any]:
    """Return the verdicts, how the scorecard differs from the committed one, and where to read on."""
    from reproduction.site.papers import Verdict
    from reproduction.site.project import Project

    project = Project(root, params)
    of = {name: Verdict.of(project, name) for name in project.papers}
    reports = project.config.reports
    return {
        "papers": [
            {"paper": name, "title": one.short, "verdict": one.word, "counts": [text for text in one.counts if text]}
            for name, one in of.items()
        ],
        "committed": _against_committed(root, reports / "scorecard.csv", "verdict", "line"),
        "page": str(reports / "index.html"),
    }


def _verdicts(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line per paper, and where to read on."""
    for one in found["papers"]:
        yield f"{one['title']:<22}{one['verdict']:<15}{'; '.join(one['counts'])}"
    yield found["committed"]
    yield f"page: {found['page']}; make docs builds site/index.html, which explains all verdicts"


def _experiment(config: Config, name: str, root: Path) -> dict[str, Any]:
    """Return the settings of one experiment with what was measured."""
    import pandas as pd

    from partialfair import plugins

    experiment = config.experiment(name)
    path = root / "reports" / name / "metrics.parquet"
    if not path.is_file():
        other = [] if config.source == "params.yaml" else ["--config", config.source]
        raise DataError(f"{path}: missing; run `{shlex.join(['partialfair', 'run', name, *other])}` first")
    violation = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
    metrics = pd.read_parquet(path)
    test = metrics[(metrics["split"] == "test") & metrics["metric"].isin([*QUALITIES, violation])]
    values = test.pivot_table(index=[*KEYS, "seed"], columns="metric", values="value", dropna=False)
    values = values.dropna(how="all").reindex(columns=[*QUALITIES, violation])
    qualities = [name for name in QUALITIES if values[name].notna().any()] or [QUALITIES[0]]
    values["fairness"] = 1 - values[violation]
    measured = dict(iter(values.groupby(KEYS)))
    settings = []
    for key, status in metrics.drop_duplicates([*KEYS, "seed"]).groupby(KEYS)["status"]:
        rows = measured.get(key, values.iloc[:0])
        settings.append(
            dict(zip(KEYS, key, strict=True))
            | {"kappa": None if math.isinf(key[-1]) else float(key[-1]), "seeds": len(rows)}
            | {measure: _spread(rows[measure]) for measure in (*qualities, "fairness")}
            | {"statuses": {str(word): int(count) for word, count in status[status != "ok"].value_counts().items()}}
        )
    return {
        "experiment": name,
        "title": experiment.title,
        "qualities": qualities,
        "violation": violation,
        "settings": settings,
        "committed": _against_committed(root, Path("reports") / name / "metrics.parquet", "value", "value"),
    }


def _table(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one experiment, at most ten."""
    settings = found["settings"]
    shown = settings if len(settings) <= SHOWN else settings[: SHOWN - 1]
    rest = settings[len(shown) :]
    measures = [*found["qualities"], "fairness"]
    lines = [["dataset", "method", "kappa", *measures, f"test rows, {found['title']}"]]
    for one in shown:
        kappa = "inf" if one["kappa"] is None else f"{one['kappa']:g}"
        last = f"{one['seeds']} seeds{_faults([one], ', ')}"
        lines.append([one["dataset"], one["algorithm"], kappa, *(_shown(one[name]) for name in measures), last])
    yield from _aligned(lines)
    if rest:
        yield f"and {len(rest)} more settings{_faults(rest, '; of their runs ')}"
    yield found["committed"]
    remedy = f" (not drawn yet: partialfair run {found['experiment']})"
    yield f"page: {found['page']}{'' if found['drawn'] else remedy}"


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines whose columns are as wide as their longest text: names at the left, numbers at the right."""
    *columns, _ = zip(*lines, strict=True)
    widths = [max(map(len, column)) for column in columns]
    for *cells, last in lines:
        names = map(str.ljust, cells[:2], widths[:2])
        numbers = map(str.rjust, cells[2:], widths[2:])
        yield "  ".join([*names, *numbers, last])


def _faults(settings: Sequence[Mapping[str, Any]], lead: str) -> str:
    """Say of how many runs something is to be said, after the words that lead there; nothing if of none."""
    counts = Counter[str]()
    for one in settings:
        counts.update(one["statuses"])
    said = [f"{count} {STATUS_WORDS.get(status, status)}" for status, count in sorted(counts.items())]
    return lead + ", ".join(said) if said else ""


def _against_committed(root: Path, path: Path, column: str, what: str) -> str:
    """Say in a line how a table of results differs from the committed one."""
    import pandas as pd

    checkout = (root / "Snakefile").resolve().parent  # the demo's folder has links to its files
    shown = git("show", f"HEAD:./{path}", folder=checkout)
    if shown is None:
        return f"committed results: none of {path} to compare with"
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    before, now = read(io.BytesIO(shown)), read(root / path)
    if len(before) != len(now):
        return f"committed results: {len(before)} {what}s in {path}, now {len(now)}"
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
        return "same as the committed results"
    note = " in their verdict"
    if column == "value":
        worst = now.loc[apart.idxmax()]
        note = f", at most by {apart.max():.2g} ({worst['algorithm']} at {worst['kappa']:g}, {worst['metric']})"
    return f"committed results: {count} of {len(now)} {what}s differ{note}"


def _spread(values: "pd.Series[float]") -> dict[str, float | None]:
    """Return mean and standard deviation, each ``None`` where there is none."""
    found = {"mean": float(values.mean()), "sd": float(values.std())}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def _shown(spread: Mapping[str, float | None]) -> str:
    """Return mean ± standard deviation."""
    if spread["mean"] is None:
        return "not estimable"
    return f"{spread['mean']:.4f}" + ("" if spread["sd"] is None else f" ± {spread['sd']:.4f}")
