"""General-purpose solvers on the direct solver's problem: scipy's trust-constr and SLSQP, and cvxpy with Clarabel.

trust-constr and SLSQP see the whole a9a problem through this project's values and derivatives, from the direct
solver's own starting point, and may run for ``LIMIT`` processor seconds; their time is that to the direct solver's loss
and violation. cvxpy solves convex problems only, so it makes the convex-concave steps of IDCA, each to optimality, on a
part of the rows. What does not get there is reported as such.
"""

import math
import time
import warnings

import numpy as np
from scipy.optimize import BFGS, NonlinearConstraint, minimize

from partialfair.algorithms.linear import augmented_lagrangian
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.constraints.program import Side
from tests.benchmarks.common import Result, dense_rows, psp_problem, real_dataset, result, seconds, training_rows

LIMIT = 25.0  # processor seconds of one general-purpose solver
CLOSE = 1e-4  # as good: loss and violation no larger by more than this
ROWS = 500  # of the convex-concave steps; at 1,000 and at tighter tolerances Clarabel gives up
TOLERANCE = 1e-6  # of Clarabel
STEPS = 6
Vector = np.ndarray


class _EndError(Exception):
    """The goal or the limit is reached."""


class Watch:
    """Stops a solver at the goal or at the limit.

    Attributes:
        spent: seconds when the goal was reached, NaN if it was not.
        best: smallest loss seen at a violation within ``CLOSE`` of the goal's.
    """

    def __init__(self, problem: LinearProblem, goal: LinearPoint) -> None:
        self.problem, self.loss, self.violation = problem, goal.objective(), max(goal.violation(), 0.0)
        self.began = time.process_time()
        self.spent, self.best = math.nan, math.inf

    def __call__(self, x: Vector, *_: object) -> None:
        params, aux = unpack(self.problem, x)
        state = self.problem.state(params, aux)
        if self.problem.constraints(state).max() <= self.violation + CLOSE:
            self.best = min(self.best, self.problem.loss(state)[0])
        now = time.process_time() - self.began
        if self.best <= self.loss + CLOSE:
            self.spent = now
            raise _EndError
        if now > LIMIT:
            raise _EndError


def unpack(problem: LinearProblem, x: Vector) -> tuple[Vector, Vector]:
    """Parameters (R, d+1) and auxiliaries (P,) of a flat point."""
    return x[: problem.model.size].reshape(problem.model.shape), x[problem.model.size :]


def general(problem: LinearProblem, goal: LinearPoint, method: str) -> Watch:
    """Run a method of scipy from the direct solver's start."""

    def objective(x: Vector) -> tuple[float, Vector]:
        value, by_params = problem.loss(problem.state(*unpack(problem, x)))
        return value, np.concatenate([by_params.ravel(), np.zeros(problem.n_aux)])

    def values(x: Vector) -> Vector:
        return problem.constraints(problem.state(*unpack(problem, x)))

    def jacobian(x: Vector) -> Vector:
        by_params, by_aux = problem.jacobian(problem.state(*unpack(problem, x)))
        return np.hstack([by_params.reshape(len(by_params), -1), by_aux])

    watch = Watch(problem, goal)
    params, aux, _ = augmented_lagrangian.warm_start(problem, 4)
    if method == "SLSQP":
        constraints: object = {"type": "ineq", "fun": lambda x: -values(x), "jac": lambda x: -jacobian(x)}
        options: dict[str, object] = {"maxiter": 10_000, "ftol": 1e-12}
    else:
        constraints = NonlinearConstraint(values, -np.inf, 0.0, jac=jacobian, hess=BFGS())
        options = {"maxiter": 100_000, "gtol": 1e-8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            start = np.concatenate([params.ravel(), aux])
            minimize(
                objective, start, jac=True, method=method, constraints=constraints, callback=watch, options=options
            )
        except _EndError:
            pass
    return watch


def compare_general() -> list[Result]:
    """trust-constr and SLSQP against the direct solver on a9a."""
    train, standardiser = training_rows(real_dataset("a9a"))
    problem = psp_problem(train, standardiser, [[0.05, 0.3]], 0.1)
    augmented_lagrangian.solve(problem, settings=augmented_lagrangian.ALMSettings(rounds=1))  # compile
    own, found = seconds(lambda: augmented_lagrangian.solve(problem))
    goal = LinearPoint(problem, found.params, found.aux)
    out = []
    for method, id_ in (("trust-constr", "vs_trust_constr_time"), ("SLSQP", "vs_slsqp_time")):
        watch = general(problem, goal, method)
        start = (
            f"a9a, kappa 0.1, {problem.n_constraints} constraints: the direct solver takes {own:.2f} s to loss "
            f"{goal.objective():.5f}, violation {max(goal.violation(), 0.0):.1e}; scipy's {method}, "
            f"given "
            "this project's values, derivatives and starting point, "
        )
        if math.isnan(watch.spent):
            smallest = (
                f"its smallest loss at that violation {watch.best:.5f}" if watch.best < math.inf else "no such point"
            )
            spent = time.process_time() - watch.began
            how = f"did not get within {CLOSE:g} of it in {spent:.0f} s ({smallest})"
            out.append(result(id_, math.nan, "times", None, start + how))
        else:
            out.append(
                result(id_, watch.spent / own, "times", None, f"{start}takes {watch.spent:.1f} s to within {CLOSE:g}")
            )
    return out


def compare_cvxpy() -> Result:
    """Convex-concave steps by cvxpy and Clarabel against the direct solver, on a part of the law school rows."""
    import cvxpy as cp

    train, standardiser = training_rows(real_dataset("law_school"))
    part = train.take(np.sort(np.random.default_rng(0).permutation(train.n_rows)[:ROWS]))
    problem = psp_problem(part, standardiser, [[0.7, 1.0]], 0.1)
    augmented_lagrangian.solve(problem, settings=augmented_lagrangian.ALMSettings(rounds=1))  # compile
    own, found = seconds(lambda: augmented_lagrangian.solve(problem))
    goal = LinearPoint(problem, found.params, found.aux)
    step = ConvexStep(problem, dense_rows(part, standardiser)[problem.design.order])
    x, began, done, good = problem.start(), time.process_time(), 0, False
    reached = "gives up at the first step"
    while done < STEPS and not good and time.process_time() - began < LIMIT:
        try:
            x = step(*x)
        except cp.error.SolverError:
            reached += "" if done == 0 else "; gives up at the next"
            break
        done += 1
        state = problem.state(*x)
        loss, worst = problem.loss(state)[0], max(float(problem.constraints(state).max()), 0.0)
        good = loss <= goal.objective() + CLOSE and worst <= max(goal.violation(), 0.0) + CLOSE
        reached = f"is at loss {loss:.5f}, violation {worst:.1e} after {done} steps"
    spent = time.process_time() - began
    how = (
        f"{ROWS:,} rows of law school, kappa 0.1: the direct solver takes {own:.2f} s to loss "
        f"{goal.objective():.5f}; the convex-concave procedure, every step solved to optimality by cvxpy and "
        f"Clarabel, {reached}, {spent:.1f} s"
    )
    return result("vs_cvxpy_time", spent / own if good else math.nan, "times", None, how)


class ConvexStep:
    """Minimise the loss subject to the majorants of the constraints at a point: the exact step of IDCA."""

    def __init__(self, problem: LinearProblem, X: Vector) -> None:
        import cvxpy as cp

        assert problem.program is not None
        self.problem, program, m = problem, problem.program, problem.n_constraints
        self.params, self.aux = cp.Variable(problem.model.shape), cp.Variable(problem.n_aux)
        self.offset, self.slope = cp.Parameter(m), cp.Parameter((m, problem.model.size + problem.n_aux))
        rows, ends = np.hstack([np.ones((len(X), 1)), X]), problem.design.starts
        scores = [
            rows[first:last] @ (self.params[0] + (self.params[k] if k else 0))
            for k, (first, last) in enumerate(zip(ends, ends[1:], strict=False))
        ]
        loss = cp.sum(cp.logistic(-cp.multiply(problem.y, cp.hstack(scores)))) / len(X)
        convex = [
            cp.sum(cp.pos(scores[s] - self.aux[int(program.aux_index[q])] - program.shift[q])) / scores[s].size
            for s, q in zip(*self._hinges(program.convex), strict=True)
        ]
        point = cp.hstack([cp.vec(self.params, order="C"), self.aux])
        self.program = cp.Problem(cp.Minimize(loss), [cp.hstack(convex) <= self.offset + self.slope @ point])

    @staticmethod
    def _hinges(side: Side) -> tuple[Vector, Vector]:
        """Subset and threshold of the one hinge that each constraint of this family has on a side."""
        if side.subset.shape[1:] != (1, 1):
            raise ValueError("written for one hinge a side")
        return side.subset[:, 0, 0], side.threshold[:, 0, 0]

    def __call__(self, params: Vector, aux: Vector) -> tuple[Vector, Vector]:
        """The step from (params, aux)."""
        import cvxpy as cp

        problem, program = self.problem, self.problem.program
        assert program is not None
        state = problem.state(params, aux)
        by_group_weights, shares = problem.hinge_slopes(state.scores, state.thresholds)
        by_group = np.zeros((problem.n_constraints, problem.model.n_groups, problem.model.n_features + 1))
        by_aux = np.zeros((problem.n_constraints, problem.n_aux))
        for i, (s, q) in enumerate(zip(*self._hinges(program.concave), strict=True)):
            by_group[i, program.subset_group[s]] = by_group_weights[s, q]
            by_aux[i, program.aux_index[q]] = -shares[s, q]
        slope = np.hstack([problem.model.fold(by_group).reshape(len(by_group), -1), by_aux])
        self.slope.value = slope
        self.offset.value = program.concave.values(state.means) - slope @ np.concatenate([params.ravel(), aux])
        self.program.solve(solver=cp.CLARABEL, tol_gap_abs=TOLERANCE, tol_gap_rel=TOLERANCE, tol_feas=TOLERANCE)
        return np.asarray(self.params.value), np.asarray(self.aux.value)


def run() -> list[Result]:
    """All three."""
    return [*compare_general(), compare_cvxpy()]
