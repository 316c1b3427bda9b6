"""Group thresholds against all choices, tried one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair.algorithms.linear.group_thresholds import best_thresholds, group_curve

FULL = ((0.0, 1.0),)


def tried(parts, interval, slack):
    """Most rows right over every choice of thresholds between scores whose rates differ by at most the slack."""
    best = -1
    choices = []
    for scores, y in parts:
        found = []
        for threshold in [*np.unique(scores), scores.min() - 1]:
            accepted = scores > threshold
            share = accepted.mean()
            rate = sum(min(share, beta) - min(share, alpha) for alpha, beta in interval)
            found.append((rate, int(np.sum(accepted == (y > 0)))))
        choices.append(found)
    for chosen in itertools.product(*choices):
        rates = [rate for rate, _ in chosen]
        if max(rates) - min(rates) <= slack + 1e-12:
            best = max(best, sum(correct for _, correct in chosen))
    return best


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_groups=st.integers(2, 3),
    slack=st.sampled_from([0.0, 0.05, 0.2, 1.0]),
    interval=st.sampled_from([FULL, ((0.1, 0.4),), ((0.0, 0.2), (0.5, 0.9))]),
)
def test_no_choice_is_more_accurate(seed, n_groups, slack, interval):
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(n_groups):
        n = int(random.integers(2, 9))
        parts.append((random.integers(0, 6, n).astype(float), random.choice([-1.0, 1.0], n)))
    curves = [group_curve(scores, y, interval) for scores, y in parts]
    thresholds, correct = best_thresholds(curves, slack)
    assert correct == tried(parts, interval, slack)
    accepted = [scores > t for (scores, _), t in zip(parts, thresholds, strict=True)]
    assert correct == sum(int(np.sum(a == (y > 0))) for a, (_, y) in zip(accepted, parts, strict=True))
    shares = [a.mean() for a in accepted]
    rates = [sum(min(s, beta) - min(s, alpha) for alpha, beta in interval) for s in shares]
    assert max(rates) - min(rates) <= slack + 1e-9


def test_without_a_bound_each_group_gets_its_own_best_threshold():
    scores, y = np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, -1.0])
    thresholds, correct = best_thresholds([group_curve(scores, y, FULL), group_curve(scores + 10, y, FULL)], 1.0)
    assert correct == 6
    np.testing.assert_allclose(thresholds, [1.5, 11.5])


def test_a_longer_interval_counts_less():
    scores, y = np.arange(10.0), np.ones(10)
    curve = group_curve(scores, y, FULL, scale=0.5)
    assert curve.rates.max() == pytest.approx(0.5)
