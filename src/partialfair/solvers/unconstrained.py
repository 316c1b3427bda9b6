"""Minimum of the loss without constraints, by L-BFGS (scipy)."""

import time

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from partialfair.solvers.certificate import certify
from partialfair.solvers.problem import LinearProblem
from partialfair.solvers.solution import Record, Solution

Vector = NDArray[np.float64]


def minimise_loss(problem: LinearProblem, *, iterations: int = 1000, tolerance: float = 1e-5) -> Vector:
    """Return parameters (R, d+1) that minimise f0, from zero.

    Args:
        problem: the problem; its constraints are ignored.
        iterations: at most so many L-BFGS iterations.
        tolerance: stop where no component of the gradient exceeds it.
    """
    shape = problem.model.shape
    aux = problem.start()[1]

    def value(flat: Vector) -> tuple[float, Vector]:
        loss, gradient = problem.loss(problem.state(flat.reshape(shape), aux))
        return loss, gradient.ravel()

    options = {"maxiter": iterations, "maxcor": 20, "gtol": tolerance, "ftol": 1e-12}
    found = minimize(value, np.zeros(problem.model.size), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(shape)


def solve(problem: LinearProblem, *, iterations: int = 1000, tolerance: float = 1e-5) -> Solution:
    """Minimise f0 and certify the result."""
    params = minimise_loss(problem, iterations=iterations, tolerance=tolerance)
    aux = problem.start()[1]
    certificate = certify(problem, params, aux)
    record = Record(1, 0, certificate.objective, certificate.max_violation, time.process_time(), params, aux)
    return Solution(params, aux, certificate, [record])
