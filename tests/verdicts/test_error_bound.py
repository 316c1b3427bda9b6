"""Parts of the error of Theorem F.1: known answers, and the bounds against what they bound."""

import numpy as np
import pytest

from reproduction.verdicts.error_bound import deviation_bound, distance, needed_slack, parts, slack_at, surrogate_bound

INTERVAL = [[0.2, 0.6]]


def groups(seed: int, shift: float = 0.3, size: int = 400) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [np.round(draw.normal(0, 1, size), 2), np.round(draw.normal(shift, 1.3, size + 50), 2)]


def test_slack_of_equal_groups_is_the_step_of_a_row() -> None:
    equal = [np.arange(10.0)] * 2
    assert slack_at(equal, 0.2) == pytest.approx(0.0) and slack_at(equal, 0.25) == pytest.approx(0.05)
    assert needed_slack(equal, 0.2, 0.6) == pytest.approx(0.1), "just above a multiple of .1"


def test_slack_is_the_smallest_over_all_thresholds() -> None:
    two = groups(0)
    thresholds = np.unique(np.concatenate(two)) - 1e-6
    shares = np.array([[(scores > t).mean() for t in thresholds] for scores in two])
    for rank in (0.2, 0.35, 0.599):
        fits = shares.min(axis=0) >= rank
        assert slack_at(two, rank) == pytest.approx((shares.max(axis=0)[fits]).min() - rank)
    every = max(slack_at(two, rank) for rank in np.linspace(0.2, 0.6, 4000, endpoint=False))
    assert every <= needed_slack(two, 0.2, 0.6) <= every + 2e-4


def test_surrogate_bound_is_the_best_gamma() -> None:
    assert surrogate_bound(np.array([-3.0, 2.0])) == 0.0, "no score lies within half a unit of the threshold"
    assert surrogate_bound(np.array([0.1, 4.0, 5.0, -6.0])) == pytest.approx(0.25), "one row of four"
    excess = np.random.default_rng(1).normal(0, 0.6, 200)
    share = np.clip(np.abs(excess) + 0.5, 0, 1)
    direct = min(g + (share <= 1 - g).mean() for g in np.linspace(1e-6, 1 - 1e-6, 20001))
    assert surrogate_bound(excess) == pytest.approx(direct, abs=1e-3)
    assert abs(np.clip(excess + 0.5, 0, 1).mean() - (excess > 0).mean()) <= surrogate_bound(excess)


def test_deviation_bound_and_distance() -> None:
    assert deviation_bound(1000, 5, 10, 2, 0.05) == pytest.approx(0.5625 + 0.1216, abs=1e-3)
    assert distance(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0, 6.0])) == 0.5


def test_parts_of_a_model_whose_thresholds_suit_it() -> None:
    train, test = groups(2), groups(3)
    ranks = np.arange(0.2, 0.6, 0.1)
    aux = np.array([np.quantile(np.concatenate(train), 1 - p - 0.1) for p in ranks])
    found = parts(train, test, aux, ranks, INTERVAL, slack=0.2, vc=2)
    assert found.discretisation_bound == pytest.approx(0.1)
    assert 0 <= found.discretisation <= 0.1
    assert 0 < found.surrogate < found.surrogate_bound < 1
    assert 0 < found.sampling < found.sampling_bound
    assert found.total == pytest.approx(needed_slack(test, 0.2, 0.6) - 0.2)
    assert found.total_bound >= found.discretisation_bound + found.sampling_bound


def test_a_violated_constraint_is_excess() -> None:
    train = groups(4, shift=2.0)
    ranks = np.array([0.2, 0.4])
    found = parts(train, train, np.array([1.0, 0.5]), ranks, INTERVAL, slack=0.05, vc=2)
    smoothed = [np.clip(scores - 1.0 + 0.5, 0, 1).mean() for scores in train]
    assert found.excess >= max(smoothed) - 0.25 - 1e-12 > 0 and found.sampling == 0
