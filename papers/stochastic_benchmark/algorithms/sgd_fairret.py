"""Stochastic gradient descent with fairret's regulariser of unequal expected accuracies, on group-balanced batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from papers.stochastic_benchmark.algorithms.fairret_penalties import PENALTIES, Library, Penalty
from papers.stochastic_benchmark.algorithms.row_streams import Balanced
from papers.stochastic_benchmark.algorithms.stochastic_problem import Sampled, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import State
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.algorithms.contract import Fit, PlotStyle, Task
from partialfair.data.dataset import Dataset
from partialfair.models.stacked import Array


class FairretSettings(StochasticSettings):
    """Settings.

    Attributes:
        penalty: ``library``: fairret's own KL projection (10 iterations of a cone solver, and a normalisation that
            doubles the targets); ``kl_released``: its limit in closed form; ``kl``: without the doubling; ``norm``,
            ``log_sum_exp``: fairret's other losses.
        weight: of the penalty.
        step_size: of the descent.
        group_batch: rows of each group per step.
    """

    penalty: Literal["library", "kl_released", "kl", "norm", "log_sum_exp"] = "kl_released"
    weight: NonNegativeFloat = 0.5
    step_size: PositiveFloat = 0.05
    group_batch: PositiveInt = 12


@dataclass(frozen=True)
class PenalisedSteps:
    """Steps on the loss of group-balanced batches plus a penalty on the same rows.

    Attributes:
        penalty: its derivative by the scores.
        groups: (n,) codes, from which rows are drawn in equal numbers.
    """

    settings: FairretSettings
    penalty: Penalty
    groups: np.ndarray

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Balanced:
        """Rows of every step."""
        strata = [np.flatnonzero(self.groups == code) for code in np.unique(self.groups)]
        return Balanced(strata, self.settings.group_batch, seeds, "balanced")

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        return {"x": x.copy(), "rows": np.zeros(len(x))}

    def step(self, problem: StochasticProblem, streams: Balanced, state: State, k: int) -> None:
        """One step of every run."""
        drawn = streams.drawn_at(k)
        rows = drawn.reshape(len(drawn), -1)

        def residual(scores: Array) -> Array:
            positive = problem.positive[rows]
            by_group = self.penalty(scores.reshape(drawn.shape), positive.reshape(drawn.shape))
            return problem.residual(scores, rows) + self.settings.weight * by_group.reshape(scores.shape)

        # loss and penalty in one pass: derivative by the scores of the batch, weight times the penalty's added
        gradient = problem.weighted_gradient(state["x"], rows, residual)
        state["x"] -= state["x"].dtype.type(self.settings.step_size) * gradient
        state["rows"] += rows.shape[1]


class SGDFairret(Stochastic[FairretSettings]):
    """Stochastic gradient descent with a penalty, whose weight takes the place of a tolerance."""

    settings = FairretSettings
    label = "SGD-Fairret"
    paper = "Benchmark of stochastic approximation algorithms, section 4.2"
    look = PlotStyle("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1)))
    constrained = False
    penalised = True

    def fit_together(self, tasks: Sequence[Task], settings: FairretSettings) -> list[Fit]:
        """All seeds at once, but for the library's own penalty, whose solver takes one run at a time."""
        if settings.penalty == "library":
            return [self.fit(task, settings) for task in tasks]
        return super().fit_together(tasks, settings)

    def method(self, settings: FairretSettings, rows: Dataset, n_seeds: int) -> PenalisedSteps:
        """Steps with the settings' penalty: a formula of ours, or fairret's own code for ``n_seeds`` runs."""
        of_library = settings.penalty == "library"
        return PenalisedSteps(
            settings, Library(n_seeds, rows.n_groups) if of_library else PENALTIES[settings.penalty], rows.group
        )


ALGORITHM = SGDFairret()
