"""Map each group's scores so that no threshold on an interval of ranks tells the groups apart by more than kappa.

Any scores may be mapped, of a linear model or of another one. A map is strictly increasing, so every group keeps its
own order; nothing is fitted again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import GroupPairs, Interval, Pairs, measure, require_rows
from partialfair.data.weights import rows_counted, whole_weights
from partialfair.errors import ConfigError
from partialfair.metrics import ranks
from partialfair.models.rank_map import RankMap

Vector = NDArray[np.float64]
KNOTS = 2048
"""At most so many knots per group: the map is exact to this share of the group's rows."""
OPENING = 0.95
"""How fast the tube opens outside the interval: below 1, so that maps increase strictly, for a plateau ties rows."""
NARROWINGS = 40
SHORTENED = 0.95
"""Of a half width, at most so much is kept by the next one: a gap that lies just above kappa would else keep all."""
USED = 0.9
"""A tube whose gap is this share of kappa is wide enough; below it, wider ones are tried, BISECTIONS at most."""
BISECTIONS = 8
LEAST_SLOPE = 1e-9
"""Of a map, where rows of all other groups share one score."""


@dataclass(frozen=True, eq=False)
class FittedMap:
    """Maps, and what they do to the rows they were made on.

    Attributes:
        mapping: the maps.
        scores: (n,) mapped scores.
        gap: the metric there: ``rank_gap`` on the absolute scale, ``sp`` on the relative one.
        least: that of the narrowest tube, below which no strictly increasing maps of these scores are known to lead;
            ``None`` where kappa was reached.
        tied: (share, group code) of the largest set of rows of one group with one score.
    """

    mapping: RankMap
    scores: Vector
    gap: float
    least: float | None
    tied: tuple[float, int]


def fit_rank_map(
    scores: Vector,
    group: NDArray[np.integer],
    group_names: tuple[str, ...],
    *,
    interval: Interval,
    kappa: float,
    kappa_scale: str = "absolute",
    padding: float | None = None,
    weights: Vector | None = None,
) -> FittedMap:
    """Make the maps whose largest gap on the interval is at most kappa on these rows.

    All groups are drawn towards their mean quantile function, weighted by size: group k's score at rank r is cut off
    at the mean's scores at ranks ``r + h`` and ``r - h`` with ``2 h = kappa``, so that no two groups' ranks differ by
    more than ``2 h`` at any threshold. Outside the interval the bounds open gradually. The gap is then measured, and h
    reduced by .55 of what exceeds kappa and by 5% at least (ties and the distance of knots add a little), up to
    :data:`NARROWINGS` times; after that h is 0. Where the first gap within kappa is below :data:`USED` of it, h is
    bisected between the last two. The widest of these tubes whose gap is within kappa is taken. Tied rows stay tied, so
    the gap jumps by a tie's share, and the widest tube may use less of kappa. Scores
    whose gap is within kappa as they are, or is not made smaller by any of these maps, stay as they are.

    Args:
        scores: (n,) finite scores.
        group: (n,) codes 0..G-1, every one of which occurs.
        group_names: names of the G groups.
        interval: ranks, the same for all groups.
        kappa: tolerance, positive.
        kappa_scale: "absolute", or "relative" to the length of the interval.
        padding: by how much the interval is widened at either end; by default one over the root of the smallest
            group's rows: on other rows its end lies elsewhere, and at its end the allowed difference jumps.
        weights: (n,) positive weights: a row counts in all ranks as so many; by default 1.

    Raises:
        ConfigError: intervals that differ between groups.
        NotEstimableError: the interval keeps fewer than 2 rows of some group.
    """
    n_groups = len(group_names)
    if interval.per_group and len(set(interval.unions)) > 1:
        raise ConfigError("rank maps need one interval for all groups; use solver='alm' for an interval per group")
    pairs = interval.first
    unions = Interval((pairs,)).for_groups(n_groups)
    gap_of = gap_measure(group, unions, kappa_scale, weights)
    counts = None if weights is None else whole_weights(weights)
    members = [group == k for k in range(n_groups)]
    quantiles = [_Quantiles.from_scores(scores[rows], None if counts is None else counts[rows]) for rows in members]
    sizes = np.array([group_quantiles.size for group_quantiles in quantiles])
    pad = 1 / np.sqrt(rows_counted(weights, group, n_groups).min()) if padding is None else padding
    length = measure(pairs) if kappa_scale == "relative" else 1.0
    # quantile functions of all groups are computed once; a tube of another half width only clips them anew
    tubes = _Tubes(quantiles, sizes / sizes.sum(), padded(pairs, pad))

    def tried(half: float) -> tuple[float, RankMap, Vector]:
        """The gap after the maps of a half width, the maps, and the mapped scores."""
        mapping = _joined(tubes.knots(half), group_names)
        mapped = mapping.apply(scores, group)
        return gap_of(mapped), mapping, mapped

    half = kappa * length / 2
    # the scores as they are come first: they stay where kappa is met already, or no map makes the gap smaller
    identical_maps = _unchanged(quantiles, group_names)
    best = (gap_of(unmapped := identical_maps.apply(scores, group)), identical_maps, unmapped)
    too_wide = half
    for taken in range(NARROWINGS + 1 if best[0] > kappa else 0):
        half = half if taken < NARROWINGS else 0.0
        gap, mapping, mapped = candidate = tried(half)
        best = min(best, candidate, key=itemgetter(0))
        if gap <= kappa or half == 0:
            break
        too_wide = half
        # h <- max(min(h - .55 (gap - kappa), .95 h), 0), gaps in shares of rows
        half = max(min(half - 0.55 * (gap - kappa) * length, SHORTENED * half), 0.0)
    # ties make the gap jump, so that a step may pass the widest tube within kappa by far: it lies between the last two
    for _ in range(BISECTIONS if half < too_wide else 0):
        if not best[0] < USED * kappa:
            break
        middle = (half + too_wide) / 2
        candidate = tried(middle)
        if candidate[0] <= kappa:
            half, best = middle, max(best, candidate, key=itemgetter(0))
        else:
            too_wide = middle
    tied = max((group_quantiles.largest_tie, k) for k, group_quantiles in enumerate(quantiles))
    return FittedMap(best[1], best[2], best[0], best[0] if best[0] > kappa else None, tied)


def gap_measure(
    group: NDArray[np.integer], unions: GroupPairs, kappa_scale: str, weights: Vector | None = None
) -> Callable[[Vector], float]:
    """The metric that kappa bounds, of scores of these rows, which may have weights (n,).

    Raises:
        NotEstimableError: when called, if the interval keeps fewer than 2 rows of some group.
    """
    metric = ranks.rank_distance if kappa_scale == "absolute" else ranks.kept_set_distance

    def gap(scores: Vector) -> float:
        counts = counts_of(scores, group, len(unions), weights)
        require_rows(unions, counts.sizes)
        return float(metric(counts.above, counts.sizes, unions))

    return gap


def counts_of(scores: Vector, group: NDArray[np.integer], n_groups: int, weights: Vector | None = None) -> ranks.Counts:
    """Rows of each group above every distinct score, where a row with a positive weight (n,) counts as so many."""
    if weights is None:
        return ranks.count_above(scores, group, n_groups)
    ranks.check_scores(scores, group, weights)
    # rows of each group at each distinct score, from the highest down; the sum before a level counts the rows above it
    _, level = np.unique(-scores, return_inverse=True)
    counts = np.zeros((n_groups, int(level.max()) + 1), np.int64)
    np.add.at(counts, (group, level), whole_weights(weights))
    sizes = counts.sum(axis=1)
    ranks.check_groups(sizes)
    return ranks.Counts(np.cumsum(counts, axis=1) - counts, sizes)


def padded(pairs: Pairs, below: float, above: float | None = None) -> Pairs:
    """Pairs of ranks widened at both ends within [0, 1], overlapping ones merged.

    Args:
        pairs: sorted disjoint pairs.
        below: by how much at the lower end; above: at the upper one, by default as much.
    """
    merged: list[tuple[float, float]] = []
    for alpha, beta in pairs:
        low, high = max(alpha - below, 0.0), min(beta + (below if above is None else above), 1.0)
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


@dataclass(frozen=True, eq=False)
class _Quantiles:
    """A group's scores by rank (0 = highest), linear between the distinct scores at the middle of their ranks."""

    size: int
    ranks: Vector  # ascending
    scores: Vector  # descending
    largest_tie: float

    @classmethod
    def from_scores(cls, scores: Vector, weights: NDArray[np.int64] | None = None) -> "_Quantiles":
        # a tie of c rows has ranks (k, k + c) / n; its score stands at their middle
        values, level, counts = np.unique(-scores, return_inverse=True, return_counts=True)
        if weights is not None:
            counts = np.zeros(values.size, np.int64)
            np.add.at(counts, level, weights)
        ends, size = np.cumsum(counts), int(counts.sum())
        return cls(size, (ends - counts / 2) / size, -values, float(counts.max()) / size)

    def at_ranks(self, ranks: Vector) -> Vector:
        return np.asarray(np.interp(ranks, self.ranks, self.scores))

    def knots(self) -> Vector:
        """Ranks of the knots: of all distinct scores, or of those nearest to equal steps of rank."""
        if self.ranks.size <= KNOTS:
            return self.ranks
        last = self.ranks.size - 1
        positions = np.searchsorted(self.ranks, np.linspace(0, 1, KNOTS)[1:-1]).clip(max=last)
        return self.ranks[np.unique(np.concatenate([[0], positions, [last]]))]


@dataclass(frozen=True, eq=False)
class _Tubes:
    """The tubes around the mean quantile function for any half width."""

    quantiles: list[_Quantiles]
    weights: Vector
    pairs: Pairs

    def mean(self, ranks: Vector) -> Vector:
        return np.asarray(
            sum(w * quantile.at_ranks(ranks) for w, quantile in zip(self.weights, self.quantiles, strict=True))
        )

    def knots(self, half: float) -> list[tuple[Vector, Vector]]:
        """Knots (x, y) of every group, ascending."""
        knots = []
        for quantile in self.quantiles:
            ranks = quantile.knots()
            # the tube of group k: mean(r + down) <= y(r) <= mean(r - up), with the mean quantile function of all groups
            down, up = self._widths(ranks, half)
            low = np.where(ranks + down >= 1, -np.inf, self.mean(ranks + down))
            high = np.where(ranks - up <= 0, np.inf, self.mean(ranks - up))
            x = quantile.at_ranks(ranks)
            knots.append((x[::-1], _increasing(x[::-1], np.clip(x, low, high)[::-1])))
        return knots

    def _widths(self, ranks: Vector, half: float) -> tuple[Vector, Vector]:
        """By how much lower and higher ranks the scores at ``ranks`` may be taken.

        A threshold counts if either group's rank is in the interval, hence the different places where the two open.
        """
        # distance of a rank from the interval (negative inside), beyond which the tube opens at the rate OPENING
        outside_up = [np.maximum(a - ranks, ranks - b - 2 * half) for a, b in self.pairs]
        outside_down = [np.maximum(a - 2 * half - ranks, ranks - b) for a, b in self.pairs]
        up, down = (np.maximum(np.min(widths, axis=0), 0.0) for widths in (outside_up, outside_down))
        return half + OPENING * down, half + OPENING * up


def _increasing(x: Vector, y: Vector) -> Vector:
    """The least strictly increasing values that are not below ``y``, for strictly increasing ``x``."""
    # running maximum of y minus a tiny line, plus that line: non-decreasing becomes strictly increasing
    slope = LEAST_SLOPE * np.arange(1.0, x.size + 1) * (float(np.ptp(x)) or 1.0)
    return np.asarray(np.maximum.accumulate(y - slope) + slope)


def _unchanged(quantiles: list[_Quantiles], group_names: tuple[str, ...]) -> RankMap:
    """Maps with each group's lowest and highest score as knots, which leave every score alone."""
    ends = [np.unique(quantile.scores[[-1, 0]]) for quantile in quantiles]
    return _joined([(x, x) for x in ends], group_names)


def _joined(knots: list[tuple[Vector, Vector]], group_names: tuple[str, ...]) -> RankMap:
    """One model of the knots of all groups."""
    starts = np.concatenate([[0], np.cumsum([x.size for x, _ in knots])]).astype(np.int64)
    return RankMap(group_names, starts, np.concatenate([x for x, _ in knots]), np.concatenate([y for _, y in knots]))
