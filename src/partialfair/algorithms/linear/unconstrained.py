"""Logistic regression without fairness constraints: the common starting point of all trade-off curves."""

import time
from typing import ClassVar

from pydantic import PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Record, Settings, Task, Trace
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.newton import minimise_loss
from partialfair.algorithms.linear.problem import LinearProblem, linear_problem, score_at


class UnconstrainedSettings(Settings):
    """Settings of Newton's method.

    Attributes:
        iterations: at most so many steps.
        tolerance: stop where a step is expected to lower the loss by less.
    """

    iterations: PositiveInt = 50
    tolerance: PositiveFloat = 1e-9


class Unconstrained(Algorithm[UnconstrainedSettings]):
    """Minimise the logistic loss (Partial fairness paper, section 7.1: where every frontier begins)."""

    settings = UnconstrainedSettings
    label = "Unconstrained"
    paper = "Partial fairness paper, section 7.1"
    look = PlotStyle("#262626", "*")
    constrained = False
    general: ClassVar[bool | str] = "general.general:GeneralUnconstrained"

    def fit(self, task: Task, settings: UnconstrainedSettings) -> Fit:
        """Minimise the loss on the training rows; nothing is tuned."""
        point, record = minimum(linear_problem(task), settings)
        task.report(f"loss {record.objective:.5f}")
        model = score_at(task, point.params, point.aux)
        return Fit(model, trace=Trace({"newton": [record]}, "newton"), evaluated_point=point)


def minimum(problem: LinearProblem, settings: UnconstrainedSettings) -> tuple[LinearPoint, Record]:
    """The minimum of the loss, whatever the constraints, and its record."""
    params = minimise_loss(problem, iterations=settings.iterations, tolerance=settings.tolerance)
    point = LinearPoint(problem, params, problem.start()[1])
    worst = max(point.violation(), 0.0)
    return point, Record(1, 0, point.objective(), worst, time.process_time(), (params, point.aux))


ALGORITHM = Unconstrained()
