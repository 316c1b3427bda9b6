"""One step of sequential quadratic programming: the nearest point at which the linearised constraints hold.

The direct solver reaches the loss of the optimum long before its constraints, which its multipliers approach
round by round; one such step removes most of what is left (a9a, pSP, kappa .1: violation 0.0076 -> 0.0011 for
the price of four evaluations instead of the hundred that the next rounds take).

Source: Nocedal and Wright, Numerical Optimization (2006), chapter 18, with the loss's Hessian as the metric.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from partialfair.algorithms.least_squares import non_negative
from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem, State

Vector = NDArray[np.float64]

AUX_CURVATURE = 0.3  # thresholds have no curvature in the loss; about that of the shares' squares in the scores
HALVINGS = 6


@dataclass(frozen=True, eq=False)
class Correction:
    """A corrected point with the multipliers of its quadratic program."""

    params: Vector
    aux: Vector
    multipliers: Vector
    evaluations: int


def correct(problem: LinearProblem, scaling: Scaling, params: Vector, aux: Vector) -> Correction | None:
    """Step towards the linearised constraints; ``None`` where no step lowers loss plus weighted violation.

    Args:
        problem: the problem, with constraints.
        scaling: coordinates in which the loss is nearly round.
        params: (R, d+1) parameters; aux: (P,) auxiliary variables.
    """
    state = problem.state(params, aux)
    # the quadratic step at the point, with the constraints linearised
    loss, by_params = problem.loss(state)
    values = problem.constraints(state)
    gradient = np.concatenate([scaling.pull_back(by_params).ravel(), np.zeros(aux.size)])
    step, multipliers = quadratic_step(gradient, _scaled_jacobian(problem, scaling, state), values, aux.size)
    # the exact penalty f0 + weight sum_i max(f_i, 0) has to fall by a part of what its linearisation promises (Armijo)
    weight = 1.1 * multipliers.max(initial=0.0)
    merit = loss + weight * np.maximum(values, 0).sum()
    expected = gradient @ step - weight * np.maximum(values, 0).sum()
    z, length = scaling.from_params(params), 1.0
    size = params.size
    for tried in range(1, HALVINGS + 1):
        new_params = scaling.to_params(z + length * step[:size].reshape(z.shape))
        new_aux = aux + length * step[size:]
        state_new = problem.state(new_params, new_aux)
        reached = problem.loss(state_new)[0] + weight * np.maximum(problem.constraints(state_new), 0).sum()
        if reached <= merit + 1e-4 * length * expected:
            return Correction(new_params, new_aux, multipliers, 2 + tried)
        length /= 2
    return None


def quadratic_step(gradient: Vector, jacobian: Vector, values: Vector, n_aux: int) -> tuple[Vector, Vector]:
    """Minimise ``gradient . d + d' D d / 2`` subject to ``values + jacobian d <= 0``, by its dual.

    D is 1 for parameters and ``AUX_CURVATURE`` for the last ``n_aux`` variables. The dual is a non-negative least
    squares problem of one variable per constraint; constraints that cannot hold together get a least-squares
    compromise, by a ridge of 1e-9 of the mean curvature.

    Returns:
        The step (N,) and the multipliers (m,).
    """
    metric = np.ones(gradient.size)
    metric[gradient.size - n_aux :] = AUX_CURVATURE
    scaled = jacobian / metric
    # min over mu >= 0 of |L' mu - L^-1 (values - J D^-1 gradient)|^2, where L L' = J D^-1 J' + ridge;
    # then d = -D^-1 (gradient + J' mu)
    dual = scaled @ jacobian.T
    factor = cholesky(dual + 1e-9 * max(np.trace(dual) / len(dual), 1e-12) * np.eye(len(dual)), lower=True)
    target = solve_triangular(factor, values - scaled @ gradient, lower=True)
    multipliers, _ = non_negative(factor.T, target)
    return -(gradient + jacobian.T @ multipliers) / metric, multipliers


def _scaled_jacobian(problem: LinearProblem, scaling: Scaling, state: State) -> Vector:
    """Derivatives of the constraints by scaled parameters and auxiliaries, (m, N)."""
    by_params, by_aux = problem.jacobian(state)
    return np.hstack([np.array([scaling.pull_back(row).ravel() for row in by_params]), by_aux])
