"""What the three baselines on score pairs share; each of them names the pairs of subsets it compares."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import permutations
from typing import ClassVar

import numpy as np

from papers.partial_fairness.algorithms.pairwise_moments import Pair, subsets_by_class, subsets_by_group
from papers.partial_fairness.algorithms.pairwise_solver import PairwiseProblem, PairwiseSettings, solve
from partialfair.algorithms.contract import Algorithm, Fit, Record, Task, Trace, unsuitable
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import score_at
from partialfair.data.dataset import Dataset


class PairwiseBaseline(Algorithm[PairwiseSettings]):
    """Logistic loss under constraints on all score pairs of certain subsets, solved to the global optimum.

    Kappa is the baseline's own tolerance on those constraints; the experiment's constraint, whatever it is,
    is only what the metrics report. Nothing is tuned.
    """

    settings = PairwiseSettings
    paper = "Partial fairness paper, appendix G.3"
    kappa = "own tolerance"
    general = False
    by_class: ClassVar[bool]

    @abstractmethod
    def pairs(self, k: int, k_other: int) -> Sequence[Pair]:
        """Pairs of subsets (a, b) whose terms ``E sigma(s_a - s_b) - 1/2`` add up to the constraint of k, other."""

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Any constraint, on a classification dataset in which every subset compared has rows."""
        reason = unsuitable(data)
        if reason:
            return reason
        for k, name in enumerate(data.group_names):
            labels = data.y[data.group == k]
            if labels.size == 0:
                return f"group {name!r} of {data.name} has no training rows"
            if self.by_class and np.all(labels == labels[0]):
                sign = "negative" if labels[0] > 0 else "positive"
                return f"group {name!r} of {data.name} has no training rows with a {sign} label"
        return None

    def fit(self, task: Task, settings: PairwiseSettings) -> Fit:
        """Solve on the training rows; validation rows are not used."""
        problem = self.problem(task)

        def report(record: Record) -> None:
            task.report(
                f"centring {record.step}: loss {record.objective:.6f}, "
                f"largest constraint {record.violation:.1e}, {record.work} Newton steps"
            )

        solution = solve(problem, settings=settings, report=report)
        evaluated_point = LinearPoint(problem, solution.params, solution.aux, active_within=1e-3 * task.kappa)
        trace = Trace({"barrier": solution.records}, "barrier")
        return Fit(
            score_at(task, solution.params), trace=trace, evaluated_point=evaluated_point, failure=solution.failure
        )

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
            [self.pairs(k, k_other) for k, k_other in orders],
            task.kappa,
            [f"pairs of group {k} and group {k_other} <= {task.kappa:g}" for k, k_other in orders],
            standardiser=task.standardiser,
            uses_group=task.uses_group,
        )
