r"""AUC loss: mean over all pairs (positive i, negative j) of a surrogate of ``1[s_i < s_j]``.

The surrogates of the difference x = s_i - s_j: ``quadratic`` (1 - x)^2, ``hinge`` max(1 - x, 0),
``squared_hinge`` max(1 - x, 0)^2. All are convex. The quadratic one follows from means and variances of the two
classes, in linear time::

    mean (1 - s_i + s_j)^2 = (1 - m_+ + m_-)^2 + v_+ + v_-,

the others take a sort. The loss does not change if a constant is added to all scores, so it leaves the intercept
open; the general path then places it where the share of positive decisions is that of the positive labels, if the
constraints leave it open, too.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partialfair.constraints.losses.base import ConvexLoss, Loss, Vector
from partialfair.constraints.losses.pairs import KERNELS, Classes, pair_loss
from partialfair.errors import ConfigError
from partialfair.plugins import did_you_mean

LOSS = "pairwise AUC loss"


@dataclass(frozen=True, eq=False)
class QuadraticAUC(ConvexLoss):
    """The loss with the quadratic surrogate."""

    free_intercept: ClassVar[bool] = True
    classes: Classes

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Mean over pairs, and its derivative by the scores (n,)."""
        # f = (1 - m_+ + m_-)^2 + v_+ + v_-;  df/ds_i = 2 (s_i - m_+ - gap) / n_+,  df/ds_j = 2 (s_j - m_- + gap) / n_-
        positive, negative = scores[self.classes.positive], scores[self.classes.negative]
        gap = 1.0 - positive.mean() + negative.mean()
        residual = np.empty(scores.size)
        residual[self.classes.positive] = (positive - positive.mean() - gap) * (2 / positive.size)
        residual[self.classes.negative] = (negative - negative.mean() + gap) * (2 / negative.size)
        return float(gap**2 + positive.var() + negative.var()), residual


@dataclass(frozen=True, eq=False)
class HingeAUC(ConvexLoss):
    """The loss with the hinge or the squared hinge."""

    free_intercept: ClassVar[bool] = True
    classes: Classes
    surrogate: str

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Mean over pairs, and a subgradient by the scores (n,)."""
        return pair_loss(self.classes, scores, self.surrogate, self.classes.negative.size)


def build(y: Vector, surrogate: str = "quadratic") -> Loss:
    """Build the loss for labels y (n,) of -1 and +1.

    Raises:
        ConfigError: an unknown surrogate.
        NotEstimableError: only one class is present.
    """
    valid = ("quadratic", *KERNELS)
    if surrogate not in valid:
        raise ConfigError(f"loss auc: surrogate is {surrogate!r}; {did_you_mean(str(surrogate), valid)}")
    classes = Classes.of(y)
    return QuadraticAUC(classes) if surrogate == "quadratic" else HingeAUC(classes, surrogate)
