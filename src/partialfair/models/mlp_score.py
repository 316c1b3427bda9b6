"""A trained fully connected network on disk, with the points it passed on the way; scored without PyTorch.

The architecture is that of :class:`partialfair.models.mlp.MLP`; :meth:`MLPScore.state` gives its weights by the names
used there. Starting PyTorch takes longer than training and scoring such a small network.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.features import Standardiser, dense_features, group_indicators
from partialfair.models.stacked import Activation, StackedMLP
from partialfair.models.stored import NOT_STORED, Arrays, StoredModel, check_features, check_usable, group_codes

KINDS: dict[Activation, str] = {"relu": "mlp_score", "sigmoid": "sigmoid_network"}
"""Entry ``kind`` of the file, which says what the activation is."""
BLOCK = 4096  # rows scored at once


@dataclass(frozen=True, eq=False)
class MLPScore(StoredModel):
    """A trained network; its scores are those before an output sigmoid.

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
        activation: between the layers.
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
    activation: Activation = field(default="relu", metadata=NOT_STORED)

    @property
    def kind(self) -> str:
        """Entry of the file, which tells the activation."""
        return KINDS[self.activation]

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model whose arrays these are."""
        activation: Activation = "sigmoid" if str(arrays["kind"]) == KINDS["sigmoid"] else "relu"
        return replace(super().from_arrays(arrays), activation=activation)

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return self.theta.size > 0

    @cached_property
    def stacked(self) -> StackedMLP:
        """Architecture, with inputs for the features and, if it uses the group, for all groups but one."""
        n_indicators = len(self.group_names) - 1 if self.uses_group else 0
        return StackedMLP(len(self.feature_names) + n_indicators, self.hidden, self.activation)

    def inputs(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return what the network reads of raw features (n, d) and group codes (n,).

        Raises:
            DataError: another number of features, or groups missing or out of range.
        """
        check_features(X, len(self.feature_names))
        codes = group_codes(group, X.shape[0], self.group_names, self.uses_group)
        appended = group_indicators(codes, len(self.group_names)) if self.uses_group else None
        return dense_features(X, self.standardiser, appended)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: no usable model, or see :meth:`inputs`.
        """
        check_usable(self)
        return self.scores_at(self.theta, self.inputs(X, group))

    def scores_at(self, theta: NDArray[np.floating], inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores (n,) of prepared inputs at any parameters, in double precision."""
        exact, out = theta[None].astype(np.float64), np.empty(len(inputs))
        for begin in range(0, len(inputs), BLOCK):
            out[begin : begin + BLOCK] = self.stacked.forward(exact, inputs[None, begin : begin + BLOCK])[0][0]
        return out

    def state(self) -> dict[str, NDArray[np.floating]]:
        """Return the weights by the names of :class:`partialfair.models.mlp.MLP`."""
        return self.stacked.state(self.theta)

    def fault(self) -> str:
        """Say why the parameters do not fit the widths, or are not finite."""
        if self.usable and (self.theta.shape != (self.stacked.size,) or not np.isfinite(self.theta).all()):
            return f"{self.theta.size} parameters, {self.stacked.size} finite ones expected"
        return self.standardiser.fault(len(self.feature_names))


MODEL = MLPScore
