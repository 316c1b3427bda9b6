"""What one comparison says under all its readings: letters, and the word that follows from them.

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
SUPPORT = 2 / 3
"""Share of the readings that have to support a decision of the main one."""
OPEN = 1 / 3
"""Share of decided readings from which on an open main reading says that it depends, not that nothing can be told."""
FLIPS = 1 / 3
"""Share of the runs without one seed that change the word, from which on it depends on single seeds."""
CODES = {"H": 1.0, "h": 0.5, "-": 0.0, "f": -0.5, "F": -1.0}
SAID = {"H": "holds", "h": "leans ahead", "-": "open", "f": "leans behind", "F": "fails", "x": "no common level"}


def letter(raw: tuple[float, float], corrected: tuple[float, float], alpha: float) -> str:
    """The letter of a reading from its p-values for and against, without and with correction; NaN: nothing compared."""
    if raw[0] != raw[0]:
        return "x"
    for pair, letters in ((corrected, "HF"), (raw, "hf")):
        for p, found in zip(pair, letters, strict=True):
            if p <= alpha:
                return found
    return "-"


@dataclass(frozen=True)
class Word:
    """What a comparison says.

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
        """The word with what belongs to it, as a sentence has it."""
        if self.word == DEPENDS:
            return f"depends on {' and '.join(self.depends_on)}"
        return f"{self.word}, leans {self.leans}" if self.leans else self.word


def word(letters: Sequence[str], choices: Mapping[str, int], alike: bool = False, beyond: bool = False) -> Word:
    """The word that the letters of all readings give.

    Args:
        letters: of the product of the choices, in their order; the main reading first.
        choices: number of options by choice.
        alike: whether the main reading lies within the margin that matters.
        beyond: whether some reading decides a difference beyond that margin.
    """
    main, comparable = letters[0], [one for one in letters if one != "x"]
    if main == "x":
        return Word(NOT_COMPARED)
    if alike and not beyond:
        return Word(ALIKE)
    if main in "HF":
        opposite = {"H": "F", "F": "H"}[main]
        support = sum(one.upper() == main for one in comparable) / len(comparable)
        if opposite not in comparable and support >= SUPPORT - 1e-9:
            return Word(HOLDS if main == "H" else FAILS)
        return Word(DEPENDS, on(letters, choices))
    if sum(one in "HF" for one in comparable) / len(comparable) >= OPEN - 1e-9:
        return Word(DEPENDS, on(letters, choices))
    return Word(CANNOT_TELL, leans={"h": "ahead", "f": "behind"}.get(main, ""))


def on(letters: Sequence[str], choices: Mapping[str, int]) -> tuple[str, ...]:
    """The choices that move the letters most: those with at least two thirds of the largest effect.

    The effect of a choice is the largest difference between its options of the mean code over the other choices.
    """
    places = list(product(*(range(count) for count in choices.values())))
    effects = {}
    for axis, (choice, count) in enumerate(choices.items()):
        means = [
            fmean(codes)
            for option in range(count)
            if (codes := [CODES[x] for x, at in zip(letters, places, strict=True) if at[axis] == option and x != "x"])
        ]
        effects[choice] = max(means) - min(means) if means else 0.0
    largest = max(effects.values(), default=0.0)
    return tuple(choice for choice, effect in effects.items() if effect and effect >= 2 / 3 * largest - 1e-9)


def with_seeds(found: Word, without_one: Sequence[Word]) -> tuple[Word, int]:
    """The word in the light of the runs without one seed, and how many of them have another word."""
    flips = sum(one.word != found.word for one in without_one)
    if without_one and flips / len(without_one) >= FLIPS - 1e-9:
        return Word(DEPENDS, (*found.depends_on, SEEDS)), flips
    return found, flips


def together(letters: Sequence[Sequence[str]], choices: Mapping[str, int], words: Sequence[str]) -> Word:
    """The word of "better than all of them" at one place: an intersection, which asks for no correction of its parts.

    Args:
        letters: of every comparison, by reading.
        choices: as of :func:`word`.
        words: of every comparison by itself; one that holds although nothing is comparable is dominated.
    """
    never = [set(own) == {"x"} for own in letters]
    joint = []
    for at in range(max((len(own) for own in letters), default=0)):
        own = ["H" if one[at] == "x" and said == HOLDS else one[at] for one, said in zip(letters, words, strict=True)]
        lacks = [x == "x" and not out for x, out in zip(own, never, strict=True)]
        if "F" in own:
            joint.append("F")
        elif any(lacks) or {*own} == {"x"}:
            joint.append("x")
        else:
            joint.append("H" if all(one in "Hh" for one in own) else "-")
    if not joint or all(said == NOT_COMPARED for said in words):
        return Word(NOT_COMPARED)
    if {*words} <= {HOLDS}:
        return Word(HOLDS)
    if {*words} <= {HOLDS, ALIKE}:
        return Word(ALIKE)
    return word(joint, choices)


def by_option(letters: Sequence[str], names: Mapping[str, Sequence[str]]) -> str:
    """What each option gives, the other choices at the main option: ``cut: .06 or more fails; .1 or more open``."""
    places = list(product(*(range(len(own)) for own in names.values())))
    parts = []
    for axis, (choice, own) in enumerate(names.items()):
        at_main = [
            x for x, at in zip(letters, places, strict=True) if not any(at[:axis]) and not any(at[axis + 1 :])
        ]  # fmt: skip
        parts.append(f"{choice}: " + "; ".join(f"{name} {SAID[x]}" for name, x in zip(own, at_main, strict=True)))
    return " | ".join(parts)


def written(letters: Sequence[str], last: int) -> str:
    """Letters in groups of the last choice's options, as the file has them."""
    text = "".join(letters)
    return " ".join(text[start : start + last] for start in range(0, len(text), last))
