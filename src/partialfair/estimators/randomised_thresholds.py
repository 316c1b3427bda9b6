"""Thresholds that are drawn, for tolerances below the share of one row of the smallest group.

The rates of a group's thresholds lie on a grid with steps of one row's share. Two groups meet a smaller tolerance at
few points of their grids, often only where everybody gets the same decision. A group that draws between two thresholds
reaches every rate between theirs, with errors that lie on the upper hull of its curve of correct rows by rate. So the
best rates solve a concave problem in one level z: with A_k the hull of group k,

    max over z of sum_k max of A_k(r) over z <= r <= z + slack.

Source: Hardt, Price and Srebro, Equality of Opportunity in Supervised Learning (2016), section 4.1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.linear.group_thresholds import GroupCurve

Vector = NDArray[np.float64]


class DrawnCuts(NamedTuple):
    """Thresholds of all groups for each part of the range of lots.

    Attributes:
        thresholds: (m, G), in the order of the lots.
        shares: (m,) shares of the lots.
        rates: (G,) expected rates.
        correct: expected weight of the rows that are decided correctly.
    """

    thresholds: Vector
    shares: Vector
    rates: Vector
    correct: float


def best_drawn_cuts(curves: list[GroupCurve], slack: float) -> DrawnCuts:
    """The most accurate thresholds, drawn between two per group, whose expected rates differ by at most the slack."""
    hulls = [_upper_hull(curve.rates, curve.correct.astype(np.float64)) for curve in curves]
    ends = np.concatenate([curve.rates[hull] for curve, hull in zip(curves, hulls, strict=True)])
    lows = np.unique(np.clip(np.concatenate([ends, ends - slack]), 0.0, None))
    total, chosen = np.zeros(lows.size), []
    for curve, hull in zip(curves, hulls, strict=True):
        x, a = curve.rates[hull], curve.correct[hull].astype(np.float64)
        rate = np.clip(x[int(np.argmax(a))], lows, lows + slack)  # A_k is concave: the rate nearest to its peak
        rate = np.clip(rate, x[0], x[-1])
        total += np.where((rate >= lows - 1e-12) & (rate <= lows + slack + 1e-12), np.interp(rate, x, a), -np.inf)
        chosen.append(rate)
    best = int(np.argmax(total))
    rates = np.array([rate[best] for rate in chosen])
    pairs = [_between(curve, hull, rate) for curve, hull, rate in zip(curves, hulls, rates, strict=True)]
    chances = np.array([chance for _, _, chance in pairs])
    # One lot for all groups: group k takes its second threshold where the lot is below its chance.
    ends = np.unique(np.concatenate([[0.0], chances, [1.0]]))
    middles = (ends[1:] + ends[:-1]) / 2
    lower, upper = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    return DrawnCuts(np.where(middles[:, None] < chances, upper, lower), np.diff(ends), rates, float(total[best]))


def _between(curve: GroupCurve, hull: NDArray[np.int64], rate: float) -> tuple[float, float, float]:
    """Two thresholds of the hull, and the chance of the second, that give a rate."""
    x = curve.rates[hull]
    upper = int(np.clip(np.searchsorted(x, rate), 1, x.size - 1)) if x.size > 1 else 0
    lower = max(upper - 1, 0)
    width = x[upper] - x[lower]
    chance = float(np.clip((rate - x[lower]) / width, 0.0, 1.0)) if width > 0 else 0.0
    return float(curve.thresholds[hull[lower]]), float(curve.thresholds[hull[upper]]), chance


def _upper_hull(x: Vector, y: Vector) -> NDArray[np.int64]:
    """Places of the vertices of the upper hull of points (c,), from left to right (Andrew's monotone chain)."""
    hull: list[int] = []
    for new in np.lexsort((-y, x)).tolist():
        if hull and x[new] == x[hull[-1]]:
            continue  # below the point that stands there
        while len(hull) > 1 and _below_line(x, y, hull[-2], hull[-1], new):
            hull.pop()
        hull.append(new)
    return np.array(hull)


def _below_line(x: Vector, y: Vector, lower: int, middle: int, upper: int) -> bool:
    """Tell whether the middle one of three points lies on or below the line through the others."""
    return bool((y[middle] - y[lower]) * (x[upper] - x[lower]) <= (y[upper] - y[lower]) * (x[middle] - x[lower]))
