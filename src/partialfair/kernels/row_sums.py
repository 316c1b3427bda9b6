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

from partialfair.kernels.compiled import LANES, SUM_BLOCK, kernel
from partialfair.kernels.ordered_sums import lane_dot, lane_sum
from partialfair.kernels.simd_tables import gather_eight, gather_eight_in_pairs, scatter_eight

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
            # s_i = w_0 + sum_p x_ip w_p + sum over ones: the intercept, then dense columns, then the gathered weights
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
def _add_dense(dense, dense_columns, start, table, lanes, lane, scores):
    """Add ``dense . weights`` of one lane to the scores (m,) of the rows from ``start`` on."""
    last, in_fours = start + scores.size, dense_columns.size // 4 * 4
    for p in range(0, in_fours, 4):  # two columns at a time, as above, twice
        u, v = table[dense_columns[p] * lanes + lane], table[dense_columns[p + 1] * lanes + lane]
        w, x = table[dense_columns[p + 2] * lanes + lane], table[dense_columns[p + 3] * lanes + lane]
        a, b, c, d = (
            dense[p, start:last],
            dense[p + 1, start:last],
            dense[p + 2, start:last],
            dense[p + 3, start:last],
        )
        for i in range(scores.size):
            # the brackets state the order of the sum, so that any width of vectors gives the same bits
            scores[i] = (scores[i] + (u * a[i] + v * b[i])) + (w * c[i] + x * d[i])
    for p in range(in_fours, dense_columns.size - 1, 2):
        u, v = table[dense_columns[p] * lanes + lane], table[dense_columns[p + 1] * lanes + lane]
        a, b = dense[p, start:last], dense[p + 1, start:last]
        for i in range(scores.size):
            scores[i] += u * a[i] + v * b[i]
    if dense_columns.size % 2:
        u, a = table[dense_columns[-1] * lanes + lane], dense[dense_columns.size - 1, start:last]
        for i in range(scores.size):
            scores[i] += u * a[i]


@kernel
def forward_eight(ones, dense, dense_columns, starts, subset_group, weights, scores, active, alone):
    """Scores of eight columns; ``weights`` is (G, E*8) with the lanes innermost, ``scores`` (8, n).

    They differ by rounding from those of :func:`forward_one`, unless the columns are to be as if each was ``alone``.
    Of columns that are not ``active`` (8,) neither scores nor gradients mean anything.
    """
    for subset in range(starts.size - 1):
        table = weights[subset_group[subset]]
        stop = starts[subset + 1]
        for low in range(starts[subset], stop, SUM_BLOCK):
            high = min(low + SUM_BLOCK, stop)
            if alone:
                for c in range(LANES):
                    # alone: intercept, dense columns, then pairs of codes, the order of forward_one
                    scores[c, low:high] = table[c]
            else:
                gather_eight(low, high, ones, table, scores)
            for c in range(LANES):
                if active[c]:
                    _add_dense(dense, dense_columns, low, table, LANES, c, scores[c, low:high])
            if alone:
                gather_eight_in_pairs(low, high, ones, table, scores)


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
            if not _is_nonzero(r):
                continue
            for block_start in range(low, high, SUM_BLOCK):
                block = residual[block_start : min(block_start + SUM_BLOCK, high)]
                _add_dense_sums(dense, dense_columns, block_start, block, 1, 0, total)
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
def _is_nonzero(residual):
    """Whether a residual (m,) has an entry other than zero."""
    nonzero = False
    for i in range(residual.size):
        nonzero |= residual[i] != 0
    return nonzero


@kernel
def _add_dense_sums(dense, dense_columns, start, residual, lanes, lane, total):
    """Add the sums of one lane's residuals (m,), plain and weighted by each dense column, to its totals.

    The residuals are those of the rows from ``start`` on.
    """
    total[lane] += lane_sum(residual)
    for p in range(dense_columns.size):
        total[dense_columns[p] * lanes + lane] += lane_dot(residual, dense[p, start : start + residual.size])


@kernel
def adjoint_eight(ones, dense, dense_columns, starts, subset_group, residual, gradient, active, alone):
    """Adjoint of :func:`forward_eight`: ``residual`` (8, n) into ``gradient`` (G, E*8), float64."""
    # (4 or 1, E * 8) partial sums in float32, moved to float64 after every FLUSH rows
    tables = np.empty((4 if alone else 1, gradient.shape[1]), np.float32)
    for subset in range(starts.size - 1):
        total = gradient[subset_group[subset]]
        stop = starts[subset + 1]
        for top in range(starts[subset], stop, FLUSH):
            end = min(top + FLUSH, stop)
            for low in range(top, end, SUM_BLOCK):
                high = min(low + SUM_BLOCK, end)
                for c in range(LANES):
                    if active[c]:
                        _add_dense_sums(dense, dense_columns, low, residual[c, low:high], LANES, c, total)
            tables[:] = 0
            scatter_eight(top, end, ones, tables, residual)
            if alone:
                for j in range(total.size):
                    total[j] += (tables[0, j] + tables[1, j]) + (tables[2, j] + tables[3, j])
            else:
                for j in range(total.size):
                    total[j] += tables[0, j]


@kernel
def binned_adjoint(ones, dense, dense_columns, start, stop, scores, thresholds, sums):
    """Sums of rows by the score interval they fall in.

    ``sums`` (Q+1, E), float64, is overwritten: entry b holds the sum of the rows of ``start..stop`` whose
    score exceeds exactly b of the ascending ``thresholds`` (Q,). One pass over the rows then gives the
    gradient of every hinge mean: the rows above threshold q are those in bins q+1..Q.
    """
    sums[:] = 0
    for i in range(start, stop):
        # b thresholds lie below the score: a hinge max(s - t_q, 0) is on for the rows of bins q + 1, ..., Q
        b = np.searchsorted(thresholds, scores[i])
        sums[b, 0] += 1
        for f in range(len(ones)):
            sums[b, ones[f, i]] += 1
        for p in range(dense_columns.size):
            sums[b, dense_columns[p]] += dense[p, i]
