"""What counts as a missing value, by what a column is for, and what is said of rows that have one."""

from collections.abc import Iterable, Mapping
from decimal import InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.lookalikes import bare
from partialfair.errors import DataError

NULL_TEXTS = frozenset(("", "nan", "-nan", "nat", "<na>"))
"""Texts, in lower case, that stand for a missing value wherever they occur."""

NOT_AVAILABLE = frozenset(("na", "n/a", "n.a", "n.a.", "#n/a", "#na", "null"))
"""Further words of files for a missing value, in lower case; a group may have such a name, as Namibia's code is NA."""

NO_ANSWER = frozenset(("?", "-", "--", ".", "none", "unknown"))
"""Further words of files, in lower case, that are no number and no label, and may well be a category."""

MISSING_WORDS: Mapping[str, frozenset[str]] = {
    "group": NULL_TEXTS,
    "category": NULL_TEXTS | NOT_AVAILABLE,
    "label": NULL_TEXTS | NOT_AVAILABLE | NO_ANSWER,
    "number": NULL_TEXTS | NOT_AVAILABLE | NO_ANSWER,
}
"""What is missing in a column of a file, by what the column is for."""

MISSING_GROUP = "missing"
"""Name of the group of rows without a value, where that is asked for."""

MISSING = ("refuse", "drop", "group")
"""What can be done about rows with a missing value."""


def is_missing(value: Any, null_texts: Iterable[str] = NULL_TEXTS) -> bool:
    """Tell whether a single value is missing: ``None``, NaN, or one of some texts, which are in lower case."""
    return bare(value) in null_texts if isinstance(value, str) else is_null(value)


def refuse_missing(missing: NDArray[np.bool_], where: str, values: Any, remedy: str) -> None:
    """Refuse missing entries.

    Args:
        missing: which entries (n,) are missing.
        where: the column, for the error.
        values: the n entries, of which a text that stands for a missing value is shown.
        remedy: what to do.

    Raises:
        DataError: naming the first row, its text and how many rows there are.
    """
    if not missing.any():
        return
    row, count = int(missing.argmax()), int(missing.sum())
    more = f" ({count} such rows)" if count > 1 else ""
    raise DataError(f"{where} has no value in row {row}{_shown_value(values, row)}{more}; {remedy}")


def absent(values: Any, subject: str) -> NDArray[np.bool_]:
    """Return which entries (n,) are missing.

    Raises:
        DataError: a decimal that cannot be compared.
    """
    import pandas as pd

    try:
        return np.asarray(pd.isna(values))
    except InvalidOperation as error:
        raise DataError(f"{subject}: a decimal is Decimal('sNaN'); write None where a value is missing") from error


def is_null(value: Any) -> bool:
    """Tell whether a single value is ``None``, NaN, NA or NaT; texts are never null."""
    import pandas as pd

    return bool(np.ndim(value) == 0 and pd.isna(value))


def _shown_value(values: Any, row: int) -> str:
    """Return what stands for a missing value in a row, in brackets: a mask or a text."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values)[row]:
        return " (masked)"
    array = values.iloc if hasattr(values, "iloc") else values
    try:
        value = array[row]
    except (TypeError, KeyError, IndexError):
        return ""
    return f" ({str(value)!r})" if isinstance(value, str) and value.strip() else ""
