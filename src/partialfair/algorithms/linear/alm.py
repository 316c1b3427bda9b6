"""The direct solver: augmented Lagrangian on the constrained problem. It has nothing to tune."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Record, Task, Trace
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, solve
from partialfair.algorithms.linear.certificate import SMALL, LinearPoint
from partialfair.algorithms.linear.problem import LinearProblem, Point, Solution, linear_problem, score_at


class ALM(Algorithm[ALMSettings]):
    """Solve the constrained problem directly (see :mod:`partialfair.algorithms.linear.augmented_lagrangian`)."""

    settings = ALMSettings
    label = "Augmented Lagrangian"
    paper = "this project"
    look = PlotStyle("#D55E00", "s", (0, (5, 1.5)))
    general: ClassVar[bool | str] = "general.general:GeneralALM"

    def fit(self, task: Task, settings: ALMSettings, start: Point | None = None) -> Fit:
        """Solve on the training rows, from ``start`` if given; validation rows are not used."""
        task = replace(task, closed_grid=settings.closed_grid)
        problem = linear_problem(task)
        solution = solve(problem, settings=settings, start=start, report=progress(task, settings))
        return fit_at(task, settings, problem, solution)


def progress(task: Task, settings: ALMSettings) -> Callable[[Record], None]:
    """A function that reports a round: loss, violation and evaluations so far."""

    def report(record: Record) -> None:
        task.report(
            f"round {record.step}/{settings.rounds}: loss {record.objective:.5f}, "
            f"violation {record.violation:.1e}, {record.work} evaluations"
        )

    return report


def fit_at(task: Task, settings: ALMSettings, problem: LinearProblem, solution: Solution) -> Fit:
    """The fit of a solution: its score, its records as the trace, its KKT point as the evaluated point."""
    evaluated_point = LinearPoint(
        problem,
        solution.params,
        solution.aux,
        accepted=settings.tolerance,
        stationary=SMALL,
        remedy=f"raise kappa or the number of rounds ({settings.rounds})",
    )
    trace = Trace({"alm": solution.records}, "alm")
    return Fit(score_at(task, solution.params, solution.aux), trace=trace, evaluated_point=evaluated_point)


ALGORITHM = ALM()
