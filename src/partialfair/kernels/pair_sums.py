"""Sums of a hinge over all pairs of two samples, in linear time once both are sorted.

They make constraints and losses on score pairs (group AUC, AUC, partial AUC) cost O(n log n) per evaluation where
the pairs themselves number O(n^2).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.compiled import kernel

Vector = NDArray[np.float64]


@kernel
def pair_hinge(x, p, y, q, shift, by_x, by_y):
    """Return ``sum_ij p_i q_j max(x_i - y_j + shift, 0)``; add its derivatives to ``by_x`` and ``by_y``.

    Args:
        x, y: (n,) and (m,) ascending values.
        p, q: (n,) and (m,) weights.
        shift: added to every difference.
        by_x, by_y: (n,) and (m,) outputs; at a kink the derivative is 0.
    """
    # For x_i the pairs with y_j < x_i + shift count. As x ascends they only grow: with the running sums "mass" of q_j
    # and "moment" of q_j y_j, sum_j q_j (x_i + shift - y_j) = mass (x_i + shift) - moment.
    total, mass, moment, j = 0.0, 0.0, 0.0, 0
    for i in range(x.size):
        reach = x[i] + shift
        while j < y.size and y[j] < reach:
            mass += q[j]
            moment += q[j] * y[j]
            j += 1
        total += p[i] * (mass * reach - moment)
        by_x[i] += p[i] * mass
    # the derivative by y_j is -q_j sum of the p_i with x_i + shift > y_j: the same sweep from the other end
    mass, i = 0.0, x.size - 1
    for j in range(y.size - 1, -1, -1):
        while i >= 0 and y[j] < x[i] + shift:
            mass += p[i]
            i -= 1
        by_y[j] -= q[j] * mass
    return total


@kernel
def pair_squared_hinge(x, p, y, q, shift, by_x, by_y):
    """Return ``sum_ij p_i q_j max(x_i - y_j + shift, 0)^2``; see :func:`pair_hinge`."""
    # with c = x_i + shift: sum_j q_j (c - y_j)^2 = c^2 sum q_j - 2 c sum q_j y_j + sum q_j y_j^2
    total, mass, moment, square, j = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(x.size):
        reach = x[i] + shift
        while j < y.size and y[j] < reach:
            mass += q[j]
            moment += q[j] * y[j]
            square += q[j] * y[j] * y[j]
            j += 1
        total += p[i] * (mass * reach * reach - 2 * reach * moment + square)
        by_x[i] += 2 * p[i] * (mass * reach - moment)
    # by y_j: -2 q_j sum_i p_i (x_i + shift - y_j) over the pairs that count
    mass, moment, i = 0.0, 0.0, x.size - 1
    for j in range(y.size - 1, -1, -1):
        while i >= 0 and y[j] < x[i] + shift:
            mass += p[i]
            moment += p[i] * (x[i] + shift)
            i -= 1
        by_y[j] -= 2 * q[j] * (moment - mass * y[j])
    return total


@kernel
def top_weights(x, count, weights):
    """Weights (n,) that mark the ``count`` largest of the ascending values x (n,).

    Values tied at the boundary share what is left of the count equally. That is the average of all ways to
    choose among them, so weighted sums stay subgradients of the sum of the largest, and no row order enters.
    """
    weights[:] = 0.0
    if count <= 0:
        return
    # the count-th largest value; rows above it get 1, rows equal to it share the rest
    bound = x[x.size - min(count, x.size)]
    above = x.size
    while above > 0 and x[above - 1] > bound:
        above -= 1
        weights[above] = 1.0
    tied = above
    while tied > 0 and x[tied - 1] == bound:
        tied -= 1
    share = (count - (x.size - above)) / (above - tied)
    weights[tied:above] = share


def sorted_pair_sum(
    kernel: Any, x: Vector, p: Vector, y: Vector, q: Vector, shift: float
) -> tuple[float, Vector, Vector]:
    """Apply a kernel of this module to ascending x, y; return value and derivatives (n,), (m,)."""
    by_x, by_y = np.zeros(x.size), np.zeros(y.size)
    return kernel(x, p, y, q, shift, by_x, by_y), by_x, by_y
