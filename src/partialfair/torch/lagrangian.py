"""The scalar whose ``backward()`` gives the derivatives of a constrained step, in a training loop of your own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor

from partialfair.algorithms import stochastic_steps as steps
from partialfair.errors import ConfigError
from partialfair.torch.derivatives import flat_derivative, require_graph, scalar_of
from partialfair.torch.multipliers import Evaluation, Multipliers, Values
from partialfair.torch.replicas import n_replicas
from partialfair.torch.rules import Ascent, Plada, Switching, Weights

Loss: TypeAlias = Tensor | Callable[[], Tensor]
Source: TypeAlias = Values | Callable[[], Values]


class Lagrangian:
    """``w_0 loss + <w, values>``, with the weights that the rule of some multipliers gives.

    It holds no state. Its derivative is that of the method's step; its value is not that of an augmented Lagrangian
    (except under ``LBFGS``, which compares values): log the loss, the constraints and the multipliers instead.

    Args:
        multipliers: :class:`~partialfair.torch.multipliers.Multipliers` that follow the optimiser of the loop.
    """

    def __init__(self, multipliers: Multipliers) -> None:
        if not isinstance(multipliers, Multipliers):
            raise ConfigError(f"a {type(multipliers).__name__} has no multipliers; pass Multipliers(m, rule)")
        self.multipliers = multipliers
        self._of_batch: Evaluation | None = None

    def __call__(
        self,
        loss: Loss,
        values: Source,
        strict: Source | None = None,
        again: Source | None = None,
        *,
        which: Tensor | None = None,
    ) -> Tensor:
        """The scalar of one batch.

        Every argument may be a tensor or a function without arguments that returns it; methods that switch call only
        those they need.

        Args:
            loss: scalar with its graph.
            values: constraint values (m,) with their graph, or a mapping from families to such; at most 0 if they hold.
            strict: values that decide and move the multipliers, without graph: true rates where ``values`` are smooth
                surrogates, or those of an independent draw of rows; by default ``values``.
            again: values of an independent draw for the quadratic term, which makes the step of
                :class:`~partialfair.torch.rules.Slacks` unbiased; by default ``strict``.
            which: numbers (j,) of the constraints that all values are of, where a step looks at some of them only.

        Raises:
            DataError: numbers that are not finite, values without a graph or of another number of constraints than the
                multipliers are, or a loss of several numbers.
            ConfigError: ``strict``, ``again`` or ``which`` inside :meth:`hold`, which has them.
        """
        duals, evaluation = self.multipliers, self._of_batch
        if evaluation is not None:
            if any(argument is not None for argument in (strict, again, which)):
                raise ConfigError("strict, again and which are those of the whole batch; pass them to hold")
            which = evaluation.which
        else:
            which = duals.chosen(which)
        if isinstance(duals.rule, Switching):
            return self._switched(loss, values, strict, again, which)
        scalar, vector = scalar_of(_computed(loss), duals.where), duals.gathered(_computed(values), which)
        if scalar.requires_grad:
            require_graph(vector, duals.where)
        if evaluation is None:
            evaluation = self._weighed(scalar, vector, strict, again, which)
        total = self._combined(scalar, vector, evaluation)
        self._checked(total, scalar, evaluation)
        return total

    @contextmanager
    def hold(self, strict: Source, again: Source | None = None, *, which: Tensor | None = None) -> Iterator[None]:
        """Weights of a whole batch, for the micro-batches inside: their mean derivative is that of the whole batch.

        Args:
            strict, again, which: of the whole batch, as in a call.
        """
        duals = self.multipliers
        if isinstance(duals.rule, Plada) and duals.rule.theta_step == "prox_linear":
            raise ConfigError("a prox-linear step needs the derivatives of the whole batch at once; use 'linearised'")
        if self._of_batch is not None:
            raise ConfigError("hold inside hold: the weights are held already; leave the outer one first")
        which = duals.chosen(which)
        vector, quadratic = self._draws(None, strict, again, which)
        evaluation = _weigh(duals, vector, quadratic, which)
        if isinstance(duals.rule, Switching):
            evaluation.on_loss = _decided(duals, vector, which).on_loss
        self._checked(evaluation.weights.constraints.sum(), None, evaluation)
        self._of_batch = evaluation
        try:
            yield
        finally:
            self._of_batch = None

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _draws(
        self, values: Tensor | None, strict: Source | None, again: Source | None, which: Tensor | None
    ) -> tuple[Any, Tensor | None]:
        """Values that decide, by default those whose derivative is taken, and those of the quadratic term."""
        gathered = self.multipliers.gathered
        decisive = values if strict is None else gathered(_computed(strict), which)
        return decisive, None if again is None else gathered(_computed(again), which)

    def _weighed(
        self, loss: Tensor, values: Tensor, strict: Source | None, again: Source | None, which: Tensor | None
    ) -> Evaluation:
        duals = self.multipliers
        decisive, quadratic = self._draws(values, strict, again, which)
        evaluation = _weigh(duals, decisive, quadratic, which)
        evaluation.apart = strict is not None or again is not None
        if isinstance(duals.rule, Plada) and duals.rule.theta_step == "prox_linear":
            return _prox_linear(duals, evaluation, loss, values)
        return evaluation

    def _combined(self, loss: Tensor, values: Tensor, evaluation: Evaluation) -> Tensor:
        weights = evaluation.weights.constraints
        total: Tensor = loss + (weights.to(values.dtype) * values).sum()
        duals = self.multipliers
        if duals.searched and isinstance(duals.rule, Ascent):
            term = duals.rule.value(duals._state_of(evaluation.which)[0], evaluation.weights, evaluation.strict)
            total = total + (loss + term - total).detach()
        return total

    def _switched(
        self, loss: Loss, values: Source, strict: Source | None, again: Source | None, which: Tensor | None
    ) -> Tensor:
        """The loss alone, or the worst constraint alone."""
        duals: Any = self.multipliers
        if again is not None:
            raise ConfigError("Switching has no quadratic term; pass the draw that decides as strict")
        evaluation, vector = self._of_batch, None
        if evaluation is None:
            if strict is None:
                vector = duals.gathered(_computed(values), which)
            decisive, _ = self._draws(vector, strict, None, which)
            evaluation = _decided(duals, decisive, which)
        if evaluation.on_loss:
            total = scalar_of(_computed(loss), duals.where)
            self._checked(total, total, evaluation)
            return total
        if vector is None:
            vector = duals.gathered(_computed(values), which)
        require_graph(vector, duals.where)
        if self._of_batch is None:  # the worst of the draw whose derivative is taken
            worst = _weigh(duals, vector, None, which)
            evaluation = Evaluation(evaluation.strict, worst.strict, which, worst.weights, on_loss=False)
        total = (evaluation.weights.constraints.to(vector.dtype) * vector).sum()
        self._checked(total, None, evaluation)
        return total

    def _checked(self, total: Tensor, loss: Tensor | None, evaluation: Evaluation) -> None:
        _check(self.multipliers, total, loss, evaluation, record=evaluation is not self._of_batch)


def _computed(value: Any) -> Any:
    return value() if callable(value) and not isinstance(value, Tensor | Mapping) else value


@torch.compiler.disable  # type: ignore[untyped-decorator]
@torch.no_grad()  # type: ignore[untyped-decorator]
def _weigh(duals: Multipliers, strict: Tensor, again: Tensor | None, which: Tensor | None) -> Evaluation:
    """Not compiled: the number of steps, a plain integer, would have it compiled anew in every step."""
    return duals.weigh(strict, again, which)


@torch.compiler.disable  # type: ignore[untyped-decorator]
@torch.no_grad()  # type: ignore[untyped-decorator]
def _decided(duals: Any, strict: Tensor, which: Tensor | None) -> Evaluation:
    """Whether a switching method steps on the loss; weights are left to a step on a constraint."""
    strict = duals._read(strict)
    on_loss = bool(duals.rule.holds(strict, duals.steps, duals._state_of(which)[1]))
    return Evaluation(strict, strict, which, Weights(strict, {}), on_loss)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _check(duals: Multipliers, total: Tensor, loss: Tensor | None, evaluation: Evaluation, record: bool) -> None:
    duals.require_finite(total, loss, evaluation)
    if record:
        duals.record(evaluation)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _prox_linear(duals: Multipliers, evaluation: Evaluation, loss: Tensor, values: Tensor) -> Evaluation:
    """Weights of PLADA's prox-linear step: ``l s``, from the gradients of the loss and of every gap."""
    if n_replicas(duals.process_group) > 1:
        raise ConfigError("a prox-linear step needs the gaps' derivatives on all replicas; use 'linearised'")
    if not torch.is_grad_enabled():
        return evaluation
    params = duals.trained
    by_loss = flat_derivative(loss, params)
    jacobian = torch.stack([flat_derivative(value, params) for value in values])
    lr = duals.lr
    dual = evaluation.weights.pending["dual"]
    gram, reached = jacobian @ jacobian.T, evaluation.strict - lr * (jacobian @ by_loss)
    signs = steps.prox_linear_signs(gram.to(dual.dtype), reached.to(dual.dtype), dual, lr)
    weights = Weights(dual * signs, evaluation.weights.pending)
    return Evaluation(evaluation.strict, evaluation.again, evaluation.which, weights)
