"""The proximal term of SSL-ALM as a hook of any optimiser: ``p.grad += mu (p - a)``, and anchors a that follow."""

from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from partialfair.algorithms import stochastic_steps as steps
from partialfair.errors import ConfigError
from partialfair.torch.multipliers import overflowed

Optimiser = TypeVar("Optimiser", bound=Optimizer)
ANCHOR = "anchor"
"""Key of a parameter's anchor in ``optimiser.state[p]``, where checkpoints and shards find it."""


def smoothed(optimiser: Optimiser, proximal: float = 2.0, smoothing: float = 0.5) -> Optimiser:
    """Add a proximal term to every step of an optimiser.

    Anchors live in ``optimiser.state[p]``, ``proximal`` and ``smoothing`` in its parameter groups (where they may
    differ, and be scheduled): ``state_dict`` and distributed checkpoints hold all of them. Parameters without a
    gradient, or frozen, are left alone. Clipping of gradients before ``step`` does not see the term; Adam's moments do.

    Args:
        optimiser: any of ``torch.optim`` that evaluates a step once.
        proximal: weight (mu) of the distance to the anchor.
        smoothing: how fast the anchor follows (beta).

    Returns:
        The optimiser.

    Raises:
        ConfigError: another kind of optimiser, one that is smoothed already, or a number out of range.
    """
    if not isinstance(optimiser, Optimizer):
        raise ConfigError(f"{type(optimiser).__name__} is no torch.optim.Optimizer; pass one that has step hooks")
    if isinstance(optimiser, torch.optim.LBFGS):
        raise ConfigError("LBFGS compares values along a line within a step, which a proximal term has none of")
    if "proximal" in optimiser.defaults:
        raise ConfigError("this optimiser is smoothed already; change proximal and smoothing in its param_groups")
    for name, value in {"proximal": proximal, "smoothing": smoothing}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(f"{name} is {value!r}; use 0 or a positive number")
        optimiser.defaults[name] = value
        for group in optimiser.param_groups:
            group.setdefault(name, value)
    hook = _Hook()
    optimiser.register_step_pre_hook(hook.before)
    optimiser.register_step_post_hook(hook.after)
    optimiser.register_load_state_dict_post_hook(_own_anchors)
    return optimiser


class _Hook:
    """Adds the term before a step; new anchors begin after it, as Adam takes any existing state for its own."""

    def __init__(self) -> None:
        self.anchors: dict[Tensor, Tensor] = {}

    def before(self, optimiser: Optimizer, args: Any, kwargs: Any) -> Any:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self.add(optimiser)
            return None

        def evaluated() -> Any:
            loss = closure()
            self.add(optimiser)
            return loss

        return (args[0], evaluated), {}

    @torch.no_grad()  # type: ignore[untyped-decorator]
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def add(self, optimiser: Optimizer) -> None:
        self.anchors = {}
        if overflowed(optimiser):
            return
        scale = getattr(optimiser, "grad_scale", None)  # of fused optimisers, which are given scaled gradients
        for group in optimiser.param_groups:
            mu = group["proximal"]
            trained = [p for p in group["params"] if p.requires_grad and p.grad is not None]
            if not mu or not trained:
                continue
            anchored = [p for p in trained if ANCHOR in optimiser.state.get(p, {})]
            self.anchors.update((p, p.detach().clone()) for p in trained if ANCHOR not in optimiser.state.get(p, {}))
            if not anchored:
                continue
            anchors = [optimiser.state[p][ANCHOR] for p in anchored]
            distance = torch._foreach_sub(anchored, anchors)
            weight = mu if scale is None else mu * float(scale)
            steps.smoothed([p.grad for p in anchored], anchors, distance, weight, group["smoothing"], add_in_place)

    def after(self, optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        for p, anchor in self.anchors.items():
            optimiser.state[p][ANCHOR] = anchor
        self.anchors = {}


def add_in_place(a: list[Tensor], b: list[Tensor], scale: float) -> list[Tensor]:
    """``a + scale b`` of lists of tensors, in the place of a."""
    torch._foreach_add_(a, b, alpha=scale)
    return a


def _own_anchors(optimiser: Optimizer) -> None:
    """Copy loaded anchors: PyTorch leaves the tensors of a state that is loaded shared with it."""
    for state in optimiser.state.values():
        if ANCHOR in state:
            state[ANCHOR] = state[ANCHOR].detach().clone()
