"""Metrics of regression against SciPy, against the classification metrics, and against sampling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from partialfair.data.predictions import Predictions
from partialfair.errors import DataError, NotEstimableError
from partialfair.metrics import get, partial

FULL = ((0.0, 1.0),)


def sample(seed: int, n: int = 60, k: int = 3, atoms: int = 7) -> tuple[Predictions, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    group = np.concatenate([np.arange(k), random.integers(0, k, n - k)])
    P = random.dirichlet(np.ones(atoms), n)
    return Predictions.randomised(np.sort(random.random(atoms)), P), random.random(n), group


def one_hot(values: np.ndarray, atoms: np.ndarray) -> Predictions:
    return Predictions.randomised(atoms, np.eye(len(atoms))[np.searchsorted(atoms, values)])


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_numbers_and_degenerate_distributions_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    atoms = np.sort(random.random(6))
    values, y = random.choice(atoms, 40), random.random(40)
    group = np.arange(40) % 2
    for name in ("risk", "mean_absolute_error", "ks_unfairness", "ks_pairs", "ks_group_1", "ks_noise_floor"):
        metric = get(name)
        degenerate = metric(one_hot(values, atoms), y, group, FULL)
        assert metric(values, y, group, FULL) == pytest.approx(degenerate, abs=1e-12), name
        assert metric(Predictions(values), y, group, FULL) == metric(values, y, group, FULL)
    # 20 rows per group: the ends of the interval fall on rows, so ranks and mass agree.
    interval = ((0.1, 0.45),)
    found = get("ks_partial")(one_hot(values, atoms), y, group, interval)
    assert found == pytest.approx(partial.sp(values, y, group, interval), abs=1e-12)


def test_distances_are_those_of_scipy() -> None:
    random = np.random.default_rng(1)
    values, group = random.normal(size=90).round(1), np.arange(90) % 3
    y = random.random(90)
    for code in range(3):
        expected = ks_2samp(values[group == code], values).statistic
        assert get(f"ks_group_{code}")(values, y, group, FULL) == pytest.approx(expected, abs=1e-12)
    pairs = [ks_2samp(values[group == a], values[group == b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]
    assert get("ks_pairs")(values, y, group, FULL) == pytest.approx(max(pairs), abs=1e-12)
    assert get("ks_partial")(values, y, group, FULL) == pytest.approx(max(pairs), abs=1e-12)
    with pytest.raises(NotEstimableError, match="none has the code 3"):
        get("ks_group_3")(values, y, group, FULL)


def test_expectations_are_what_sampling_tends_to() -> None:
    found, y, group = sample(2, n=30)
    draws = np.array([found.sample(np.random.default_rng(seed)) for seed in range(4000)])
    assert get("risk")(found, y, group, FULL) == pytest.approx(np.mean((draws - y) ** 2), rel=0.02)
    assert get("mean_absolute_error")(found, y, group, FULL) == pytest.approx(np.abs(draws - y).mean(), rel=0.02)
    assert found.values == pytest.approx(draws.mean(axis=0), abs=0.03)
    assert set(np.unique(found.mode())) <= set(found.atoms)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_two_groups_are_tied_by_their_sizes(seed: int) -> None:
    found, y, group = sample(seed, k=2)
    zero, one = (get(f"ks_group_{code}")(found, y, group, FULL) for code in (0, 1))
    sizes = np.bincount(group)
    assert one * sizes[1] == pytest.approx(zero * sizes[0], abs=1e-12)
    assert get("ks_unfairness")(found, y, group, FULL) == max(zero, one)
    assert get("ks_pairs")(found, y, group, FULL) == pytest.approx(zero + one, abs=1e-12)


def test_equal_groups_have_no_distance_and_an_empty_group_is_refused() -> None:
    found, y, _ = sample(3)
    twice = Predictions.randomised(found.atoms, np.vstack([found.probabilities] * 2))
    group = np.repeat([0, 1], len(y))
    assert get("ks_unfairness")(twice, np.tile(y, 2), group, FULL) == pytest.approx(0, abs=1e-12)
    assert get("ks_partial")(twice, np.tile(y, 2), group, ((0.2, 0.6),)) == pytest.approx(0, abs=1e-12)
    with pytest.raises(NotEstimableError, match="group 1: it has no rows"):
        get("ks_unfairness")(found, y, np.where(np.arange(len(y)) % 2, 0, 2), FULL)


def test_binning_drops_what_lies_outside() -> None:
    values, group = np.array([0.1, 0.6, 0.9, 0.2, 0.3, 1.7]), np.array([0, 0, 0, 1, 1, 1])
    binned = Predictions(values, atoms=np.array([0.0, 0.5, 1.0]))
    y = np.zeros(6)
    # Group 1: two of two kept numbers in the first cell; all rows: 3 and 2 of 6.
    assert get("ks_binned_1")(binned, y, group, FULL) == pytest.approx(0.5)
    assert get("ks_binned_0")(binned, y, group, FULL) == pytest.approx(1 - 5 / 6)
    with pytest.raises(NotEstimableError, match="can be binned"):
        get("ks_binned_0")(Predictions(values), y, group, FULL)


def test_noise_floor_shrinks_with_the_sample() -> None:
    random = np.random.default_rng(5)
    floors = []
    for n in (100, 400, 1600):
        values, group = random.normal(size=n), np.arange(n) % 2
        floors.append(get("ks_noise_floor")(values, values, group, FULL))
    assert floors[0] / floors[1] == pytest.approx(2, rel=0.15) and floors[1] / floors[2] == pytest.approx(2, rel=0.15)


def test_lengths_and_shapes_are_checked() -> None:
    with pytest.raises(DataError, match="need one atom per column"):
        Predictions(np.zeros(3), np.arange(4.0), np.zeros((3, 5)))
    with pytest.raises(DataError, match="pass equal lengths"):
        get("risk")(np.zeros(3), np.zeros(4), np.zeros(4, int), FULL)


def test_the_noise_floor_is_that_of_the_group_with_most_noise():
    random = np.random.default_rng(5)
    values, group = random.normal(size=400), (np.arange(400) < 20).astype(int)
    one, other = (get("ks_noise_floor")(values, values, g, FULL) for g in (group, 1 - group))
    assert one == pytest.approx(other, rel=0.05)


def test_distributions_are_read_on_the_interval_of_their_group():
    random = np.random.default_rng(0)
    atoms = np.sort(random.random(6))
    values = random.choice(atoms, 40)
    group = np.arange(40) % 2
    found = Predictions.randomised(atoms, np.eye(6)[np.searchsorted(atoms, values)])
    interval = [[(0.1, 0.45)], [(0.0, 0.2)]]
    y = np.zeros(40)
    assert get("ks_partial")(found, y, group, interval) == pytest.approx(
        partial.sp(values, y, group, interval), abs=1e-12
    )
