"""Non-negative least squares: the conditions of optimality, and the same answer where the usual method gives up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair.algorithms import least_squares
from partialfair.algorithms.least_squares import non_negative


def system(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(7, 4)), random.normal(size=7)


def gives_up(*_):
    raise RuntimeError("Maximum number of iterations reached.")


@given(st.integers(0, 10_000))
def test_the_solution_is_optimal(seed):
    matrix, target = system(seed)
    x, distance = non_negative(matrix, target)
    slope = matrix.T @ (matrix @ x - target)
    assert (x >= 0).all() and slope.min() >= -1e-9 and abs(x @ slope) <= 1e-9
    assert distance == pytest.approx(np.linalg.norm(matrix @ x - target))


@given(st.integers(0, 10_000))
def test_another_method_finds_it_where_the_usual_one_gives_up(seed):
    usual = non_negative(*system(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_squares, "nnls", gives_up)
        other = non_negative(*system(seed))
    np.testing.assert_allclose(usual[0], other[0], rtol=1e-6, atol=1e-8)
    assert usual[1] == pytest.approx(other[1], rel=1e-9)
