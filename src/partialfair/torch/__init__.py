"""Fairness constraints, and optimisers under them, for a training loop of your own in PyTorch."""

from partialfair.torch.constraints import BatchConstraint, Multipliers
from partialfair.torch.optimisers import SSLALM, StochasticALM, StochasticGhost, SwitchingSubgradient
from partialfair.torch.stochastic_idca import StochasticIDCA

__all__ = [
    "SSLALM",
    "BatchConstraint",
    "Multipliers",
    "StochasticALM",
    "StochasticGhost",
    "StochasticIDCA",
    "SwitchingSubgradient",
]
