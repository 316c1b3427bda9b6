"""Partial metrics against hand-made answers, loops over the definition, and properties."""

import metric_oracles as oracles
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics import evaluate_all, get
from partialfair.metrics.ranks import compared_ranks, count_above, rank_distance

INTERVALS = [((0.0, 1.0),), ((0.05, 0.3),), ((0.0, 0.25),), ((0.7, 1.0),), ((0.0, 0.1), (0.4, 0.55))]
RANKED = ("sp", "rank_gap", "gauc")
ALL = ("sp", "rank_gap", "dp", "dp_gap", "eop", "eod", "gauc")

interval_strategy = st.sampled_from([((0.0, 1.0),), ((0.1, 0.6),), ((0.0, 0.3), (0.5, 0.9))])


def value(name, scores, y, group, interval, threshold=0.0):
    return get(name)(np.asarray(scores, float), np.asarray(y), np.asarray(group), interval, threshold)


@pytest.mark.parametrize("interval", INTERVALS)
class TestKnownAnswers:
    """Section 7: scores 1..10 (here repeated so that every interval keeps 2 rows) in both groups."""

    def samples(self, shift):
        base = np.tile(np.arange(1.0, 11.0), 4)
        return np.concatenate([base, base + shift]), np.ones(80), np.repeat([0, 1], 40)

    def test_equal_groups_have_no_violation(self, interval):
        for name in RANKED:
            assert value(name, *self.samples(0), interval) == 0

    def test_separated_groups_have_the_largest_violation(self, interval):
        assert value("sp", *self.samples(100), interval) == 1
        assert value("gauc", *self.samples(100), interval) == 0.5

    def test_decision_that_splits_the_groups(self, interval):
        # Threshold 50: no row of group 0 and every row of group 1 is above it.
        scores, y, group = self.samples(100)
        length = sum(high - low for low, high in interval)
        assert value("dp", scores, y, group, interval, 50) == pytest.approx(1)
        assert value("dp_gap", scores, y, group, interval, 50) == pytest.approx(length)
        assert value("eop", scores, y, group, interval, 50) == pytest.approx(1)


def test_rank_gap_by_hand():
    # Ranks of theta = 9, 8, 4, 3, 2, 1, 0 in group 0 (scores 8 4 3 2): 0 0 1/4 2/4 3/4 1 1,
    # in group 1 (scores 9 2 1 0): 0 1/4 1/4 1/4 1/4 2/4 3/4; the differences: 0 1/4 0 1/4 2/4 2/4 1/4.
    scores, y, group = [8, 4, 3, 2, 9, 2, 1, 0], [1] * 8, [0] * 4 + [1] * 4
    assert value("rank_gap", scores, y, group, [(0, 0.5)]) == 0.5  # theta = 2: the rank in group 1 is inside
    assert value("rank_gap", scores, y, group, [(0.5, 1)]) == 0.5
    assert value("rank_gap", [8, 4, 3, 2, 9, 3.5, 1, 0], y, group, [(0, 0.5)]) == 0.25  # ranks of 2: 3/4, 2/4
    # Kept halves: {8, 4} against {9, 2}, of which 2 of 2 and 1 of 2 exceed 2; {3, 2} against {1, 0}.
    assert value("sp", scores, y, group, [(0, 0.5)]) == 0.5
    assert value("sp", scores, y, group, [(0.5, 1)]) == 1


@pytest.mark.parametrize("seed", range(20))
def test_whole_range_is_the_two_sample_ks_statistic(seed):
    scores, y, group = oracles.sample(seed, ties=seed % 2 == 0)
    expected = ks_2samp(scores[group == 0], scores[group == 1]).statistic
    for name in ("sp", "rank_gap"):
        assert value(name, scores, y, group, [(0, 1)]) == pytest.approx(expected, abs=1e-12)
        assert value(f"{name}_full", scores, y, group, [(0.2, 0.5)]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("seed", range(3))
def test_definitions_by_loops(groups, interval, seed):
    scores, y, group = oracles.sample(seed, n=150, groups=groups, ties=seed != 0)
    intervals = [interval] * groups
    assert value("sp", scores, y, group, interval) == pytest.approx(oracles.sp(scores, group, intervals))
    assert value("rank_gap", scores, y, group, interval) == pytest.approx(oracles.rank_gap(scores, group, intervals))
    assert value("gauc", scores, y, group, interval) == pytest.approx(oracles.gauc(scores, group, intervals))
    for threshold in (-0.3, 0.0, 0.7):
        expected = oracles.dp(scores, group, intervals, threshold)
        assert value("dp", scores, y, group, interval, threshold) == pytest.approx(expected)
        gap = oracles.dp(scores, group, intervals, threshold, normalise=False)
        assert value("dp_gap", scores, y, group, interval, threshold) == pytest.approx(gap)
        by_label = [oracles.dp(scores[y == c], group[y == c], intervals, threshold) for c in (1, -1)]
        assert value("eop", scores, y, group, interval, threshold) == pytest.approx(by_label[0])
        assert value("eod", scores, y, group, interval, threshold) == pytest.approx(max(by_label))


def test_intervals_per_group():
    scores, y, group = oracles.sample(5, n=120)
    interval = [[(0.0, 0.4)], [(0.1, 0.3), (0.6, 0.8)]]
    assert value("sp", scores, y, group, interval) == pytest.approx(oracles.sp(scores, group, interval))
    assert value("rank_gap", scores, y, group, interval) == pytest.approx(oracles.rank_gap(scores, group, interval))
    assert value("dp", scores, y, group, interval) == pytest.approx(oracles.dp(scores, group, interval, 0.0))
    with pytest.raises(ConfigError, match="2 groups, the data have 3|3 groups, the data have 2"):
        from partialfair.data.intervals import for_groups

        for_groups(interval, 3)


class TestProperties:
    @settings(max_examples=60)
    @given(st.integers(0, 10_000), interval_strategy)
    def test_range_and_symmetry(self, seed, interval):
        scores, y, group = oracles.sample(seed)
        values, reasons = evaluate_all(scores, y, group, interval)
        swapped, _ = evaluate_all(scores, y, 1 - group, interval)
        assert len(values) > 5
        for name, found in values.items():
            if found is None:
                assert "keeps" in reasons[name]
                continue
            assert 0 <= found <= 1, name
            assert swapped[name] == pytest.approx(found, abs=1e-12), name

    @settings(max_examples=40)
    @given(st.integers(0, 10_000), interval_strategy)
    def test_monotone_transforms_leave_rank_metrics(self, seed, interval):
        scores, y, group = oracles.sample(seed)
        for transform in (np.exp, lambda s: s**3, lambda s: 5 * s - 2):
            for name in (*RANKED, "auc"):
                before, after = (value(name, s, y, group, interval) for s in (scores, transform(scores)))
                assert after == pytest.approx(before, abs=1e-12), name

    @settings(max_examples=40)
    @given(st.integers(0, 10_000), interval_strategy, st.randoms(use_true_random=False))
    def test_order_of_rows_is_irrelevant(self, seed, interval, random):
        scores, y, group = oracles.sample(seed)
        order = list(range(len(scores)))
        random.shuffle(order)
        before, _ = evaluate_all(scores, y, group, interval)
        after, _ = evaluate_all(scores[order], y[order], group[order], interval)
        assert after == pytest.approx(before, abs=1e-12)

    @settings(max_examples=30)
    @given(st.integers(0, 10_000))
    def test_absolute_and_relative_scale_differ_by_the_length(self, seed):
        scores, y, group = oracles.sample(seed)
        interval = [(0.1, 0.35), (0.5, 0.7)]
        relative, absolute = (value(name, scores, y, group, interval) for name in ("dp", "dp_gap"))
        assert absolute == pytest.approx(0.45 * relative)


class TestTiesAcrossTheInterval:
    """Rows of one score that are more than the interval keeps: a threshold parts them at random."""

    def test_separated_groups_of_two_scores(self):
        scores, group = np.repeat([0.0, 1.0], 100), np.repeat([0, 1], 100)
        # Where 5% of the first group are above, all of the second are.
        assert value("rank_gap", scores, np.ones(200), group, [(0.05, 0.3)]) == pytest.approx(0.95)
        # At the score 1 it is the other way round: 30% of the second group, and none of the first.
        assert value("rank_gap", scores, np.ones(200), group, [[(0.0, 1.0)], [(0.05, 0.3)]]) == 1
        assert value("rank_gap", np.ones(200), np.ones(200), group, [(0.05, 0.3)]) == 0

    @given(st.integers(0, 10_000))
    @settings(max_examples=40, deadline=None)
    def test_it_is_what_random_parting_gives(self, seed):
        rng = np.random.default_rng(seed)
        group, n = rng.integers(0, 3, 6000), 6000
        levels = [rng.dirichlet(np.full(4, 0.6)) for _ in range(3)]
        scores = np.array([rng.choice(4, p=levels[code]) for code in group], float)
        low = rng.uniform(0, 0.8)
        interval = [(low, low + 0.03)]
        if any(
            low <= rank < low + 0.03
            for code in range(3)
            for rank in ((scores[group == code] > level).mean() for level in range(4))
        ):
            return  # a threshold lies inside: nothing is parted
        found = value("rank_gap", scores, np.ones(n), group, interval)
        parted = [value("rank_gap", scores + 0.9 * rng.random(n), np.ones(n), group, interval) for _ in range(5)]
        assert found == pytest.approx(np.mean(parted), abs=0.04)

    def test_blocks_of_samples_are_measured_one_by_one(self):
        rng = np.random.default_rng(0)
        samples = [count_above(rng.integers(0, 3, 90).astype(float), np.repeat([0, 1, 2], 30)) for _ in range(40)]
        samples = [counts for counts in samples if counts.above.shape[1] == 3]
        unions = (((0.1, 0.2), (0.5, 0.6)),) * 3
        block = rank_distance(np.stack([counts.above for counts in samples]), samples[0].sizes, unions)
        alone = [float(rank_distance(counts.above, counts.sizes, unions)) for counts in samples]
        assert len(samples) > 20 and np.array_equal(block, alone) and len(set(alone)) > 5
        for counts, gap in zip(samples, alone, strict=True):
            pairs = [
                compared_ranks(counts.above[[a, b]], counts.sizes[[a, b]], unions[:2])
                for a, b in ((0, 1), (0, 2), (1, 2))
            ]
            assert gap == pytest.approx(max(np.abs(one - two).max() for one, two in pairs))


class TestRefusals:
    def test_too_few_rows_names_group_and_interval(self):
        scores, y, group = np.arange(24.0), np.tile([-1.0, 1.0], 12), np.array([0] * 20 + [1] * 4)
        for name in ALL:
            with pytest.raises(NotEstimableError, match=r"group 1: interval 0\.05-0\.3 keeps [01] of its [24] rows"):
                value(name, scores, y, group, [(0.05, 0.3)])

    def test_fewer_than_two_groups(self):
        for name in ALL:
            with pytest.raises(NotEstimableError, match="at least two groups"):
                value(name, np.arange(9.0), [1, -1, 1] * 3, np.zeros(9, int), [(0, 1)])

    def test_group_without_rows(self):
        for name in ALL:
            with pytest.raises(NotEstimableError, match="group 1: it has no rows"):
                value(name, np.arange(9.0), [1, -1, 1] * 3, np.array([0, 0, 0, 0, 0, 2, 2, 2, 2]), [(0, 1)])

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            (np.nan, "scores has no value in row 3; drop such rows"),
            (np.inf, "scores: inf in row 3 is not a finite number .1 such rows.; write a finite number beyond"),
            (-np.inf, "scores: -inf in row 3 is not a finite number .1 such rows.; write a finite number beyond"),
        ],
    )
    def test_scores_that_are_not_finite(self, wrong, sentence):
        for name in (*ALL, "accuracy", "auc"):
            with pytest.raises(DataError, match=sentence):
                scores = np.where(np.arange(12) == 3, wrong, np.arange(12.0))
                value(name, scores, [1, -1] * 6, np.repeat([0, 1], 6), [(0, 1)])

    def test_labels_that_are_not_signs(self):
        for name in ("accuracy", "auc", "eop", "eod"):
            with pytest.raises(NotEstimableError, match="in row 0 is not -1 or"):
                value(name, np.arange(6.0), [0.0, 1, 0, 1, 1, 0], np.repeat([0, 1], 3), [(0, 1)])

    def test_one_not_estimable_metric_leaves_the_others(self):
        scores, y, group = np.arange(20.0), np.ones(20), np.tile([0, 1], 10)
        values, reasons = evaluate_all(scores, y, group, [(0, 1)])
        assert values["auc"] is None and values["eod"] is None and values["sp"] is not None
        assert "both classes" in reasons["auc"] and "label -1" in reasons["eod"]


def test_the_absolute_scale_multiplies_by_the_length_of_each_group():
    scores, y, group = oracles.sample(5, n=200)
    interval = [[(0.0, 0.5)], [(0.1, 0.3)]]
    assert get("gauc_gap")(scores, y, group, interval, 0.0) == pytest.approx(
        oracles.gauc(scores, group, interval) * 0.5 * 0.2
    )


def test_every_group_is_read_on_its_own_interval():
    scores, y, group = oracles.sample(5, n=200)
    interval = [[(0.0, 0.5)], [(0.1, 0.3)]]
    for name in ("sp", "gauc"):
        assert get(name)(scores, y, group, interval, 0.0) == pytest.approx(
            getattr(oracles, name)(scores, group, interval)
        )
    for threshold in (0.0, 0.5, 1.0):
        assert get("dp")(scores, y, group, interval, threshold) == pytest.approx(
            oracles.dp(scores, group, interval, threshold)
        )
        expected = [oracles.dp(scores[y == c], group[y == c], interval, threshold) for c in (1, -1)]
        assert get("eop")(scores, y, group, interval, threshold) == pytest.approx(expected[0])
        assert get("eod")(scores, y, group, interval, threshold) == pytest.approx(max(expected))
