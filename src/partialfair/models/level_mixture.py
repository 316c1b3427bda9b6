"""A mixture of linear functions cut into levels on [0, 1]: what the reduction of fair regression gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.plug_ins import dense
from partialfair.algorithms.regression.reduction_solver import LEVELS, Mixture, shares_of_levels
from partialfair.errors import DataError
from partialfair.models.predictions import Predictions
from partialfair.tables.dataset import Matrix
from partialfair.tables.files import atomic_path

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LevelMixture:
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
    uses_group: bool = False
    place: int = field(default=0, compare=False)

    @property
    def usable(self) -> bool:
        """Whether the model can predict."""
        return True

    @property
    def atoms(self) -> Vector:
        """(41,) predicted numbers on the scale of the label."""
        return self.scale[0] + self.scale[1] * (np.linspace(0.0, 1.0, LEVELS) + 0.5 / (LEVELS - 1))

    def predictions(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Predictions:
        """Predictions of raw features (n, d), on the scale of the label."""
        if X.shape[1] != len(self.feature_names):
            raise DataError(f"X has {X.shape[1]} features, the model was made from {len(self.feature_names)}")
        first = int(self.sizes[: self.place].sum())
        own = slice(first, first + int(self.sizes[self.place]))
        mixture = Mixture(self.hypotheses[own], self.weights[own], 0.0, 0, 0.0)
        return Predictions.randomised(self.atoms, shares_of_levels(features(X, self.intercept), mixture))

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Vector:
        """Conditional means (n,)."""
        return self.predictions(X).values

    @property
    def levels(self) -> Mapping[str, "LevelMixture"]:
        """The mixtures of the further tolerances."""
        return {repr(float(eps)): replace(self, place=place) for place, eps in enumerate(self.level_eps, start=1)}

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream,
                kind=np.array("level_mixture"),
                hypotheses=self.hypotheses,
                weights=self.weights,
                sizes=self.sizes,
                level_eps=self.level_eps,
                intercept=np.array(self.intercept),
                scale=np.array(self.scale),
                group_names=np.array(self.group_names, np.str_),
                feature_names=np.array(self.feature_names, np.str_),
                status=np.array(self.status),
            )


def features(X: Any, intercept: bool) -> Vector:
    """Raw features (n, d) as the linear functions see them."""
    rows = dense(X)
    return np.column_stack([rows, np.ones(len(rows))]) if intercept else rows


def from_arrays(arrays: dict[str, NDArray[Any]]) -> LevelMixture:
    """The model whose arrays :meth:`LevelMixture.save` wrote."""
    return LevelMixture(
        hypotheses=arrays["hypotheses"],
        weights=arrays["weights"],
        sizes=arrays["sizes"],
        level_eps=arrays["level_eps"],
        intercept=bool(arrays["intercept"]),
        scale=(float(arrays["scale"][0]), float(arrays["scale"][1])),
        group_names=tuple(arrays["group_names"].tolist()),
        feature_names=tuple(arrays["feature_names"].tolist()),
        status=str(arrays["status"]),
    )
