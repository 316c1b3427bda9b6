"""The quadratic program of a correction: its conditions of optimality, and the way out where its solver gives up."""

import numpy as np
import pytest
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


@given(st.integers(0, 10_000))
def test_where_active_sets_go_round_in_circles_another_method_finds_the_same_step(seed):
    def gives_up(*_):
        raise RuntimeError("Maximum number of iterations reached.")

    usual = correction.quadratic_step(*program(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correction, "nnls", gives_up)
        other = correction.quadratic_step(*program(seed))
    for one, two in zip(usual, other, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-8)
