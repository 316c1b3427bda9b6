"""The certificate of a point, held against its definition on the derivatives of the problem."""

import numpy as np
import pytest
from scipy.optimize import nnls

from partialfair.algorithms.linear.certificate import certify


@pytest.fixture
def point(problem_factory):
    """A problem, a random point of it that violates some constraints, and its derivatives there."""
    problem, *_ = problem_factory(kappa=0.05)
    rng = np.random.default_rng(3)
    params = 0.5 * rng.normal(size=problem.model.shape)
    aux = problem.start()[1] + 0.1 * rng.normal(size=problem.n_aux)
    state = problem.state(params, aux)
    by_params, by_aux = problem.jacobian(state)
    jacobian = np.hstack([by_params.reshape(len(by_params), -1), by_aux])
    gradient = np.concatenate([problem.loss(state)[1].ravel(), np.zeros(problem.n_aux)])
    return problem, params, aux, problem.constraints(state), jacobian, gradient


def test_multipliers_are_the_nearest_combination_of_active_and_violated_constraints(point):
    problem, params, aux, values, jacobian, gradient = point
    within = 0.05
    active = values >= -within
    assert (values > within).any() and (values < -within).any() and (np.abs(values) <= within).any()
    found = certify(problem, params, aux, active_within=within)
    expected, residual = nnls(jacobian[active].T, -gradient)
    assert (expected > 0).any()
    assert np.allclose(found.multipliers[active], expected) and not found.multipliers[~active].any()
    assert found.value == pytest.approx(residual / problem.unit)
    left = np.linalg.norm(gradient + found.multipliers @ jacobian)
    assert found.value == pytest.approx(left / problem.unit), "it is the norm of the gradient of the Lagrangian"
    assert found.value < np.linalg.norm(gradient) / problem.unit


def test_a_violated_constraint_has_a_multiplier_too(point):
    problem, params, aux, values, jacobian, gradient = point
    wide = certify(problem, params, aux, active_within=10.0)
    expected, _ = nnls(jacobian.T, -gradient)
    assert np.allclose(wide.multipliers, expected)
    none = certify(problem, params, aux, active_within=-10.0)
    assert not none.multipliers.any()
    assert none.value == pytest.approx(np.linalg.norm(gradient) / problem.unit)
