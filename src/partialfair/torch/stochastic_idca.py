"""Stochastic inexact difference-of-convex algorithm (IDCA) around a training loop of your own.

Source: Partial fairness paper, section 6 and, for networks, appendix G.9. The steps are those of
:mod:`papers.partial_fairness.algorithms.stochastic_idca`, on batches that you draw.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from partialfair.algorithms import stochastic_steps as steps
from partialfair.errors import ConfigError, DataError
from partialfair.torch.constraints import BatchConstraint, is_finite
from partialfair.torch.derivatives import require_graph, scalar_of
from partialfair.torch.multipliers import overflowed
from partialfair.torch.replicas import mean_over_replicas
from partialfair.torch.smoothing import add_in_place

Tensors = tuple[Tensor, ...]
UNSTEADY = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
"""Layers whose training mode makes the score of a row depend on other rows, or on chance."""


class StochasticIDCA(nn.Module):  # type: ignore[misc]
    """IDCA for networks: ``backward`` writes the derivative of a step to ``p.grad``, in place of ``loss.backward()``.

    The second part of every constraint is linearised at an anchor, and the convex subproblem solved by a primal-dual
    method (Yu, Neely and Wei, 2017) on batches. After ``inner_steps`` steps the anchor moves to their mean or to the
    last point. The paper's optimiser is ``SGD`` on :attr:`trained` with ``lr = 1 / (2 inner_steps)``; queues and
    anchors move when it steps. Batches should hold equally many rows of every group. Put networks with batch
    normalisation or dropout into ``eval`` mode first: the score of a row may depend on that row alone.

    Queues, anchors, the sum of the steps, their number and the settings are in ``state_dict``.

    Args:
        network: the module; called with a batch's inputs it returns one score per row.
        constraint: the constraints; their thresholds are trained, too.
        inner_steps: steps of a subproblem (T).
        rho: weight of the distance to the anchor, which makes both parts convex.
        next_iterate: "average" or "last": where the anchor moves.
        keep_queues: whether queues go on from one subproblem to the next.
        process_group: replicas whose derivatives and values are averaged; by default all processes.

    Attributes:
        queues: (m,) queues; divided by ``sqrt(T)`` they estimate the multipliers.

    Raises:
        ConfigError: a number that is not positive, another ``next_iterate``, or a network in
            ``DistributedDataParallel``; in ``backward``, layers that look at several rows or draw at random.
    """

    queues: Tensor
    STATE = ("queues", "anchor", "total")

    def __init__(
        self,
        network: nn.Module,
        constraint: BatchConstraint,
        *,
        inner_steps: int = 40,
        rho: float = 1.0,
        next_iterate: str = "average",
        keep_queues: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__()
        if next_iterate not in ("average", "last"):
            raise ConfigError(f"next_iterate is {next_iterate!r}; use 'average' or 'last'")
        if not is_finite(inner_steps) or inner_steps < 1 or inner_steps != int(inner_steps):
            raise ConfigError(f"inner_steps is {inner_steps!r}; use a whole number, at least 1")
        if not is_finite(rho) or rho < 0:
            raise ConfigError(f"rho is {rho!r}; use 0 or a positive number")
        if isinstance(network, nn.parallel.DistributedDataParallel):
            raise ConfigError("IDCA averages over replicas itself; pass the network without DistributedDataParallel")
        # Not submodules: this state_dict is of the method, and the network has one of its own.
        self._parts = (network, constraint)
        self.names = [name for name, p in network.named_parameters() if p.requires_grad]
        self.inner_steps, self.rho, self.next_iterate, self.keep_queues = inner_steps, rho, next_iterate, keep_queues
        self.process_group, self.steps = process_group, 0
        thetas = constraint.thetas
        size = sum(p.numel() for p in self.trained)
        self.register_buffer("queues", torch.zeros(len(constraint.labels), dtype=thetas.dtype, device=thetas.device))
        self.register_buffer("anchor", torch.zeros(size, dtype=thetas.dtype, device=thetas.device))
        self.register_buffer("total", torch.zeros(size, dtype=thetas.dtype, device=thetas.device))
        self.register_load_state_dict_pre_hook(_require_as_many)
        self._unsteady = [layer for layer in network.modules() if isinstance(layer, UNSTEADY)]
        self._step: tuple[Any, ...] | None = None
        self._followed = False

    @property
    def trained(self) -> list[Tensor]:
        """Parameters for the optimiser: those of the network that are trained, and the thresholds."""
        network, constraint = self._parts
        return [*(p for p in network.parameters() if p.requires_grad), constraint.thetas]

    def follow(self, optimiser: torch.optim.Optimizer) -> Self:
        """Move queues and anchors after every step of an optimiser; returns this object.

        Raises:
            ConfigError: no ``torch.optim.Optimizer``, or one that evaluates a step several times.
        """
        if not isinstance(optimiser, torch.optim.Optimizer) or isinstance(optimiser, torch.optim.LBFGS):
            raise ConfigError(f"IDCA cannot follow {type(optimiser).__name__}; use one that evaluates once a step")
        optimiser.register_step_post_hook(self._after_step)
        self._followed = True
        return self

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def backward(
        self, inputs: Any, group: Tensor, y: Tensor | None = None, *, loss: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Write the derivative to ``p.grad``; loss and constraint values (m,) of the batch, without graph.

        Args:
            inputs: what the network takes; a tuple for several arguments.
            group: codes (n,); y: labels (n,) for constraints that look at them.
            loss: of scores (n,), convex in them.

        Raises:
            ConfigError: no optimiser is followed, or other parameters are trained than before.
            DataError: loss or constraints are not finite.
        """
        if not self._followed:
            raise ConfigError("this method follows no optimiser; call follow(optimiser) first")
        if self._step is not None:
            raise ConfigError("backward was called twice without a step; IDCA takes whole batches, so pass one")
        if any(layer.training for layer in self._unsteady):
            raise ConfigError("IDCA compares two points on the same rows; call network.eval() for dropout and norms")
        _, constraint = self._parts
        arguments = inputs if isinstance(inputs, tuple) else (inputs,)
        parameters = self.trained
        self._require_the_same(parameters)
        if self.queues.device != parameters[-1].device or self.queues.dtype != parameters[-1].dtype:
            self.to(parameters[-1])
        if not self.steps:
            self.anchor, self.total = _flat(parameters), torch.zeros_like(self.anchor)
        anchor, weight = self._like(self.anchor), steps.loss_weight(self.inner_steps)

        def sides(side: int) -> Callable[..., Tensor]:
            def values_at(*point: Tensor) -> Tensor:
                return constraint.convex_parts(self._scores(point[:-1], arguments), group, y, point[-1])[side]

            return values_at

        with torch.enable_grad():
            scores = self._scores(parameters[:-1], arguments)
            convex, concave = constraint.convex_parts(scores, group, y)
            loss_value = scalar_of(loss(scores), f"step {self.steps}: ")
            values = (convex - concave).detach()
            if not bool(torch.isfinite(loss_value) & torch.isfinite(values).all()):
                wrong = [
                    name for name, v in zip(constraint.labels, values.tolist(), strict=True) if not math.isfinite(v)
                ]
                cause = f"constraints {wrong} are not finite" if wrong else f"the loss is {float(loss_value)}"
                raise DataError(f"step {self.steps}: {cause}; queues and parameters were left as they were")
            weights = torch.full_like(loss_value, weight), self.queues
            require_graph(loss_value, f"step {self.steps}: ", "numbers as the loss")
            directions = _gradients((loss_value, convex), parameters, weights)
            if bool(self.queues.any()):
                leaves = [values.clone().requires_grad_() for values in anchor]
                slopes = _gradients((self.queues @ sides(1)(*leaves),), leaves)
                torch._foreach_sub_(directions, slopes)
        distances = torch._foreach_sub(parameters[:-1], anchor[:-1])
        add_in_place(directions[:-1], distances, steps.proximal_weight(self.rho, weight, self.queues))
        for p, direction in zip(parameters, directions, strict=True):
            p.grad = mean_over_replicas(direction, self.process_group)
        self._step = tuple(p.detach().clone() for p in parameters), distances, sides
        return loss_value.detach(), values

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _after_step(self, optimiser: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._step is None or overflowed(optimiser):
            return
        (before, distances, sides), self._step = self._step, None
        moved = mean_over_replicas(self._extrapolated(before, distances, sides), self.process_group)
        self.queues = steps.moved_queues(self.queues, moved)
        self.total = self.total + _flat(self.trained)
        self.steps += 1
        if self.steps % self.inner_steps == 0:
            self._end_subproblem()

    def _extrapolated(
        self, before: Tensors, distances: list[Tensor], sides: Callable[[int], Callable[..., Tensor]]
    ) -> Tensor:
        """Values (m,) of the convex constraints to first order at the point after the step."""
        parameters, anchor = self.trained, tuple(self._like(self.anchor))
        moved = tuple(torch._foreach_sub(parameters, before))
        value, slope = jvp(sides(0), before, moved)
        from_anchor = tuple(torch._foreach_sub(parameters, anchor))
        level, tangent = jvp(sides(1), anchor, from_anchor)
        square = sum((distance * distance).sum() for distance in distances)
        product = sum((distance * step).sum() for distance, step in zip(distances, moved[:-1], strict=True))
        proximal = self.rho * steps.half_distance(square, product)
        return torch.as_tensor(steps.extrapolated(value, slope, level, tangent, proximal))

    def _end_subproblem(self) -> None:
        """Go where the solution of the subproblem is said to be, and linearise there."""
        if self.next_iterate == "average":
            torch._foreach_copy_(self.trained, self._like(self.total / self.inner_steps))
        if not self.keep_queues:
            self.queues = torch.zeros_like(self.queues)
        self.anchor, self.total = _flat(self.trained), torch.zeros_like(self.total)

    def _like(self, flat: Tensor) -> list[Tensor]:
        """Parts of a vector in the shapes of the parameters."""
        params = self.trained
        return [values.view_as(p) for values, p in zip(flat.split([p.numel() for p in params]), params, strict=True)]

    def _scores(self, parameters: Any, inputs: tuple[Any, ...]) -> Tensor:
        named = dict(zip(self.names, parameters, strict=True))
        return torch.as_tensor(functional_call(self._parts[0], named, inputs)).reshape(-1)

    def _require_the_same(self, params: list[Tensor]) -> None:
        if len(params) - 1 != len(self.names) or sum(p.numel() for p in params) != self.anchor.numel():
            raise ConfigError(
                "the parameters that are trained are not those of the steps before; make a new object, or train the "
                "same ones (requires_grad)"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles follow no optimiser."""
        return {**self.__dict__, "_step": None, "_followed": False}

    def get_extra_state(self) -> dict[str, Any]:
        """Settings and number of steps."""
        names = ("inner_steps", "rho", "next_iterate", "keep_queues", "steps")
        return {name: getattr(self, name) for name in names}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take settings and number of steps from a checkpoint."""
        for name, value in state.items():
            setattr(self, name, value)
        self._step = None


def _gradients(values: Tensors, at: list[Tensor], weights: Tensors | None = None) -> list[Tensor]:
    return list(torch.autograd.grad(values, at, weights, allow_unused=True, materialize_grads=True))


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def _require_as_many(module: StochasticIDCA, state: Mapping[str, Any], prefix: str, *_: Any) -> None:
    """Refuse a checkpoint of other parameters before anything of it is taken."""
    sizes = {name: (module.get_buffer(name).numel(), state[prefix + name].numel()) for name in StochasticIDCA.STATE}
    wrong = [f"{name} has {stored} numbers, here {size}" for name, (size, stored) in sizes.items() if size != stored]
    if wrong:
        raise ConfigError(f"the checkpoint is of other parameters or constraints: {'; '.join(wrong)}")
