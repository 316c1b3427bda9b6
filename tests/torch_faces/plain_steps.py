"""The steps of the methods written out on a list of parameters, for comparison: derivatives by autograd, no hook."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partialfair.algorithms.ghost_subproblem import Subproblem, level_weight, pair_direction

State = dict[str, Any]


def gradients(params: list[Tensor], *values: Tensor, weights: Any = None) -> list[Tensor]:
    parts = torch.autograd.grad(values, params, weights, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(p) if part is None else part for part, p in zip(parts, params, strict=True)]


def ssl_alm_step(
    params: list[Tensor],
    state: State,
    loss: Tensor,
    values: Tensor,
    again: Tensor,
    *,
    lr: float,
    proximal: float = 2.0,
    penalty: float = 1.0,
    dual_step: float = 0.05,
    smoothing: float = 0.5,
    dual_bound: float = 10.0,
) -> None:
    """Benchmark of stochastic approximation algorithms, equations (10) and (11); with ``proximal`` 0, ALM."""
    with torch.no_grad():
        c, second = values.detach(), again.detach()
        if not state:
            zero = torch.zeros_like(c)
            state.update(dual=zero, slack=zero, slack_anchor=zero, anchor=[p.detach().clone() for p in params])
        slack = state["slack"]
        dual = state["dual"] + dual_step * (c + slack)
        dual = torch.where(torch.linalg.vector_norm(dual) >= dual_bound, torch.zeros_like(dual), dual)
        v = dual + penalty * (second + slack)
        directions, by_slack = gradients(params, loss, values, weights=(torch.ones_like(loss), v)), v
        if proximal:
            away = torch._foreach_sub(params, state["anchor"])
            torch._foreach_add_(directions, away, alpha=proximal)
            torch._foreach_add_(state["anchor"], away, alpha=smoothing)
            by_slack = v + proximal * (slack - state["slack_anchor"])
            state["slack_anchor"] = state["slack_anchor"] + smoothing * (slack - state["slack_anchor"])
        torch._foreach_add_(params, directions, alpha=-lr)
        state["slack"], state["dual"] = (slack - lr * by_slack).clamp_(min=0), dual


def switching_step(
    params: list[Tensor], limit: float, loss: Tensor, decides: Tensor, values: Tensor, lr: float, constraint_lr: float
) -> bool:
    """Section 3.4; returns whether the step was on the loss."""
    on_loss = float(decides.detach().max()) <= limit
    directions = gradients(params, loss if on_loss else values[int(values.argmax())])
    with torch.no_grad():
        torch._foreach_add_(params, directions, alpha=-(lr if on_loss else constraint_lr))
    return on_loss


def ghost_step(
    params: list[Tensor],
    batches: list[tuple[Tensor, Tensor]],
    level: int,
    slack: float,
    lr: float,
    success: float = 0.4,
) -> None:
    """Equations (7) to (9), on loss and constraint values of a single draw and of two halves."""

    def flat(parts: list[Tensor]) -> Any:
        return torch.cat([part.reshape(-1) for part in parts]).numpy()

    def direction(g: Any, a: Any, value: Any) -> Any:
        return pair_direction(g[None], a[None], value[None] + slack, slack, Subproblem())[0][0]

    linear = [
        (flat(gradients(params, loss)), flat(gradients(params, values[0])), values[0].detach().numpy())
        for loss, values in batches
    ]
    single, *halves = linear
    whole = [(first + second) / 2 for first, second in zip(*halves, strict=True)]
    part = sum(direction(*half) for half in halves) / 2
    d = direction(*single) + (direction(*whole) - part) / level_weight(level, success)
    with torch.no_grad():
        pieces = torch.from_numpy(np.ascontiguousarray(d)).split([p.numel() for p in params])
        for p, piece in zip(params, pieces, strict=True):
            p.add_((-piece).to(p).view_as(p), alpha=-lr)
