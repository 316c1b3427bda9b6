"""Hinge loss ``mean max(1 - y score, 0)``, that of support vector machines."""

from dataclasses import dataclass

import numpy as np

from partialfair.constraints.losses.base import ConvexLoss, Loss, Vector

LOSS = "hinge loss"


@dataclass(frozen=True, eq=False)
class Hinge(ConvexLoss):
    """``max(0, 1 - y z)`` on labels y (n,) of -1 and +1."""

    y: Vector

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Mean loss, and a subgradient by the scores (n,): 0 at the kink."""
        slack = 1.0 - self.y * scores
        return float(np.maximum(slack, 0.0).mean()), np.where(slack > 0, -self.y, 0.0) / self.y.size


def build(y: Vector) -> Loss:
    """Build the loss for labels y (n,) of -1 and +1; it has no options."""
    return Hinge(y)
