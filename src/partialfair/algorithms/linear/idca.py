"""IDCA with the tuning protocol of the Partial fairness paper, section 3."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.idca_solver import Configuration, Run, advance, lanes_for, start_runs
from partialfair.algorithms.solution import Solution
from partialfair.tables.dataset import Dataset


class IDCASettings(Settings):
    """Candidates and schedule of the tuning protocol.

    Attributes:
        inner_steps, tolerances: candidates for T and eps; every pair is tried.
        tuning_rounds: outer iterations after which the pair with the best validation accuracy is chosen.
        rounds: candidates for K, the number of outer iterations of the chosen pair.
    """

    inner_steps: list[PositiveInt] = Field([150, 200], min_length=1)
    tolerances: list[PositiveFloat] = Field([5e-4, 1e-3, 2e-3, 5e-3], min_length=1)
    tuning_rounds: PositiveInt = 50
    rounds: list[PositiveInt] = Field([100, 150, 200, 250, 300, 350, 400], min_length=1)

    @model_validator(mode="after")
    def _rounds_follow_tuning(self) -> "IDCASettings":
        if min(self.rounds) < self.tuning_rounds:
            raise ValueError(f"rounds must not be smaller than tuning_rounds ({self.tuning_rounds})")
        return self


class IDCA:
    """Inexact difference-of-convex algorithm, tuned on validation accuracy; ties take the smaller violation."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings_model: ClassVar[type[Settings]] = IDCASettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any family of hinge-mean constraints on a classification dataset with at least two groups."""
        return classification_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Tune (T, eps), then K, on validation accuracy.

        The chosen pair's run is continued, not started again: the method is deterministic, so one run with
        checkpoints serves every K.
        """
        return self.fit_together([task], settings)[0]

    def fit_together(self, tasks: Sequence[Task], settings: Settings) -> list[Fit]:
        """The fits of tasks that differ in kappa alone; their candidates are columns of one computation."""
        assert isinstance(settings, IDCASettings)
        pairs = [Configuration(steps, eps) for steps in settings.inner_steps for eps in settings.tolerances]
        candidates = [start_runs(task.problem, pairs) for task in tasks]
        for task in tasks:
            task.report(f"tuning {len(pairs)} pairs (T, eps) for {settings.tuning_rounds} outer iterations")
        _advance(tasks, candidates, settings.tuning_rounds, lanes=lanes_for(len(pairs)))
        return [_continued(task, runs, settings) for task, runs in zip(tasks, candidates, strict=True)]


def _advance(
    tasks: Sequence[Task], candidates: Sequence[Sequence[Run]], rounds: int, lanes: int = 1, keep: Sequence[int] = ()
) -> None:
    """Bring the runs of all tasks to ``rounds`` outer iterations; a task of the general path is alone."""
    owner = {id(run): task for task, runs in zip(tasks, candidates, strict=True) for run in runs}
    runs = [run for one in candidates for run in one]

    def progress(run: Run) -> None:
        if run.round % 10 == 0 or run.fixed:
            record, state = run.history[-1], ", at a fixed point" if run.fixed else ""
            owner[id(run)].report(
                f"{_name(run)} round {run.round}: loss {record.objective:.5f}, "
                f"violation {record.max_violation:.1e}{state}"
            )

    if tasks[0].fused:
        problems = [owner[id(run)].problem for run in runs]
        advance(problems, runs, rounds, keep=keep, report=progress, lanes=lanes)
    else:
        plugins.general_path().advance(tasks[0].problem, runs, rounds, keep=keep, report=progress)


def _continued(task: Task, runs: Sequence[Run], settings: IDCASettings) -> Fit:
    """The fit from a task's tuned candidates: the best goes on alone, and K is chosen."""
    problem = task.problem
    scored = [(-task.validation_accuracy(run.params), run.history[-1].max_violation, i) for i, run in enumerate(runs)]
    best = runs[min(scored)[2]]
    task.report(f"chosen {_name(best)}, validation accuracy {-min(scored)[0]:.4f}")
    _advance([task], [[best]], max(settings.rounds), keep=settings.rounds)
    choice = []
    for rounds in sorted(settings.rounds):
        params, aux = best.checkpoints[rounds]
        worst = float(problem.constraints(problem.state(params, aux)).max())
        choice.append((-task.validation_accuracy(params), worst, rounds))
    accuracy, _, rounds = min(choice)
    params, aux = best.checkpoints[rounds]
    eps = best.configuration.tolerance
    certificate = certify(problem, params, aux, active_within=2 * eps)
    histories = {_name(run): run.history for run in runs}
    history = [record for record in best.history if record.iteration <= rounds]
    selected = {
        "inner_steps": best.configuration.inner_steps,
        "tolerance": eps,
        "rounds": rounds,
        "fixed_point_after": best.round if best.fixed else None,
        "validation_accuracy": -accuracy,
    }
    solution = Solution(params, aux, certificate, history)
    return Fit(solution, task.linear_score(params, aux), selected, histories, _name(best))


def _name(run: Run) -> str:
    """Name of a candidate in histories and progress lines."""
    return f"T={run.configuration.inner_steps} eps={run.configuration.tolerance:g}"


ALGORITHM = IDCA()
