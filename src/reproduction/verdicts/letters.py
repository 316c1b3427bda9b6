"""The word of one comparison under all readings of its claim, and the letters from which it follows.

A reading is ``H`` (holds) or ``F`` (fails) where it is decided with correction for the family, ``h`` or ``f`` where it
is decided without, ``-`` where it is open, and ``x`` where there is nothing to compare. Readings change what is asked:
they can turn a yes into a no. How sure one must be is another matter, and only switches a decision off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean

HOLDS, FAILS, ALIKE, DEPENDS, CANNOT_TELL, NOT_COMPARED = (
    "holds", "fails", "alike", "depends", "cannot tell", "not compared",
)  # fmt: skip
ROBUST = (HOLDS, ALIKE, DEPENDS, CANNOT_TELL, FAILS, NOT_COMPARED)
"""Words of a comparison, those for the claim first."""
SEEDS = "single seeds"
_SUPPORT = 2 / 3
"""Share of the readings that have to support a decision of the main one."""
_OPEN = 1 / 3
"""Share of decided readings from which on an open main reading says that it depends, not that nothing can be told."""
_FLIPS = 1 / 3
"""Share of the runs without one seed that change the word, from which on it depends on single seeds."""
_CODES = {"H": 1.0, "h": 0.5, "-": 0.0, "f": -0.5, "F": -1.0}
SAID = {"H": "holds", "h": "leans ahead", "-": "open", "f": "leans behind", "F": "fails", "x": "no common level"}


def letter(raw: tuple[float, float], corrected: tuple[float, float], alpha: float) -> str:
    """Return the letter of a reading.

    Args:
        raw: p-values for the claim and against it, without correction; NaN where nothing was compared.
        corrected: the same p-values, corrected for the family.
        alpha: error at which a reading is decided.
    """
    if raw[0] != raw[0]:
        return "x"
    for pair, letters in ((corrected, "HF"), (raw, "hf")):
        for p, code in zip(pair, letters, strict=True):
            if p <= alpha:
                return code
    return "-"


@dataclass(frozen=True)
class Word:
    """The word of a comparison under all readings of its claim.

    Attributes:
        word: one of ``ROBUST``.
        depends_on: choices that it depends on, of ``depends``; what it awaits, of ``cannot tell``.
        leans: ``ahead`` or ``behind`` where it cannot be told and the main reading would be decided without correction.
    """

    word: str
    depends_on: tuple[str, ...] = ()
    leans: str = ""

    @property
    def text(self) -> str:
        """Return the word with the choices that it depends on, or with its lean, as a sentence has it."""
        if self.word == DEPENDS:
            return f"depends on {' and '.join(self.depends_on)}"
        return f"{self.word}, leans {self.leans}" if self.leans else self.word


def word(letters: Sequence[str], choices: Mapping[str, int], alike: bool = False, beyond: bool = False) -> Word:
    """Return the word that the letters of all readings give.

    Args:
        letters: of the product of the choices, in their order; the main reading first.
        choices: number of options by choice.
        alike: whether the main reading lies within the margin that matters.
        beyond: whether some reading decides a difference beyond that margin.
    """
    main, comparable = letters[0], [code for code in letters if code != "x"]
    if main == "x":
        return Word(NOT_COMPARED)
    if alike and not beyond:
        return Word(ALIKE)
    if main in "HF":
        opposite = {"H": "F", "F": "H"}[main]
        support = sum(code.upper() == main for code in comparable) / len(comparable)
        if opposite not in comparable and support >= _SUPPORT - 1e-9:
            return Word(HOLDS if main == "H" else FAILS)
        return Word(DEPENDS, _moving_choices(letters, choices))
    if sum(code in "HF" for code in comparable) / len(comparable) >= _OPEN - 1e-9:
        return Word(DEPENDS, _moving_choices(letters, choices))
    return Word(CANNOT_TELL, leans={"h": "ahead", "f": "behind"}.get(main, ""))


def _moving_choices(letters: Sequence[str], choices: Mapping[str, int]) -> tuple[str, ...]:
    """Return the choices that move the letters most: those with at least two thirds of the largest effect.

    The effect of a choice is the largest difference between its options of the mean code over the other choices.
    """
    readings = list(product(*(range(count) for count in choices.values())))
    effects = {}
    for axis, (choice, count) in enumerate(choices.items()):
        means = [
            fmean(codes)
            for option in range(count)
            if (
                codes := [
                    _CODES[x]
                    for x, reading in zip(letters, readings, strict=True)
                    if reading[axis] == option and x != "x"
                ]
            )
        ]
        effects[choice] = max(means) - min(means) if means else 0.0
    largest = max(effects.values(), default=0.0)
    return tuple(choice for choice, effect in effects.items() if effect and effect >= 2 / 3 * largest - 1e-9)


def with_seeds(on_all_seeds: Word, without_seed: Sequence[Word]) -> tuple[Word, int]:
    """Return the word in the light of the words without one seed each, and how many of those differ from it."""
    flips = sum(alternative.word != on_all_seeds.word for alternative in without_seed)
    if without_seed and flips / len(without_seed) >= _FLIPS - 1e-9:
        return Word(DEPENDS, (*on_all_seeds.depends_on, SEEDS)), flips
    return on_all_seeds, flips


def together(letters: Sequence[Sequence[str]], choices: Mapping[str, int], words: Sequence[str]) -> Word:
    """Return the word of "better than all of them" in one cell of the grid.

    That is an intersection of claims, which asks for no correction for their number (Berger 1982).

    Args:
        letters: of every comparison, by reading.
        choices: as of :func:`word`.
        words: of every comparison by itself; one that holds although nothing is comparable is dominated.
    """
    is_empty = [set(spelt) == {"x"} for spelt in letters]
    joint = []
    for reading in range(max((len(spelt) for spelt in letters), default=0)):
        spelt = [
            "H" if spelling[reading] == "x" and sole_word == HOLDS else spelling[reading]
            for spelling, sole_word in zip(letters, words, strict=True)
        ]
        lacking = [x == "x" and not out for x, out in zip(spelt, is_empty, strict=True)]
        if "F" in spelt:
            joint.append("F")
        elif any(lacking) or {*spelt} == {"x"}:
            joint.append("x")
        else:
            joint.append("H" if all(code in "Hh" for code in spelt) else "-")
    if not joint or {*words} <= {NOT_COMPARED}:
        return Word(NOT_COMPARED)
    if {*words} <= {HOLDS}:
        return Word(HOLDS)
    if {*words} <= {HOLDS, ALIKE}:
        return Word(ALIKE)
    return word(joint, choices)


def by_option(letters: Sequence[str], names: Mapping[str, Sequence[str]]) -> str:
    """Return what each option gives, the other choices at the main one: ``cut: .06 or more fails; .1 or more open``."""
    readings = list(product(*(range(len(options)) for options in names.values())))
    lines = []
    for axis, (choice, options) in enumerate(names.items()):
        at_main = [
            x
            for x, reading in zip(letters, readings, strict=True)
            if not any(reading[:axis]) and not any(reading[axis + 1 :])
        ]
        lines.append(f"{choice}: " + "; ".join(f"{name} {SAID[x]}" for name, x in zip(options, at_main, strict=True)))
    return " | ".join(lines)


def grouped_letters(letters: Sequence[str], last: int) -> str:
    """Return the letters in groups of the ``last`` choice's number of options, as the file has them."""
    text = "".join(letters)
    return " ".join(text[start : start + last] for start in range(0, len(text), last))
