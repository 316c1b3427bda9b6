"""Partial AUC loss: the AUC loss over the negatives whose rank, the false positive rate, lies on an interval.

With the negatives sorted by score, ``sum over a < j <= b`` of the pair surrogates is the sum over the b highest
negatives minus that over the a highest. Both are convex (see
:func:`partialfair.constraints.losses.pairs.pair_loss`), so the
loss is a difference of convex functions; it is convex itself if the interval begins at 0.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from partialfair.constraints.losses.base import Loss, Vector
from partialfair.constraints.losses.pairs import KERNELS, Classes, pair_loss
from partialfair.data.intervals import Interval, Pairs, bounds, format_interval
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.plugins import did_you_mean

LOSS = "pairwise partial AUC loss"


@dataclass(frozen=True, eq=False)
class PartialAUC:
    """Mean over the pairs of a positive and a kept negative; ``ranges`` (P, 2) are positions among the negatives."""

    free_intercept: ClassVar[bool] = True
    classes: Classes
    surrogate: str
    ranges: np.ndarray

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Sums over the negatives above each upper end."""
        return self._sums(scores, self.ranges[:, 1])

    def concave(self, scores: Vector) -> tuple[float, Vector]:
        """Sums over the negatives above each lower end."""
        return self._sums(scores, self.ranges[:, 0])

    def _sums(self, scores: Vector, ends: np.ndarray) -> tuple[float, Vector]:
        scale = self.classes.negative.size / int(np.diff(self.ranges).sum())
        sums = [pair_loss(self.classes, scores, self.surrogate, int(end)) for end in ends]
        return scale * sum(value for value, _ in sums), scale * np.sum([residual for _, residual in sums], axis=0)


def build(y: Vector, fpr: Any = ((0.0, 0.3),), surrogate: str = "hinge") -> Loss:
    """Build the loss for labels y (n,) of -1 and +1.

    Args:
        y: labels.
        fpr: interval of false positive rates, or a union of disjoint ones.
        surrogate: "hinge" or "squared_hinge". The quadratic one is no option: it does not fall as a positive
            rises above a negative, so the sum over the top negatives would not be convex.

    Raises:
        ConfigError: an unknown surrogate, or not an interval.
        NotEstimableError: only one class is present, or the interval holds no negative.
    """
    if surrogate not in KERNELS:
        raise ConfigError(f"loss partial_auc: surrogate is {surrogate!r}; {did_you_mean(str(surrogate), KERNELS)}")
    rates = Interval.of(fpr)
    if rates.per_group:
        raise ConfigError(f"loss partial_auc: fpr is {fpr!r}, one interval per group; give pairs for all negatives")
    classes = Classes.of(y)
    return PartialAUC(classes, surrogate, _positions(rates.first, classes.negative.size))


def _positions(pairs: Pairs, n_negatives: int) -> np.ndarray:
    """Positions of the kept negatives as half-open ranges (P, 2)."""
    ranges = bounds(pairs, n_negatives)
    if not np.diff(ranges).sum():
        raise NotEstimableError(
            f"loss partial_auc: fpr {format_interval(pairs)} holds none of the {n_negatives} negatives; widen it"
        )
    return ranges
