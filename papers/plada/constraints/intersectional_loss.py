"""Intersectional loss: the mean over groups of how far a group's mean hinge loss exceeds that of all rows is bounded.

Source: PLADA paper, equation (18): ``(1/K) sum_g [mean of l over group g - mean of l over all rows] <= eps`` with
``l = max(0, 1 - y f(x))``. It is one signed mean, so that a good group can pay for a bad one. Groups may overlap; those
that are columns of a table (``in_group:...``) are known to the algorithms for networks, the groups of the table serve
here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.parts import LossConstraints, Parts, Vector
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.intervals import Interval, for_groups
from partialfair.errors import NotEstimableError

TITLE = "intersectional loss"
VIOLATION = {"absolute": "group_error_excess", "relative": "group_error_excess"}
FUSED = False


@dataclass(frozen=True, eq=False)
class IntersectionalLoss(LossConstraints):
    """The constraint ``<v, l> - slack <= 0`` on fixed rows; no indicator occurs, so no surrogate is needed.

    Attributes:
        weight: (n,) v, of either sign.
        y: (n,) labels.
        slack: tolerance.
    """

    weight: Vector
    y: Vector
    slack: float

    @property
    def labels(self) -> tuple[str, ...]:
        """Name of the constraint."""
        return (f"mean over groups of loss of group - loss of all rows <= {self.slack:.4g}",)

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Rows of positive weight make the convex part, the others and the slack the concave part."""
        # <v, l> = <max(v, 0), l> - <max(-v, 0), l>, both convex in the scores (PLADA paper, equation (18))
        loss, slope = hinge(scores, self.y)
        up, down = np.maximum(self.weight, 0), np.maximum(-self.weight, 0)

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            return (a[0] * up + b[0] * down) * slope, np.zeros(0)

        return Parts(np.array([up @ loss]), np.array([down @ loss + self.slack]), pull_back)


def hinge(scores: Vector, y: Vector) -> tuple[Vector, Vector]:
    """``max(0, 1 - y s)`` and its derivative by s, elementwise; 0 at the kink."""
    loss = np.maximum(0.0, 1.0 - y * scores)
    return loss, np.where(loss > 0, -y, 0.0)


def row_weights(members: NDArray[np.bool_]) -> Vector:
    """``v_i = (1/K) sum_g 1[i in g] / N_g - 1/N``, (n,), of memberships (K, n).

    Raises:
        NotEstimableError: a group has no rows.
    """
    sizes = members.sum(axis=1)
    if not sizes.all():
        raise NotEstimableError(f"group {int(np.argmin(sizes))} has no rows; drop it")
    return (members / sizes[:, None]).mean(axis=0) - 1.0 / members.shape[1]


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> IntersectionalLoss:
    """Build the constraint of the table's groups; the length of ``interval`` sets a relative scale.

    See :func:`partialfair.constraints.partial_statistical_parity.build` for the arguments.
    """
    n_groups = int(group.max()) + 1
    slack = float(slack_per_group(for_groups(interval, n_groups), kappa, kappa_scale).mean())
    return IntersectionalLoss(row_weights(group == np.arange(n_groups)[:, None]), np.asarray(y, float), slack)
