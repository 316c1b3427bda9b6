"""Models of the AUC fairness experiments as points: test AUC and gap with standard errors over seeds."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.errors import ConfigError
from partialfair.reporting.exhibit import Context
from partialfair.tables.files import read_json
from partialfair.verdicts.results import Results, Setting

START = "auc_unconstrained"
QUALITY = "auc"


@dataclass(frozen=True, eq=False)
class Point:
    """What the seeds of one setting give.

    Attributes:
        setting: experiment, dataset, algorithm and target tolerance.
        seeds: (S,) seeds with a value; auc, gap: (S,) test values.
        outside: number of seeds at which no candidate was within the tolerance on validation rows.
        reason: why there are fewer values than seeds.
    """

    setting: Setting
    seeds: NDArray[np.int64]
    auc: NDArray[np.float64]
    gap: NDArray[np.float64]
    outside: int = 0
    reason: str = ""

    @property
    def mean(self) -> tuple[float, float]:
        """Mean gap and mean AUC."""
        return (float(self.gap.mean()), float(self.auc.mean())) if self.auc.size else (math.nan, math.nan)

    @property
    def error(self) -> tuple[float, float]:
        """Standard errors of both."""
        return standard_error(self.gap), standard_error(self.auc)


def standard_error(values: NDArray[np.float64]) -> float:
    """Standard deviation over the root of the number of values; NaN for fewer than two."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def gap_metric(context: Context, experiment: str) -> str:
    """Metric that measures the constraint of an experiment."""
    constraint = context.config.experiment(experiment).constraint
    return str(plugins.load("constraints", constraint).VIOLATION["absolute"])


_FOUND: WeakKeyDictionary[Results, dict[tuple[str, str], list[Point]]] = WeakKeyDictionary()


def points(context: Context, experiment: str, dataset: str) -> list[Point]:
    """Every algorithm of an experiment on a dataset at every target tolerance, in the order of the grid."""
    known = _FOUND.setdefault(context.results, {})
    if (experiment, dataset) not in known:
        known[experiment, dataset] = list(_points(context, experiment, dataset))
    return known[experiment, dataset]


def _points(context: Context, experiment: str, dataset: str) -> Iterator[Point]:
    wanted = context.config.experiment(experiment).runs.get(dataset)
    settings = list(context.results.settings(experiment))
    for algorithm in wanted.algorithms if wanted is not None else ():
        kappas = sorted({s.kappa for s in settings if (s.dataset, s.algorithm) == (dataset, algorithm)}, reverse=True)
        for kappa in kappas:
            yield point(context, Setting(experiment, dataset, algorithm, kappa))


def point(context: Context, setting: Setting) -> Point:
    """One setting."""
    auc, gap = (_by_seed(context, setting, metric) for metric in (QUALITY, gap_metric(context, setting.experiment)))
    seeds = sorted(set(auc) & set(gap))
    reason = "" if seeds else context.results.reason(setting, QUALITY)
    return Point(
        setting,
        np.array(seeds, np.int64),
        np.array([auc[seed] for seed in seeds]),
        np.array([gap[seed] for seed in seeds]),
        sum(_outside(context, setting, seed) for seed in seeds),
        reason,
    )


def _by_seed(context: Context, setting: Setting, metric: str) -> dict[int, float]:
    rows = context.results.rows(setting, metric)
    values = zip(rows["seed"], rows["value"], strict=True)
    return {int(seed): float(value) for seed, value in values if value is not None and not math.isnan(value)}


def _outside(context: Context, setting: Setting, seed: int) -> bool:
    """Whether a run says that no candidate was within the tolerance on validation rows."""
    if math.isinf(setting.kappa):
        return False
    return bool(selected(context, setting, seed).get("infeasible_on_val", False))


def selected(context: Context, setting: Setting, seed: int) -> dict[str, Any]:
    """What the run of a setting recorded of its choice; empty if its fit.json is not at hand."""
    experiment = context.config.experiment(setting.experiment)
    kappas = experiment.runs[setting.dataset].algorithms[setting.algorithm]
    for kappa in kappas:
        try:
            path = context.root / context.config.job(*setting[:3], f"{kappa:g}", seed).path / "fit.json"
        except ConfigError:
            continue
        if path.exists():
            found = read_json(path).get("selected") or {}
            return dict(found.get(f"kappa={setting.kappa:g}") or {})
    return {}


def auc_at(
    context: Context, experiment: str, dataset: str, algorithm: str, gaps: NDArray[np.float64]
) -> dict[int, Any]:
    """AUC (len(gaps),) of an algorithm at given test gaps, by seed: its models and the unconstrained one, joined.

    The frontier at a gap is the best AUC of a model with at most that gap, linear between models; NaN below the
    smallest gap reached.
    """
    found: dict[int, dict[float, float]] = {}
    for entry in points(context, experiment, dataset):
        if entry.setting.algorithm in (algorithm, START):
            for seed, gap, auc in zip(entry.seeds, entry.gap, entry.auc, strict=True):
                own = found.setdefault(int(seed), {})
                own[float(gap)] = max(auc, own.get(float(gap), 0.0))
    lines = {}
    for seed, models in found.items():
        x = np.array(sorted(models))
        y = np.maximum.accumulate([models[gap] for gap in x])
        lines[seed] = np.where(gaps >= x[0], np.interp(gaps, x, y), math.nan)
    return lines
