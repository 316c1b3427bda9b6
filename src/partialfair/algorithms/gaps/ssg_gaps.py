"""SSG on gaps: the single-loop switching subgradient method that PLADA is compared with."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import gap_tasks
from partialfair.algorithms.gaps.gap_runs import Curve, run
from partialfair.algorithms.gaps.gap_tasks import GapSettings, GapTask
from partialfair.algorithms.gaps.switching_gaps import SwitchingGaps, SwitchingRule
from partialfair.algorithms.transition import Fit
from partialfair.tables.dataset import Dataset


class Rules(BaseModel):
    """Candidates among which the training loss at a violation of at most 1e-3 chooses.

    Attributes:
        static: pairs of a constant step and a constant tolerance.
        diminishing: pairs E2, E1 of the step ``E2 / sqrt(t + 1)`` and the tolerance ``E1 / sqrt(t + 1)``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    static: list[tuple[PositiveFloat, NonNegativeFloat]] = []
    diminishing: list[tuple[PositiveFloat, NonNegativeFloat]] = []

    def named(self) -> dict[str, tuple[float, float, bool]]:
        """Step, tolerance and whether both diminish, by a name for histories."""
        fixed = {f"step {step:g}, tolerance {eps:g}": (step, eps, False) for step, eps in self.static}
        return fixed | {f"{step:g}/sqrt(t+1), {eps:g}/sqrt(t+1)": (step, eps, True) for step, eps in self.diminishing}


class SSGGapsSettings(GapSettings):
    """Sets of candidates; from each the best is run in full.

    Attributes:
        sets: by name; the first gives the model.
        tuning_steps: iterations after which a set's best candidate is chosen, at most ``iterations``.
    """

    sets: Annotated[dict[str, Rules], Field(min_length=1)] = Field(
        {"tuned": Rules(static=[(0.01, 1e-5), (0.05, 1e-5), (0.2, 1e-5), (0.6, 1e-5), (1.0, 1e-5)])}
    )
    tuning_steps: PositiveInt = 500


class SSGGaps:
    """Switching subgradient with Polyak steps where the constraint fails."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = SSGGapsSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Gaps between rates."""
        return gap_tasks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Choose a rule of each set on the training rows, run it in full; the first set gives the result."""
        assert isinstance(settings, SSGGapsSettings)
        own = GapTask(task, settings)
        steps = settings.steps(task.train.name)
        curves: dict[str, Curve] = {}
        selected: dict[str, str] = {}
        for name, rules in settings.sets.items():
            candidates = rules.named()
            selected[name] = next(iter(candidates))
            if len(candidates) > 1:
                short = _curves(own, candidates, min(settings.tuning_steps, steps), 2)
                selected[name] = gap_tasks.preferred(short, short)
            curves[name] = _curves(own, {name: candidates[selected[name]]}, steps, settings.points)[name]
            task.report(f"{name}: {selected[name]}, loss {curves[name].loss[-1]:.5f}")
        chosen = next(iter(curves))
        weight = 2 * own.problem.weak_convexity()
        theta = curves[chosen].points[steps]
        return gap_tasks.fit_of(own, curves, chosen, theta, {"rules": selected, "iterations": steps}, weight)


def _curves(own: GapTask, rules: dict[str, tuple[float, float, bool]], steps: int, points: int) -> dict[str, Curve]:
    """Run candidates as one batch."""
    step, tolerance, diminishing = (np.array(column) for column in zip(*rules.values(), strict=True))
    start = np.zeros((own.problem.size, len(rules)))
    method = SwitchingGaps(own.problem, SwitchingRule(step, tolerance, diminishing), start)
    curves = run(method, steps, gap_tasks.kept_iterations(steps, points))
    return dict(zip(rules, curves, strict=True))


ALGORITHM = SSGGaps()
"""SSG on gaps."""
