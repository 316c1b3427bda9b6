"""Several derivatives of one graph, for methods that need more than the sum that ``backward`` gives."""

import torch
from torch import Tensor

from partialfair.errors import ConfigError


def flat_derivative(value: Tensor, params: list[Tensor]) -> Tensor:
    """Derivative (N,) of a value by the parameters, one after the other; the graph is kept.

    Raises:
        ConfigError: the graph was compiled so that it gives one derivative only.
    """
    try:
        parts = torch.autograd.grad(value, params, retain_graph=True, allow_unused=True, materialize_grads=True)
    except RuntimeError as error:
        if "donated buffers" in str(error):
            raise ConfigError(
                "this method takes several derivatives of one graph, which torch.compile forbids; set "
                "torch._functorch.config.donated_buffer = False before it compiles, or compile the network alone"
            ) from error
        raise
    return torch.cat([part.reshape(-1) for part in parts])
