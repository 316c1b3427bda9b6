"""What a comparison could have seen, held against simulated samples to which the whole rule is applied."""

import math

import numpy as np
import pytest
from scipy import stats

from reproduction.statistics.effect import Effect, mean_effect
from reproduction.statistics.power import detectable_inside, detectable_together, seeds_inside, seeds_together

ALPHA, SAMPLES = 0.025, 4000
SPREAD = np.array([1.0, 1.5, 0.7])
CORRELATED = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]])


def sample_of(n, mean, correlations=CORRELATED):
    """A sample (n, 3) with exactly this mean, these correlations and SPREAD as its deviations."""
    raw = np.random.default_rng(3).normal(size=(n, 3))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw, rowvar=False))).T
    return white @ np.linalg.cholesky(correlations).T * SPREAD + mean


def found_in_all(n, mean, correlations=CORRELATED):
    """Share of simulated samples in which every one of the effects is significant."""
    normal = np.random.default_rng(4).normal(size=(SAMPLES, n, 3)) @ np.linalg.cholesky(correlations).T
    drawn = normal * SPREAD + mean
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / math.sqrt(n))
    return (t > stats.t.ppf(1 - ALPHA, n - 1)).all(axis=1).mean()


@pytest.mark.parametrize("correlations", [CORRELATED, np.eye(3)])
@pytest.mark.parametrize("n", [15, 40])
def test_the_detectable_effect_of_several_is_found_in_all_of_them_four_times_in_five(n, correlations):
    values = sample_of(n, 0.0, correlations)
    effects = [mean_effect(values[:, k]) for k in range(3)]
    size = detectable_together(effects, values, ALPHA)
    assert found_in_all(n, size, correlations) == pytest.approx(0.8, abs=0.03)
    assert size > max(effect.detectable(ALPHA) for effect in effects)


def test_the_seeds_of_several_effects_are_those_at_which_all_are_found():
    mean = np.array([0.6, 0.8, 0.5])
    values = sample_of(15, mean)
    effects = [mean_effect(values[:, k]) for k in range(3)]
    n = seeds_together(effects, values, ALPHA)
    assert n is not None and n > max(effect.seeds_for(effect.mean, ALPHA) for effect in effects)
    assert found_in_all(n, mean) == pytest.approx(0.8, abs=0.03)
    assert found_in_all(n // 2, mean) < 0.6


def test_one_effect_is_seen_as_by_itself():
    effect = mean_effect(np.random.default_rng(0).normal(0.4, 1, 20))
    assert detectable_together([effect], None, ALPHA) == effect.detectable(ALPHA)
    assert seeds_together([effect], None, ALPHA) == effect.seeds_for(effect.mean, ALPHA)


def test_an_effect_below_zero_or_without_a_test_is_not_shown_by_any_number_of_seeds():
    good, bad, alone = Effect(1.0, 0.5, 9.0, 10), Effect(-1.0, 0.5, 9.0, 10), mean_effect([1.0])
    assert seeds_together([good, bad], None, ALPHA) is None and seeds_together([good, alone], None, ALPHA) is None
    assert math.isnan(detectable_together([good, alone], None, ALPHA))
    assert seeds_together([Effect(1e-6, 0.5, 9.0, 10), good], None, ALPHA) is None


def inside(n, mean, margin):
    """Share of simulated samples of deviation 1 that two one-sided tests put inside the margin."""
    drawn = np.random.default_rng(5).normal(mean, 1.0, (SAMPLES, n))
    half = stats.t.ppf(1 - ALPHA, n - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(n)
    return (np.abs(drawn.mean(axis=1)) + half < margin).mean()


@pytest.mark.parametrize("mean", [0.0, 0.2, -0.35])
def test_the_seeds_of_an_equivalence_are_those_at_which_it_is_shown(mean):
    effect = Effect(mean, 1 / math.sqrt(15), 14.0, 15)
    n = seeds_inside(effect, 0.6, ALPHA)
    assert inside(n, mean, 0.6) == pytest.approx(0.8, abs=0.03)


def test_the_detectable_margin_of_an_equivalence():
    effect = Effect(0.0, 1 / math.sqrt(30), 29.0, 30)
    assert inside(30, 0.0, detectable_inside(effect, ALPHA)) == pytest.approx(0.8, abs=0.03)
    assert math.isnan(detectable_inside(mean_effect([1.0]), ALPHA))
    assert seeds_inside(Effect(0.7, 0.1, 9.0, 10), 0.6, ALPHA) is None


def test_gaps_in_the_sample_leave_the_correlations_of_the_rest():
    values = sample_of(40, 0.0)
    whole = detectable_together([mean_effect(values[:, k]) for k in range(3)], values, ALPHA)
    values[0, 0] = values[3, 1] = np.nan
    assert detectable_together([mean_effect(values[:, k]) for k in range(3)], values, ALPHA) == pytest.approx(
        whole, rel=0.1
    )
