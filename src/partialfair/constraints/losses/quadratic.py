"""Quadratic loss ``mean (1 - y score)^2``, which is least squares on labels of -1 and +1."""

from dataclasses import dataclass

from partialfair.constraints.losses.base import ConvexLoss, Loss, Vector

LOSS = "quadratic loss"


@dataclass(frozen=True, eq=False)
class Quadratic(ConvexLoss):
    """``(1 - y z)^2`` on labels y (n,) of -1 and +1."""

    y: Vector

    def convex(self, scores: Vector) -> tuple[float, Vector]:
        """Mean loss, and its derivative by the scores (n,)."""
        slack = 1.0 - self.y * scores
        return float((slack**2).mean()), -2.0 * self.y * slack / self.y.size


def build(y: Vector) -> Loss:
    """Build the loss for labels y (n,) of -1 and +1; it has no options."""
    return Quadratic(y)
