"""A point of a problem with constraints, and its Karush-Kuhn-Tucker certificate."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from partialfair.algorithms.contract import Certificate, EvaluatedPoint
from partialfair.algorithms.linear.problem import LinearProblem

Vector = NDArray[np.float64]
AT_ZERO = "the norm of the loss gradient where all weights are zero"
SMALL = 0.01


@dataclass(frozen=True, eq=False)
class LinearPoint(EvaluatedPoint):
    """A point (params (R, d+1), aux (P,)) of a problem.

    Attributes:
        active_within: how close to its bound a constraint counts as active.
        accepted, stationary, remedy, by_metric: see :class:`partialfair.algorithms.contract.EvaluatedPoint`.
    """

    problem: LinearProblem
    params: Vector
    aux: Vector
    active_within: float = 1e-3
    accepted: float = math.inf
    stationary: float = math.inf
    remedy: str = "raise kappa"
    by_metric: bool = True

    @cached_property
    def state(self) -> Any:
        """Scores and hinge means there."""
        return self.problem.state(self.params, self.aux)

    def objective(self) -> float:
        """Mean logistic loss f0 of the training rows."""
        return float(self.problem.loss(self.state)[0])

    def violation(self) -> float:
        """Largest f_i; 0 without constraints."""
        values = self.problem.constraints(self.state)
        return float(values.max()) if values.size else 0.0

    def indicator_violation(self, point: Any = None) -> float:
        """Largest f_i with indicators, at the grid's thresholds, here or at another pair (params, aux)."""
        return self.problem.true_violation(*((self.params, self.aux) if point is None else point))

    def certificate(self) -> Certificate:
        """KKT residual, with multipliers of the constraints within ``active_within`` of 0."""
        return certify(self.problem, self.params, self.aux, active_within=self.active_within)


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
    # f0' (N,): thresholds do not enter the loss, hence the zeros
    by_params = problem.loss(state)[1]
    values = problem.constraints(state)
    gradient = np.concatenate([by_params.ravel(), np.zeros(problem.n_aux)])
    multipliers = np.zeros(values.size)
    # Equation (28) without the normal cone (W is the whole space): min over lambda >= 0 of |f0' + sum_i lambda_i f_i'|,
    # over the constraints that (30) lets have a multiplier; (29), the violation itself, is reported apart.
    active = np.flatnonzero(values >= -active_within)
    residual = float(np.linalg.norm(gradient))
    if active.size:
        jacobian_params, jacobian_aux = problem.jacobian(state)
        rows = np.hstack([jacobian_params[active].reshape(active.size, -1), jacobian_aux[active]])
        multipliers[active], residual = nnls(rows.T, -gradient)
    return Certificate("kkt", float(residual) / problem.unit, AT_ZERO, SMALL, multipliers)
