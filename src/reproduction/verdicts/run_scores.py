"""Metrics of single runs by split, from their stored scores; ``train`` are all rows on which the run was trained."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import ArrowException, parquet

from partialfair.data import intervals
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import read_json
from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics import get, registry
from partialfair.metrics.uncertainty import Estimate, t_interval
from reproduction.grid import paths
from reproduction.grid.config import Config
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting

if TYPE_CHECKING:
    from reproduction.verdicts.evidence import Evidence

BOTH = "train_and_validation"


def is_metric(name: str) -> bool:
    """Whether some module computes a metric of this name, of every run or on request."""
    return name in registry.registry() or name in registry.on_request()


def folder(evidence: "Evidence[Any]", setting: Setting, seed: int) -> tuple[Path | None, str]:
    """Return the folder of a run, or the reason why the grid has no such run."""
    path, reason = _path(evidence.config, setting, seed)
    return None if path is None else evidence.root / path, reason


@lru_cache(maxsize=20_000)  # the comparisons of a grid ask for each run some twenty times
def _path(config: Config, setting: Setting, seed: int) -> tuple[Path | None, str]:
    try:
        return config.job(*setting[:3], str(setting.kappa), seed).path, ""
    except ConfigError as error:
        return None, str(error)


@dataclass(frozen=True)
class RunScores:
    """Rows that a run has scored, (n,) each, in the order and the precision of its file."""

    group: NDArray[np.integer[Any]]
    y: NDArray[np.floating[Any]]
    score: NDArray[np.floating[Any]]

    def take(self, chosen: NDArray[np.bool_]) -> "RunScores":
        """Return the rows for which ``chosen``, (n,), is true."""
        return RunScores(self.group[chosen], self.y[chosen], self.score[chosen])


def _stored(evidence: "Evidence[Any]", setting: Setting, seed: int) -> tuple[Path, int] | None:
    """Return the path of a run's stored scores and the time of their last change; ``None`` if there are none."""
    run_folder, _ = folder(evidence, setting, seed)
    if run_folder is None:
        return None
    path = run_folder / paths.SCORES
    return (path, path.stat().st_mtime_ns) if is_here(path) else None


def scores(evidence: "Evidence[Any]", setting: Setting, seed: int, split: str) -> RunScores | None:
    """Return the scored rows of a split; ``None`` if the run has no scores of that split."""
    stored = _stored(evidence, setting, seed)
    if stored is None:
        return None
    rows = _rows(*stored, split)
    return rows if rows.group.size else None


# A comparison of six methods in 141 runs asks for as many rows again and again; those of a run take 0.2 MB. The time of
# the last change makes a rewritten file a new entry.
@lru_cache(maxsize=2000)
def _rows(path: Path, changed: int, split: str) -> RunScores:
    splits, split_of_row, rows = _table(path, changed)
    names = [split]
    if split == "train":
        fit = read_json(path.parent / paths.FIT)
        names += ["validation"] if fit.get("settings", {}).get("fit_on") == BOTH else []
    return rows.take(np.isin(split_of_row, [number for number, name in enumerate(splits) if name in names]))


@lru_cache(maxsize=1000)
def _table(path: Path, changed: int) -> tuple[list[str], NDArray[Any], RunScores]:
    """Return the names of the splits, the number of every row's split, (n,), and all rows."""
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read(columns=["split", "group", "y", "score"])
        splits = table.column("split").combine_chunks().dictionary_encode()
        rows = RunScores(*(table.column(name).to_numpy() for name in ("group", "y", "score")))
    except (OSError, KeyError, ArrowException) as error:
        raise DataError(f"{path}: not readable ({error}); delete the run folder and run it again") from error
    return splits.dictionary.to_pylist(), np.asarray(splits.indices), rows


def values(evidence: "Evidence[Any]", setting: Setting, metric: str, split: str) -> dict[int, float]:
    """Return a metric by seed: NaN where a run's scores do not determine it; runs without scores are left out."""
    numbers = {}
    for seed in evidence.config.seeds(setting.experiment, setting.dataset, setting.algorithm):
        stored = _stored(evidence, setting, seed)
        value = None if stored is None else _value(evidence, setting, metric, split, *stored)
        if value is not None:
            numbers[seed] = value
    return numbers


_CACHE: dict[tuple[str, int, str, str], float | None] = {}


def _value(
    evidence: "Evidence[Any]", setting: Setting, metric: str, split: str, path: Path, changed: int
) -> float | None:
    key = (os.path.abspath(path), changed, metric, split)
    if key not in _CACHE:
        rows = _rows(path, changed, split)
        run = evidence.config.experiment(setting.experiment).runs[setting.dataset]
        _CACHE[key] = None
        if rows.group.size:
            groups = int(_table(path, changed)[2].group.max()) + 1
            _CACHE[key] = _measured(rows, groups, metric, run.metric_interval or run.interval)
    return _CACHE[key]


def _measured(rows: RunScores, groups: int, metric: str, interval: Any) -> float:
    """Return a metric of rows; NaN if the rows do not determine it, as where one of the run's groups has no row."""
    columns = (rows.score.astype(float), rows.y.astype(float), rows.group.astype(int))
    try:
        return get(metric)(*columns, intervals.for_groups(interval, groups))
    except NotEstimableError:
        return float("nan")


def mean_and_spread(evidence: "Evidence[Any]", setting: Setting, metric: str, split: str) -> tuple[Estimate, float]:
    """Return the mean over runs with its t-interval, and the standard deviation over runs (divisor n - 1)."""
    numbers = np.array(list(values(evidence, setting, metric, split).values()))
    numbers = numbers[~np.isnan(numbers)]
    spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else float("nan")
    return t_interval(numbers, evidence.results.level), spread


def spread_interval(spread: float, n: int, level: float) -> Estimate:
    """Return a standard deviation over n runs with its interval, that of normal numbers."""
    # (n - 1) s^2 / sigma^2 is chi-square with n - 1 degrees of freedom: the ends are s sqrt((n - 1) / chi2_q) at the
    # quantiles q = (1 + level) / 2 and (1 - level) / 2.
    from scipy.stats import chi2

    if n < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), float("nan"), n)
    ends = chi2.ppf([(1 + level) / 2, (1 - level) / 2], n - 1)
    low, high = (spread * ((n - 1) / end) ** 0.5 for end in ends)
    return Estimate(spread, float(low), float(high), float(high - low) / 2, n)


def ratio_range(n: int, m: int, level: float) -> tuple[float, float]:
    """Return the ends of the interval of the ratio of two standard deviations, if the true ones are equal.

    Args:
        n, m: numbers of runs behind the numerator and the denominator.
        level: of the interval.
    """
    # The ratio of the variances of normal numbers is F-distributed with n - 1 and m - 1 degrees of freedom.
    from scipy.stats import f

    low, high = f.ppf([(1 - level) / 2, (1 + level) / 2], n - 1, m - 1)
    return float(low) ** 0.5, float(high) ** 0.5


@lru_cache(maxsize=16)
def rows_of(root: Path, dataset: str, split_names: str, seed: int) -> Dataset:
    """Return the rows of some splits, whose names are joined by ``+``; the whole table for an empty name."""
    data = Dataset.load(root / paths.table(dataset))
    if not split_names:
        return data
    split = Split.load(root / paths.split(dataset, seed), data.n_rows)
    return data.take(np.concatenate([getattr(split, name) for name in split_names.split("+")]))


def pooled(evidence: "Evidence[Any]", setting: Setting, split: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores and the groups, (n,) each, of all runs of a setting together."""
    runs = [
        scores(evidence, setting, seed, split)
        for seed in evidence.config.seeds(setting.experiment, setting.dataset, setting.algorithm)
    ]
    scored = [rows for rows in runs if rows is not None]
    if not scored:
        return np.zeros(0), np.zeros(0, np.int64)
    return (
        np.concatenate([rows.score for rows in scored]).astype(float),
        np.concatenate([rows.group for rows in scored]).astype(int),
    )
