"""Row products: scores of all rows, and their adjoint, for one column or eight columns at once.

A row is stored as positions in a table of weights (of its ones, or of combinations of them: see
:class:`partialfair.models.design.GroupedDesign`) and the values of its remaining, "dense" columns. Position 0
is the intercept. Gathering costs as many additions as a row has positions, where a dense product would pay
for every column.
"""

import numpy as np
from numba import njit

from partialfair.kernels import BLOCK, JIT


@njit(**JIT)
def expand(tables, members, coded):
    """Coded tables: ``coded[g, e] = sum of tables[g, members[e]]``, for (G, d+2), (E, M) and (G, E)."""
    for g in range(tables.shape[0]):
        for e in range(members.shape[0]):
            total = tables.dtype.type(0)
            for m in range(members.shape[1]):
                total += tables[g, members[e, m]]
            coded[g, e] = total


@njit(**JIT)
def collapse(coded, members, tables):
    """Adjoint of :func:`expand`; adds to ``tables``."""
    for g in range(tables.shape[0]):
        for e in range(members.shape[0]):
            for m in range(members.shape[1]):
                tables[g, members[e, m]] += coded[g, e]


@njit(**JIT)
def forward_one(ones, dense, dense_columns, starts, subset_group, weights, scores):
    """Scores of one column: ``scores[i] = intercept + sum of weights at ones + dense . weights``.

    Args:
        ones: (n, F) positions in the table.
        dense: (n, p) values of the dense columns.
        dense_columns: (p,) their positions in the weight table.
        starts: (S+1,) first row of each subset.
        subset_group: (S,) group of each subset.
        weights: (G, E) tables.
        scores: (n,) output.
    """
    width = ones.shape[1]
    for subset in range(starts.size - 1):
        table = weights[subset_group[subset]]
        used = table[dense_columns]
        for i in range(starts[subset], starts[subset + 1]):
            total = table[0]
            for f in range(width):
                total += table[ones[i, f]]
            for p in range(used.size):
                total += dense[i, p] * used[p]
            scores[i] = total


@njit(**JIT)
def forward_eight(ones, dense, dense_columns, starts, subset_group, weights, scores):
    """Scores of eight columns; ``weights`` is (G, E*8) with the lanes innermost, ``scores`` (8, n)."""
    width = ones.shape[1]
    buffer = np.empty(BLOCK * 8, np.float32)
    for subset in range(starts.size - 1):
        w = weights[subset_group[subset]]
        stop = starts[subset + 1]
        for first in range(starts[subset], stop, BLOCK):
            rows = min(BLOCK, stop - first)
            for i in range(rows):
                o = i * 8
                # All loads come before all stores: otherwise possible overlap forbids vector code.
                a0, a1, a2, a3, a4, a5, a6, a7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
                buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3] = a0, a1, a2, a3
                buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7] = a4, a5, a6, a7
                for f in range(width):
                    j = np.int64(ones[first + i, f]) * 8
                    a0, a1, a2, a3 = w[j], w[j + 1], w[j + 2], w[j + 3]
                    a4, a5, a6, a7 = w[j + 4], w[j + 5], w[j + 6], w[j + 7]
                    buffer[o] += a0
                    buffer[o + 1] += a1
                    buffer[o + 2] += a2
                    buffer[o + 3] += a3
                    buffer[o + 4] += a4
                    buffer[o + 5] += a5
                    buffer[o + 6] += a6
                    buffer[o + 7] += a7
                for p in range(dense_columns.size):
                    j = dense_columns[p] * 8
                    x = dense[first + i, p]
                    a0, a1, a2, a3 = w[j], w[j + 1], w[j + 2], w[j + 3]
                    a4, a5, a6, a7 = w[j + 4], w[j + 5], w[j + 6], w[j + 7]
                    buffer[o] += x * a0
                    buffer[o + 1] += x * a1
                    buffer[o + 2] += x * a2
                    buffer[o + 3] += x * a3
                    buffer[o + 4] += x * a4
                    buffer[o + 5] += x * a5
                    buffer[o + 6] += x * a6
                    buffer[o + 7] += x * a7
            for c in range(8):
                for i in range(rows):
                    scores[c, first + i] = buffer[i * 8 + c]


@njit(**JIT)
def adjoint_one(ones, dense, dense_columns, starts, subset_group, residual, gradient):
    """Adjoint of :func:`forward_one`: adds ``sum_i residual[i] * row_i`` to ``gradient`` (G, E), float64."""
    width = ones.shape[1]
    # Two tables in turn: neighbouring rows share codes, and an addition to an entry would wait for the one before.
    block = np.empty((2, gradient.shape[1]), residual.dtype)
    even, odd = block[0], block[1]
    for subset in range(starts.size - 1):
        total = gradient[subset_group[subset]]
        stop = starts[subset + 1]
        for first in range(starts[subset], stop, 4096):
            block[:] = 0
            last = min(first + 4096, stop)
            for i in range(first, last - 1, 2):
                r, s = residual[i], residual[i + 1]
                even[0] += r
                odd[0] += s
                for f in range(width):
                    even[ones[i, f]] += r
                    odd[ones[i + 1, f]] += s
                for p in range(dense_columns.size):
                    even[dense_columns[p]] += r * dense[i, p]
                    odd[dense_columns[p]] += s * dense[i + 1, p]
            if (last - first) % 2:
                r = residual[last - 1]
                even[0] += r
                for f in range(width):
                    even[ones[last - 1, f]] += r
                for p in range(dense_columns.size):
                    even[dense_columns[p]] += r * dense[last - 1, p]
            for j in range(even.size):
                total[j] += even[j] + odd[j]


@njit(**JIT)
def adjoint_eight(ones, dense, dense_columns, starts, subset_group, residual, gradient):
    """Adjoint of :func:`forward_eight`: ``residual`` (8, n) into ``gradient`` (G, E*8), float64."""
    width = ones.shape[1]
    buffer = np.empty(BLOCK * 8, np.float32)
    g = np.empty(gradient.shape[1], np.float32)
    for subset in range(starts.size - 1):
        total = gradient[subset_group[subset]]
        stop = starts[subset + 1]
        g[:] = 0
        for first in range(starts[subset], stop, BLOCK):
            rows = min(BLOCK, stop - first)
            for c in range(8):
                for i in range(rows):
                    buffer[i * 8 + c] = residual[c, first + i]
            for i in range(rows):
                o = i * 8
                a0, a1, a2, a3 = buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3]
                a4, a5, a6, a7 = buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7]
                g[0] += a0
                g[1] += a1
                g[2] += a2
                g[3] += a3
                g[4] += a4
                g[5] += a5
                g[6] += a6
                g[7] += a7
                for f in range(width):
                    j = np.int64(ones[first + i, f]) * 8
                    g[j] += a0
                    g[j + 1] += a1
                    g[j + 2] += a2
                    g[j + 3] += a3
                    g[j + 4] += a4
                    g[j + 5] += a5
                    g[j + 6] += a6
                    g[j + 7] += a7
                for p in range(dense_columns.size):
                    j = dense_columns[p] * 8
                    x = dense[first + i, p]
                    g[j] += x * a0
                    g[j + 1] += x * a1
                    g[j + 2] += x * a2
                    g[j + 3] += x * a3
                    g[j + 4] += x * a4
                    g[j + 5] += x * a5
                    g[j + 6] += x * a6
                    g[j + 7] += x * a7
            # float32 within about four thousand rows, float64 beyond
            if (first - starts[subset]) % 4096 == 4096 - BLOCK:
                for j in range(g.size):
                    total[j] += g[j]
                g[:] = 0
        for j in range(g.size):
            total[j] += g[j]


@njit(**JIT)
def binned_adjoint(ones, dense, dense_columns, first, stop, scores, thresholds, sums):
    """Sums of rows by the score interval they fall in.

    ``sums`` (Q+1, E), float64, is overwritten: entry b holds the sum of the rows of ``first..stop`` whose
    score exceeds exactly b of the ascending ``thresholds`` (Q,). One pass over the rows then gives the
    gradient of every hinge mean: the rows above threshold q are those in bins q+1..Q.
    """
    sums[:] = 0
    for i in range(first, stop):
        b = np.searchsorted(thresholds, scores[i])
        sums[b, 0] += 1
        for f in range(ones.shape[1]):
            sums[b, ones[i, f]] += 1
        for p in range(dense_columns.size):
            sums[b, dense_columns[p]] += dense[i, p]
