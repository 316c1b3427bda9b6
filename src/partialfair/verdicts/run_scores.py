"""Metrics of single runs by split, from their stored scores; ``train`` is every row that the run trained on."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.grid import paths
from partialfair.metrics import get
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.tables import intervals
from partialfair.tables.dataset import Dataset, Split
from partialfair.tables.files import read_json
from partialfair.verdicts.results import Setting

if TYPE_CHECKING:
    from partialfair.verdicts.evidence import Evidence

BOTH = "train_and_validation"


def folder(evidence: "Evidence[Any]", setting: Setting, seed: int) -> tuple[Path | None, str]:
    """Return the folder of a run, or the reason why the grid has no such run."""
    try:
        job = evidence.config.job(*setting[:3], str(setting.kappa), seed)
    except ConfigError as error:
        return None, str(error)
    return evidence.root / job.path, ""


def _scores_of(evidence: "Evidence[Any]", setting: Setting, seed: int) -> Path | None:
    """The stored scores of a run; ``None`` if it has none."""
    found, _ = folder(evidence, setting, seed)
    path = None if found is None else found / paths.SCORES
    return path if path is not None and path.exists() else None


def scores(evidence: "Evidence[Any]", setting: Setting, seed: int, split: str) -> pd.DataFrame | None:
    """Columns group, y and score of the rows of a split; ``None`` if the run has no scores."""
    path = _scores_of(evidence, setting, seed)
    if path is None:
        return None
    rows = _rows(path, path.stat().st_mtime_ns, split)
    return rows if len(rows) else None


# A comparison of six methods in 141 runs asks for as many rows again and again; those of a run take 0.2 MB. The time of
# the last change makes a rewritten file a new entry.
@lru_cache(maxsize=2000)
def _rows(path: Path, changed: int, split: str) -> pd.DataFrame:
    table = _table(path, changed)
    wanted = [split]
    if split == "train":
        fit = read_json(path.parent / paths.FIT)
        wanted += ["validation"] if fit.get("settings", {}).get("fit_on") == BOTH else []
    return table[table["split"].isin(wanted)]


@lru_cache(maxsize=1000)
def _table(path: Path, changed: int) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, columns=["split", "group", "y", "score"])
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not readable ({error}); delete the run folder and run it again") from error


def values(evidence: "Evidence[Any]", setting: Setting, metric: str, split: str) -> dict[int, float]:
    """Values of a metric by seed; NaN where a run's scores do not determine it, none for runs without scores."""
    found = {}
    for seed in evidence.config.seeds(setting.experiment):
        path = _scores_of(evidence, setting, seed)
        if path is not None:
            value = _value(evidence, setting, seed, metric, split, path)
            if value is not None:
                found[seed] = value
    return found


_KNOWN: dict[tuple[Path, int, str, str], float | None] = {}


def _value(evidence: "Evidence[Any]", setting: Setting, seed: int, metric: str, split: str, path: Path) -> float | None:
    key = (path.absolute(), path.stat().st_mtime_ns, metric, split)
    if key not in _KNOWN:
        rows = scores(evidence, setting, seed, split)
        run = evidence.config.experiment(setting.experiment).runs[setting.dataset]
        _KNOWN[key] = None if rows is None else _measured(rows, metric, run.metric_interval or run.interval)
    return _KNOWN[key]


def _measured(rows: pd.DataFrame, metric: str, interval: Any) -> float:
    columns = (rows["score"].to_numpy(float), rows["y"].to_numpy(float), rows["group"].to_numpy(int))
    try:
        return get(metric)(*columns, intervals.for_groups(interval, int(columns[2].max()) + 1))
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
    whole = pd.concat(there)
    return whole["score"].to_numpy(float), whole["group"].to_numpy(int)
