"""Newton's method on the logistic loss, and the change of variables its Hessian gives to other solvers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri

from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.kernels.gram import gram, mirrored
from partialfair.kernels.row_sums import adjoint_one

Vector = NDArray[np.float64]
RIDGE = 1e-4  # share of the mean curvature added to every direction: one-hot columns leave some flat
LEAST_RIDGE = 1e-8  # near the minimum, where more would keep the steps along nearly flat directions short
SAMPLE = 4  # a start looks at every fourth row for the Hessians of all its steps but the last
MANY_ROWS = 10_000  # from which on it does
LARGEST = 3000  # features up to which a dense Hessian per group is worth its memory (72 MB each)


def blocks_of(problem: LinearProblem) -> int:
    """Number of weight vectors that vary independently: one per group, or one in all."""
    return problem.model.shape[0]


def hessian(problem: LinearProblem, scores: Vector, ridge: float = RIDGE, stride: int = 1) -> Vector:
    """Hessian of the loss by the weights of each block, (R, d+1, d+1), with the ridge added.

    ``H_b = sum_i p_i (1 - p_i) / n (1, x_i)(1, x_i)'`` over the rows of block b, with ``p = 1 / (1 + exp(-s))``. With a
    ``stride`` above 1 it is estimated from one in so many rows, but for its diagonal, which is not below that of all
    rows: a feature that is rare among the rows looked at would else seem to have next to no curvature.
    """
    # p (1 - p) / n is the second derivative of the mean logistic loss by a score, whatever the label
    share = 1 / (1 + np.exp(-scores))
    weight = share * (1 - share) / scores.size
    width = problem.model.n_features + 2
    half = np.zeros((problem.model.n_groups, width, width))
    ones, dense, dense_columns, starts, groups = problem.design.plain_arrays
    # one Gram matrix per group (G, d+2, d+2); the last position, the padding of rows with fewer ones, is cut off
    sample = np.ascontiguousarray(ones[:, ::stride]), np.ascontiguousarray(dense[:, ::stride])
    gram(*sample, dense_columns, -(-starts // stride), groups, stride * weight[::stride], half)
    full = mirrored(half[:, :-1, :-1])
    if stride > 1:
        diagonal = np.arange(width - 1)
        full[:, diagonal, diagonal] = np.maximum(full[:, diagonal, diagonal], _diagonal(problem, weight)[:, :-1])
    # all groups see one weight vector: their Hessians add up
    if blocks_of(problem) == 1:
        full = full.sum(axis=0, keepdims=True)
    # ridge as a share of the mean curvature, tr(H) / (d+1)
    curvature = np.trace(full, axis1=1, axis2=2) / full.shape[1]
    return full + ridge * curvature[:, None, None] * np.eye(full.shape[1])


def _diagonal(problem: LinearProblem, weight: Vector) -> Vector:
    """Sums (G, d+2) of the squares of each group's rows, weighted by ``weight`` (n,)."""
    ones, dense, dense_columns, starts, groups = problem.design.plain_arrays
    out = np.zeros((problem.model.n_groups, problem.model.n_features + 2))
    adjoint_one(ones, dense, dense_columns, starts, groups, weight, out)  # a one is its own square
    out[:, dense_columns] = 0
    for subset, (start, last) in enumerate(zip(starts, starts[1:], strict=False)):
        out[groups[subset], dense_columns] += dense[:, start:last] ** 2 @ weight[start:last]
    return out


@dataclass(frozen=True, eq=False)
class Scaling:
    """Coordinates z in which the loss is nearly round: block weights u_b = L_b^-T z_b, with H_b = L_b L_b'.

    Attributes:
        factor: (R, d+1, d+1) lower Cholesky factors of the Hessian's blocks.
    """

    factor: Vector

    @cached_property
    def inverse(self) -> Vector:
        """Inverses of the factors, with which a change of coordinates is one product."""
        return np.array([dtrtri(block, lower=1)[0] for block in self.factor])

    @classmethod
    def at_point(cls, problem: LinearProblem, params: Vector, ridge: float = RIDGE, stride: int = 1) -> "Scaling":
        """Scaling by the Hessian at ``params``; the identity where the Hessian would be too large."""
        if problem.model.n_features > LARGEST:
            return cls(np.zeros((0, 0, 0)))
        blocks = hessian(problem, problem.scores(params), ridge, stride)
        return cls(np.array([cholesky(block, lower=True) for block in blocks]))

    def to_params(self, z: Vector) -> Vector:
        """Parameters (R, d+1) at z (R, d+1)."""
        # u_b = L_b^-T z_b are the weights of each block; theta_0 = u_0, theta_g = u_g - u_0
        u = z if self.factor.size == 0 else self._solve(z, trans=1)
        return np.concatenate([u[:1], u[1:] - u[:1]])

    def from_params(self, params: Vector) -> Vector:
        """Z (R, d+1) of parameters (R, d+1)."""
        u = np.concatenate([params[:1], params[1:] + params[:1]])
        return u if self.factor.size == 0 else np.einsum("rji,rj->ri", self.factor, u)

    def pull_back(self, gradient: Vector) -> Vector:
        """Gradient by z from the gradient by the parameters, both (R, d+1)."""
        # adjoint of to_params: dF/du_0 = dF/dtheta_0 - sum_g dF/dtheta_g, then dF/dz = L^-1 dF/du
        by_block = np.concatenate([gradient[:1] - gradient[1:].sum(axis=0), gradient[1:]])
        return by_block if self.factor.size == 0 else self._solve(by_block, trans=0)

    def _solve(self, rows: Vector, trans: int) -> Vector:
        inverse = self.inverse.transpose(0, 2, 1) if trans else self.inverse
        return np.matmul(inverse, rows[:, :, None])[:, :, 0]


def minimise_loss(problem: LinearProblem, *, iterations: int = 50, tolerance: float = 1e-6) -> Vector:
    """Return parameters (R, d+1) that minimise f0; the arguments are those of :func:`newton_steps`."""
    return newton_steps(problem, iterations=iterations, tolerance=tolerance)[0]


def newton_steps(
    problem: LinearProblem, *, iterations: int, tolerance: float = 1e-6, stride: int = 1
) -> tuple[Vector, Scaling]:
    """Take damped Newton steps on f0 from zero; return parameters (R, d+1) and the scaling of the last step.

    The ridge falls with the expected decrease of the loss: on a9a and bank 50 steps with a fixed one leave a decrease
    of 5e-9 and 2e-9, 18 and 14 steps with a falling one leave 1e-9. ``stride`` is that of :func:`hessian` in all
    steps but the last.

    Args:
        problem: the problem; its constraints are ignored.
        iterations: at most so many steps.
        tolerance: stop where the expected decrease of the loss falls below it.
    """
    aux = problem.start()[1]
    params = np.zeros(problem.model.shape)
    scaling = Scaling.at_point(problem, params, stride=stride if iterations > 1 else 1)
    loss, gradient = problem.loss(problem.state(params, aux))
    decrease = np.inf
    for taken in range(iterations):
        if taken:
            # the ridge follows the expected decrease: large while far from the minimum, tiny close to it
            ridge = min(RIDGE, max(decrease, LEAST_RIDGE))
            scaling = Scaling.at_point(problem, params, ridge, stride if taken + 1 < iterations else 1)
        # in the coordinates z = L' u the Newton step is -L^-1 g, and the expected decrease g' H^-1 g = |L^-1 g|^2
        step = scaling.pull_back(gradient)
        decrease = float(np.sum(step**2))
        if decrease < tolerance:
            break
        # Armijo: half the length until f0 falls by 1e-4 of what the step promises
        z, length = scaling.from_params(params), 1.0
        while length > 1e-6:
            trial = scaling.to_params(z - length * step)
            new_loss, new_gradient = problem.loss(problem.state(trial, aux))
            if new_loss <= loss - 1e-4 * length * decrease:
                break
            length /= 2
        else:
            break
        params, loss, gradient = trial, new_loss, new_gradient
    return params, scaling
