"""Fully connected networks of any width and depth: the architecture ``mlp`` of :mod:`partialfair.models.network`."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "elu": nn.ELU,
    "softplus": nn.Softplus,
    "identity": nn.Identity,
}


class MLP(nn.Module):
    """``h(x, s)``: affine layers with an activation between them, on standardised features.

    Attributes:
        layers: the affine layers; the last one has a single output, the score.
        centre, scale: (d,) subtracted from the features and divided by: buffers, for they are no weights.
    """

    def __init__(
        self,
        n_features: int,
        hidden: Sequence[int] = (64, 32),
        activation: str = "relu",
        n_groups: int = 1,
        uses_group: bool = False,
        output_bias: bool = True,
    ) -> None:
        """Build a network with PyTorch's default initial weights; see :meth:`initialise`.

        Args:
            n_features: columns of the feature matrix, d.
            hidden: width of each hidden layer; none for a linear score.
            activation: a name of :data:`ACTIVATIONS`.
            n_groups: number of groups, G.
            uses_group: whether indicators of the groups 1..G-1 are inputs, after the features.
            output_bias: whether the last layer has a bias.

        Raises:
            ValueError: unknown activation, or a width that is not positive.
        """
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {activation!r}; choose from {', '.join(ACTIVATIONS)}")
        if min((n_features, *hidden)) < 1:
            raise ValueError(f"widths {(n_features, *hidden)} must be positive")
        self.uses_group, self.n_groups = uses_group, n_groups
        widths = [n_features + (n_groups - 1 if uses_group else 0), *hidden, 1]
        last = len(widths) - 2
        self.layers = nn.ModuleList(
            nn.Linear(n_in, n_out, bias=output_bias or index < last)
            for index, (n_in, n_out) in enumerate(zip(widths, widths[1:], strict=False))
        )
        self.activation = ACTIVATIONS[activation]()
        self.centre: torch.Tensor
        self.scale: torch.Tensor
        self.register_buffer("centre", torch.zeros(n_features))
        self.register_buffer("scale", torch.ones(n_features))

    def forward(self, x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the scores (n,) of raw features (n, d) and group codes (n,)."""
        z = (x - self.centre) / self.scale
        if self.uses_group:
            indicators = nn.functional.one_hot(group, self.n_groups)[:, 1:]
            z = torch.cat([z, indicators.to(z.dtype)], dim=1)
        for layer in self.layers[:-1]:
            z = self.activation(layer(z))
        out: torch.Tensor = self.layers[-1](z)
        return out[:, 0]

    def initialise(self, generator: np.random.Generator) -> None:
        """Draw all weights and biases uniformly from ``+-1/sqrt(fan_in)``, PyTorch's default, from a stream of NumPy.

        The order is that of :meth:`parameters`: weight (out, in) and bias of each layer from the inputs on.
        """
        with torch.no_grad():
            for layer in self.layers:
                assert isinstance(layer, nn.Linear)
                bound = layer.in_features**-0.5
                for parameter in layer.parameters():
                    drawn = generator.uniform(-bound, bound, size=tuple(parameter.shape))
                    parameter.copy_(torch.from_numpy(drawn))
