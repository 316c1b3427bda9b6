"""Reproduced numbers: the tidy tables of the experiments, summarised over seeds."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from partialfair import plugins
from partialfair.errors import PluginError
from partialfair.metrics import get
from partialfair.metrics.uncertainty import Estimate, t_interval
from reproduction.grid.table_files import read_table
from reproduction.grid.tidy import METRIC_COLUMNS, RUN_COLUMNS
from reproduction.verdicts.missing_files import is_here

_TABLES = {"metrics": METRIC_COLUMNS, "runs": RUN_COLUMNS}


class Setting(NamedTuple):
    """The runs behind one line of results, which differ in their seeds alone."""

    experiment: str
    dataset: str
    algorithm: str
    kappa: float


@dataclass(frozen=True)
class Convention:
    """The two conventions of a constraint's violation, with their names.

    Attributes:
        title: short name of the constraint.
        absolute: metric of the published numbers, a difference of shares of whole groups.
        relative: metric of the definition, divided by the interval's length.
    """

    title: str
    absolute: str
    relative: str

    @property
    def fairness(self) -> str:
        """Return the name of 1 - violation, by the absolute convention, in published.csv, as ``psp_fairness``."""
        return f"{self.title.lower().replace(' ', '_')}_fairness"


def convention(constraint: str) -> Convention:
    """Return the metrics that show a constraint, as its module declares them.

    Raises:
        PluginError: it declares no metric or no title.
    """
    module = plugins.load("constraints", constraint)
    title, violation = getattr(module, "TITLE", None), getattr(module, "VIOLATION", {})
    missing = [scale for scale in ("absolute", "relative") if scale not in violation]
    if missing or title is None:
        raise PluginError(
            f"constraints/{constraint}.py: nothing says what its violation is called or measured by; declare TITLE and "
            'VIOLATION = {"absolute": metric, "relative": metric}'
        )
    return Convention(getattr(module, "SHORT", title), violation["absolute"], violation["relative"])


@cache
def _table(path: Path, changed: int) -> pd.DataFrame:  # ``changed`` makes a rewritten file a new entry
    """Return a tidy table, which all exhibits and claims share."""
    return read_table(path)


class Results:
    """Tidy tables of some experiments.

    Args:
        metrics: rows of metrics.parquet.
        runs: rows of runs.parquet.
        level: level of the intervals over seeds.
    """

    def __init__(self, metrics: pd.DataFrame, runs: pd.DataFrame, level: float = 0.95) -> None:
        self.metrics, self.runs, self.level = metrics, runs, level
        self._sorted: dict[tuple[str, str], dict[tuple[Any, ...], Any]] = {}

    @classmethod
    def load(cls, reports: Path, experiments: Iterable[str], level: float = 0.95) -> "Results":
        """Read the tables that exist; an experiment without tables has no rows."""
        frames = {}
        for name, columns in _TABLES.items():
            paths = [reports / experiment / f"{name}.parquet" for experiment in experiments]
            tables = [_table(path, path.stat().st_mtime_ns) for path in paths if is_here(path)]
            frames[name] = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(columns))
        return cls(frames["metrics"], frames["runs"], level)

    def _row_numbers(self, setting: Setting, metric: str, split: str) -> Any:
        """Return the row numbers of a metric over the seeds of a setting.

        Of some forty metrics an exhibit shows a few: only their rows are sorted by setting.
        """
        key = (split, metric)
        if key not in self._sorted:
            rows = self._rows_by_metric.get(key, np.empty(0, np.intp))
            groups = self.metrics[list(Setting._fields)].iloc[rows].groupby(list(Setting._fields), sort=False)
            self._sorted[key] = {setting_key: rows[numbers] for setting_key, numbers in groups.indices.items()}
        return self._sorted[key].get(tuple(setting), [])

    @cached_property
    def _rows_by_metric(self) -> dict[tuple[Any, ...], Any]:
        """Return row numbers by split and metric."""
        return dict(self.metrics.groupby(["split", "metric"], sort=False).indices)

    def rows(self, setting: Setting, metric: str, split: str = "test") -> pd.DataFrame:
        """Return the rows of one metric over the seeds of a setting; empty if there are none."""
        return self.metrics.iloc[self._row_numbers(setting, metric, split)]

    def values(self, setting: Setting, metric: str, split: str = "test") -> dict[int, float]:
        """Return the values of one metric by seed, NaN for a run without a value.

        Comparisons ask for thousands of these: taking the two columns spares the copies of the texts beside them.
        """
        rows = self._row_numbers(setting, metric, split)
        return dict(zip(self._numbers[0][rows].tolist(), self._numbers[1][rows].tolist(), strict=True))

    @cached_property
    def _numbers(self) -> tuple[Any, Any]:
        return self.metrics["seed"].to_numpy(int), self.metrics["value"].to_numpy(float)

    def estimate(self, setting: Setting, metric: str, split: str = "test") -> Estimate:
        """Return mean and t-interval over seeds of what exhibits show: the value, or 1 - value of a violation."""
        # mean +- t_{n-1, (1 + level)/2} s / sqrt(n) over n seeds with standard deviation s (Student 1908).
        values = self._numbers[1][self._row_numbers(setting, metric, split)]
        return t_interval(1 - values if get(metric).direction == "violation" else values, self.level)

    def runs_of(self, setting: Setting) -> pd.DataFrame:
        """Return the rows of the table of runs, one per seed of a setting."""
        return self.runs.iloc[self._runs_of.get(tuple(setting), [])]

    @cached_property
    def _runs_of(self) -> dict[tuple[Any, ...], Any]:
        """Return row numbers by setting."""
        return dict(self.runs.groupby(list(Setting._fields), sort=False, dropna=False).indices)

    def reason(self, setting: Setting, metric: str = "accuracy") -> str:
        """Return why a setting has fewer values than seeds; empty if every seed has a value."""
        numbers = self._row_numbers(setting, metric, "test")
        if not len(numbers):
            return "the experiment has no such run, or its results are not collected"
        if not np.isnan(self._numbers[1][numbers]).any():
            return ""
        setting_rows = self.rows(setting, metric)
        missing = setting_rows[setting_rows["value"].isna()]
        reasons = missing["reason"].fillna("no reason given").drop_duplicates().tolist()
        return f"{len(missing)} of {len(setting_rows)} seeds without a value: {'; '.join(reasons)}"

    def settings(self, experiment: str | None = None) -> Iterator[Setting]:
        """Yield the settings in the order of the tables, those without a value included."""
        yield from (setting for setting in self._settings if experiment in (None, setting.experiment))

    @cached_property
    def _settings(self) -> list[Setting]:
        rows = self.metrics[list(Setting._fields)].drop_duplicates()
        return [Setting(*key) for key in rows.itertuples(index=False)]


def is_estimated(estimate: Estimate) -> bool:
    """Whether at least one seed has a value."""
    return estimate.n > 0 and not math.isnan(estimate.mean)


def by_seed(results: Results, setting: Setting, metric: str, split: str = "test") -> dict[int, float]:
    """Return the values of a metric by seed; seeds without a value are left out."""
    return {seed: value for seed, value in results.values(setting, metric, split).items() if not math.isnan(value)}


def differences(minuend: Mapping[int, float], subtrahend: Mapping[int, float]) -> list[float]:
    """Return ``minuend - subtrahend`` at the seeds that both have, in the order of the seeds."""
    return [minuend[seed] - subtrahend[seed] for seed in sorted(minuend.keys() & subtrahend.keys())]
