"""Direct solver: augmented Lagrangian on the non-convex problem, with L-BFGS inner solves (scipy).

Beyond the Partial fairness paper (its method is IDCA): the constraints are piecewise linear in the scores, but
averaged over thousands of rows they behave like smooth functions, and the classical method of multipliers
(Powell 1969, Hestenes 1969, Rockafellar 1973) applies as it stands.

With f0 the mean loss, f_i <= 0 the m constraints, multipliers mu and penalty rho, a round minimises

    L(v; mu, rho) = f0(v) + 1 / (2 rho) sum_i (max(mu_i + rho f_i(v), 0)^2 - mu_i^2)

over v = (parameters, auxiliaries), then sets ``mu_i <- max(mu_i + rho f_i(v), 0)``. rho grows where the largest f_i did
not halve. A round ends the search when the largest f_i, the slackness ``max_i min(mu_i, 1) |f_i|`` and the gradient of
``f0 + sum_i mu_i f_i`` are within their tolerances.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveFloat, PositiveInt
from scipy.optimize import minimize

from partialfair.algorithms.contract import Record, Settings
from partialfair.algorithms.linear.correction import correct
from partialfair.algorithms.linear.newton import MANY_ROWS, SAMPLE, Scaling, newton_steps
from partialfair.algorithms.linear.problem import LinearProblem, Point, Solution, State

Vector = NDArray[np.float64]

# Iterations of the first round after which a first point is made that nearly satisfies the constraints. On a9a it comes
# after 30 ms instead of 53 ms, and is better than what IDCA reaches in 2.6 s; the round goes on as if nothing were.
HALFWAY = 20


class ALMSettings(Settings):
    """Settings of the method and of its problem.

    Attributes:
        closed_grid: cover both ends of the interval with ranks. On the paper's half-open grid the optimum uses the
            freedom of the ranks above the last one: on a9a, kappa .1, the largest difference inside I is .166
            with it and .106 without, at the same accuracy. On the absolute scale it uses that below the first one,
            too: on law school, kappa .2, the difference is .343 with it.
        tolerance: largest constraint value accepted, and largest one where a multiplier is not zero.
        stationarity: KKT residual at which to stop.
        rounds: at most so many multiplier updates.
        inner_iterations: L-BFGS iterations between two updates; with 30 instead of 50 the multipliers are too
            inaccurate to settle on bank.
        penalty: first penalty weight; it suits all families because constraints are shares in [0, 1].
        growth: factor on the penalty when a round reduces the violation by less than half.
        warm_iterations: Newton steps on the loss alone for the starting point.
    """

    closed_grid: bool = True
    tolerance: PositiveFloat = 1e-4
    stationarity: PositiveFloat = 1e-3
    rounds: PositiveInt = 40
    inner_iterations: PositiveInt = 50
    penalty: PositiveFloat = 10.0
    growth: PositiveFloat = 3.0
    warm_iterations: PositiveInt = 4


def solve(
    problem: LinearProblem,
    *,
    settings: ALMSettings | None = None,
    start: Point | None = None,
    scaling: Scaling | None = None,
    report: Callable[[Record], None] | None = None,
) -> Solution:
    """Minimise f0 subject to the constraints.

    Args:
        problem: the problem, with constraints.
        settings: see :class:`ALMSettings`.
        start: (params, aux) to start from, for instance the solution at a neighbouring kappa; by default the
            nearly unconstrained model with the thresholds at which the groups together have the wanted shares.
        scaling: coordinates of the inner solves; by default those of the logistic loss near the start.
        report: called after each multiplier update.

    Returns:
        The point with the lowest loss among those within the tolerance, or, if there is none, the one that
        violates the constraints least.
    """
    settings = settings or ALMSettings()
    if start is None:
        params, aux, start_scaling = warm_start(problem, settings.warm_iterations)
        scaling = scaling or start_scaling
    else:
        params, aux = start
    method = _Multipliers(problem, settings, scaling or Scaling.at_point(problem, params))
    flat = method.pack(params, aux)
    incumbent = _Incumbent(settings.tolerance, report)
    for round_ in range(1, settings.rounds + 1):
        early = problem.n_aux > 0 and round_ == 1
        flat = method.minimise(flat, (lambda now: incumbent.add(1, method, method.corrected(now))) if early else None)
        state, loss, worst, stationarity, slackness = method.update(flat)
        points = [(flat, state, loss, worst)]
        done = max(worst, slackness) <= settings.tolerance and stationarity <= settings.stationarity * problem.unit
        if not done and (problem.n_aux == 0 or round_ == 1):
            points += method.corrected(flat)
            if problem.n_aux == 0:
                flat = points[-1][0]
        incumbent.add(round_, method, points)
        if done:
            break
    assert incumbent.best is not None
    return Solution(*method.unpack(incumbent.best[1]), incumbent.history)


def warm_start(problem: LinearProblem, iterations: int) -> tuple[Vector, Vector, Scaling]:
    """The nearly unconstrained model (params, aux), made to suit the constraints without retraining; and a scaling.

    The scaling is that of the last Newton step. Another Hessian, for the point itself, would cost a fifth of the
    start and saves no evaluation.

    Families with thresholds get them at the shares that the feasible start would have: from a model of zero
    weights all rows sit on one point of the piecewise-linear constraints, where a large penalty stalls the line
    search. Families without get group intercepts at which every group has the base rate: where a group's rate
    exceeds beta its constraint is flat, and descent would move the other groups instead, to a poor optimum (on
    bank a loss of 0.258 instead of 0.210).
    """
    stride = SAMPLE if problem.design.n_rows >= MANY_ROWS else 1
    # minimum of f0 alone by a few Newton steps; its Hessian also gives the coordinates of the inner solves
    params, scaling = newton_steps(problem, iterations=iterations, stride=stride)
    if problem.n_aux == 0 and problem.model.uses_group:
        params = matching_intercepts(problem, params)
    return params, matching_thresholds(problem, params), scaling


def matching_intercepts(problem: LinearProblem, params: Vector) -> Vector:
    """Parameters with group intercepts at which every group's smoothed rate is that of the feasible start."""
    program = problem.program
    assert program is not None
    scores = problem.scores(params)
    group = np.repeat(program.subset_group, np.diff(problem.design.starts))
    shift = np.zeros(problem.model.n_groups)
    for k in range(shift.size):
        group_scores = scores[group == k]
        # bisection for the shift b_k at which mean clip(s + b_k + 1/2, 0, 1), which grows with b_k, is the start's rate
        low, high = -group_scores.max() - 1.0, -group_scores.min() + 1.0
        for _ in range(30):
            shift[k] = (low + high) / 2
            if np.clip(group_scores + shift[k] + 0.5, 0, 1).mean() < program.start_score + 0.5:
                low = shift[k]
            else:
                high = shift[k]
    moved = params.copy()
    moved[:, 0] += np.concatenate([shift[:1], shift[1:] - shift[0]])
    return moved


def matching_thresholds(problem: LinearProblem, params: Vector) -> Vector:
    """Auxiliary thresholds at which the mean smoothed share over subsets is that of the feasible start, (P,)."""
    program = problem.program
    assert program is not None
    if program.n_aux == 0:
        return np.zeros(0)
    scores = problem.scores(params)
    # smoothed shares c_k(t) = A_k(t) - B_k(t), by hinge means at t - 1/2 and t + 1/2, on a grid of 512 thresholds
    nodes = np.linspace(scores.min() - 0.5, scores.max() + 0.5, 512)
    ends = problem.design.starts
    subsets = [scores[start:last] for start, last in zip(ends, ends[1:], strict=False) if last > start]
    share = np.zeros(nodes.size)
    for subset in subsets:
        share += _hinges(subset, nodes - 0.5) - _hinges(subset, nodes + 0.5)
    share /= program.n_subsets
    # at the start all scores are 0, so that a threshold t leaves the share clip(1/2 - t, 0, 1) above it
    target = np.clip(0.5 - program.start, 1e-3, 1 - 1e-3)
    return np.interp(-target, -share, nodes)


def _hinges(scores: Vector, thresholds: Vector) -> Vector:
    """Means of ``max(score - t, 0)`` for many thresholds (Q,): by sums over sorted scores."""
    # sum over s > t of (s - t) = (sum of these s) - (their number) t: suffix sums, computed once for all thresholds
    ranked = np.sort(scores)
    sum_from = np.concatenate([np.cumsum(ranked[::-1])[::-1], [0.0]])
    first_above = np.searchsorted(ranked, thresholds, side="right")
    return (sum_from[first_above] - (ranked.size - first_above) * thresholds) / ranked.size


class _Incumbent:
    """The points found so far, and the best of them."""

    def __init__(self, tolerance: float, report: Callable[[Record], None] | None) -> None:
        self.tolerance, self.report = tolerance, report
        self.best: tuple[tuple[bool, float], Vector] | None = None
        self.history: list[Record] = []

    def add(self, round_: int, method: "_Multipliers", points: list[tuple[Vector, State, float, float]]) -> None:
        """Record points of a round: each flat, with its state, loss and largest constraint value."""
        for point, state, loss, worst in points:
            now = time.process_time()
            self.history.append(
                Record(round_, method.evaluations, loss, worst, now, (state.params.copy(), state.aux.copy()))
            )
            if self.report is not None:
                self.report(self.history[-1])
            # points within the tolerance are ordered by their loss and come first; the others by their violation
            feasible = worst <= self.tolerance
            key = (not feasible, loss if feasible else worst)
            if self.best is None or key < self.best[0]:
                self.best = (key, point)


class _Multipliers:
    """The augmented Lagrangian and its multipliers."""

    def __init__(self, problem: LinearProblem, settings: ALMSettings, scaling: Scaling) -> None:
        self.problem, self.settings, self.scaling = problem, settings, scaling
        self.multipliers = np.zeros(problem.n_constraints)
        self.penalty = settings.penalty
        self.evaluations = 0
        self.last = np.inf

    def pack(self, params: Vector, aux: Vector) -> Vector:
        """Flat, scaled point of parameters (R, d+1) and auxiliaries (P,)."""
        return np.concatenate([self.scaling.from_params(params).ravel(), aux])

    def unpack(self, flat: Vector) -> Point:
        """Parameters (R, d+1) and auxiliaries (P,) of a flat, scaled point."""
        size = self.problem.model.size
        return self.scaling.to_params(flat[:size].reshape(self.problem.model.shape)), flat[size:]

    def value(self, flat: Vector) -> tuple[float, Vector]:
        """Augmented Lagrangian (Rockafellar's form for inequalities) and its gradient."""
        self.evaluations += 1
        state = self.problem.state(*self.unpack(flat))
        # grad L = grad f0 + sum_i max(mu_i + rho f_i, 0) grad f_i
        shifted = np.maximum(self.multipliers + self.penalty * self.problem.constraints(state), 0.0)
        loss, by_params, by_aux = self.problem.lagrangian(state, shifted)
        # (1 / 2 rho) sum_i (max(mu_i + rho f_i, 0)^2 - mu_i^2)
        penalty = (shifted @ shifted - self.multipliers @ self.multipliers) / (2 * self.penalty)
        return float(loss + penalty), np.concatenate([self.scaling.pull_back(by_params).ravel(), by_aux])

    def corrected(self, flat: Vector) -> list[tuple[Vector, State, float, float]]:
        """The point after one step to the linearised constraints, with its state, loss and largest value.

        Without thresholds the multipliers of that step are better than the updated ones, and the method goes on
        from them. With thresholds they are not: the constraints bend at scores near a threshold, and on bank and
        a9a the rounds after it would need up to five times the evaluations.
        """
        # sequential quadratic programming's step: f_i + f_i' d <= 0, see partialfair.algorithms.linear.correction
        correction = correct(self.problem, self.scaling, *self.unpack(flat))
        if correction is None:
            return []
        self.evaluations += correction.evaluations
        if self.problem.n_aux == 0:
            self.multipliers = correction.multipliers
        state = self.problem.state(correction.params, correction.aux)
        loss = self.problem.loss(state)[0]
        worst = float(self.problem.constraints(state).max())
        return [(self.pack(correction.params, correction.aux), state, loss, worst)]

    def minimise(self, flat: Vector, halfway: Callable[[Vector], None] | None = None) -> Vector:
        """Minimise over the point with the multipliers fixed, from ``flat``; ``halfway`` sees the point midway."""
        iterations = self.settings.inner_iterations
        if self.problem.n_aux == 0:  # corrections make up for what an inaccurate minimum does to the multipliers
            iterations = (iterations + 1) // 2
        options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-6}
        taken = 0

        def count(now: Vector) -> None:
            nonlocal taken
            taken += 1
            if halfway is not None and taken == HALFWAY:
                halfway(now)

        return minimize(self.value, flat, jac=True, method="L-BFGS-B", options=options, callback=count).x

    def update(self, flat: Vector) -> tuple[State, float, float, float, float]:
        """Update multipliers and penalty; return the state, loss, largest value, stationarity and slackness there.

        The last is the largest ``min(multiplier, 1) |f_i|``: a constraint that is slack while its multiplier still
        pulls is not complementary, however small the gradient of the Lagrangian is.
        """
        problem = self.problem
        state = problem.state(*self.unpack(flat))
        values = problem.constraints(state)
        worst = float(values.max())
        # mu_i <- max(mu_i + rho f_i, 0); rho grows where max_i f_i has not halved
        self.multipliers = np.maximum(self.multipliers + self.penalty * values, 0.0)
        # stationarity: the gradient of f0 + sum_i mu_i f_i at the new multipliers
        loss, by_params, by_aux = problem.lagrangian(state, self.multipliers)
        if worst > max(0.5 * self.last, self.settings.tolerance):
            self.penalty *= self.settings.growth
        self.last = max(worst, 0.0)
        slackness = float((np.minimum(self.multipliers, 1.0) * np.abs(values)).max())
        return state, loss, worst, float(np.hypot(np.linalg.norm(by_params), np.linalg.norm(by_aux))), slackness
