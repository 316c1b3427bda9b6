"""What derivatives are taken of, and several of one graph, for methods that need more than ``backward`` gives."""

from typing import Any

import torch
from torch import Tensor

from partialfair.errors import ConfigError, DataError


def scalar_of(loss: Any, where: str = "") -> Tensor:
    """A loss as a tensor without dimensions.

    Args:
        loss: a tensor of one number, or a number.
        where: beginning of a message, such as "step 3: ".

    Raises:
        DataError: several numbers, which a sum with the constraints would broadcast, or none.
    """
    if isinstance(loss, int | float):
        return torch.tensor(float(loss))
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        kind = f"has shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else f"is a {type(loss).__name__}"
        raise DataError(f"{where}the loss {kind}; pass one number, as loss.mean()")
    return loss.reshape(()) if loss.dim() else loss


def vector_of(values: Any, where: str = "") -> Tensor:
    """Constraint values as one vector (m,).

    Raises:
        DataError: no tensor of real numbers.
    """
    if not isinstance(values, Tensor) or values.is_complex():
        kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise DataError(
            f"{where}the constraint values are of type {kind}; pass a tensor of real numbers, for instance "
            "torch.stack(values)"
        )
    return values if values.dim() == 1 else values.reshape(-1)


def require_graph(values: Tensor, where: str = "", name: str = "constraint values") -> None:
    """Refuse what depends on no parameter, where derivatives are taken.

    Raises:
        DataError: the values would not move the network.
    """
    if torch.is_grad_enabled() and not values.requires_grad:
        raise DataError(
            f"{where}{name} without a graph would not move the network; compute them of its scores without no_grad, "
            "detach or a threshold (or pass true rates as strict)"
        )


def flat_derivative(value: Tensor, params: list[Tensor]) -> Tensor:
    """Derivative (N,) of a value by the parameters, one after the other; the graph is kept.

    Raises:
        ConfigError: the graph was compiled so that it gives one derivative only.
    """
    try:
        derivatives = torch.autograd.grad(value, params, retain_graph=True, allow_unused=True, materialize_grads=True)
    except RuntimeError as error:
        if "donated buffers" in str(error):
            raise ConfigError(
                "this method takes several derivatives of one graph, which torch.compile forbids; set "
                "torch._functorch.config.donated_buffer = False before it compiles, or compile the network alone"
            ) from error
        raise
    return torch.cat([derivative.reshape(-1) for derivative in derivatives])
