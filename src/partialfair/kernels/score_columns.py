"""What the kernels that run configurations as columns share: weights in coded form, and hinges of rows."""

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.compiled import LANES, SUM_BLOCK, kernel
from partialfair.kernels.ordered_sums import lane_above

MIN_LANES = 4  # from this number of columns on, eight lanes are used
MIN_TOGETHER = 3  # from this number of columns on, eight lanes cost less than the columns one by one


def lanes_for(columns: int) -> int:
    """Lanes in which this number of columns costs least, 1 or 8; columns of other problems may join them."""
    return LANES if columns >= MIN_LANES else 1


def columns_for(lanes: int, runs: int) -> int:
    """Columns of the arrays for runs of 1 or 8 lanes: those of one lane move together where there are several."""
    return LANES if lanes > 1 or runs >= MIN_TOGETHER else 1


def passes(active: NDArray[np.bool_], alone: bool) -> list[slice]:
    """Columns that a kernel takes together: all, or those that move one by one where few do and each is as if alone."""
    moving = np.flatnonzero(active)
    return [slice(c, c + 1) for c in moving] if alone and len(moving) < MIN_TOGETHER else [slice(None)]


@kernel
def pack(effective, members, coded):
    """Coded tables (G, E*C), lanes innermost, of weights (C, G, d+2) whose last entry is zero."""
    lanes, groups, _ = effective.shape
    for g in range(groups):
        for e in range(members.shape[0]):
            for c in range(lanes):
                total = 0.0
                for m in range(members.shape[1]):
                    total += effective[c, g, members[e, m]]
                coded[g, e * lanes + c] = total


@kernel
def unpack(coded, members, lanes, gradient):
    """Adjoint of :func:`pack`: adds coded gradients (G, E*C) up to gradients (C, G, d+2)."""
    gradient[:] = 0
    for g in range(coded.shape[0]):
        for e in range(members.shape[0]):
            for m in range(members.shape[1]):
                for c in range(lanes):
                    gradient[c, g, members[e, m]] += coded[g, e * lanes + c]


@kernel
def effective_weights(params, groups, out):
    """Weights each group sees, the first d+1 columns of ``out`` (G, d+2), from parameters (R, d+1)."""
    for g in range(groups):
        for j in range(params.shape[1]):
            out[g, j] = params[0, j] + (params[g, j] if 0 < g < params.shape[0] else 0.0)


@kernel
def hinge_rows(scores, first, stop, threshold, weight, residual):
    """Add ``weight / (stop - first)`` to the residual of rows above ``threshold``; return their share."""
    step, t = np.float32(weight / (stop - first)), np.float32(threshold)
    count = 0
    for low in range(first, stop, SUM_BLOCK):
        part = scores[low : min(low + SUM_BLOCK, stop)]
        out = residual[low : min(low + SUM_BLOCK, stop)]
        for i in range(part.size):
            out[i] += step if part[i] > t else np.float32(0)
        count += lane_above(part, t)
    return count / (stop - first)
