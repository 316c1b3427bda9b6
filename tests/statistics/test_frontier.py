"""Accuracy at equal fairness, and hypervolume against brute force, with properties that they must have."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.statistics.frontier import accuracy_at, common_range, compare, covered, fairness_at, gain
from reproduction.statistics.hypervolume import hypervolume, pareto

coordinate = st.integers(0, 12)
clouds = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=8)


def arrays(points):
    return tuple(np.array(column, float) for column in zip(*points, strict=True))


def dominated_cells(points, reference):
    """Unit cells of the integer plane between the reference point and some point."""
    return {
        (x, y) for fair, right in points for x in range(reference[0], fair) for y in range(reference[1], right)
    }  # fmt: skip


class TestPareto:
    @given(clouds)
    def test_brute_force(self, points):
        best = {
            p for p in points if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)
        }  # fmt: skip
        fair, right = pareto(*arrays(points))
        assert set(zip(fair, right, strict=True)) == best
        assert (np.diff(fair) > 0).all() and (np.diff(right) < 0).all()

    def test_missing_points_are_left_out(self):
        fair, right = pareto(np.array([0.5, np.nan, 0.7]), np.array([0.9, 0.9, np.nan]))
        assert (list(fair), list(right)) == ([0.5], [0.9])


class TestAccuracyAt:
    def test_by_hand(self):
        points = np.array([0.5, 0.7, 0.6, 0.9]), np.array([0.85, 0.84, 0.80, 0.82])  # the third is beaten, and counts
        found = accuracy_at(points, np.array([0.4, 0.5, 0.55, 0.6, 0.8, 0.9, 0.91]))
        assert found == pytest.approx([math.nan, 0.85, 0.825, 0.8, 0.83, 0.82, math.nan], nan_ok=True)

    def test_models_that_are_equally_fair_count_with_their_mean(self):
        found = accuracy_at((np.array([0.6, 0.5, 0.6]), np.array([0.9, 0.7, 0.8])), np.array([0.55, 0.6]))
        assert found == pytest.approx([0.775, 0.85])

    @given(clouds, st.floats(0, 12), st.randoms())
    def test_it_lies_between_the_neighbours_in_whatever_order(self, points, level, random):
        found = accuracy_at(arrays(points), np.array([level]))[0]
        random.shuffle(points)
        assert accuracy_at(arrays(points), np.array([level])) == pytest.approx([found], nan_ok=True)
        below, above = ({p for p in points if p[0] <= level}, {p for p in points if p[0] >= level})
        if not below or not above:
            assert math.isnan(found)
            return
        nearest = {max(below)[0], min(above)[0]}
        beside = [accuracy for fairness, accuracy in points if fairness in nearest]
        assert min(beside) - 1e-9 <= found <= max(beside) + 1e-9

    def test_no_points(self):
        assert np.isnan(accuracy_at((np.empty(0), np.empty(0)), np.array([0.5]))).all()


class TestFairnessAt:
    """The same with the axes exchanged, and no claim on accuracies that no model is as low as."""

    def test_by_hand(self):
        points = np.array([0.9, 0.7, 0.5, 0.4]), np.array([0.80, 0.804, 0.808, 0.84])
        found = fairness_at(points, np.array([0.79, 0.80, 0.801, 0.808, 0.82, 0.84, 0.9]))
        assert found == pytest.approx([math.nan, 0.9, 0.85, 0.5, math.nan, 0.4, 0.4], nan_ok=True)

    def test_of_equally_accurate_models_the_mean_counts_also_above_them(self):
        found = fairness_at((np.array([0.9, 0.7]), np.array([0.8, 0.8])), np.array([0.8, 0.85]))
        assert found == pytest.approx([0.8, 0.8])

    def test_no_points(self):
        assert np.isnan(fairness_at((np.empty(0), np.empty(0)), np.array([0.5]))).all()


class TestHypervolume:
    @given(clouds, st.tuples(coordinate, coordinate))
    def test_counts_dominated_cells(self, points, reference):
        assert hypervolume(*arrays(points), reference) == pytest.approx(len(dominated_cells(points, reference)))

    @given(clouds, st.tuples(coordinate, coordinate))
    def test_monotone(self, points, extra):
        assert hypervolume(*arrays([*points, extra]), (0, 0)) >= hypervolume(*arrays(points), (0, 0)) - 1e-12

    @given(clouds)
    def test_grows_as_the_reference_point_recedes(self, points):
        assert hypervolume(*arrays(points), (2, 3)) <= hypervolume(*arrays(points), (1, 3)) + 1e-12

    def test_exact_value(self):
        expected = Fraction(1, 10) * Fraction(3, 10) + Fraction(2, 10) * Fraction(1, 10)
        found = hypervolume(np.array([0.6, 0.8]), np.array([0.8, 0.6]), (0.5, 0.5))
        assert found == pytest.approx(float(expected))

    def test_nothing_better_than_the_reference(self):
        assert hypervolume(np.array([0.4, np.nan]), np.array([0.9, 0.9]), (0.5, 0.5)) == 0


def seeds(shift, noise=1e-4, count=5, reach=0.95, start=0.0):
    """Straight lines from (.6, .85 + start) down to (reach, .80 + shift)."""
    rng = np.random.default_rng(7)
    fairness = np.linspace(0.6, reach, 8)
    base = np.interp(fairness, [0.6, 0.95], [0.85, 0.8])
    return {s: (fairness, base + np.array([start, *[shift] * 7]) + noise * rng.normal(size=8)) for s in range(count)}


def p_everywhere(found):
    """P-value of "the first is not ahead at every level": an intersection-union test."""
    return max(difference.p_greater for difference in found.differences)


class TestCompare:
    def test_ahead_everywhere(self):
        found = compare(seeds(0.01, start=0.01), seeds(0.0, 0))
        assert found.reason == "" and len(found.levels) == 10 and found.levels[-1] == pytest.approx(0.95)
        assert list(found.where("ahead")) == list(found.levels) and p_everywhere(found) < 0.025
        assert found.average.mean == pytest.approx(0.01, abs=2e-3)

    def test_antisymmetric(self):
        one, other = compare(seeds(0.01), seeds(0.0, 0)), compare(seeds(0.0, 0), seeds(0.01))
        for here, there in zip((*one.differences, one.average), (*other.differences, other.average), strict=True):
            assert here.mean == pytest.approx(-there.mean)
            assert here.p_greater == pytest.approx(there.p_less)
        assert list(one.where("ahead")) == list(other.where("behind"))

    def test_ahead_on_a_part_is_not_everywhere(self):
        crossing = seeds(0.0)
        for _, right in crossing.values():
            right[1:] += np.array([0.01] * 4 + [-0.01] * 3)
        found = compare(crossing, seeds(0.0, 0))
        assert len(found.where("ahead")) and len(found.where("behind")) and p_everywhere(found) > 0.9

    def test_only_seeds_that_both_have(self):
        found = compare(seeds(0.01), seeds(0.0, count=3))
        assert {difference.n for difference in found.differences} == {3}


class TestRange:
    def test_the_range_is_that_of_four_of_five_seeds(self):
        """Each side has models from its least to its most fair; of five seeds the worst is left out."""
        ends = ((0.5, 0.9), (0.6, 0.8), (0.7, 0.95), (0.55, 0.85), (0.75, 0.78))
        one, two = [(np.array(pair), np.zeros(2)) for pair in ends], (np.array([0.52, 0.92]), np.zeros(2))
        assert common_range([(own, two) for own in one]) == (0.7, 0.8)
        assert common_range([(one[0], two)]) == (0.52, 0.9)

    def test_nothing_is_gained_outside_the_trained_range(self):
        one = np.array([0.6, 0.7, 0.8]), np.array([0.9, 0.85, 0.8])
        two = np.array([0.7, 0.8, 0.9]), np.array([0.8, 0.7, 0.6])
        found = gain(one, two, np.array([0.6, 0.7, 0.75, 0.8, 0.85]))
        assert found == pytest.approx([math.nan, 0.05, 0.075, 0.1, math.nan], nan_ok=True)


class TestFarModels:
    """Nothing is said of a level between two models that lie more than .1 apart."""

    def test_a_level_counts_at_a_model_or_between_two_that_are_near(self):
        one = np.array([0.6, 0.7, 0.85, 0.95]), np.array([0.9, 0.85, 0.8, 0.75])
        two = np.array([0.55, 0.62, 0.7, 0.78, 0.86, 0.95]), np.zeros(6)
        levels = np.array([0.6, 0.65, 0.7, 0.71, 0.84, 0.85, 0.9, 0.95])
        known = ~np.isnan(gain(one, two, levels))
        assert known.tolist() == [True, True, True, False, False, True, True, True]
        assert (~np.isnan(gain(two, one, levels))).tolist() == known.tolist()

    def test_a_model_that_another_one_beats_counts_like_any_other(self):
        """Without it, a line would join models that lie further apart than any two that are compared."""
        two = np.array([0.7, 0.8, 0.9]), np.zeros(3)
        far = np.array([0.7, 0.9]), np.array([0.85, 0.8])
        near = np.array([0.7, 0.8, 0.9]), np.array([0.85, 0.1, 0.8])
        assert np.isnan(gain(far, two, np.array([0.75])))[0]
        assert gain(near, two, np.array([0.75, 0.8])) == pytest.approx([0.475, 0.1])

    def test_a_level_counts_at_four_of_five_seeds(self):
        levels, far = np.array([0.7, 0.75, 0.8]), (np.array([0.7, 0.9]), np.array([0.9, 0.8]))
        near = np.array([0.7, 0.8, 0.9]), np.array([0.9, 0.85, 0.8])
        found, gains = covered(levels, [(far, near), *[(near, near)] * 4])
        assert found.tolist() == levels.tolist() and gains.shape == (5, 3)
        assert np.isnan(gains).tolist()[0] == [False, True, True]
        found, gains = covered(levels, [*[(far, near)] * 2, *[(near, near)] * 3])
        assert found.tolist() == [0.7] and gains.shape == (5, 1)

    def test_a_range_without_near_models_is_said(self):
        one = {s: (np.array([0.6, 0.9]), np.array([0.9, 0.8])) for s in range(5)}
        two = {s: (np.array([0.65, 0.85]), np.array([0.9, 0.8])) for s in range(5)}
        found = compare(one, two)
        assert found.average is None
        assert found.reason == "between fairness 0.65 and 0.85 no models of both lie within 0.1"


class TestCompareTrained:
    """The range in which both were trained, at four of five seeds."""

    @staticmethod
    def trained(low, high, right=0.8, count=5):
        return {s: (np.linspace(low, high, 7), np.linspace(right + 0.02, right, 7)) for s in range(count)}

    def test_the_range_is_that_in_which_both_have_models(self):
        found = compare(self.trained(0.7, 0.9, 0.81), self.trained(0.6, 0.85))
        assert (found.levels[0], found.levels[-1], len(found.levels)) == (0.7, 0.85, 10)
        assert found.differences[0].mean == pytest.approx(0.83 - 0.812)

    def test_one_seed_of_five_may_lack_a_level_and_does_not_count_there(self):
        second = self.trained(0.6, 0.95) | {2: self.trained(0.8, 0.95)[2]}
        found = compare(self.trained(0.7, 0.9), second)
        assert found.levels[0] == pytest.approx(0.7)
        assert [found.differences[k].n for k in (0, -1)] == [4, 5] and found.average.n == 5
        second |= {3: second[2]}
        assert compare(self.trained(0.7, 0.9), second).levels[0] == pytest.approx(0.8)

    def test_no_common_range_is_said_with_both_ranges(self):
        found = compare(self.trained(0.7, 0.97), self.trained(0.46, 0.59))
        assert found.average is None and not len(found.levels)
        assert found.reason == "no level of fairness reached by both (0.70 to 0.97 and 0.46 to 0.59)"

    def test_one_seed_is_not_compared(self):
        assert "needs 2" in compare(self.trained(0.7, 0.9, count=1), self.trained(0.7, 0.9)).reason
