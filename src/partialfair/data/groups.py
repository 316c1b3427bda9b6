"""Groups from one or several columns of any kind: codes 0..G-1 and the names that go with them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.missing_values import refuse_masked
from partialfair.errors import DataError

JOIN = " & "  # between the values of an intersectional group


def columns_of(source: Any, what: str = "groups") -> dict[str, Any]:
    """Columns by name of a 1-D array, a 2-D array, a mapping or a dataframe of any library.

    Raises:
        DataError: no column, more than two dimensions, or a masked entry.
    """
    refuse_masked(source, what)
    if isinstance(source, Mapping):
        named = {str(name): values for name, values in source.items()}
    elif not hasattr(source, "columns") and len(np.shape(source)) < 2:
        named = {str(getattr(source, "name", None) or what): source}
    else:
        from partialfair.data.frames import to_pandas

        frame = to_pandas(source)
        if hasattr(frame, "columns"):
            named = {str(name): frame[name] for name in frame.columns}
        else:
            array = np.asarray(frame)
            if array.ndim != 2:
                raise DataError(
                    f"{what}: the array has {array.ndim} dimensions; pass one value or one line of values per row"
                )
            named = {f"{what}[{j}]": array[:, j] for j in range(array.shape[1])}
    if not named:
        raise DataError(f"{what}: there is no column; pass at least one")
    return named


def group_labels(source: Any, what: str = "groups") -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Encode groups; several columns make one group per combination of values that occurs.

    Args:
        source: see :func:`columns_of`; values of any type, compared by their text.
        what: what to call the argument in errors.

    Returns:
        Codes (n,) and sorted names; the names of combinations are joined by " & ", values that hold an ampersand in
        quotation marks: two combinations never share a name.

    Raises:
        DataError: a missing or masked value, or columns of different lengths.
    """
    import pandas as pd

    combined: NDArray[np.int64] | None = None
    levels: list[tuple[str, ...]] = [()]
    for name, values in columns_of(source, what).items():
        codes, own = _encode(name, values, what)
        if combined is None:
            combined = np.zeros(len(codes), np.int64)
        if len(codes) != len(combined):
            sizes = f"{len(codes)} rows, another has {len(combined)}"
            raise DataError(f"{what}: column {name!r} has {sizes}; pass equal lengths")
        present, combined = _renumber(combined * len(own) + codes, len(levels) * len(own))
        levels = [(*levels[key // len(own)], own[key % len(own)]) for key in present]
    assert combined is not None
    names = [JOIN.join(map(_quoted, parts)) if len(parts) > 1 else parts[0] for parts in levels]
    order, sorted_names = pd.factorize(np.array(names, object), sort=True)
    return order[combined].astype(np.int64), tuple(sorted_names.tolist())


def check_names(names: Sequence[str], what: str = "groups") -> None:
    """Refuse groups that are told apart by blanks alone.

    Raises:
        DataError: naming two of them.
    """
    alike: dict[str, str] = {}
    for name in names:
        other = alike.setdefault(" ".join(name.split()), name)
        if other != name:
            raise DataError(f"{what}: {other!r} and {name!r} differ in blanks alone; write them alike")


def codes_for(source: Any, names: Sequence[str], what: str = "groups") -> NDArray[np.int64]:
    """Codes (n,) of groups whose names are already known.

    Raises:
        DataError: a group that is not among the names.
    """
    codes, own = group_labels(source, what)
    place = {name: code for code, name in enumerate(names)}
    unknown = [code for code, name in enumerate(own) if name not in place]
    if unknown:
        row = int(np.flatnonzero(codes == unknown[0])[0])
        raise DataError(
            f"{what}: group {own[unknown[0]]!r} in row {row} was not among the groups of the training rows "
            f"({', '.join(names)}); correct the value, or fit with rows of that group"
        )
    return np.array([place[name] for name in own], np.int64)[codes]


def _renumber(keys: NDArray[np.int64], bound: int) -> tuple[list[int], NDArray[np.int64]]:
    """Keys that occur, ascending, and their place in that list for every row; ``bound`` exceeds every key."""
    if bound > max(1 << 20, keys.size):
        present, places = np.unique(keys, return_inverse=True)
        return present.tolist(), places
    occurs = np.bincount(keys, minlength=bound) > 0  # counting needs no sort of the rows
    return np.flatnonzero(occurs).tolist(), (np.cumsum(occurs) - 1)[keys]


def _encode(name: str, values: Any, what: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes and texts of one column, sorted by text."""
    import pandas as pd

    array = values if isinstance(values, pd.Series) else np.asarray(values)
    if np.ndim(array) != 1:
        raise DataError(f"{what}: column {name!r} has {np.ndim(array)} dimensions; pass one value per row")
    try:
        codes, levels = pd.factorize(array)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise DataError(
            f"{what}: values cannot be compared ({error}); pass one text or number per row and column"
        ) from error
    texts = [text_of(level) for level in levels]
    missing = codes < 0
    empty = [code for code, text in enumerate(texts) if not text.strip()]
    if empty:
        missing |= np.isin(codes, empty)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"{what}: column {name!r} has no value in row {row}; drop such rows or name them, say 'unknown'"
        )
    order, unique = pd.factorize(np.array(texts, object), sort=True)
    return order[codes].astype(np.int64), [str(text) for text in unique]


def _quoted(part: str) -> str:
    """A value as part of a combination's name, from which it can be read back."""
    return '"' + part.replace('"', '""') + '"' if "&" in part or '"' in part else part


def text_of(value: Any) -> str:
    """Text of a group's value; 1.0 reads like 1, because a missing value elsewhere turns integers into floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, bytes):  # of a binary column
        return value.decode("utf-8", "backslashreplace")
    return str(value)
