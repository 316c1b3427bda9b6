"""Rates of every group by itself: selection, errors, precision, calibration, with closed-form intervals."""

import math
from dataclasses import dataclass
from statistics import NormalDist  # scipy.stats takes half a second to import
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.measures import Measurement
from partialfair.audit.sample import Sample
from partialfair.tables.intervals import GroupPairs, bounds


@dataclass(frozen=True)
class GroupLine:
    """One group.

    Attributes:
        name, rows: of the group.
        kept: rows that the interval keeps.
        reason: why it is not compared; empty if it is.
        median_score: of its rows.
        positive_rate: share of positive decisions, the selection rate.
        base_rate: share of the positive label.
        accuracy, true_positive_rate, false_positive_rate, precision: of its decisions.
        calibration: mean score minus base rate, for scores in [0, 1]: above 0 the scores promise too much.
    """

    name: str
    rows: int
    kept: int
    reason: str
    median_score: float
    positive_rate: Measurement
    base_rate: Measurement
    accuracy: Measurement
    true_positive_rate: Measurement
    false_positive_rate: Measurement
    precision: Measurement
    calibration: Measurement


RATES = (
    "positive_rate",
    "base_rate",
    "true_positive_rate",
    "false_positive_rate",
    "precision",
    "accuracy",
    "calibration",
)
RATIO = "selection_ratio"
"""The lowest selection rate divided by the highest; its limit is a smallest value."""


def _quantile(level: float) -> float:
    """Standard normal quantile of the upper end of a two-sided interval."""
    return NormalDist().inv_cdf((1 + level) / 2)


def share(count: float, total: float, level: float) -> Measurement:
    """Return a proportion with its score interval (Wilson, 1927)."""
    if not total:
        return Measurement(None, reason="there are no such rows")
    z, p = _quantile(level), count / total
    middle, scale = p + z * z / (2 * total), 1 + z * z / total
    half = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    # The ends at no row and at all rows are 0 and 1 but for rounding.
    low = max(0.0, (middle - half) / scale) if count else 0.0
    high = min(1.0, (middle + half) / scale) if count < total else 1.0
    return Measurement(p, low, high)


def ratio(lines: list[GroupLine], level: float) -> Measurement:
    """Return the lowest selection rate of the compared groups divided by the highest.

    Below 0.8 it fails the four-fifths rule of the US guidelines on employee selection. The interval is that of a ratio
    of two proportions (Katz et al., 1978), for the two groups that were found to be the extreme ones.
    """
    compared = [code for code, line in enumerate(lines) if not line.reason and line.positive_rate.value is not None]
    if len(compared) < 2:
        return Measurement(None, reason=lines[0].positive_rate.reason or "fewer than two groups are compared")
    rates = {code: float(lines[code].positive_rate.value or 0.0) for code in compared}
    low, high = min(rates, key=lambda code: rates[code]), max(rates, key=lambda code: rates[code])
    if not rates[high]:
        return Measurement(None, reason="no row of a compared group gets a positive decision")
    if rates[low] == 1.0:
        return Measurement(None, reason="every row of the compared groups gets a positive decision")
    value = rates[low] / rates[high]
    pair = (low, high) if rates[low] < rates[high] else None
    # Half a row more where a rate is 0, so that the logarithm exists.
    (x, n), (y, m) = (
        (rates[code] * lines[code].rows + 0.5 * (not rates[low]), lines[code].rows + 0.5 * (not rates[low]))
        for code in (low, high)
    )
    spread = _quantile(level) * math.sqrt(max(1 / x - 1 / n + 1 / y - 1 / m, 0.0))
    middle = math.log((x / n) / (y / m))
    # For the two groups in their order the ends may lie on either side of 1; the lowest rate by the highest does not.
    return Measurement(value, value and math.exp(middle - spread), min(math.exp(middle + spread), 1.0), pair=pair)


def group_lines(sample: Sample, unions: GroupPairs, min_group_size: int, level: float) -> list[GroupLine]:
    """Return what there is to say of every group by itself; one sort of the rows by group."""
    order = np.argsort(sample.group, kind="stable")
    ends = np.searchsorted(sample.group[order], np.arange(len(sample.names) + 1))
    return [
        _line(sample, order[ends[code] : ends[code + 1]], code, unions[code], min_group_size, level)
        for code in range(len(sample.names))
    ]


def _line(sample: Sample, rows: NDArray, code: int, pairs: Any, min_group_size: int, level: float) -> GroupLine:
    scores, size = sample.scores[rows], len(rows)
    decided, undecided = (
        scores > sample.threshold,
        f"the decision threshold {sample.threshold:g} is not a finite number",
    )
    finite = math.isfinite(sample.threshold)

    def of(hits: NDArray | None, among: NDArray | None, decision: bool = True) -> Measurement:
        if hits is None or among is None:
            return Measurement(None, reason="no labels were given")
        if decision and not finite:
            return Measurement(None, reason=undecided)
        return share(int((hits & among).sum()), int(among.sum()), level)

    every, y = np.ones(size, bool), None if sample.y is None else sample.y[rows] > 0
    wrong = None if y is None else ~y
    return GroupLine(
        name=sample.names[code],
        rows=size,
        kept=int(np.diff(bounds(pairs, size)).sum()),
        reason="" if size >= min_group_size else f"not compared: fewer than {min_group_size} rows",
        median_score=float(np.median(scores)),
        positive_rate=of(decided, every),
        base_rate=of(y, every, decision=False),
        accuracy=of(None if y is None else decided == y, every),
        true_positive_rate=of(decided, y),
        false_positive_rate=of(decided, wrong),
        precision=of(y, decided),
        calibration=_calibration(sample, scores, y, level),
    )


def _calibration(sample: Sample, scores: NDArray, y: NDArray | None, level: float) -> Measurement:
    """Return mean score minus base rate with a normal interval."""
    if y is None:
        return Measurement(None, reason="no labels were given")
    if not sample.probabilities:
        return Measurement(None, reason="scores outside [0, 1] are no probabilities")
    if len(scores) < 2:
        return Measurement(None, reason="there is one row")
    gaps = scores - y
    half = _quantile(level) * float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    return Measurement(float(gaps.mean()), float(gaps.mean()) - half, float(gaps.mean()) + half)
