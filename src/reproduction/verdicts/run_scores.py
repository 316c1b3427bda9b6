"""Metrics of single runs by split, from their stored scores; ``train`` is every row that the run trained on."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import ArrowException, parquet

from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics import get, registry
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.tables import intervals
from partialfair.tables.dataset import Dataset, Split
from partialfair.tables.files import read_json
from reproduction.grid import paths
from reproduction.grid.config import Config
from reproduction.verdicts.lookups import is_here
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
class Rows:
    """Rows that a run has scored, (n,) each, in the order and the precision of its file."""

    group: NDArray[np.integer[Any]]
    y: NDArray[np.floating[Any]]
    score: NDArray[np.floating[Any]]

    def take(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Some of the rows."""
        return Rows(self.group[chosen], self.y[chosen], self.score[chosen])


def _stored(evidence: "Evidence[Any]", setting: Setting, seed: int) -> tuple[Path, int] | None:
    """The stored scores of a run and the time of their last change; ``None`` if it has none."""
    found, _ = folder(evidence, setting, seed)
    if found is None:
        return None
    path = found / paths.SCORES
    return (path, path.stat().st_mtime_ns) if is_here(path) else None


def scores(evidence: "Evidence[Any]", setting: Setting, seed: int, split: str) -> Rows | None:
    """Rows of a split; ``None`` if the run has no scores."""
    stored = _stored(evidence, setting, seed)
    if stored is None:
        return None
    rows = _rows(*stored, split)
    return rows if rows.group.size else None


# A comparison of six methods in 141 runs asks for as many rows again and again; those of a run take 0.2 MB. The time of
# the last change makes a rewritten file a new entry.
@lru_cache(maxsize=2000)
def _rows(path: Path, changed: int, split: str) -> Rows:
    splits, of, rows = _table(path, changed)
    wanted = [split]
    if split == "train":
        fit = read_json(path.parent / paths.FIT)
        wanted += ["validation"] if fit.get("settings", {}).get("fit_on") == BOTH else []
    return rows.take(np.isin(of, [number for number, name in enumerate(splits) if name in wanted]))


@lru_cache(maxsize=1000)
def _table(path: Path, changed: int) -> tuple[list[str], NDArray[Any], Rows]:
    """Names of the splits, the number of that of every row, and all rows."""
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read(columns=["split", "group", "y", "score"])
        splits = table.column("split").combine_chunks().dictionary_encode()
        rows = Rows(*(table.column(name).to_numpy() for name in ("group", "y", "score")))
    except (OSError, KeyError, ArrowException) as error:
        raise DataError(f"{path}: not readable ({error}); delete the run folder and run it again") from error
    return splits.dictionary.to_pylist(), np.asarray(splits.indices), rows


def values(evidence: "Evidence[Any]", setting: Setting, metric: str, split: str) -> dict[int, float]:
    """Values of a metric by seed; NaN where a run's scores do not determine it, none for runs without scores."""
    found = {}
    for seed in evidence.config.seeds(setting.experiment):
        stored = _stored(evidence, setting, seed)
        value = None if stored is None else _value(evidence, setting, metric, split, *stored)
        if value is not None:
            found[seed] = value
    return found


_KNOWN: dict[tuple[str, int, str, str], float | None] = {}


def _value(
    evidence: "Evidence[Any]", setting: Setting, metric: str, split: str, path: Path, changed: int
) -> float | None:
    key = (os.path.abspath(path), changed, metric, split)
    if key not in _KNOWN:
        rows = _rows(path, changed, split)
        run = evidence.config.experiment(setting.experiment).runs[setting.dataset]
        _KNOWN[key] = None
        if rows.group.size:
            groups = int(_table(path, changed)[2].group.max()) + 1
            _KNOWN[key] = _measured(rows, groups, metric, run.metric_interval or run.interval)
    return _KNOWN[key]


def _measured(rows: Rows, groups: int, metric: str, interval: Any) -> float:
    """A metric of rows; NaN if they do not determine it, as where one of the run's groups has none."""
    columns = (rows.score.astype(float), rows.y.astype(float), rows.group.astype(int))
    try:
        return get(metric)(*columns, intervals.for_groups(interval, groups))
    except NotEstimableError:
        return float("nan")


def mean_and_spread(evidence: "Evidence[Any]", setting: Setting, metric: str, split: str) -> tuple[Estimate, float]:
    """Mean over runs with its t-interval, and the standard deviation over runs (one degree of freedom less)."""
    found = np.array(list(values(evidence, setting, metric, split).values()))
    found = found[~np.isnan(found)]
    spread = float(np.std(found, ddof=1)) if len(found) > 1 else float("nan")
    return t_interval(found, evidence.results.level), spread


def spread_interval(spread: float, n: int, level: float) -> Estimate:
    """A standard deviation over n runs with its chi-square interval."""
    from scipy.stats import chi2

    if n < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), float("nan"), n)
    ends = chi2.ppf([(1 + level) / 2, (1 - level) / 2], n - 1)
    low, high = (spread * ((n - 1) / end) ** 0.5 for end in ends)
    return Estimate(spread, float(low), float(high), float(high - low) / 2, n)


def ratio_range(n: int, others: int, level: float) -> tuple[float, float]:
    """Ends of the interval in which the ratio of two equal standard deviations of normal numbers is found.

    Args:
        n, others: numbers of runs behind the first and the second.
        level: of the interval.
    """
    from scipy.stats import f

    low, high = f.ppf([(1 - level) / 2, (1 + level) / 2], n - 1, others - 1)
    return float(low) ** 0.5, float(high) ** 0.5


@lru_cache(maxsize=16)
def rows_of(root: Path, dataset: str, parts: str, seed: int) -> Dataset:
    """Return rows of some parts of a stored split, their names joined by ``+``; of the whole table for none."""
    data = Dataset.load(root / paths.table(dataset))
    if not parts:
        return data
    split = Split.load(root / paths.split(dataset, seed), data.n_rows)
    return data.take(np.concatenate([getattr(split, part) for part in parts.split("+")]))


def pooled(evidence: "Evidence[Any]", setting: Setting, split: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores and groups of all runs of a setting together."""
    parts = [scores(evidence, setting, seed, split) for seed in evidence.config.seeds(setting.experiment)]
    there = [part for part in parts if part is not None]
    if not there:
        return np.zeros(0), np.zeros(0, np.int64)
    return (
        np.concatenate([part.score for part in there]).astype(float),
        np.concatenate([part.group for part in there]).astype(int),
    )
