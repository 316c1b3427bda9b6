"""What the two inexact proximal-point methods (IPP) share: outer loop, settings, choice of a candidate."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, TypeVar

import numpy as np
from pydantic import Field, PositiveInt

from papers.plada.algorithms import gap_tasks
from papers.plada.algorithms.gap_runs import Curve, run
from papers.plada.algorithms.gap_tasks import GapAlgorithm, GapSettings, GapTask
from papers.plada.algorithms.proximal_point import ProximalPoint, ProximalRule
from partialfair.algorithms.contract import Fit, Task


class ProximalSettings(GapSettings, ABC):
    """Candidates of the double loop; ``iterations`` counts inner iterations.

    Attributes:
        weight: rho of the proximal term, in multiples of the constraints' modulus of weak convexity; above 1.
        inner: candidates for K, inner iterations per outer one.
    """

    weight: Annotated[float, Field(gt=1)] = 2.0
    inner: Annotated[list[PositiveInt], Field(min_length=1)] = Field([10])
    products: ClassVar[int] = 2

    @abstractmethod
    def candidates(self, modulus: float) -> dict[str, ProximalRule]:
        """Rules by name, for a modulus of weak convexity."""


S = TypeVar("S", bound=ProximalSettings)


class ProximalAlgorithm(GapAlgorithm[S]):
    """A double loop with some inner solver."""

    def fit(self, task: Task, settings: S) -> Fit:
        """Choose a candidate on the training rows and run it in full; the last outer point is the result."""
        gap_task = GapTask(task, settings)
        # rho of the proximal term has to exceed the modulus of weak convexity of g: then the subproblems are convex
        modulus = gap_task.problem.weak_convexity()
        rules = settings.candidates(modulus)
        steps = settings.steps(task.train.name, settings.products)
        chosen = next(iter(rules))
        if len(rules) > 1:
            chosen = gap_tasks.preferred(_trials(gap_task, rules, settings.trial(steps)))
        curve = _curve(gap_task, rules[chosen], steps, settings.points)
        task.report(f"{chosen}: loss {curve.loss[-1]:.5f}, violation {curve.violation[-1]:.1e}")
        theta = curve.points[int(curve.iteration[-1])]
        tuned = {"rule": chosen, "iterations": steps, "rho": rules[chosen].weight}
        return gap_tasks.fit_of(gap_task, {chosen: curve}, chosen, theta, tuned, 2 * modulus)


def _curve(gap_task: GapTask, rule: ProximalRule, steps: int, points: int) -> Curve:
    method = ProximalPoint(gap_task.problem, rule, np.zeros((gap_task.problem.size, 1)))
    return run(method, steps, gap_tasks.kept_iterations(steps, points))[0]


def _trials(gap_task: GapTask, rules: Mapping[str, ProximalRule], steps: int) -> dict[str, Curve]:
    """Short runs of all rules; those with the same K are one batch."""
    curves: dict[str, Curve] = {}
    for inner in sorted({rule.inner for rule in rules.values()}):
        names = [name for name, rule in rules.items() if rule.inner == inner]
        first_step, c1, c2 = (
            np.array([getattr(rules[name], setting) for name in names]) for setting in ("first_step", "c1", "c2")
        )
        start = np.zeros((gap_task.problem.size, len(names)))
        method = ProximalPoint(gap_task.problem, replace(rules[names[0]], first_step=first_step, c1=c1, c2=c2), start)
        curves |= dict(zip(names, run(method, steps), strict=True))
    return curves
