"""Entries of columns of numbers: what they read as, and which of them double precision would make equal."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.lookalikes import NUMBER, exact_number
from partialfair.errors import DataError

DIGITS = 16
"""Length of a text from which double precision may round the number that it reads as."""


def _may_be_rounded(entry: Any) -> bool:
    """Whether an entry is a text, a decimal or a whole number that double precision may round."""
    return len(entry) >= DIGITS if isinstance(entry, str) else isinstance(entry, Decimal | int | np.integer)


def _exact_value(entry: Any) -> Any:
    """Return the number that an entry stands for, without rounding; ``None`` of a text that is no decimal number."""
    return exact_number(entry) if isinstance(entry, str) else entry if isinstance(entry, Decimal) else int(entry)


def refuse_rounded(array: Any, converted: NDArray[np.float64], missing: NDArray[np.bool_], subject: str) -> None:
    """Refuse numbers of which double precision makes equal ones.

    Raises:
        DataError: with the remedy.
    """
    present = ~missing & np.isfinite(converted)
    exact, rounded = np.asarray(array)[present], converted[present]
    if exact.dtype.kind == "O":
        rows = [row for row, entry in enumerate(exact) if _may_be_rounded(entry)]
        size = np.unique(rounded[rows]).size
        spelt = {*exact[rows]}  # no more spellings than numbers: none of them are ties, and none is read again
        ties = len(spelt) > size and len({*map(_exact_value, spelt)}) > size
    else:
        large = exact.size and (exact.dtype.kind == "f" or np.abs(rounded).max() >= 2.0**53)
        ties = bool(large) and np.unique(exact).size > np.unique(rounded).size
    if ties:
        raise DataError(
            f"{subject}: some numbers differ by less than double precision holds, and would be ties; subtract a "
            "constant, or pass their ranks"
        )


def number_of(entry: Any) -> float:
    """Return a number, or a text that reads as one in a decimal system; else NaN."""
    if isinstance(entry, str):
        text = entry.strip().casefold()
        if not (NUMBER.fullmatch(text) or re.fullmatch("[+-]?inf(inity)?", text)):
            return np.nan
        return float(text)
    try:
        return np.nan if np.ndim(entry) or isinstance(entry, bytes | complex) else float(entry)
    except OverflowError:
        return np.inf if entry > 0 else -np.inf
    except (TypeError, ValueError):
        return np.nan


def remedy_of(value: Any) -> str:
    """What to do about an entry that is no number; what a comma means is not guessed where it can mean two things."""
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text):
        return "leave out commas that divide thousands, and write points for decimal ones: this one can be either"
    if re.fullmatch(r"-?[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})", text):
        return "leave out the commas that divide thousands"
    return "write decimal points for commas" if re.fullmatch(r"-?\d*,\d+", text) else "correct or drop them"
