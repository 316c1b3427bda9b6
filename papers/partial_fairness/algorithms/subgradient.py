"""Subgradient methods on the constraints themselves: a penalty with constant steps, and the switching rule.

Partial fairness paper, appendices G.4 and G.7: Regularization and SSG direct, the methods that IDCA is compared with.
Both treat f_i = f+_i - f-_i as if it were convex. Several configurations of one problem run as the columns of one
computation, eight to a batch, because they share the data. The other columns do not change the result of a column.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from partialfair.algorithms.contract import Certificate, Record
from partialfair.algorithms.linear.certificate import AT_ZERO, SMALL, LinearPoint
from partialfair.algorithms.linear.problem import LinearProblem, Point
from partialfair.kernels.score_columns import columns_for, lanes_for, passes
from partialfair.kernels.subgradient_steps import subgradient_steps

Vector = NDArray[np.float64]
ACTIVE_WITHIN = 1e-3
"""Constraints this near the largest count as active in a certificate."""


@dataclass(frozen=True)
class Penalty:
    """Descend ``f0 + weight * max_i f_i`` by constant steps; the iterate is the result."""

    weight: float
    step: float


@dataclass(frozen=True)
class Switching:
    """Step along the loss where no f_i exceeds ``eps = static + diminishing / (t + 1)``, else along the largest f_i.

    The result is the point of lowest loss among those within eps. A remembered point that exceeds the present eps is
    replaced by the next point within eps, even at a higher loss. Until then, the result is the one of smaller violation
    among remembered point and iterate.
    """

    static: float = 0.0
    diminishing: float = 0.0

    def tolerance(self, taken: int) -> float:
        """Return the tolerance eps of the step after ``taken`` steps."""
        return self.static + self.diminishing / (taken + 1)


Rule = Penalty | Switching


@dataclass(eq=False)
class Run:
    """State of one configuration; continue it by passing it to :func:`advance` again.

    Attributes:
        rule: step rule.
        current: iterate (params, aux).
        result: point (params, aux) that the method returns if it stops now.
        taken: number of steps taken.
        remembered: loss, largest f_i, params and aux of the best point of a switching run.
        history: one record of the result per recording interval, from the start on.
    """

    rule: Rule
    current: Point
    result: Point
    taken: int = 0
    remembered: tuple[float, float, Vector, Vector] | None = None
    history: list[Record] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether the result is a point that the method accepts: always for a penalty, within eps for switching."""
        if isinstance(self.rule, Penalty):
            return True
        return self.remembered is not None and self.remembered[1] <= self.rule.tolerance(max(self.taken - 1, 0))


def start_runs(problem: LinearProblem, rules: Sequence[Rule], start: Point | None = None) -> list[Run]:
    """Create a run per rule at ``start``; by default at zero weights and thresholds that are feasible there."""
    points = [problem.start() if start is None else (start[0].copy(), start[1].copy()) for _ in rules]
    return [Run(rule, point, point) for rule, point in zip(rules, points, strict=True)]


def advance(
    problem: LinearProblem,
    runs: Sequence[Run],
    steps: int,
    *,
    every: int = 1000,
    report: Callable[[Run], None] | None = None,
    lanes: int | None = None,
) -> None:
    """Bring every run to ``steps`` steps in total, in place.

    Args:
        problem: the problem, with constraints.
        runs: configurations to advance, all with the same number of steps taken.
        steps: steps that each run shall have taken in total.
        every: steps between two records.
        report: called after each record of each run.
        lanes: SIMD lanes, 1 or 8; by default the faster for this number of runs. The two round differently. With 1,
            every run gives exactly the result of a run computed alone.
    """
    lanes = lanes or lanes_for(len(runs))
    columns = columns_for(lanes, len(runs))
    for start in range(0, len(runs), columns):
        batch = _Batch(problem, runs[start : start + columns], columns, alone=lanes == 1)
        batch.record(report)
        while (taken := batch.runs[0].taken) < steps:
            batch.step(min(every - taken % every, steps - taken))
            batch.record(report)


class _Batch:
    """Up to eight runs that move together."""

    def __init__(self, problem: LinearProblem, runs: Sequence[Run], lanes: int, alone: bool) -> None:
        assert problem.program is not None
        self.problem, self.program, self.runs, self.alone = problem, problem.program, runs, alone
        shape = (lanes, *problem.model.shape)
        self.params, self.aux = np.zeros(shape), np.zeros((lanes, problem.n_aux))
        # best point of a column: loss and largest f_i (C,), theta (C, R, d+1), thresholds (C, P)
        self.best = (np.full(lanes, np.inf), np.full(lanes, np.inf), np.zeros(shape), np.zeros_like(self.aux))
        self.rule = tuple(np.zeros(lanes) for _ in range(4))
        self.active, self.taken = np.zeros(lanes, np.bool_), np.zeros(lanes, np.int64)
        for c, run in enumerate(runs):
            self.active[c], self.taken[c] = True, run.taken
            self.params[c], self.aux[c] = run.current
            for array, value in zip(self.best, run.remembered or (), strict=run.remembered is not None):
                array[c] = value
            # rule: weight, constant step, static, diminishing, each (C,); a constant step of 0 makes the column switch
            if isinstance(run.rule, Penalty):
                self.rule[0][c], self.rule[1][c] = run.rule.weight, run.rule.step
            else:
                self.rule[2][c], self.rule[3][c] = run.rule.static, run.rule.diminishing
        n = problem.design.n_rows
        self.work = (np.empty((lanes, n), np.float32), np.empty((lanes, n), np.float32))
        self.design = (*problem.design.arrays, problem.design.members)
        sides = (self.program.convex, self.program.concave)
        self.sides = tuple((side.weight, side.subset, side.threshold, side.constant) for side in sides)

    def step(self, steps: int) -> None:
        """Take steps, and write the points back to the runs."""
        for columns in passes(self.active, self.alone):
            tables = self.best, self.rule, self.work
            best, rule, work = (tuple(array[columns] for array in table) for table in tables)
            subgradient_steps(
                self.design, self.problem.y32, self.program.aux_index, self.program.shift, *self.sides,
                self.params[columns], self.aux[columns], best, rule, self.active[columns], self.taken[columns], steps,
                work, self.alone,
            )  # fmt: skip
        for c, run in enumerate(self.runs):
            run.taken = int(self.taken[c])
            run.current = self.params[c].copy(), self.aux[c].copy()
            if np.isfinite(self.best[0][c]):
                loss, worst, params, aux = (best_array[c] for best_array in self.best)
                run.remembered = float(loss), float(worst), params.copy(), aux.copy()

    def record(self, report: Callable[[Run], None] | None) -> None:
        """Record the result of every run, once per number of steps."""
        for run in self.runs:
            if run.history and run.history[-1].work == run.taken:
                continue
            # Algorithm 3, line 13, with one change: a remembered point that exceeds the present eps_t is replaced by
            # the next one within eps_t, even at a higher loss. Without a point within eps_t, the result is the one of
            # smaller violation among remembered point and iterate.
            points = [run.current] if run.remembered is None or isinstance(run.rule, Penalty) else [run.remembered[2:]]
            if not run.settled:
                points.append(run.current)
            states = [self.problem.state(*point) for point in points]
            worst, i = min((float(self.problem.constraints(state).max()), i) for i, state in enumerate(states))
            run.result = points[i]
            loss = self.problem.loss(states[i])[0]
            run.history.append(Record(len(run.history), run.taken, loss, worst, time.process_time(), run.result))
            if report is not None and run.taken:
                report(run)


def certify_penalty(problem: LinearProblem, params: Vector, aux: Vector, weight: float) -> Certificate:
    """Return the certificate of a point for ``f0 + weight * max_i f_i``.

    The residual is the shortest element of ``f0' + weight * conv{f_i'}`` over the constraints within
    :data:`ACTIVE_WITHIN` of the largest, as non-negative multipliers that add up to the weight.
    """
    state = problem.state(params, aux)
    by_params = problem.loss(state)[1]
    values = problem.constraints(state)
    # the convex hull of the gradients of the active f_i; where f_i has kinks, one subgradient of each stands for all
    active = np.flatnonzero(values >= values.max() - ACTIVE_WITHIN)
    jacobian_params, jacobian_aux = problem.jacobian(state)
    rows = np.hstack([jacobian_params[active].reshape(active.size, -1), jacobian_aux[active]])
    gradient = np.concatenate([by_params.ravel(), np.zeros(problem.n_aux)])
    heavy = 1e4 * max(float(np.abs(rows).max()), 1.0)  # a large row makes the multipliers add up to the weight
    system = np.vstack([rows.T, np.full(active.size, heavy)])
    multipliers = np.zeros(values.size)
    multipliers[active] = nnls(system, np.append(-gradient, heavy * weight))[0]
    residual = float(np.linalg.norm(gradient + rows.T @ multipliers[active]))
    return Certificate("kkt", residual / problem.unit, AT_ZERO, SMALL, multipliers)


@dataclass(frozen=True, eq=False)
class PenalisedPoint(LinearPoint):
    """A point of ``f0 + weight * max_i f_i``."""

    weight: float = 0.0

    def certificate(self) -> Certificate:
        """Length of the shortest subgradient of ``f0 + weight * max_i f_i``."""
        return certify_penalty(self.problem, self.params, self.aux, self.weight)
