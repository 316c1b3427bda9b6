"""A trained fully connected network on disk, with the points it passed on the way; scored without PyTorch.

The architecture is that of :class:`partialfair.models.mlp.MLP`; :meth:`MLPScore.state` gives its weights by the names
used there. Starting PyTorch takes longer than training and scoring such a small network.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError
from partialfair.models.design import Standardiser
from partialfair.models.stacked import StackedMLP
from partialfair.tables.dataset import Matrix
from partialfair.tables.files import atomic_path

KIND = "mlp_score"
BLOCK = 4096  # rows scored at once
PATH = ("steps", "rows", "seconds", "points")


@dataclass(frozen=True, eq=False)
class MLPScore:
    """A trained network with ReLU between its layers.

    Attributes:
        theta: (n,) parameters, in the order of :class:`partialfair.models.stacked.StackedMLP`.
        hidden: widths of the hidden layers.
        standardiser: applied to raw features before scoring.
        aux: (P,) auxiliary variables of the constraints.
        group_names, feature_names: of the dataset it was trained on.
        uses_group: whether indicators of the groups 1..G-1 are inputs, after the features.
        status: "ok", or why there is no usable model.
        path: points on the way: ``steps`` (K,), ``rows`` (K,) read by then, processor ``seconds`` (K,) and ``points``
            (K, n); empty if they were not kept.
    """

    theta: NDArray[np.floating]
    hidden: tuple[int, ...]
    standardiser: Standardiser
    aux: NDArray[np.float64]
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    uses_group: bool = False
    status: str = "ok"
    path: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether the model can score rows."""
        return self.theta.size > 0

    @cached_property
    def stacked(self) -> StackedMLP:
        """The network."""
        own = len(self.group_names) - 1 if self.uses_group else 0
        return StackedMLP(len(self.feature_names) + own, self.hidden)

    def inputs(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """What the network reads of raw features (n, d) and group codes (n,).

        Raises:
            DataError: another number of features, or groups missing or out of range.
        """
        if X.shape[1] != len(self.feature_names):
            raise DataError(f"X has {X.shape[1]} features, the model was trained on {len(self.feature_names)}")
        if self.uses_group and group is None:
            raise DataError("this model's scores depend on the group; pass the group codes of the rows")
        if group is not None and len(group) and (min(group) < 0 or max(group) >= len(self.group_names)):
            raise DataError(f"group codes must lie in 0..{len(self.group_names) - 1} ({', '.join(self.group_names)})")
        codes = group if self.uses_group else None
        return network_inputs(X, codes, self.standardiser, len(self.group_names))

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: no usable model, or see :meth:`inputs`.
        """
        if not self.usable:
            raise DataError(f"this model has no parameters (status {self.status!r}); train it again")
        return self.scores_at(self.theta, self.inputs(X, group))

    def scores_at(self, theta: NDArray[np.floating], inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (n,) of prepared inputs at any parameters, in double precision."""
        exact, out = theta[None].astype(np.float64), np.empty(len(inputs))
        for first in range(0, len(inputs), BLOCK):
            out[first : first + BLOCK] = self.stacked.forward(exact, inputs[None, first : first + BLOCK])[0][0]
        return out

    def state(self) -> dict[str, NDArray[np.floating]]:
        """Weights by the names of :class:`partialfair.models.mlp.MLP`."""
        return self.stacked.state(self.theta)

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file of plain arrays, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream,
                kind=np.array(KIND),
                theta=self.theta,
                hidden=np.array(self.hidden, np.int64),
                columns=self.standardiser.columns,
                mean=self.standardiser.mean,
                scale=self.standardiser.scale,
                aux=self.aux,
                group_names=np.array(self.group_names, np.str_),
                feature_names=np.array(self.feature_names, np.str_),
                uses_group=np.array(self.uses_group),
                status=np.array(self.status),
                **{f"path/{name}": value for name, value in self.path.items()},  # type: ignore[arg-type]
            )


def from_arrays(arrays: dict[str, NDArray[Any]]) -> MLPScore:
    """The model whose arrays ``save`` wrote.

    Raises:
        ValueError: the parameters do not fit the widths, or are not finite.
    """
    model = MLPScore(
        theta=arrays["theta"],
        hidden=tuple(arrays["hidden"].tolist()),
        standardiser=Standardiser(arrays["columns"], arrays["mean"], arrays["scale"]),
        aux=arrays["aux"],
        group_names=tuple(arrays["group_names"].tolist()),
        feature_names=tuple(arrays["feature_names"].tolist()),
        uses_group=bool(arrays["uses_group"]),
        status=str(arrays["status"]),
        path={name: arrays[f"path/{name}"] for name in PATH if f"path/{name}" in arrays},
    )
    if model.usable and (model.theta.shape != (model.stacked.size,) or not np.isfinite(model.theta).all()):
        raise ValueError(f"{model.theta.size} parameters, {model.stacked.size} finite ones expected")
    return model


def network_inputs(
    X: Matrix, group: NDArray[np.integer] | None, standardiser: Standardiser, n_groups: int
) -> NDArray[np.float64]:
    """Standardised features (n, d), followed by indicators of the groups 1..G-1 if ``group`` is given."""
    features = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64)
    if standardiser.columns.size:
        features = features.copy()
        features[:, standardiser.columns] = standardiser.values(X)
    if group is None:
        return features
    return np.hstack([features, np.asarray(group)[:, None] == np.arange(1, n_groups)])
