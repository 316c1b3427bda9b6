"""Karush-Kuhn-Tucker certificate of a point of a training problem."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.solution import Certificate

Vector = NDArray[np.float64]


def certify(problem: LinearProblem, params: Vector, aux: Vector, *, active_within: float = 1e-3) -> Certificate:
    """Measure how nearly a point satisfies the first-order conditions.

    The multipliers are those that make the Lagrangian's gradient smallest, found by non-negative least squares
    over the constraints that are active, that is ``f_i >= -active_within``; all others get 0, which is
    complementary slackness.

    Args:
        problem: the problem.
        params: (R, d+1) parameters; aux: (P,) auxiliary variables.
        active_within: how close to its bound a constraint counts as active.
    """
    state = problem.state(params, aux)
    objective, by_params = problem.loss(state)
    values = problem.constraints(state)
    gradient = np.concatenate([by_params.ravel(), np.zeros(problem.n_aux)])
    multipliers = np.zeros(values.size)
    active = np.flatnonzero(values >= -active_within)
    residual = float(np.linalg.norm(gradient))
    if active.size:
        jacobian_params, jacobian_aux = problem.jacobian(state)
        rows = np.hstack([jacobian_params[active].reshape(active.size, -1), jacobian_aux[active]])
        multipliers[active], residual = nnls(rows.T, -gradient)
    return Certificate(
        objective=float(objective),
        max_violation=float(max(values.max(initial=0.0), 0.0)),
        kkt_residual=float(residual) / problem.unit,
        multipliers=multipliers,
    )
