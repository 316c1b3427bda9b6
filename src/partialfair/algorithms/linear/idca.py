"""IDCA with the tuning protocol of the Partial fairness paper, appendix G.2."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from partialfair.algorithms import tuning
from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Settings, Task, Trace
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.idca_solver import Configuration, Run, advance, start_runs
from partialfair.algorithms.linear.problem import linear_problem, score_at
from partialfair.kernels.score_columns import lanes_for


class IDCASettings(Settings):
    """Candidates and schedule of the tuning protocol.

    Attributes:
        inner_steps, tolerances: candidates for T and eps; every pair is tried.
        tuning_rounds: outer iterations after which the pair with the best validation accuracy is chosen.
        rounds: candidates for K, the number of outer iterations of the chosen pair.
        closed_grid: False has ranks from the interval's start on, without its end (the paper's half-open grid), True at
            both ends, "interior" at neither; see
            :class:`partialfair.algorithms.linear.augmented_lagrangian.ALMSettings`.
        start: "zero" is the start of appendix G.2.2, which violates partial statistical parity and makes the method
            slow; "feasible" has weights and thresholds that satisfy the constraints, as Algorithm 1 requires.
    """

    inner_steps: list[PositiveInt] = Field([150, 200], min_length=1)
    tolerances: list[PositiveFloat] = Field([5e-4, 1e-3, 2e-3, 5e-3], min_length=1)
    tuning_rounds: PositiveInt = 50
    rounds: list[PositiveInt] = Field([100, 150, 200, 250, 300, 350, 400], min_length=1)
    closed_grid: bool | Literal["interior"] = False
    start: Literal["zero", "feasible"] = "feasible"

    @model_validator(mode="after")
    def _rounds_follow_tuning(self) -> "IDCASettings":
        if min(self.rounds) < self.tuning_rounds:
            raise ValueError(f"rounds must not be smaller than tuning_rounds ({self.tuning_rounds})")
        return self


class IDCA(Algorithm[IDCASettings]):
    """Inexact difference-of-convex algorithm, tuned on validation accuracy; ties take the smaller violation."""

    settings = IDCASettings
    label = "IDCA"
    paper = "Partial fairness paper, section 6"
    look = PlotStyle("#0072B2", "o")
    general: ClassVar[bool | str] = "general.general:GeneralIDCA"
    together = frozenset({"kappa"})

    def fit(self, task: Task, settings: IDCASettings) -> Fit:
        """Tune (T, eps), then K, on validation accuracy.

        The chosen pair's run is continued, not started again: the method is deterministic, so one run with
        checkpoints serves every K.
        """
        return self.fit_together([task], settings)[0]

    def fit_together(self, tasks: Sequence[Task], settings: IDCASettings) -> list[Fit]:
        """Return the fits of tasks that differ in kappa alone; their candidates are columns of one computation."""
        tasks = [replace(task, closed_grid=settings.closed_grid) for task in tasks]
        # appendix G.2.2: all pairs (T, eps) run for 50 outer iterations; the most accurate on validation rows continues
        pairs = [Configuration(steps, eps) for steps in settings.inner_steps for eps in settings.tolerances]
        candidates = [start_runs(self.problem(task), pairs, zero=settings.start == "zero") for task in tasks]
        for task in tasks:
            task.report(f"tuning {len(pairs)} pairs (T, eps) for {settings.tuning_rounds} outer iterations")
        # candidates of all tasks and pairs are columns of one computation, since they share the rows
        owners = [task for task, runs in zip(tasks, candidates, strict=True) for _ in runs]
        all_runs = [run for runs in candidates for run in runs]
        self.advance(owners, all_runs, settings.tuning_rounds, lanes=lanes_for(len(pairs)))
        best = [_best(task, runs) for task, runs in zip(tasks, candidates, strict=True)]
        self.advance(tasks, best, max(settings.rounds), keep=settings.rounds)
        return [self._fit(*candidate, settings) for candidate in zip(tasks, candidates, best, strict=True)]

    def problem(self, task: Task) -> Any:
        """Return the training problem of a task."""
        return linear_problem(task)

    def advance(
        self, tasks: Sequence[Task], runs: Sequence[Run], rounds: int, lanes: int = 1, keep: Sequence[int] = ()
    ) -> None:
        """Bring runs, each of its task, to ``rounds`` outer iterations; see the solver's function of that name."""
        problems = [self.problem(task) for task in tasks]
        advance(problems, runs, rounds, keep=keep, report=progress(tasks, runs), lanes=lanes)

    def _fit(self, task: Task, runs: Sequence[Run], best: Run, settings: IDCASettings) -> Fit:
        """Choose K among the checkpoints of a task's best run, and return the fit."""
        problem = self.problem(task)
        # K: one run of the largest K has a checkpoint for every candidate; ties take the smaller max_i f_i
        candidates = sorted(settings.rounds)
        points = [best.checkpoints[rounds] for rounds in candidates]
        accuracies = [_accuracy(task, params) for params, _ in points]
        violations = [float(problem.constraints(problem.state(*point)).max()) for point in points]
        choice = tuning.select(
            {"validation_accuracy": accuracies, "violation": violations}, tuning.VALIDATION_ACCURACY
        ).index
        eps = best.configuration.tolerance
        chosen = {
            "inner_steps": best.configuration.inner_steps,
            "tolerance": eps,
            "rounds": candidates[choice],
            "fixed_point_after": best.round if best.fixed else None,
            "validation_accuracy": accuracies[choice],
        }
        trace = Trace({_name(run): run.history for run in runs}, _name(best))
        # the inner solver accepts g_max <= eps, so constraints within 2 eps of 0 count as active
        evaluated_point = LinearPoint(problem, *points[choice], active_within=2 * eps)
        return Fit(score_at(task, *points[choice]), chosen, trace, evaluated_point)


def _best(task: Task, runs: Sequence[Run]) -> Run:
    """Return the candidate of the best validation accuracy; ties take the smallest violation."""
    accuracies = [_accuracy(task, run.params) for run in runs]
    violations = [run.history[-1].violation for run in runs]
    choice = tuning.select(
        {"validation_accuracy": accuracies, "violation": violations}, tuning.VALIDATION_ACCURACY
    ).index
    task.report(f"chosen {_name(runs[choice])}, validation accuracy {accuracies[choice]:.4f}")
    return runs[choice]


def _accuracy(task: Task, params: Any) -> float:
    """Return the accuracy on validation rows."""
    return tuning.accuracy(score_at(task, params), task.validation)


def progress(tasks: Sequence[Task], runs: Sequence[Run]) -> Callable[[Run], None]:
    """Return a callback that reports every tenth outer iteration of a run, and its fixed point, to its task."""
    owner = {id(run): task for task, run in zip(tasks, runs, strict=True)}

    def report(run: Run) -> None:
        if run.round % 10 == 0 or run.fixed:
            record, state = run.history[-1], ", at a fixed point" if run.fixed else ""
            owner[id(run)].report(
                f"{_name(run)} round {run.round}: loss {record.objective:.5f}, violation {record.violation:.1e}{state}"
            )

    return report


def _name(run: Run) -> str:
    """Return the name of a candidate in histories and progress lines."""
    return f"T={run.configuration.inner_steps} eps={run.configuration.tolerance:g}"


ALGORITHM = IDCA()
