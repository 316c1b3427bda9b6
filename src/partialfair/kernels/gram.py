"""Weighted Gram matrices of the rows: the Hessian of a loss by the weights of each group."""

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.compiled import kernel


@kernel
def gram(ones, dense, dense_columns, starts, subset_group, weight, out):
    """Add ``sum_i weight[i] row_i row_i'`` of each group's rows to ``out`` (G, d+2, d+2), every pair of entries once.

    A pair of positions is added at (a, b) or at (b, a), whichever comes: see :func:`mirrored`. The cost is the square
    of a row's non-zeros, not of the number of features.
    """
    width, p, size = len(ones), dense_columns.size, out.shape[2]
    positions, values = np.empty(1 + width, np.int64), np.empty(p, dense.dtype)
    # a row has a one at the intercept's position 0 and at F others, and p dense values
    positions[0] = 0
    for subset in range(starts.size - 1):
        target = out[subset_group[subset]].reshape(-1)
        for i in range(starts[subset], starts[subset + 1]):
            w = weight[i]
            for f in range(width):
                positions[1 + f] = ones[f, i]
            for q in range(p):
                values[q] = dense[q, i]
            # one times one: w at every pair of positions, the diagonal included
            for a in range(1 + width):
                base = positions[a] * size
                for b in range(a + 1):
                    target[base + positions[b]] += w
            # dense times one, w x_q, and dense times dense, w x_q x_r
            for q in range(p):
                base, wq = dense_columns[q] * size, w * values[q]
                for b in range(1 + width):
                    target[base + positions[b]] += wq
                for r in range(q + 1):
                    target[base + dense_columns[r]] += wq * values[r]


def mirrored(half: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric matrices (K, E, E), of which :func:`gram` summed each pair of entries once."""
    # H + H' has every pair twice over both places, once at each; the diagonal was doubled and is halved again
    full = half + half.transpose(0, 2, 1)
    diagonal = np.arange(half.shape[1])
    full[:, diagonal, diagonal] /= 2
    return full
