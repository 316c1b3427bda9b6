"""The best mixture for two groups is the linear program's, and its multipliers are dual solutions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair.algorithms.linear.equal_rates.mixture import best_mixture, of_many_rates, of_two_rates

NUMBERS = st.integers(0, 2**32 - 1)


def decisions(seed: int, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors (J,) and rates (J, 1, 2); the first two decide for nobody and everybody. Coarse: ties occur."""
    random = np.random.default_rng(seed)
    rates = random.integers(0, 21, (many, 1, 2)) / 20
    rates[:2] = [[[0.0, 0.0]], [[1.0, 1.0]]]
    return random.integers(0, 21, many) / 20, rates


@given(seed=NUMBERS, many=st.integers(2, 40), kappa=st.sampled_from([0.0, 0.03, 0.05, 0.2, 1.0]))
@settings(max_examples=150, deadline=None)
def test_the_hull_solves_the_program(seed, many, kappa):
    errors, rates = decisions(seed, many)
    found, general = best_mixture(errors, rates, kappa), of_many_rates(errors, rates, kappa)
    assert found.errors == pytest.approx(general.errors, abs=1e-9)
    assert found.shares.sum() == pytest.approx(1) and (found.shares > 0).all() and found.used.size <= 2
    gap = float(found.shares @ (rates[found.used, 0, 0] - rates[found.used, 0, 1]))
    assert abs(gap) <= kappa + 1e-12 and found.errors == pytest.approx(float(found.shares @ errors[found.used]))


@given(seed=NUMBERS, many=st.integers(2, 40), kappa=st.sampled_from([0.0, 0.03, 0.05, 0.2]))
@settings(max_examples=150, deadline=None)
def test_no_decision_is_cheaper_at_the_multipliers_than_the_mixture(seed, many, kappa):
    """Strong duality: the smallest Lagrangian over decisions is the program's value."""
    errors, rates = decisions(seed, many)
    found = best_mixture(errors, rates, kappa)
    assert found.multipliers.sum() == pytest.approx(0)
    priced = errors + (rates[:, 0] * found.multipliers[0]).sum(axis=1)
    assert priced.min() - kappa * abs(found.multipliers[0, 0]) == pytest.approx(found.errors, abs=1e-9)


def test_of_two_slopes_at_the_bound_the_one_towards_fewer_errors_counts():
    errors, gaps = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.1, 0.3])
    found = of_two_rates(errors, gaps, 0.1)
    assert found.used.tolist() == [1] and found.multipliers[0] == pytest.approx([0.5, -0.5])
    found = of_two_rates(errors, -gaps, 0.1)
    assert found.used.tolist() == [1] and found.multipliers[0] == pytest.approx([-0.5, 0.5])
