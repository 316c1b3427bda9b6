"""What a loss of the general path must do."""

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Loss(Protocol):
    """An objective ``f0 = convex part - concave part`` of the scores, for fixed labels.

    A module of this folder binds ``LOSS`` to a title and offers ``build(y, **options)``, which returns such an
    object for labels y (n,) of -1 and +1. Both parts are convex functions of the scores; a loss that is convex
    itself has the concave part zero.

    Attributes:
        free_intercept: whether a constant added to all scores leaves the loss as it is, so that somebody else has
            to choose it.
    """

    free_intercept: ClassVar[bool]

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Value of the convex part, and a subgradient by the scores (n,)."""
        ...

    def concave(self, scores: Vector) -> tuple[float, Vector]:
        """Value of the part that is subtracted, and a subgradient by the scores (n,)."""
        ...


class ConvexLoss:
    """Base of losses that are convex in the scores: nothing is subtracted."""

    free_intercept: ClassVar[bool] = False

    def concave(self, scores: Vector) -> tuple[float, Vector]:
        """Value 0 and derivative 0 (n,): nothing is subtracted."""
        return 0.0, np.zeros(scores.size)


def evaluate(loss: Loss, scores: Vector) -> tuple[float, Vector]:
    """Value of f0 and its derivative by the scores (n,)."""
    convex, by_convex = loss.convex(scores)
    concave, by_concave = loss.concave(scores)
    return convex - concave, by_convex - by_concave
