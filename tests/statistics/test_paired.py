"""Paired tests against scipy, statsmodels and planted differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from reproduction.statistics.effect import mean_effect
from reproduction.statistics.paired import increasing_trend, paired_difference
from reproduction.verdicts.claim_tests import TESTS
from reproduction.verdicts.sample import MeasuredEffects

values = st.lists(st.integers(-999, 999).map(lambda x: x / 1000), min_size=3, max_size=8)  # as accuracies are


@pytest.fixture
def samples():
    rng = np.random.default_rng(5)
    return rng.normal(0.84, 0.004, (40, 5)), rng.normal(0.838, 0.004, (40, 5))


def test_difference_is_that_of_scipy(samples):
    for first, second in zip(*samples, strict=True):
        found, expected = paired_difference(first, second), stats.ttest_rel(first, second)
        interval = expected.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.p_two_sided == pytest.approx(expected.pvalue)
        assert found.p_greater == pytest.approx(stats.ttest_rel(first, second, alternative="greater").pvalue)


def test_equivalence_is_that_of_statsmodels(samples):
    for first, second in zip(*samples, strict=True):
        expected = ttost_paired(first, second, -0.005, 0.005)[0]
        found, _ = TESTS["similar"].decide(MeasuredEffects((mean_effect(first - second),)), 0.005)
        assert found == pytest.approx(expected)


@given(values, st.integers(0, 10))
def test_antisymmetric(first, seed):
    second = np.random.default_rng(seed).normal(size=len(first))
    one, other = paired_difference(first, second), paired_difference(second, first)
    assert one.mean == pytest.approx(-other.mean)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.p_greater == pytest.approx(other.p_less)
    assert (one.ahead, one.behind) == (other.behind, other.ahead)


@given(values)
def test_ahead_exactly_where_the_one_sided_test_at_half_the_level_says_so(first):
    found = paired_difference(first, np.zeros(len(first)), 0.9)
    if abs(found.p_greater - 0.05) > 1e-9:
        assert found.ahead == (found.p_greater < 0.05)


def test_differences_without_spread():
    above = paired_difference([0.5, 0.5], [0.4, 0.4])
    assert above.ahead and above.statistic == math.inf and above.p_greater == 0
    same = paired_difference([0.5, 0.4, 0.3], [0.5, 0.4, 0.3])
    assert not same.ahead and not same.behind and same.p_two_sided == 1


def test_missing_seeds_and_a_single_one():
    found = paired_difference([0.5, math.nan, 0.7], [0.4, 0.5, 0.5])
    assert found.n == 2 and found.mean == pytest.approx(0.15)
    alone = paired_difference([0.5, math.nan], [0.4, 0.5])
    assert alone.n == 1 and not alone.tested and not alone.ahead


def test_trend_is_that_of_scipy_and_needs_three_columns():
    rising = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [2, 1, 3, 4]])
    found, expected = increasing_trend(rising), stats.page_trend_test(rising)
    assert (found.statistic, found.p, found.n) == (expected.statistic, expected.pvalue, 3)
    assert found.p < 0.01 < 0.9 < increasing_trend(rising[:, ::-1]).p
    assert math.isnan(increasing_trend(rising[:, :2]).p)
    assert increasing_trend(np.vstack([rising, [1, math.nan, 2, 3]])) == found
