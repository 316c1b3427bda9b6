"""Row products: scores of all rows, and their adjoint, for one column or eight columns at once.

A row is stored as positions in a table of weights (of its ones, or of combinations of them: see
:class:`partialfair.models.design.GroupedDesign`) and the values of its remaining, "dense" columns. Position 0
is the intercept. Gathering costs as many additions as a row has positions, where a dense product would pay
for every column.

Positions and values are stored one column after the other, so that the innermost loops run along the rows: they then
have a known stride and no branch. One score column on a9a costs 0.05 ms so and 0.15 ms with one row after the other,
its adjoint on bank (ten dense columns) 0.07 ms and 0.23 ms.
"""

import numpy as np

from partialfair.tables.compiled import BLOCK, SUM_BLOCK, kernel
from partialfair.tables.lanes import lane_dot, lane_sum

FLUSH = 4 * SUM_BLOCK  # rows whose sums stay in float32 before they move to float64


@kernel
def expand(tables, members, coded):
    """Coded tables: ``coded[g, e] = sum of tables[g, members[e]]``, for (G, d+2), (E, M) and (G, E)."""
    for g in range(tables.shape[0]):
        for e in range(members.shape[0]):
            total = tables.dtype.type(0)
            for m in range(members.shape[1]):
                total += tables[g, members[e, m]]
            coded[g, e] = total


@kernel
def collapse(coded, members, tables):
    """Adjoint of :func:`expand`; adds to ``tables``."""
    for g in range(tables.shape[0]):
        for e in range(members.shape[0]):
            for m in range(members.shape[1]):
                tables[g, members[e, m]] += coded[g, e]


@kernel
def forward_one(ones, dense, dense_columns, starts, subset_group, weights, scores):
    """Scores of one column: ``scores[i] = intercept + sum of weights at ones + dense . weights``.

    Args:
        ones: (F, n) positions in the table.
        dense: (p, n) values of the dense columns.
        dense_columns: (p,) their positions in the weight table.
        starts: (S+1,) first row of each subset.
        subset_group: (S,) group of each subset.
        weights: (G, E) tables.
        scores: (n,) output.
    """
    for subset in range(starts.size - 1):
        table = weights[subset_group[subset]]
        stop = starts[subset + 1]
        for low in range(starts[subset], stop, SUM_BLOCK):
            high = min(low + SUM_BLOCK, stop)
            out = scores[low:high]
            out[:] = table[0]
            _add_dense(dense, dense_columns, low, table, 1, 0, out)
            # Two positions at a time: a score is loaded and stored half as often.
            for f in range(0, len(ones) - 1, 2):
                a, b = ones[f, low:high], ones[f + 1, low:high]
                for i in range(out.size):
                    out[i] += table[a[i]] + table[b[i]]
            if len(ones) % 2:
                a = ones[len(ones) - 1, low:high]
                for i in range(out.size):
                    out[i] += table[a[i]]


@kernel
def _add_dense(dense, dense_columns, first, table, lanes, lane, scores):
    """Add ``dense . weights`` of one lane to the scores (m,) of the rows from ``first`` on."""
    last = first + scores.size
    for p in range(0, dense_columns.size - 1, 2):  # two columns at a time, as above
        u, v = table[dense_columns[p] * lanes + lane], table[dense_columns[p + 1] * lanes + lane]
        a, b = dense[p, first:last], dense[p + 1, first:last]
        for i in range(scores.size):
            scores[i] += u * a[i] + v * b[i]
    if dense_columns.size % 2:
        u, a = table[dense_columns[-1] * lanes + lane], dense[dense_columns.size - 1, first:last]
        for i in range(scores.size):
            scores[i] += u * a[i]


@kernel
def forward_eight(ones, dense, dense_columns, starts, subset_group, weights, scores):
    """Scores of eight columns; ``weights`` is (G, E*8) with the lanes innermost, ``scores`` (8, n)."""
    buffer = np.empty(BLOCK * 8, np.float32)
    for subset in range(starts.size - 1):
        w = weights[subset_group[subset]]
        stop = starts[subset + 1]
        for low in range(starts[subset], stop, BLOCK):
            rows = min(BLOCK, stop - low)
            # All loads come before all stores: otherwise possible overlap forbids vector code.
            a0, a1, a2, a3, a4, a5, a6, a7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
            for i in range(rows):
                o = i * 8
                buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3] = a0, a1, a2, a3
                buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7] = a4, a5, a6, a7
            for f in range(0, len(ones) - 1, 2):
                _gather(ones[f, low : low + rows], ones[f + 1, low : low + rows], w, buffer)
            if len(ones) % 2:
                _gather_one(ones[len(ones) - 1, low : low + rows], w, buffer)
            for c in range(8):
                out = scores[c, low : low + rows]
                for i in range(rows):
                    out[i] = buffer[i * 8 + c]
        for low in range(starts[subset], stop, SUM_BLOCK):
            for c in range(8):
                _add_dense(dense, dense_columns, low, w, 8, c, scores[c, low : min(low + SUM_BLOCK, stop)])


@kernel
def _gather_one(positions, w, buffer):
    """Add the table's eight lanes at each row's position."""
    for i in range(positions.size):
        o, j = i * 8, np.int64(positions[i]) * 8
        a0, a1, a2, a3, a4, a5, a6, a7 = w[j], w[j + 1], w[j + 2], w[j + 3], w[j + 4], w[j + 5], w[j + 6], w[j + 7]
        b0, b1, b2, b3 = buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3]
        b4, b5, b6, b7 = buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7]
        buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3] = a0 + b0, a1 + b1, a2 + b2, a3 + b3
        buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7] = a4 + b4, a5 + b5, a6 + b6, a7 + b7


@kernel
def _gather(first, second, w, buffer):
    """Add the table's eight lanes at each row's first and second position."""
    for i in range(first.size):
        o, j, k = i * 8, np.int64(first[i]) * 8, np.int64(second[i]) * 8
        a0, a1, a2, a3, a4, a5, a6, a7 = w[j], w[j + 1], w[j + 2], w[j + 3], w[j + 4], w[j + 5], w[j + 6], w[j + 7]
        c0, c1, c2, c3, c4, c5, c6, c7 = w[k], w[k + 1], w[k + 2], w[k + 3], w[k + 4], w[k + 5], w[k + 6], w[k + 7]
        b0, b1, b2, b3 = buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3]
        b4, b5, b6, b7 = buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7]
        buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3] = b0 + a0 + c0, b1 + a1 + c1, b2 + a2 + c2, b3 + a3 + c3
        buffer[o + 4], buffer[o + 5] = b4 + a4 + c4, b5 + a5 + c5
        buffer[o + 6], buffer[o + 7] = b6 + a6 + c6, b7 + a7 + c7


@kernel
def adjoint_one(ones, dense, dense_columns, starts, subset_group, residual, gradient):
    """Adjoint of :func:`forward_one`: adds ``sum_i residual[i] * row_i`` to ``gradient`` (G, E), float64."""
    # Four tables in turn: neighbouring rows share codes, and an addition to an entry would wait for the one before.
    tables = np.empty((4, gradient.shape[1]), residual.dtype)
    t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
    for subset in range(starts.size - 1):
        total = gradient[subset_group[subset]]
        stop = starts[subset + 1]
        for low in range(starts[subset], stop, FLUSH):
            high = min(low + FLUSH, stop)
            r = residual[low:high]
            # A step along a constraint touches the rows of a subset or two; the others add nothing.
            if not _any(r):
                continue
            for first in range(low, high, SUM_BLOCK):
                part = residual[first : min(first + SUM_BLOCK, high)]
                _add_dense_sums(dense, dense_columns, first, part, 1, 0, total)
            tables[:] = 0
            even = r.size // 4 * 4
            for f in range(len(ones)):
                positions = ones[f, low:high]
                for i in range(0, even, 4):
                    t0[positions[i]] += r[i]
                    t1[positions[i + 1]] += r[i + 1]
                    t2[positions[i + 2]] += r[i + 2]
                    t3[positions[i + 3]] += r[i + 3]
                for i in range(even, r.size):
                    t0[positions[i]] += r[i]
            for j in range(t0.size):
                total[j] += (t0[j] + t1[j]) + (t2[j] + t3[j])


@kernel
def _any(residual):
    """Whether a residual (m,) has an entry other than zero."""
    found = False
    for i in range(residual.size):
        found |= residual[i] != 0
    return found


@kernel
def _add_dense_sums(dense, dense_columns, first, residual, lanes, lane, total):
    """Add the sums of one lane's residuals (m,), plain and weighted by each dense column, to its totals.

    The residuals are those of the rows from ``first`` on.
    """
    total[lane] += lane_sum(residual)
    for p in range(dense_columns.size):
        total[dense_columns[p] * lanes + lane] += lane_dot(residual, dense[p, first : first + residual.size])


@kernel
def adjoint_eight(ones, dense, dense_columns, starts, subset_group, residual, gradient):
    """Adjoint of :func:`forward_eight`: ``residual`` (8, n) into ``gradient`` (G, E*8), float64."""
    buffer = np.empty(BLOCK * 8, np.float32)
    # Two tables: two positions of a row at a time, whose additions do not wait for one another.
    tables = np.empty((2, gradient.shape[1]), np.float32)
    g, h = tables[0], tables[1]
    for subset in range(starts.size - 1):
        total = gradient[subset_group[subset]]
        stop = starts[subset + 1]
        for top in range(starts[subset], stop, FLUSH):
            end = min(top + FLUSH, stop)
            for low in range(top, end, SUM_BLOCK):
                for c in range(8):
                    _add_dense_sums(
                        dense, dense_columns, low, residual[c, low : min(low + SUM_BLOCK, end)], 8, c, total
                    )
            tables[:] = 0
            for low in range(top, end, BLOCK):
                high = min(low + BLOCK, end)
                _interleave(residual, low, high, buffer)
                for f in range(0, len(ones) - 1, 2):
                    _scatter(ones[f, low:high], ones[f + 1, low:high], buffer, g, h)
                if len(ones) % 2:
                    _scatter_one(ones[len(ones) - 1, low:high], buffer, g)
            for j in range(g.size):
                total[j] += g[j] + h[j]


@kernel
def _interleave(residual, low, high, buffer):
    """Rows ``low..high`` of eight lanes (8, n), lanes innermost."""
    r0, r1, r2, r3 = residual[0, low:high], residual[1, low:high], residual[2, low:high], residual[3, low:high]
    r4, r5, r6, r7 = residual[4, low:high], residual[5, low:high], residual[6, low:high], residual[7, low:high]
    for i in range(high - low):
        o = i * 8
        a0, a1, a2, a3, a4, a5, a6, a7 = r0[i], r1[i], r2[i], r3[i], r4[i], r5[i], r6[i], r7[i]
        buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3] = a0, a1, a2, a3
        buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7] = a4, a5, a6, a7


@kernel
def _scatter_one(positions, buffer, g):
    """Add each row's eight lanes to the table at its position."""
    for i in range(positions.size):
        o, j = i * 8, np.int64(positions[i]) * 8
        a0, a1, a2, a3 = buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3]
        a4, a5, a6, a7 = buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7]
        b0, b1, b2, b3, b4, b5, b6, b7 = g[j], g[j + 1], g[j + 2], g[j + 3], g[j + 4], g[j + 5], g[j + 6], g[j + 7]
        g[j], g[j + 1], g[j + 2], g[j + 3] = a0 + b0, a1 + b1, a2 + b2, a3 + b3
        g[j + 4], g[j + 5], g[j + 6], g[j + 7] = a4 + b4, a5 + b5, a6 + b6, a7 + b7


@kernel
def _scatter(first, second, buffer, g, h):
    """Add each row's eight lanes to one table at its first position, and to another at its second."""
    for i in range(first.size):
        o, j, k = i * 8, np.int64(first[i]) * 8, np.int64(second[i]) * 8
        a0, a1, a2, a3 = buffer[o], buffer[o + 1], buffer[o + 2], buffer[o + 3]
        a4, a5, a6, a7 = buffer[o + 4], buffer[o + 5], buffer[o + 6], buffer[o + 7]
        b0, b1, b2, b3, b4, b5, b6, b7 = g[j], g[j + 1], g[j + 2], g[j + 3], g[j + 4], g[j + 5], g[j + 6], g[j + 7]
        c0, c1, c2, c3, c4, c5, c6, c7 = h[k], h[k + 1], h[k + 2], h[k + 3], h[k + 4], h[k + 5], h[k + 6], h[k + 7]
        g[j], g[j + 1], g[j + 2], g[j + 3] = a0 + b0, a1 + b1, a2 + b2, a3 + b3
        g[j + 4], g[j + 5], g[j + 6], g[j + 7] = a4 + b4, a5 + b5, a6 + b6, a7 + b7
        h[k], h[k + 1], h[k + 2], h[k + 3] = a0 + c0, a1 + c1, a2 + c2, a3 + c3
        h[k + 4], h[k + 5], h[k + 6], h[k + 7] = a4 + c4, a5 + c5, a6 + c6, a7 + c7


@kernel
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
        for f in range(len(ones)):
            sums[b, ones[f, i]] += 1
        for p in range(dense_columns.size):
            sums[b, dense_columns[p]] += dense[p, i]
