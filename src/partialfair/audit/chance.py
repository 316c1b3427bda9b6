"""What chance alone makes of gaps between groups: critical values, and lower ends of intervals that allow for it.

A largest difference is never below its population value on average: it picks the threshold, and among several pairs of
groups the pair, at which the sample happens to differ most. Intervals from resamples know too little of that.
"""

import math
from collections.abc import Iterable
from statistics import NormalDist


def critical_gap(rows: Iterable[float], level: float, comparisons: int = 1) -> float:
    """Largest difference of ranks of two groups that do not differ, exceeded in few samples of ``comparisons`` pairs.

    It is the asymptotic critical value of the test of Kolmogorov and Smirnov, for several pairs with Bonferroni's
    correction. With tied scores, or on an interval, chance makes smaller gaps still.

    Args:
        rows: of the two groups.
        level: share of samples that do not exceed it, for instance 0.95.
        comparisons: number of pairs that are looked at.
    """
    tail = (1 - level) / (2 * comparisons)
    return math.sqrt(-math.log(tail) / 2 * sum(1 / size for size in rows))


def lower_end(value: float, spread: float, level: float, comparisons: int, critical: float | None = None) -> float:
    """Lower end of the interval of one of several differences, at least 0.

    Args:
        value: the difference, at least 0.
        spread: its standard deviation over resamples.
        level: of all intervals together, each of them two-sided.
        comparisons: how many there are.
        critical: value up to which chance explains it; ``None`` for one that is no largest difference over thresholds.
    """
    if critical is not None and value <= critical:
        return 0.0
    return max(0.0, value - NormalDist().inv_cdf(1 - (1 - level) / (2 * comparisons)) * spread)
