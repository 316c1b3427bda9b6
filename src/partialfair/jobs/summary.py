"""What a run came to, in at most ten lines for the terminal."""

import io
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from partialfair.errors import DataError
from partialfair.grid.config import Config, load_config

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["dataset", "interval", "algorithm", "kappa"]
SHOWN = 7  # settings of one experiment that are printed
LABELS = ["algorithm", "dataset", "interval", "kappa", "metric", "seed", "split"]


def summary(config_path: str | Path, experiment: str | None = None, root: str | Path = ".") -> Iterator[str]:
    """Yield the results of one experiment, or the verdict of each paper.

    Fairness is 1 minus the metric that belongs to the experiment's kappa scale; means and standard
    deviations are over the seeds, on the test rows.

    Raises:
        ConfigError: there is no such experiment.
        DataError: an experiment has not been evaluated, or there is no scorecard.
    """
    config = load_config(config_path)
    if experiment is None and len(config.experiments) > 1:
        yield from _verdicts(Path(root), config_path)
        return
    name = experiment or next(iter(config.experiments))
    yield from _table(config, name, Path(root))
    yield f"page: {config.restricted(name).reports / 'index.html'}"


def _verdicts(root: Path, params: str | Path) -> Iterator[str]:
    """Yield a line per paper, how the scorecard differs from the committed one, and where to read on."""
    from partialfair.reporting.site.papers import Verdict
    from partialfair.reporting.site.project import Project

    project = Project(root, params)
    for name in project.papers:
        one = Verdict.of(project, name)
        yield f"{one.short:<22}{one.word:<15}{'; '.join(filter(None, one.counts))}"
    reports = project.config.reports
    yield _against_committed(root, reports / "scorecard.csv", "verdict", "line")
    yield f"page: {reports / 'index.html'}; make docs builds site/index.html, which explains all verdicts"


def _table(config: Config, name: str, root: Path) -> Iterator[str]:
    """Yield the lines of one experiment."""
    import pandas as pd

    from partialfair import plugins

    experiment = config.experiment(name)
    path = root / "reports" / name / "metrics.parquet"
    if not path.is_file():
        raise DataError(f"{path}: missing; run `snakemake {name}` first")
    violation = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
    metrics = pd.read_parquet(path)
    test = metrics[(metrics["split"] == "test") & metrics["metric"].isin(["accuracy", violation])]
    values = test.pivot_table(index=[*KEYS, "seed"], columns="metric", values="value", dropna=False)
    values = values.dropna(how="all").reindex(columns=["accuracy", violation])
    values["fairness"] = 1 - values[violation]
    groups = list(values.groupby(KEYS, sort=False))
    yield f"{'dataset':<14}{'method':<16}{'kappa':>8}{'accuracy':>18}{'fairness':>18}  test rows, {experiment.title}"
    for (dataset, _, algorithm, kappa), rows in groups[:SHOWN]:
        cells = f"{_spread(rows['accuracy']):>18}{_spread(rows['fairness']):>18}"
        yield f"{dataset:<14}{algorithm:<16}{kappa:>8g}{cells}  {len(rows)} seeds"
    status = metrics.drop_duplicates([*KEYS, "seed"])["status"]
    more, missed = len(groups) - SHOWN, int((status == "tolerance missed").sum())
    failed = int((status != "ok").sum()) - missed
    if more > 0 or failed or missed:
        yield (
            f"and {max(more, 0)} more settings; {missed} runs miss their tolerance on the training rows, "
            f"{failed} failed: {path.parent}/runs.parquet has the reasons"
        )
    yield _against_committed(root, Path("reports") / name / "metrics.parquet", "value", "value")


def _against_committed(root: Path, path: Path, column: str, what: str) -> str:
    """Say in a line how a table of results differs from the committed one."""
    import pandas as pd

    checkout = (root / "Snakefile").resolve().parent  # the demo's folder has links to its files
    shown = subprocess.run(["git", "show", f"HEAD:./{path}"], cwd=checkout, capture_output=True, check=False)
    if shown.returncode:
        return f"committed results: none of {path} to compare with"
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    before, now = read(io.BytesIO(shown.stdout)), read(root / path)
    if len(before) != len(now):
        return f"committed results: {len(before)} {what}s in {path}, now {len(now)}"
    if column == "value":
        before, now = (table.sort_values(LABELS, ignore_index=True) for table in (before, now))
        lone = before[column].isna() != now[column].isna()
        apart = (before[column] - now[column]).abs().fillna(0.0).mask(lone, math.inf)
        worst = now.loc[apart.idxmax()]
        count = int((apart > 0).sum())
        note = f", at most by {apart.max():.2g} ({worst['algorithm']} at {worst['kappa']:g}, {worst['metric']})"
    else:
        count, note = int((before[column] != now[column]).sum()), " in their verdict"
    return (
        f"committed results: {count} of {len(now)} {what}s differ{note}" if count else "same as the committed results"
    )


def _spread(values: "pd.Series[float]") -> str:
    """Return mean ± standard deviation."""
    if values.isna().all():
        return "not estimable"
    spread = "" if len(values) < 2 else f" ± {values.std():.4f}"
    return f"{values.mean():.4f}{spread}"
