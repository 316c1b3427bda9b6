"""Regression runs as points of risk and unfairness, as the DP post-processing paper has them: mean and deviation.

A series is an experiment with one of its algorithms; exhibits name theirs by the option ``series``:

    series:
      dp_postproc: {experiment: dp_released, algorithm: dp_postproc, label: SGD3 with AC-SA²}
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import Estimate
from partialfair.reporting.exhibit import Context
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting

METRICS = ("risk", "ks_group_0", "ks_group_1")
PUBLISHED_METRICS = {"risk": "risk", "ks_unfairness_s0": "ks_group_0", "ks_unfairness_s1": "ks_group_1"}
BINNED = {"ks_group_0": "ks_binned_0", "ks_group_1": "ks_binned_1"}
DATASETS = {"dp_law": "law_school", "dp_communities": "communities", "dp_adult": "adult"}


@dataclass(frozen=True)
class Series:
    """Runs that one line of a figure shows."""

    name: str
    experiment: str
    algorithm: str
    label: str


def series(context: Context) -> list[Series]:
    """The series of an exhibit, in its order."""
    entries: Mapping[str, Any] = context.option("series") or {}
    return [Series(name, e["experiment"], e["algorithm"], e.get("label", name)) for name, e in entries.items()]


def published_name(dataset: str) -> str:
    """The name under which numbers of a dataset are published, whatever way its rows are divided."""
    return next((name for own, name in DATASETS.items() if dataset.startswith(own)), dataset)


def tolerance_of(setting: str) -> float:
    """The tolerance in a published setting, ``eps=2^-8``; NaN if it has none."""
    _, found, power = setting.partition("eps=2^")
    return 2.0 ** float(power) if found else math.nan


def values(context: Context, setting: Setting, metric: str) -> np.ndarray:
    """Values of a metric over the seeds of a setting (test rows), or over those named by the option ``seeds``."""
    rows = context.results.rows(setting, metric)
    if context.option("seeds"):
        rows = rows[rows["seed"].isin(context.option("seeds"))]
    found = rows["value"].to_numpy(float)
    return np.asarray(found[~np.isnan(found)])


def points(context: Context) -> Iterator[dict[str, Any]]:
    """Mean and standard deviation (over repetitions, ddof 0) of every series, dataset and tolerance."""
    for one in series(context):
        for setting in context.results.settings(one.experiment):
            if setting.algorithm != one.algorithm:
                continue
            line: dict[str, Any] = {"series": one.name, "dataset": published_name(setting.dataset)}
            line |= {"source": "reproduced", "eps": setting.kappa}
            for metric in METRICS:
                found = values(context, setting, metric)
                line |= {metric: _mean(found), f"{metric}_std": _deviation(found), "n_seeds": len(found)}
            line["ks_noise_floor"] = _mean(values(context, setting, "ks_noise_floor"))
            yield line


def published_points(context: Context) -> Iterator[dict[str, Any]]:
    """The published points of the series of an exhibit."""
    wanted = {one.name for one in series(context)}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    sources = context.option("published_points") or [context.published_as]
    for source in sources:
        for row in context.published_of(str(source)):
            if row.algorithm in wanted and row.metric in PUBLISHED_METRICS:
                eps = tolerance_of(row.setting)
                key = row.algorithm, row.dataset, "base" if math.isnan(eps) else repr(eps)
                line = found.setdefault(key, {"series": row.algorithm, "dataset": row.dataset, "source": "published"})
                line |= {PUBLISHED_METRICS[row.metric]: row.value, "eps": eps}
    yield from found.values()


def reproduce(context: Context, row: Published) -> Outcome:
    """What was measured of one published risk or unfairness."""
    one = next((one for one in series(context) if one.name == row.algorithm), None)
    metric = PUBLISHED_METRICS.get(row.metric)
    if one is None or metric is None:
        return Outcome(None, "the exhibit has no series for it" if one is None else f"{row.metric} is not measured")
    if "histogram" in row.setting:
        metric = BINNED.get(metric, metric)
    eps = tolerance_of(row.setting)
    for setting in context.results.settings(one.experiment):
        if setting.algorithm == one.algorithm and published_name(setting.dataset) == row.dataset:
            same = math.isinf(setting.kappa) if math.isnan(eps) else math.isclose(setting.kappa, eps, rel_tol=1e-9)
            if same:
                return Outcome(_estimate(context, setting, metric), "", f"{one.experiment}, {setting.dataset}")
    return Outcome(None, f"no run of {one.experiment} at this tolerance")


def _estimate(context: Context, setting: Setting, metric: str) -> Estimate:
    from partialfair.metrics.uncertainty import t_interval

    return t_interval(values(context, setting, metric), context.results.level)


def _mean(found: np.ndarray) -> float:
    return float(found.mean()) if found.size else math.nan


def _deviation(found: np.ndarray) -> float:
    return float(found.std()) if found.size else math.nan
