"""Stochastic gradient baselines of AUC fairness on linear models: proxy-Lagrangian, correlation penalty, no constraint.

Source: AUC fairness paper, section 6 and appendix E. In the proxy-Lagrangian the weights descend on ``f0 + lambda1 f1 +
lambda2 f2`` with the quadratic pair loss, while the multipliers rise by the true gap, which counts wins; so the two
players do not share an objective. "swap" has the same constraints, with the multiplier player of Cotter et al. (2019,
Algorithm 2).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveFloat, PositiveInt

from partialfair.algorithms.auc.level_set import PairLoss, Rows, joined_snapshots, marked_steps
from partialfair.data.auc_sets import cell_counts
from partialfair.kernels.pair_descent_steps import CORRELATION, PLAIN, PROXY, SWAP, linear_descent

Vector = NDArray[np.float64]
KINDS = {"plain": PLAIN, "proxy": PROXY, "correlation": CORRELATION, "swap": SWAP}
CHUNK = 10_000  # steps whose batches are drawn at once


class DescentBudget(PairLoss):
    """Settings, the same for all runs of a batch.

    Attributes:
        batch: rows per step, drawn with replacement.
        steps: total number of steps.
        cap: largest multiplier.
        radius: bound on the norm of the weights.
        marks: how many steps are marked; after each of them, iterate and running mean become candidates.
    """

    batch: PositiveInt = 100
    steps: PositiveInt = 40_000
    cap: PositiveFloat = 100.0
    radius: PositiveFloat = 10.0
    marks: PositiveInt = 60


def first_multipliers(kind: str, runs: int) -> Vector:
    """Return multipliers (2, R) at zero; for "swap", the matrices (9, R) whose entries are all 1/3."""
    return np.full((9, runs), 1 / 3) if kind == "swap" else np.zeros((2, runs))


def solve(
    rows: Rows,
    kind: str,
    amounts: Sequence[float] | Vector,
    constants: Sequence[float] | Vector,
    random: np.random.Generator,
    budget: DescentBudget,
) -> tuple[Vector, NDArray[np.int64], Vector]:
    """Run R pairs of an amount (kappa, or a penalty weight) and a step constant c on the same batches.

    Args:
        rows: training rows.
        kind: "plain", "proxy", "correlation" or "swap".
        amounts, constants: (R,) each.
        random: source of the batches.
        budget: settings.

    Returns:
        Snapshots (S, p): iterates and running means, those that are not finite left out; their run (S,); and the share
        of the steps (S,) that had been taken.

    Raises:
        NotEstimableError: a set has no rows.
    """
    rows.sets.require(cell_counts(rows.cells))
    amount, c = np.asarray(amounts, np.float64), np.asarray(constants, np.float64)
    shape = (rows.X.shape[1], c.size)
    weights, mean, multipliers = np.zeros(shape), np.zeros(shape), first_multipliers(kind, c.size)
    marks = marked_steps(budget.steps, budget.marks)
    candidates: list[tuple[Vector, NDArray[np.int64], float]] = []
    for begin in range(0, budget.steps, CHUNK):
        steps = min(CHUNK, budget.steps - begin)
        # rows of a chunk of steps are drawn at once; the multipliers and the running sum go on from chunk to chunk
        batches = random.integers(0, rows.cells.size, (steps, budget.batch))
        inside = marks[(marks > begin) & (marks <= begin + steps)]
        snapshots = np.empty((2 * inside.size, *shape))
        linear_descent(
            KINDS[kind], *rows.arrays, rows.cells, batches, begin, begin, rows.sets.table, weights, multipliers, amount,
            c, budget.c1, budget.c2, budget.cap, budget.radius, mean, inside, snapshots,
        )  # fmt: skip
        for snapshot, mark in zip(snapshots, np.repeat(inside, 2), strict=True):
            good = np.isfinite(snapshot).all(axis=0)
            candidates.append((snapshot[:, good].T, np.flatnonzero(good), mark / budget.steps))
    return joined_snapshots(candidates)
