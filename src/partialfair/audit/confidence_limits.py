"""Confidence limits of what an audit measures, in closed form.

All limits are one-sided: over repeated samples, the lower limit exceeds the true value with probability ``tail``, and
the upper limit falls below it with the same probability. Absolute differences near 0 are an exception: the lower limit
exceeds them with up to twice ``tail``, and the upper limit never falls below. Arrays may have any leading dimensions.

- A share has the exact limits of Clopper and Pearson (1934).
- A difference or ratio of two shares has the limits of Newcombe (1998, method 10) and of Zou and Donner (2008), which
  join those of the two shares by the square root of the sum of squares ("MOVER"), with exact limits in place of
  Wilson's. With Wilson's the tails that several pairs of groups need are missed up to 74 times too often
  (600 rows and 5 rows, a rate of .01), with those of Jeffreys up to 4 times; exact ones are 3 to 6% wider at 200 rows.
- The upper limit of a largest difference over thresholds is the largest of the pointwise upper limits. One of them
  belongs to the threshold where the population differs most, which need not be known: the largest misses no more often.
  The lower limit is the estimate less the critical value of Kolmogorov and Smirnov.
- An area (the chance that a row of one group outranks one of the other) and a mean score have the limits of a share of
  as many rows as give it their variance, as Korn and Graubard (1998) do for surveys; that of an area is of DeLong et
  al. (1988). Where few rows tell what the variance is, the largest that is possible counts (van Dantzig, 1951).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import FULL, GroupPairs, Pairs, measure, part_above

Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]
Estimate = tuple[Floats, Floats, Floats]  # a value with its lower and its upper limit
ANGLES = 9  # points of an ellipse; the points between change a limit by less than 0.5% of its distance
GRID = 512  # nodes between which limits of very many shares are interpolated


def share_limits(share: Any, rows: Any, tail: float) -> Limits:
    """Return the exact limits of a share of ``rows``, which need not be whole; 0 at no row and 1 at all rows."""
    from scipy.special import betaincinv

    share, rows = np.broadcast_arrays(np.asarray(share, np.float64), np.asarray(rows, np.float64))
    hits = share * rows
    misses = rows - hits
    has_hits, not_all = hits > 1e-9, misses > 1e-9
    low = np.where(has_hits, betaincinv(np.where(has_hits, hits, 1.0), misses + 1.0, tail), 0.0)
    high = np.where(not_all, betaincinv(hits + 1.0, np.where(not_all, misses, 1.0), 1.0 - tail), 1.0)
    return low, high


def curve_limits(shares: Floats, rows: float, tail: float) -> Limits:
    """Return :func:`share_limits` of many shares of the same number of rows, interpolated if they are very many.

    With share = sin(t) ** 2, the half widths are nearly those of a sine of t. A straight line between nodes that lie
    1 / GRID apart is off by less than 2e-6 of the half widths.
    """
    if shares.size <= GRID:
        return share_limits(shares, rows, tail)
    nodes, low, high = _nodes(rows, tail)
    angles = np.arcsin(np.sqrt(np.clip(shares, 0.0, 1.0)))
    return np.interp(angles, nodes, low), np.interp(angles, nodes, high)


@lru_cache(maxsize=256)
def _nodes(rows: float, tail: float) -> tuple[Floats, Floats, Floats]:
    """Return nodes t of :func:`curve_limits` and the limits there; near the ends, every whole number of rows is one."""
    inner = np.arcsin(np.sqrt(np.arange(min(rows, 64.0) + 1) / rows))
    nodes = np.unique(np.concatenate([np.linspace(0.0, np.pi / 2, GRID + 1), inner, np.pi / 2 - inner]))
    return nodes, *share_limits(np.sin(nodes) ** 2, rows, tail)


def difference_limits(minuend: Estimate, subtrahend: Estimate) -> Limits:
    """Return the limits of a difference of two independent values."""
    (p, p_low, p_high), (q, q_low, q_high) = minuend, subtrahend
    return p - q - np.hypot(p - p_low, q_high - q), p - q + np.hypot(p_high - p, q - q_low)


def mean_gap_limits(
    scores: Floats, labels: NDArray[np.bool_], weights: NDArray[Any] | None, rows: float, tail: float
) -> tuple[float, float]:
    """Return the limits of the mean score minus the share of positive labels of the same rows.

    They join the limits of the mean and the exact ones of the share (Zou and Donner, 2008, for correlated values).

    Args:
        scores, labels: (n,) of each row.
        weights: (n,) or ``None``.
        rows: effective number of rows.
        tail: of one end.
    """
    mean, share = float(np.average(scores, weights=weights)), float(np.average(labels, weights=weights))
    variance = float(np.average((scores - mean) ** 2, weights=weights))
    common = float(np.average((scores - mean) * (labels - share), weights=weights))
    scale = math.sqrt(max(variance * share * (1.0 - share), 0.0))
    correlation = min(max(common / scale, -1.0), 1.0) if scale > 0 else 0.0
    mean_low, mean_high = limits_from_variance(mean, variance / max(rows - 1.0, 1.0), rows, rows - 1.0, tail)
    low, high = share_limits(share, rows, tail)

    def width(mean_width: float, share_width: float) -> float:
        return math.sqrt(max(mean_width**2 + share_width**2 - 2.0 * correlation * mean_width * share_width, 0.0))

    gap = mean - share
    return gap - width(mean - float(mean_low), float(high) - share), gap + width(
        float(mean_high) - mean, share - float(low)
    )


def limits_from_variance(value: Any, variance: Any, rows: float, degrees_of_freedom: Any, tail: float) -> Limits:
    """Return the limits of a value in [0, 1]: those of a share of so many rows that it has the variance of the value.

    See Korn and Graubard (1998). For few rows and a value near 0 or 1, the variance is poorly known. There the largest
    variance that such a value can have counts for more, which is that of a share of ``rows`` rows.

    Args:
        value, variance: the estimate and its estimated variance.
        rows: number of independent rows; for two groups, that of the smaller.
        degrees_of_freedom: degrees of freedom of the variance.
        tail: of one end.
    """
    from scipy.special import ndtri, stdtrit

    value, variance = np.asarray(value, np.float64), np.asarray(variance, np.float64)
    fewness = 1.0 / (1.0 + rows * np.minimum(value, 1.0 - value)) ** 2
    estimated = variance * (stdtrit(np.clip(degrees_of_freedom, 1.0, 1e9), tail) / ndtri(tail)) ** 2
    largest = value * (1.0 - value) / rows
    blend = (1.0 - fewness) * estimated + fewness * largest
    effective = np.where(largest > 0, value * (1.0 - value) / np.maximum(blend, 1e-300), rows)
    return share_limits(value, np.maximum(effective, 1e-3), tail)


def absolute_limits(low: Floats, high: Floats) -> Limits:
    """Return the limits of the absolute value of a difference."""
    return np.maximum(np.maximum(low, -high), 0.0), np.minimum(np.maximum(-low, high), 1.0)


def decision_gap(shares: Floats, rows: Floats, unions: GroupPairs, tail: float, normalise: bool = True) -> Limits:
    """Return the limits of the absolute gap of two groups' decisions on an interval of ranks.

    Args:
        shares: (..., 2) share of each group above the threshold.
        rows: (..., 2) rows of each group.
        unions: interval of each of the two.
        tail: of the signed difference.
        normalise: divide by the length of the interval, as DP^I does.
    """
    low, high = share_limits(shares, rows, tail)
    minuend, subtrahend = ((shares[..., k], low[..., k], high[..., k]) for k in (0, 1))
    scale = [1.0 if normalise else measure(pairs) for pairs in unions]
    return absolute_limits(*kept_gap(minuend, subtrahend, unions, scale))


def kept_gap(
    minuend: Estimate, subtrahend: Estimate, unions: GroupPairs, scale: Sequence[float] = (1.0, 1.0)
) -> Limits:
    """Return the limits of the difference of the kept parts of two shares.

    The limits of a difference are its extremes on an ellipse around both shares, whose axes are the distances from
    their limits. For the shares themselves, these are :func:`difference_limits`. The kept part of a share has kinks at
    the ends of an interval, so that the ellipse is searched.
    """
    if all(pairs == FULL for pairs in unions):
        return difference_limits(minuend, subtrahend)
    (p, p_low, p_high), (q, q_low, q_high) = minuend, subtrahend
    lows, highs = [], []
    for angle in np.linspace(0.0, np.pi / 2, ANGLES):
        sine, cosine = math.sin(angle), math.cos(angle)
        ends = (p - (p - p_low) * sine, q + (q_high - q) * cosine), (p + (p_high - p) * sine, q - (q - q_low) * cosine)
        low, high = (scale[0] * part_above(a, unions[0]) - scale[1] * part_above(b, unions[1]) for a, b in ends)
        lows.append(low)
        highs.append(high)
    return np.minimum.reduce(lows), np.maximum.reduce(highs)


def share_ratio(shares: Floats, rows: Floats, tail: float) -> Limits:
    """Return the limits of the first share divided by the second, (..., 2), joined on the scale of logarithms.

    Where the first share is 0, the upper limit is that of the first by the lower limit of the second.
    """
    low, high = share_limits(shares, rows, tail)
    (p, q), (p_low, q_low), (p_high, q_high) = (np.moveaxis(values, -1, 0) for values in (shares, low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        below = p / q * np.exp(-np.hypot(np.log(p / p_low), np.log(q_high / q)))
        above = p / q * np.exp(np.hypot(np.log(p_high / p), np.log(q / q_low)))
        above = np.where(p > 0, above, p_high / q_low)
    return np.where((p_low > 0) & (q > 0), below, 0.0), np.where(q_low > 0, above, np.inf)


def lowest_ratio(shares: Floats, rows: Floats, level: float) -> Limits:
    """Return the ends of the interval of the lowest share by the highest, (..., G); at most 1.

    The upper end is the lowest of the upper limits of all pairs, each with its part of the chance of a miss. The lower
    end is the lowest of their lower limits, which need no such correction.
    """
    pairs = np.array(list(combinations(range(shares.shape[-1]), 2)))
    ordered_pairs = np.concatenate([pairs, pairs[:, ::-1]])
    tail = (1 - level) / 2
    low, _ = share_ratio(shares[..., ordered_pairs], rows[ordered_pairs], tail)
    _, high = share_ratio(shares[..., ordered_pairs], rows[ordered_pairs], tail / len(pairs))
    return low.min(axis=-1), np.minimum(high.min(axis=-1), 1.0)


def smirnov_critical_value(rows: Any, tail: float) -> Floats:
    """Return the critical value of a difference of two empirical distributions over all thresholds, in one direction.

    It is asymptotic (Smirnov, 1939), and conservative for finite samples and tied scores. One direction is enough for
    the lower limit of the largest absolute difference. Only near a difference of 0 can chance exceed it in both
    directions, and there the upper limit does not miss: both limits together miss with up to twice ``tail``.

    Args:
        rows: (..., 2) rows of the two groups.
        tail: chance that the largest difference, in one direction, exceeds it.
    """
    return np.asarray(np.sqrt(-np.log(tail) / 2 * (1.0 / np.asarray(rows, np.float64)).sum(axis=-1)))


def largest_upper_limit(
    ranks: Floats, rows: Floats, unions: GroupPairs | None, tail: float, inside: NDArray[np.bool_] | None = None
) -> Limits:
    """Return the largest pointwise upper limit of a gap over thresholds, and the largest gap.

    Args:
        ranks: (..., 2, B) share of each group above every threshold.
        rows: (2,) rows of each group.
        unions: interval on which shares are kept and rescaled; ``None`` for the shares themselves.
        tail: of the signed difference at one threshold.
        inside: (..., B) whether a threshold counts; by default all do.
    """
    intervals = (FULL, FULL) if unions is None else unions
    ends = [(ranks[..., k, :], *curve_limits(ranks[..., k, :], float(rows[k]), tail)) for k in (0, 1)]
    high = absolute_limits(*kept_gap(ends[0], ends[1], intervals))[1]
    gaps = np.abs(part_above(ends[0][0], intervals[0]) - part_above(ends[1][0], intervals[1]))
    if inside is not None:
        high, gaps = np.where(inside, high, 0.0), np.where(inside, gaps, 0.0)
    return high.max(axis=-1), gaps.max(axis=-1)


def may_lie_inside(ranks: Floats, rows: Floats, unions: GroupPairs, tail: float) -> NDArray[np.bool_]:
    """Tell at which thresholds (..., B) the rank of a group may lie in its interval, by its confidence limits."""
    inside = np.zeros((*ranks.shape[:-2], ranks.shape[-1]), bool)
    for k, pairs in enumerate(unions):
        low, high = curve_limits(ranks[..., k, :], float(rows[k]), tail)
        for start, end in pairs:
            inside |= (low < end) & (high >= start)
    return inside


def area_limits(ranks: Floats, rows: Floats, unions: GroupPairs, tail: float) -> Limits:
    """Return the limits of the chance that a kept row of the second group outranks one of the first, ties one half.

    The variance is that of the influence function: on all ranks DeLong's; on an interval a row outside of it counts as
    one at its end, as in a trimmed mean.

    Args:
        ranks: (..., 2, B) share of each group above every distinct score, descending.
        rows: (2,) rows of each group.
        unions: interval of each of the two.
        tail: of one end.
    """
    mass = [np.diff(ranks[..., k, :], axis=-1, append=1.0) for k in (0, 1)]
    kept_shares = [part_above(ranks[..., k, :], unions[k]) for k in (0, 1)]
    inside = [np.diff(shares, axis=-1, append=1.0) for shares in kept_shares]
    area = (inside[0] * (kept_shares[1] + 0.5 * inside[1])).sum(axis=-1)
    variances, degrees_of_freedom = [], []
    for k, rival in ((0, 1), (1, 0)):
        slope = np.where(
            mass[k] > 0, inside[k] / np.where(mass[k] > 0, mass[k], 1.0), _slope(ranks[..., k, :], unions[k])
        )
        step = slope * inside[rival]
        influence = np.cumsum(step, axis=-1) - 0.5 * step
        mean = (mass[k] * influence).sum(axis=-1, keepdims=True)
        spread = (mass[k] * (influence - mean) ** 2).sum(axis=-1)
        variances.append(spread / max(rows[k] - 1.0, 1.0))
        degrees_of_freedom.append(max(measure(unions[k]) * float(rows[k]) - 1.0, 1.0))
    variance = variances[0] + variances[1]
    fewest = min(measure(pairs) * float(size) for pairs, size in zip(unions, rows, strict=True))
    joint = sum(term**2 / df for term, df in zip(variances, degrees_of_freedom, strict=True))
    return limits_from_variance(area, variance, fewest, variance**2 / np.maximum(joint, 1e-300), tail)


def _slope(ranks: Floats, pairs: Pairs) -> Floats:
    """Return the share of an interval's kept rows per rank at a rank: one by its length inside, 0 outside."""
    inside = np.logical_or.reduce([(ranks >= low) & (ranks < high) for low, high in pairs])
    return np.where(inside, 1.0 / measure(pairs), 0.0)
