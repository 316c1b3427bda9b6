"""Scores of fixed rows as functions of parameters, for the general path."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.features import Standardiser, features
from partialfair.models.linear import GroupLinear

Vector = NDArray[np.float64]


class ScoreFunction(Protocol):
    """A score model on fixed rows.

    Attributes:
        shape: shape of the parameters.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    def start(self, constant: float) -> Vector:
        """Parameters from which to begin: all scores (nearly) equal to ``constant``."""
        ...

    def scores(self, params: Vector) -> Vector:
        """Scores (n,)."""
        ...

    def backward(self, params: Vector, residual: Vector) -> Vector:
        """Vector-Jacobian product: derivative of ``sum_i residual_i score_i`` by the parameters."""
        ...


@dataclass(frozen=True, eq=False)
class LinearScores:
    """The group-interaction linear score on rows sorted by group.

    Attributes:
        model: says which weights each group sees.
        blocks: standardised features of each group's rows, without an intercept column.
        order: (n,) original row of each stored row.
    """

    model: GroupLinear
    blocks: tuple[Matrix, ...]
    order: NDArray[np.int64]

    @classmethod
    def build(
        cls,
        X: Matrix,
        group: NDArray[np.integer],
        n_groups: int,
        standardiser: Standardiser | None = None,
        uses_group: bool = True,
    ) -> "LinearScores":
        """Sort rows X (n, d) by group (n,), stably, and standardise them."""
        order = np.argsort(group, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
        rows = features(X, standardiser)[order]
        blocks = tuple(rows[low:high] for low, high in zip(ends, ends[1:], strict=False))
        return cls(GroupLinear(X.shape[1], n_groups, uses_group), blocks, order)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters, (R, d+1)."""
        return self.model.shape

    def start(self, constant: float) -> Vector:
        """Zero weights and an intercept."""
        params = np.zeros(self.shape)
        params[0, 0] = constant
        return params

    def scores(self, params: Vector) -> Vector:
        """Scores (n,) at parameters (R, d+1), in the stored order."""
        # w_g = theta_0 + theta_g, s = w_g0 + X_g w_g per group
        weights = self.model.effective(params)
        return np.concatenate([X @ w[1:] + w[0] for X, w in zip(self.blocks, weights, strict=True)])

    def backward(self, params: Vector, residual: Vector) -> Vector:
        """Derivative of ``sum_i residual_i score_i`` by the parameters, (R, d+1)."""
        out, start = np.zeros((len(self.blocks), self.shape[1])), 0
        for k, X in enumerate(self.blocks):
            # X_g' residual, its first entry the sum for the intercept
            block = residual[start : start + X.shape[0]]
            out[k, 0], out[k, 1:] = block.sum(), X.T @ block
            start += X.shape[0]
        return self.model.fold(out)
