"""Groups from one or several columns of any kind: codes 0..G-1 and the names that go with them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.missing_values import refuse_masked
from partialfair.errors import DataError

JOIN = " & "  # between the values of an intersectional group


def columns_of(source: Any, subject: str = "groups") -> dict[str, Any]:
    """Return the columns by name of a 1-D array, a 2-D array, a mapping or a dataframe of any library.

    Raises:
        DataError: no column, more than two dimensions, or a masked entry.
    """
    refuse_masked(source, subject)
    if isinstance(source, Mapping):
        named = {str(name): values for name, values in source.items()}
    elif not hasattr(source, "columns") and len(np.shape(source)) < 2:
        named = {str(getattr(source, "name", None) or subject): source}
    else:
        from partialfair.data.frames import to_pandas

        frame = to_pandas(source)
        if hasattr(frame, "columns"):
            named = {str(name): frame[name] for name in frame.columns}
        else:
            array = np.asarray(frame)
            if array.ndim != 2:
                raise DataError(
                    f"{subject}: the array has {array.ndim} dimensions; pass one value or one line of values per row"
                )
            named = {f"{subject}[{j}]": array[:, j] for j in range(array.shape[1])}
    if not named:
        raise DataError(f"{subject}: there is no column; pass at least one")
    return named


def group_labels(source: Any, subject: str = "groups") -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Encode groups; several columns make one group per combination of values that occurs.

    Args:
        source: see :func:`columns_of`; values of any type, compared by their text.
        subject: what to call the argument in errors.

    Returns:
        Codes (n,) and sorted names; the names of combinations are joined by " & ", values that hold an ampersand in
        quotation marks: two combinations never share a name.

    Raises:
        DataError: a missing or masked value, or columns of different lengths.
    """
    import pandas as pd

    combined: NDArray[np.int64] | None = None
    levels: list[tuple[str, ...]] = [()]
    for name, values in columns_of(source, subject).items():
        codes, column_levels = _encode(name, values, subject)
        if combined is None:
            combined = np.zeros(len(codes), np.int64)
        if len(codes) != len(combined):
            sizes = f"{len(codes)} rows, another has {len(combined)}"
            raise DataError(f"{subject}: column {name!r} has {sizes}; pass equal lengths")
        present, combined = _renumber(combined * len(column_levels) + codes, len(levels) * len(column_levels))
        levels = [(*levels[key // len(column_levels)], column_levels[key % len(column_levels)]) for key in present]
    assert combined is not None
    names = [JOIN.join(map(_quoted, level)) if len(level) > 1 else level[0] for level in levels]
    order, sorted_names = pd.factorize(np.array(names, object), sort=True)
    return order[combined].astype(np.int64), tuple(sorted_names.tolist())


def check_names(names: Sequence[str], subject: str = "groups") -> None:
    """Refuse groups that are told apart by blanks alone.

    Raises:
        DataError: naming two of them.
    """
    alike: dict[str, str] = {}
    for name in names:
        lookalike = alike.setdefault(" ".join(name.split()), name)
        if lookalike != name:
            raise DataError(f"{subject}: {lookalike!r} and {name!r} differ in blanks alone; write them alike")


def codes_for(source: Any, names: Sequence[str], subject: str = "groups") -> NDArray[np.int64]:
    """Return the codes (n,) of groups whose names are already known.

    Raises:
        DataError: a group that is not among the names.
    """
    codes, passed = group_labels(source, subject)
    code_of_name = {name: code for code, name in enumerate(names)}
    unknown = [code for code, name in enumerate(passed) if name not in code_of_name]
    if unknown:
        row = int(np.flatnonzero(codes == unknown[0])[0])
        raise DataError(
            f"{subject}: group {passed[unknown[0]]!r} in row {row} was not among the groups of the training rows "
            f"({', '.join(names)}); correct the value, or fit with rows of that group"
        )
    return np.array([code_of_name[name] for name in passed], np.int64)[codes]


def _renumber(keys: NDArray[np.int64], bound: int) -> tuple[list[int], NDArray[np.int64]]:
    """Keys that occur, ascending, and their place in that list for every row; ``bound`` exceeds every key."""
    if bound > max(1 << 20, keys.size):
        present, places = np.unique(keys, return_inverse=True)
        return present.tolist(), places
    occurs = np.bincount(keys, minlength=bound) > 0  # counting needs no sort of the rows
    return np.flatnonzero(occurs).tolist(), (np.cumsum(occurs) - 1)[keys]


def _encode(name: str, values: Any, subject: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the codes and texts of one column, sorted by text."""
    import pandas as pd

    array = values if isinstance(values, pd.Series) else np.asarray(values)
    if np.ndim(array) != 1:
        raise DataError(f"{subject}: column {name!r} has {np.ndim(array)} dimensions; pass one value per row")
    try:
        codes, levels = pd.factorize(array)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise DataError(
            f"{subject}: values cannot be compared ({error}); pass one text or number per row and column"
        ) from error
    texts = [text_of(level) for level in levels]
    missing = codes < 0
    empty = [code for code, text in enumerate(texts) if not text.strip()]
    if empty:
        missing |= np.isin(codes, empty)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"{subject}: column {name!r} has no value in row {row}; drop such rows or name them, say 'unknown'"
        )
    order, unique = pd.factorize(np.array(texts, object), sort=True)
    return order[codes].astype(np.int64), [str(text) for text in unique]


def _quoted(text: str) -> str:
    """Return a value as part of a combination's name, from which it can be read back."""
    return '"' + text.replace('"', '""') + '"' if "&" in text or '"' in text else text


def text_of(value: Any) -> str:
    """Text of a group's value; 1.0 reads like 1, because a missing value elsewhere turns integers into floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, bytes):  # of a binary column
        return value.decode("utf-8", "backslashreplace")
    return str(value)
