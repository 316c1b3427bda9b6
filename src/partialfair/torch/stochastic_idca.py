"""Stochastic inexact difference-of-convex algorithm (IDCA) around a training loop of your own.

Source: Partial fairness paper, section 6 and, for networks, appendix G.9. The steps are those of
:mod:`partialfair.algorithms.deep.stochastic_idca`, on batches that you draw.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from partialfair.errors import ConfigError
from partialfair.torch.constraints import BatchConstraint
from partialfair.torch.optimisers import KEPT, ConstrainedOptimiser, Tensors


class StochasticIDCA(ConstrainedOptimiser):
    """IDCA for networks.

    The second part of every constraint is linearised at an anchor, and the convex subproblem solved by a primal-dual
    method (Yu, Neely and Wei, 2017) on batches. After ``inner_steps`` steps the anchor moves to their mean or to the
    last point. Batches should hold equally many rows of every group. Put networks with batch normalisation into
    ``eval`` mode first: the score of a row may depend on that row alone.

    Args:
        network: the module; called with a batch's inputs it returns one score per row.
        constraint: the constraints; their thresholds are trained, too.
        inner_steps: steps of a subproblem (T).
        step_scale: the step is ``step_scale / (2 T)``.
        rho: weight of the distance to the anchor, which makes both parts convex.
        next_iterate: "average" or "last": where the anchor moves.
        keep_queues: whether queues go on from one subproblem to the next.

    Attributes:
        queues: (m,) queues; divided by ``sqrt(T)`` they estimate the multipliers.

    Raises:
        ConfigError: a number that is not positive, or another ``next_iterate``.
    """

    def __init__(
        self,
        network: nn.Module,
        constraint: BatchConstraint,
        *,
        inner_steps: int = 40,
        step_scale: float = 1.0,
        rho: float = 1.0,
        next_iterate: str = "average",
        keep_queues: bool = True,
    ) -> None:
        if next_iterate not in ("average", "last"):
            raise ConfigError(f"next_iterate is {next_iterate!r}; use 'average' or 'last'")
        if inner_steps < 1:
            raise ConfigError(f"inner_steps is {inner_steps}; use at least 1")
        self.network, self.constraint = network, constraint
        self.names = [name for name, p in network.named_parameters() if p.requires_grad]
        params = [p for p in network.parameters() if p.requires_grad]
        super().__init__([*params, constraint.thetas], step_scale / (2 * inner_steps), step_scale=step_scale)
        self.inner_steps, self.rho, self.weight = inner_steps, rho, math.sqrt(inner_steps)
        self.next_iterate, self.keep_queues = next_iterate, keep_queues
        self.state[KEPT] = {"queues": torch.zeros(len(constraint.labels), device=constraint.thetas.device), "steps": 0}

    @property
    def queues(self) -> Tensor:
        """Queues (m,), one per constraint; divided by ``sqrt(T)`` they estimate the multipliers."""
        return torch.as_tensor(self.kept["queues"])

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(
        self, inputs: Any, group: Tensor, y: Tensor | None = None, *, loss: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """One step; loss and constraint values (m,) of the batch before it, without graph.

        Args:
            inputs: what the network takes; a tuple for several arguments.
            group: codes (n,); y: labels (n,) for constraints that look at them.
            loss: of scores (n,), convex in them.
        """
        kept = self.kept
        if not kept["steps"]:
            self._set_anchor()
        given = inputs if isinstance(inputs, tuple) else (inputs,)

        def parts(side: int) -> Callable[..., Tensor]:
            def of(*point: Tensor) -> Tensor:
                return self.constraint.parts(self._scores(point[:-1], given), group, y, point[-1])[side]

            return of

        self._require_as_many(kept["anchor"])
        here, anchor, queues = self.parameters, kept["anchor"], kept["queues"]
        with torch.enable_grad():
            scores = self._scores(here[:-1], given)
            now = loss(scores)
            convex, concave = self.constraint.parts(scores, group, y)
            directions = self.gradients(now, convex, weights=(torch.full_like(now, self.weight), queues))
            if bool(queues.any()):
                leaves = [part.requires_grad_() for part in anchor]
                total = queues @ parts(1)(*leaves)
                slopes = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
                torch._foreach_sub_(directions, list(slopes))
                _detach(leaves)
        away = torch._foreach_sub(here[:-1], anchor[:-1])
        torch._foreach_add_(directions[:-1], away, alpha=self.rho * (self.weight + float(queues.sum())))
        before = tuple(p.detach().clone() for p in here)
        self.descend(directions)
        kept["queues"] = (queues + self._extrapolated(before, away, parts)).clamp_(min=0)
        torch._foreach_add_(kept["sum"], here)
        kept["steps"] += 1
        if kept["steps"] % self.inner_steps == 0:
            self._end_subproblem()
        return now.detach(), (convex - concave).detach()

    def _extrapolated(
        self, before: Tensors, away: list[Tensor], parts: Callable[[int], Callable[..., Tensor]]
    ) -> Tensor:
        """Values (m,) of the convex constraints to first order at the point after the step."""
        here, anchor = self.parameters, tuple(self.kept["anchor"])
        moved = tuple(torch._foreach_sub(here, before))
        value, slope = jvp(parts(0), before, moved)
        from_anchor = tuple(torch._foreach_sub(here, anchor))
        level, tangent = jvp(parts(1), anchor, from_anchor)
        inner = sum((a * (0.5 * a + step)).sum() for a, step in zip(away, moved[:-1], strict=True))
        return torch.as_tensor(value + slope - level - tangent + self.rho * inner)

    def _end_subproblem(self) -> None:
        """Go where the solution of the subproblem is said to be, and linearise there."""
        kept = self.kept
        if self.next_iterate == "average":
            torch._foreach_copy_(self.parameters, torch._foreach_div(kept["sum"], self.inner_steps))
        if not self.keep_queues:
            kept["queues"] = torch.zeros_like(kept["queues"])
        self._set_anchor()

    def _set_anchor(self) -> None:
        here = self.parameters
        self.kept["anchor"] = [p.detach().clone() for p in here]
        self.kept["sum"] = [torch.zeros_like(p) for p in here]

    def _scores(self, parameters: Any, inputs: tuple[Any, ...]) -> Tensor:
        named = dict(zip(self.names, parameters, strict=True))
        return torch.as_tensor(functional_call(self.network, named, inputs)).reshape(-1)


def _detach(leaves: list[Tensor]) -> None:
    for leaf in leaves:
        leaf.requires_grad_(False)
