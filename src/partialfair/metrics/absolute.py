"""Absolute readings of the partial metrics: differences of shares of whole groups, not divided by lengths of I.

They belong to constraints with ``kappa_scale: absolute``, as ``rank_gap`` and ``dp_gap`` do.
"""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import GroupPairs, measure
from partialfair.metrics import ranks
from partialfair.metrics.partial import parity_of_label, ranked
from partialfair.metrics.registry import Metric


@guards.of_rows
def gauc_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """GAUC^I times the lengths of both intervals: a share of all pairs of the two groups."""
    counts, unions = ranked(scores, group, interval)
    return float(_pairs_of_groups(counts.above, counts.sizes, unions))


@guards.of_rows
def eop_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """``dp_gap`` among the rows with label +1."""
    return parity_of_label(scores, y, group, interval, threshold, label=1, normalise=False)


@guards.of_rows
def eod_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return the larger of ``dp_gap`` among the rows with label +1 and among those with label -1."""
    return max(parity_of_label(scores, y, group, interval, threshold, label, normalise=False) for label in (1, -1))


def _pairs_of_groups(above: NDArray, sizes: NDArray, unions: GroupPairs) -> NDArray:
    """Return the distance from 1/2 of each pair of groups times the lengths of their intervals; the largest."""
    gaps = []
    for pair in combinations(range(len(unions)), 2):
        pair_unions = (unions[pair[0]], unions[pair[1]])
        share = ranks.kept_set_auc(above[..., list(pair), :], sizes[list(pair)], pair_unions)
        gaps.append(share * measure(pair_unions[0]) * measure(pair_unions[1]))
    return ranks.largest([np.asarray(gap) for gap in gaps])


METRICS = {
    "gauc_gap": Metric(
        gauc_gap,
        "group AUC gap within I, absolute scale",
        replicate=lambda s: _pairs_of_groups(s.above, s.group_sizes, s.interval),
    ),
    "eop_gap": Metric(
        eop_gap,
        "equal opportunity gap within I, absolute scale",
        replicate=lambda s: ranks.rate_distance(s.rates(1), s.interval, False),
    ),
    "eod_gap": Metric(
        eod_gap,
        "equalised odds gap within I, absolute scale",
        replicate=lambda s: ranks.largest([ranks.rate_distance(s.rates(k), s.interval, False) for k in (0, 1)]),
    ),
}
