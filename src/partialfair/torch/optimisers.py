"""Stochastic methods for constraints ``c <= 0`` as optimisers around a training loop of your own.

Source: Benchmark of stochastic approximation algorithms, section 3. The steps are those of
:mod:`partialfair.algorithms.stochastic`, on the parameters of any module. The loop, the network and the data loader
stay yours: pass the loss and the constraint values of a step with their graph. Each is a ``torch.optim.Optimizer``, so
that schedules of ``lr`` and ``state_dict`` work; it takes derivatives itself, so call neither ``zero_grad`` nor
``backward``. Parameter groups may differ in ``lr`` alone.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from partialfair.algorithms.stochastic.ghost_subproblem import Subproblem, general_direction, pair_direction
from partialfair.algorithms.stochastic.stochastic_ghost import level_weight
from partialfair.errors import ConfigError, DataError
from partialfair.torch.constraints import is_finite

Value: TypeAlias = Any
"""A tensor of a batch with its graph, or a function that computes one if it is needed."""
Tensors: TypeAlias = tuple[Tensor, ...]
KEPT = "constraints"
"""Place in ``state`` of what belongs to no parameter."""


class ConstrainedOptimiser(Optimizer):  # type: ignore[misc]
    """What the optimisers share.

    Attributes:
        kept: what a method carries from step to step besides the parameters, as ``state_dict`` stores it.
    """

    def __init__(self, params: Iterable[Any], lr: float, **others: float) -> None:
        for name, value in {"lr": lr, **others}.items():
            if not is_finite(value) or not value > 0:
                raise ConfigError(f"{name} is {value!r}; use a positive number")
        super().__init__(params, {"lr": lr})

    @property
    def kept(self) -> dict[str, Any]:
        """State of the method, which ``state_dict`` stores: multipliers, slacks, steps done."""
        found: dict[str, Any] = self.state[KEPT]
        return found

    @property
    def parameters(self) -> list[Tensor]:
        """All parameters that are trained."""
        return [p for group in self.param_groups for p in group["params"] if p.requires_grad]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state; what it keeps moves to device and type of the parameters, as PyTorch moves moments.

        Raises:
            ConfigError: it is of other parameters.
        """
        super().load_state_dict(state_dict)
        params = self.parameters
        for name, value in self.kept.items():
            if isinstance(value, list):
                self._require_as_many(value)
                self.kept[name] = [one.to(p) for one, p in zip(value, params, strict=True)]
            elif isinstance(value, Tensor):
                self.kept[name] = value.to(params[0])

    def _require_as_many(self, kept: list[Tensor]) -> None:
        if [one.shape for one in kept] != [p.shape for p in self.parameters]:
            raise ConfigError(
                "the parameters that are trained are not those of the steps before; make a new optimiser, or train the "
                "same ones (requires_grad)"
            )

    def gradients(self, *values: Tensor, weights: Tensors | None = None, retain_graph: bool = False) -> list[Tensor]:
        """Derivatives of the sum of values, each times its weights (of its shape; by default 1), one per parameter."""
        params = self.parameters
        found = torch.autograd.grad(values, params, weights, retain_graph=retain_graph, allow_unused=True)
        return [torch.zeros_like(p) if one is None else one for one, p in zip(found, params, strict=True)]

    def descend(self, directions: list[Tensor], lr: float | None = None) -> None:
        """Move against directions by ``lr``, by default that of each parameter's group."""
        first = 0
        for group in self.param_groups:
            own = [p for p in group["params"] if p.requires_grad]
            last = first + len(own)
            torch._foreach_add_(own, directions[first:last], alpha=-float(group["lr"] if lr is None else lr))
            first = last


class SSLALM(ConstrainedOptimiser):
    """Smoothed and linearised augmented Lagrangian method, with slacks ``c + s = 0``, ``s >= 0``.

    Two independent draws of rows for the constraints make the step unbiased: the derivative is that of the first, the
    value that of the second.

    Args:
        params: parameters, and those of constraints with thresholds.
        lr: step of points and slacks (tau).
        proximal: weight of the distance to the anchor (mu).
        penalty: of the augmented Lagrangian (rho).
        dual_step: of the multipliers (eta).
        smoothing: how fast the anchor follows (beta).
        dual_bound: multipliers whose norm reaches it are set to 0.

    Raises:
        ConfigError: a number that is not positive (``proximal`` may be 0).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        *,
        proximal: float = 2.0,
        penalty: float = 1.0,
        dual_step: float = 0.05,
        smoothing: float = 0.5,
        dual_bound: float = 10.0,
    ) -> None:
        super().__init__(params, lr, penalty=penalty, dual_step=dual_step, smoothing=smoothing, dual_bound=dual_bound)
        if not is_finite(proximal) or proximal < 0:
            raise ConfigError(f"proximal is {proximal!r}; use 0 or a positive number")
        self.proximal, self.penalty, self.dual_step = proximal, penalty, dual_step
        self.smoothing, self.dual_bound = smoothing, dual_bound

    @property
    def multipliers(self) -> Tensor:
        """Multipliers (m,); none before the first step."""
        return torch.as_tensor(self.kept.get("multipliers", torch.zeros(0)))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, loss: Tensor, constraints: Tensor, again: Tensor | None = None) -> None:
        """One step.

        Args:
            loss: of rows of the objective, with its graph.
            constraints: values (m,) of a first draw, with their graph.
            again: values (m,) of a second, independent draw; without it the first is used twice, and the step is biased
                by the variance of the values.
        """
        values = constraints.detach()
        kept = self.kept or self._start(values)
        slack = kept["slack"]
        dual = kept["multipliers"] + self.dual_step * (values + slack)
        dual = torch.where(torch.linalg.vector_norm(dual) >= self.dual_bound, torch.zeros_like(dual), dual)
        v = dual + self.penalty * ((values if again is None else again.detach()) + slack)
        directions, by_slack = self.gradients(loss, constraints, weights=(torch.ones_like(loss), v)), v
        if self.proximal:
            self._require_as_many(kept["anchor"])
            away = torch._foreach_sub(self.parameters, kept["anchor"])
            torch._foreach_add_(directions, away, alpha=self.proximal)
            torch._foreach_add_(kept["anchor"], away, alpha=self.smoothing)
            by_slack = v + self.proximal * (slack - kept["slack_anchor"])
            kept["slack_anchor"] = kept["slack_anchor"] + self.smoothing * (slack - kept["slack_anchor"])
        self.descend(directions)
        lr = float(self.param_groups[0]["lr"])
        kept["slack"], kept["multipliers"] = (slack - lr * by_slack).clamp_(min=0), dual

    def _start(self, values: Tensor) -> dict[str, Any]:
        none = torch.zeros_like(values)
        self.state[KEPT] = {"slack": none, "slack_anchor": none, "multipliers": none}
        if self.proximal:
            self.kept["anchor"] = [p.detach().clone() for p in self.parameters]
        return self.kept


class StochasticALM(SSLALM):
    """The linearised augmented Lagrangian method: :class:`SSLALM` without its anchor.

    Args:
        params, lr, penalty, dual_step, dual_bound: as there.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        *,
        penalty: float = 1.0,
        dual_step: float = 0.05,
        dual_bound: float = 10.0,
    ) -> None:
        super().__init__(params, lr, proximal=0.0, penalty=penalty, dual_step=dual_step, dual_bound=dual_bound)


class SwitchingSubgradient(ConstrainedOptimiser):
    """Switching subgradient method (SSw): a step on the loss where the constraints seem to hold, else on the worst one.

    The rule is that of :class:`~partialfair.algorithms.stochastic.stochastic_switching.SwitchingSteps`, which evaluates
    loss and constraints itself, for several runs in NumPy; here they come from a loop of the user's, with their graph.

    Args:
        params: parameters, and those of constraints with thresholds.
        lr: step on the loss.
        constraint_lr: step on a constraint.
        tolerance: largest value that counts as held.
        tolerance_decay: factor of the tolerance, per step from ``decay_start`` on.
        decay_start: step of a pass.
        steps_per_pass: after so many the tolerance begins anew; ``None`` for never.

    Attributes:
        on_loss: whether the last step was on the loss.

    Raises:
        ConfigError: a number that is not positive.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.5,
        *,
        constraint_lr: float = 0.05,
        tolerance: float = 1e-4,
        tolerance_decay: float = 0.97,
        decay_start: int = 500,
        steps_per_pass: int | None = None,
    ) -> None:
        super().__init__(params, lr, constraint_lr=constraint_lr, tolerance=tolerance, tolerance_decay=tolerance_decay)
        self.constraint_lr, self.tolerance, self.tolerance_decay = constraint_lr, tolerance, tolerance_decay
        self.decay_start, self.steps_per_pass = decay_start, steps_per_pass
        self.on_loss = True

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, loss: Value, constraints: Value, again: Value | None = None) -> None:
        """One step; of the arguments that are functions, only what the step needs is computed.

        Args:
            loss: of rows of the objective.
            constraints: values (m,) of a first draw, which decide.
            again: values (m,) of a second, independent draw, whose largest a step on the constraints lowers; without it
                the first serves for both.
        """
        done = int(self.kept.setdefault("steps", 0))
        self.kept["steps"] = done + 1
        in_pass = done if self.steps_per_pass is None else done % self.steps_per_pass
        limit = self.tolerance * self.tolerance_decay ** max(0, in_pass - self.decay_start)
        reused = again is None and not isinstance(constraints, Tensor)
        with torch.set_grad_enabled(reused):
            values = constraints if isinstance(constraints, Tensor) else constraints()
        self.on_loss = float(values.max()) <= limit
        if self.on_loss:
            self.descend(self.gradients(_computed(loss)))
        else:
            values = values if again is None else _computed(again)
            self.descend(self.gradients(values, weights=(_unit(values, int(values.argmax())),)), self.constraint_lr)


class StochasticGhost(ConstrainedOptimiser):
    """Stochastic Ghost: directions from subproblems on drawn rows, made nearly unbiased by a random number of levels.

    Args:
        params: parameters, and those of constraints with thresholds.
        lr: first step (alpha_0); decay: of ``lr <- lr (1 - decay lr)`` before every step but the first.
        success: of the geometric distribution of the level.
        largest: largest level: a step draws at most ``1 + 2^(largest + 1)`` rows.
        slack: where the two constraints are ``D <= slack`` and ``-D <= slack``, the subproblem has a closed form for
            any number of parameters; ``None`` for others, which need Clarabel and, while a constraint is violated, a
            linear program in all parameters.
        weight, box, mixing, radius: of the subproblem, see
            :class:`partialfair.algorithms.stochastic.ghost_subproblem.Subproblem`.

    Raises:
        ConfigError: a number out of range.
        DataError: in a step, where loss or constraints are not finite.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.05,
        *,
        decay: float = 0.05,
        success: float = 0.4,
        largest: int = 8,
        slack: float | None = None,
        weight: float = 1.0,
        box: float = 10.0,
        mixing: float = 0.8,
        radius: float = 0.5,
    ) -> None:
        super().__init__(params, lr, success=success, largest=largest)
        if not success < 1:
            raise ConfigError(f"success is {success}; use a number between 0 and 1")
        if not 0 < radius <= box:
            raise ConfigError(f"radius is {radius}; use a positive number up to box, {box}")
        self.decay, self.success, self.largest, self.slack = decay, success, largest, slack
        self.options = Subproblem(weight=weight, box=box, mixing=mixing, radius=radius)

    def draw_level(self) -> int:
        """A level, by PyTorch's generator."""
        while True:
            level = int(torch.empty(()).geometric_(self.success)) - 1
            if level <= self.largest:
                return level

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, sample: Callable[[int], tuple[Tensor, Tensor]], level: int | None = None) -> None:
        """One step.

        Args:
            sample: draws as many rows as it is told, of the objective and of each group, and returns loss and
                constraint values (m,) on them with their graph. It is called three times.
            level: in place of a drawn one.
        """
        self._shorten()
        level = self.draw_level() if level is None else level
        direction = self._direction(*self._linear(sample, 1))
        halves = [self._linear(sample, 2**level) for _ in (0, 1)]
        whole = tuple((one + other) / 2 for one, other in zip(*halves, strict=True))
        part = sum(self._direction(*half) for half in halves) / 2
        direction = direction + (self._direction(*whole) - part) / level_weight(level, self.success)
        self.descend(self._like_parameters(-direction))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def full_step(self, loss: Tensor, constraints: Tensor) -> None:
        """One step along the direction of one batch, without levels: for loss and constraints (m,) without noise."""
        self._shorten()
        self.descend(self._like_parameters(-self._direction(*self._linear(lambda size: (loss, constraints), 0))))

    def _shorten(self) -> None:
        """Shorten the step, before every step but the first."""
        if self.kept.setdefault("steps", 0):
            for group in self.param_groups:
                group["lr"] = group["lr"] * (1 - self.decay * group["lr"])
        self.kept["steps"] += 1

    def _linear(self, sample: Callable[[int], tuple[Tensor, Tensor]], size: int) -> tuple[Any, Any, Any]:
        """Gradient (N,) of the loss, Jacobian (m, N) of the constraints, of a pair that of the first, values (m,)."""
        with torch.enable_grad():
            loss, values = sample(size)
        if self.slack is not None:
            _require_pair(values, self.slack)
        gradient = _flat(self.gradients(loss, retain_graph=True))
        units = [_unit(values, place) for place in range(values.numel() if self.slack is None else 1)]
        rows = [_flat(self.gradients(values, weights=(unit,), retain_graph=True)) for unit in units]
        return gradient, np.stack(rows), values.detach().cpu().numpy()

    def _direction(self, gradient: Any, jacobian: Any, values: Any) -> Any:
        if self.slack is None:
            found = general_direction(gradient, jacobian, values, self.options)[0]
        else:
            difference = values[:1] + self.slack
            found = pair_direction(gradient[None], jacobian, difference, self.slack, self.options)[0][0]
        if not np.isfinite(found).all():
            raise DataError("the subproblem of this batch has no finite solution; look at the loss, or lower lr")
        return found

    def _like_parameters(self, flat: Any) -> list[Tensor]:
        parameters = self.parameters
        parts = torch.from_numpy(np.ascontiguousarray(flat)).split([p.numel() for p in parameters])
        return [part.to(p).view_as(p) for part, p in zip(parts, parameters, strict=True)]


def _require_pair(values: Tensor, slack: float) -> None:
    """Refuse constraints other than ``D - slack`` and ``-D - slack``, of which the first says all.

    Raises:
        ConfigError: there are more than two, or they have another slack.
    """
    if values.numel() != 2:
        raise ConfigError(
            f"slack is {slack:g}, which is for two constraints, D <= slack and -D <= slack; there are "
            f"{values.numel()}: leave slack out"
        )
    theirs = -float(values.detach().sum()) / 2
    if abs(theirs - slack) > 1e-4:
        raise ConfigError(f"slack is {slack:g}, the two constraints have {theirs:.4g}; pass that, or none")


def _unit(values: Tensor, place: int) -> Tensor:
    """1 at a place and 0 elsewhere."""
    found = torch.zeros_like(values)
    found[place] = 1
    return found


def _computed(value: Value) -> Tensor:
    if isinstance(value, Tensor):
        return value
    with torch.enable_grad():
        return value()


def _flat(parts: list[Tensor]) -> Any:
    return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy()
