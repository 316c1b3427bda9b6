"""The general path of IDCA, the direct solver and the unconstrained fit: any loss, surrogate and constraint family.

The plug-ins name these classes (``Algorithm.general``), which get the tasks that the compiled kernels do not serve and
are imported for those alone.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.optimize import minimize

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Record, Task, Trace
from partialfair.algorithms.general.dc_idca import advance
from partialfair.algorithms.general.dc_problem import DCProblem
from partialfair.algorithms.general.score_functions import LinearScores
from partialfair.algorithms.linear.alm import ALM, fit_at, progress
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, solve
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.idca import IDCA
from partialfair.algorithms.linear.idca import progress as outer_progress
from partialfair.algorithms.linear.idca_solver import Run
from partialfair.algorithms.linear.newton import LARGEST, RIDGE, Scaling
from partialfair.algorithms.linear.problem import Point, Solution, score_at
from partialfair.algorithms.linear.unconstrained import Unconstrained, UnconstrainedSettings
from partialfair.constraints import surrogates
from partialfair.constraints.parts import constraints_of

Vector = NDArray[np.float64]
WARM_ITERATIONS = 80  # L-BFGS steps on the loss alone for a starting point


def build_problem(task: Task) -> DCProblem:
    """Build the training problem of a linear score with the task's loss, constraint and surrogate.

    Raises:
        ConfigError: an option cannot be used.
        NotEstimableError: the rows do not determine the loss or the constraint.
    """
    rows = task.train
    score = LinearScores.build(rows.X, rows.group, rows.n_groups, task.standardiser, task.uses_group)
    y = rows.y[score.order]
    name, options = plugins.chosen(task.loss)
    loss = plugins.load("losses", name).build(y, **options)
    family = None
    if not np.isinf(task.kappa):
        ordered = dataclasses.replace(task, train=rows.take(score.order))
        program: Any = ordered.program()
        family = constraints_of(program, surrogates.make(task.surrogate))
    problem = DCProblem(score, loss, family, positive_share=float(np.mean(y > 0)))
    if family is not None and family.ranks_rows and task.uses_group:
        params = minimise_loss(problem, WARM_ITERATIONS)[0]
        begin = suited(task, problem, params)
        if problem.constraints(problem.state(*begin)).max() <= 0:  # else the feasible start, which is far from the loss
            problem = dataclasses.replace(problem, begin=begin)
    return problem


_BUILT: WeakKeyDictionary[Task, DCProblem] = WeakKeyDictionary()


def dc_problem(task: Task) -> Any:
    """The training problem of a task, built once; it has the methods of a linear problem."""
    problem = _BUILT.get(task)
    if problem is None:
        problem = _BUILT[task] = build_problem(task)
    return problem


class GeneralUnconstrained(Unconstrained):
    """The loss minimised by L-BFGS; one that is not convex gets a local minimum."""

    general = True

    def fit(self, task: Task, settings: UnconstrainedSettings) -> Fit:
        """Minimise the loss on the training rows; nothing is tuned."""
        problem = dc_problem(task)
        params, steps = minimise_loss(problem, 20 * settings.iterations, settings.tolerance)
        point = problem.placed(params, np.zeros(problem.n_aux))
        evaluated_point = LinearPoint(problem, *point)
        record = Record(1, steps, evaluated_point.objective(), evaluated_point.violation(), time.process_time(), point)
        task.report(f"loss {record.objective:.5f}")
        return Fit(score_at(task, *point), trace=Trace({"lbfgs": [record]}, "lbfgs"), evaluated_point=evaluated_point)


class GeneralALM(ALM):
    """The direct solver, the same that serves the usual combination."""

    general = True

    def fit(self, task: Task, settings: ALMSettings, start: Point | None = None) -> Fit:
        """Solve on the training rows; validation rows are not used."""
        task = dataclasses.replace(task, closed_grid=settings.closed_grid)
        problem = dc_problem(task)
        start = start or problem.begin or suited(task, problem, minimise_loss(problem, WARM_ITERATIONS)[0])
        scaling = scaling_at(problem, start[0])
        solution = solve(problem, settings=settings, start=start, scaling=scaling, report=progress(task, settings))
        params, aux = problem.placed(solution.params, solution.aux)
        return fit_at(task, settings, problem, Solution(params, aux, solution.records))


class GeneralIDCA(IDCA):
    """IDCA, one configuration at a time."""

    general = True
    together = frozenset()

    def problem(self, task: Task) -> Any:
        """The training problem of a task."""
        return dc_problem(task)

    def advance(
        self, tasks: Sequence[Task], runs: Sequence[Run], rounds: int, lanes: int = 1, keep: Sequence[int] = ()
    ) -> None:
        """Bring runs, all of one task, to ``rounds`` outer iterations."""
        advance(dc_problem(tasks[0]), runs, rounds, keep=keep, report=outer_progress(tasks, runs))


def minimise_loss(problem: DCProblem, iterations: int, tolerance: float = 1e-9) -> tuple[Vector, int]:
    """Return parameters (R, d+1) that minimise f0, and the number of evaluations."""
    start = problem.score.start(0.0)
    scaling = scaling_at(problem, start)
    aux = np.zeros(problem.n_aux)

    def value(flat: Vector) -> tuple[float, Vector]:
        loss, gradient = problem.loss(problem.state(scaling.to_params(flat.reshape(start.shape)), aux))
        return loss, scaling.pull_back(gradient).ravel()

    options = {"maxiter": iterations, "maxcor": 20, "ftol": tolerance / 10, "gtol": 1e-8}
    minimum = minimize(value, scaling.from_params(start).ravel(), jac=True, method="L-BFGS-B", options=options)
    return scaling.to_params(minimum.x.reshape(start.shape)), int(minimum.nfev)


def suited(task: Task, problem: DCProblem, params: Vector) -> tuple[Vector, Vector]:
    """A start near given parameters: intercepts and auxiliaries for which the constraints are not flat."""
    family, score = problem.family, problem.score
    assert family is not None and isinstance(score, LinearScores)
    group = task.train.group[score.order]
    shift, aux = family.suit(score.scores(params), group)
    if task.uses_group:
        params = params.copy()
        params[:, 0] += np.concatenate([shift[:1], shift[1:] - shift[0]])
    return params, aux


def scaling_at(problem: DCProblem, params: Vector) -> Scaling:
    """Coordinates in which the logistic loss is nearly round at ``params``; other losses on the same rows are alike.

    See :class:`partialfair.algorithms.linear.newton.Scaling`.
    """
    score = problem.score
    if not isinstance(score, LinearScores) or score.model.n_features > LARGEST:
        return Scaling(np.zeros((0, 0, 0)))
    share = 1 / (1 + np.exp(-score.scores(params)))
    weight = share * (1 - share) / share.size
    blocks, start_column = [], 0
    for X in score.blocks:
        w = weight[start_column : start_column + X.shape[0]]
        start_column += X.shape[0]
        weighted = X.multiply(w[:, None]).tocsr() if not isinstance(X, np.ndarray) else X * w[:, None]
        square = X.T @ weighted
        square = square if isinstance(square, np.ndarray) else square.toarray()
        edge = weighted.sum(axis=0)
        blocks.append(np.block([[np.atleast_2d(w.sum()), np.atleast_2d(edge)], [np.atleast_2d(edge).T, square]]))
    full = np.array(blocks) if score.shape[0] > 1 else np.sum(blocks, axis=0, keepdims=True)
    curvature = np.trace(full, axis1=1, axis2=2) / full.shape[1]
    full = full + RIDGE * curvature[:, None, None] * np.eye(full.shape[1])
    return Scaling(np.array([cholesky(block, lower=True) for block in full]))
