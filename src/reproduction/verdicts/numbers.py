"""The verdict on one published number: agrees, near or differs, and whether a null model would have got it too."""

import math
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from partialfair.data.intervals import format_interval
from partialfair.metrics.uncertainty import Estimate
from reproduction.grid.params import StrictModel
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.line import JUDGED, RELEASED, Line
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import is_estimated

_ROUNDING = 1e-9  # .8499 - .8399 must not exceed .01 by the last bit
_TIMES = ("train_time_s", "cpu_seconds", "wall_seconds")
"""Metrics that are measured times: they depend on the machine, and are reported without a verdict."""


class Constructed(StrictModel):
    """Published numbers that a setting was chosen to meet; a key without a value stands for all its values."""

    why: str = Field(min_length=1, description="which setting was chosen to meet them")
    metric: str | None = Field(None, description="name, or fairness for all that end with it")
    dataset: str | None = None
    algorithm: str | None = None
    interval: str | None = Field(None, description="as in published.csv")

    def meets(self, row: Published) -> bool:
        """Whether a published number belongs to the entry."""
        interval = None if self.interval is None else format_interval(self.interval)
        stated = {"dataset": self.dataset, "algorithm": self.algorithm, "interval": interval}
        fits = all(value in (None, getattr(row, name)) for name, value in stated.items())
        return fits and (self.metric in (None, row.metric) or row.metric.endswith(f"_{self.metric}"))


class Noise(StrictModel):
    """The noise by which differences are judged, where that is not the spread over seeds."""

    source: str = Field(min_length=1, description="what varies, and how its deviation was measured")
    of: dict[str, float | dict[str, float]] = Field(description="standard deviation of our mean by metric, and dataset")
    times: float = Field(3.0, gt=0, description="so many deviations still agree")

    def half_width(self, metric: str, dataset: str) -> float | None:
        """Return the largest difference that agrees; ``None`` if the entry does not state it."""
        entry = self.of.get(metric)
        deviation = entry.get(dataset) if isinstance(entry, dict) else entry
        return None if deviation is None else self.times * deviation


def word(value: float, expected: float, noise: float, tolerance: float | None) -> str:
    """Return ``agrees``, ``near`` or ``differs``.

    Args:
        value: what was found.
        expected: the published number.
        noise: largest difference that noise explains; NaN where none is known, so that only equal numbers agree.
        tolerance: largest difference that is near.
    """
    # |ours - published| within the noise agrees, within the stated tolerance is near
    difference = abs(value - expected)
    if difference <= (0.0 if math.isnan(noise) else noise) + _ROUNDING:
        return "agrees"
    return "near" if tolerance is not None and difference <= tolerance + _ROUNDING else "differs"


def noise_of(row: Published, estimate: Estimate, level: float = 0.95) -> float:
    """Return the largest difference that the spread over seeds explains; NaN without a spread of ours.

    That is the half-width of the interval of a difference of two means. The published mean has its printed standard
    deviation, or ours where none is printed, over the paper's seeds, or as many as ours where it does not say how many.
    """
    # h = sqrt(h_1^2 + h_2^2) with h_i = t_{n_i - 1, (1 + level)/2} s_i / sqrt(n_i): independent means, each with its
    # t-interval.
    ours = estimate.half_width
    if math.isnan(ours):
        return math.nan
    deviation = row.spread if row.spread_kind == "std" else math.nan
    if math.isnan(deviation):
        deviation = ours / _half_width_per_deviation(estimate.n, level)
    runs = row.seeds or estimate.n
    # A single published run has no degrees of freedom: it takes those of our runs, as it takes their deviation.
    freedom = runs if runs > 1 else estimate.n
    theirs = deviation * _half_width_per_deviation(freedom, level) * math.sqrt(freedom / runs)
    return math.hypot(ours, theirs)


def _half_width_per_deviation(n: int, level: float) -> float:
    """Return t_{n-1, (1 + level)/2} / sqrt(n): the half-width of a mean of n values, in their standard deviations."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2) / math.sqrt(n))


def line(row: Published, outcome: ReproducedNumber, evidence: Evidence[Any] | None = None) -> Line:
    """Return the line of the scorecard of one published number.

    Args:
        row: the number.
        outcome: its reproduction.
        evidence: of the exhibit, whose entry states tolerances, noise and numbers by construction.
    """
    names = ("paper", "exhibit", "dataset", "algorithm", "constraint", "interval", "setting", "metric")
    base = Line(**{name: getattr(row, name) for name in names}, published=row.value, section=row.exhibit)
    if outcome.kind == "question" or (evidence is not None and evidence.option("released", False)):
        base = replace(base, kind="question", section=RELEASED)
    if outcome.kind == "setting":
        measured_value = None if outcome.estimate is None else outcome.estimate.mean
        note = "; ".join(filter(None, [outcome.source, outcome.note]))
        return replace(base, kind="setting", reproduced=measured_value, verdict=outcome.verdict or "not run", note=note)
    estimate = outcome.estimate
    if estimate is None or not is_estimated(estimate):
        return replace(base, note=outcome.note or "no run gives this number")
    measured = replace(base, reproduced=estimate.mean, ci_low=estimate.low, ci_high=estimate.high, n=estimate.n)
    if outcome.repeats:
        return replace(measured, verdict="repeated", note="; ".join(filter(None, [outcome.source, outcome.repeats])))
    if row.metric in _TIMES:
        return replace(measured, verdict="measured", note="; ".join(filter(None, [outcome.source, outcome.note])))
    return _judged(measured, row, outcome, estimate, evidence)


def _judged(measured: Line, row: Published, outcome: ReproducedNumber, estimate: Estimate, evidence: Any) -> Line:
    """Return the line of a measured number with its verdict, its power and its note."""
    largest = evidence.tolerance(row.metric, row.dataset) if evidence is not None else None
    declared: Noise | None = evidence.option("noise") if evidence is not None else None
    half = outcome.noise
    if half is None and declared is not None:
        half = declared.half_width(row.metric, row.dataset)
    level = evidence.results.level if evidence is not None else 0.95
    explained = noise_of(row, estimate, level) if half is None else half

    def limits(value: float) -> tuple[float, float | None]:
        """Return the largest differences that noise explains and that are near, on the value's side of the number."""
        noise = explained if outcome.explained is None else _on_side(value, row.value, outcome.explained)
        return noise, largest if outcome.band is None else _on_side(value, row.value, outcome.band)

    def verdict_on(value: float) -> str:
        """Return the word of a value: near only inside the band, which need not hold the published number."""
        by_distance, (low, high) = word(value, row.value, *limits(value)), outcome.band or (-math.inf, math.inf)
        return "differs" if by_distance == "near" and not low - _ROUNDING <= value <= high + _ROUNDING else by_distance

    noise, tolerance = limits(estimate.mean)
    verdict = verdict_on(estimate.mean)
    constructed = evidence.option("by_construction") or () if evidence else ()
    why = next((entry.why for entry in constructed if entry.meets(row)), "")
    null_verdicts = {name: verdict_on(value) for name, value in outcome.nulls.items()}
    power: Literal["", "yes", "no"] = ""
    if null_verdicts and not why:
        power = "no" if _as_good(verdict, null_verdicts.values()) else "yes"
    later = evidence.tolerance_later(row.metric, row.dataset) if evidence is not None and verdict == "near" else ""
    nulls = [f"{name} {value:.4f} {null_verdicts[name]}" for name, value in outcome.nulls.items()]
    notes = [outcome.source, f"difference {estimate.mean - row.value:+.4f}", outcome.note]
    notes += [f"by construction: {why}" if why else "", f"noise: {declared.source}" if declared and half else ""]
    notes += [f"tolerance set after a first look at results: {later}" if later else ""]
    return replace(
        measured, noise=noise, tolerance=tolerance, verdict="by construction" if why else verdict,
        power="" if why else power, nulls="; ".join(nulls),
        note="; ".join(filter(None, notes)),
    )  # fmt: skip


def _on_side(value: float, expected: float, range_: tuple[float, float]) -> float:
    """Return how far a range reaches from the published number on the side of the value."""
    return range_[1] - expected if value > expected else expected - range_[0]


def _as_good(verdict: str, nulls: Any) -> bool:
    """Whether a null model gets a verdict at least as good as ours; never for a number that differs."""
    return verdict != "differs" and any(JUDGED.index(null) <= JUDGED.index(verdict) for null in nulls)
