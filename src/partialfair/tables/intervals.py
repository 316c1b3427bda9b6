"""Score-percentile intervals: what part of each group's ranking a constraint or metric looks at.

A rank is a number in [0, 1]; rank 0 is the highest score of a group. An interval ``[alpha, beta)`` keeps
the rows whose rank lies in it, a list of disjoint pairs keeps their union, and a list of such lists gives
every group its own union. All functions accept any of these forms, or their text (``"0.05-0.3"``,
``"0-0.1+0.4-0.5"``, ``"0-0.1|0.2-0.4"`` with one part per group).
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import ConfigError, NotEstimableError

Pair: TypeAlias = tuple[float, float]
Pairs: TypeAlias = tuple[Pair, ...]
GroupPairs: TypeAlias = tuple[Pairs, ...]
Interval: TypeAlias = Sequence[Pair] | Sequence[Sequence[Pair]] | str

FULL: Pairs = ((0.0, 1.0),)

# alpha * n is computed in floating point: 0.07 * 100 gives 7.000000000000001, which must not round up to 8.
_ROUNDING = 1e-9


def parse(value: Any) -> Pairs | GroupPairs:
    """Return the interval as tuples: pairs shared by all groups, or one tuple of pairs per group.

    Args:
        value: text, one pair, a list of pairs, or a list of lists of pairs.

    Raises:
        ConfigError: the value is not an interval, or breaks ``0 <= alpha < beta <= 1``, or overlaps.
    """
    if isinstance(value, str):
        return _parse_text(value)
    items = _as_list(value, value)
    if not items:
        raise ConfigError("interval: the list is empty; give at least one pair such as [0.05, 0.3]")
    depths = {_depth(item) for item in items}
    if depths == {0}:
        return _check_pairs([items], value)
    if depths == {1}:
        return _check_pairs(items, value)
    if depths == {2}:
        return tuple(_check_pairs(_as_list(item, value), value) for item in items)
    raise ConfigError(
        f"interval: {value!r} mixes pairs with lists of pairs; give a list of pairs, or one list of pairs per group"
    )


def validate(value: Any, n_groups: int | None = None) -> Pairs | GroupPairs:
    """Parse and, where the interval is given per group, check that there is one entry per group.

    Raises:
        ConfigError: see :func:`parse`; or the number of per-group intervals is not ``n_groups``.
    """
    parsed = parse(value)
    if n_groups is not None and is_per_group(parsed) and len(parsed) != n_groups:
        raise ConfigError(
            f"interval: {format_interval(parsed)} has intervals for {len(parsed)} groups, the data have {n_groups}; "
            "give one list of pairs per group, or one list for all"
        )
    return parsed


def is_per_group(interval: Pairs | GroupPairs) -> bool:
    """Tell whether a parsed interval holds one union of pairs per group."""
    return isinstance(interval[0][0], tuple)


def for_groups(value: Any, n_groups: int) -> GroupPairs:
    """Return one tuple of pairs for each of ``n_groups`` groups.

    Raises:
        ConfigError: see :func:`validate`.
    """
    parsed = validate(value, n_groups)
    if is_per_group(parsed):
        return parsed  # type: ignore[return-value]
    return tuple(parsed for _ in range(n_groups))  # type: ignore[misc]


def format_interval(value: Any) -> str:
    """Return the interval as text; :func:`parse` reads it back.

    Pairs are joined by ``+``, the parts of different groups by ``|``: ``0.05-0.3``, ``0-0.1+0.4-0.5``.
    """
    parsed = parse(value)
    groups = parsed if is_per_group(parsed) else (parsed,)
    return "|".join("+".join(f"{_number(low)}-{_number(high)}" for low, high in pairs) for pairs in groups)  # type: ignore


def measure(value: Any) -> float:
    """Return the total length of the interval.

    Raises:
        ConfigError: not an interval, or given per group with different lengths (use ``measure`` per group then).
    """
    parsed = parse(value)
    lengths = [_length(pairs) for pairs in (parsed if is_per_group(parsed) else (parsed,))]  # type: ignore
    if max(lengths) - min(lengths) > _ROUNDING:
        raise ConfigError(
            f"interval: {format_interval(parsed)} has a different length in each group "
            f"({', '.join(f'{length:g}' for length in lengths)}); measure each group's interval by itself"
        )
    return lengths[0]


def bounds(pairs: Pairs, n_rows: int) -> NDArray[np.int64]:
    """Return kept positions as half-open ranges, shape (number of pairs, 2).

    Row ``j`` says that the 0-based positions ``low <= position < high`` of the descending ranking of
    ``n_rows`` scores are kept, with ``low = ceil(alpha n)`` and ``high = ceil(beta n)``: the empirical
    reading of [alpha, beta), since a rank ``c/n`` lies in it exactly if ``low <= c < high``.
    """
    return np.array([[math.ceil(end * n_rows - _ROUNDING) for end in pair] for pair in pairs], dtype=np.int64)


def positions(value: Any, n_rows: int, group: int = 0) -> NDArray[np.int64]:
    """Return the kept 0-based positions in the descending ranking of a group with ``n_rows`` rows."""
    parsed = parse(value)
    pairs: Pairs = parsed[group] if is_per_group(parsed) else parsed  # type: ignore[assignment]
    return np.concatenate([np.arange(low, high) for low, high in bounds(pairs, n_rows)])


def require_rows(interval: GroupPairs, sizes: Sequence[int] | NDArray[np.integer], what: str = "") -> None:
    """Refuse an interval that keeps fewer than 2 rows of some group.

    Raises:
        NotEstimableError: naming the group code, its size and the interval.
    """
    for code, (pairs, size) in enumerate(zip(interval, sizes, strict=True)):
        kept = int(np.diff(bounds(pairs, int(size))).sum())
        if kept < 2:
            raise NotEstimableError(
                f"group {code}: interval {format_interval(pairs)} keeps {kept} of its {int(size)} rows{what}, "
                "at least 2 are needed; widen the interval or add rows of that group"
            )


def _check_pairs(raw: Sequence[Any], value: Any) -> Pairs:
    """Return sorted pairs of floats, or say which one is wrong."""
    pairs = sorted(_check_pair(pair, value) for pair in raw)
    for (_, high), (low, _) in zip(pairs, pairs[1:], strict=False):
        if low < high:
            raise ConfigError(
                f"interval: parts of {value!r} overlap between {low:g} and {high:g}; merge them into one pair"
            )
    if not pairs:
        raise ConfigError(f"interval: a group of {value!r} has no pairs; give it at least one such as [0.05, 0.3]")
    return tuple(pairs)


def _check_pair(pair: Any, value: Any) -> Pair:
    """Return one pair of floats with ``0 <= alpha < beta <= 1``."""
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise ConfigError(f"interval: {pair!r} in {value!r} is not a pair of numbers; write [alpha, beta]") from None
    if not 0.0 <= low < high <= 1.0:
        raise ConfigError(
            f"interval: [{low:g}, {high:g}] must satisfy 0 <= alpha < beta <= 1; ranks are fractions, 0 = highest score"
        )
    return low, high


def _parse_text(text: str) -> Pairs | GroupPairs:
    """Read the text form; see :func:`format_interval`."""
    groups = [[part.split("-") for part in group.split("+")] for group in text.replace(" ", "").split("|")]
    checked = tuple(_check_pairs(group, text) for group in groups)
    return checked if len(checked) > 1 else checked[0]


def _as_list(item: Any, value: Any) -> list[Any]:
    if isinstance(item, str) or not hasattr(item, "__iter__"):
        raise ConfigError(f"interval: {value!r} is not a list of pairs; write [[alpha, beta]]")
    return list(item)


def _depth(item: Any) -> int:
    """Nesting depth of the first entry: 0 for a number, 1 for a pair, 2 for a list of pairs."""
    depth = 0
    while not isinstance(item, str) and hasattr(item, "__iter__"):
        inner = list(item)
        if not inner:
            break
        item, depth = inner[0], depth + 1
    return depth


def _length(pairs: Pairs) -> float:
    return math.fsum(high - low for low, high in pairs)


def _number(value: float) -> str:
    """Shortest decimal text that reads back as the same number, without an exponent (its minus sign would join)."""
    return np.format_float_positional(value, trim="-")
