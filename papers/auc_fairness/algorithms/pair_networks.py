"""AUC maximisation with networks under AUC-gap constraints: the inexact proximal method (IQRC), and the baselines.

Source: AUC fairness paper, Algorithm 3 and section 6. The steps on everything but the network's weights are those of
the linear case (:mod:`partialfair.kernels.pair_minimax`,
:mod:`partialfair.kernels.pair_descent_steps`); R networks are trained at once on the same batches. Parameters
stand as the columns of tables (n, R), see :class:`papers.auc_fairness.algorithms.sigmoid_network.SigmoidNetwork`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from papers.auc_fairness.algorithms.pair_descent import KINDS, DescentBudget, first_multipliers
from papers.auc_fairness.algorithms.sigmoid_network import SigmoidNetwork
from partialfair.algorithms.auc.level_set import (
    CSR,
    LevelSetBudget,
    Rows,
    joined_snapshots,
    marked_steps,
    mirror_weight,
    set_weights,
)
from partialfair.data.auc_sets import FourSets, cell_counts
from partialfair.kernels import sigmoid_network_steps as kernels
from partialfair.kernels.pair_descent_steps import penalty_step
from partialfair.kernels.pair_minimax import PAIR_N, PAIR_P, minimax_step, upper_bound

Vector = NDArray[np.float64]


def surrogate_values(scores: Vector, cells: NDArray[np.integer], sets: FourSets, c1: float, c2: float) -> Vector:
    """f0, f1, f2 (3, R) of scores (n, R) from means and variances, in O(n)."""
    # L(P, N) = c1 ((c2 - (mu_P - mu_N))^2 + V_P + V_N): means and variances of the sets replace n_P n_N pairs
    counts = cell_counts(cells)
    onehot = (cells == np.arange(4)[:, None]).astype(np.float64)
    size = (sets.table @ counts)[:, None]
    mean = sets.table @ (onehot @ scores) / size
    variance = sets.table @ (onehot @ scores**2) / size - mean**2
    values = np.zeros((3, scores.shape[1]))
    for row, p, n in zip((0, 1, 1, 2, 2), PAIR_P, PAIR_N, strict=True):
        values[row] += c1 * ((c2 - (mean[p] - mean[n])) ** 2 + variance[p] + variance[n])
    return values


@dataclass(frozen=True, eq=False)
class NetworkRuns:
    """Snapshots (S, n) as models store them, run (S,) and share of the work (S,) of each; ``upper`` (calls, R): U.

    Apart from :class:`~partialfair.algorithms.auc.level_set.LevelSetRuns`, which keeps level, average and extremes of
    every call: the baselines, which share this class, make no calls.
    """

    snapshots: Vector
    run: NDArray[np.int64]
    work: Vector
    upper: Vector


def solve_iqrc(
    network: SigmoidNetwork,
    rows: Rows,
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
        network: the architecture.
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
    table, arrays = network.table(np.repeat(start[None], c.size, axis=0)), rows.arrays
    # f0 of a constant score, the level of a run that begins outside the constraints
    level = np.full(c.size, budget.c1 * budget.c2**2)
    candidates: list[tuple[Vector, NDArray[np.int64], float]] = []
    uppers: list[Vector] = []
    for number in range(budget.calls):
        # Algorithm 3, line 3: x~^(s) (n, R) is the centre of d_x and the start of the oracle
        scores = network.scores(table, arrays)
        f0, f1, f2 = surrogate_values(scores, rows.cells, rows.sets, budget.c1, budget.c2)
        level = np.where(np.maximum(f1, f2) <= limit, f0, level)
        centre, means, active = table.copy(), set_means(scores, rows), np.arange(c.size)
        for mark_index in range(levels):
            moved, bound, snapshots = _call(
                network, arrays, rows.cells, np.ascontiguousarray(centre[:, active]), means[:, active], level[active],
                limit[active], c[active], sets, weight, random, budget, proximal,
            )  # fmt: skip
            table[:, active] = moved
            upper = np.full(c.size, np.nan)
            upper[active] = bound
            uppers.append(upper)
            for mark, columns in snapshots:
                snapshot, done = network.theta(columns), (mark_index + mark / budget.steps) / levels
                good = np.isfinite(snapshot).all(axis=1)
                candidates.append((snapshot[good], active[good], (number + done) / budget.calls))
            level[active] += np.minimum(bound, 0.0) / (2 * budget.theta)
            active = active[np.isfinite(bound) & (bound < -budget.tolerance)]
            if not active.size:
                break
        if report is not None:
            report(
                f"outer iteration {number + 1}/{budget.calls}: f0 {np.round(f0.min(), 4)} to {np.round(f0.max(), 4)}"
            )
    return NetworkRuns(*joined_snapshots(candidates), np.array(uppers))


def _call(
    network: SigmoidNetwork,
    arrays: CSR,
    row_cells: NDArray[np.int64],
    centre: Vector,
    means: Vector,
    level: Vector,
    limit: Vector,
    c: Vector,
    sets: Vector,
    weight: float,
    random: np.random.Generator,
    budget: LevelSetBudget,
    proximal: float,
) -> tuple[Vector, Vector, list[tuple[int, Vector]]]:
    """One oracle call from ``centre`` (n, R), of set means (6, R).

    Returns:
        The averaged weights (n, R), U (R,), and the snapshots (n, R), each with the number of steps taken.
    """
    runs = c.size
    table, gradient, mean = centre.copy(), np.empty_like(centre), np.zeros_like(centre)
    sums, nothing = np.zeros((10, runs)), np.zeros((0, runs))
    # Lemma 1 at x~: a = mu_P, b = mu_N and alpha = sqrt(c1) (mu_P - mu_N) attain the min-max
    a0, b0 = means[PAIR_P], means[PAIR_N]
    a, b, alpha = a0.copy(), b0.copy(), np.sqrt(budget.c1) * (a0 - b0)
    y, far = np.full((3, runs), 1 / 3), np.zeros(runs)
    scores, hidden = np.empty((budget.batch, runs)), np.empty((budget.batch, network.hidden, runs))
    residual = np.empty((budget.batch, runs))
    marks = set(marked_steps(budget.steps, budget.marks).tolist())
    skip = int(budget.skip * budget.steps)
    snapshots: list[tuple[int, Vector]] = []
    batches = random.integers(0, row_cells.size, (budget.steps, budget.batch))
    for t, batch in enumerate(batches):
        eta = c / np.sqrt(t + 1.0)
        tau = weight * eta
        # Algorithm 2, lines 4 to 6: scores of the batch, then a, b, y, alpha, then the weights by backpropagation
        kernels.forward(*arrays, batch, table, network.hidden, hidden, scores)
        counted = t >= skip
        if counted:
            kernels.add_to_average(table, centre, tau, mean, far)
        minimax_step(
            scores, row_cells[batch], sets, a, b, y, alpha, level, limit, budget.c1, budget.c2, eta, tau, weight,
            budget.bound, proximal, a0, b0, sums if counted else nothing, residual,
        )  # fmt: skip
        kernels.backward(*arrays, batch, table, network.hidden, hidden, scores, residual, gradient)
        kernels.proximal_step(table, gradient, centre, eta, proximal, budget.radius)
        if t + 1 in marks:
            points = [table.copy(), mean / sums[0]] if counted else [table.copy()]
            snapshots += [(t + 1, point) for point in points]
    # Lemma 4 with the proximal term: U(r) + rho / 2 times the weighted mean of |x - x~|^2
    averages = sums[1:9] / sums[0]
    upper = np.array([upper_bound(v[:3].copy(), v[3:].copy(), budget.bound) for v in averages.T])
    return mean / sums[0], upper + proximal / 2 * (far + sums[9]) / sums[0], snapshots


def set_means(scores: Vector, rows: Rows) -> Vector:
    """Mean scores (6, R) of the six sets, of scores (n, R)."""
    counts = cell_counts(rows.cells)
    onehot = (rows.cells == np.arange(4)[:, None]).astype(np.float64)
    return np.asarray((rows.sets.table @ (onehot @ scores)) / (rows.sets.table @ counts)[:, None])


def solve_penalty(
    network: SigmoidNetwork,
    rows: Rows,
    start: Vector,
    kind: str,
    amounts: Sequence[float] | Vector,
    constants: Sequence[float] | Vector,
    random: np.random.Generator,
    budget: DescentBudget,
) -> NetworkRuns:
    """Train R networks by a baseline of :mod:`papers.auc_fairness.algorithms.pair_descent`; see its ``solve``."""
    rows.sets.require(cell_counts(rows.cells))
    amount, c = np.asarray(amounts, np.float64), np.asarray(constants, np.float64)
    table, arrays = network.table(np.repeat(start[None], c.size, axis=0)), rows.arrays
    gradient, mean, multipliers = np.empty_like(table), np.zeros_like(table), first_multipliers(kind, c.size)
    scores, hidden = np.empty((budget.batch, c.size)), np.empty((budget.batch, network.hidden, c.size))
    residual = np.empty((budget.batch, c.size))
    marks = set(marked_steps(budget.steps, budget.marks).tolist())
    candidates: list[tuple[Vector, NDArray[np.int64], float]] = []
    for t in range(budget.steps):
        batch = random.integers(0, rows.cells.size, budget.batch)
        eta = c / np.sqrt(t + 1.0)
        # one gradient step on f0 plus the penalty's terms, eta_t = c / sqrt(t + 1)
        kernels.forward(*arrays, batch, table, network.hidden, hidden, scores)
        penalty_step(
            KINDS[kind], scores, rows.cells[batch], rows.sets.table, multipliers, amount, eta, budget.c1, budget.c2,
            budget.cap, residual,
        )  # fmt: skip
        kernels.backward(*arrays, batch, table, network.hidden, hidden, scores, residual, gradient)
        kernels.descend(table, gradient, eta, mean)
        if t + 1 in marks:
            for snapshot in map(network.theta, (table, mean / (t + 1))):
                good = np.isfinite(snapshot).all(axis=1)
                candidates.append((snapshot[good], np.flatnonzero(good), (t + 1) / budget.steps))
    return NetworkRuns(*joined_snapshots(candidates), np.zeros((0, c.size)))
