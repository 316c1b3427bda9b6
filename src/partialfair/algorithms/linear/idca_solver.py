"""Inexact difference-of-convex algorithm (IDCA) with the switching subgradient subsolver.

Partial fairness paper, section 6. Several configurations (inner steps T, tolerance eps) of one problem run as
the columns of one computation, eight at a time, because they share the data; so do those of problems that differ
in their slack (kappa) alone. The other columns do not change the result of a column.

The method is deterministic. An outer iteration that returns its own starting point is a fixed point: all remaining
iterations would return that point, too. The configuration therefore ends there.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Record
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.constraints.program import HingeProgram
from partialfair.kernels.score_columns import columns_for, lanes_for, passes
from partialfair.kernels.switching_steps import switching_steps

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Configuration:
    """Inner steps T and tolerance eps of one run."""

    inner_steps: int
    tolerance: float


@dataclass(eq=False)
class Run:
    """State of one configuration; continue it by passing it to :func:`advance` again.

    Attributes:
        configuration: T and eps.
        params, aux: the current outer iterate w^(k).
        round: k, the number of outer iterations done.
        fixed: whether w^(k) is a fixed point, so that further iterations change nothing.
        inner_steps: inner steps taken.
        history: one record per outer iteration that changed the iterate.
        checkpoints: outer iterates kept by round: (params, aux).
    """

    configuration: Configuration
    params: Vector
    aux: Vector
    round: int = 0
    fixed: bool = False
    inner_steps: int = 0
    history: list[Record] = field(default_factory=list)
    checkpoints: dict[int, tuple[Vector, Vector]] = field(default_factory=dict)


def start_runs(problem: LinearProblem, configurations: Sequence[Configuration], zero: bool = False) -> list[Run]:
    """Create a run per configuration, at the feasible start or, with ``zero``, at zero weights and thresholds."""
    starts = [problem.start() for _ in configurations]
    if zero:
        starts = [(np.zeros_like(params), np.zeros_like(aux)) for params, aux in starts]
    return [Run(configuration, *start) for configuration, start in zip(configurations, starts, strict=True)]


def advance(
    problem: LinearProblem | Sequence[LinearProblem],
    runs: Sequence[Run],
    rounds: int,
    keep: Sequence[int] = (),
    report: Callable[[Run], None] | None = None,
    lanes: int | None = None,
) -> None:
    """Bring every run to ``rounds`` outer iterations, in place.

    Args:
        problem: the problem of all runs, with constraints, or one for each run; these have the same rows and differ in
            the constants of their constraints alone.
        runs: configurations to advance.
        rounds: outer iterations that each run shall have done in total.
        keep: rounds whose iterates are kept in ``checkpoints``.
        report: called after each outer iteration of each run.
        lanes: SIMD lanes, 1 or 8; by default the faster for this number of runs. The two round differently. With 1,
            every run gives exactly the result of a run computed alone.
    """
    # runs wait in a queue: a column whose run has ended takes the next one, so that all columns stay busy
    problems = [problem] * len(runs) if isinstance(problem, LinearProblem) else list(problem)
    waiting = deque(zip(problems, runs, strict=True))
    if waiting:
        Lanes(waiting, lanes or lanes_for(len(runs)), rounds, frozenset(keep), report).run()


class Lanes:
    """Runs advanced together as columns; a finished run hands its column to the next waiting one."""

    def __init__(
        self,
        waiting: deque[tuple[LinearProblem, Run]],
        lanes: int,
        rounds: int,
        keep: frozenset[int],
        report: Callable[[Run], None] | None,
    ) -> None:
        self.waiting, self.rounds, self.keep, self.report = waiting, rounds, keep, report
        self.alone, lanes = lanes == 1, columns_for(lanes, len(waiting))
        self.held: list[tuple[LinearProblem, Run]] = [waiting[0]] * lanes
        self.problem = problem = waiting[0][0]
        # Per column c of C, the linearisation (32) at the anchor v0: the attained alternatives of f-_i (C, m, J), and
        # offset (C, S, Q), fraction (C, S, Q) and slope (C, S, Q, d+1) of every hinge mean
        program, model, n = _program(problem), problem.model, problem.design.n_rows
        m, n_terms = program.concave.weight.shape
        shape = (lanes, program.n_subsets, program.shift.size)
        self.choice = np.zeros((lanes, m, n_terms), np.int64)
        self.offset, self.fraction = np.zeros(shape), np.zeros(shape)
        self.slope = np.zeros((*shape, model.n_features + 1), np.float32)
        # the inner iterate v = (theta, thresholds), and the best one with g_max <= eps: loss (C,), theta, thresholds
        self.params, self.aux = np.zeros((lanes, *model.shape)), np.zeros((lanes, program.n_aux))
        self.best = (np.full(lanes, np.inf), self.params.copy(), self.aux.copy())
        self.tolerance, self.active = np.zeros(lanes), np.zeros(lanes, np.bool_)
        self.remaining = np.zeros(lanes, np.int64)
        # scores and residuals (C, n), overwritten in every step
        self.work = (np.empty((lanes, n), np.float32), np.empty((lanes, n), np.float32))
        self.design = (*problem.design.arrays, problem.design.members)
        # f+ and f- as tables; their constants are one table per column, as kappa enters there alone
        self.sides = tuple(
            (side.weight, side.subset, side.threshold, np.repeat(side.constant[None], lanes, axis=0))
            for side in (program.convex, program.concave)
        )

    def run(self) -> None:
        """Advance until every run has done its rounds or reached a fixed point."""
        for c in range(self.active.size):
            self._occupy(c)
        while self.active.any():
            # one call takes the inner steps that all active columns have left; then finished outer iterations close
            steps = int(self.remaining[self.active].min())
            self._take((self.choice, self.offset, self.slope, self.fraction), steps)
            self.remaining -= steps
            for c in range(self.active.size):
                if self.active[c] and self.remaining[c] <= 0:
                    self._close_round(c)
                    if not self.active[c]:
                        self._occupy(c)

    def _take(self, anchor: tuple[NDArray, ...], steps: int) -> None:
        """Take inner steps with all active columns."""
        program = _program(self.problem)
        for c in passes(self.active, self.alone):
            sides = ((*side[:-1], side[-1][c]) for side in self.sides)
            switching_steps(
                self.design, self.problem.y32, program.aux_index, program.shift, *sides, _columns_of(anchor, c),
                self.params[c], self.aux[c], _columns_of(self.best, c), self.tolerance[c], self.active[c], steps,
                _columns_of(self.work, c), self.alone,
            )  # fmt: skip

    def _occupy(self, c: int) -> None:
        """Give a column to the next run that has something to do."""
        self.active[c] = False
        while self.waiting and not self.active[c]:
            self.held[c] = problem, run = self.waiting.popleft()
            program = _program(problem)
            for mine, side in zip(self.sides, (program.convex, program.concave), strict=True):
                mine[-1][c] = side.constant
            self._finish(c, moved=run.round == 0)

    def _close_round(self, c: int) -> None:
        """Take the best remembered point as the next outer iterate."""
        _, run = self.held[c]
        loss, params, aux = (best_array[c] for best_array in self.best)
        # Algorithm 1, line 3, by line 10 of Algorithm 2: w^(k+1) is the inner point of least loss among those with
        # g_max <= eps; w^(k) where there was none
        moved = bool(np.isfinite(loss)) and not (np.array_equal(params, run.params) and np.array_equal(aux, run.aux))
        if moved:
            run.params, run.aux = params.copy(), aux.copy()
        run.round += 1
        run.inner_steps += run.configuration.inner_steps
        run.fixed = not moved
        self._finish(c, moved)

    def _finish(self, c: int, moved: bool) -> None:
        """Record the outer iterate of a run, then linearise there or retire the column."""
        problem, run = self.held[c]
        program = _program(problem)
        # f0(w^(k)) and max_i f_i(w^(k)) in double precision, for the history
        state = problem.state(run.params, run.aux)
        if moved:
            loss, worst = problem.loss(state)[0], float(problem.constraints(state).max())
            now = time.process_time()
            run.history.append(Record(run.round, run.inner_steps, loss, worst, now, (run.params, run.aux)))
        if run.round in self.keep:
            run.checkpoints[run.round] = (run.params, run.aux)
        if self.report is not None and run.round:
            self.report(run)
        self.active[c] = not run.fixed and run.round < self.rounds
        # a fixed point stands for all later iterations, whose checkpoints it fills
        if run.fixed:
            run.checkpoints |= {k: (run.params, run.aux) for k in self.keep if k >= run.round}
        if not self.active[c]:
            return
        # Linearise at the anchor v0 = (u0, t0): the alternative that each concave part attains, and each hinge mean,
        # m(u, t) ~ m(u0, t0) + slope . (u - u0) - fraction (t - t0) = offset + slope . u - fraction t.
        self.choice[c] = program.concave.choice(state.means)
        slope, fraction = problem.hinge_slopes(state.scores, state.thresholds)
        self.slope[c], self.fraction[c] = slope, fraction
        effective = problem.model.effective(run.params)[program.subset_group]
        # offset = m(u0, t0) - slope . u0 + fraction t0, so that a step needs one dot product per hinge mean
        inner = np.einsum("sqj,sj->sq", self.slope[c].astype(np.float64), effective)
        self.offset[c] = state.means - inner + fraction * state.thresholds
        # Algorithm 2 starts at the anchor, where g_i(v0) = f_i(v0)
        self.params[c], self.aux[c] = run.params, run.aux
        self.best[0][c] = np.inf
        self.tolerance[c] = run.configuration.tolerance
        self.remaining[c] = run.configuration.inner_steps


def _columns_of(arrays: tuple[NDArray, ...], columns: slice) -> tuple[NDArray, ...]:
    """Return views of some columns of arrays."""
    return tuple(array[columns] for array in arrays)


def _program(problem: LinearProblem) -> HingeProgram:
    """Return the constraints of a problem that has constraints."""
    assert problem.program is not None
    return problem.program
