"""Means with their errors against scipy, and what a sample of some size can see."""

import math

import numpy as np
import pytest
from scipy import stats

from reproduction.statistics.effect import MOST_SEEDS, fewest, holm, mean_effect, welch_effect

FIRST, SECOND = [0.3, 0.5, 0.1, 0.9, 0.4], [0.2, 0.1, 0.35]


@pytest.mark.parametrize("centre", [0.0, 0.4, 2.0])
def test_one_sample(centre):
    found = mean_effect([*FIRST, math.nan])
    assert found.statistic(centre) == pytest.approx(stats.ttest_1samp(FIRST, centre).statistic)
    for p, alternative in ((found.p_above(centre), "greater"), (found.p_below(centre), "less")):
        assert p == pytest.approx(stats.ttest_1samp(FIRST, centre, alternative=alternative).pvalue)
    expected = stats.t.interval(0.9, 4, np.mean(FIRST), stats.sem(FIRST))
    assert found.interval(0.9) == pytest.approx(expected) and found.n == 5


def test_two_independent_samples_are_those_of_welch():
    found = welch_effect(FIRST, SECOND)
    expected = stats.ttest_ind(FIRST, SECOND, equal_var=False, alternative="greater")
    assert (found.statistic(), found.freedom) == pytest.approx((expected.statistic, expected.df))
    assert found.p_above() == pytest.approx(expected.pvalue) and found.n == 3


def test_equal_values_leave_no_doubt_and_one_value_gives_no_test():
    sure = mean_effect([0.2, 0.2, 0.2])
    assert (sure.p_above(0.0), sure.p_above(0.3), sure.statistic(0.2)) == (0.0, 1.0, 0.0)
    alone = mean_effect([0.2])
    assert not alone.tested and math.isnan(alone.p_above()) and math.isnan(alone.detectable(0.025))


@pytest.mark.parametrize("n", [5, 30])
def test_what_is_detectable_is_found_four_times_in_five(n):
    """The share of simulated samples in which an effect of the detectable size is significant."""
    rng = np.random.default_rng(0)
    scale = rng.normal(size=n)
    error = mean_effect(scale).error * math.sqrt(n)
    size = mean_effect(scale).detectable(0.05) / error
    draws = rng.normal(size, 1.0, (4000, n))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / math.sqrt(n))
    assert np.mean(t > stats.t.ppf(0.95, n - 1)) == pytest.approx(0.8, abs=0.05)


def test_seeds_for_an_effect_are_the_fewest_at_which_it_is_detectable():
    found = mean_effect(FIRST)
    deviation = np.std(FIRST, ddof=1)

    def seen(n):
        return (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * deviation / math.sqrt(n)

    for effect in (0.05, 0.2, 0.5):
        n = found.seeds_for(effect, 0.025)
        assert seen(n) <= effect < seen(n - 1)
    assert found.seeds_for(1e-6, 0.025) is None and found.seeds_for(0.0, 0.025) is None


def test_holm_corrects_for_what_is_left_and_never_falls():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.02, 0.021, 0.9]) == pytest.approx([0.06, 0.06, 0.9])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([math.nan, 0.04]) == pytest.approx([math.nan, 0.04], nan_ok=True)


@pytest.mark.parametrize(
    ("wanted", "found"), [(1, 2), (3, 3), (70_000, 70_000), (MOST_SEEDS, MOST_SEEDS), (MOST_SEEDS + 1, None)]
)
def test_the_fewest_seeds_are_found_up_to_the_most(wanted, found):
    """Doubling stopped at 65,536, above which none were found."""
    assert fewest(lambda n: n >= wanted) == found
