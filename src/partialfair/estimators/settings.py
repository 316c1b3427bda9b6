"""Settings of estimators, checked before anything is fitted: one sentence with name, value and what is accepted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from partialfair.constraints.tolerance import KAPPA_SCALES
from partialfair.data.intervals import Interval
from partialfair.estimators.inputs import InputError, value_errors


def number(name: str, value: Any, within: Callable[[float], bool], accepted: str) -> float:
    """Return a setting as a number.

    Args:
        name: of the setting.
        value: what was passed.
        within: whether a number is accepted.
        accepted: what is, in words.

    Raises:
        InputError: the value is no number, or not accepted.
    """
    try:
        if not isinstance(value, bool) and isinstance(value, Real) and within(float(value)):
            return float(value)
    except OverflowError as error:
        raise InputError(f"{name} is a number beyond double precision; use {accepted}") from error
    raise InputError(f"{name} is {value!r}; use {accepted}")


def integer(name: str, value: Any, least: int = 1) -> int:
    """Return a setting as a whole number, not below ``least``.

    Raises:
        InputError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {value!r}; use a whole number of at least {least}")
    return int(value)


def boolean(name: str, value: Any) -> bool:
    """Return a setting that is true or false.

    Raises:
        InputError: it is neither, as the text "False" is, which counts as true in Python.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}; use True or False")
    return bool(value)


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return a setting with a few values.

    Raises:
        InputError: it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {value!r}; choose from {', '.join(choices)}")
    return value


def tolerance(value: Any) -> float:
    """Return a tolerance as a number; infinity is one, which constrains nothing.

    Raises:
        InputError: it is no positive number.
    """
    return number("kappa", value, lambda kappa: kappa > 0, "a positive number (infinity means no constraint)")


def check_interval(value: Any) -> None:
    """Refuse what is no interval; ``None`` stands for a default.

    Raises:
        InputError: it cannot be read.
    """
    if value is not None:
        if not isinstance(value, Interval | str | list | tuple | np.ndarray) or not all(map(_is_end, _ends(value))):
            raise InputError(f"interval: {value!r} is not a list of pairs of numbers; write [[alpha, beta]]")
        with value_errors():
            Interval.of(value)


def _ends(value: Any) -> Iterator[Any]:
    """Numbers in nested lists, tuples and arrays."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        for item in value:
            yield from _ends(item)
    else:
        yield value


def _is_end(value: Any) -> bool:
    return isinstance(value, Interval | str | Real) and not isinstance(value, bool)


def check_constraint(constraint: str | None, kappa: Any, kappa_scale: Any, interval: Any, grid: Any) -> None:
    """Refuse what says how a constraint is imposed and cannot be used; without one, kappa may be anything.

    Raises:
        InputError: naming the setting, its value and what is accepted.
    """
    if constraint is not None:
        tolerance(kappa)
    one_of("kappa_scale", kappa_scale, KAPPA_SCALES)
    check_interval(interval)
    integer("grid", grid)


def check_class_weight(value: Any) -> None:
    """Refuse weights of labels that are no weights.

    Raises:
        InputError: neither ``None``, nor "balanced", nor a mapping from label to a weight that is not negative.
    """
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise InputError(f"class_weight is {value!r}; use None, 'balanced', or a mapping from label to weight")
    for label, weight in value.items():
        number(f"class_weight of {label!r}", weight, lambda w: 0 <= w < float("inf"), "a number that is not negative")


def check_options(name: str, value: Any) -> None:
    """Refuse options that are no mapping; ``None`` stands for none.

    Raises:
        InputError: it is something else.
    """
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"{name} is {value!r}; use a mapping from name to value, or None")
