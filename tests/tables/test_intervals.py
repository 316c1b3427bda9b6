"""Parsing, text form, length and kept positions of score intervals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair.data import intervals
from partialfair.data.intervals import Interval
from partialfair.errors import ConfigError


def positions(pairs, n_rows):
    """The kept 0-based positions in the descending ranking of a group."""
    return np.concatenate([np.arange(low, high) for low, high in intervals.bounds(pairs, n_rows)])


@pytest.mark.parametrize(
    ("value", "text", "length"),
    [
        ([[0.05, 0.3]], "0.05-0.3", 0.25),
        ([0.05, 0.3], "0.05-0.3", 0.25),
        ([[0.4, 0.5], [0.0, 0.1]], "0-0.1+0.4-0.5", 0.2),
        ([[[0.0, 0.2]], [[0.1, 0.2], [0.5, 0.6]]], "0-0.2|0.1-0.2+0.5-0.6", 0.2),
        ("0.0-1.0", "0-1", 1.0),
        ("0.7 - 1", "0.7-1", 0.3),
    ],
)
def test_forms(value, text, length):
    read = Interval.of(value)
    assert str(read) == text
    assert Interval.of(text) == read == Interval.of(read) == Interval.of(read.lists())
    assert intervals.measure(read.first) == pytest.approx(length)


ends = st.lists(st.integers(0, 1000), min_size=2, max_size=6, unique=True).filter(lambda e: len(e) % 2 == 0)


@given(ends)
def test_text_reads_back(numbers):
    numbers = sorted(numbers)
    pairs = tuple((numbers[i] / 1000, numbers[i + 1] / 1000) for i in range(0, len(numbers), 2))
    assert Interval.of(intervals.format_interval(pairs)) == Interval((pairs,))


@given(ends, st.integers(1, 3000))
def test_positions_in_exact_arithmetic(numbers, n):
    numbers = sorted(numbers)
    exact = [(Fraction(numbers[i], 1000), Fraction(numbers[i + 1], 1000)) for i in range(0, len(numbers), 2)]
    expected = [
        position - 1 for alpha, beta in exact for position in range(math.ceil(alpha * n) + 1, math.ceil(beta * n) + 1)
    ]
    found = positions(tuple((float(a), float(b)) for a, b in exact), n)
    assert found.tolist() == expected


def test_rank_lies_in_the_interval_exactly_for_the_kept_positions():
    kept = set(positions(((0.07, 0.29),), 100).tolist())
    assert kept == {
        position for position in range(100) if Fraction(7, 100) <= Fraction(position, 100) < Fraction(29, 100)
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0.3, 0.05]], r"\[0.3, 0.05\] must satisfy 0 <= alpha < beta <= 1"),
        ([[0.1, 1.2]], r"\[0.1, 1.2\] must satisfy"),
        ([[0.2, 0.2]], r"\[0.2, 0.2\] must satisfy"),
        ([[0.1, float("nan")]], "must satisfy"),
        ([[0.1, 0.3], [0.2, 0.4]], "overlap .*merge them"),
        ([], "give at least one pair"),
        ("nonsense", "not a pair of numbers; write"),
        ([[0.1, 0.2, 0.3]], "not a pair of numbers"),
        (0.3, "not a list of pairs"),
        ([[0.1, 0.2], [[0.1, 0.2]]], "mixes pairs"),
    ],
)
def test_refusals(value, message):
    with pytest.raises(ConfigError, match=message):
        Interval.of(value)


def test_number_of_groups_is_checked():
    with pytest.raises(ConfigError, match="2 groups, the data have 3"):
        intervals.for_groups("0-0.1|0-0.2", 3)
    with pytest.raises(ConfigError, match="3 groups, the data have 2"):
        intervals.for_groups("0-0.1|0-0.2|0-0.3", 2)
    assert intervals.for_groups("0-0.1", 3) == (((0.0, 0.1),),) * 3


def test_what_is_for_each_group_names_its_groups():
    assert Interval.of("0-0.1").n_groups is None and Interval.of("0-0.1|0-0.2").n_groups == 2
    assert Interval.of("0-0.1").each(3).n_groups == 3
    assert Interval.of("0-0.1|0-0.2").whole == Interval.of("0-1|0-1")


def test_kept_ranges_are_integers():
    assert intervals.bounds(((0.2, 0.4),), 7).dtype == np.int64


def test_the_part_of_a_union_above_a_rank():
    union = ((0.1, 0.2), (0.5, 0.8))
    found = intervals.part_above(np.array([0.0, 0.1, 0.15, 0.2, 0.4, 0.65, 0.8, 1.0]), union)
    np.testing.assert_allclose(found, [0, 0, 0.125, 0.25, 0.25, 0.625, 1, 1])


@pytest.mark.parametrize(
    ("shares", "nothing"),
    [
        ((0.05, 0.08), True),  # both above the interval
        ((0.4, 0.9), True),  # both below
        ((0.05, 0.4), False),  # the interval lies between them
        ((0.05, 0.2), False),  # one is inside
        ((0.2, 0.2), False),
        ((0.1, 0.1), True),  # at its end no decision inside differs
        ((0.05, 0.06, 0.2), False),
    ],
)
def test_decisions_outside_an_interval_say_nothing(shares, nothing):
    unions = intervals.for_groups([(0.1, 0.3)], len(shares))
    assert intervals.decides_nothing(shares, unions) is nothing


def test_one_group_inside_its_union_is_enough_to_say_something():
    """Half of either union lies above the threshold: of one group within a part, of the other between two."""
    unions = (((0.1, 0.3),), ((0.0, 0.1), (0.2, 0.3)))
    assert [float(intervals.part_above(share, union)) for share, union in zip((0.2, 0.15), unions, strict=True)] == (
        pytest.approx([0.5, 0.5])
    )
    assert not intervals.decides_nothing((0.2, 0.15), unions)
    assert intervals.decides_nothing((0.15, 0.15), (unions[1], unions[1]))
