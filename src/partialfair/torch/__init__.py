"""Fairness constraints for a training loop of your own in PyTorch, and the methods that keep them."""

from typing import TYPE_CHECKING, Any

from partialfair.errors import ConfigError
from partialfair.torch.constraints import BatchConstraint
from partialfair.torch.ghost import GhostDecay, StochasticGhost
from partialfair.torch.lagrangian import Lagrangian
from partialfair.torch.methods import alm, multiplier_model, plada, ssl_alm, switching_subgradient
from partialfair.torch.multiplier_model import MultiplierModel
from partialfair.torch.multipliers import Multipliers
from partialfair.torch.rules import Ascent, Plada, Slacks, Switching
from partialfair.torch.sampler import BalancedBatches
from partialfair.torch.smoothing import smoothed
from partialfair.torch.stochastic_idca import StochasticIDCA

if TYPE_CHECKING:
    from partialfair.torch.module import PartialFairModule

__all__ = [
    "Ascent",
    "BalancedBatches",
    "BatchConstraint",
    "GhostDecay",
    "Lagrangian",
    "MultiplierModel",
    "Multipliers",
    "PartialFairModule",
    "Plada",
    "Slacks",
    "StochasticGhost",
    "StochasticIDCA",
    "Switching",
    "alm",
    "multiplier_model",
    "plada",
    "smoothed",
    "ssl_alm",
    "switching_subgradient",
]


def __getattr__(name: str) -> Any:
    """Import skorch when its class is asked for: a training loop of one's own needs none."""
    if name != "PartialFairModule":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from partialfair.torch.module import PartialFairModule
    except ModuleNotFoundError as error:
        if error.name != "skorch":
            raise
        raise ConfigError("PartialFairModule needs skorch; run: pip install 'partialfair[torch]'") from error
    return PartialFairModule
