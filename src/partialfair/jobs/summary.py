"""A short table of an experiment's results for the terminal, and where its files are."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from partialfair.errors import DataError
from partialfair.grid.config import Config, load_config

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["dataset", "interval", "algorithm", "kappa"]


def summary(config_path: str | Path, experiment: str | None = None, root: str | Path = ".") -> Iterator[str]:
    """Yield the lines of the table of one experiment, or of all.

    Fairness is 1 minus the metric that belongs to the experiment's kappa scale; means and standard
    deviations are over the seeds, on the test rows.

    Raises:
        ConfigError: there is no such experiment.
        DataError: an experiment has not been evaluated.
    """
    config = load_config(config_path)
    for name in [experiment] if experiment else list(config.experiments):
        yield from _table(config, name, Path(root))
    yield f"report: {(config.restricted(experiment) if experiment else config).reports / 'index.html'}"


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
    yield f"{experiment.title} ({name}): test rows, mean ± standard deviation over seeds, fairness = 1 - {violation}"
    yield f"{'dataset':<14}{'interval':<12}{'algorithm':<16}{'kappa':>8}{'accuracy':>18}{'fairness':>18}{'seeds':>7}"
    for (dataset, interval, algorithm, kappa), rows in values.groupby(KEYS, sort=False):
        cells = f"{_spread(rows['accuracy']):>18}{_spread(rows['fairness']):>18}{len(rows):>7}"
        yield f"{dataset:<14}{interval:<12}{algorithm:<16}{kappa:>8g}{cells}"
    for reason in sorted(_reasons(metrics)):
        yield f"  {reason}"


def _spread(values: "pd.Series[float]") -> str:
    """Return mean ± standard deviation."""
    if values.isna().all():
        return "not estimable"
    spread = "" if len(values) < 2 else f" ± {values.std():.4f}"
    return f"{values.mean():.4f}{spread}"


def _reasons(metrics: "pd.DataFrame") -> set[str]:
    """Return one line for every run that gave no model."""
    failed = metrics[metrics["status"] != "ok"]
    columns = ["dataset", "algorithm", "kappa", "seed", "status", "reason"]
    return {
        f"{dataset} {algorithm} kappa={kappa:g} seed={seed}: {status} ({reason})"
        for dataset, algorithm, kappa, seed, status, reason in failed[columns].itertuples(index=False)
    }
