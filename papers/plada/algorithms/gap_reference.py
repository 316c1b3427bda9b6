"""Exact optima of gap problems, and the near-stationarity measure that needs them: augmented Lagrangian and L-BFGS.

Every gap gives two smooth constraints, ``h <= eps`` and ``-h <= eps``. With a proximal term the problem is the one
whose solution defines near-stationarity (Boob, Deng and Lan; Huang and Lin):

    S(x) = ||x - argmin_y { F(y) + chi(y) : |h_j(y)| - eps_j + chi(y) <= max(0, g(x)) }||,  chi = (rho/2) ||y - x||^2.

The right-hand side keeps the problem solvable at an infeasible x; S = 0 exactly where x is a KKT point.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from papers.plada.algorithms.gap_problem import Array, GapProblem, GapState, worst

LARGEST_PENALTY = 1e6


@dataclass(frozen=True, eq=False)
class Optimum:
    """A solution.

    Attributes:
        theta: (d,).
        loss: F there.
        gaps: (m,) h there.
        multipliers: (m, 2) of ``h <= eps`` and ``-h <= eps``; both non-negative.
        evaluations: of loss and gaps.
    """

    theta: Array
    loss: float
    gaps: Array
    multipliers: Array
    evaluations: int


@dataclass(frozen=True)
class Accuracy:
    """When to stop: gradient of a round, largest change of a multiplier, rounds, first penalty."""

    gradient: float = 1e-8
    multiplier: float = 1e-6
    rounds: int = 40
    penalty: float = 10.0


def optimum(
    problem: GapProblem,
    start: Array,
    centre: Array | None = None,
    weight: float = 0.0,
    allowed: float = 0.0,
    accuracy: Accuracy | None = None,
) -> Optimum:
    """Minimise ``F + chi`` subject to ``|h_j| - eps_j + chi <= allowed``; without a centre chi is 0.

    Args:
        problem: loss and gaps; its set Theta is not imposed.
        start: (d,).
        centre: (d,) of chi.
        weight: rho of chi.
        allowed: right-hand side.
        accuracy: when to stop.
    """
    accuracy = accuracy or Accuracy()
    centre = np.zeros_like(start) if centre is None else centre
    multipliers = np.zeros((len(problem.eps), 2))
    theta, penalty, evaluations = start.copy(), accuracy.penalty, 0
    signs = np.array([1.0, -1.0])
    last = np.inf

    def constraints(point: Array) -> tuple[float, Array, GapState]:
        state = problem.state(point[:, None])
        apart = point - centre
        chi = 0.5 * weight * float(apart @ apart)
        # +-h_j - eps_j + chi - allowed (m, 2): both signs are smooth constraints where |h_j| has a kink
        values = state.gaps[:, :1] * signs - problem.eps[:, None] + chi - allowed
        return float(state.loss[0]) + chi, values, state

    def augmented(point: Array) -> tuple[float, Array]:
        loss, values, state = constraints(point)
        # F + chi + sum (max(0, l + rho c)^2 - l^2) / (2 rho); by theta: grad F + sum (l_+ - l_-) grad h + chi' (1 + sum
        # l)
        active = np.maximum(0.0, multipliers + penalty * values)
        total = loss + float(np.sum(active**2 - multipliers**2)) / (2 * penalty)
        gradient = problem.combined(state, np.ones(1), (active @ signs)[:, None])[:, 0]
        return total, gradient + weight * (1 + active.sum()) * (point - centre)

    options = {"maxcor": 30, "maxiter": 4000, "maxfun": 6000, "ftol": 1e-16, "gtol": accuracy.gradient}
    for _ in range(accuracy.rounds):
        minimum = minimize(augmented, theta, jac=True, method="L-BFGS-B", options=options)
        theta, evaluations = minimum.x, evaluations + int(minimum.nfev)
        values = constraints(theta)[1]
        new = np.maximum(0.0, multipliers + penalty * values)
        change, multipliers = float(np.abs(new - multipliers).max()), new
        if change < accuracy.multiplier:
            break
        # violation, or slack of a constraint whose multiplier is not 0; the penalty grows where it has not fallen to a
        # quarter
        remaining = float(np.maximum(values, -multipliers / penalty).max())
        if remaining > 0.25 * last:
            penalty = min(4 * penalty, LARGEST_PENALTY)
        last = remaining
    state = problem.state(theta[:, None])
    return Optimum(theta, float(state.loss[0]), state.gaps[:, 0], multipliers, evaluations)


def near_stationarity(problem: GapProblem, theta: Array, weight: float) -> tuple[float, Optimum]:
    """Return S of one point (d,), and the solution of its subproblem; ``weight`` is rho of chi."""
    # right-hand side max(0, g(x)): theta itself stays feasible for the subproblem
    allowed = max(0.0, float(worst(problem, problem.state(theta[:, None]))[0]))
    nearest = optimum(problem, theta, theta, weight, allowed, Accuracy(1e-7, 1e-5))
    return float(np.linalg.norm(nearest.theta - theta)), nearest
