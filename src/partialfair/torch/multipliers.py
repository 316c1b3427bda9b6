"""Multipliers of constraints: their names, state and settings, and how they follow the optimiser of a training loop."""

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from partialfair.errors import ConfigError, DataError
from partialfair.torch.derivatives import vector_of
from partialfair.torch.replicas import mean_over_replicas, n_replicas
from partialfair.torch.rules import RULES, Ascent, Plada, PrimalStep, Rule, State, Switching, Weights

Constraints: TypeAlias = int | Sequence[str] | Mapping[str, int | Sequence[str]]
Values: TypeAlias = Tensor | Mapping[str, Tensor]
HALVES = (torch.float16, torch.bfloat16)
PATIENCE = 100  # evaluations without a step, after which a lost hook is likelier than a long accumulation


class Multipliers(nn.Module):  # type: ignore[misc]
    """Multipliers, slacks and settings of a method, which move when the optimiser that they follow steps.

    A :class:`~partialfair.torch.lagrangian.Lagrangian` asks for the weights of the constraints; the optimiser's step
    commits the new multipliers, so that they move if and only if the parameters do. Everything is in ``state_dict``:
    multipliers, number of steps, and all settings of the rule. In data-parallel training, values are averaged over the
    replicas before they move anything, so that all replicas have the same multipliers to the bit.

    Args:
        constraints: number of constraints, or their names (``BatchConstraint.labels``), or a mapping from names of
            families of constraints to one of these; values are then passed as a mapping with the same keys.
        rule: settings of the method: :class:`~partialfair.torch.rules.Ascent` (default),
            :class:`~partialfair.torch.rules.Slacks`, :class:`~partialfair.torch.rules.Plada` or
            :class:`~partialfair.torch.rules.Switching`. They are copied.
        equality: which constraints read ``c = 0`` in place of ``c <= 0``: one bool for all, or m of them.
        process_group: replicas that share the multipliers; by default all processes.
        check: whether every evaluation is checked for numbers that are not finite. On a GPU that waits for the device
            once a step.

    Attributes:
        rule: the settings; assign to them for a schedule (``multipliers.rule.penalty = 2.0``).
        names: m texts.
        steps: number of committed steps.

    Raises:
        ConfigError: constraints, equality or settings that cannot be used.
    """

    REPEATS: ClassVar[bool] = False
    """Whether ``which`` may repeat a number, and differ between the micro-batches of a step."""

    def __init__(
        self,
        constraints: Constraints,
        rule: Rule | None = None,
        *,
        equality: bool | Sequence[bool] = False,
        process_group: Any = None,
        check: bool = True,
    ) -> None:
        super().__init__()
        self.families = families_of(constraints)
        self.names = tuple(chain.from_iterable(self.families.values()))
        if not isinstance(rule, Rule | None):
            raise ConfigError(f"rule is {rule!r}; use settings, for instance Ascent(dual_step=0.1)")
        self.rule = Ascent() if rule is None else copy.copy(rule)
        self.process_group, self.check, self.steps = process_group, check, 0
        self.latest: Tensor | None = None
        m = len(self.names)
        mask = _mask(equality, m)
        if isinstance(self.rule, Plada) and bool(mask.any()):
            raise ConfigError("PLADA has no equalities; pass signed gaps, and Plada(tolerance=0.0)")
        self.register_buffer("equality", mask.clone() if bool(mask.any()) else None)
        for name in self.rule.STATE:
            self.register_buffer(name, torch.zeros(m))
        self.register_load_state_dict_pre_hook(_require_the_same)
        self._optimiser: torch.optim.Optimizer | None = None
        self._evaluations: list[Evaluation] = []
        self._waiting = 0

    # --- what a training loop calls ---------------------------------------------------------------------------------

    def follow(self, optimiser: torch.optim.Optimizer) -> Self:
        """Commit after every step of an optimiser; returns these multipliers.

        Steps that do not happen, as those that ``GradScaler`` skips, move nothing.

        Raises:
            ConfigError: no ``torch.optim.Optimizer``, a second one, or one that evaluates a step several times, which
                only :class:`~partialfair.torch.rules.Ascent` can follow.
        """
        if not isinstance(optimiser, torch.optim.Optimizer):
            raise ConfigError(f"{type(optimiser).__name__} is no torch.optim.Optimizer; pass one that has step hooks")
        if self._optimiser is not None:
            raise ConfigError("these multipliers follow an optimiser already; make new ones for a second")
        if isinstance(optimiser, torch.optim.LBFGS) and type(self.rule) is not Ascent:
            raise ConfigError(
                f"LBFGS compares values along a line within a step, and {type(self.rule).__name__} gives derivatives "
                "alone; use Ascent, or another optimiser"
            )
        self._optimiser = optimiser
        if isinstance(self.rule, Switching):
            _StepSize(self).follow(optimiser)
        optimiser.register_step_post_hook(self._after_step)
        return self

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, lr: float | None = None) -> None:
        """Commit by hand, for a loop without ``follow``; ``lr`` is that of the parameters."""
        if not self._evaluations:
            return
        k, which = self.steps, self._evaluations[0].which
        state, equality = self._state_of(which)
        weights = self._evaluations[0].weights
        if len(self._evaluations) > 1:
            strict, again = (
                torch.stack([getattr(evaluation, name) for evaluation in self._evaluations]).mean(dim=0)
                for name in ("strict", "again")
            )
            weights = self.rule.weigh(state, strict, again, k, equality)
            self.latest = strict
        else:
            self.latest = self._evaluations[0].strict
        group = self._optimiser.param_groups[0] if self._optimiser is not None else {}
        length = self.lr if lr is None else lr
        primal = PrimalStep(length, group.get("proximal", 0.0), group.get("smoothing", 0.0))
        self._write(self.rule.commit(state, weights, k, primal, equality), which)
        self.steps = k + 1
        self.discard()

    def discard(self) -> None:
        """Forget evaluations whose step did not happen.

        Needed by hand only where gradients are cleared by ``zero_grad(set_to_none=False)``: gradients that are ``None``
        say by themselves that a new step begins.
        """
        self._evaluations.clear()
        self._waiting = 0

    def named_multipliers(self) -> dict[str, float]:
        """The multipliers by the names of their constraints, for a log; empty for a method without."""
        return dict(zip(self.names, self._buffers["dual"].tolist(), strict=True)) if "dual" in self._buffers else {}

    def named_values(self) -> dict[str, float]:
        """The constraint values of the last step by name, averaged over replicas and micro-batches, for a log.

        Steps on some of the constraints (``which``) show those alone, by their numbers.
        """
        if self.latest is None:
            return {}
        values = self.latest.tolist()
        names = self.names if len(values) == len(self.names) else range(len(values))
        return {str(name): value for name, value in zip(names, values, strict=True)}

    def extra_repr(self) -> str:
        """Rule and number of constraints."""
        return f"{len(self.names)}, {self.rule}"

    # --- what the Lagrangian calls ----------------------------------------------------------------------------------

    def gathered(self, values: Values, which: Tensor | None = None) -> Tensor:
        """Values as one vector (m,), or (j,) of the constraints ``which``, in the order of ``names``, with their graph.

        Raises:
            DataError: no tensors, another number of them, or other names.
        """
        families = list(self.families)
        if not isinstance(values, Tensor) and isinstance(values, Mapping):
            if set(values) != set(families):
                named = f"of {sorted(families)}" if families != [""] else "not of families; pass one tensor"
                raise DataError(f"{self.where}values are of {sorted(values)}, these multipliers {named}")
            vectors = {family: vector_of(values[family], self.where) for family in families}
            for family, names in self.families.items():
                if which is None and vectors[family].numel() != len(names):
                    counted = _counted(vectors[family])
                    raise DataError(f"{self.where}{family!r} has {counted}, its multipliers are {len(names)}")
            vector = torch.cat(list(vectors.values()))
        else:
            vector = vector_of(values, self.where)
            if which is None and len(families) > 1:
                raise DataError(f"{self.where}values are one tensor; pass a mapping from the names {families}")
        m = len(self.names) if which is None else which.numel()
        if vector.numel() != m:
            remedy = f"make Multipliers({vector.numel()}) for them" if which is None else "pass as many numbers"
            raise DataError(f"{self.where}values has {_counted(vector)}, these multipliers are of {m}; {remedy}")
        return vector

    @property
    def where(self) -> str:
        """Beginning of a message of an error."""
        return f"step {self.steps}: "

    def chosen(self, which: Any) -> Tensor | None:
        """Numbers (j,) of the constraints of a step; ``None`` for all.

        Raises:
            DataError: anything but whole numbers from 0 to m - 1, or a number twice where it may not be.
        """
        if which is None:
            return None
        numbers = torch.as_tensor(which).reshape(-1)
        integral = not (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool)
        if not integral or bool(((numbers < 0) | (numbers >= len(self.names))).any()):
            raise DataError(f"{self.where}which is {which}; pass numbers of constraints, 0 to {len(self.names) - 1}")
        if not self.REPEATS and len(numbers.unique()) < len(numbers):
            raise DataError(f"{self.where}which is {numbers.tolist()}; pass the number of a constraint once")
        return numbers.long()

    def weigh(self, strict: Tensor, again: Tensor | None, which: Tensor | None) -> "Evaluation":
        """Weights of the constraints for values (m,), which are averaged over the replicas."""
        strict = self._read(strict)
        again = strict if again is None else self._read(again)
        state, equality = self._state_of(which)
        return Evaluation(strict, again, which, self.rule.weigh(state, strict, again, self.steps, equality))

    def record(self, evaluation: "Evaluation") -> None:
        """Keep an evaluation for the next step; several of them, of micro-batches, are averaged."""
        if not torch.is_grad_enabled():
            return
        if self._evaluations and self._optimiser is not None and _cleared(self._optimiser):
            self._evaluations.clear()  # their step was skipped, or a line search evaluates once more
        if self._evaluations and not self.REPEATS and not _alike(evaluation.which, self._evaluations[0].which):
            raise DataError(f"{self.where}micro-batches of one step are of different constraints (which)")
        self._evaluations.append(evaluation)
        self._waiting += 1
        if self._waiting == PATIENCE:
            warnings.warn(
                f"{PATIENCE} evaluations without a step: the multipliers stand still. Call follow(optimiser) with the "
                "optimiser that steps; copies and unpickled ones lose their hooks",
                stacklevel=3,
            )

    def require_finite(self, total: Tensor, loss: Tensor | None, evaluation: "Evaluation") -> None:
        """Raise where loss or constraints are no finite numbers, in all replicas if in one.

        Where the values that decide are those of the scalar, it tells of both.

        Raises:
            DataError: with the names of the constraints.
        """
        if not self.check:
            return
        probe = total.detach()
        if evaluation.apart:
            probe = probe + 0 * (evaluation.strict.sum() + evaluation.again.sum())
        if n_replicas(self.process_group) > 1:
            probe = mean_over_replicas(probe, self.process_group)
        if math.isfinite(float(probe)):
            return
        names = [self.names[i] for i in self._numbers(evaluation.which)]
        finite = (torch.isfinite(evaluation.strict) & torch.isfinite(evaluation.again)).tolist()
        wrong = [name for name, good in zip(names, finite, strict=True) if not good]
        if wrong:
            cause = f"constraints {wrong} are not finite"
        elif loss is not None and not bool(torch.isfinite(loss)):
            cause = f"the loss is {float(loss.detach())}"
        else:
            cause = "the Lagrangian is not finite in one of the replicas or in its gradient draw"
        raise DataError(f"{self.where}{cause}; the multipliers were left as they were")

    @property
    def lr(self) -> float:
        """Step size of the optimiser's first group; 0 if none is followed."""
        return 0.0 if self._optimiser is None else float(self._optimiser.param_groups[0]["lr"])

    @property
    def searched(self) -> bool:
        """Whether the optimiser compares values along a line, as ``LBFGS`` does."""
        return isinstance(self._optimiser, torch.optim.LBFGS)

    @property
    def trained(self) -> list[Tensor]:
        """Parameters of the optimiser that are trained.

        Raises:
            ConfigError: no optimiser is followed.
        """
        if self._optimiser is None:
            raise ConfigError("these multipliers follow no optimiser; call follow(optimiser) first")
        return trained(self._optimiser)

    # --- state ------------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """Rule, all its settings, number of steps and names."""
        settings = asdict(self.rule)
        return {"rule": type(self.rule).__name__, "settings": settings, "steps": self.steps, "names": list(self.names)}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take settings and number of steps from a checkpoint; those of the constructor are forgotten."""
        self.rule = RULES[state["rule"]](**state["settings"])
        self.steps = state["steps"]
        self.discard()

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles follow no optimiser."""
        return {**self.__dict__, "_optimiser": None, "_evaluations": [], "latest": None}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move as modules do, but never to half precision: small dual steps would be lost."""

        def kept_wide(values: Tensor) -> Tensor:
            moved = fn(values)
            return values.to(moved.device) if moved.dtype in HALVES else moved

        return super()._apply(kept_wide, recurse)

    def _read(self, values: Tensor) -> Tensor:
        """Values (m,) in the precision and on the device of the multipliers' arithmetic, averaged over replicas."""
        values = values.detach()
        if values.dtype in HALVES or not values.is_floating_point():
            values = values.float()
        for buffer in self._buffers.values():
            if buffer is not None:
                if buffer.device != values.device:
                    self.to(values.device)
                values = values.to(buffer.dtype)
                break
        return mean_over_replicas(values, self.process_group)

    def _state_of(self, which: Tensor | None) -> tuple[State, Tensor | None]:
        """State and equalities of some constraints, by default of all."""
        state = {name: self._buffers[name] for name in self.rule.STATE}
        equality = self._buffers["equality"]
        if which is not None:
            state = {name: values[which] for name, values in state.items()}
            equality = None if equality is None else equality[which]
        return state, equality

    def _write(self, moved: State, which: Tensor | None) -> None:
        for name, values in moved.items():
            if which is not None:
                values = self._buffers[name].index_copy(0, which.to(values.device), values)
            self._buffers[name] = values

    def _numbers(self, which: Tensor | None) -> list[int]:
        return list(range(len(self.names))) if which is None else which.tolist()

    def _after_step(self, optimiser: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if overflowed(optimiser):
            self.discard()
        else:
            self.step()


class Evaluation:
    """Constraint values of one evaluation, and the weights that they led to.

    Attributes:
        strict, again: (m,) values, averaged over replicas.
        which: numbers of the constraints that they are of; ``None`` for all.
        weights: of the constraints.
        apart: whether these values are others than those whose derivative is taken.
        on_loss: whether the step is on the loss (always but for switching methods).
    """

    __slots__ = ("again", "apart", "on_loss", "strict", "weights", "which")

    def __init__(
        self, strict: Tensor, again: Tensor, which: Tensor | None, weights: Weights, on_loss: bool = True
    ) -> None:
        self.strict, self.again, self.which, self.weights, self.on_loss = strict, again, which, weights, on_loss
        self.apart = True


def families_of(constraints: Constraints) -> dict[str, tuple[str, ...]]:
    """Names of constraints by family; a single family is called ``""``.

    Raises:
        ConfigError: no constraints, or names that repeat.
    """

    def names_of(constraints: Any, prefix: str) -> tuple[str, ...]:
        if isinstance(constraints, int | np.integer) and not isinstance(constraints, bool):
            return tuple(f"{prefix}constraint {i}" for i in range(int(constraints)))
        if isinstance(constraints, bool | str | Tensor) or not isinstance(constraints, Iterable):
            raise ConfigError(f"constraints is {constraints!r}; use their number or their names")
        return tuple(f"{prefix}{name}" for name in constraints)

    if isinstance(constraints, Mapping):
        families = {family: names_of(names, f"{family}: ") for family, names in constraints.items()}
    else:
        families = {"": names_of(constraints, "")}
    names = list(chain.from_iterable(families.values()))
    repeated = sorted({name for name in names if names.count(name) > 1})
    if not names or repeated:
        wrong = f"repeats {repeated}; use a name once" if repeated else f"is {constraints!r}; there must be some"
        raise ConfigError(f"constraints {wrong}")
    return families


def _mask(equality: Any, m: int) -> Tensor:
    """1 where a constraint is an equality (m,), 0 where it is not."""
    entries = np.asarray(equality)
    if entries.dtype != bool:
        raise ConfigError(f"equality is {equality!r}; use True or False, for all constraints or for each")
    if entries.shape not in ((), (m,)):
        raise ConfigError(f"equality has {entries.size} entries, there are {m} constraints; pass as many, or one")
    return torch.as_tensor(np.broadcast_to(entries, m).copy(), dtype=torch.get_default_dtype())


def trained(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    """Parameters of an optimiser that require derivatives."""
    return [p for group in optimiser.param_groups for p in group["params"] if p.requires_grad]


def overflowed(optimiser: torch.optim.Optimizer) -> bool:
    """Whether a ``GradScaler`` found an overflow; fused optimisers are called even then, and do nothing."""
    overflow = getattr(optimiser, "found_inf", None)
    return overflow is not None and bool(overflow)


def _cleared(optimiser: torch.optim.Optimizer) -> bool:
    """Whether no parameter has a gradient."""
    return all(p.grad is None for group in optimiser.param_groups for p in group["params"])


def _alike(which: Tensor | None, numbers: Tensor | None) -> bool:
    """Whether two steps look at the same constraints."""
    return which is numbers or (which is not None and numbers is not None and torch.equal(which, numbers))


def _counted(values: Tensor) -> str:
    return f"{values.numel()} constraint{'s' * (values.numel() != 1)}"


class _StepSize:
    """Gives steps on a constraint their step size, and the optimiser its own back afterwards."""

    def __init__(self, multipliers: Multipliers) -> None:
        self.multipliers = multipliers
        self.lengths: list[Any] = []

    def follow(self, optimiser: torch.optim.Optimizer) -> None:
        optimiser.register_step_pre_hook(self.before)
        optimiser.register_step_post_hook(self.after)

    def before(self, optimiser: torch.optim.Optimizer, args: Any, kwargs: Any) -> Any:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self.shorten(optimiser)
            return None

        def evaluated() -> Any:
            loss = closure()
            self.shorten(optimiser)
            return loss

        return (args[0], evaluated), {}

    def shorten(self, optimiser: torch.optim.Optimizer) -> None:
        decisions = {evaluation.on_loss for evaluation in self.multipliers._evaluations}
        if len(decisions) == 2:
            self.multipliers.discard()
            raise ConfigError(
                "some micro-batches of this step are on the loss and some on a constraint; decide for all of them: "
                "`with lagrangian.hold(values_of_the_whole_batch):`"
            )
        if decisions == {False}:
            self.lengths = [group["lr"] for group in optimiser.param_groups]
            rule: Any = self.multipliers.rule
            for group in optimiser.param_groups:
                group["lr"] = rule.constraint_lr

    def after(self, optimiser: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        for group, lr in zip(optimiser.param_groups, self.lengths, strict=False):
            group["lr"] = lr
        self.lengths = []


def _require_the_same(module: Multipliers, state: Mapping[str, Any], prefix: str, *_: Any) -> None:
    """Refuse a checkpoint of another method or of other constraints before anything of it is taken."""
    extra = state.get(f"{prefix}_extra_state")
    if extra is None:
        return
    if extra["rule"] != type(module.rule).__name__:
        raise ConfigError(f"the checkpoint is of {extra['rule']}, these multipliers of {type(module.rule).__name__}")
    if tuple(extra["names"]) != module.names:
        raise ConfigError(
            f"the checkpoint is of the constraints {extra['names']}, these multipliers are of {list(module.names)}"
        )
