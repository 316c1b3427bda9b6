"""Several copies of one small score model at once, one per seed: stacked parameters, explicit derivatives, NumPy.

A step of a stochastic method on a small network costs little arithmetic and many calls. Stacking the runs of R seeds in
a leading axis makes the calls once for all of them; each run computes exactly what it would alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.floating]
Activation = Literal["relu", "sigmoid"]


class StackedScore(Protocol):
    """A score model with parameters theta (R, n), applied to inputs (R, B, p) or, the same for all, (1, B, p)."""

    @property
    def size(self) -> int:
        """Return the number of parameters, n."""
        ...

    def initial(self, generator: np.random.Generator) -> Array:
        """Return the parameters (n,) from which a run begins."""
        ...

    def forward(self, theta: Array, X: Array) -> tuple[Array, Any]:
        """Return the scores (R, B), and what :meth:`backward` needs."""
        ...

    def backward(self, theta: Array, cache: Any, residual: Array) -> Array:
        """Derivative (R, n) of ``sum_b residual[r, b] score[r, b]`` by the parameters."""
        ...


@dataclass(frozen=True)
class StackedLinear:
    """``score = <theta, x>``; an intercept is a column of ones."""

    n_inputs: int

    @property
    def size(self) -> int:
        """Return the number of parameters."""
        return self.n_inputs

    def initial(self, generator: np.random.Generator) -> Array:
        """Zero weights (n,), whatever the generator."""
        return np.zeros(self.n_inputs)

    def forward(self, theta: Array, X: Array) -> tuple[Array, Any]:
        """Return the scores (R, B)."""
        return (X @ theta[:, :, None])[..., 0], X

    def backward(self, theta: Array, cache: Any, residual: Array) -> Array:
        """Derivative (R, n)."""
        return (residual[:, None, :] @ cache)[:, 0]


@dataclass(frozen=True)
class StackedMLP:
    """Affine layers with an activation between them and one output; it goes through a sigmoid, too, if ``squash``.

    Parameters stand in the order of :class:`partialfair.models.mlp.MLP`: weight (out, in) and bias of each layer, from
    the inputs on.

    Attributes:
        n_inputs: width of the input.
        hidden: widths of the hidden layers.
        activation: of the hidden layers.
        squash: whether the score lies in (0, 1).
    """

    n_inputs: int
    hidden: tuple[int, ...]
    activation: Activation = "relu"
    squash: bool = False

    @cached_property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(out, in) of each layer."""
        widths = (self.n_inputs, *self.hidden, 1)
        return tuple((n_out, n_in) for n_in, n_out in zip(widths, widths[1:], strict=False))

    @cached_property
    def size(self) -> int:
        """Return the number of parameters."""
        return sum((n_in + 1) * n_out for n_out, n_in in self.shapes)

    def layers(self, theta: Array) -> list[tuple[Array, Array]]:
        """Views of weights (R, out, in) and biases (R, out) in theta (R, n)."""
        out, begin = [], 0
        for n_out, n_in in self.shapes:
            middle, last = begin + n_out * n_in, begin + n_out * (n_in + 1)
            out.append((theta[:, begin:middle].reshape(-1, n_out, n_in), theta[:, middle:last]))
            begin = last
        return out

    def initial(self, generator: np.random.Generator) -> Array:
        """Weights and biases uniform on ``+-1/sqrt(fan_in)``, PyTorch's default; as ``MLP.initialise`` draws them."""
        blocks = []
        for n_out, n_in in self.shapes:
            bound = n_in**-0.5
            blocks += [generator.uniform(-bound, bound, n_out * n_in), generator.uniform(-bound, bound, n_out)]
        return np.concatenate(blocks)

    def forward(self, theta: Array, X: Array) -> tuple[Array, Any]:
        """Return the scores (R, B); the cache holds the input of every layer, and the scores."""
        layers = self.layers(theta)
        inputs = [X]
        for weight, bias in layers[:-1]:
            z = inputs[-1] @ weight.transpose(0, 2, 1)
            z += bias[:, None, :]
            inputs.append(np.maximum(z, 0, out=z) if self.activation == "relu" else expit(z, out=z))
        weight, bias = layers[-1]
        scores = (inputs[-1] @ weight.transpose(0, 2, 1))[..., 0]
        scores += bias
        if self.squash:
            scores = expit(scores)
        return scores, (inputs, scores)

    def backward(self, theta: Array, cache: Any, residual: Array) -> Array:
        """Derivative (R, n), layer by layer from the output."""
        inputs, scores = cache
        if self.squash:
            residual = residual * scores * (1 - scores)
        gradient = np.empty((len(theta), self.size), theta.dtype)
        layers, gradients = self.layers(theta), self.layers(gradient)
        delta = residual[..., None]
        for index in range(len(layers) - 1, -1, -1):
            by_weight, by_bias = gradients[index]
            np.matmul(delta.transpose(0, 2, 1), inputs[index], out=by_weight)
            np.add.reduce(delta, axis=1, out=by_bias)
            if index:
                delta = delta @ layers[index][0]
                z = inputs[index]
                delta *= z > 0 if self.activation == "relu" else z * (1 - z)
        return gradient

    def state(self, theta: Array) -> dict[str, Array]:
        """Return the parameters (n,) by the names that the PyTorch module gives them."""
        arrays = {}
        for index, (weight, bias) in enumerate(self.layers(theta[None])):
            arrays[f"layers.{index}.weight"], arrays[f"layers.{index}.bias"] = weight[0].copy(), bias[0].copy()
        return arrays


def make(n_inputs: int, hidden: Sequence[int]) -> StackedLinear | StackedMLP:
    """Return a model with these hidden layers; a linear one, whose inputs hold the intercept, if there are none."""
    return StackedMLP(n_inputs, tuple(hidden)) if hidden else StackedLinear(n_inputs)
