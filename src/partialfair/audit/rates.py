"""Rates of every group by itself: selection, errors, precision, calibration, with closed-form intervals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.confidence_limits import lowest_ratio, mean_gap_limits, share_limits
from partialfair.audit.measures import Measurement
from partialfair.audit.sample import Sample
from partialfair.data.intervals import GroupPairs, Pairs, bounds
from partialfair.data.weights import effective_rows


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


def share(hits: float, total: float, level: float, rows: float | None = None) -> Measurement:
    """Return a proportion with its exact interval (Clopper and Pearson, 1934).

    Args:
        hits, total: rows, or sums of their weights.
        level: of the interval.
        rows: effective number of rows, if they are weighted.
    """
    if not total:
        return Measurement(None, reason="there are no such rows")
    value = hits / total
    low, high = share_limits(value, total if rows is None else rows, (1 - level) / 2)
    return Measurement(value, float(low), float(high))


def ratio(lines: list[GroupLine], level: float, effective: NDArray[np.float64] | None = None) -> Measurement:
    """Return the lowest selection rate of the compared groups divided by the highest.

    Below 0.8 it fails the four-fifths rule of the US guidelines on employee selection. Its interval allows for the
    choice of the two groups, see :func:`partialfair.audit.confidence_limits.lowest_ratio`.

    Args:
        lines: the groups.
        level: of the interval.
        effective: (G,) effective rows of the groups, if they are weighted.
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
    sizes = np.array([line.rows for line in lines], np.float64) if effective is None else effective
    ends = lowest_ratio(np.array([rates[code] for code in compared]), sizes[compared], level)
    return Measurement(value, min(float(ends[0]), value), max(float(ends[1]), value), pair=pair)


def group_lines(sample: Sample, unions: GroupPairs, min_group_size: int, level: float) -> list[GroupLine]:
    """Return what there is to say of every group by itself; one sort of the rows by group."""
    order = np.argsort(sample.group, kind="stable")
    ends = np.searchsorted(sample.group[order], np.arange(len(sample.names) + 1))
    return [
        _line(sample, order[ends[code] : ends[code + 1]], code, unions[code], min_group_size, level)
        for code in range(len(sample.names))
    ]


def _line(sample: Sample, rows: NDArray, code: int, pairs: Pairs, min_group_size: int, level: float) -> GroupLine:
    scores, size = sample.scores[rows], len(rows)
    weights = None if sample.weights is None else sample.weights[rows]
    decided, undecided = (
        scores > sample.threshold,
        f"the decision threshold {sample.threshold:g} is not a finite number",
    )
    finite = math.isfinite(sample.threshold)

    def rate(hits: NDArray | None, among: NDArray | None, decision: bool = True) -> Measurement:
        if hits is None or among is None:
            return Measurement(None, reason="no labels were given")
        if decision and not finite:
            return Measurement(None, reason=undecided)
        if weights is None:
            return share(int((hits & among).sum()), int(among.sum()), level)
        among_weights = weights[among]
        return share(int(weights[hits & among].sum()), int(among_weights.sum()), level, _effective(among_weights))

    everyone, y = np.ones(size, bool), None if sample.y is None else sample.y[rows] > 0
    wrong = None if y is None else ~y
    return GroupLine(
        name=sample.names[code],
        rows=size,
        kept=_kept_rows(scores, weights, pairs),
        reason="" if size >= min_group_size else f"not compared: fewer than {min_group_size} rows",
        median_score=_median(scores, weights),
        positive_rate=rate(decided, everyone),
        base_rate=rate(y, everyone, decision=False),
        accuracy=rate(None if y is None else decided == y, everyone),
        true_positive_rate=rate(decided, y),
        false_positive_rate=rate(decided, wrong),
        precision=rate(y, decided),
        calibration=_calibration(sample, scores, y, level, weights),
    )


def _effective(weights: NDArray[np.int64]) -> float:
    """Return the effective number of some rows."""
    return float(effective_rows(weights, np.zeros(len(weights), np.int64), 1)[0]) if len(weights) else 0.0


def _kept_rows(scores: NDArray[np.float64], weights: NDArray[np.int64] | None, pairs: Pairs) -> int:
    """Return the rows of a group that an interval of its ranks keeps."""
    if weights is None:
        return int(np.diff(bounds(pairs, len(scores))).sum())
    ranked = weights[np.argsort(-scores, kind="stable")]
    above = np.cumsum(ranked) - ranked
    return int(sum(np.count_nonzero((above >= low) & (above < high)) for low, high in bounds(pairs, int(ranked.sum()))))


def _median(scores: NDArray[np.float64], weights: NDArray[np.int64] | None) -> float:
    """Return the median score, of weighted rows that of the rows repeated."""
    if weights is None:
        return float(np.median(scores))
    order = np.argsort(scores, kind="stable")
    upto = np.cumsum(weights[order])
    middle = [(upto[-1] - 1) // 2, upto[-1] // 2]
    return float(scores[order[np.searchsorted(upto, middle, side="right")]].mean())


def _calibration(
    sample: Sample, scores: NDArray, y: NDArray | None, level: float, weights: NDArray[np.int64] | None
) -> Measurement:
    """Return mean score minus base rate, with the interval of a difference of two correlated values."""
    if y is None:
        return Measurement(None, reason="no labels were given")
    if not sample.probabilities:
        return Measurement(None, reason="scores outside [0, 1] are no probabilities")
    if len(scores) < 2:
        return Measurement(None, reason="there is one row")
    rows = float(len(scores)) if weights is None else _effective(weights)
    low, high = mean_gap_limits(scores, y, weights, rows, (1 - level) / 2)
    return Measurement(float(np.average(scores - y, weights=weights)), low, high)
