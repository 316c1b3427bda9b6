"""Networks with sigmoid hidden units, stacked as in :mod:`partialfair.models.stacked`, and their stored form."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from partialfair.models import mlp_score
from partialfair.models.mlp_score import MLPScore
from partialfair.models.stacked import Array, StackedMLP
from partialfair.tables.files import atomic_path

KIND = "sigmoid_network"


@dataclass(frozen=True)
class StackedSigmoid(StackedMLP):
    """Affine layers with the logistic function between them and one output; it goes through it, too, if ``squash``.

    Parameters stand as in :class:`StackedMLP`.

    Attributes:
        squash: whether the score lies in (0, 1).
    """

    squash: bool = False

    def forward(self, theta: Array, X: Array) -> tuple[Array, Any]:
        """Scores (R, B); the cache holds the input of every layer, and the scores."""
        layers = self.layers(theta)
        inputs = [X]
        for weight, bias in layers[:-1]:
            z = inputs[-1] @ weight.transpose(0, 2, 1)
            z += bias[:, None, :]
            inputs.append(expit(z, out=z))
        weight, bias = layers[-1]
        scores = (inputs[-1] @ weight.transpose(0, 2, 1))[..., 0] + bias
        if self.squash:
            scores = expit(scores)
        return scores, (inputs, scores)

    def backward(self, theta: Array, cache: Any, residual: Array) -> Array:
        """Derivative (R, n), layer by layer from the output."""
        inputs, scores = cache
        if self.squash:
            residual = residual * scores * (1 - scores)
        gradient = np.empty((len(theta), self.size), theta.dtype)
        layers, parts = self.layers(theta), self.layers(gradient)
        delta = residual[..., None]
        for place in range(len(layers) - 1, -1, -1):
            by_weight, by_bias = parts[place]
            np.matmul(delta.transpose(0, 2, 1), inputs[place], out=by_weight)
            np.add.reduce(delta, axis=1, out=by_bias)
            if place:
                delta = delta @ layers[place][0]
                delta *= inputs[place] * (1 - inputs[place])
        return gradient


@dataclass(frozen=True, eq=False)
class SigmoidScore(MLPScore):
    """A trained network with sigmoid hidden units; its scores are those before an output sigmoid."""

    @cached_property
    def stacked(self) -> StackedMLP:
        """The network."""
        own = len(self.group_names) - 1 if self.uses_group else 0
        return StackedSigmoid(len(self.feature_names) + own, self.hidden)

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file of plain arrays, atomically."""
        with atomic_path(path) as temporary:
            super().save(temporary)
            with np.load(temporary, allow_pickle=False) as content:
                arrays = dict(content) | {"kind": np.array(KIND)}
            with open(temporary, "wb") as stream:
                np.savez(stream, **arrays)


def from_arrays(arrays: dict[str, NDArray[Any]]) -> SigmoidScore:
    """The model whose arrays ``save`` wrote.

    Raises:
        ValueError: the parameters do not fit the widths, or are not finite.
    """
    plain = mlp_score.from_arrays(arrays)
    names = ("theta", "hidden", "standardiser", "aux", "group_names", "feature_names", "uses_group", "status")
    return SigmoidScore(**{name: getattr(plain, name) for name in names})
