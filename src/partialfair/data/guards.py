"""Guards of functions on scored rows that jobs and people call alike: what people pass becomes what jobs pass.

A job passes arrays: scores as floating-point numbers, labels as numbers, groups as codes from 0 on. A guard hands
these on as they are, so that no result of a job depends on it, and fingerprints of code leave guards out
(:mod:`reproduction.grid.closure`). All else goes through :mod:`partialfair.data.intake`: an argument that cannot be
used is refused by its name, before the function sees it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from partialfair.data import column_entries, intake, missing_words
from partialfair.data.faults import Faults
from partialfair.errors import DataError, PluginError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
MOST_CODES = 1 << 24
"""Codes that groups may have: what is counted by code would fill the memory."""


def of_rows(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Guard a function of ``scores, y, group`` and more: see :func:`rows`."""
    return _guarded(function, ("scores", "y", "group"), rows)


def of_scored_groups(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Guard a function of ``scores, group`` and more, whose groups may have names: see :func:`scored_groups`."""
    return _guarded(function, ("scores", "group"), scored_groups)


def rows(scores: Any, y: Any, group: Any) -> tuple[Any, Any, Any]:
    """Return the scores, labels and group codes as arrays of equal length (n,).

    Args:
        scores: numbers, or predictions with atoms, which are handed on.
        y: labels as numbers; ``None`` is handed on.
        group: codes from 0 on, or names as texts, whose codes are their places in the alphabet.

    Raises:
        DataError: naming the argument; of several faults all are told.
    """
    faults = Faults()
    with faults.noted():
        intake.in_one_order(scores=scores, y=y, group=group)
    columns = []
    for name, values, read in (("scores", scores, _scores), ("y", y, _labels), ("group", group, _codes)):
        with faults.noted():
            columns.append(read(values, name))
    faults.settle()
    for name, values in zip(("y", "group"), columns[1:], strict=True):
        if values is not None and len(values) != len(columns[0]):
            raise DataError(f"{name}: {len(values)} rows, scores have {len(columns[0])}; pass equal lengths")
    return columns[0], columns[1], columns[2]


def scored_groups(scores: Any, group: Any) -> tuple[Any, Any]:
    """Scores and group codes (n,) of rows whose groups are of any kind, see :func:`partialfair.data.intake.groups`.

    Raises:
        DataError: naming the argument; of several faults all are told.
    """
    faults = Faults()
    with faults.noted():
        intake.in_one_order(scores=scores, groups=group)
    with faults.noted():
        scores = _scores(scores, "scores")
    with faults.noted():
        group = group if _is_plain(group, "iu") else intake.groups(group, "groups").codes
    faults.settle()
    return scores, group


def _guarded(
    function: Callable[Arguments, Result], names: tuple[str, ...], read: Callable[..., tuple[Any, ...]]
) -> Callable[Arguments, Result]:
    @wraps(function)
    def guarded(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        checked = dict(zip(names, arguments, strict=False)) | {name: options[name] for name in names if name in options}
        if len(checked) < len(names):
            return function(*arguments, **options)  # Python says what is missing
        options_left: dict[str, Any] = {name: value for name, value in options.items() if name not in names}
        call: Callable[..., Result] = function
        try:
            return call(*read(**checked), *arguments[len(names) :], **options_left)
        except DataError:
            scores: Any = checked["scores"]
            if _is_plain(scores, "f") and not np.isfinite(scores).all():
                _finite(scores, "scores")  # says what to do about infinite and missing scores
            raise
        except (PluginError, TypeError) as error:
            if checked.get("y", names) is None:
                raise DataError("y is None, and a metric that is asked for needs labels; pass them") from error
            raise

    return guarded


def _is_plain(values: Any, kinds: str) -> bool:
    """Tell whether this is an array (n,) such as jobs pass."""
    return type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in kinds


def _scores(values: Any, name: str) -> Any:
    if _is_plain(values, "f") or hasattr(values, "atoms"):
        return values
    return _finite(values, name)


def _finite(values: Any, name: str) -> NDArray[np.float64]:
    numbers, missing = intake.numbers(values, name)
    missing_words.refuse_missing(missing, name, values, "drop such rows")
    return numbers


def _labels(values: Any, name: str) -> Any:
    if values is None or _is_plain(values, "fiu"):
        return values
    numbers, missing = intake.numbers(values, name, finite=False, use="labels")
    missing_words.refuse_missing(missing, name, values, "drop such rows")
    intake.levels(name, values, name)  # refuses what looks alike, such as 1 and "1"
    return numbers


def _codes(values: Any, name: str) -> Any:
    """Return the codes from 0 on of codes or names."""
    array = values
    if not _is_plain(values, "iu"):
        array, missing = column_entries.read(values, name)
        if array.ndim != 1:
            raise DataError(f"{name}: {array.ndim} dimensions; pass one group per row")
        missing_words.refuse_missing(missing, name, values, "drop such rows")
        intake.levels(name, array, name)  # refuses what looks alike
        try:
            numbers, _ = intake.numbers(array, name)
        except DataError:
            return intake.groups(values, name).codes
        array = _whole_numbers(numbers, name)
    if array.size and array.min() < 0:
        row = int(np.argmax(array < 0))
        raise DataError(f"{name}: the code {array[row]} in row {row} is negative; codes count from 0, or pass names")
    if array.size and array.max() >= MOST_CODES:
        row = int(np.argmax(array >= MOST_CODES))
        raise DataError(f"{name}: the code {array[row]} in row {row} is no code; codes count from 0, or pass names")
    return array


def _whole_numbers(numbers: NDArray[np.float64], name: str) -> NDArray[np.int64]:
    broken = numbers != np.floor(numbers)
    if broken.any():
        row = int(broken.argmax())
        raise DataError(f"{name}: the code {numbers[row]:g} in row {row} is no whole number; pass codes or names")
    return np.clip(numbers, -MOST_CODES, MOST_CODES).astype(np.int64)
