"""Stochastic gradient descent on the mean log loss, without constraints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from papers.stochastic_benchmark.algorithms.row_streams import Permutations
from papers.stochastic_benchmark.algorithms.stochastic_problem import Sampled, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import State
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset
from partialfair.models.stacked import Array


class SGDSettings(StochasticSettings):
    """Settings.

    Attributes:
        step_size: constant.
        batch: rows per step.
    """

    step_size: PositiveFloat = 0.005
    batch: PositiveInt = 8


@dataclass(frozen=True)
class PlainSteps:
    """Steps on the mean loss of drawn rows, which ignore the constraints."""

    settings: SGDSettings

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Permutations | None:
        """Permutations of the rows, one per run and pass; ``None`` where every step takes all rows."""
        if self.settings.full_batch:
            return None
        return Permutations(np.arange(len(problem.X)), self.settings.batch, seeds, "objective")

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        return {"x": x.copy(), "rows": np.zeros(len(x))}

    def step(self, problem: Sampled, streams: Permutations | None, state: State, k: int) -> None:
        """One step of every run."""
        rows = None if streams is None else streams.drawn_at(k)
        gradient = problem.gradient(state["x"], rows)
        gradient *= state["x"].dtype.type(self.settings.step_size)
        state["x"] -= gradient
        state["rows"] += 0 if rows is None else rows.shape[1]


class SGD(Stochastic[SGDSettings]):
    """Stochastic gradient descent."""

    settings = SGDSettings
    label = "SGD"
    paper = "Benchmark of stochastic approximation algorithms, section 4.2"
    look = PlotStyle("#262626", "*")
    constrained = False

    def method(self, settings: SGDSettings, rows: Dataset, n_seeds: int) -> PlainSteps:
        """Plain steps, alike for any number of runs."""
        return PlainSteps(settings)


ALGORITHM = SGD()
