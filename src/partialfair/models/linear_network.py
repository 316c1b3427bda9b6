"""The group-interaction linear score as a PyTorch module: with it, what is made for networks can be checked exactly."""

import torch
from torch import nn


class LinearNetwork(nn.Module):
    """``h(x) = <w_0 + w_g, (1, z)>`` with standardised features z; see :class:`partialfair.models.linear.GroupLinear`.

    Attributes:
        weight: (R, d+1), intercept first; row 0 is shared, row g >= 1 is added for group g.
    """

    def __init__(self, n_features: int, n_groups: int, uses_group: bool = True) -> None:
        super().__init__()
        self.uses_group = uses_group
        self.weight = nn.Parameter(torch.zeros(n_groups if uses_group else 1, n_features + 1))
        self.register_buffer("centre", torch.zeros(n_features))
        self.register_buffer("scale", torch.ones(n_features))

    def forward(self, x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the scores (n,) of features (n, d) and group codes (n,)."""
        z = (x - self.centre) / self.scale
        weight = self.weight[:1].expand(len(z), -1)
        if self.uses_group:
            deviations = torch.cat([torch.zeros_like(self.weight[:1]), self.weight[1:]])
            weight = weight + deviations[group]
        return weight[:, 0] + (weight[:, 1:] * z).sum(1)

    def make_constant(self, score: float) -> None:
        """Give every row the same score."""
        nn.init.zeros_(self.weight)
        with torch.no_grad():
            self.weight[0, 0] = score
