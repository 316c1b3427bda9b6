"""Maps of ranks: strictly increasing, and within kappa on any scores; the metric is written down here again."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair.algorithms.linear.rank_map import _joined, _Quantiles, _Tubes, fit_rank_map, padded
from partialfair.data.intervals import Interval
from partialfair.errors import ConfigError
from partialfair.models.stored import load_model


def gap(scores: np.ndarray, group: np.ndarray, pairs: list[tuple[float, float]]) -> float:
    found = 0.0
    for a, b in combinations(np.unique(group), 2):
        first, second = (np.sort(scores[group == k]) for k in (a, b))
        theta = np.unique(scores)
        ranks = [1 - np.searchsorted(own, theta, side="right") / own.size for own in (first, second)]
        inside = np.zeros(theta.size, bool)
        for rank in ranks:
            for low, high in pairs:
                inside |= (rank > low - 1e-9) & (rank < high - 1e-9)
        found = max(found, float(np.max(np.abs(ranks[0] - ranks[1])[inside], initial=0.0)))
    return found


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Scores of 2 to 5 groups of 40 to 400 rows, of different places, widths and shapes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(40, 250), min_size=2, max_size=5))
    parts = []
    for size in sizes:
        shape = draw(st.sampled_from(["normal", "heavy", "two", "even"]))
        drawn = {
            "normal": random.normal(size=size),
            "heavy": random.standard_t(1.5, size=size),
            "two": random.normal(size=size) + 6 * (random.random(size) < 0.3),
            "even": random.random(size),
        }[shape]
        parts.append(draw(st.floats(-3, 3)) + draw(st.floats(0.01, 5)) * drawn)
    return np.concatenate(parts), np.repeat(np.arange(len(sizes)), sizes)


ENDS = st.sampled_from(
    [[(0.0, 0.3)], [(0.05, 0.3)], [(0.3, 0.6)], [(0.7, 1.0)], [(0.0, 1.0)], [(0.0, 0.2), (0.6, 0.8)]]
)


@settings(max_examples=40)
@given(table=tables(), pairs=ENDS, kappa=st.sampled_from([0.3, 0.1, 0.06]))
def test_maps_increase_strictly_and_meet_kappa(table: tuple, pairs: list[tuple[float, float]], kappa: float) -> None:
    scores, group = table
    names = tuple(map(str, np.unique(group)))
    found = fit_rank_map(scores, group, names, interval=Interval.of(pairs), kappa=kappa)
    measured = gap(found.scores, group, pairs)
    assert found.gap == pytest.approx(measured, abs=1e-12)
    assert measured <= kappa + 1e-12 or (found.least == found.gap and kappa < 2.5 / np.bincount(group).min())
    assert found.mapping.fault() == ""
    for k in range(len(names)):
        own = np.sort(scores[group == k])
        mapped = found.mapping.apply(own, np.full(own.size, k))
        assert (np.diff(mapped)[np.diff(own) > 1e-9 * np.ptp(own)] > 0).all()


def test_scores_that_agree_already_keep_their_places(tmp_path: Path) -> None:
    scores = np.tile(np.random.default_rng(0).normal(size=500), 2)
    group = np.repeat([0, 1], 500)
    found = fit_rank_map(scores, group, ("a", "b"), interval=Interval.of([(0, 1)]), kappa=0.1)
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    found.mapping.save(tmp_path / "map.npz")
    again = load_model(tmp_path / "map.npz")
    beyond = np.array([-100.0, 0.0, 100.0])
    np.testing.assert_allclose(again.apply(beyond, np.ones(3, int)), beyond, atol=1e-6)  # of slope 1 beyond the knots


def test_outside_the_interval_scores_are_left_alone_as_far_as_ranks_allow() -> None:
    random = np.random.default_rng(1)
    scores, group = np.concatenate([random.normal(size=4000), 1 + random.normal(size=4000)]), np.repeat([0, 1], 4000)
    found = fit_rank_map(scores, group, ("a", "b"), interval=Interval.of([(0, 0.1)]), kappa=0.02)
    low = scores < np.quantile(scores, 0.2)
    assert np.abs(found.scores - scores)[low].max() < 0.05 and np.abs(found.scores - scores)[~low].max() > 0.3


def test_more_distinct_scores_than_knots_with_a_tie_at_either_end() -> None:
    random = np.random.default_rng(2)
    scores = np.concatenate([np.clip(random.normal(size=6000), -2.5, 2.5), 0.5 + 2 * random.normal(size=5000)])
    group = np.repeat([0, 1], [6000, 5000])
    found = fit_rank_map(scores, group, ("a", "b"), interval=Interval.of([(0, 1)]), kappa=0.03)
    assert found.gap == pytest.approx(gap(found.scores, group, [(0, 1)]), abs=1e-12) and found.gap <= 0.03
    assert found.mapping.fault() == "" and found.mapping.knot_x.size < 2 * 2060


def test_one_interval_per_group_is_refused() -> None:
    with pytest.raises(ConfigError, match="one interval for all groups"):
        fit_rank_map(np.arange(20.0), np.arange(20) % 2, ("a", "b"),
                     interval=Interval.of([[(0, 0.5)], [(0.5, 1)]]), kappa=0.1)  # fmt: skip


def test_padding_merges_what_then_overlaps() -> None:
    np.testing.assert_allclose(padded(((0.1, 0.2), (0.25, 0.4)), 0.05), [(0.05, 0.45)])
    np.testing.assert_allclose(padded(((0.0, 0.2), (0.9, 1.0)), 0.05, 0.0), [(0.0, 0.2), (0.85, 1.0)])


def test_maps_move_the_small_group_most():
    random = np.random.default_rng(0)
    group = (np.arange(2000) < 200).astype(int)
    scores = random.normal(size=2000) + group
    found = fit_rank_map(scores, group, ("a", "b"), interval=Interval.of([(0.0, 1.0)]), kappa=0.01)
    moved = [np.abs(found.scores - scores)[group == k].mean() for k in (0, 1)]
    assert moved[0] == pytest.approx(0.1, abs=0.03) and moved[1] == pytest.approx(0.9, abs=0.1)


def test_quantiles_stand_at_the_middle_of_their_ranks():
    found = _Quantiles.from_scores(np.array([3.0, 3, 1, 1, 1, 1]))
    assert found.ranks == pytest.approx([1 / 6, 4 / 6]) and found.scores.tolist() == [3, 1]


KAPPAS = (0.05, 0.1, 0.2, 0.299, 0.3, 0.45, 0.6)
FRONTIER = [(seed, pairs) for seed in range(12) for pairs in ([(0.05, 0.3)], [(0.3, 0.6)], [(0.1, 0.15)])]


@pytest.mark.parametrize(("seed", "pairs"), FRONTIER)
def test_a_looser_kappa_moves_scores_less_and_is_used(seed: int, pairs: list[tuple[float, float]]) -> None:
    """A frontier in kappa: a half width of 0 after eight narrowings once left 2% of the maps far below kappa."""
    random = np.random.default_rng(seed)
    sizes = random.integers(60, 1500, random.integers(2, 6))
    scores = np.concatenate([random.normal(size=size) * random.uniform(0.4, 2) + random.normal() for size in sizes])
    scores = np.round(scores * 8) / 8 if seed % 3 == 0 else scores
    group = np.repeat(np.arange(sizes.size), sizes)
    names = tuple(map(str, range(sizes.size)))
    before = np.inf
    for kappa in KAPPAS:
        options = {"interval": Interval.of(pairs), "kappa": kappa, "kappa_scale": "relative"}
        found = fit_rank_map(scores, group, names, **options)  # type: ignore[arg-type]
        moved = float(np.abs(found.scores - scores).mean())
        if found.least is None and moved > 1e-9:
            assert found.gap >= kappa / 2
        if found.least is None:
            assert moved <= 1.02 * before
            before = min(before, moved)


@pytest.mark.parametrize("seed", range(12))
def test_tied_scores_take_the_widest_tube_within_kappa(seed: int) -> None:
    """Ties make the gap jump; a step of the half width passed tubes that use up to twice as much of kappa."""
    random = np.random.default_rng(seed)
    sizes = random.integers(60, 1500, random.integers(2, 6))
    parts = [random.normal(size=size) * random.uniform(0.4, 2) + random.normal() for size in sizes]
    scores, group = np.round(np.concatenate(parts) * 8) / 8, np.repeat(np.arange(sizes.size), sizes)
    interval, kappa, names = Interval.of([(0.05, 0.3)]), 0.12, tuple(map(str, range(sizes.size)))
    fitted = fit_rank_map(scores, group, names, interval=interval, kappa=kappa)
    quantiles = [_Quantiles.from_scores(scores[group == k]) for k in range(sizes.size)]
    tubes = _Tubes(quantiles, sizes / sizes.sum(), padded(interval.first, 1 / np.sqrt(sizes.min())))
    knots = [tubes.knots(half) for half in np.linspace(0, kappa / 2, 101)]
    gaps = [gap(_joined(maps, names).apply(scores, group), group, [(0.05, 0.3)]) for maps in knots]
    assert fitted.gap <= kappa and fitted.gap >= min(max(g for g in gaps if g <= kappa), 0.9 * kappa) - 1e-9
