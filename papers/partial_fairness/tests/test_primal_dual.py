"""The primal-dual method reaches the optimum of a convex problem that an independent solver finds."""

import numpy as np
import pytest

from papers.partial_fairness.algorithms.primal_dual import primal_dual

TARGET = np.array([2.0, -1.0, 0.5])
NORMALS = np.array([[1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
BOUNDS = np.array([0.4, 0.8])
RADIUS = 1.3


class Noisy:
    """min |x - target|^2 / 2 subject to two half-spaces and a ball, all seen with noise of mean zero."""

    def __init__(self, stream, noise=0.3):
        self.target = TARGET + noise * stream.standard_normal(3)
        self.normals = NORMALS + noise * stream.standard_normal((2, 3))
        self.bounds = BOUNDS + noise * stream.standard_normal(2)

    def jacobian(self, x):
        return np.vstack([self.normals, 2 * x])

    def values(self, x):
        return np.append(self.normals @ x - self.bounds, x @ x - RADIUS**2)

    def gradient(self, x, weight, queues):
        return weight * (x - self.target) + queues @ self.jacobian(x)

    def extrapolated(self, x, following):
        return self.values(x) + self.jacobian(x) @ (following - x)


@pytest.fixture(scope="module")
def optimum():
    cvxpy = pytest.importorskip("cvxpy")
    x = cvxpy.Variable(3)
    constraints = [NORMALS @ x <= BOUNDS, cvxpy.sum_squares(x) <= RADIUS**2]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - TARGET) / 2), constraints).solve()
    return x.value, np.append(constraints[0].dual_value, constraints[1].dual_value)


def solve(steps, seed=0):
    stream = np.random.default_rng(seed)
    return primal_dual(lambda t: Noisy(stream), np.zeros(3), np.zeros(3), steps)


def test_the_average_and_the_multipliers_are_those_of_an_exact_solver(optimum):
    point, multipliers = optimum
    found = solve(20_000)
    assert multipliers.max() > 0.1, "a problem without active constraints would test nothing"
    assert np.abs(found.average - point).max() < 0.03
    assert np.abs(found.multipliers - multipliers).max() < 0.1
    exact = Noisy(np.random.default_rng(0), noise=0.0)
    assert exact.values(found.average).max() < 0.02


def test_the_error_decreases_with_the_square_root_of_the_steps(optimum):
    errors = [
        np.mean([np.linalg.norm(solve(n, seed).average - optimum[0]) for seed in range(3)]) for n in (200, 20_000)
    ]
    assert errors[1] < errors[0] / 4, errors


def test_without_constraints_it_is_averaged_gradient_descent():
    class Quadratic:
        def gradient(self, x, weight, queues):
            return weight * (x - TARGET)

        def extrapolated(self, x, following):
            return np.zeros(0)

    found = primal_dual(lambda t: Quadratic(), np.zeros(3), np.zeros(0), 10_000)
    assert np.abs(found.last - TARGET).max() < 1e-6
