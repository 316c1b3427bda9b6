"""What is said of a fit: objective, violations, certificate and status, computed here for every algorithm alike.

Everything follows from the evaluated point of the fit, or, where there is none, from the scores that the model gives
the training rows. Values are those of the training rows; no other rows are looked at.

Two things were asked of a constrained fit, and both are measured. The *method* was asked to bring the constraints that
it works on, with their surrogate, below what it accepts; the *user* asked for a constraint with the indicator, at all
thresholds of the interval, within kappa. A fit is ``ok`` only if both hold. In order, the first that applies:

``failed``
    The method ended without a usable result, or the loss is not finite.
``tolerance missed``
    The constraint on the training rows exceeds kappa, or the smoothed constraints exceed what the method accepts. The
    reason gives both numbers. Where kappa is the method's own tolerance or a weight, nothing was asked of the
    constraint, and only the second can apply.
``not stationary``
    The certificate exceeds what the method promises. Methods that promise nothing are not judged by it.
``ok``
    None of these.

``infeasible`` is said by a method that knows it (see :class:`partialfair.errors.InfeasibleError`), never from a value.
"""

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.algorithms.contract import Algorithm, Certificate, EvaluatedPoint, Fit, Task, Vector
from partialfair.data.intervals import Interval
from partialfair.errors import PluginError

OK, FAILED, INFEASIBLE = "ok", "failed", "infeasible"
MISSED, NOT_STATIONARY = "tolerance missed", "not stationary"

ROUNDING = 1e-4
"""Excess over kappa that is not told from none: what the direct solver leaves by default, a row in ten thousand."""


@dataclass(frozen=True)
class Requirement:
    """The constraint itself on the training rows.

    Attributes:
        metric: name of the metric that it bounds; ``None`` where the family measures it in its own way.
        value: of that metric.
        kappa: what it was asked to be at most.
    """

    metric: str | None
    value: float
    kappa: float

    @property
    def excess(self) -> float:
        """What the value exceeds kappa by; at most 0 where the constraint holds."""
        return self.value - self.kappa


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of a fit; ``None`` stands for what was not.

    Attributes:
        objective: the loss that the algorithm minimises, without penalties.
        max_violation: largest value of the constraints that were imposed, with their surrogate; 0 if all hold.
        accepted: up to which value of these the method counts them as met; infinity if it promises none.
        requirement: the constraint with the indicator, at all thresholds of the interval; ``None`` where kappa is no
            tolerance of the task's constraint.
        certificate: how nearly the point is optimal.
        status: ``ok``, ``tolerance missed``, ``not stationary`` or ``failed``; see the module.
        reason: why it is not ok, in one sentence.
    """

    objective: float
    max_violation: float | None
    accepted: float
    requirement: Requirement | None
    certificate: Certificate | None
    status: str
    reason: str | None

    @property
    def solved(self) -> bool:
        """Whether the method did what it promises of the constraints that it works on; ``status`` says more."""
        met = self.max_violation is None or self.max_violation <= max(self.accepted, 0.0)
        return self.status not in (FAILED, NOT_STATIONARY) and met

    @property
    def true_violation(self) -> float | None:
        """By how much the constraint itself exceeds kappa on the training rows (at most 0: satisfied)."""
        return None if self.requirement is None else self.requirement.excess

    @property
    def kkt_residual(self) -> float | None:
        """Value of the certificate, if it is a KKT residual."""
        return self.certificate.value if self.certificate is not None and self.certificate.kind == "kkt" else None

    def entries(self) -> dict[str, Any]:
        """The numbers as they stand in fit.json."""
        certificate = self.certificate
        multipliers = None if certificate is None else certificate.multipliers
        return {
            "objective": self.objective,
            "max_violation": self.max_violation,
            "accepted": self.accepted if math.isfinite(self.accepted) else None,
            "true_violation": self.true_violation,
            "metric": None if self.requirement is None else self.requirement.metric,
            "train_violation": None if self.requirement is None else self.requirement.value,
            "kkt_residual": self.kkt_residual,
            "multipliers": [] if multipliers is None else multipliers.tolist(),
            "kind": None if certificate is None else certificate.kind,
            "value": None if certificate is None else certificate.value,
            "relative_to": None if certificate is None else certificate.relative_to,
            "small": None if certificate is None else certificate.small,
        }


def measure(algorithm: Algorithm[Any], task: Task, fit: Fit) -> Measured:
    """Measure what an algorithm returned for a task; of a failure that left no model there is nothing to measure."""
    if fit.failure and not fit.model.usable:
        return Measured(math.nan, None, math.inf, None, None, FAILED, fit.failure)
    evaluated_point = evaluated_point_of(algorithm, task, fit)
    if isinstance(evaluated_point, Scores) and not fit.failure:
        evaluated_point.require_finite()
    objective, worst = evaluated_point.objective(), evaluated_point.violation()
    measured = Measured(
        objective,
        None if worst is None else max(worst, 0.0),
        evaluated_point.accepted,
        _requirement(task, fit, evaluated_point) if algorithm.kappa == "tolerance" else None,
        _certificate(evaluated_point),
        OK,
        None,
    )
    unknown = ""
    if measured.requirement is None and algorithm.kappa == "tolerance":
        unknown = f"the constraint cannot be measured on the training rows{_why(task, fit, evaluated_point)}"
    status, reason = _status(measured, evaluated_point, fit, unknown)
    return dataclasses.replace(measured, status=status, reason=reason)


def evaluated_point_of(algorithm: Algorithm[Any], task: Task, fit: Fit) -> EvaluatedPoint:
    """The evaluated point of a fit; without one the scores of its model stand for it."""
    if fit.evaluated_point is not None:
        return fit.evaluated_point
    return Scores(task, fit.model, task.loss if algorithm.loss is None else algorithm.loss)


def _requirement(task: Task, fit: Fit, evaluated_point: EvaluatedPoint) -> Requirement | None:
    """The constraint itself on the training rows; ``None`` where it cannot be estimated."""
    if math.isinf(task.kappa):
        return Requirement(None, 0.0, 0.0)
    if evaluated_point.by_metric:
        scores = _scores(task, fit, evaluated_point)
        value = scores.metric_value()
        return None if value is None else Requirement(scores.metric, value, task.kappa)
    excess = evaluated_point.indicator_violation()
    return None if excess is None else Requirement(None, excess + task.kappa, task.kappa)


def _scores(task: Task, fit: Fit, evaluated_point: EvaluatedPoint) -> "Scores":
    """The evaluated point that knows the scores alone."""
    return evaluated_point if isinstance(evaluated_point, Scores) else Scores(task, fit.model, task.loss)


def _why(task: Task, fit: Fit, evaluated_point: EvaluatedPoint) -> str:
    """Why the constraint's metric has no value, after a colon; empty where no metric was asked for."""
    reasons = _scores(task, fit, evaluated_point).measured[1].values() if evaluated_point.by_metric else ()
    return "".join(f": {reason}" for reason in reasons)


def _certificate(evaluated_point: EvaluatedPoint) -> Certificate | None:
    """The certificate, if it is a number."""
    certificate = evaluated_point.certificate()
    return certificate if certificate is not None and math.isfinite(certificate.value) else None


def _status(measured: Measured, evaluated_point: EvaluatedPoint, fit: Fit, unknown: str) -> tuple[str, str | None]:
    """Status, and the reason for it.

    Args:
        measured, evaluated_point, fit: what was measured, and of what.
        unknown: why the constraint that kappa bounds has no value; empty if it has one, or nothing was required.
    """
    if fit.failure:
        return FAILED, fit.failure
    if not math.isfinite(measured.objective):
        return FAILED, f"the training loss is {measured.objective}; reduce the step sizes"
    if unknown:
        return MISSED, unknown
    if not measured.solved:
        return MISSED, (
            f"largest constraint value {measured.max_violation:.2g}, accepted {measured.accepted:.2g}; "
            f"{evaluated_point.remedy}"
        )
    requirement, certificate = measured.requirement, measured.certificate
    if requirement is not None and not requirement.excess <= ROUNDING:
        return MISSED, (
            f"{requirement.metric or 'the violation'} is {requirement.value:.4g} on the training rows, kappa asks for "
            f"{requirement.kappa:.4g}; ask for a smaller kappa"
        )
    if math.isfinite(evaluated_point.stationary) and (
        certificate is None or certificate.value > evaluated_point.stationary
    ):
        value = "not finite" if certificate is None else f"{certificate.value:.2g}"
        return (
            NOT_STATIONARY,
            f"certificate {value}, promised {evaluated_point.stationary:.2g}; {evaluated_point.remedy}",
        )
    return OK, None


@dataclass(frozen=True, eq=False)
class Scores(EvaluatedPoint):
    """A model of which only the scores are known.

    The loss is the named one; the violation is the metric that belongs to the constraint, minus kappa.
    """

    task: Task
    model: Any
    loss: Any
    by_metric = True

    @cached_property
    def scores(self) -> Vector:
        """Scores (n,) of the training rows."""
        return np.asarray(self.model.scores(self.task.train.X, self.task.train.group), np.float64)

    def require_finite(self) -> None:
        """Refuse a model whose scores cannot be ranked.

        Raises:
            PluginError: the algorithm is at fault, which should have returned a failure.
        """
        count = int(np.count_nonzero(~np.isfinite(self.scores)))
        if count:
            raise PluginError(
                f"the model gives {count} of {self.scores.size} training rows scores that are not finite; "
                "correct the algorithm, or have it return a failure"
            )

    @property
    def metric(self) -> str:
        """Name of the constraint's metric."""
        return str(plugins.load("constraints", self.task.constraint).VIOLATION[self.task.kappa_scale])

    @cached_property
    def measured(self) -> tuple[dict[str, float | None], dict[str, str]]:
        """The metric of the training rows by its name, or the reason why it cannot be estimated."""
        from partialfair.metrics import evaluate_all

        rows = self.task.train
        interval = Interval.of(self.task.interval).each(rows.n_groups)  # so says which groups must be present
        return evaluate_all(self.scores, rows.y, rows.group, interval, only=(self.metric,))

    def metric_value(self) -> float | None:
        """The metric of the training rows; ``None`` where it cannot be estimated."""
        return self.measured[0][self.metric]

    def objective(self) -> float:
        """Mean loss of the scores on the training rows, by the loss that the task names."""
        name, options = plugins.chosen(self.loss)
        loss = plugins.load("losses", name).build(self.task.train.y, **options)
        return float(loss.convex(self.scores)[0] - loss.concave(self.scores)[0])

    def violation(self) -> float | None:
        """Nothing is known of a surrogate."""
        return 0.0 if math.isinf(self.task.kappa) else None

    def indicator_violation(self, point: Any = None) -> float | None:
        """The constraint's metric minus kappa; ``None`` where it cannot be estimated, and of earlier points."""
        if math.isinf(self.task.kappa):
            return 0.0
        value = None if point is not None else self.metric_value()
        return None if value is None else value - self.task.kappa
