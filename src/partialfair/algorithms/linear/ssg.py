"""SSG direct: the switching subgradient method on the constraints themselves, without IDCA's linearisation."""

from typing import ClassVar

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.subgradient import Run, Switching, advance, start_runs
from partialfair.algorithms.solution import Solution
from partialfair.tables.dataset import Dataset

ACCEPTED = 1e-3


class SSGSettings(Settings):
    """Candidates and schedule of the tuning protocol (Partial fairness paper, section 3).

    Attributes:
        static: candidates for a constant tolerance eps.
        diminishing: candidates for c in eps = c / (t + 1).
        tuning_steps: steps after which the candidate with the lowest loss is chosen.
        total_steps: steps of the chosen one.
        record_every: steps between two lines of the history.
    """

    static: list[PositiveFloat] = Field([1e-4, 2e-4, 5e-4, 1e-3])
    diminishing: list[PositiveFloat] = Field([0.2, 0.5, 1.0, 2.0])
    tuning_steps: PositiveInt = 10_000
    total_steps: PositiveInt = 50_000
    record_every: PositiveInt = 250

    @model_validator(mode="after")
    def _candidates_and_schedule(self) -> "SSGSettings":
        if not self.static and not self.diminishing:
            raise ValueError("static and diminishing are both empty; give at least one candidate")
        if self.total_steps < self.tuning_steps:
            raise ValueError(f"total_steps must not be smaller than tuning_steps ({self.tuning_steps})")
        return self


class SSG:
    """Switching subgradient method on f_i, static or diminishing tolerance chosen by the loss it reaches."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    settings_model: ClassVar[type[Settings]] = SSGSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any family of hinge-mean constraints on a classification dataset with at least two groups."""
        return classification_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Choose the tolerance by the loss on the training rows, then continue that run; no validation rows."""
        assert isinstance(settings, SSGSettings)
        problem = task.problem
        rules = [Switching(static=eps) for eps in settings.static] + [
            Switching(diminishing=c) for c in settings.diminishing
        ]
        runs = start_runs(problem, rules)

        def progress(run: Run) -> None:
            if run.taken % 10_000 == 0:
                record = run.history[-1]
                task.report(
                    f"{_name(run)} step {run.taken}: loss {record.objective:.5f}, violation {record.max_violation:.1e}"
                )

        advance(problem, runs, settings.tuning_steps, every=settings.record_every, report=progress)
        best = min(runs, key=_preference)
        task.report(f"chosen {_name(best)}, loss {best.history[-1].objective:.5f}")
        advance(problem, [best], settings.total_steps, every=settings.record_every, report=progress)
        params, aux = best.result
        assert isinstance(best.rule, Switching)
        eps = best.rule.tolerance(settings.total_steps)
        certificate = certify(problem, params, aux, active_within=max(2 * eps, 1e-3))
        selected = {"static": best.rule.static, "diminishing": best.rule.diminishing}
        solution = Solution(params, aux, certificate, best.history, _status(best, certificate.max_violation))
        histories = {_name(run): run.history for run in runs}
        return Fit(solution, task.linear_score(params, aux), selected, histories, _name(best))


def _preference(run: Run) -> tuple[bool, float]:
    """Sorts runs with a point within their tolerance by its loss before the others, which go by their violation."""
    record = run.history[-1]
    return not run.settled, record.objective if run.settled else record.max_violation


def _status(run: Run, violation: float) -> str:
    """Whether the result satisfies the constraints as well as the paper's largest static tolerance asks."""
    if run.settled or violation <= ACCEPTED:
        return "ok"
    return f"infeasible: largest constraint value {violation:.2g} after {run.taken} steps; use static tolerances"


def _name(run: Run) -> str:
    """Name of a candidate in histories and progress lines."""
    assert isinstance(run.rule, Switching)
    return f"eps={run.rule.static:g}" if run.rule.static else f"eps={run.rule.diminishing:g}/(t+1)"


ALGORITHM = SSG()
"""SSG direct."""
