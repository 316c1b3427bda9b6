"""Score-percentile intervals: what part of each group's ranking a constraint or metric looks at.

A rank is a number in [0, 1]; rank 0 is the highest score of a group. An interval ``[alpha, beta)`` keeps
the rows whose rank lies in it, a list of disjoint pairs keeps their union, and a list of such lists gives
every group its own union. :meth:`Interval.of` reads any of these forms, or their text (``"0.05-0.3"``,
``"0-0.1+0.4-0.5"``, ``"0-0.1|0.2-0.4"`` with one part per group); everything behind it takes an :class:`Interval`, or,
once the number of groups is known, one union of pairs for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import ConfigError, NotEstimableError

Pair: TypeAlias = tuple[float, float]
Pairs: TypeAlias = tuple[Pair, ...]
GroupPairs: TypeAlias = tuple[Pairs, ...]

FULL: Pairs = ((0.0, 1.0),)

# alpha * n is computed in floating point: 0.07 * 100 gives 7.000000000000001, which must not round up to 8.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """A checked interval of ranks.

    Attributes:
        unions: sorted disjoint pairs, one tuple of them per group, or a single one for all groups.
        per_group: whether every group has its own.
    """

    unions: GroupPairs
    per_group: bool = False

    @classmethod
    def of(cls, value: Any) -> "Interval":
        """Read an interval.

        Args:
            value: text, one pair, a list of pairs, a list of lists of pairs, or an interval, which is returned.

        Raises:
            ConfigError: the value is not an interval, or breaks ``0 <= alpha < beta <= 1``, or overlaps.
        """
        if isinstance(value, Interval):
            return value
        if isinstance(value, str):
            unions = [
                [pair_text.split("-") for pair_text in union.split("+")] for union in value.replace(" ", "").split("|")
            ]
            return cls(tuple(_check_pairs(pairs, value) for pairs in unions), len(unions) > 1)
        items = _as_list(value, value)
        if not items:
            raise ConfigError("interval: the list is empty; give at least one pair such as [0.05, 0.3]")
        depths = {_depth(item) for item in items}
        if depths == {0}:
            return cls((_check_pairs([items], value),))
        if depths == {1}:
            return cls((_check_pairs(items, value),))
        if depths == {2}:
            return cls(tuple(_check_pairs(_as_list(item, value), value) for item in items), True)
        raise ConfigError(
            f"interval: {value!r} mixes pairs with lists of pairs; give a list of pairs, or one list of pairs per group"
        )

    @property
    def n_groups(self) -> int | None:
        """Return the number of groups that it is for; ``None`` if for any."""
        return len(self.unions) if self.per_group else None

    @property
    def first(self) -> Pairs:
        """Pairs of all groups; of the first group where each has its own."""
        return self.unions[0]

    @property
    def whole(self) -> "Interval":
        """All ranks, for as many groups."""
        return Interval(tuple(FULL for _ in self.unions), self.per_group)

    def for_groups(self, n_groups: int) -> GroupPairs:
        """Return one tuple of pairs for each of ``n_groups`` groups.

        Raises:
            ConfigError: it is for another number of groups.
        """
        if not self.per_group:
            return self.unions * n_groups
        if len(self.unions) != n_groups:
            raise ConfigError(
                f"interval: {self} has intervals for {len(self.unions)} groups, the data have {n_groups}; "
                "give one list of pairs per group, or one list for all"
            )
        return self.unions

    def each(self, n_groups: int) -> "Interval":
        """Return it with a union for each of ``n_groups`` groups, which so must all be present; see above."""
        return Interval(self.for_groups(n_groups), True)

    def lists(self) -> list[Any]:
        """Return it as lists, ready for JSON."""
        lists = [[list(pair) for pair in pairs] for pairs in self.unions]
        return lists if self.per_group else lists[0]

    def __str__(self) -> str:
        """Return it as text, which :meth:`of` reads back.

        Pairs are joined by ``+``, the parts of different groups by ``|``: ``0.05-0.3``, ``0-0.1+0.4-0.5``.
        """
        return "|".join("+".join(f"{_number(low)}-{_number(high)}" for low, high in pairs) for pairs in self.unions)


def for_groups(value: Any, n_groups: int) -> GroupPairs:
    """Return one tuple of pairs for each of ``n_groups`` groups; see :meth:`Interval.of`."""
    return Interval.of(value).for_groups(n_groups)


def format_interval(value: Any) -> str:
    """Return an interval as text; see :meth:`Interval.of`."""
    return str(Interval.of(value))


def measure(pairs: Pairs) -> float:
    """Return the total length of a union."""
    return math.fsum(high - low for low, high in pairs)


def part_above(rank: Any, pairs: Pairs) -> NDArray[np.float64]:
    """Return the part of a union, between 0 and 1, that lies above a rank (or each of an array of ranks)."""
    return np.asarray(sum(np.clip(rank, low, high) - low for low, high in pairs) / measure(pairs))


def decides_nothing(shares: Sequence[float] | NDArray[np.floating], unions: GroupPairs) -> bool:
    """Tell whether a comparison of decisions on an interval is 0 by convention, and says nothing of the groups.

    That is so where the share of no group lies inside its union, nor a part of the union between the shares of two.

    Args:
        shares: (G,) share of positive decisions of each group, which is the rank of the decision threshold in it.
        unions: of each group.
    """
    inside = [any(low < share < high for low, high in pairs) for share, pairs in zip(shares, unions, strict=True)]
    above = [float(part_above(share, pairs)) for share, pairs in zip(shares, unions, strict=True)]
    return not any(inside) and max(above) - min(above) < _ROUNDING


def bounds(pairs: Pairs, n_rows: int) -> NDArray[np.int64]:
    """Return kept positions as half-open ranges, shape (number of pairs, 2).

    Row ``j`` says that the 0-based positions ``low <= position < high`` of the descending ranking of
    ``n_rows`` scores are kept, with ``low = ceil(alpha n)`` and ``high = ceil(beta n)``: the empirical
    reading of [alpha, beta), since a rank ``c/n`` lies in it exactly if ``low <= c < high``.
    """
    return np.array([[math.ceil(end * n_rows - _ROUNDING) for end in pair] for pair in pairs], dtype=np.int64)


def require_rows(interval: GroupPairs, sizes: Sequence[int] | NDArray[np.integer], rows_with: str = "") -> None:
    """Refuse an interval that keeps fewer than 2 rows of some group.

    Raises:
        NotEstimableError: naming the group code, its size and the interval.
    """
    for code, (pairs, size) in enumerate(zip(interval, sizes, strict=True)):
        n_kept = int(np.diff(bounds(pairs, int(size))).sum())
        if n_kept < 2:
            raise NotEstimableError(
                f"group {code}: interval {format_interval(pairs)} keeps {n_kept} of its {int(size)} rows{rows_with}, "
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


def _number(value: float) -> str:
    """Shortest decimal text that reads back as the same number, without an exponent (its minus sign would join)."""
    return np.format_float_positional(value, trim="-")
