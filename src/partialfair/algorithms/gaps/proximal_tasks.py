"""What the two inexact proximal-point methods (IPP) share: outer loop, settings, choice of a candidate."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import gap_tasks
from partialfair.algorithms.gaps.gap_runs import Curve, run
from partialfair.algorithms.gaps.gap_tasks import GapSettings, GapTask
from partialfair.algorithms.gaps.proximal_point import ProximalPoint, ProximalRule
from partialfair.algorithms.transition import Fit
from partialfair.tables.dataset import Dataset


class ProximalSettings(GapSettings, ABC):
    """Candidates of the double loop; ``iterations`` counts inner iterations.

    Attributes:
        weight: rho of the proximal term, in multiples of the constraints' modulus of weak convexity; above 1.
        inner: candidates for K, inner iterations per outer one.
        tuning_steps: inner iterations after which the candidate of the smallest loss at a violation of at most 1e-3
            (on training rows) is chosen.
    """

    weight: Annotated[float, Field(gt=1)] = 2.0
    inner: Annotated[list[PositiveInt], Field(min_length=1)] = Field([10])
    tuning_steps: PositiveInt = 500

    @abstractmethod
    def candidates(self, modulus: float) -> dict[str, ProximalRule]:
        """Rules by name, for a modulus of weak convexity."""


class ProximalAlgorithm:
    """A double loop with some inner solver."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = ProximalSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Gaps between rates."""
        return gap_tasks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Choose a candidate on the training rows and run it in full; the last outer point is the result."""
        assert isinstance(settings, ProximalSettings)
        own = GapTask(task, settings)
        modulus = own.problem.weak_convexity()
        rules = settings.candidates(modulus)
        steps = settings.steps(task.train.name)
        chosen = next(iter(rules))
        if len(rules) > 1:
            short = {name: _curve(own, rule, min(settings.tuning_steps, steps), 2) for name, rule in rules.items()}
            chosen = gap_tasks.preferred(short, short)
        curve = _curve(own, rules[chosen], steps, settings.points)
        task.report(f"{chosen}: loss {curve.loss[-1]:.5f}, violation {curve.violation[-1]:.1e}")
        theta = curve.points[int(curve.iteration[-1])]
        selected = {"rule": chosen, "iterations": steps, "rho": rules[chosen].weight}
        return gap_tasks.fit_of(own, {chosen: curve}, chosen, theta, selected, 2 * modulus)


def _curve(own: GapTask, rule: ProximalRule, steps: int, points: int) -> Curve:
    method = ProximalPoint(own.problem, rule, np.zeros((own.problem.size, 1)))
    return run(method, steps, gap_tasks.kept_iterations(steps, points))[0]
