"""AUC between every two of four cells of rows for many scored candidates: sort once per cell, then merge."""

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.compiled import kernel

Vector = NDArray[np.float64]


@kernel
def wins(x, y):
    """Number of pairs with ``x_i > y_j`` plus half of those with ``x_i == y_j``; both ascending."""
    # Both cursors only move forwards: below counts the y < x_i, upto the y <= x_i. Their mean is what x_i wins, with
    # ties at one half; O(n + m) for two sorted samples.
    total, below, upto = 0.0, 0, 0
    for i in range(x.size):
        while below < y.size and y[below] < x[i]:
            below += 1
        while upto < y.size and y[upto] <= x[i]:
            upto += 1
        total += 0.5 * (below + upto)
    return total


@kernel
def win_table(scores_0, scores_1, scores_2, scores_3):
    """Wins (4, 4) of each cell against each other one; the cells' scores ascending."""
    out = np.zeros((4, 4))
    cells = (scores_0, scores_1, scores_2, scores_3)
    for a in range(4):
        for b in range(a):
            x, y = cells[a], cells[b]
            won = wins(x, y)
            # every pair of rows is won by one side or halved: wins[a, b] + wins[b, a] = n_a n_b
            out[a, b] = won
            out[b, a] = x.size * y.size - won
        size = float(cells[a].size)
        # AUC(A, A) = 1/2 (AUC fairness paper, Example 1 with G2 = G2' = all)
        out[a, a] = 0.5 * size * size
    return out


@kernel
def all_win_tables(scores_0, scores_1, scores_2, scores_3, out):
    """:func:`win_table` of every candidate; the arrays are (candidates, rows of the cell), ascending along rows."""
    for k in range(out.shape[0]):
        out[k] = win_table(scores_0[k], scores_1[k], scores_2[k], scores_3[k])


@kernel
def rescaled_win_tables(scores_0, scores_1, scores_2, scores_3, scales, shifts, out):
    """Win tables when the scores of the cells 2 and 3 become ``scale s + shift``; (scales, shifts, 4, 4).

    Scales must not be negative.
    """
    for i in range(scales.size):
        for j in range(shifts.size):
            out[i, j] = win_table(
                scores_0, scores_1, scales[i] * scores_2 + shifts[j], scales[i] * scores_3 + shifts[j]
            )


def win_tables(scores: Vector, cells: NDArray[np.integer]) -> Vector:
    """Wins (candidates, 4, 4) of each cell's rows against each other's, ties one half; O(n log n) per candidate.

    Args:
        scores: (candidates, n) scores; cells: (n,) cell codes.
    """
    # precomputed once per candidate: the scores (candidates, n_cell) of each cell, ascending
    sorted_scores = [np.sort(np.ascontiguousarray(scores[:, cells == cell]), axis=1) for cell in range(4)]
    out = np.empty((len(scores), 4, 4))
    all_win_tables(*sorted_scores, out)
    return out


def auc_from_wins(table: Vector, cells_a: NDArray[np.bool_], cells_b: NDArray[np.bool_], counts: Vector) -> Vector:
    """``AUC(A, B)`` of unions A, B of cells, from win tables (..., 4, 4).

    Args:
        table: wins; cells_a, cells_b: (4,) cells of A and of B; counts: (4,) rows in each cell.
    """
    # AUC(A, B) = sum over cells a of A, b of B of wins[a, b] / (|A| |B|): a pair of sets is a union of pairs of cells
    total = np.einsum("a,...ab,b->...", cells_a.astype(float), table, cells_b.astype(float))
    return np.asarray(total / (counts[cells_a].sum() * counts[cells_b].sum()))
