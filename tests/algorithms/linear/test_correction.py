"""The quadratic program of a correction meets its conditions of optimality."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partialfair.algorithms.linear import correction


def program(seed, constraints=4, size=9, n_aux=2):
    random = np.random.default_rng(seed)
    return random.normal(size=size), random.normal(size=(constraints, size)), random.normal(size=constraints), n_aux


@given(st.integers(0, 10_000))
def test_the_step_solves_its_program(seed):
    gradient, jacobian, values, n_aux = program(seed)
    step, multipliers = correction.quadratic_step(gradient, jacobian, values, n_aux)
    metric = np.ones(gradient.size)
    metric[-n_aux:] = correction.AUX_CURVATURE
    slack = values + jacobian @ step
    assert (multipliers >= 0).all() and slack.max() <= 1e-6
    np.testing.assert_allclose(metric * step + gradient + jacobian.T @ multipliers, 0, atol=1e-9)
    np.testing.assert_allclose(multipliers * slack, 0, atol=1e-6)
