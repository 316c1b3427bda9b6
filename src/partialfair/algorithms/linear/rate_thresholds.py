"""Group thresholds that are most accurate among those whose positive rates differ by at most a slack.

For fixed scores, accuracy and rates depend on a group's threshold only through its rank, so the optimum over all
rows is found exactly: for every window of rates as wide as the slack, the best rank of each group inside it.

Source: Hardt, Price and Srebro, Equality of Opportunity in Supervised Learning (2016), section 4, with the rates
cut off at the ends of the interval as in the Partial fairness paper, section 2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.tables.intervals import Pairs

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """What a group's threshold can do: one entry per distinct cut between sorted scores.

    Attributes:
        thresholds: (c,) decreasing thresholds.
        rates: (c,) non-decreasing rates inside the interval.
        correct: (c,) rows on the right side.
    """

    thresholds: Vector
    rates: Vector
    correct: NDArray[np.int64]


def group_curve(scores: Vector, y: Vector, interval: Pairs, scale: float = 1.0) -> GroupCurve:
    """Curve of one group's rows: scores (n,), labels (n,).

    Args:
        scores: scores of the group; y: labels -1/+1.
        interval: pairs [alpha, beta); a rate r counts as the sum of min(r, beta) - min(r, alpha).
        scale: factor on the rates, for groups whose intervals differ in length.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, positive = scores[order], y[order] > 0
    correct = np.concatenate([[0], np.cumsum(np.where(positive, 1, -1))]) + np.count_nonzero(~positive)
    between = np.concatenate([[ranked[0] + 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] - 1]])
    cuts = np.concatenate([[True], ranked[1:] < ranked[:-1], [True]])  # equal scores are not told apart
    share = np.arange(scores.size + 1)[cuts] / scores.size
    rates = sum((np.minimum(share, beta) - np.minimum(share, alpha) for alpha, beta in interval), np.zeros(share.size))
    return GroupCurve(between[cuts], scale * rates, correct[cuts])


def best_thresholds(curves: list[GroupCurve], slack: float) -> tuple[Vector, int]:
    """Thresholds (G,) and the rows they classify correctly, over all choices with rates within ``slack``.

    Cost O(c G log c) for c cuts in all. Always feasible: at rates of zero all groups agree.
    """
    lows = np.unique(np.concatenate([curve.rates for curve in curves]))
    total = np.zeros(lows.size, np.int64)
    picks = []
    for curve in curves:
        first = np.searchsorted(curve.rates, lows - 1e-12, side="left")
        last = np.searchsorted(curve.rates, lows + slack + 1e-12, side="right")
        pick = _window_argmax(curve.correct, first, last)
        total += np.where(last > first, curve.correct[pick], np.iinfo(np.int32).min)
        picks.append(pick)
    best = int(np.argmax(total))
    chosen = np.array([curve.thresholds[pick[best]] for curve, pick in zip(curves, picks, strict=True)])
    return chosen, int(total[best])


def _window_argmax(values: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of the largest of ``values[first:last]`` for every window (the first one of empty windows).

    A sparse table: the best of every run of 2^k entries, and two overlapping runs for each window.
    """
    table = [np.arange(values.size)]
    while 2 ** len(table) <= values.size:
        half, previous = 2 ** (len(table) - 1), table[-1]
        left, right = previous[:-half], previous[half:]
        table.append(np.where(values[right] > values[left], right, left))
    length = np.maximum(last - first, 1)
    level = np.floor(np.log2(length)).astype(np.int64)
    start = np.minimum(first, values.size - 1)
    out = np.empty(first.size, np.int64)
    for k, best in enumerate(table):
        at = level == k
        left, right = best[start[at]], best[np.maximum(start[at] + length[at] - 2**k, start[at])]
        out[at] = np.where(values[right] > values[left], right, left)
    return out
