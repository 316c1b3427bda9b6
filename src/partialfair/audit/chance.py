"""The gap that chance alone makes between two groups that do not differ."""

import math
from collections.abc import Iterable


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
