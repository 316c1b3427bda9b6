"""The methods as rules: their settings and state around the steps of :mod:`partialfair.algorithms.stochastic_steps`.

Every method of the papers chooses a weight ``w_0`` of the loss and weights ``w`` (m,) of the constraints, moves the
parameters against the derivative of ``w_0 F + <w, c>``, and then moves its multipliers and slacks. A rule says how, in
two halves: ``weigh`` before the step on the parameters, ``commit`` after it. Arrays, of NumPy or of PyTorch, have shape
(..., m): (m,) in a training loop, (R, m) for many runs at once.

Arguments that the rules share:

* ``state``: arrays by the names in ``STATE``, 0 before the first step;
* ``strict`` (..., m): constraint values that decide and move the multipliers;
* ``again`` (..., m): values of an independent draw of rows, for the quadratic term; the same array if there is none;
* ``k``: number of steps done before this one;
* ``equality`` (m,): 1 where a constraint reads ``c = 0``, 0 where it reads ``c <= 0``; ``None`` if none is one.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.stochastic_steps import Array
from partialfair.errors import ConfigError

State: TypeAlias = dict[str, Array]


@dataclass(frozen=True)
class Weights:
    """What a rule decides before a step.

    Attributes:
        constraints: (..., m) weights of the constraints.
        pending: what ``commit`` needs to know of the decision.
    """

    constraints: Array
    pending: State


@dataclass(frozen=True)
class PrimalStep:
    """How the parameters moved.

    Attributes:
        lr: step size.
        proximal, smoothing: weight of the distance to the parameters' anchor (mu) and how fast the anchor follows
            (beta); 0 without :class:`~partialfair.torch.smoothing.Smoothing`.
    """

    lr: float
    proximal: float = 0.0
    smoothing: float = 0.0


@dataclass
class Rule(ABC):
    """Settings of a method; they may be changed between steps, as a schedule does.

    Raises:
        ConfigError: a setting that is no number, or out of range; also where it is assigned later.
    """

    STATE: ClassVar[tuple[str, ...]] = ()
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    """Settings above 0; other numbers may be 0."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Check a setting also where a schedule assigns it; numbers become Python's own, which any checkpoint holds."""
        default = {setting.name: setting.default for setting in fields(self)}
        if name not in default:
            raise ConfigError(f"{type(self).__name__} has no setting {name!r}; it has {', '.join(default)}")
        before = getattr(self, name)  # at first the default
        super().__setattr__(name, self._checked(name, value, default[name]))
        try:
            self.check()
        except ConfigError:
            super().__setattr__(name, before)
            raise

    def check(self) -> None:  # noqa: B027 (most rules have settings of any combination)
        """Refuse settings that do not go together."""

    def _checked(self, name: str, value: Any, default: Any) -> Any:
        """A setting that can be used, as a number, truth value or text of Python."""
        if getattr(value, "ndim", None) == 0:  # a number of NumPy or PyTorch
            value = value.item()
        if isinstance(default, str) or (value is None and default is None):
            return value
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise ConfigError(f"{name} is {value!r}; use True or False")
            return value
        number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
        if number and value == math.inf != default:
            number = False
        if name in self.POSITIVE and not (number and value > 0):
            raise ConfigError(f"{name} is {value!r}; use a positive number")
        if not (number and value >= 0):
            raise ConfigError(f"{name} is {value!r}; use 0 or a positive number")
        return value

    @abstractmethod
    def weigh(self, state: State, strict: Array, again: Array, k: int, equality: Array | None = None) -> Weights:
        """Weights of the constraints at the present parameters."""

    @abstractmethod
    def commit(self, state: State, weights: Weights, k: int, step: PrimalStep, equality: Array | None = None) -> State:
        """What changes in the state by the step that was taken with these weights."""


@dataclass
class Ascent(Rule):
    """Projected ascent of the multipliers on an augmented Lagrangian, with momentum or a proportional term.

    The step of the multipliers ``y`` and the weights of the constraints are, with constraint values c and c' (again)::

        e  = c,   or   b' = momentum b + (1 - dampening) c   in its place (b' = c at first),
             plus   proportional (x' - x),   x' = smoothing x + (1 - smoothing) c   (nuPI; x = c at first)
        y' = clip(y + dual_step e, 0, upper)
        w  = max(0, y + penalty c')      (Rockafellar's term for inequalities; y' for y where ``dual_first``)

    Equalities have no lower bounds, and ``-upper`` for the multipliers.

    Source: Rockafellar (1973) for the term; Sohrabi et al., On PI controllers for updating Lagrange multipliers in
    constrained optimization (2024), for nuPI.

    Attributes:
        dual_step: of the multipliers.
        penalty: weight of the quadratic term (rho); 0 for the plain Lagrangian.
        momentum, dampening: of the ascent, as in ``torch.optim.SGD``.
        proportional, smoothing: of nuPI (kappa_p and nu).
        upper: largest multiplier.
        dual_first: whether the weights are those after the ascent.
    """

    STATE: ClassVar[tuple[str, ...]] = ("dual", "velocity", "average")

    dual_step: float = 0.1
    penalty: float = 1.0
    momentum: float = 0.0
    dampening: float = 0.0
    proportional: float = 0.0
    smoothing: float = 0.0
    upper: float = math.inf
    dual_first: bool = False

    def weigh(self, state: State, strict: Array, again: Array, k: int, equality: Array | None = None) -> Weights:
        """See :class:`Ascent`."""
        pending: State = {}
        error = strict
        if self.momentum:
            error = self.momentum * state["velocity"] + (1 - self.dampening) * strict if k else strict
            pending["velocity"] = error
        if self.proportional:
            average = state["average"] if k else strict
            pending["average"] = self.smoothing * average + (1 - self.smoothing) * strict
            error = error + self.proportional * (pending["average"] - average)
        dual = at_least_zero(state["dual"] + self.dual_step * error, equality)
        if math.isfinite(self.upper):
            dual = dual.clip(-self.upper, self.upper)
        pending["dual"] = dual
        base = dual if self.dual_first else state["dual"]
        return Weights(at_least_zero(base + self.penalty * again, equality), pending)

    def commit(self, state: State, weights: Weights, k: int, step: PrimalStep, equality: Array | None = None) -> State:
        """The multipliers as ``weigh`` has them."""
        return weights.pending

    def value(self, state: State, weights: Weights, strict: Array) -> Array:
        """The term of the augmented Lagrangian whose derivative the weights give: what a line search compares."""
        base = weights.pending["dual"] if self.dual_first else state["dual"]
        if not self.penalty:
            return (weights.constraints * strict).sum()
        return ((weights.constraints * weights.constraints - base * base) / (2 * self.penalty)).sum()


@dataclass
class Slacks(Rule):
    """SSL-ALM and ALM: inequalities become equalities ``c + s = 0`` with slacks ``s >= 0``.

    The steps are::

        y' = y + dual_step (c + s),   0 if its norm reaches dual_bound
        w  = y' + penalty (c' + s)
        s' = max(0, s - lr (w + mu (s - a))),   a' = a + beta (s - a)

    Two independent draws c and c' make the step unbiased. The slack's own anchor a, mu and beta are those of the
    parameters' :class:`~partialfair.torch.smoothing.Smoothing`; without it mu is 0. Equalities have no slack.

    Source: Benchmark of stochastic approximation algorithms, section 3.3, equations (10), (11).

    Attributes:
        penalty: (rho); dual_step: (eta); dual_bound: (M_y).
    """

    STATE: ClassVar[tuple[str, ...]] = ("dual", "slack", "slack_anchor")
    POSITIVE: ClassVar[tuple[str, ...]] = ("penalty", "dual_step", "dual_bound")

    penalty: float = 1.0
    dual_step: float = 0.05
    dual_bound: float = 10.0

    def weigh(self, state: State, strict: Array, again: Array, k: int, equality: Array | None = None) -> Weights:
        """See :class:`Slacks`."""
        slack = state["slack"]
        dual = steps.bounded_dual(state["dual"], slack, strict, self.dual_step, self.dual_bound)
        return Weights(steps.penalised(dual, slack, again, self.penalty), {"dual": dual})

    def commit(self, state: State, weights: Weights, k: int, step: PrimalStep, equality: Array | None = None) -> State:
        """See :class:`Slacks`."""
        slack, derivative, anchor = state["slack"], weights.constraints, state["slack_anchor"]
        moved = {"dual": weights.pending["dual"]}
        if step.proximal:
            derivative, moved["slack_anchor"] = steps.smoothed(
                derivative, anchor, slack - anchor, step.proximal, step.smoothing
            )
        moved["slack"] = steps.moved_slack(slack, derivative, step.lr)
        if equality is not None:
            moved["slack"] = moved["slack"] * (1 - equality)
        return moved


@dataclass
class Plada(Rule):
    """PLADA: a proximal, perturbed Lagrangian for constraints ``G <= 0``, or ``G = |h| - tolerance`` on signed gaps h.

    The steps are::

        l  = mu + rho (G + u)  at the present parameters;  0 before the first step
        w  = l                 on given G
        w  = l sign(h)         on signed gaps, "linearised"
        w  = l s,  s in [-1, 1]^m  on signed gaps, "prox_linear":
                   see :func:`~partialfair.algorithms.stochastic_steps.prox_linear_signs`
        u' = clip(u - slack_step l, 0, slack_bound)
        mu' = mu + gamma (l - mu) / rho,   gamma = min(dual_step, rho decay / ((k + 1) (||l - mu||^2 + 1)))

    Source: PLADA paper, Algorithm 1; its alpha and beta matter through ``rho = alpha / (1 + alpha beta)`` alone.

    Attributes:
        tolerance: of the signed gaps; ``None`` for values that are G themselves.
        penalty: (rho); 5 is the paper's alpha = 10, beta = .1.
        dual_step: (gamma_0); decay: (kappa); slack_step: (tau), by default nine tenths of ``1 / (3 rho)``;
        slack_bound: (u_max).
        theta_step: reading of the step on the parameters, "linearised" or "prox_linear".
    """

    STATE: ClassVar[tuple[str, ...]] = ("dual", "centre", "slack")
    POSITIVE: ClassVar[tuple[str, ...]] = ("penalty", "dual_step", "decay", "slack_step", "slack_bound")

    tolerance: float | None = None
    penalty: float = 5.0
    dual_step: float = 0.1
    decay: float = 100.0
    slack_step: float = 0.06
    slack_bound: float = 1.0
    theta_step: Literal["linearised", "prox_linear"] = "linearised"

    def check(self) -> None:
        """Refuse unknown readings, and the prox-linear step without signed gaps."""
        if self.theta_step not in ("linearised", "prox_linear"):
            raise ConfigError(f"theta_step is {self.theta_step!r}; use 'linearised' or 'prox_linear'")
        if self.theta_step == "prox_linear" and self.tolerance is None:
            raise ConfigError("theta_step 'prox_linear' is for signed gaps; pass their tolerance")

    def weigh(self, state: State, strict: Array, again: Array, k: int, equality: Array | None = None) -> Weights:
        """See :class:`Plada`; a prox-linear step puts other signs in the place of those of the gaps."""
        excess = strict if self.tolerance is None else abs(strict) - self.tolerance
        dual = steps.perturbed_dual(state["centre"], excess, state["slack"], self.penalty) if k else 0 * strict
        weights = dual if self.tolerance is None else dual * steps.sign(strict)
        return Weights(weights, {"dual": dual})

    def commit(self, state: State, weights: Weights, k: int, step: PrimalStep, equality: Array | None = None) -> State:
        """See :class:`Plada`."""
        dual = weights.pending["dual"]
        numbers = {name: getattr(self, name) for name in self.POSITIVE}
        slack, centre = steps.perturbed_move(state["slack"], state["centre"], dual, k, **numbers)
        return {"dual": dual, "slack": slack, "centre": centre}


@dataclass
class Switching(Rule):
    """Switching subgradient method (SSw): a step on the loss where the constraints seem to hold, else on the worst one.

    They seem to hold where ``max c <= tolerance tolerance_decay^max(0, k - decay_start)``, k counted from the beginning
    of a pass. The worst is that of the draw ``again``.

    Source: Benchmark of stochastic approximation algorithms, section 3.4 (after Huang and Lin).

    Attributes:
        constraint_lr: step size of a step on a constraint; that of a step on the loss is the optimiser's.
        tolerance: (eps) at the beginning of a pass; tolerance_decay: its factor per step from step decay_start on.
        steps_per_pass: after so many steps the tolerance begins anew; ``None`` for never.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ("constraint_lr", "tolerance", "tolerance_decay", "steps_per_pass")

    constraint_lr: float = 0.05
    tolerance: float = 1e-4
    tolerance_decay: float = 0.97
    decay_start: int = 500
    steps_per_pass: int | None = None

    def limit(self, k: int) -> float:
        """Tolerance (eps) of step k."""
        in_pass = k if self.steps_per_pass is None else k % self.steps_per_pass
        return steps.tolerance_at(in_pass, self.tolerance, self.tolerance_decay, self.decay_start)

    def holds(self, strict: Array, k: int, equality: Array | None = None) -> Array:
        """Whether (..., 1) the constraints seem to hold at step k: then the step is on the loss."""
        violation = strict if equality is None else strict + (abs(strict) - strict) * equality
        return steps.seems_feasible(violation, self.limit(k))

    def weigh(self, state: State, strict: Array, again: Array, k: int, equality: Array | None = None) -> Weights:
        """1 for the worst constraint and 0 for the others (-1 for an equality whose value is negative)."""
        if equality is None:
            return Weights(1.0 * steps.largest(again), {})
        signs = 1 - equality + equality * steps.sign(again)
        return Weights(steps.largest(again + (abs(again) - again) * equality) * signs, {})

    def commit(self, state: State, weights: Weights, k: int, step: PrimalStep, equality: Array | None = None) -> State:
        """Nothing: the method has no multipliers."""
        return {}


RULES: dict[str, type[Rule]] = {rule.__name__: rule for rule in (Ascent, Slacks, Plada, Switching)}


def at_least_zero(values: Array, equality: Array | None) -> Array:
    """Values clipped at 0 from below, but those of equalities."""
    clipped = values.clip(min=0)
    return clipped if equality is None else clipped + (values - clipped) * equality
