"""Accuracy of an algorithm's models at a level of fairness, and its difference between two algorithms.

At one seed, the models of an algorithm are joined by straight lines in the order of their fairness, as trade-off
figures draw them; a level has a value where the models on either side of it lie close together. No model is left out
for being less fair and less accurate than another one: it would be chosen on test rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.paired import Difference, paired_difference

LEVELS = 10
"""Levels of fairness at which two algorithms are compared."""
COVERED = 0.8
"""Share of the seeds at which both have models on either side of a level of fairness, for it to be compared."""
FAR = 0.1
"""Fairness between two neighbouring models beyond which nothing is said of the levels between them."""
CLOSE = 0.01
"""Accuracy between two neighbouring models beyond which nothing is said of the accuracies between them."""
EQUAL = 1e-12
Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Fairness and accuracy of some models, (m,) each."""


def accuracy_at(points: Points, levels: NDArray[np.floating]) -> NDArray[np.float64]:
    """Accuracy at levels of fairness, (k,), on the lines between neighbouring models; NaN outside their range.

    Models that are equally fair count with their mean.
    """
    return _on_lines(*points, levels)


def fairness_at(points: Points, levels: NDArray[np.floating]) -> NDArray[np.float64]:
    """Fairness at levels of accuracy, (k,), on the lines between models that lie no more than ``CLOSE`` apart.

    Above the most accurate model, that model's fairness: it may be as inaccurate as it is. NaN elsewhere.
    """
    fairness, accuracy = points
    by_level = np.where(_around(accuracy, levels, CLOSE), _on_lines(accuracy, fairness, levels), np.nan)
    if len(accuracy):
        most = accuracy.max()
        by_level[levels > most] = fairness[accuracy == most].mean()
    return by_level


def _on_lines(
    along: NDArray[np.floating], values: NDArray[np.floating], levels: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Values at levels along an axis, between neighbours on it; equal ones count with their mean."""
    if not len(along):
        return np.full(len(levels), np.nan)
    axis, position, count = np.unique(along, return_inverse=True, return_counts=True)
    means = np.bincount(position, values) / count
    return np.asarray(np.interp(levels, axis, means, left=np.nan, right=np.nan), np.float64)


@dataclass(frozen=True)
class Comparison:
    """Accuracy of a first algorithm minus that of a second one at levels of fairness both reach.

    Attributes:
        levels: (k,) fairness.
        differences: by level, paired over seeds.
        average: of the mean over the levels, paired over seeds.
        reach: smallest over the seeds of the largest fairness, of the first and of the second.
        reason: why there is no comparison; empty if there is one.
    """

    levels: NDArray[np.float64]
    differences: tuple[Difference, ...] = ()
    average: Difference | None = None
    reach: tuple[float, float] = (np.nan, np.nan)
    reason: str = ""

    def where(self, name: str) -> NDArray[np.float64]:
        """Levels at which the first is ``ahead`` or ``behind``, the whole interval on one side of 0."""
        return self.levels[[getattr(difference, name) for difference in self.differences]]


def compare(
    points_a: Mapping[int, Points], points_b: Mapping[int, Points], count: int = LEVELS, level: float = 0.95
) -> Comparison:
    """Compare two algorithms seed by seed on the range of fairness in which both were trained.

    The range begins and ends where both have models on either side of a level at ``COVERED`` of the seeds. Of the
    levels in it those are compared around which both have models that lie no more than ``FAR`` apart, again at
    ``COVERED`` of the seeds, and each at those seeds alone. Claims in words are decided at the same levels.

    Args:
        points_a, points_b: points by seed, without the unconstrained model, which neither has trained; seeds that one
            lacks are left out.
        count: number of equally spaced levels, of which the first and the last are the ends of the range; fewer are
            compared where models lie far apart.
        level: of the intervals.
    """
    seeds = sorted(points_a.keys() & points_b.keys())
    if len(seeds) < 2:
        return Comparison(np.empty(0), reason=f"{len(seeds)} seeds have runs of both; a paired test needs 2")
    pairs = [(points_a[seed], points_b[seed]) for seed in seeds]
    (low, high), reach = common_range(pairs), (_reach(points_a, seeds), _reach(points_b, seeds))
    if not low < high:
        ranges = " and ".join(_range_words([points[seed] for seed in seeds]) for points in (points_a, points_b))
        return Comparison(np.empty(0), reach=reach, reason=f"no level of fairness reached by both ({ranges})")
    levels, gains = covered(np.linspace(low, high, count), pairs)
    if not len(levels):
        reason = f"between fairness {low:.2f} and {high:.2f} no models of both lie within {FAR:g}"
        return Comparison(np.empty(0), reach=reach, reason=reason)
    differences = tuple(paired_difference(gains[:, k], np.zeros(len(gains)), level) for k in range(len(levels)))
    average = paired_difference(np.nanmean(gains, axis=1), np.zeros(len(gains)), level)
    return Comparison(levels, differences, average, reach)


def common_range(pairs: Sequence[tuple[Points, Points]]) -> tuple[float, float]:
    """Range of fairness inside which both were trained at ``COVERED`` of the seeds, from the models of both."""
    # per seed, the range that both methods' models span; the ends are those that COVERED of the seeds reach
    lows = sorted(max(float(np.nanmin(points_a[0])), float(np.nanmin(points_b[0]))) for points_a, points_b in pairs)
    highs = sorted(min(float(np.nanmax(points_a[0])), float(np.nanmax(points_b[0]))) for points_a, points_b in pairs)
    index = math.ceil(COVERED * len(pairs)) - 1
    return lows[index], highs[-1 - index]


def covered(
    levels: NDArray[np.float64], pairs: Sequence[tuple[Points, Points]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Levels at which both were trained at ``COVERED`` of the seeds, (k,), and the first's advantage there, (seeds, k).

    Seeds without any such level are left out.
    """
    gains = np.array([gain(*pair, levels) for pair in pairs])
    enough = (~np.isnan(gains)).mean(axis=0) >= COVERED - 1e-12
    gains = gains[:, enough]
    return levels[enough], gains[~np.isnan(gains).all(axis=1)]


def gain(points_a: Points, points_b: Points, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Advantage of the first at levels of fairness; NaN where one of the two was not trained around a level."""
    trained = _around(points_a[0], levels, FAR) & _around(points_b[0], levels, FAR)
    return np.where(trained, accuracy_at(points_a, levels) - accuracy_at(points_b, levels), np.nan)


def _around(along: NDArray[np.floating], levels: NDArray[np.floating], far: float) -> NDArray[np.bool_]:
    """Whether there are models on either side of a level, no more than ``far`` apart, or one at it."""
    models = np.sort(np.asarray(along, np.float64))
    if not models.size:
        return np.zeros(len(levels), bool)
    above = np.searchsorted(models, levels - EQUAL)  # the first model at the level or above
    inside = (above < models.size) & (levels >= models[0] - EQUAL)
    above_level = models[np.minimum(above, models.size - 1)]
    below_level = models[np.maximum(above - 1, 0)]
    return inside & ((above_level <= levels + EQUAL) | (above_level - below_level <= far + EQUAL))


def _range_words(points: Sequence[Points]) -> str:
    """Range of fairness of a method's models, median over seeds."""
    low, high = (float(np.median([pick(fair) for fair, _ in points])) for pick in (np.nanmin, np.nanmax))
    return f"{low:.2f} to {high:.2f}"


def _reach(points: Mapping[int, Points], seeds: Sequence[int]) -> float:
    """Fairness that is reached at every seed."""
    return float(min(np.nanmax(points[seed][0]) for seed in seeds))
