"""Columns as arrays whose entries keep what they are: no number becomes a text, no missing value a word."""

from collections.abc import Hashable, Mapping
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.groups import text_of
from partialfair.data.lookalikes import refuse_alike
from partialfair.data.missing_words import absent
from partialfair.errors import DataError


def read(values: Any, subject: str) -> tuple[Any, NDArray[np.bool_]]:
    """Return a column as an array or a pandas series, and which entries (n,) are missing; texts are not looked at.

    A list keeps the types of its entries.

    Raises:
        DataError: ``subject`` is a set, whose values have no order, a mapping, or an index of several levels.
    """
    import pandas as pd

    if isinstance(values, set | frozenset):
        raise DataError(f"{subject}: a set has no order by which its values belong to rows; pass a list")
    if isinstance(values, Mapping):
        raise DataError(f"{subject}: a mapping is no column; pass the list of its values in the order of the rows")
    if isinstance(values, pd.MultiIndex):
        raise DataError(f"{subject}: an index of {values.nlevels} levels is no column; pass them as columns (to_frame)")
    if hasattr(values, "detach"):  # a tensor that derivatives are taken of
        values = values.detach().cpu()

    if np.ma.isMaskedArray(values):
        masked = np.ma.getmaskarray(values)
        plain = np.ma.getdata(values)
        return plain, masked | absent(plain, subject)
    if isinstance(values, pd.Series | pd.Index):
        return pd.Series(values).reset_index(drop=True), absent(values, subject)
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return pd.Series(values), absent(values, subject)
    if isinstance(values, np.ndarray):
        array = values
    elif hasattr(values, "__array__") or not hasattr(values, "__len__") or isinstance(values, str | bytes):
        array = np.asarray(values)
    else:
        array = _of_list(values)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array, absent(array, subject) if array.ndim else np.zeros(0, np.bool_)


def holds_dates(values: Any) -> bool:
    """Tell whether a column holds dates or times, whatever type they have."""
    array, missing = read(values, "a column")
    if getattr(array.dtype, "kind", "O") in "mM":
        return True
    present = np.asarray(array, object)[~missing] if is_objects(array) else ()
    return any(isinstance(value, date | time | timedelta) for value in present[:1000])


def refuse_collections(name: str, array: NDArray[Any], subject: str) -> None:
    """Refuse an object array (n,) that holds lists, arrays or mappings.

    Raises:
        DataError: naming the row.
    """
    row = next((row for row, value in enumerate(array) if not isinstance(value, Hashable)), None)
    if row is not None:
        raise DataError(
            f"{subject}: column {name!r} has a collection of values in row {row}; write one text or number per row"
        )


def _of_list(values: Any) -> NDArray[Any]:
    """Return a sequence as an array that keeps what its entries are; numbers become an array of numbers."""
    entries = [None if entry is np.ma.masked else entry for entry in values]
    kinds = set(map(type, entries))
    if kinds <= {float, int, np.float64, np.int64} or kinds <= {bool} or kinds <= {str}:
        return np.asarray(entries)
    array = np.empty(len(entries), object)
    for row, entry in enumerate(entries):
        array[row] = entry
    return array


def is_objects(array: Any) -> bool:
    """Tell whether an array, or a series of pandas, holds Python's objects."""
    return isinstance(array.dtype, np.dtype) and array.dtype.kind == "O"


def told_apart(array: NDArray[Any], missing: NDArray[np.bool_], where: str) -> NDArray[Any]:
    """Objects (n,) with texts in place of truth values, if there are others: to a hash table ``True`` is 1.

    Raises:
        DataError: values of several types look alike.
    """
    kinds = set(map(type, array[~missing]))
    truths = kinds & {bool, np.bool_}
    if not truths or truths == kinds:
        return array
    distinct = [value for _, value in dict.fromkeys((type(value) in truths, value) for value in array[~missing])]
    refuse_alike([text_of(value) for value in distinct], where, distinct)
    told = array.copy()
    told[:] = [str(value) if type(value) in truths else value for value in array]
    return told
