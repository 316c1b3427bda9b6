"""AUC maximisation with networks under AUC-gap constraints: the inexact proximal method (IQRC), and the baselines.

Source: AUC fairness paper, Algorithm 3 and section 6. The steps on everything but the network's weights are those of
the linear case (:mod:`partialfair.algorithms.auc.kernels.pair_minimax`,
:mod:`partialfair.algorithms.auc.kernels.pair_descent`); R networks are trained at once on the same batches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.auc.kernels.pair_descent import penalty_step
from partialfair.algorithms.auc.kernels.pair_minimax import PAIR_N, PAIR_P, minimax_step, upper_bound
from partialfair.algorithms.auc.level_set import LevelSetBudget, marked_steps, mirror_weight, set_weights
from partialfair.algorithms.auc.pair_descent import KINDS, DescentBudget
from partialfair.models.stacked import StackedScore
from partialfair.tables.auc_sets import FourSets, cell_counts

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkRows:
    """Training rows of networks: inputs X (n, p), dense, and cell codes (n,)."""

    X: Vector
    cells: NDArray[np.int64]
    sets: FourSets


def surrogate_values(scores: Vector, cells: NDArray[np.integer], sets: FourSets, c1: float, c2: float) -> Vector:
    """f0, f1, f2 (3, R) of scores (R, n) from means and variances, in O(n)."""
    counts = cell_counts(cells)
    onehot = (cells[:, None] == np.arange(4)).astype(np.float64)
    size = (sets.table @ counts)[:, None]
    mean = sets.table @ (onehot.T @ scores.T) / size
    variance = sets.table @ (onehot.T @ (scores**2).T) / size - mean**2
    found = np.zeros((3, len(scores)))
    for row, p, n in zip((0, 1, 1, 2, 2), PAIR_P, PAIR_N, strict=True):
        found[row] += c1 * ((c2 - (mean[p] - mean[n])) ** 2 + variance[p] + variance[n])
    return found


def all_scores(network: StackedScore, theta: Vector, X: Vector, block: int = 4096) -> Vector:
    """Scores (R, n) of all rows."""
    parts = [network.forward(theta, X[None, first : first + block])[0] for first in range(0, len(X), block)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class NetworkRuns:
    """Snapshots (S, n) of network weights and the run (S,) of each; ``upper`` (calls, R): U of every oracle call."""

    snapshots: Vector
    run: NDArray[np.int64]
    upper: Vector


def solve_iqrc(
    network: StackedScore,
    rows: NetworkRows,
    start: Vector,
    limits: Sequence[float] | Vector,
    constants: Sequence[float] | Vector,
    random: np.random.Generator,
    budget: LevelSetBudget,
    proximal: float = 1e-5,
    levels: int = 1,
    report: Callable[[str], None] | None = None,
) -> NetworkRuns:
    """Run IQRC for R pairs of a limit ``1 + kappa`` and a step constant c, all from the same weights.

    Outer iteration: the level r is f0 at the present point if that is feasible for the surrogate constraints, else the
    one that the last call left. Oracle calls with the proximal term follow, each started at the present point and each
    lowering r by ``|U| / (2 theta)``; a run leaves them as soon as its U is above the tolerance (Algorithm 1 inside
    Algorithm 3). The point of the last call is the next one.

    Args:
        network: the architecture, of scores in a bounded range.
        rows: training rows.
        start: (n,) first weights.
        limits, constants: (R,) each.
        random: source of the batches.
        budget: ``calls`` outer iterations, oracle calls of ``steps`` steps.
        proximal: rho_hat.
        levels: most oracle calls per outer iteration; 1 is a single step of Algorithm 1.
        report: receives a line per outer iteration.
    """
    limit, c = np.asarray(limits, np.float64), np.asarray(constants, np.float64)
    sets, weight = set_weights(rows.sets, rows.cells), mirror_weight(budget.bound)
    theta = np.repeat(start[None], c.size, axis=0)
    level = np.full(c.size, budget.c1 * budget.c2**2)
    kept: list[tuple[Vector, NDArray[np.int64]]] = []
    uppers: list[Vector] = []
    for number in range(budget.calls):
        f0, f1, f2 = surrogate_values(all_scores(network, theta, rows.X), rows.cells, rows.sets, budget.c1, budget.c2)
        level = np.where(np.maximum(f1, f2) <= limit, f0, level)
        centre, active = theta.copy(), np.arange(c.size)
        for _ in range(levels):
            found, bound, snapshots = _call(
                network, rows, centre[active], level[active], limit[active], c[active], sets, weight, random, budget,
                proximal,
            )  # fmt: skip
            theta[active] = found
            upper = np.full(c.size, np.nan)
            upper[active] = bound
            uppers.append(upper)
            for snapshot in snapshots:
                good = np.isfinite(snapshot).all(axis=1)
                kept.append((snapshot[good], active[good]))
            level[active] += np.minimum(bound, 0.0) / (2 * budget.theta)
            active = active[np.isfinite(bound) & (bound < -budget.tolerance)]
            if not active.size:
                break
        if report is not None:
            report(
                f"outer iteration {number + 1}/{budget.calls}: f0 {np.round(f0.min(), 4)} to {np.round(f0.max(), 4)}"
            )
    return NetworkRuns(np.concatenate([w for w, _ in kept]), np.concatenate([r for _, r in kept]), np.array(uppers))


def _call(
    network: StackedScore,
    rows: NetworkRows,
    centre: Vector,
    level: Vector,
    limit: Vector,
    c: Vector,
    sets: Vector,
    weight: float,
    random: np.random.Generator,
    budget: LevelSetBudget,
    proximal: float,
) -> tuple[Vector, Vector, list[Vector]]:
    """One oracle call from ``centre`` (R, n): the averaged weights, U (R,), and snapshots (R, n)."""
    runs = c.size
    theta, mean = centre.copy(), np.zeros_like(centre)
    sums, nothing = np.zeros((10, runs)), np.zeros((0, runs))
    own = set_means(network, rows, centre)
    a0, b0 = own[PAIR_P], own[PAIR_N]
    a, b, alpha = a0.copy(), b0.copy(), np.sqrt(budget.c1) * (a0 - b0)
    y, residual = np.full((3, runs), 1 / 3), np.empty((budget.batch, runs))
    marks = set(marked_steps(budget.steps, budget.marks).tolist())
    skip, far, snapshots = int(budget.skip * budget.steps), np.zeros(runs), []
    batches = random.integers(0, rows.cells.size, (budget.steps, budget.batch))
    for t, batch in enumerate(batches):
        eta = c / np.sqrt(t + 1.0)
        tau = weight * eta
        scores, cache = network.forward(theta, rows.X[None, batch])
        counted = t >= skip
        if counted:
            mean += tau[:, None] * theta
            far += tau * ((theta - centre) ** 2).sum(axis=1)
        minimax_step(
            np.ascontiguousarray(scores.T), rows.cells[batch], sets, a, b, y, alpha, level, limit, budget.c1, budget.c2,
            eta, tau, weight, budget.bound, proximal, a0, b0, sums if counted else nothing, residual,
        )  # fmt: skip
        gradient = network.backward(theta, cache, np.ascontiguousarray(residual.T))
        step = eta[:, None]
        theta = (theta - step * gradient + step * proximal * centre) / (1.0 + step * proximal)
        norm = np.linalg.norm(theta, axis=1, keepdims=True)
        theta *= np.minimum(1.0, budget.radius / np.maximum(norm, 1e-300))
        if t + 1 in marks:
            snapshots += [theta.copy(), mean / sums[0][:, None]] if counted else [theta.copy()]
    averages = sums[1:9] / sums[0]
    upper = np.array([upper_bound(v[:3].copy(), v[3:].copy(), budget.bound) for v in averages.T])
    return mean / sums[0][:, None], upper + proximal / 2 * (far + sums[9]) / sums[0], snapshots


def set_means(network: StackedScore, rows: NetworkRows, theta: Vector) -> Vector:
    """Mean scores (6, R) of the six sets."""
    counts = cell_counts(rows.cells)
    onehot = (rows.cells[:, None] == np.arange(4)).astype(np.float64)
    totals = onehot.T @ all_scores(network, theta, rows.X).T
    return np.asarray((rows.sets.table @ totals) / (rows.sets.table @ counts)[:, None])


def solve_penalty(
    network: StackedScore,
    rows: NetworkRows,
    start: Vector,
    kind: str,
    amounts: Sequence[float] | Vector,
    constants: Sequence[float] | Vector,
    random: np.random.Generator,
    budget: DescentBudget,
) -> NetworkRuns:
    """Train R networks by a baseline of :mod:`partialfair.algorithms.auc.pair_descent`; see its ``solve``."""
    rows.sets.require(cell_counts(rows.cells))
    amount, c = np.asarray(amounts, np.float64), np.asarray(constants, np.float64)
    theta = np.repeat(start[None], c.size, axis=0)
    mean, multipliers = np.zeros_like(theta), np.zeros((2, c.size))
    residual = np.empty((budget.batch, c.size))
    marks = set(marked_steps(budget.steps, budget.marks).tolist())
    kept: list[tuple[Vector, NDArray[np.int64]]] = []
    for t in range(budget.steps):
        batch = random.integers(0, rows.cells.size, budget.batch)
        eta = c / np.sqrt(t + 1.0)
        scores, cache = network.forward(theta, rows.X[None, batch])
        penalty_step(
            KINDS[kind], np.ascontiguousarray(scores.T), rows.cells[batch], rows.sets.table, multipliers, amount, eta,
            budget.c1, budget.c2, budget.cap, residual,
        )  # fmt: skip
        theta = theta - eta[:, None] * network.backward(theta, cache, np.ascontiguousarray(residual.T))
        mean += theta
        if t + 1 in marks:
            for snapshot in (theta, mean / (t + 1)):
                good = np.isfinite(snapshot).all(axis=1)
                kept.append((snapshot[good].copy(), np.flatnonzero(good)))
    return NetworkRuns(
        np.concatenate([w for w, _ in kept]), np.concatenate([r for _, r in kept]), np.zeros((0, c.size))
    )
