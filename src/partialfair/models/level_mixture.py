"""A mixture of linear functions cut into levels on [0, 1]: what the reduction of fair regression gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.data.predictions import Predictions
from partialfair.models.features import dense_features
from partialfair.models.stored import NOT_STORED, StoredModel, check_features

Vector = NDArray[np.float64]
LEVELS = 41
"""Levels on [0, 1] that the functions are cut into."""


@dataclass(frozen=True, eq=False)
class LevelMixture(StoredModel):
    """Mass ``weights[h]`` on the middle of the level that linear function h reaches; the group is not used.

    Attributes:
        hypotheses: (h, d) or, with an intercept as last column, (h, d+1); those of all tolerances one after another.
        weights: (h,) their probabilities within their tolerance.
        sizes: (m+1,) how many belong to the main tolerance and to each further one.
        level_eps: (m,) further tolerances.
        intercept: whether the functions have an intercept.
        scale: label = scale[0] + scale[1] * level.
        group_names, feature_names: of the dataset it was made from.
        status: "ok", or why it should not be used.
    """

    hypotheses: Vector
    weights: Vector
    sizes: NDArray[np.int64]
    level_eps: Vector
    intercept: bool
    scale: tuple[float, float]
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    status: str = "ok"
    uses_group: bool = field(default=False, metadata=NOT_STORED)
    level_index: int = field(default=0, metadata=NOT_STORED)

    @property
    def usable(self) -> bool:
        """Tell whether the model can predict."""
        return True

    @property
    def atoms(self) -> Vector:
        """(41,) predicted numbers on the scale of the label."""
        return self.scale[0] + self.scale[1] * (np.linspace(0.0, 1.0, LEVELS) + 0.5 / (LEVELS - 1))

    def predictions(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Predictions:
        """Return the predictions of raw features (n, d), on the scale of the label."""
        check_features(X, len(self.feature_names))
        begin = int(self.sizes[: self.level_index].sum())
        hypotheses_of_level = slice(begin, begin + int(self.sizes[self.level_index]))
        rows = with_intercept(X, self.intercept)
        return Predictions.randomised(
            self.atoms, shares_of_levels(rows, self.hypotheses[hypotheses_of_level], self.weights[hypotheses_of_level])
        )

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Vector:
        """Return the means (n,) of the mixture's predictions at the model's tolerance."""
        return self.predictions(X).values

    @property
    def levels(self) -> Mapping[str, "LevelMixture"]:
        """Return the mixtures of the further tolerances."""
        return {repr(float(eps)): replace(self, level_index=index) for index, eps in enumerate(self.level_eps, start=1)}


MODEL = LevelMixture


def with_intercept(X: Matrix, intercept: bool) -> Vector:
    """Raw features (n, d) as the linear functions see them."""
    return dense_features(X, appended=np.ones((X.shape[0], 1)) if intercept else None)


def shares_of_levels(X: Vector, hypotheses: Vector, weights: Vector) -> Vector:
    """Probability (n, 41) of each level for rows X (n, d), of a mixture of linear functions (h, d)."""
    theta = np.linspace(0.0, 1.0, LEVELS)
    out = np.zeros((len(X), LEVELS))
    rows = np.arange(len(X))
    for hypothesis, weight in zip(hypotheses, weights, strict=True):
        reached = ((X @ hypothesis)[:, None] >= theta).sum(axis=1) - 1
        np.add.at(out, (rows, np.maximum(reached, 0)), weight)
    return out
