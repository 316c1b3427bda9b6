"""Published numbers of the DP post-processing paper, and the noise that they are judged by.

Repetitions are the paper's own splits, so that their spread is no noise between its numbers and ours. What differs are
the rows that an optimiser happened to draw (repeats of the same fit show how much that matters), the choice of the
reduction among answers that cost the same (so do the same data perturbed in the ninth digit), and rounding in print.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from partialfair.metrics.uncertainty import t_interval
from partialfair.models.stored import load_model
from reproduction.exhibits.exhibit import Context
from reproduction.exhibits.regression_points import (
    BINNED,
    PUBLISHED_METRICS,
    Series,
    exhibit_series,
    published_name,
    tolerance_of,
    values,
)
from reproduction.grid import paths
from reproduction.grid.tidy import REPEAT_SD
from reproduction.verdicts import null_models
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting
from reproduction.verdicts.run_scores import rows_of

_NO_SLACK = 2.0**-16
"""At this tolerance and below the problem is that without any slack, to rounding."""
GROUPS = "of two groups the second's distance is the first's times the ratio of their sizes"
_UNCHANGED = 5e-4
"""Relative difference from the number where no constraint binds, up to which none does."""
_CLASSIFIER = "classifier"
_TIME = "train_time_s"


def reproduce(context: Context[Any], row: Published) -> ReproducedNumber:
    """Return the measurement of a published number, with its noise and the values of null models."""
    if row.algorithm == _CLASSIFIER:
        return _classifier(context, row)
    series = next((series for series in exhibit_series(context) if series.name == row.algorithm), None)
    if series is None:
        return ReproducedNumber(None, "the exhibit has no series for it")
    if row.metric == _TIME:
        return _time_of(context, row, series)
    metric = PUBLISHED_METRICS.get(row.metric)
    if metric is None:
        return ReproducedNumber(None, f"{row.metric} is not measured")
    setting = _setting(context, series, row)
    if setting is None:
        return ReproducedNumber(None, f"no run of {series.experiment_of(row.dataset)} at this tolerance")
    metric = BINNED.get(metric, metric) if "histogram" in row.setting else metric
    estimate = t_interval(values(context, setting, metric), context.results.level)
    noise = math.hypot(noise_of(context, series, setting, metric), printed(row.value))
    source = f"{setting.experiment}, {setting.dataset}"
    outcome = ReproducedNumber(estimate, "", source, noise=noise, nulls=_null_values(context, series, setting, metric))
    return replace(outcome, repeats=_repeated_number(context, series, setting, metric))


def refuse(_: Any, row: Published) -> None:
    """Refuse a number of a figure whose setting states no tolerance.

    Raises:
        DataError: see :func:`tolerance_of`.
    """
    if row.algorithm != _CLASSIFIER and row.metric in PUBLISHED_METRICS:
        tolerance_of(row)


def _setting(context: Context[Any], series: Series, row: Published) -> Setting | None:
    """Return the runs that stand for a published number."""
    eps = tolerance_of(row)
    for setting in context.results.settings(series.experiment_of(row.dataset)):
        is_run = math.isinf(setting.kappa) if math.isnan(eps) else math.isclose(setting.kappa, eps, rel_tol=1e-9)
        is_run = is_run and setting.algorithm == series.algorithm
        if is_run and published_name(context, setting.dataset) == row.dataset:
            return setting
    return None


def _repeated_number(context: Context[Any], series: Series, setting: Setting, metric: str) -> str:
    """Say which other published number a number repeats; empty if it repeats none."""
    if metric in ("ks_group_1", "ks_binned_1"):
        return GROUPS
    if series.algorithm != "dp_postproc":
        return ""
    if setting.kappa < _NO_SLACK:
        return "at this tolerance the problem is that at 2^-16, to rounding"
    loosest, first_series = _loosest(context, setting), next(iter(exhibit_series(context)))
    is_counted = series.name == first_series.name and setting.kappa == loosest.kappa
    difference, unconstrained_mean = (
        abs(_mean(context, setting, metric) - _mean(context, loosest, metric)),
        _mean(context, loosest, metric),
    )
    if not is_counted and difference <= max(
        noise_of(context, series, setting, metric), _UNCHANGED * unconstrained_mean
    ):
        return f"no constraint binds: the number of {first_series.label} at the largest tolerance"
    return ""


def _loosest(context: Context[Any], setting: Setting) -> Setting:
    """Return the same runs at their largest tolerance."""
    settings = [
        s for s in context.results.settings(setting.experiment) if s[1:3] == setting[1:3] and s.kappa < math.inf
    ]
    return max(settings, key=lambda s: s.kappa, default=setting)


def printed(value: float) -> float:
    """Return half a unit of the last digit that is printed."""
    return 0.5 * 10.0 ** int(Decimal(repr(value)).as_tuple().exponent)


def noise_of(context: Context[Any], series: Series, setting: Setting, metric: str) -> float:
    """Return half the width of the 95% interval of the difference of two such means; 0 if nothing is drawn.

    The variance of one fit is the mean over splits of that of its repeats, or half the mean square of what changes
    where the data are perturbed.
    """
    from scipy.stats import t

    spread = values(context, setting, metric + REPEAT_SD)
    if spread.size:
        repeats = int(context.config.algorithm_settings(setting.experiment, setting.algorithm)["repeats"])
        variance, degrees = float(np.mean(spread**2)), (repeats - 1) * spread.size
        count = spread.size
    elif series.ties:
        seeds = (
            context.results.values(setting, metric),
            context.results.values(setting._replace(experiment=series.ties), metric),
        )
        differences = np.array([seeds[0][seed] - seeds[1][seed] for seed in seeds[0].keys() & seeds[1].keys()])
        if not differences.size:
            return math.nan
        variance, degrees, count = float(np.mean(differences**2)) / 2, differences.size, differences.size
    else:
        return 0.0
    # Student's t (Student 1908): t_{(1 + level) / 2, degrees} sqrt(2 variance / count), the difference of two means.
    return float(t.ppf((1 + context.results.level) / 2, degrees) * math.sqrt(2 * variance / count))


def _null_values(context: Context[Any], series: Series, setting: Setting, metric: str) -> dict[str, float]:
    """Return other series at this tolerance, this series at others and where none binds, and the base model.

    What differs from the number itself by no more than ``_UNCHANGED`` is the same answer.
    """
    values = {}
    dataset = published_name(context, setting.dataset)
    for name in series.nulls:
        for candidate in context.results.settings(name):
            is_null = candidate.algorithm == series.algorithm and _same_tolerance(candidate, setting)
            if is_null and published_name(context, candidate.dataset) == dataset:
                values[context.config.experiment(name).title] = _mean(context, candidate, metric)
    for other_series in exhibit_series(context):
        for candidate in context.results.settings(other_series.experiment_of(dataset)):
            is_null_series = (
                candidate.algorithm == other_series.algorithm
                and other_series.name != series.name
                and _same_tolerance(candidate, setting)
            )
            if is_null_series and published_name(context, candidate.dataset) == dataset:
                values[other_series.label] = _mean(context, candidate, metric)
    neighbours = null_models.neighbours(context, setting, "plug_in_regression")
    loosest = _loosest(context, setting)
    neighbours |= {"no constraint binds": loosest} if loosest.kappa != setting.kappa else {}
    for name, candidate in neighbours.items():
        if not (candidate.kappa < setting.kappa <= _NO_SLACK):
            values[name] = _mean(context, candidate, metric)
    own_value = _mean(context, setting, metric)
    same_values = {name for name, value in values.items() if abs(value - own_value) <= _UNCHANGED * abs(own_value)}
    return {
        name: own_value if name in same_values else value for name, value in values.items() if not math.isnan(value)
    }


def _same_tolerance(setting: Setting, other: Setting) -> bool:
    return setting.kappa == other.kappa or math.isclose(setting.kappa, other.kappa, rel_tol=1e-9)


def _mean(context: Context[Any], setting: Setting, metric: str) -> float:
    seed_values = values(context, setting, metric)
    return float(seed_values.mean()) if seed_values.size else math.nan


# --- times and base models -------------------------------------------------------------------------------------------


def _time_of(context: Context[Any], row: Published, series: Series) -> ReproducedNumber:
    """Return seconds of one tolerance on this machine, without the fits of base models; they are not judged."""
    note = "processor time of another implementation on another machine; the published time includes the base models"
    return measured_time(context, seconds(context, series, row.dataset), note, series.experiment_of(row.dataset))


def measured_time(
    context: Context[Any], seconds_by_seed: Mapping[int, np.ndarray], note: str, source: str
) -> ReproducedNumber:
    """Return the mean of seconds by repetition, or the reason why there are none."""
    if not seconds_by_seed:
        return ReproducedNumber(None, "no run gives this time")
    return ReproducedNumber(
        t_interval(np.concatenate([*seconds_by_seed.values()]), context.results.level), note, source
    )


def seconds(context: Context[Any], series: Series, dataset: str) -> dict[int, np.ndarray]:
    """Return processor seconds of every tolerance by repetition: after minus before, from the histories."""
    seconds_by_seed = {}
    for job in context.config.jobs(series.experiment_of(dataset)):
        file = context.root / job.path / paths.HISTORY
        if job.algorithm == series.algorithm and published_name(context, job.dataset) == dataset and is_here(file):
            seconds_by_seed[job.seed] = _seconds_of_history(file, file.stat().st_mtime_ns)
    return seconds_by_seed


@lru_cache(maxsize=2000)
def _seconds_of_history(file: Path, changed: int) -> np.ndarray:
    """Return the seconds of every candidate of a history, read once for all rows that need them."""
    times = pd.read_parquet(file).groupby("candidate", sort=False)["cpu_seconds"]
    return np.asarray(times.last() - times.first(), dtype=float)


def _classifier(context: Context[Any], row: Published) -> ReproducedNumber:
    """Return the base model's accuracy for the group on test rows, which the authors' files have and no figure."""
    base_series = next((series for series in exhibit_series(context) if series.algorithm == "plug_in_regression"), None)
    shares = []
    for job in context.config.jobs(base_series.experiment_of(row.dataset)) if base_series is not None else ():
        path = context.root / job.path / paths.MODEL
        if (
            job.algorithm == "plug_in_regression"
            and published_name(context, job.dataset) == row.dataset
            and is_here(path)
        ):
            shares.append(_accuracy(path, (context.root, job.dataset, "test", job.seed), path.stat().st_mtime_ns))
    if base_series is None or not shares:
        return ReproducedNumber(None, "the base models have not been fitted", kind="question")
    accuracy, larger = np.array(shares).T
    estimate = t_interval(accuracy, context.results.level)
    source = f"base models of {base_series.experiment_of(row.dataset)}"
    null_values = {"the larger group": float(larger.mean())}
    return ReproducedNumber(estimate, "", source, kind="question", noise=printed(row.value), nulls=null_values)


@lru_cache(maxsize=200)
def _accuracy(path: Path, row_key: tuple[Path, str, str, int], changed: int) -> tuple[float, float]:
    """Return the share of test rows whose group the model predicts, and the share of the larger group."""
    rows = rows_of(*row_key)
    predicted = load_model(path).base.tau(rows.X).argmax(axis=1) == rows.group
    return float(predicted.mean()), float(np.bincount(rows.group).max() / rows.n_rows)
