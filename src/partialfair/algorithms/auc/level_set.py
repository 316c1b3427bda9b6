"""The stochastic feasible level-set method (SFLS) for many linear models at once.

Source: AUC fairness paper, Algorithms 1 and 2. An oracle runs stochastic mirror descent on the min-max form of
``max(f0 - r, f1 - 1 - kappa, f2 - 1 - kappa)`` and returns an averaged point with an upper bound U on its minimum; the
level r then falls by ``|U| / (2 theta)``, so that every averaged point stays feasible. The experiments give no dual
step. This code sets ``tau = K eta``, with the K of the mirror map: of the ratios tried, it alone converged at the
paper's eta.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from scipy import sparse

from partialfair.algorithms.contract import Settings
from partialfair.data.auc_sets import FourSets, cell_counts
from partialfair.kernels.pair_minimax import oracle, upper_bound

Vector = NDArray[np.float64]
CSR: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], Vector]
"""Row starts, columns and entries of a sparse table, as the kernels take them."""


def mirror_weight(bound: float) -> float:
    """``K = 2 (1 + sqrt(2) I)^2``, the weight of the entropy in the dual mirror map."""
    return 2.0 * (1.0 + math.sqrt(2.0) * bound) ** 2


def set_weights(sets: FourSets, cells: NDArray[np.integer]) -> Vector:
    """Weight (6, 4) of a row of each cell in each set: 1 / share of the set among the rows, or 0.

    Raises:
        NotEstimableError: a set has no rows.
    """
    counts = cell_counts(cells)
    sets.require(counts)
    return sets.table * (counts.sum() / (sets.table @ counts))[:, None]


def csr(X: sparse.csr_array) -> CSR:
    """Return the arrays of a sparse table."""
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows of linear models and networks.

    Attributes:
        X: (n, p) CSR features.
        cells: (n,) cell codes.
        sets: the four sets of the constraint.
    """

    X: sparse.csr_array
    cells: NDArray[np.int64]
    sets: FourSets

    @cached_property
    def arrays(self) -> CSR:
        """The arrays of the features."""
        return csr(self.X)


class PairLoss(Settings):
    """The loss ``c1 (t - c2)^2`` of a pair whose scores differ by t."""

    c1: PositiveFloat = 0.5
    c2: PositiveFloat = 1.0


class LevelSetBudget(PairLoss):
    """Settings of SFLS, the same for all runs of a batch.

    Attributes:
        batch: rows per step, drawn with replacement.
        steps: T, steps of an oracle call.
        calls: largest number of oracle calls.
        theta: the level falls by ``|U| / (2 theta)``. Algorithm 1 requires theta > 1; appendix E.3 sets it to 1.
        bound: I, bound on the auxiliary variables.
        radius: bound on the norm of the weights.
        tolerance: a run ends when its U is above minus this.
        skip: share of the steps that the averages leave out. The paper leaves out none; U is then dominated by the
            first steps where c is large, and such runs end after a call or two.
        marks: points of a call at which the iterate is a candidate, and the running average where there is one.
    """

    batch: PositiveInt = 100
    steps: PositiveInt = 10_000
    calls: PositiveInt = 10
    theta: float = Field(1.0, ge=1)
    bound: PositiveFloat = 1.0
    radius: PositiveFloat = 10.0
    tolerance: PositiveFloat = 1e-4
    skip: float = Field(0.5, ge=0, lt=1)
    marks: PositiveInt = 60


@dataclass(frozen=True, eq=False)
class Call:
    """One oracle call of all runs.

    Attributes:
        level: (R,) r; upper: (R,) U, NaN where a run had ended before.
        mean: (p, R) averaged weights.
        extreme: (R,) largest absolute value of a, b and alpha at the end of the call; at the bound I the min-max
            form is not exact.
    """

    level: Vector
    upper: Vector
    mean: Vector
    extreme: Vector


@dataclass(frozen=True, eq=False)
class LevelSetRuns:
    """Snapshots and oracle calls of R runs of SFLS.

    Snapshots replace a trace: a step sees one batch, and candidates are judged on all rows afterwards.

    Attributes:
        calls: the oracle calls.
        snapshots: (S, p) weights of all runs at all marks of all calls.
        run: (S,) run of each snapshot.
        work: (S,) share of the budget of steps that had been taken at each snapshot.
    """

    calls: list[Call]
    snapshots: Vector
    run: NDArray[np.int64]
    work: Vector


def marked_steps(steps: int, marks: int) -> NDArray[np.int64]:
    """Steps after which candidates are kept, ascending: evenly spaced in the square root of the step.

    Steps are of size ``c / sqrt(t + 1)``, so that the path between two marks is about equally long everywhere.

    Args:
        steps: of the whole run; the last one is always marked.
        marks: how many, at most.
    """
    # the path up to step t is about c times sum 1 / sqrt(t + 1) = 2 c sqrt(t) long
    places = np.linspace(0.0, np.sqrt(steps), marks + 1)[1:] ** 2
    return np.unique(np.maximum(np.rint(places), 1).astype(np.int64))


def solve(
    rows: Rows,
    limits: Sequence[float] | Vector,
    constants: Sequence[float] | Vector,
    random: np.random.Generator,
    budget: LevelSetBudget,
    report: Callable[[str], None] | None = None,
) -> LevelSetRuns:
    """Run SFLS for R pairs of a limit ``1 + kappa`` of f1 and f2 and a step constant c.

    All runs share the batches; each stops for itself. A run whose first call finds no negative U keeps the snapshots
    of that call.

    Args:
        rows: training rows.
        limits, constants: (R,) each.
        random: source of the batches.
        budget: settings.
        report: receives a line per call.

    Raises:
        NotEstimableError: a set has no rows.
    """
    limit, c = np.asarray(limits, np.float64), np.asarray(constants, np.float64)
    # precomputed: weights of the cells in the six sets, K of the mirror map, steps to skip and to mark
    sets = set_weights(rows.sets, rows.cells)
    weight, skip = mirror_weight(budget.bound), int(budget.skip * budget.steps)
    marks = marked_steps(budget.steps, budget.marks)
    averaged = np.repeat(marks > skip, 2)  # before that the stored average is the iterate itself
    averaged[::2] = True
    # Algorithm 1 begins at a level r^(0) > f*
    level = np.full(c.size, budget.c1 * budget.c2**2)  # f0 of the constant score, above the minimum
    active = np.arange(c.size)
    calls: list[Call] = []
    candidates: list[tuple[Vector, NDArray[np.int64], float]] = []
    for number in range(budget.calls):
        # Algorithm 1, line 4: one call of Algorithm 2 for all active runs, started at x = 0, y = (1/3, 1/3, 1/3)
        batches = random.integers(0, rows.cells.size, (budget.steps, budget.batch))
        shape = (rows.X.shape[1], active.size)
        table, mean, sums = np.zeros(shape), np.empty(shape), np.empty((10, active.size))
        a, b, alpha = np.zeros((3, 5, active.size))
        y = np.full((3, active.size), 1 / 3)
        snapshots = np.empty((2 * marks.size, *shape))
        oracle(
            *rows.arrays, rows.cells, batches, sets, table, a, b, y, alpha, level[active], limit[active], budget.c1,
            budget.c2, c[active], weight, budget.bound, budget.radius, skip, marks, sums, mean, snapshots,
        )  # fmt: skip
        # u, v of equation (36), then U(r) by Lemma 4
        averages = sums[1:9] / sums[0]
        upper = np.full(c.size, np.nan)
        upper[active] = [upper_bound(column[:3].copy(), column[3:].copy(), budget.bound) for column in averages.T]
        # |a|, |b|, |alpha| at the bound I would mean that the interval I is too small for Lemma 1
        full, extreme = np.full((shape[0], c.size), np.nan), np.full(c.size, np.nan)
        full[:, active] = mean
        extreme[active] = np.abs(np.concatenate([a, b, alpha])).max(axis=0)
        calls.append(Call(level.copy(), upper, full, extreme))
        for snapshot, mark in zip(snapshots[averaged], np.repeat(marks, 2)[averaged], strict=True):
            good = np.isfinite(snapshot).all(axis=0)
            candidates.append((snapshot[:, good].T, active[good], (number + mark / budget.steps) / budget.calls))
        if report is not None:
            low, high = np.nanmin(upper[active]), np.nanmax(upper[active])
            report(f"call {number + 1}: {active.size} runs, U from {low:.4f} to {high:.4f}")
        # lines 5 to 7: a run with U >= -tolerance halts; the level of the others falls, r <- r + U / (2 theta)
        active = active[np.isfinite(upper[active]) & (upper[active] < -budget.tolerance)]
        if not active.size:
            break
        level[active] += upper[active] / (2 * budget.theta)
    return LevelSetRuns(calls, *joined_snapshots(candidates))


def joined_snapshots(
    candidates: Sequence[tuple[Vector, NDArray[np.int64], float]],
) -> tuple[Vector, NDArray[np.int64], Vector]:
    """Snapshots (S, p) of all marks with the run (S,) and the share of the work (S,) of each.

    Args:
        candidates: by mark, the snapshots (s, p), their runs (s,), and the share of the work that had been done.
    """
    weights, runs, work = zip(*candidates, strict=True)
    return np.concatenate(weights), np.concatenate(runs), np.repeat(work, [len(run) for run in runs])
