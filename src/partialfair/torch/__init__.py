"""Fairness constraints for a training loop of your own in PyTorch, and the methods that keep them."""

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

__all__ = [
    "Ascent",
    "BalancedBatches",
    "BatchConstraint",
    "GhostDecay",
    "Lagrangian",
    "MultiplierModel",
    "Multipliers",
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
