"""Stochastic Ghost: directions from subproblems on drawn rows, added to ``p.grad`` for an optimiser of yours.

Source: Benchmark of stochastic approximation algorithms, section 3.2. The subproblem and the weights of the levels are
those of :mod:`partialfair.algorithms.ghost_subproblem`.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler

from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.ghost_subproblem import Subproblem, general_direction, level_weight, pair_direction
from partialfair.errors import ConfigError, DataError
from partialfair.torch.constraints import is_finite
from partialfair.torch.derivatives import flat_derivative, require_graph, scalar_of, vector_of
from partialfair.torch.replicas import mean_over_replicas

Sample: TypeAlias = Callable[[int], tuple[Tensor, Tensor]]


class StochasticGhost:
    """Directions of Stochastic Ghost: its ``backward`` adds their negative to ``p.grad``, in place of the loss's.

    Directions add up in ``p.grad`` until ``zero_grad``, as derivatives do. One is made nearly unbiased by a random
    number of levels: with a level N, which has the chance ``P(N) = success (1 - success)^N``, and ``J = 2^(N + 1)``
    rows, it is ``d_1 + (d_J - (d_even + d_odd) / 2) / P(N)``.
    The paper's optimiser is ``SGD(params, 0.05)`` with the schedule :class:`GhostDecay`.

    It draws single rows, which batch normalisation refuses while it trains: put it into ``eval`` mode.

    Args:
        params: parameters, and those of constraints with thresholds.
        slack: where the two constraints are ``D <= slack`` and ``-D <= slack``, the subproblem has a closed form for
            any number of parameters; ``None`` for others, which need Clarabel and, while a constraint is violated, a
            linear program in all parameters.
        success: of the geometric distribution of the level.
        largest: largest level: a step draws at most ``1 + 2^(largest + 1)`` rows.
        weight, box, mixing, radius: of the subproblem, see
            :class:`partialfair.algorithms.ghost_subproblem.Subproblem`.
        process_group: replicas whose directions are averaged; by default all processes. Pass networks without
            ``DistributedDataParallel``, whose hooks these directions do not call.

    Raises:
        ConfigError: a number out of range.
        DataError: in ``backward``, where loss or constraints are not finite.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        slack: float | None = None,
        *,
        success: float = 0.4,
        largest: int = 8,
        weight: float = 1.0,
        box: float = 10.0,
        mixing: float = 0.8,
        radius: float = 0.5,
        process_group: Any = None,
    ) -> None:
        for name, value in {"success": success, "largest": largest, "slack": 1.0 if slack is None else slack}.items():
            if not is_finite(value) or not value > 0:
                raise ConfigError(f"{name} is {value!r}; use a positive number")
        if not success < 1:
            raise ConfigError(f"success is {success}; use a number between 0 and 1")
        if not 0 < radius <= box:
            raise ConfigError(f"radius is {radius}; use a positive number up to box, {box}")
        self.params = list(params)
        if not all(isinstance(p, Tensor) for p in self.params):
            raise ConfigError("params holds other things than tensors; pass network.parameters()")
        self.success, self.largest, self.slack, self.process_group = success, largest, slack, process_group
        self.options = Subproblem(weight=weight, box=box, mixing=mixing, radius=radius)

    def draw_level(self) -> int:
        """A level, by PyTorch's generator."""
        while True:
            level = int(torch.empty(()).geometric_(self.success)) - 1
            if level <= self.largest:
                return level

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def backward(self, sample: Sample, level: int | None = None) -> None:
        """Add the negative direction of a step to ``p.grad``.

        Args:
            sample: draws as many rows as it is told, of the objective and of each group, and returns loss and
                constraint values (m,) on them with their graph. It is called three times.
            level: in place of a drawn one.
        """
        level = self.draw_level() if level is None else level
        direction = self._direction(*self._linear(sample, 1))
        halves = [self._linear(sample, 2**level) for _ in (0, 1)]
        joint = tuple((odd + even) / 2 for odd, even in zip(*halves, strict=True))
        half_direction = sum(self._direction(*half) for half in halves) / 2
        self._add(
            steps.multilevel(direction, self._direction(*joint), half_direction, level_weight(level, self.success))
        )

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def full_backward(self, loss: Tensor, values: Tensor) -> None:
        """Add the negative direction of one batch, without levels: for loss and constraints (m,) without noise."""
        self._add(self._direction(*self._linear(lambda size: (loss, values), 0)))

    def _linear(self, sample: Sample, size: int) -> tuple[Any, Any, Any]:
        """Gradient (N,) of the loss, Jacobian (m, N) of the constraints, of a pair that of the first, values (m,)."""
        with torch.enable_grad():
            loss, values = _drawn(sample, size)
            if self.slack is not None:
                _require_pair(values, self.slack)
            differentiated = list(values)[: None if self.slack is None else 1]
        params = self._trained
        jacobian = torch.stack([flat_derivative(value, params) for value in differentiated]).cpu().numpy()
        return flat_derivative(loss, params).cpu().numpy(), jacobian, values.detach().cpu().numpy()

    @property
    def _trained(self) -> list[Tensor]:
        return [p for p in self.params if p.requires_grad]

    def _direction(self, gradient: Any, jacobian: Any, values: Any) -> Any:
        if self.slack is None:
            direction = general_direction(gradient, jacobian, values, self.options)[0]
        else:
            difference = values[:1] + self.slack
            direction = pair_direction(gradient[None], jacobian, difference, self.slack, self.options)[0][0]
        if not np.isfinite(direction).all():
            raise DataError("the subproblem of this batch has no finite solution; look at the loss, or lower lr")
        return direction

    def _add(self, direction: Any) -> None:
        flat = mean_over_replicas(torch.from_numpy(np.ascontiguousarray(-direction)), self.process_group)
        parameters = self._trained
        for p, step in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
            moved = step.to(p).view_as(p)
            p.grad = moved.clone() if p.grad is None else p.grad + moved


class GhostDecay(LRScheduler):  # type: ignore[misc]
    """The step size of Stochastic Ghost: ``lr <- lr (1 - decay lr)`` after every step.

    Args:
        optimiser: its groups' ``lr`` are the first steps (alpha_0).
        decay: (alpha_hat).
    """

    def __init__(self, optimiser: torch.optim.Optimizer, decay: float = 0.05, last_epoch: int = -1) -> None:
        if not is_finite(decay) or decay < 0:
            raise ConfigError(f"decay is {decay!r}; use 0 or a positive number")
        self.decay = decay
        super().__init__(optimiser, last_epoch)

    def get_lr(self) -> list[float]:
        """Step size of each group for the next step."""
        lengths = [float(group["lr"]) for group in self.optimizer.param_groups]
        return lengths if self.last_epoch <= 0 else [steps.shortened(lr, self.decay) for lr in lengths]


def _drawn(sample: Sample, size: int) -> tuple[Tensor, Tensor]:
    try:
        loss, values = sample(size)
    except ValueError as error:
        if size == 1 and "more than 1 value per channel" in str(error):
            raise ConfigError(
                "Stochastic Ghost draws single rows, which batch normalisation cannot train on; call network.eval()"
            ) from error
        raise
    vector = vector_of(values)
    scalar = scalar_of(loss)
    require_graph(vector)
    require_graph(scalar, name="numbers as the loss")
    return scalar, vector


def _require_pair(values: Tensor, slack: float) -> None:
    """Refuse constraints other than ``D - slack`` and ``-D - slack``, of which the first says all.

    Raises:
        ConfigError: there are more than two, or they have another slack.
        DataError: the batch lacks a group.
    """
    if values.numel() != 2:
        raise ConfigError(
            f"slack is {slack:g}, which is for two constraints, D <= slack and -D <= slack; there are "
            f"{values.numel()}: leave slack out"
        )
    if not bool(values.detach().any()):
        raise DataError("both constraints are exactly 0, as of a batch that lacks a group; draw rows of every group")
    measured = -float(values.detach().sum()) / 2
    if abs(measured - slack) > 1e-4:
        raise ConfigError(f"slack is {slack:g}, the two constraints have {measured:.4g}; pass that, or none")
