"""Ends of the confidence interval of a violation between two groups, of one sample or of many at once."""

import numpy as np
from numpy.typing import NDArray

from partialfair.audit import confidence_limits
from partialfair.data.intervals import FULL, GroupPairs, measure
from partialfair.metrics.ranks import compared_ranks
from partialfair.metrics.resampling import Replicates

Floats = NDArray[np.float64]
THRESHOLDS = 1000
"""Thresholds at which the upper end of a largest difference is taken; what this misses of the estimate is added."""
LEAST_KEPT = 18
"""Rows of a group that a part of the ranks has to keep for an interval of an area there.

Of two kept sets of 9 or 12 rows that lie apart in the population, 89 to 93 of 100 intervals held the true value; of 18
rows, 96.
"""
LABELS: dict[str, tuple[int | None, ...]] = {"eop": (1,), "eod": (1, 0)}
"""Labels (indexes) among whose rows decisions are compared; of other metrics, all rows."""


def violation_ends(
    name: str, replicates: Replicates, value: Floats, effective: Floats, tail: float, comparisons: int
) -> tuple[Floats, Floats, Floats]:
    """Return the lower and upper end, and the lower end corrected for the number of pairs, each (R,).

    All are NaN where too few rows are left to say anything.

    Args:
        name: of the metric, without the ending of the whole range.
        replicates: R samples of two groups.
        value: (R,) estimates.
        effective: (2, 3) rows of each group with the negative label, with the positive one, and in all.
        tail: chance of a miss on one side.
        comparisons: number of pairs among which the largest violation is taken.
    """
    tails = (tail, tail / comparisons)
    if name in ("sp", "rank_gap"):
        lows, high = _rank_ends(name, replicates, value, effective[:, 2], tails)
    elif name == "gauc" and _too_few(replicates.interval, effective):
        undefined = np.full(len(value), np.nan)
        return undefined, undefined, undefined
    elif name == "gauc":
        ranks = thinned(replicates.above / replicates.group_sizes[:, None])
        ends = [
            confidence_limits.folded(
                *(
                    end - 0.5
                    for end in confidence_limits.area_limits(ranks, effective[:, 2], replicates.interval, chance)
                )
            )
            for chance in tails
        ]
        lows, high = [low for low, _ in ends], ends[0][1]
    else:
        labels = LABELS.get(name, (None,))
        # The larger of two gaps is a largest one of twice as many.
        lows = [
            np.maximum.reduce([_decision(name, replicates, effective, k, chance / len(labels))[0] for k in labels])
            for chance in tails
        ]
        high = np.maximum.reduce([_decision(name, replicates, effective, k, tail)[1] for k in labels])
    low, corrected = (np.minimum(low_end, value) for low_end in lows)
    return low, np.maximum(high, value), corrected


def _too_few(interval: GroupPairs, effective: Floats) -> bool:
    """Tell whether a part of the ranks keeps too few rows of a group for the interval of an area."""
    kept_rows = [measure(pairs) * rows for pairs, rows in zip(interval, effective[:, 2], strict=True)]
    return any(pairs != FULL for pairs in interval) and min(kept_rows) < LEAST_KEPT - 1e-9


def _decision(
    name: str, replicates: Replicates, effective: Floats, label: int | None, tail: float
) -> tuple[Floats, Floats]:
    """Return the ends of the gap of decisions among all rows or those of a label."""
    rows = effective[:, 2 if label is None else label]
    return confidence_limits.decision_gap(
        replicates.rates(label), rows, replicates.interval, tail, normalise=name != "dp_gap"
    )


def _rank_ends(
    name: str, replicates: Replicates, value: Floats, rows: Floats, tails: tuple[float, float]
) -> tuple[list[Floats], Floats]:
    """Return the lower ends, one for each tail, and the upper end of a largest difference over thresholds."""
    shortest = min(map(measure, replicates.interval)) if name == "sp" else 1.0
    lows = [np.maximum(0.0, value - confidence_limits.critical_process(rows, chance) / shortest) for chance in tails]
    ranks = thinned(replicates.above / replicates.group_sizes[:, None])
    if name == "sp":
        high, seen = confidence_limits.largest_high(ranks, rows, replicates.interval, tails[0])
    else:
        inside = confidence_limits.may_lie_inside(ranks, rows, replicates.interval, tails[0])
        if len(replicates.above) == 1:
            # The last of those compared are thresholds that part rows of one score, two for each part of an interval.
            parted = compared_ranks(replicates.above[0], replicates.group_sizes, replicates.interval)
            parted = parted[:, -2 * sum(map(len, replicates.interval)) :]
            ranks = np.concatenate([ranks, parted[None]], axis=-1)
            inside = np.concatenate([inside, np.ones((1, parted.shape[1]), bool)], axis=-1)
        high, seen = confidence_limits.largest_high(ranks, rows, None, tails[0], inside)
    return lows, np.minimum(1.0, high + np.maximum(0.0, value - seen))


def thinned(ranks: Floats) -> Floats:
    """About as many of the thresholds (..., 2, B) of one sample as are needed, evenly over both groups' rows."""
    if ranks.shape[-1] <= 2 * THRESHOLDS or ranks.size > 2 * ranks.shape[-1]:
        return ranks
    joint = ranks.reshape(2, -1).sum(axis=0)
    thresholds = np.unique(np.searchsorted(joint, np.linspace(joint[0], joint[-1], THRESHOLDS)))
    return np.asarray(ranks[..., thresholds])
