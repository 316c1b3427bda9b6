"""Twelve rows with known answers, and helpers of the tests of AUC fairness."""

import numpy as np

from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments
from partialfair.data.auc_sets import PRESETS, cells_of

ROWS = np.array(
    [
        (2, 0, 1, 1), (1, 1, 1, 1), (0, 2, 1, 1), (3, 1, 1, 0), (2, 2, 1, 0), (1, 3, 1, 0),
        (0, 0, -1, 1), (1, 0, -1, 1), (-1, 1, -1, 1), (0, 1, -1, 0), (1, -1, -1, 0), (2, 1, -1, 0),
    ],
    float,
)  # fmt: skip
X, Y, GROUP = ROWS[:, :2], ROWS[:, 2], ROWS[:, 3].astype(int)
CELLS = cells_of(Y, GROUP, protected=1)


def problem(name, **options):
    return QuadraticAUC(SetMoments.from_rows(X, CELLS, PRESETS[name]), **options)


def random_rows(seed, n=60, p=3):
    """Rows in which every cell occurs."""
    rng = np.random.default_rng(seed)
    cells = np.concatenate([np.repeat(np.arange(4), 3), rng.integers(0, 4, n - 12)])
    return rng, rng.normal(size=(n, p)) + 0.3 * cells[:, None], cells


def pair_loss(scores, p, n, c1, c2):
    return c1 * np.mean((c2 - (scores[p][:, None] - scores[n][None, :])) ** 2)


def direct(scores, cells, sets, c1=0.5, c2=1.0):
    """f0, f1, f2 pair by pair."""
    d_plus, d_minus, g1, g1p, g2, g2p = (np.flatnonzero(row[cells]) for row in sets.table)

    def loss(p, n):
        return pair_loss(scores, p, n, c1, c2)

    return np.array([loss(d_plus, d_minus), loss(g1p, g1) + loss(g2, g2p), loss(g2p, g2) + loss(g1, g1p)])
