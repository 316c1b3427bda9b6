"""Increasing maps, one per group, that bring groups' predictions within a Kolmogorov-Smirnov distance at least cost.

Two distributions lie at most eps apart if and only if ``Q_s(u) <= Q_r(u + eps)`` for both orders of their quantile
functions and all u. Mean squared change of the predictions is ``sum_s p_s int (Q_s - m_s)^2`` for quantile functions
m_s before and Q_s after, so the best maps solve an isotonic regression. Its solution separates over levels: with

    c(u) = argmin_c sum_s p_s (max(m_s(u) - c, 0)^2 + max(c - m_s(u + eps), 0)^2),

``Q_s(u) = min(max(m_s(u), c(u - eps)), c(u))``: a prediction is moved only where it crosses the curve. For eps = 0 this
is the Wasserstein barycentre (Chzhen, Denis, Hebiri, Oneto and Pontil, NeurIPS 2020; Le Gouic, Loubes and Rigollet
2020). For the relaxation: c increases, because the m_s do, so every Q_s is increasing and within the bounds; and any
feasible Q has a curve between ``max_s Q_s(u)`` and ``min_s Q_s(u + eps)``, whose cost is at least that of c.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
LEVELS = 4096
"""Quantiles that are kept of a group."""
HALVINGS = 60
SAME = 1e-9
"""Predictions that differ by less than this share of their range are the same number."""


@dataclass(frozen=True, eq=False)
class QuantileMaps:
    """Maps of all groups.

    Attributes:
        sizes: (K,) rows that the quantiles were taken of.
        quantiles: (K, M) predictions at the levels (j + 1/2) / M.
        slack: largest distance between two groups.
        curve: (M,) c at M levels from 0 to 1 - slack.
    """

    sizes: NDArray[np.int64]
    quantiles: Vector
    slack: float
    curve: Vector

    @classmethod
    def fit(
        cls, values: Vector, codes: NDArray[np.integer], groups: int, slack: float, before: "QuantileMaps | None" = None
    ) -> "QuantileMaps":
        """Make the maps from predictions (n,) and group codes (n,), and from those that others were made of before.

        The slack that is used is less by half a row of the two smallest groups, so that the bound holds for the rows to
        within a row's share (measured: .0500295 of three groups of 1,500 rows in all at .05).
        """
        sizes = np.bincount(codes, minlength=groups) + (0 if before is None else before.sizes)
        old = [None if before is None else (before.quantiles[k], int(before.sizes[k])) for k in range(groups)]
        quantiles = np.stack([_quantiles(values[codes == k], old[k]) for k in range(groups)])
        # eps less half of what a row of either of the two smallest groups weighs, together
        used = min(1.0, max(0.0, slack - _grain(sizes) / 2))
        return cls(sizes, quantiles, used, _curve(quantiles, sizes / sizes.sum(), used))

    @property
    def grain(self) -> float:
        """A row's share of each of the two smallest groups, together: no distance is met more finely."""
        return _grain(self.sizes)

    @property
    def distance(self) -> float:
        """Largest distance between two groups' predictions before they are mapped."""
        groups, levels = self.quantiles.shape
        return weighted_distance(self.quantiles.ravel(), np.repeat(np.eye(groups), levels, axis=0))

    def apply(self, values: Vector, codes: NDArray[np.integer], lots: Vector) -> Vector:
        """Mapped predictions (n,); a lot (n,) from [0, 1) places a row among those of its group with the same one."""
        places = np.linspace(0.0, 1.0 - self.slack, self.curve.size)
        out = np.empty(len(values))
        for k, group_quantiles in enumerate(self.quantiles):
            rows = np.flatnonzero(codes == k)
            # Q_s(u) = min(max(m_s(u), c(u - eps)), c(u)); c is not defined beyond its ends, where nothing is cut
            ranks = _ranks(values[rows], group_quantiles, lots[rows])
            upper = np.where(ranks <= 1.0 - self.slack, np.interp(ranks, places, self.curve), np.inf)
            lower = np.where(ranks >= self.slack, np.interp(ranks - self.slack, places, self.curve), -np.inf)
            out[rows] = np.clip(values[rows], lower, upper)
        return out


def even_lots(values: Vector, codes: NDArray[np.integer]) -> Vector:
    """Lots (n,) that place rows of a group with equal predictions at even distances, as draws do on average."""
    order = np.lexsort((values, codes))
    near = SAME * max(float(np.ptp(values)), np.finfo(np.float64).tiny)
    new = np.append(True, (np.diff(values[order]) > near) | (np.diff(codes[order]) != 0))
    starts = np.flatnonzero(new)
    count = np.diff(np.append(starts, values.size))
    lots = np.empty(values.size)
    lots[order] = (np.arange(values.size) - np.repeat(starts, count) + 0.5) / np.repeat(count, count)
    return lots


def _grain(sizes: NDArray[np.int64]) -> float:
    return float((1.0 / np.sort(sizes)[:2]).sum())


def weighted_distance(values: Vector, weights: Vector) -> float:
    """Largest Kolmogorov-Smirnov distance between the distributions of values (n,) under weights (n, K)."""
    # weighted distribution functions (n, K) at the last row of every tie; their largest range is the distance
    order = np.argsort(values, kind="stable")
    last = np.append(np.diff(values[order]) > 0, True)
    shares = np.cumsum(weights[order], axis=0)[last] / weights.sum(axis=0)
    return float((shares.max(axis=1) - shares.min(axis=1)).max())


def sampling_band(sizes: Sequence[int] | NDArray[np.integer]) -> float:
    """Distance that samples of these sizes of one distribution exceed in 5% of draws, for the two smallest.

    Source: Kolmogorov's limit distribution, whose 95% quantile is 1.358; for large samples; at most 1.
    """
    return min(1.0, float(1.358 * np.sqrt((1.0 / np.sort(np.asarray(sizes, np.float64))[:2]).sum())))


def _quantiles(values: Vector, before: tuple[Vector, int] | None) -> Vector:
    """Quantiles at :data:`LEVELS` levels of values, and of earlier ones known by their own quantiles."""
    weights = np.ones(len(values))
    if before is not None and before[1]:
        values = np.concatenate([values, before[0]])
        weights = np.concatenate([weights, np.full(len(before[0]), before[1] / len(before[0]))])
    order = np.argsort(values, kind="stable")
    middle = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return np.interp((np.arange(LEVELS) + 0.5) / LEVELS, middle, values[order])


def _curve(quantiles: Vector, shares: Vector, slack: float) -> Vector:
    """Levels c (M,) where the derivative of the cost, which increases in c, changes its sign."""
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    places = np.linspace(0.0, 1.0 - slack, LEVELS)
    # m_s(u) and m_s(u + eps), (K, M)
    mapped = np.stack([np.interp(places, levels, group_quantiles) for group_quantiles in quantiles])
    mapped_above = np.stack([np.interp(places + slack, levels, group_quantiles) for group_quantiles in quantiles])
    low, high = mapped.min(axis=0), mapped_above.max(axis=0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # half the derivative by c of sum_s p_s (max(m_s(u) - c, 0)^2 + max(c - m_s(u + eps), 0)^2), for all levels at
        # once
        slope = shares @ (np.maximum(middle - mapped_above, 0.0) - np.maximum(mapped - middle, 0.0))
        low, high = np.where(slope > 0, low, middle), np.where(slope > 0, middle, high)
    return np.asarray((low + high) / 2)


def _ranks(values: Vector, quantiles: Vector, lots: Vector) -> Vector:
    """Levels (n,) of values in a group: by the straight line between two quantiles, by lot among equal ones."""
    near = SAME * max(float(quantiles[-1] - quantiles[0]), np.finfo(np.float64).tiny)
    level_starts = np.flatnonzero(np.append(True, np.diff(quantiles) > near))
    last = np.append(level_starts[1:], quantiles.size) - 1
    levels = (np.arange(quantiles.size) + 0.5) / quantiles.size
    points = quantiles[level_starts]
    nearest = np.searchsorted(points, values - near).clip(max=points.size - 1)
    equal = np.abs(points[nearest] - values) <= near
    ends = np.stack([quantiles[level_starts], quantiles[last]], axis=1).ravel()
    line = np.interp(values, ends, np.stack([levels[level_starts], levels[last]], axis=1).ravel())
    low, high = levels[level_starts[nearest]], levels[last[nearest]]
    return np.asarray(np.where(equal, low + lots * (high - low), line))
