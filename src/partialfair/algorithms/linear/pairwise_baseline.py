"""What the three baselines on score pairs share; each of them names the pairs of subsets it compares."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import permutations
from typing import ClassVar

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.pairwise_moments import Pair, subsets_by_class, subsets_by_group
from partialfair.algorithms.linear.pairwise_solver import BarrierBudget, PairwiseProblem, solve
from partialfair.algorithms.solution import Record, Solution
from partialfair.models.linear import LinearScore
from partialfair.tables.dataset import Dataset


class PairwiseSettings(Settings):
    """Settings of the solver; see :class:`partialfair.algorithms.linear.pairwise_solver.BarrierBudget`."""

    gap: PositiveFloat = 1e-7
    growth: float = Field(30.0, gt=1)
    newton_steps: PositiveInt = 50


class PairwiseBaseline(ABC):
    """Logistic loss under constraints on all score pairs of certain subsets, solved to the global optimum.

    Kappa is the baseline's own tolerance on those constraints; the experiment's constraint, whatever it is,
    is only what the metrics report. Nothing is tuned.
    """

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = False
    settings_model: ClassVar[type[Settings]] = PairwiseSettings
    by_class: ClassVar[bool]

    @abstractmethod
    def pairs(self, k: int, other: int) -> Sequence[Pair]:
        """Pairs of subsets (a, b) whose terms ``E sigma(s_a - s_b) - 1/2`` add up to the constraint of k, other."""

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any constraint, on a classification dataset in which every subset compared has rows."""
        applies, why = classification_only(dataset)
        if not applies:
            return applies, why
        for k, name in enumerate(dataset.group_names):
            labels = dataset.y[dataset.group == k]
            if labels.size == 0:
                return False, f"group {name!r} of {dataset.name} has no training rows"
            if self.by_class and np.all(labels == labels[0]):
                sign = "negative" if labels[0] > 0 else "positive"
                return False, f"group {name!r} of {dataset.name} has no training rows with a {sign} label"
        return True, ""

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Solve on the training rows; validation rows are not used."""
        assert isinstance(settings, PairwiseSettings)
        problem = self.problem(task)

        def report(record: Record) -> None:
            task.report(
                f"centring {record.iteration}: loss {record.objective:.6f}, "
                f"largest constraint {record.max_violation:.1e}, {record.inner_steps} Newton steps"
            )

        found = solve(problem, budget=BarrierBudget(**settings.model_dump()), report=report)
        solution = with_thresholds(task, found)
        model = LinearScore(
            weights=problem.model.effective(solution.params),
            standardiser=task.standardiser,
            aux=np.zeros(0),
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
            uses_group=task.uses_group,
        )
        return Fit(solution, model, {}, {"barrier": solution.history}, "barrier")

    def problem(self, task: Task) -> PairwiseProblem:
        """The training problem: one constraint per ordered pair of groups."""
        rows, groups = task.train, range(task.train.n_groups)
        if self.by_class:
            subsets = subsets_by_class(rows.group, rows.y, rows.n_groups)
        else:
            subsets = subsets_by_group(rows.group, rows.n_groups)
        orders = list(permutations(groups, 2))
        return PairwiseProblem.with_pairs(
            rows.X,
            rows.y,
            subsets,
            [self.pairs(k, other) for k, other in orders],
            task.kappa,
            [f"pairs of group {k} and group {other} <= {task.kappa:g}" for k, other in orders],
            standardiser=task.standardiser,
            uses_group=task.uses_group,
        )


def with_thresholds(task: Task, solution: Solution) -> Solution:
    """The same solution with auxiliary variables in the shape of the experiment's constraints.

    The baselines have none; those of the experiment's feasible start stand in, so that whoever evaluates the
    experiment's constraint at the solution can.
    """
    program = task.program()
    aux = np.zeros(0) if program is None else program.start
    history = [dataclasses.replace(record, aux=aux) for record in solution.history]
    return dataclasses.replace(solution, aux=aux, history=history)
