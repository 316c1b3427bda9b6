"""Means of a loss over many overlapping groups at once, and constraints made of them.

All group means are one matrix product, so that 535 constraints cost about as much as one: per iteration a product of
the normalised memberships (K, n) with the losses, and one of its transpose with the multipliers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Reading = Literal["expected", "each", "shares"]
Loss = Literal["hinge", "logistic"]


@dataclass(frozen=True, eq=False)
class GroupLosses:
    """Constraints ``mean over a group - mean over all rows - eps <= 0`` on fixed rows.

    Attributes:
        members: (K, n) memberships; every group has rows.
        eps: tolerance.
        reading: ``expected``: the mean over groups, one constraint (equation (18)); ``each``: all K; ``shares``: all K,
            each divided by K, so that their sum is (18) and steps that suit (18) suit them together.
    """

    members: NDArray[np.bool_]
    eps: float
    reading: Reading = "expected"

    @cached_property
    def weights(self) -> Array:
        """(m, n) rows whose products with the losses are the constraints plus eps, float32."""
        # equation (18) without its eps: mean over group k minus mean over all rows, as a row of weights (n,)
        rows = self.members / self.members.sum(axis=1, keepdims=True)
        if self.reading == "expected":
            rows = rows.mean(axis=0, keepdims=True)
        return ((rows - 1.0 / self.members.shape[1]) / self._divisor).astype(np.float32)

    @property
    def _divisor(self) -> int:
        return len(self.members) if self.reading == "shares" else 1

    @property
    def m(self) -> int:
        """Number of constraints."""
        return len(self.weights)

    def values(self, losses: Array) -> Array:
        """Constraint values G (m,), at most 0 where they hold, of the losses (n,) of the training rows."""
        return self.weights @ losses - self.eps / self._divisor

    def pull(self, multipliers: Array) -> Array:
        """Derivative (n,) of ``<multipliers, G>`` by the losses."""
        return multipliers.astype(self.weights.dtype) @ self.weights


def loss_of(scores: Array, y: Array, kind: Loss) -> tuple[Array, Array]:
    """Losses (n,) of scores, and their derivatives by the scores."""
    margin = y * scores
    if kind == "hinge":
        losses = np.maximum(1.0 - margin, 0.0)
        return losses, np.where(losses > 0, -y, 0.0)
    # log(1 + exp(-m)) = max(-m, 0) + log(1 + exp(-|m|))
    small = np.exp(-np.abs(margin))
    return np.maximum(-margin, 0.0) + np.log1p(small), -y * np.where(margin >= 0, small, 1.0) / (1.0 + small)


@dataclass(frozen=True)
class GroupGaps:
    """Errors of groups beyond the error of all rows.

    Attributes:
        error: share of rows on the wrong side; a score of 0 counts as wrong.
        mean, percentile99, largest: of the groups' errors minus ``error``; groups without rows are left out.
    """

    error: float
    mean: float
    percentile99: float
    largest: float


def group_gaps(scores: Array, y: Array, members: NDArray[np.bool_]) -> GroupGaps:
    """Measure 0-1 errors of all groups by one product; nan for scores that are not finite."""
    if not np.isfinite(scores).all():
        return GroupGaps(np.nan, np.nan, np.nan, np.nan)
    wrong = (scores * y <= 0).astype(np.float64)
    sizes = members.sum(axis=1)
    present = sizes > 0
    gaps = (members[present] @ wrong) / sizes[present] - wrong.mean()
    statistics = (gaps.mean(), np.percentile(gaps, 99), gaps.max()) if present.any() else (np.nan, np.nan, np.nan)
    return GroupGaps(float(wrong.mean()), *(float(value) for value in statistics))
