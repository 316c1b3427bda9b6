"""Constraints that are functions of means over strata of rows: what methods that draw rows need to know of a family.

A stratum is a group, or the rows of one label in a group. Equal numbers of rows are drawn from every stratum, and the
mean over those drawn stands for the mean over all. Where the constraints are affine in the means (all loss gaps,
partial statistical parity, demographic parity on the whole range) such an estimate is unbiased, and so is its
derivative.

Arrays have a leading axis of R runs, which are independent of each other; see :mod:`partialfair.models.stacked`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.program import HingeProgram, Side

Array = NDArray[np.floating]


class StratumMeans(Protocol):
    """Constraints ``c(M) <= 0`` on means ``M[r, s, q]`` over stratum s of a feature q of score and label."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the m constraints."""
        ...

    @property
    def start(self) -> Array:
        """(P,) auxiliary variables to begin with."""
        ...

    @property
    def row_stratum(self) -> NDArray[np.int64]:
        """(n,) stratum of every row; -1 for rows that play no part."""
        ...

    @property
    def n_strata(self) -> int:
        """Number of strata, S."""
        ...

    def features(self, scores: Array, positive: Array, aux: Array) -> Array:
        """Features (R, B, Q) of scores (R, B), labels 0/1 (R, B) and auxiliaries (R, P)."""
        ...

    def values(self, means: Array) -> Array:
        """Constraint values (R, m) at means (R, S, Q)."""
        ...

    def weights(self, means: Array, multipliers: Array) -> Array:
        """Derivative (R, S, Q) of ``sum_i multipliers[r, i] c[r, i]`` by the means."""
        ...

    def pull_back(self, scores: Array, positive: Array, aux: Array, weights: Array) -> tuple[Array, Array]:
        """Derivative of ``sum(weights * features)`` by the scores (R, B) and the auxiliaries (R, P)."""
        ...


def log_loss(scores: Array, positive: Array) -> Array:
    """``log(1 + exp(z)) - Y z`` for labels Y of 0 and 1."""
    return np.logaddexp(0, scores) - positive * scores


def sigmoid(scores: Array) -> Array:
    """``1 / (1 + exp(-z))``, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)), scores.dtype)


@dataclass(frozen=True, eq=False)
class LossMeans:
    """Constraints ``A L <= slack`` on the mean log losses L of the strata.

    Attributes:
        matrix: A, (m, S).
        slack: delta.
        row_stratum: (n,) stratum of every row, or -1.
        labels: names of the constraints.
    """

    matrix: NDArray[np.float64]
    slack: float
    row_stratum: NDArray[np.int64]
    labels: tuple[str, ...]

    @property
    def start(self) -> Array:
        """No auxiliary variables."""
        return np.zeros(0)

    @property
    def n_strata(self) -> int:
        """Number of strata, S: columns of A."""
        return self.matrix.shape[1]

    def features(self, scores: Array, positive: Array, aux: Array) -> Array:
        """The log loss of every row."""
        return log_loss(scores, positive)[..., None]

    def values(self, means: Array) -> Array:
        """``A L - slack`` (R, m) of the mean losses L."""
        return means[..., 0] @ self.matrix.T - self.slack

    def weights(self, means: Array, multipliers: Array) -> Array:
        """``A' v``, the same everywhere."""
        return (multipliers @ self.matrix)[..., None]

    def pull_back(self, scores: Array, positive: Array, aux: Array, weights: Array) -> tuple[Array, Array]:
        """``sigmoid(z) - Y`` times each row's weight."""
        return weights[..., 0] * (sigmoid(scores) - positive), np.zeros((len(scores), 0))


@dataclass(frozen=True, eq=False)
class HingeMeans:
    """The constraints of a :class:`HingeProgram`, whose strata are its subsets.

    The program's own methods take one run on all rows in double precision; these take R runs on drawn rows, in the
    precision of the scores.
    """

    program: HingeProgram

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self.program.labels

    @property
    def start(self) -> Array:
        """Auxiliary variables of the program (P,), feasible with all scores equal to its ``start_score``."""
        return self.program.start

    @property
    def row_stratum(self) -> NDArray[np.int64]:
        """Subset of every row."""
        return self.program.row_subset

    @property
    def n_strata(self) -> int:
        """Number of subsets."""
        return self.program.n_subsets

    def _above(self, scores: Array, aux: Array) -> Array:
        moving = self.program.aux_index != -1
        t = np.zeros((len(aux), self.program.shift.size), scores.dtype)
        t[:, moving] = aux[:, self.program.aux_index[moving]]
        t += self.program.shift.astype(scores.dtype)
        return scores[..., None] - t[:, None, :]

    def features(self, scores: Array, positive: Array, aux: Array) -> Array:
        """``max(score - t_q, 0)``."""
        return np.maximum(self._above(scores, aux), 0)

    def values(self, means: Array) -> Array:
        """``f+ - f-`` (R, m): the program's convex parts minus its concave ones."""
        return _side_values(self.program.convex, means) - _side_values(self.program.concave, means)

    def weights(self, means: Array, multipliers: Array) -> Array:
        """Of the alternatives that attain each maximum."""
        return np.stack(
            [self.program.slope_weights(run, v) for run, v in zip(np.asarray(means, float), multipliers, strict=True)]
        )

    def pull_back(self, scores: Array, positive: Array, aux: Array, weights: Array) -> tuple[Array, Array]:
        """Slopes of the hinges; thresholds move against the scores."""
        by_row = np.where(self._above(scores, aux) > 0, weights, 0)
        return by_row.sum(axis=2), self.program.fold_thresholds(-by_row.sum(axis=1))


def _side_values(side: Side, means: Array) -> Array:
    """Values (R, m) of a convex part at means (R, S, Q)."""
    hinge = np.where(side.subset == -1, 0.0, means[:, side.subset, side.threshold])
    return np.einsum("ij,rij->ri", side.weight, (hinge + side.constant).max(axis=-1))


def sampled(program: Any) -> StratumMeans | None:
    """What a family's ``build`` returned, as functions of stratum means; ``None`` if it is none."""
    if isinstance(program, HingeProgram):
        return HingeMeans(program)
    means = getattr(program, "means", None)
    return means if isinstance(means, LossMeans) else None
