"""Logistic regression with a weight per row and an L2 penalty, on the layout of the compiled kernels."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from partialfair.algorithms.linear.newton import LARGEST, MANY_ROWS, SAMPLE, Scaling, newton_steps
from partialfair.algorithms.linear.problem import LinearProblem, State
from partialfair.kernels.weighted_loss import weighted_logistic

Vector = NDArray[np.float64]
NEWTON_TOLERANCE = 1e-7
FEW_STEPS = 4
"""Newton steps to where the scaling of further steps is taken."""
ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class WeightedProblem(LinearProblem):
    """A linear problem whose loss has a weight per row and an L2 penalty; constraints count rows as before.

    Attributes:
        row_weight: (n,) in the order of the design; the mean over rows is taken with them as they are.
        penalty: half of it times the sum of the squared coefficients of every block of weights, the intercept
            excepted, is added to the loss. The coefficients are those of standardised columns.
    """

    row_weight: Vector | None = None
    penalty: float = 0.0

    @classmethod
    def from_problem(cls, problem: LinearProblem, row_weight: Vector | None, penalty: float = 0.0) -> "WeightedProblem":
        """A problem with weights (n,), in the order of the rows it was built from.

        Args:
            problem: the problem without.
            row_weight: non-negative weights; ``None`` for equal ones.
            penalty: see above.
        """
        values = {entry.name: getattr(problem, entry.name) for entry in fields(LinearProblem)}
        weight = None if row_weight is None else row_weight[problem.design.order]
        return cls(**values, row_weight=weight, penalty=penalty)

    def loss(self, state: State) -> tuple[float, Vector]:
        """Weighted mean of the logistic loss with the penalty, and its gradient by the parameters, (R, d+1)."""
        residual = np.empty(self.design.n_rows)
        value = self._weighted(state.scores, residual)
        more, by_params = self._penalty(state.params)
        return value + more, self.pull_back(residual) + by_params

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """Loss, and the gradient of ``f0 + sum_i multipliers_i f_i`` by parameters and auxiliaries."""
        residual = np.empty(self.design.n_rows)
        value = self._weighted(state.scores, residual)
        by_aux = np.zeros(self.n_aux)
        if self.program is not None:
            by_aux = self._add_hinges(state, self.program.slope_weights(state.means, multipliers), residual)
        more, by_params = self._penalty(state.params)
        return value + more, self.pull_back(residual) + by_params, by_aux

    def _weighted(self, scores: Vector, residual: Vector) -> float:
        weight = np.ones(scores.size) if self.row_weight is None else self.row_weight
        return float(weighted_logistic(scores, self.y, weight / scores.size, residual))

    def _penalty(self, params: Vector) -> tuple[float, Vector]:
        """The penalty and its gradient (R, d+1)."""
        if self.penalty == 0:
            return 0.0, np.zeros(self.model.shape)
        # penalty / 2 times the squared weights that each group sees, intercepts free
        blocks = self.model.effective(params) if self.model.uses_group else params.copy()
        blocks[:, 0] = 0.0
        gradient = self.penalty * (self.model.fold(blocks) if self.model.uses_group else blocks)
        return 0.5 * self.penalty * float(np.sum(blocks**2)), gradient


def minimise_weighted(
    problem: LinearProblem,
    start: Vector | None = None,
    scaling: Scaling | None = None,
    iterations: int = ITERATIONS,
) -> tuple[Vector, Scaling]:
    """Parameters (R, d+1) of the smallest loss, constraints ignored, and the scaling they were found in.

    A few Newton steps on the unweighted loss lead near its minimum and to coordinates in which it is nearly round;
    L-BFGS in these does the rest. On bank and a9a that takes half the time of Newton steps to the end, and the loss is
    5e-8 lower. Problems with more columns than :data:`partialfair.algorithms.linear.newton.LARGEST`, or than rows in
    some block of weights, get L-BFGS alone: their Hessians take longest and are singular. On communities (680 columns,
    422 rows in the smaller group) Newton steps took most of 7 s.

    Args:
        problem: the problem.
        start: parameters to start from.
        scaling: coordinates, for instance those of a neighbouring problem.
        iterations: of L-BFGS, at most.
    """
    if problem.model.n_features > min(LARGEST, _fewest_rows(problem)):
        scaling = Scaling(np.zeros((0, 0, 0)))
        start = np.zeros(problem.model.shape) if start is None else start
    elif start is None:
        # Newton's Hessian is that of equal weights, which is cheap to form and close enough as coordinates
        equal = LinearProblem(problem.design, problem.y, problem.model, None)
        stride = SAMPLE if problem.design.n_rows >= MANY_ROWS else 1
        start, scaling = newton_steps(equal, iterations=FEW_STEPS, tolerance=NEWTON_TOLERANCE, stride=stride)
    coordinates = scaling or Scaling.at_point(problem, start)
    value = _flat_loss(problem, coordinates)
    options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-7}
    start_flat = coordinates.from_params(start).ravel()
    minimum = minimize(value, start_flat, jac=True, method="L-BFGS-B", options=options).x
    return coordinates.to_params(minimum.reshape(problem.model.shape)), coordinates


def _fewest_rows(problem: LinearProblem) -> int:
    """Rows of the smallest block of weights: of a group, or of all groups where they share one."""
    if not problem.model.uses_group:
        return problem.design.n_rows
    sizes = np.bincount(problem.design.subset_group, np.diff(problem.design.starts), problem.model.n_groups)
    return int(sizes.min())


def _flat_loss(problem: LinearProblem, scaling: Scaling) -> Callable[[Vector], tuple[float, Vector]]:
    """The loss and its gradient in scaled coordinates."""
    free = np.zeros(problem.n_aux)
    shape = problem.model.shape

    def value(flat: Vector) -> tuple[float, Vector]:
        params = scaling.to_params(flat.reshape(shape))
        loss, gradient = problem.loss(State(params, free, problem.scores(params), np.zeros(0), np.zeros((0, 0))))
        return loss, scaling.pull_back(gradient).ravel()

    return value
