"""By how much ranks in the population may differ from those of a sample, and what that means for a violation.

The scores of a group have the ranks F(t), the shares of its population above t. A sample of n rows with c of them above
t says of F(t), whatever the distribution, that it lies between U_(c) and U_(c+1), the order statistics of n uniform
numbers (with ties it is a wider statement than necessary). These do not depend on the scores. One draw of all order
statistics of all groups is therefore a draw of the population's violation

    V = max over t and ordered pairs (a, b) of groups of  C(U^a_(c_a + 1)) - C(U^b_(c_b)),

with ``C(u) = sum_j clip(u, alpha_j, beta_j) - alpha_j`` by the length of the interval, and a quantile of V bounds the
violation with that confidence. All thresholds and pairs stand inside one maximum, so that none of them needs a
correction. The bound reads the observed curve of counts alone, so it holds for increasing maps that were chosen on the
same rows: they change no rank.

Source: spacings of uniform order statistics are those of a Dirichlet distribution (David and Nagaraja, Order
Statistics, 2003, section 6.4); differences of a random walk's maximum on a grid and in continuous time are
``0.5826 sqrt(step)`` (Chernoff, 1965; Broadie, Glasserman and Kou, 1997).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import GroupPairs, Pairs, measure
from partialfair.metrics.ranks import Counts

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
DRAWS = 4000
"""Draws of the noise: the standard error of a 95% quantile is 1.4% of it."""
NODES = 256
"""Order statistics that are drawn of a group; those between them follow by straight lines."""
THRESHOLDS = 100
"""Thresholds at which a curve is read, evenly over the mean of the groups' ranks."""
OVERSHOOT = 0.5826
"""Of a random walk between the points of a grid, in standard deviations of a step: -zeta(1/2) / sqrt(2 pi)."""
SEED = 0


@dataclass(frozen=True, eq=False)
class RankNoise:
    """Draws of the order statistics of every group, for curves on an interval.

    Attributes:
        sizes: (G,) rows of the groups.
        unions: interval of each group.
        kappa_scale: "relative" to the length of the interval, or "absolute", where ranks count from which at least one
            of two groups' lies in the interval.
        span: ranks at which curves are read, the interval with three standard deviations at either end.
        indices: (J,) of each group, from 0 to n + 1.
        statistics: (J, B) of each group.
    """

    sizes: Ints
    unions: GroupPairs
    kappa_scale: str
    span: Pairs
    indices: list[Ints]
    statistics: list[Floats]

    @classmethod
    def draw(
        cls, sizes: Ints, unions: GroupPairs, kappa_scale: str, draws: int = DRAWS, seed: int = SEED
    ) -> "RankNoise":
        """Draw the noise of groups of ``sizes`` (G,); the same for the same seed."""
        random = np.random.default_rng(seed)
        span = _widened(unions, 3 / math.sqrt(int(sizes.min())))
        indices = [_nodes(int(size), span) for size in sizes]
        statistics = []
        for nodes in indices:
            # Sums of exponential numbers up to the nodes, over the sum of all n + 1, are uniform order statistics.
            steps = np.diff(nodes).astype(np.float32)[:, None]
            sums = np.cumsum(
                random.standard_gamma(steps, (nodes.size - 1, draws), np.float32), axis=0, dtype=np.float64
            )
            statistics.append(np.concatenate([np.zeros((1, draws)), sums / sums[-1]]).astype(np.float32))
        return cls(sizes, unions, kappa_scale, span, indices, statistics)

    def violations(self, counts: Counts) -> Floats:
        """Draws (B,) of the population's violation of scores with these counts; at most 1.

        What the grid of thresholds misses of a maximum is added.
        """
        above, step = self._thinned(counts)
        lows, highs = zip(*(self._statistics_at(k, above[k]) for k in range(self.sizes.size)), strict=True)
        missed = OVERSHOOT * math.sqrt(step * float((1 / np.sort(self.sizes)[:2]).sum()))
        pairs_of_groups = list(permutations(range(self.sizes.size), 2))
        if self.kappa_scale == "relative":
            shares = [
                tuple(_share_inside(ranks, pairs) / measure(pairs) for ranks in (low, high))
                for low, high, pairs in zip(lows, highs, self.unions, strict=True)
            ]
            gaps = [(shares[a][1] - shares[b][0]).max(axis=0) for a, b in pairs_of_groups]
            missed /= min(map(measure, self.unions))
        else:
            inside = [
                np.logical_or.reduce([(low < beta) & (high >= alpha) for alpha, beta in pairs]) | jump[:, None]
                for low, high, pairs, jump in zip(lows, highs, self.unions, self._jumps(counts, above), strict=True)
            ]
            gaps = [np.where(inside[a] | inside[b], highs[a] - lows[b], 0.0).max(axis=0) for a, b in pairs_of_groups]
        return np.asarray(np.clip(np.max(gaps, axis=0) + missed, 0.0, 1.0), np.float64)

    def bound(self, counts: Counts, confidence: float) -> float:
        """Return what the population's violation exceeds with a chance of ``1 - confidence``."""
        return upper_quantile(self.violations(counts), confidence)

    def _statistics_at(self, k: int, counts: Ints) -> tuple[Floats, Floats]:
        """Draws (T, B) of the two order statistics that bracket a group's ranks at counts (T,) of its rows."""
        nodes, statistics = self.indices[k], self.statistics[k]

        def interpolated(index: Ints) -> Floats:
            right = np.searchsorted(nodes, index).clip(1, nodes.size - 1)
            share = ((index - nodes[right - 1]) / (nodes[right] - nodes[right - 1])).astype(np.float32)[:, None]
            return np.asarray(statistics[right - 1] * (1 - share) + statistics[right] * share)

        return interpolated(counts), interpolated(counts + 1)

    def _thinned(self, counts: Counts) -> tuple[Ints, float]:
        """Counts (G, T) at some thresholds, and how far these lie apart in ranks; 0 if they are all inside the span."""
        above = counts.above
        ranks = above / counts.sizes[:, None]
        inside = np.logical_or.reduce([(ranks >= low) & (ranks <= high) for low, high in self.span]).any(axis=0)
        if not inside.any():  # ties carry the ranks of the span: all thresholds are read, and one below all scores
            above = np.column_stack([above, counts.sizes])
            ranks, inside = above / counts.sizes[:, None], np.ones(above.shape[1], np.bool_)
        columns = np.flatnonzero(_with_neighbours(inside))
        step = 0.0
        if columns.size > THRESHOLDS:
            joint = ranks[:, columns].mean(axis=0)
            targets, step = np.linspace(joint[0], joint[-1], THRESHOLDS, retstep=True)
            columns = columns[np.unique(np.searchsorted(joint, targets).clip(max=columns.size - 1))]
        return np.asarray(above[:, columns], np.int64), float(step)

    def _jumps(self, counts: Counts, above: Ints) -> list[NDArray[np.bool_]]:
        """Thresholds (T,) of each group between which rows of one score carry its rank over a part of its interval.

        As :func:`partialfair.metrics.ranks.rank_distance` has it, thresholds that part such rows count; no difference
        there is larger than at both ends of the jump.
        """
        jumps = []
        for above_of_group, read, size, pairs in zip(counts.above, above, counts.sizes, self.unions, strict=True):
            ranks, over = above_of_group / size, np.zeros(read.size, np.bool_)
            for alpha, beta in pairs:
                if not ((ranks >= alpha) & (ranks < beta)).any():
                    below = above_of_group[ranks < alpha].max(initial=0)
                    beyond = above_of_group[ranks >= beta].min(initial=int(size))
                    over |= (read == below) | (read == beyond)
            jumps.append(over)
        return jumps


def decision_violations(
    positive: Ints,
    sizes: Ints,
    unions: GroupPairs,
    kappa_scale: str,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Floats:
    """Draws (B,) of the population's largest gap of decisions, of thresholds that were chosen on the same rows.

    Args:
        positive: (S, G) rows with a positive decision, in every stratum of labels that is compared.
        sizes: (S, G) rows there.
        unions, kappa_scale: see :class:`RankNoise`.
        draws, seed: of the noise.
    """
    random = np.random.default_rng(seed)
    lower = random.standard_gamma(positive, (draws, *positive.shape))
    upper = lower + random.standard_gamma(1.0, lower.shape)
    total = upper + random.standard_gamma(sizes - positive, lower.shape)
    largest = np.zeros(draws)
    for stratum in range(len(positive)):
        low, high = lower[:, stratum] / total[:, stratum], upper[:, stratum] / total[:, stratum]
        high = np.where(positive[stratum] == sizes[stratum], 1.0, high)
        scale = [measure(pairs) if kappa_scale == "relative" else 1.0 for pairs in unions]
        for a, b in permutations(range(len(unions)), 2):
            gap = _share_inside(high[:, a], unions[a]) / scale[a] - _share_inside(low[:, b], unions[b]) / scale[b]
            largest = np.maximum(largest, gap)
    return largest


def upper_quantile(values: Floats, confidence: float) -> float:
    """Return the least of values (B,) that at least a share ``confidence`` of them does not exceed."""
    return float(np.quantile(values, confidence, method="inverted_cdf"))


def largest_passing(passes: Callable[[float], float], kappa: float, least: float, steps: int = 5) -> float | None:
    """Return a tolerance near the largest one at which a bound is within ``kappa``.

    Args:
        passes: the bound at a tolerance.
        kappa: what the bound may be at most.
        least: the bound at tolerance 0.
        steps: how many tolerances between 0 and kappa are tried.

    Returns:
        The largest tolerance tried whose bound is within kappa, 0 if only that is, ``None`` if nothing is.
    """
    if least > kappa:
        return None
    top = passes(kappa)
    if top <= kappa:
        return kappa
    low, high = (0.0, least), (kappa, top)
    for step in range(steps):
        # The bound grows by about as much as the tolerance; where it does not, halving goes on.
        line = low[0] + (kappa - low[1]) / (high[1] - low[1]) * (high[0] - low[0]) * 0.98
        tried = line if step % 2 == 0 else (low[0] + high[0]) / 2
        bound = passes(tried)
        low, high = ((tried, bound), high) if bound <= kappa else (low, (tried, bound))
    return low[0]


def _share_inside(shares: Floats, pairs: Pairs) -> Floats:
    """C(u): what of shares lies in a union."""
    return np.asarray(np.add.reduce([np.clip(shares, alpha, beta) - alpha for alpha, beta in pairs]))


def _widened(unions: GroupPairs, margin: float) -> Pairs:
    """Return the ranks of any group's interval, widened at either end within [0, 1]."""
    merged: list[tuple[float, float]] = []
    for alpha, beta in sorted(pair for pairs in unions for pair in pairs):
        low, high = max(alpha - margin, 0.0), min(beta + margin, 1.0)
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _spread(span: Pairs, count: int) -> Floats:
    """About ``count`` ranks, evenly over a union of intervals."""
    length = measure(span)
    pieces = [np.linspace(low, high, 2 + round(count * (high - low) / length)) for low, high in span]
    return np.concatenate(pieces)


def _nodes(size: int, span: Pairs) -> Ints:
    """Indices from 0 to n + 1 whose order statistics are drawn: all of few rows, and else those of the span."""
    if size <= NODES:
        return np.arange(size + 2)
    inner = np.rint(_spread(span, NODES) * size).astype(np.int64)
    return np.unique(np.concatenate([[0, 1, size, size + 1], inner]))


def _with_neighbours(columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the columns, and those beside them."""
    wider = columns.copy()
    wider[1:] |= columns[:-1]
    wider[:-1] |= columns[1:]
    return wider
