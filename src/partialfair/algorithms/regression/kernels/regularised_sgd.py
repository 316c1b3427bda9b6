"""Projected steps of one size on the dual of demographic-parity post-processing plus a quadratic regulariser."""

import numpy as np
from numba import njit

from partialfair.algorithms.regression.kernels.fair_dual import softmax_row
from partialfair.tables.compiled import JIT


@njit(**JIT)
def regularised_sgd(t, r, eps, beta, rows, size, weight, centre, w, mean):
    """Steps on the rows named by ``rows``, on F plus ``weight |w|^2 / 2 - <centre, w>``.

    Args:
        t (N, K), r (N, G), eps (K,), beta: the dual.
        rows: (T,) row of each step.
        size: length of the steps.
        weight, centre (2, K, G): regulariser.
        w: (2, K, G) start, which is moved; mean: becomes the average of the points.
    """
    q = np.empty(r.shape[1])
    for step in range(1, rows.size + 1):
        i = rows[step - 1]
        softmax_row(w, t[i], r[i], beta, q)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            for s in range(w.shape[1]):
                for j in range(w.shape[2]):
                    here = w[side, s, j]
                    slope = sign * t[i, s] * q[j] + eps[s] + weight * here - centre[side, s, j]
                    new = max(here - size * slope, 0.0)
                    w[side, s, j] = new
                    mean[side, s, j] += (new - mean[side, s, j]) / step
