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
    published_name,
    series,
    tolerance_of,
    values,
)
from reproduction.grid import paths
from reproduction.grid.tidy import REPEAT_SD
from reproduction.verdicts import nulls
from reproduction.verdicts.evidence import Outcome
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting
from reproduction.verdicts.run_scores import rows_of

NO_SLACK = 2.0**-16
"""At this tolerance and below the problem is that without any slack, to rounding."""
GROUPS = "of two groups the second's distance is the first's times the ratio of their sizes"
UNCHANGED = 5e-4
"""Relative difference from the number where no constraint binds, up to which none does."""
CLASSIFIER = "classifier"
TIME = "train_time_s"


def reproduce(context: Context[Any], row: Published) -> Outcome:
    """What was measured of one published number of a figure, with its noise and what null models got."""
    if row.algorithm == CLASSIFIER:
        return _classifier(context, row)
    one = next((one for one in series(context) if one.name == row.algorithm), None)
    if one is None:
        return Outcome(None, "the exhibit has no series for it")
    if row.metric == TIME:
        return time_of(context, row, one)
    metric = PUBLISHED_METRICS.get(row.metric)
    if metric is None:
        return Outcome(None, f"{row.metric} is not measured")
    setting = _setting(context, one, row)
    if setting is None:
        return Outcome(None, f"no run of {one.of(row.dataset)} at this tolerance")
    metric = BINNED.get(metric, metric) if "histogram" in row.setting else metric
    found = t_interval(values(context, setting, metric), context.results.level)
    noise = math.hypot(noise_of(context, one, setting, metric), printed(row.value))
    where = f"{setting.experiment}, {setting.dataset}"
    outcome = Outcome(found, "", where, noise=noise, nulls=_nulls(context, one, setting, metric))
    return replace(outcome, repeats=_repeats(context, one, setting, metric))


def refuse(_: Any, row: Published) -> None:
    """Refuse a number of a figure whose setting states no tolerance.

    Raises:
        DataError: see :func:`tolerance_of`.
    """
    if row.algorithm != CLASSIFIER and row.metric in PUBLISHED_METRICS:
        tolerance_of(row)


def _setting(context: Context[Any], one: Series, row: Published) -> Setting | None:
    """The runs that stand for a published number."""
    eps = tolerance_of(row)
    for setting in context.results.settings(one.of(row.dataset)):
        same = math.isinf(setting.kappa) if math.isnan(eps) else math.isclose(setting.kappa, eps, rel_tol=1e-9)
        same = same and setting.algorithm == one.algorithm
        if same and published_name(context, setting.dataset) == row.dataset:
            return setting
    return None


def _repeats(context: Context[Any], one: Series, setting: Setting, metric: str) -> str:
    """Which other published number this one is once more; empty if none."""
    if metric in ("ks_group_1", "ks_binned_1"):
        return GROUPS
    if one.algorithm != "dp_postproc":
        return ""
    if setting.kappa < NO_SLACK:
        return "at this tolerance the problem is that at 2^-16, to rounding"
    loosest, first = _loosest(context, setting), next(iter(series(context)))
    counted = one.name == first.name and setting.kappa == loosest.kappa
    apart, free = (
        abs(_mean(context, setting, metric) - _mean(context, loosest, metric)),
        _mean(context, loosest, metric),
    )
    if not counted and apart <= max(noise_of(context, one, setting, metric), UNCHANGED * free):
        return f"no constraint binds: the number of {first.label} at the largest tolerance"
    return ""


def _loosest(context: Context[Any], setting: Setting) -> Setting:
    """The same runs at their largest tolerance."""
    own = [s for s in context.results.settings(setting.experiment) if s[1:3] == setting[1:3] and s.kappa < math.inf]
    return max(own, key=lambda s: s.kappa, default=setting)


def printed(value: float) -> float:
    """Half a unit of the last digit that is printed."""
    return 0.5 * 10.0 ** int(Decimal(repr(value)).as_tuple().exponent)


def noise_of(context: Context[Any], one: Series, setting: Setting, metric: str) -> float:
    """Half-width of the 95% interval of the difference of two such means over the same splits; 0 if nothing is drawn.

    The variance of one fit is the mean over splits of that of its repeats, or half the mean square of what changes
    where the data are perturbed.
    """
    from scipy.stats import t

    spread = values(context, setting, metric + REPEAT_SD)
    if spread.size:
        repeats = int(context.config.algorithm_settings(setting.experiment, setting.algorithm)["repeats"])
        variance, degrees = float(np.mean(spread**2)), (repeats - 1) * spread.size
        count = spread.size
    elif one.ties:
        seeds = (
            context.results.values(setting, metric),
            context.results.values(setting._replace(experiment=one.ties), metric),
        )
        apart = np.array([seeds[0][seed] - seeds[1][seed] for seed in seeds[0].keys() & seeds[1].keys()])
        if not apart.size:
            return math.nan
        variance, degrees, count = float(np.mean(apart**2)) / 2, apart.size, apart.size
    else:
        return 0.0
    return float(t.ppf((1 + context.results.level) / 2, degrees) * math.sqrt(2 * variance / count))


def _nulls(context: Context[Any], one: Series, setting: Setting, metric: str) -> dict[str, float]:
    """The other series at this tolerance, this one at the next tolerances and where none binds, and the base model.

    What differs from the number itself by no more than ``UNCHANGED`` is the same answer.
    """
    found = {}
    dataset = published_name(context, setting.dataset)
    for name in one.nulls:
        for other in context.results.settings(name):
            same = other.algorithm == one.algorithm and _alike(other, setting)
            if same and published_name(context, other.dataset) == dataset:
                found[context.config.experiment(name).title] = _mean(context, other, metric)
    for series_of in series(context):
        for other in context.results.settings(series_of.of(dataset)):
            fits = other.algorithm == series_of.algorithm and series_of.name != one.name and _alike(other, setting)
            if fits and published_name(context, other.dataset) == dataset:
                found[series_of.label] = _mean(context, other, metric)
    beside = nulls.neighbours(context, setting, "plug_in_regression")
    loosest = _loosest(context, setting)
    beside |= {"no constraint binds": loosest} if loosest.kappa != setting.kappa else {}
    for name, other in beside.items():
        if not (other.kappa < setting.kappa <= NO_SLACK):
            found[name] = _mean(context, other, metric)
    mine = _mean(context, setting, metric)
    alike = {name for name, value in found.items() if abs(value - mine) <= UNCHANGED * abs(mine)}
    return {name: mine if name in alike else value for name, value in found.items() if not math.isnan(value)}


def _alike(one: Setting, other: Setting) -> bool:
    return one.kappa == other.kappa or math.isclose(one.kappa, other.kappa, rel_tol=1e-9)


def _mean(context: Context[Any], setting: Setting, metric: str) -> float:
    found = values(context, setting, metric)
    return float(found.mean()) if found.size else math.nan


# --- times and base models -------------------------------------------------------------------------------------------


def time_of(context: Context[Any], row: Published, one: Series) -> Outcome:
    """Seconds of one tolerance on this machine, without the fits of base models; they are not judged."""
    note = "processor time of another implementation on another machine; the published time includes the base models"
    return measured_time(context, seconds(context, one, row.dataset), note, one.of(row.dataset))


def measured_time(context: Context[Any], spent: Mapping[int, np.ndarray], note: str, where: str) -> Outcome:
    """The mean of seconds by repetition, or that there are none."""
    if not spent:
        return Outcome(None, "no run gives this time")
    return Outcome(t_interval(np.concatenate([*spent.values()]), context.results.level), note, where)


def seconds(context: Context[Any], one: Series, dataset: str) -> dict[int, np.ndarray]:
    """Processor seconds of every tolerance by repetition: after minus before, from the histories."""
    found = {}
    for job in context.config.jobs(one.of(dataset)):
        file = context.root / job.path / paths.HISTORY
        if job.algorithm == one.algorithm and published_name(context, job.dataset) == dataset and is_here(file):
            found[job.seed] = _spent(file, file.stat().st_mtime_ns)
    return found


@lru_cache(maxsize=2000)
def _spent(file: Path, changed: int) -> np.ndarray:
    """Seconds of every candidate of a history, which several rows and published numbers ask for."""
    times = pd.read_parquet(file).groupby("candidate", sort=False)["cpu_seconds"]
    return np.asarray(times.last() - times.first(), dtype=float)


def _classifier(context: Context[Any], row: Published) -> Outcome:
    """Accuracy of the base model of the group on test rows, which the authors' files have and no figure of theirs."""
    base = next((one for one in series(context) if one.algorithm == "plug_in_regression"), None)
    found = []
    for job in context.config.jobs(base.of(row.dataset)) if base is not None else ():
        path = context.root / job.path / paths.MODEL
        if (
            job.algorithm == "plug_in_regression"
            and published_name(context, job.dataset) == row.dataset
            and is_here(path)
        ):
            found.append(_accuracy(path, (context.root, job.dataset, "test", job.seed), path.stat().st_mtime_ns))
    if base is None or not found:
        return Outcome(None, "the base models have not been fitted", kind="question")
    accuracy, larger = np.array(found).T
    estimate = t_interval(accuracy, context.results.level)
    where = f"base models of {base.of(row.dataset)}"
    nulls = {"the larger group": float(larger.mean())}
    return Outcome(estimate, "", where, kind="question", noise=printed(row.value), nulls=nulls)


@lru_cache(maxsize=200)
def _accuracy(path: Path, of: tuple[Path, str, str, int], changed: int) -> tuple[float, float]:
    """Share of test rows whose group the model tells, and share of the larger group."""
    rows = rows_of(*of)
    told = load_model(path).base.tau(rows.X).argmax(axis=1) == rows.group
    return float(told.mean()), float(np.bincount(rows.group).max() / rows.n_rows)
