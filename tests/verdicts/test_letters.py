"""Words from letters, on cases whose word is known."""

import math

import pytest

from reproduction.verdicts import letters
from reproduction.verdicts.letters import Word

CHOICES = {"cut": 5, "levels": 2}


def interleaved(mean: str, each: str = "") -> list[str]:
    """Letters of five cuts under the main aggregation, and under the other one, as the product has them."""
    return [letter for pair in zip(mean, each or mean, strict=True) for letter in pair]


@pytest.mark.parametrize(
    ("mean", "each", "word", "on"),
    [
        ("HHHHH", "HHHHH", "holds", ()),
        ("FFFFF", "FFFFF", "fails", ()),
        ("FFF-H", "FFFFh", "depends", ("cut",)),  # a9a, linear, group gap, post-processing: it changes sign
        ("hHhhh", "HHHHH", "depends", ("levels",)),  # open where each level is asked, decided on the mean
        ("-FH--", "HHHHH", "depends", ("cut", "levels")),
        ("H----", "-----", "depends", ("cut",)),  # nothing supports the main reading
        ("HHhhh", "hhhhh", "holds", ()),  # significant against not significant is no contradiction
        ("H---h", "hhhh-", "depends", ("cut",)),
        ("-----", "-----", "cannot tell", ()),
        ("-HHH-", "-----", "cannot tell", ()),  # three of ten are fewer than a third
        ("-HHHH", "-----", "depends", ("levels",)),
        ("xHHHH", "HHHHH", "not compared", ()),
        ("Hxxxx", "Hxxxx", "holds", ()),  # only what can be compared counts
        ("HHHHF", "HHHHH", "depends", ("cut",)),  # one reading that decides the opposite is enough
    ],
)
def test_the_word_is_that_of_the_rule(mean, each, word, on):
    found = letters.word(interleaved(mean, each), CHOICES)
    assert found.word == word
    if on:
        assert found.depends_on == on


@pytest.mark.parametrize(("main", "leans"), [("h", "ahead"), ("f", "behind"), ("-", "")])
def test_an_open_main_reading_says_to_which_side_it_leans(main, leans):
    found = letters.word([main], {})
    assert found == Word("cannot tell", leans=leans)
    assert found.text == (f"cannot tell, leans {leans}" if leans else "cannot tell")


def test_alike_is_said_of_what_lies_within_the_margin_under_every_reading():
    assert letters.word(["H", "F"], {"cut": 2}, alike=True).word == "alike"
    assert letters.word(["H", "F"], {"cut": 2}, alike=True, beyond=True).word == "depends"


@pytest.mark.parametrize(("flips", "word"), [(4, "holds"), (5, "depends"), (15, "depends")])
def test_a_third_of_the_runs_without_one_seed_is_enough_to_depend_on_seeds(flips, word):
    without = [Word("cannot tell")] * flips + [Word("holds")] * (15 - flips)
    found, counted = letters.with_seeds(Word("holds"), without)
    assert (found.word, counted) == (word, flips)
    assert (letters.SEEDS in found.depends_on) == (word == "depends")


def test_all_of_them_is_an_intersection_that_asks_for_no_correction():
    both = {"cut": 2}
    assert letters.together([["H", "H"], ["h", "h"]], both, ["holds", "cannot tell"]).word == "holds"
    assert letters.together([["H", "H"], ["-", "-"]], both, ["holds", "cannot tell"]).word == "cannot tell"
    assert letters.together([["F", "F"], ["x", "-"]], both, ["fails", "cannot tell"]).word == "fails"
    assert letters.together([["H", "H"], ["x", "x"]], both, ["holds", "holds"]).word == "holds"  # beaten throughout
    assert letters.together([["H", "H"], ["x", "x"]], both, ["holds", "not compared"]).word == "cannot tell"
    assert letters.together([["h", "h"], ["H", "H"]], both, ["alike", "holds"]).word == "alike"


@pytest.mark.parametrize(
    ("raw", "corrected", "letter"),
    [
        ((0.001, 0.999), (0.01, 1.0), "H"), ((0.001, 0.999), (0.03, 1.0), "h"), ((0.999, 0.001), (1.0, 0.01), "F"),
        ((0.999, 0.02), (1.0, 0.2), "f"), ((0.3, 0.7), (1.0, 1.0), "-"), ((math.nan, math.nan), (1.0, 1.0), "x"),
    ],
)  # fmt: skip
def test_a_letter_is_large_where_it_stands_correction(raw, corrected, letter):
    assert letters.letter(raw, corrected, 0.025) == letter


def test_each_option_is_read_with_the_other_choices_as_they_are_in_the_main_reading():
    names = {"cut": ["small", "large"], "levels": ["mean", "each"]}
    said = letters.by_option(["F", "-", "H", "x"], names)
    assert said == "cut: small fails; large holds | levels: mean fails; each open"
    assert letters.written(["F", "-", "H", "x"], 2) == "F- Hx"
