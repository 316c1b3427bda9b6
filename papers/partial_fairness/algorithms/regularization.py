"""Regularization baseline: the unfairness is a penalty in the loss, descended by subgradients."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from papers.partial_fairness.algorithms.subgradient import PenalisedPoint, Penalty, Run, advance, start_runs
from partialfair.algorithms import tuning
from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Settings, Task, Trace
from partialfair.algorithms.linear.problem import LinearProblem, linear_problem, score_at
from partialfair.data.intervals import for_groups, measure
from partialfair.errors import ConfigError
from partialfair.kernels.score_columns import lanes_for


class RegularizationSettings(Settings):
    """Candidates and schedule of the tuning protocol.

    Attributes:
        steps: candidates for the constant step length.
        tuning_steps: steps after which the length with the best validation accuracy is chosen.
        total_steps: steps of the chosen length; the last iterate is the result. The default is 200 times 200, the
            middle of the products T K of IDCA's candidates.
        weight: "lambda" uses lambda itself; "printed" the factor of equation (114) or (119); "by scale" takes lambda
            on the absolute scale and the printed factor on the relative one. With the printed factor nearly all
            published lambdas give a fairness of .95 to .99; without it they spread as the paper says.
    """

    steps: list[PositiveFloat] = Field([5e-4, 1e-3, 2e-3, 5e-3], min_length=1)
    tuning_steps: PositiveInt = 10_000
    total_steps: PositiveInt = 40_000
    weight: Literal["by scale", "lambda", "printed"] = "by scale"

    @model_validator(mode="after")
    def _total_follows_tuning(self) -> "RegularizationSettings":
        if self.total_steps < self.tuning_steps:
            raise ValueError(f"total_steps must not be smaller than tuning_steps ({self.tuning_steps})")
        return self


class Regularization(Algorithm[RegularizationSettings]):
    """``f0 + weight * max_i f_i`` with the constraints at slack 0 (Partial fairness paper, appendix G.4).

    At slack 0 the largest f_i of partial statistical parity is ``max |c_k(theta_p) - p|``, and that of the rate
    families ``max |r_k - r_k'|``; the printed weight is ``2 lambda / (beta - alpha)`` for the first and half of that
    for the others, and lambda itself where differences of ranks are not divided by the interval's length
    (``RegularizationSettings.weight``). The task's kappa is lambda. The thresholds theta_p are descended together
    with the weights.
    """

    settings = RegularizationSettings
    label = "Regularization"
    paper = "Partial fairness paper, appendix G.4"
    look = PlotStyle("#56B4E9", "P", (0, (1.5, 1)))
    kappa = "weight"
    general = False
    together = frozenset({"kappa"})

    def fit(self, task: Task, settings: RegularizationSettings) -> Fit:
        """Tune the step length on validation accuracy (ties: smaller penalised loss), then continue that run."""
        return self.fit_together([task], settings)[0]

    def fit_together(self, tasks: Sequence[Task], settings: RegularizationSettings) -> list[Fit]:
        """Return the fits of tasks that differ in kappa alone; their candidates are columns of one computation."""
        problem = penalised(tasks[0])
        weights = [penalty_weight(task, problem, settings.weight) for task in tasks]
        # appendix G.4.2: the validation accuracy after 10^4 steps chooses the constant step; the chosen run continues,
        # and its last iterate is the result
        candidates = [start_runs(problem, [Penalty(weight, step) for step in settings.steps]) for weight in weights]
        _advance(problem, tasks, candidates, settings.tuning_steps, lanes_for(len(settings.steps)))
        best = [_best(*candidate) for candidate in zip(tasks, candidates, weights, strict=True)]
        _advance(problem, tasks, [[run] for run in best], settings.total_steps)
        return [_fit(problem, *candidate) for candidate in zip(tasks, candidates, best, weights, strict=True)]


def _advance(
    problem: LinearProblem, tasks: Sequence[Task], candidates: Sequence[Sequence[Run]], steps: int, lanes: int = 1
) -> None:
    """Bring the runs of all tasks to ``steps`` steps."""
    owner = {id(run): task for task, runs in zip(tasks, candidates, strict=True) for run in runs}

    def progress(run: Run) -> None:
        if run.taken % 10_000 == 0:
            record = run.history[-1]
            owner[id(run)].report(
                f"{_name(run)} step {run.taken}: loss {record.objective:.5f}, penalty {record.violation:.1e}"
            )

    advance(problem, [run for runs in candidates for run in runs], steps, report=progress, lanes=lanes)


def _best(task: Task, runs: Sequence[Run], weight: float) -> Run:
    """Return the candidate of the best validation accuracy; ties take the smallest penalised loss."""
    accuracies = [_accuracy(task, run) for run in runs]
    qualities = {"validation_accuracy": accuracies, "violation": [_objective(run, weight) for run in runs]}
    choice = tuning.select(qualities, tuning.VALIDATION_ACCURACY).index
    task.report(f"chosen {_name(runs[choice])}, validation accuracy {accuracies[choice]:.4f}")
    return runs[choice]


def _fit(problem: LinearProblem, task: Task, runs: Sequence[Run], best: Run, weight: float) -> Fit:
    """Return the fit of a task from its best candidate, which has been continued."""
    assert isinstance(best.rule, Penalty)
    chosen = {"step": best.rule.step, "weight": weight, "validation_accuracy": _accuracy(task, best)}
    trace = Trace({_name(run): run.history for run in runs}, _name(best))
    return Fit(score_at(task, *best.result), chosen, trace, PenalisedPoint(problem, *best.result, weight=weight))


def _accuracy(task: Task, run: Run) -> float:
    """Return the accuracy of a run's result on validation rows."""
    return tuning.accuracy(score_at(task, run.result[0]), task.validation)


def penalised(task: Task) -> LinearProblem:
    """Return the problem whose largest constraint is the penalty."""
    # kappa must be positive; the smallest positive number leaves p + slack equal to p in double precision
    tight = dataclasses.replace(task, kappa=float(np.finfo(np.float64).tiny), kappa_scale="absolute")
    return linear_problem(tight)


def penalty_weight(task: Task, problem: LinearProblem, weight: str = "by scale") -> float:
    """Return the weight of the largest constraint of the penalised problem; see :class:`RegularizationSettings`.

    Raises:
        ConfigError: lambda is not positive.
    """
    if not task.kappa > 0:
        raise ConfigError(f"lambda (the task's kappa) is {task.kappa}; use a positive number")
    if weight == "lambda" or (weight == "by scale" and task.kappa_scale == "absolute"):
        return float(task.kappa)
    # printed weights: 2 lambda / (beta - alpha) in equation (114), lambda / (beta - alpha) in (119)
    length = np.mean([measure(pairs) for pairs in for_groups(task.interval, task.train.n_groups)])
    return float((2 if problem.n_aux else 1) * task.kappa / length)


def _objective(run: Run, weight: float) -> float:
    """Return the penalised loss at a run's last record."""
    return run.history[-1].objective + weight * run.history[-1].violation


def _name(run: Run) -> str:
    """Return the name of a candidate in histories and progress lines."""
    assert isinstance(run.rule, Penalty)
    return f"step={run.rule.step:g}"


ALGORITHM = Regularization()
