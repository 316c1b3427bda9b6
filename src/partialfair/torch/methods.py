"""The papers' methods by their names: a Lagrangian whose multipliers follow an optimiser of yours."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from partialfair.torch.lagrangian import Lagrangian
from partialfair.torch.multiplier_model import MultiplierModel, multiplier_network, require_descriptions
from partialfair.torch.multipliers import Constraints, Multipliers
from partialfair.torch.rules import Plada, Slacks, Switching
from partialfair.torch.smoothing import smoothed


def ssl_alm(
    optimiser: Optimizer, constraints: Constraints, *, proximal: float = 2.0, smoothing: float = 0.5, **settings: Any
) -> Lagrangian:
    """Smoothed and linearised augmented Lagrangian method (SSL-ALM); the paper's optimiser is ``SGD(params, 0.01)``.

    Args:
        optimiser: of ``torch.optim``; its step size is that of the slacks, too.
        constraints: number or names of the constraints.
        proximal, smoothing: see :func:`~partialfair.torch.smoothing.smoothed`.
        settings: of :class:`~partialfair.torch.rules.Slacks`, and ``equality``, ``process_group`` and ``check`` of
            :class:`~partialfair.torch.multipliers.Multipliers`, as in all these functions.
    """
    return _lagrangian(smoothed(optimiser, proximal, smoothing), constraints, Slacks, settings)


def alm(optimiser: Optimizer, constraints: Constraints, **settings: Any) -> Lagrangian:
    """Linearised augmented Lagrangian method (ALM): :func:`ssl_alm` without its anchor."""
    return _lagrangian(optimiser, constraints, Slacks, settings)


def switching_subgradient(optimiser: Optimizer, constraints: Constraints, **settings: Any) -> Lagrangian:
    """Switching subgradient method (SSw); the paper's optimiser is ``SGD(params, 0.5)``.

    Take plain SGD. Adam divides a step on a constraint by its own size, so that parameters which do not matter to the
    constraint move by rounding errors.

    Args:
        optimiser, constraints: as of :func:`ssl_alm`.
        settings: of :class:`~partialfair.torch.rules.Switching`.
    """
    return _lagrangian(optimiser, constraints, Switching, settings)


def plada(optimiser: Optimizer, constraints: Constraints, **settings: Any) -> Lagrangian:
    """PLADA; the paper's optimiser is ``SGD``.

    Args:
        optimiser, constraints: as of :func:`ssl_alm`.
        settings: of :class:`~partialfair.torch.rules.Plada`.
    """
    return _lagrangian(optimiser, constraints, Plada, settings)


def multiplier_model(
    optimiser: Optimizer,
    constraints: Constraints,
    descriptions: Tensor,
    *,
    hidden: Sequence[int] = (100, 100, 100),
    rate: float = 0.01,
    **settings: Any,
) -> Lagrangian:
    """Multiplier-model method (LMM); the paper's optimiser is ``Adagrad``.

    Args:
        optimiser, constraints: as of :func:`ssl_alm`.
        descriptions: (m, p) features of the constraints.
        hidden: widths of the multiplier network; rate: step of its Adagrad.
        settings: of :class:`~partialfair.torch.multiplier_model.MultiplierModel`.
    """
    require_descriptions(descriptions)
    network = multiplier_network(descriptions.shape[1], hidden).to(descriptions)
    dual_optimiser = torch.optim.Adagrad(network.parameters(), rate)
    model = MultiplierModel(constraints, descriptions, network, dual_optimiser, **settings)
    return Lagrangian(model.follow(optimiser))


def _lagrangian(optimiser: Optimizer, constraints: Constraints, rule: type, settings: dict[str, Any]) -> Lagrangian:
    shared = {name: settings.pop(name) for name in ("equality", "process_group", "check") if name in settings}
    return Lagrangian(Multipliers(constraints, rule(**settings), **shared).follow(optimiser))
