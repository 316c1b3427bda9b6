"""What the losses on pairs of a positive and a negative row share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.losses.base import Vector
from partialfair.errors import NotEstimableError
from partialfair.kernels.pair_sums import pair_hinge, pair_squared_hinge, sorted_pair_sum, top_weights

KERNELS = {"hinge": pair_hinge, "squared_hinge": pair_squared_hinge}
"""Surrogates of ``1[s_i < s_j]`` that fall as s_i - s_j rises: the largest terms are those of the top negatives."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows of each class: positive (n_+,) and negative (n_-,) row numbers."""

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]

    @classmethod
    def of(cls, y: Vector) -> "Classes":
        """Split labels y (n,) of -1 and +1.

        Raises:
            NotEstimableError: only one class is present.
        """
        classes = cls(np.flatnonzero(y > 0), np.flatnonzero(y <= 0))
        if not classes.positive.size or not classes.negative.size:
            raise NotEstimableError("all labels are equal; a loss on pairs of classes needs rows of both")
        return classes


def pair_loss(classes: Classes, scores: Vector, surrogate: str, top: int) -> tuple[float, Vector]:
    """Sum over positives i and the ``top`` highest negatives j of the surrogate, over n_+ n_-; O(n log n).

    It is the largest such sum over all choices of ``top`` negatives, since the surrogate grows with s_j: a largest
    of convex functions, hence convex.

    Returns:
        The value, and a subgradient by the scores (n,).
    """
    residual = np.zeros(scores.size)
    if top <= 0:
        return 0.0, residual
    negative = classes.negative[np.argsort(scores[classes.negative], kind="stable")]
    positive = classes.positive[np.argsort(scores[classes.positive], kind="stable")]
    weight, pairs = np.empty(negative.size), negative.size * positive.size
    top_weights(scores[negative], top, weight)
    ones = np.ones(positive.size)
    total, by_negative, by_positive = sorted_pair_sum(
        KERNELS[surrogate], scores[negative], weight, scores[positive], ones, 1.0
    )
    residual[negative], residual[positive] = by_negative / pairs, by_positive / pairs
    return total / pairs, residual
