"""Weighted Gram matrices of the rows: the Hessian of a loss by the weights of each group."""

import numpy as np
from numba import njit

from partialfair.kernels import JIT


@njit(**JIT)
def gram(ones, dense, dense_columns, starts, subset_group, weight, out):
    """Add ``sum_i weight[i] row_i row_i'`` of each group's rows to ``out`` (G, d+2, d+2), lower triangle by position.

    Entry (a, b) of a pair of positions is added at (max, min); the caller mirrors it. The cost is the square of
    a row's non-zeros, not of the number of features.
    """
    width, p = ones.shape[1], dense_columns.size
    place = np.empty(1 + width + p, np.int64)
    value = np.empty(1 + width + p)
    place[0], value[0] = 0, 1.0
    value[1 : 1 + width] = 1.0
    place[1 + width :] = dense_columns
    for subset in range(starts.size - 1):
        target = out[subset_group[subset]]
        for i in range(starts[subset], starts[subset + 1]):
            w = weight[i]
            for f in range(width):
                place[1 + f] = ones[i, f]
            for q in range(p):
                value[1 + width + q] = dense[i, q]
            for a in range(place.size):
                wa = w * value[a]
                for b in range(a + 1):
                    high, low = max(place[a], place[b]), min(place[a], place[b])
                    target[high, low] += wa * value[b]
