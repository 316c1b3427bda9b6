"""Maps of probabilities that lead to probabilities."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from partialfair.models.rank_map import RankMap

MIDDLE = 0.5
"""Probabilities up to this one, at which decisions are made, stay as the maps have them."""
ROOM = 1e-9
"""Below 1, for scores that are higher than any the maps were made on."""


def are_probabilities(scores: NDArray[np.float64]) -> bool:
    """Tell whether all scores lie in [0, 1]."""
    return bool(scores.min() >= 0 and scores.max() <= 1)


def within_unit(maps: RankMap) -> RankMap:
    """Return the maps, changed so that they take [0, 1] to [0, 1].

    A strictly increasing map rises a little where its scores share a value of the other groups, which can lead beyond
    1, and beyond its knots it has slope 1. What reads the scores then (a default threshold, say) takes them for
    log-odds. Values above one half are drawn down alike in all groups, which changes no rank, and each map ends in
    (0, 0) and (1, 1).
    """
    ends = maps.knot_starts[1:] - 1
    last_x, last_y = maps.knot_x[ends], maps.knot_y[ends]
    values, highest = maps.knot_y, float(last_y.max())
    if ((last_y > 1) | ((last_y == 1) & (last_x < 1))).any():
        values = np.where(values > MIDDLE, MIDDLE + (values - MIDDLE) * ((0.5 - ROOM) / (highest - MIDDLE)), values)
    xs, ys = [], []
    for low, high in zip(maps.knot_starts, maps.knot_starts[1:], strict=False):
        x, y = maps.knot_x[low:high], values[low:high]
        before = [0.0] if x[0] > 0 and y[0] > 0 else []
        after = [1.0] if x[-1] < 1 and y[-1] < 1 else []
        xs.append(np.concatenate([before, x, after]))
        ys.append(np.concatenate([before, y, after]))
    starts = np.concatenate([[0], np.cumsum([x.size for x in xs])]).astype(np.int64)
    return replace(maps, knot_starts=starts, knot_x=np.concatenate(xs), knot_y=np.concatenate(ys))
