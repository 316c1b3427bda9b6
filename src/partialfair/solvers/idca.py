"""Inexact difference-of-convex algorithm (IDCA) with the switching subgradient subsolver.

Partial fairness paper, section 3. Several configurations (inner steps T, tolerance eps) of one problem run as
the columns of one computation, eight to a batch, because they share the data.

The method is deterministic, so an outer iteration that returns its own starting point would do so for ever:
that fixed point ends a configuration exactly, with the result that all remaining iterations would have given.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels import LANES
from partialfair.kernels.switching import switching_steps
from partialfair.solvers.problem import LinearProblem
from partialfair.solvers.solution import Record

Vector = NDArray[np.float64]
MIN_LANES = 6  # from this number of columns on, eight lanes cost less than the columns one by one


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


def start_runs(problem: LinearProblem, configurations: Sequence[Configuration]) -> list[Run]:
    """Runs at the feasible start: zero weights, and thresholds that suit them."""
    return [Run(configuration, *problem.start()) for configuration in configurations]


def advance(
    problem: LinearProblem,
    runs: Sequence[Run],
    rounds: int,
    keep: Sequence[int] = (),
    report: Callable[[Run], None] | None = None,
) -> None:
    """Bring every run to ``rounds`` outer iterations, in place.

    Args:
        problem: the problem, with constraints.
        runs: configurations to advance.
        rounds: outer iterations that each run shall have done in total.
        keep: rounds whose iterates are kept in ``checkpoints``.
        report: called after each outer iteration of each run.
    """
    lanes = LANES if len(runs) >= MIN_LANES else 1
    for first in range(0, len(runs), lanes):
        _Batch(problem, runs[first : first + lanes], lanes, rounds, frozenset(keep), report).run()


class _Batch:
    """Up to eight runs that move together, each with its own outer iteration count."""

    def __init__(
        self,
        problem: LinearProblem,
        runs: Sequence[Run],
        lanes: int,
        rounds: int,
        keep: frozenset[int],
        report: Callable[[Run], None] | None,
    ) -> None:
        assert problem.program is not None
        self.problem, self.runs, self.rounds, self.keep, self.report = problem, runs, rounds, keep, report
        program, model, n = problem.program, problem.model, problem.design.n_rows
        m, n_terms = program.concave.weight.shape
        shape = (lanes, program.n_subsets, program.shift.size)
        self.choice = np.zeros((lanes, m, n_terms), np.int64)
        self.offset, self.fraction = np.zeros(shape), np.zeros(shape)
        self.slope = np.zeros((*shape, model.n_features + 1), np.float32)
        self.params, self.aux = np.zeros((lanes, *model.shape)), np.zeros((lanes, program.n_aux))
        self.best = (np.full(lanes, np.inf), self.params.copy(), self.aux.copy())
        self.tolerance, self.active = np.zeros(lanes), np.zeros(lanes, np.bool_)
        self.remaining = np.zeros(lanes, np.int64)
        self.work = (np.empty((lanes, n), np.float32), np.empty((lanes, n), np.float32))
        self.design = (*problem.design.arrays, problem.design.members)
        self.sides = tuple((s.weight, s.subset, s.threshold, s.constant) for s in (program.convex, program.concave))

    def run(self) -> None:
        """Advance until every run has done its rounds or reached a fixed point."""
        for c, run in enumerate(self.runs):
            self._finish(c, run, moved=run.round == 0)
        chunk = gcd(*(run.configuration.inner_steps for run in self.runs))
        program = self.problem.program
        assert program is not None
        while self.active.any():
            anchor = (self.choice, self.offset, self.slope, self.fraction)
            switching_steps(
                self.design, self.problem.y32, program.aux_index, program.shift, *self.sides, anchor,
                self.params, self.aux, self.best, self.tolerance, self.active, chunk, self.work,
            )  # fmt: skip
            self.remaining -= chunk
            for c, run in enumerate(self.runs):
                if self.active[c] and self.remaining[c] <= 0:
                    self._close_round(c, run)

    def _close_round(self, c: int, run: Run) -> None:
        """Take the best remembered point as the next outer iterate."""
        loss, params, aux = (part[c] for part in self.best)
        moved = bool(np.isfinite(loss)) and not (np.array_equal(params, run.params) and np.array_equal(aux, run.aux))
        if moved:
            run.params, run.aux = params.copy(), aux.copy()
        run.round += 1
        run.inner_steps += run.configuration.inner_steps
        run.fixed = not moved
        self._finish(c, run, moved)

    def _finish(self, c: int, run: Run, moved: bool) -> None:
        """Record the outer iterate of a run, then linearise there or retire the column."""
        problem, program = self.problem, self.problem.program
        assert program is not None
        state = problem.state(run.params, run.aux)
        if moved:
            loss, worst = problem.loss(state)[0], float(problem.constraints(state).max())
            run.history.append(
                Record(run.round, run.inner_steps, loss, worst, time.process_time(), run.params, run.aux)
            )
        if run.round in self.keep:
            run.checkpoints[run.round] = (run.params, run.aux)
        if self.report is not None and run.round:
            self.report(run)
        self.active[c] = not run.fixed and run.round < self.rounds
        if run.fixed:
            run.checkpoints |= {k: (run.params, run.aux) for k in self.keep if k >= run.round}
        if not self.active[c]:
            return
        self.choice[c] = program.concave.choice(state.means)
        slope, fraction = problem.hinge_slopes(state.scores, state.thresholds)
        self.slope[c], self.fraction[c] = slope, fraction
        effective = problem.model.effective(run.params)[program.subset_group]
        inner = np.einsum("sqj,sj->sq", self.slope[c].astype(np.float64), effective)
        self.offset[c] = state.means - inner + fraction * state.thresholds
        self.params[c], self.aux[c] = run.params, run.aux
        self.best[0][c] = np.inf
        self.tolerance[c] = run.configuration.tolerance
        self.remaining[c] = run.configuration.inner_steps
