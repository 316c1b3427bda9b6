"""Logistic loss ``mean log(1 + exp(-y score))``, the objective of the Partial fairness paper, section 7.1."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from partialfair.constraints.losses.base import ConvexLoss, Loss, Vector

LOSS = "logistic loss"


@dataclass(frozen=True, eq=False)
class Logistic(ConvexLoss):
    """``log(1 + exp(-y z))`` on labels y (n,) of -1 and +1."""

    y: Vector

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Mean loss, and its derivative by the scores (n,)."""
        margin = self.y * scores
        return float(np.logaddexp(0.0, -margin).mean()), -self.y * expit(-margin) / self.y.size


def build(y: Vector) -> Loss:
    """Build the loss for labels y (n,) of -1 and +1; it has no options."""
    return Logistic(y)
