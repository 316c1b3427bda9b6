"""What is said of a fit: objective, violations, certificate and status, computed here for every algorithm alike.

Everything follows from the witness of the fit, or, where there is none, from the scores that the model gives the
training rows. Values are those of the training rows; no other rows are looked at.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.algorithms.contract import Algorithm, Certificate, Fit, Task, Vector, Witness

OK, INFEASIBLE, FAILED = "ok", "infeasible", "failed"


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of a fit; ``None`` stands for what was not.

    Attributes:
        objective: the loss that the algorithm minimises, without penalties.
        max_violation: largest value of the constraints that were imposed, with their surrogate; 0 if all hold.
        true_violation: largest value with the indicator in its place (at most 0: satisfied); ``None`` where kappa is
            not the tolerance of the task's constraint.
        certificate: how nearly the point is optimal.
        status: ``ok``, ``infeasible`` (a constraint exceeds what the method accepts) or ``failed``.
        reason: why it is not ok, in one sentence.
    """

    objective: float
    max_violation: float | None
    true_violation: float | None
    certificate: Certificate | None
    status: str
    reason: str | None

    @property
    def kkt_residual(self) -> float | None:
        """Value of the certificate, if it is a KKT residual."""
        return self.certificate.value if self.certificate is not None and self.certificate.kind == "kkt" else None

    def entries(self) -> dict[str, Any]:
        """The numbers as they stand in fit.json."""
        found = self.certificate
        multipliers = None if found is None else found.multipliers
        return {
            "objective": self.objective,
            "max_violation": self.max_violation,
            "true_violation": self.true_violation,
            "kkt_residual": self.kkt_residual,
            "multipliers": [] if multipliers is None else multipliers.tolist(),
            "kind": None if found is None else found.kind,
            "value": None if found is None else found.value,
            "relative_to": None if found is None else found.relative_to,
            "small": None if found is None else found.small,
        }


def measure(algorithm: Algorithm[Any], task: Task, fit: Fit) -> Measured:
    """Measure what an algorithm returned for a task."""
    witness = witness_of(algorithm, task, fit)
    objective, worst = witness.objective(), witness.violation()
    indicator = witness.indicator_violation() if algorithm.kappa == "tolerance" else None
    status, reason = _status(witness, fit, objective, indicator if worst is None else worst)
    surrogate = None if worst is None else max(worst, 0.0)
    return Measured(objective, surrogate, indicator, witness.certificate(), status, reason)


def witness_of(algorithm: Algorithm[Any], task: Task, fit: Fit) -> Witness:
    """The witness of a fit; without one the scores of its model stand for it."""
    if fit.witness is not None:
        return fit.witness
    return Scores(task, fit.model, task.loss if algorithm.loss is None else algorithm.loss)


def _status(witness: Witness, fit: Fit, objective: float, worst: float | None) -> tuple[str, str | None]:
    """Status, and the reason for it."""
    if fit.failure:
        return FAILED, fit.failure
    if not math.isfinite(objective):
        return FAILED, f"the training loss is {objective}; reduce the step sizes"
    if worst is not None and not worst <= witness.accepted:
        return INFEASIBLE, f"largest constraint value {worst:.2g}, accepted {witness.accepted:.2g}; {witness.remedy}"
    return OK, None


@dataclass(frozen=True, eq=False)
class Scores(Witness):
    """A model of which only the scores are known.

    The loss is the named one; the violation is the metric that belongs to the constraint, minus kappa.
    """

    task: Task
    model: Any
    loss: Any
    accepted = 0.0

    @cached_property
    def scores(self) -> Vector:
        """Scores (n,) of the training rows."""
        return np.asarray(self.model.scores(self.task.train.X, self.task.train.group), np.float64)

    def objective(self) -> float:
        """The loss of the scores."""
        name, options = plugins.chosen(self.loss)
        loss = plugins.load("losses", name).build(self.task.train.y, **options)
        return float(loss.convex(self.scores)[0] - loss.concave(self.scores)[0])

    def violation(self) -> float | None:
        """Nothing is known of a surrogate."""
        return 0.0 if math.isinf(self.task.kappa) else None

    def indicator_violation(self, point: Any = None) -> float | None:
        """The constraint's metric minus kappa; ``None`` where it cannot be estimated, and of earlier points."""
        task, rows = self.task, self.task.train
        if math.isinf(task.kappa):
            return 0.0
        if point is not None:
            return None
        from partialfair.metrics import evaluate_all

        metric = plugins.load("constraints", task.constraint).VIOLATION[task.kappa_scale]
        values, _ = evaluate_all(self.scores, rows.y, rows.group, task.interval, only=(metric,))
        found = values[metric]
        return None if found is None else found - task.kappa
