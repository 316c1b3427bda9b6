"""SSG on gaps: the single-loop switching subgradient method that PLADA is compared with."""

from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat

from papers.plada.algorithms import gap_tasks
from papers.plada.algorithms.gap_runs import Curve, run
from papers.plada.algorithms.gap_tasks import GapAlgorithm, GapSettings, GapTask, Step, step_of
from papers.plada.algorithms.linear_gaps import LinearGaps
from papers.plada.algorithms.switching_gaps import SwitchingGaps, SwitchingRule
from partialfair.algorithms.contract import Fit, PlotStyle, Task


class Rules(BaseModel):
    """Candidates among which the training loss at a violation of at most 1e-3 chooses.

    Attributes:
        static: pairs of a constant step (``loss``: nine tenths of 1 / L_F) and a constant tolerance.
        diminishing: pairs E2, E1 of the step ``E2 / sqrt(t + 1)`` and the tolerance ``E1 / sqrt(t + 1)``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    static: list[tuple[Step, NonNegativeFloat]] = []
    diminishing: list[tuple[PositiveFloat, NonNegativeFloat]] = []

    def named(self, problem: LinearGaps) -> dict[str, tuple[float, float, bool]]:
        """Step, tolerance and whether both diminish, by a name for histories."""
        numbers = [(step_of(step, problem), eps) for step, eps in self.static]
        fixed = {f"step {step:g}, tolerance {eps:g}": (step, eps, False) for step, eps in numbers}
        return fixed | {f"{step:g}/sqrt(t+1), {eps:g}/sqrt(t+1)": (step, eps, True) for step, eps in self.diminishing}


class SSGGapsSettings(GapSettings):
    """Sets of candidates; from each the best is run in full.

    Attributes:
        sets: by name; the first gives the model.
    """

    sets: Annotated[dict[str, Rules], Field(min_length=1)] = Field(
        {"tuned": Rules(static=[(0.01, 1e-5), (0.05, 1e-5), (0.2, 1e-5), (0.6, 1e-5), (1.0, 1e-5)])}
    )


class SSGGaps(GapAlgorithm[SSGGapsSettings]):
    """Switching subgradient with Polyak steps where the constraint fails."""

    settings = SSGGapsSettings
    label = "SSG"
    paper = "Huang and Lin (2023)"
    look = PlotStyle("#D55E00", "s", (0, (5, 1.5)))

    def fit(self, task: Task, settings: SSGGapsSettings) -> Fit:
        """Choose a rule of each set on the training rows, run it in full; the first set gives the result."""
        gap_task = GapTask(task, settings)
        steps = settings.steps(task.train.name, 2)
        curves: dict[str, Curve] = {}
        rule: dict[str, str] = {}
        for name, rules in settings.sets.items():
            candidates = rules.named(gap_task.problem)
            rule[name] = next(iter(candidates))
            if len(candidates) > 1:
                short = _curves(gap_task, candidates, settings.trial(steps), 2)
                rule[name] = gap_tasks.preferred(short)
            curves[name] = _curves(gap_task, {name: candidates[rule[name]]}, steps, settings.points)[name]
            task.report(f"{name}: {rule[name]}, loss {curves[name].loss[-1]:.5f}")
        result = next(iter(curves))
        weight = 2 * gap_task.problem.weak_convexity()
        theta = curves[result].points[steps]
        return gap_tasks.fit_of(gap_task, curves, result, theta, {"rules": rule, "iterations": steps}, weight)


def _curves(
    gap_task: GapTask, rules: dict[str, tuple[float, float, bool]], steps: int, points: int
) -> dict[str, Curve]:
    """Run candidates as one batch."""
    step, tolerance, diminishing = (np.array(column) for column in zip(*rules.values(), strict=True))
    start = np.zeros((gap_task.problem.size, len(rules)))
    method = SwitchingGaps(gap_task.problem, SwitchingRule(step, tolerance, diminishing), start)
    curves = run(method, steps, gap_tasks.kept_iterations(steps, points))
    return dict(zip(rules, curves, strict=True))


ALGORITHM = SSGGaps()
