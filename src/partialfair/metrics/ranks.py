"""Counts of rows above a score: the one quantity from which every partial metric follows.

``above[k, b]`` is the number of rows of group ``k`` whose score is greater than the ``b``-th largest
distinct score, so ``above[k] / sizes[k]`` is the empirical rank ``F_k(theta)`` at every observed ``theta``.
The kept rows of group ``k`` above ``theta`` then number ``sum_j clip(above, low_j, high_j) - low_j``,
which is the identity ``min(F, beta) - min(F, alpha)`` of the paper (Lemma 5.2) in counts, exact with ties.

All kernels take ``above`` with any leading shape, ``(..., groups, scores)``, so that the bootstrap evaluates
many replicates at once, and return the leading shape.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import GroupPairs, Interval, bounds
from partialfair.errors import DataError, NotEstimableError

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Counts:
    """Rows above each distinct score, descending.

    Attributes:
        above: shape (groups, distinct scores).
        sizes: rows per group, shape (groups,).
    """

    above: Ints
    sizes: Ints


def count_above(scores: NDArray[np.floating], group: Ints, n_groups: int | None = None) -> Counts:
    """Sort once and count, per group, the rows above every distinct score.

    Args:
        scores: shape (n,), finite.
        group: codes 0..G-1, shape (n,).
        n_groups: G; by default the largest code + 1.

    Raises:
        DataError: a score is not finite, or the lengths differ.
        NotEstimableError: there are fewer than two groups, or a group has no rows.
    """
    check_scores(scores, group)
    n_groups = int(group.max()) + 1 if n_groups is None else n_groups
    sizes = np.bincount(group, minlength=n_groups)
    check_groups(sizes)
    order, starts = blocks(scores)
    sorted_group = group[order]
    above = np.empty((n_groups, len(starts)), np.int64)
    for code in range(n_groups):
        member = sorted_group == code
        above[code] = (np.cumsum(member) - member)[starts]
    return Counts(above, sizes)


def n_groups_of(group: Ints, interval: Any) -> int:
    """Count groups: those of a per-group interval, which so says which must be present; else largest code + 1."""
    return Interval.of(interval).n_groups or int(group.max(initial=0)) + 1


def unions_of(group: Ints, interval: Any) -> GroupPairs:
    """Return the interval of each group of a sample; see :func:`n_groups_of`."""
    read = Interval.of(interval)
    return read.for_groups(n_groups_of(group, read))


def check_groups(sizes: Ints, rows_with: str = "") -> None:
    """Refuse a comparison of fewer than two groups, or with an empty group.

    Raises:
        NotEstimableError: naming the empty group.
    """
    if len(sizes) < 2:
        raise NotEstimableError("only one group has rows; a comparison needs at least two groups")
    empty = np.flatnonzero(sizes == 0)
    if empty.size:
        raise NotEstimableError(
            f"group {int(empty[0])}: it has no rows{rows_with}; drop its code or add rows of that group"
        )


def blocks(scores: NDArray[np.floating]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the descending order of the rows and the first position of each distinct score in it."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    new = np.ones(len(ranked), bool)
    new[1:] = ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(new)


def check_scores(scores: NDArray[np.floating], *columns: NDArray) -> None:
    """Refuse scores that cannot be ranked.

    Raises:
        DataError: no rows, a length that differs, or a score that is not finite.
    """
    if not len(scores):
        raise DataError("scores: there are no rows; a metric needs at least one")
    for column in columns:
        if len(column) != len(scores):
            raise DataError(f"scores: {len(scores)} rows, but labels or groups have {len(column)}; pass equal lengths")
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise DataError(f"scores: {bad.size} values are not finite, the first in row {int(bad[0])}; remove those rows")


def kept_above(above: Ints, pairs: tuple[tuple[float, float], ...], size: int) -> tuple[Ints, int]:
    """Return the kept rows of one group above each score, and how many rows are kept in all."""
    ranges = bounds(pairs, size)
    kept_counts = np.add.reduce([np.clip(above, low, high) - low for low, high in ranges])
    return kept_counts, int(np.diff(ranges).sum())


def largest(values: list[NDArray]) -> NDArray:
    """Return the elementwise maximum over group pairs."""
    return np.asarray(np.maximum.reduce(values))


def kept_set_distance(above: Ints, sizes: Ints, interval: GroupPairs) -> Floats:
    """SP^I: Kolmogorov-Smirnov distance of the kept sets, maximum over pairs of groups (Definition 4.2)."""
    shares = [kept_counts / total for kept_counts, total in _kept_by_group(above, sizes, interval)]
    return largest([np.abs(a - b).max(axis=-1) for a, b in combinations(shares, 2)])


def rank_distance(above: Ints, sizes: Ints, interval: GroupPairs) -> Floats:
    """Return the largest difference of ranks at scores where at least one of the two ranks lies in its interval.

    The ranks are not divided by the length of the interval: the convention of the published numbers. Where rows of
    one score are so many that a group's rank jumps over a pair of its interval, the ranks inside are those of a
    threshold that parts these rows at random, those of all groups alike; at its two ends they count as well.
    """
    ranks, inside, jumps = [], [], []
    for code, pairs in enumerate(interval):
        counts = above[..., code, :]
        ranks.append(counts / sizes[code])
        ranges = bounds(pairs, int(sizes[code]))
        masks = [(counts >= low) & (counts < high) for low, high in ranges]
        inside.append(np.logical_or.reduce(masks))
        for members, (low, high) in zip(masks, ranges, strict=True):
            over = ~members.any(axis=-1)
            if over.any():
                jumps.append((code, over, *_ranks_at(above, sizes, code, (int(low), int(high)))))
    gaps = []
    for a, b in combinations(range(len(interval)), 2):
        gap = np.where(inside[a] | inside[b], np.abs(ranks[a] - ranks[b]), 0.0).max(axis=-1)
        for code, over, *ends in jumps:
            if code in (a, b):
                parted = largest([np.abs(ranks_at[..., a] - ranks_at[..., b]) for ranks_at in ends])
                gap = np.where(over, np.maximum(gap, parted), gap)
        gaps.append(gap)
    return largest(gaps)


def compared_ranks(above: Ints, sizes: Ints, interval: GroupPairs) -> Floats:
    """Ranks of two groups, (2, k), at the thresholds of which :func:`rank_distance` takes the largest difference.

    Args:
        above: (2, scores) rows above each score.
        sizes: (2,) rows per group.
        interval: union of each of the two.
    """
    inside = np.zeros(above.shape[1], bool)
    parted: list[Floats] = []
    for code, pairs in enumerate(interval):
        for low, high in bounds(pairs, int(sizes[code])):
            members = (above[code] >= low) & (above[code] < high)
            inside |= members
            if not members.any():
                parted += _ranks_at(above, sizes, code, (int(low), int(high)))
    return np.concatenate(
        [(above / np.asarray(sizes)[:, None])[:, inside], *(column[:, None] for column in parted)], axis=1
    )


def _ranks_at(above: Ints, sizes: Ints, code: int, ends: tuple[int, int]) -> Iterator[Floats]:
    """Ranks of all groups, (..., groups), where so many rows of one group are above, some of equal scores parted."""
    counts = above[..., code, :]
    last = np.broadcast_to(sizes[:, None], (*above.shape[:-1], 1))
    following = np.concatenate([above[..., 1:], last], axis=-1)
    before = np.maximum((counts < ends[0]).sum(axis=-1) - 1, 0)[..., None, None]  # the last score before the first end
    start, end = (np.take_along_axis(counts_above, before, axis=-1)[..., 0] for counts_above in (above, following))
    step = np.maximum(end[..., code] - start[..., code], 1)
    for count in ends:
        fraction = np.clip((count - start[..., code]) / step, 0.0, 1.0)
        yield (start + fraction[..., None] * (end - start)) / sizes


def kept_set_auc(above: Ints, sizes: Ints, interval: GroupPairs) -> Floats:
    """GAUC^I: |Mann-Whitney probability of the kept sets - 1/2|, ties one half, maximum over pairs."""
    groups = _kept_by_group(above, sizes, interval)
    inside = [np.diff(kept_counts, axis=-1, append=total) for kept_counts, total in groups]
    gaps = []
    for a, b in combinations(range(len(groups)), 2):
        wins = (inside[a] * (groups[b][0] + 0.5 * inside[b])).sum(axis=-1)
        gaps.append(np.abs(wins / (groups[a][1] * groups[b][1]) - 0.5))
    return largest(gaps)


def rate_distance(rates: Floats, interval: GroupPairs, normalise: bool) -> Floats:
    """DP^I by the identity on rates ``Pr(h > threshold | group)``, shape (..., groups).

    Args:
        rates: share of each group above the threshold.
        interval: one union per group.
        normalise: divide by the length of the interval (DP^I), or not (the absolute gap).
    """
    masses = []
    for code, pairs in enumerate(interval):
        rate = rates[..., code]
        mass = sum(np.minimum(rate, high) - np.minimum(rate, low) for low, high in pairs)
        length = sum(high - low for low, high in pairs)
        masses.append(mass / length if normalise else mass)
    return largest([np.abs(a - b) for a, b in combinations(masses, 2)])


def _kept_by_group(above: Ints, sizes: Ints, interval: GroupPairs) -> list[tuple[Ints, int]]:
    return [kept_above(above[..., code, :], pairs, int(sizes[code])) for code, pairs in enumerate(interval)]
