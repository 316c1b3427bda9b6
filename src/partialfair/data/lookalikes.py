"""Values of columns that look alike, and texts that are numbers or dates in truth.

Two spellings may be one value or two: nobody but the person who wrote them knows, so that they are refused.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.groups import check_names, text_of
from partialfair.errors import DataError

FEW = 20
"""Values that a category may have in a table of any size. A column with more different numbers is one of numbers."""

NEARLY = 0.9
"""A column of which a larger share is numbers is one of numbers, with mistakes in it."""

_DISGUISES = {
    re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE): "numbers",
    re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ][\d:.+Z-]*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}[\d:.]*"):
        "dates or times",
    re.compile(r"[+-]?[$€£¥]?\s?[+-]?\d[\d,.\s']*\s?[%$€£¥]?"): "numbers with marks",
}  # fmt: skip
"""What a text may be in truth, by the pattern of it."""

MINUS = "\N{MINUS SIGN}"

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def in_disguise(texts: Sequence[str]) -> str | None:
    """Return what nearly all of very many different texts are in truth: numbers, with a mark or without, or dates."""
    if len(texts) <= FEW:
        return None
    for pattern, disguise in _DISGUISES.items():
        if sum(pattern.fullmatch(text.strip()) is not None for text in texts) > NEARLY * len(texts):
            return disguise
    return None


def refuse_disguised(name: str, texts: Sequence[str], remedy: str) -> None:
    """Refuse a category of very many texts that are numbers or dates: each would be an input.

    Raises:
        DataError: with the remedy.
    """
    if (disguise := in_disguise(texts)) is not None:
        raise DataError(
            f"column {name!r} holds {len(texts)} different {disguise} as texts, such as {texts[0]!r}; {remedy}"
        )


def looks_of(value: Any) -> set[Any]:
    """Return what a value looks like: two values that have a look in common look alike.

    A text looks like itself without regard to case, blanks, invisible characters, the form of Unicode and periods at
    its end; a text that reads as a number like the number; ``True`` and ``False`` like their names, and like 1 and 0.
    """
    text = bare(text_of(value))
    text = text.rstrip(". ") or text
    number = exact_number(text)
    readings: set[Any] = {text if number is None else number}
    if isinstance(value, bool | np.bool_) or text in ("true", "false"):
        readings |= {text, Decimal(text == "true")}
    return readings


def alike(values: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Places of pairs of values that look alike."""
    first_position: dict[Any, int] = {}
    for position, value in enumerate(values):
        for look in looks_of(value):
            if first_position.setdefault(look, position) != position:
                yield first_position[look], position


def refuse_alike(
    texts: Sequence[str], subject: str, values: Sequence[Any] | None = None, codes: NDArray[np.int64] | None = None
) -> None:
    """Refuse different values that look alike; numbers that are written in the same way are one value.

    Args:
        texts: the different values as texts.
        subject: what has these values, for the error.
        values: the same values as they were given, if they may be other than texts.
        codes: (n,) places of the values of rows, if the error is to name a row.

    Raises:
        DataError: naming two of them, and the first row of the later one.
    """
    check_names(texts, subject)
    originals = texts if values is None else values
    for earlier, later in alike(originals):
        if texts[earlier] == texts[later] and not any(
            isinstance(originals[position], str | bytes) for position in (earlier, later)
        ):
            continue  # numbers of two precisions
        shown_texts = [repr(texts[position]) for position in (earlier, later)]
        if shown_texts[0] == shown_texts[1]:
            shown_texts = [
                f"{texts[position]!r} ({type(originals[position]).__name__})" for position in (earlier, later)
            ]
        row = "" if codes is None else f" in row {int(np.argmax(codes == later))}"
        raise DataError(
            f"{subject}: {shown_texts[0]} and {shown_texts[1]}{row} look alike; write them alike if they are one "
            "value, and less alike if they are two"
        )


def levels_matched(texts: Sequence[str], fitted: Sequence[str], where: str) -> dict[str, str]:
    """Return the known level of the same value for each text that has one: the same text, or the same number.

    Numbers are ``1`` and ``1.0``; ``01`` and ``1E2`` may be codes, and are no other text's level.

    Args:
        texts: different values.
        fitted: levels that a model was fitted with.
        where: the column, for errors.

    Raises:
        DataError: a text looks like a known level and is none.
    """
    numbers_of_levels = [(_plain_number(level), level) for level in fitted]
    number_of = {number: level for number, level in numbers_of_levels if number is not None}
    same_text = {level: level for level in fitted}
    plain_numbers = {text: number for text in texts if (number := _plain_number(text)) is not None}
    level_of = {text: number_of[number] for text, number in plain_numbers.items() if number in number_of}
    levels_by_text = ((text, same_text.get(text, level_of.get(text))) for text in texts)
    matched = {text: level for text, level in levels_by_text if level is not None}
    unknown = [text for text in texts if text not in matched]
    for earlier, later in alike([*fitted, *unknown]):
        if earlier < len(fitted) <= later:
            raise DataError(
                f"{where}: {unknown[later - len(fitted)]!r} looks like {fitted[earlier]!r}, with which the model was "
                "fitted; write it alike"
            )
    return matched


def doubtful_order(texts: Sequence[str]) -> set[str]:
    """Return which of two texts could be the larger one: capital letters, or texts of numbers, sort in two ways."""
    candidates = {max(texts), max(texts, key=str.casefold)}
    numbers_read = [exact_number(text) for text in texts]
    if all(number is not None for number in numbers_read):
        candidates.add(max(zip(numbers_read, texts, strict=True))[1])
    return candidates


def bare(text: str) -> str:
    """Return a text without case, invisible characters, blanks around it and the forms of Unicode."""
    if not text.isascii():
        marks = unicodedata.normalize("NFKC", text)
        text = "".join(mark for mark in marks if unicodedata.category(mark) != "Cf").replace(MINUS, "-")
    return " ".join(text.casefold().split())


def exact_number(text: str) -> Decimal | None:
    """Return the number that a text reads as, without rounding; ``None`` of other texts."""
    text = text.strip().casefold().replace(MINUS, "-")
    return Decimal(text) if NUMBER.fullmatch(text) else None


def _plain_number(text: str) -> Decimal | None:
    """Return the number of a text without an exponent or leading zeros, as codes may have; ``None`` of others."""
    return exact_number(text) if re.fullmatch(r"[+-]?(0|[1-9][0-9]*)([.][0-9]+)?", text.strip()) else None


def same_text(label: str, texts: Sequence[str]) -> str | None:
    """Return the text that is ``label``, or the number of the same value; ``None`` if there is none."""
    if label in texts:
        return label
    number = exact_number(label)
    return next((text for text in texts if number is not None and exact_number(text) == number), None)
