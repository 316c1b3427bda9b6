"""Hypervolume of a set of models: the area of the (fairness, accuracy) plane that its frontier dominates.

The area is bounded by a reference point, which has to be stated: an area means nothing without it.
"""

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.frontier import Points


def hypervolume(
    fairness: NDArray[np.floating], accuracy: NDArray[np.floating], reference: tuple[float, float]
) -> float:
    """Area dominated by points and above the reference point in both coordinates (Zitzler and Thiele 1999).

    Args:
        fairness, accuracy: (m,) values, larger is better; NaN points are left out.
        reference: (fairness, accuracy); a point that is not better in both adds nothing.
    """
    fair, right = (
        np.maximum(values - least, 0) for values, least in zip(pareto(fairness, accuracy), reference, strict=True)
    )
    # Increasing fairness, decreasing accuracy: each point adds the strip between it and the one before.
    return float(np.sum(np.diff(fair, prepend=0.0) * right))


def pareto(fairness: NDArray[np.floating], accuracy: NDArray[np.floating]) -> Points:
    """Points that no other point equals or beats in both, by increasing fairness; NaN points are left out."""
    fair, right = np.asarray(fairness, np.float64), np.asarray(accuracy, np.float64)
    finite = ~(np.isnan(fair) | np.isnan(right))
    fair, right = fair[finite], right[finite]
    order = np.lexsort((-right, -fair))  # fairest first, of those the most accurate
    fair, right = fair[order], right[order]
    before = np.maximum.accumulate(np.concatenate([[-np.inf], right]))[:-1]
    is_best = right > before
    return fair[is_best][::-1], right[is_best][::-1]
