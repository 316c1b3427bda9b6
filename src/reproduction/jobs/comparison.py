"""Own runs of an exhibit beside the committed ones: the same to the bit, or inside the band that all seeds span."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from partialfair import plugins
from reproduction.grid import paths
from reproduction.grid.config import Config
from reproduction.grid.table_files import read_table

if TYPE_CHECKING:
    import pandas as pd

QUALITIES = ("accuracy", "auc", "risk")
"""Metrics that are compared beside the violation of a run's constraint, where an experiment has them."""
KEYS = ("dataset", "interval", "algorithm", "kappa")
LEVEL = 0.95


@dataclass(frozen=True)
class Band:
    """Where the mean of own seeds lies beside that of the committed ones.

    Attributes:
        value: mean over the own seeds.
        mean: mean over the committed seeds.
        low, high: ends of the 95% prediction interval of a mean over as many new seeds as the own ones, computed from
            the committed seeds as if they were normal; equal to the mean where there is one committed seed.
        committed: number of committed seeds.
    """

    value: float
    mean: float
    low: float
    high: float
    committed: int

    @property
    def is_inside(self) -> bool:
        """Tell whether the own mean lies within the ends; both may be without a value."""
        slack = 1e-9 * max(1.0, abs(self.mean))
        return self.low - slack <= self.value <= self.high + slack or (math.isnan(self.value) and math.isnan(self.mean))


@dataclass(frozen=True)
class ComparedSetting:
    """One method at one tolerance on one dataset.

    Attributes:
        experiment, dataset, interval, algorithm, kappa: as in the tidy tables.
        violation: name of the metric that the constraint bounds.
        bands: of every metric that is compared, on test rows.
        seeds: own seeds.
        identical: of these, the seeds at which all these metrics equal the committed ones to the bit.
    """

    experiment: str
    dataset: str
    interval: str
    algorithm: str
    kappa: float
    violation: str
    bands: Mapping[str, Band]
    seeds: int
    identical: int

    @property
    def is_inside(self) -> bool:
        """Tell whether every metric is inside its band."""
        return all(band.is_inside for band in self.bands.values())


def settings(config: Config, reproduced: Path, committed: Path) -> list[ComparedSetting]:
    """Return the settings of a grid that have own and committed results.

    Args:
        config: the grid of the own runs.
        reproduced, committed: folders that hold ``reports``.
    """
    return [
        setting for name in config.experiments for setting in _compared_settings(config, name, reproduced, committed)
    ]


def _compared_settings(config: Config, name: str, reproduced: Path, committed: Path) -> Iterator[ComparedSetting]:
    experiment = config.experiment(name)
    violation = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
    relative = paths.COLLECTED.format(experiment=name, table="metrics")
    if not ((reproduced / relative).is_file() and (committed / relative).is_file()):
        return
    ours, theirs = (_wide(folder / relative) for folder in (reproduced, committed))
    if violation not in ours or violation not in theirs:
        return
    metrics = [metric for metric in (*QUALITIES, violation) if metric in ours and metric in theirs]
    for key, rows in ours.groupby(level=list(KEYS)):
        if key not in theirs.index:
            continue
        own_rows, committed_rows = rows.droplevel(list(KEYS))[metrics], theirs.loc[key][metrics]
        bands = {metric: _band(own_rows[metric], committed_rows[metric]) for metric in metrics}
        seeds = own_rows.index.intersection(committed_rows.index)
        matched, reference = own_rows.loc[seeds], committed_rows.loc[seeds]
        identical = int(((matched == reference) | (matched.isna() & reference.isna())).all(axis=1).sum())
        dataset, interval, algorithm, kappa = key
        yield ComparedSetting(name, dataset, interval, algorithm, kappa, violation, bands, len(rows), identical)


def _wide(path: Path) -> "pd.DataFrame":
    """Return the metrics on test rows, one row per run and one column per metric."""
    table = read_table(path, [*KEYS, "seed", "split", "metric", "value"])
    test = table[table["split"] == "test"]
    return test.pivot(index=[*KEYS, "seed"], columns="metric", values="value").sort_index()


def _band(values: "pd.Series[float]", committed: "pd.Series[float]") -> Band:
    from scipy import stats

    count, mean, deviation = len(committed), float(committed.mean()), float(committed.std())
    half = 0.0
    if count > 1 and len(values):
        quantile = float(stats.t.ppf((1 + LEVEL) / 2, count - 1))
        half = quantile * deviation * math.sqrt(1 / count + 1 / len(values))
    return Band(float(values.mean()), mean, mean - half, mean + half, count)
