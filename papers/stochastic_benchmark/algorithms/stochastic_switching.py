"""Stochastic switching subgradient method (SSw): steps on the objective where the constraint seems to hold.

Source: Benchmark of stochastic approximation algorithms, section 3.4 (after Huang and Lin). The test and the
constraint's step use independent draws.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from papers.stochastic_benchmark.algorithms.row_streams import Streams, with_two_draws
from papers.stochastic_benchmark.algorithms.stochastic_problem import Sampled, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import State
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset
from partialfair.models.stacked import Array


class StochasticSwitchingSettings(StochasticSettings):
    """Settings; in brackets the paper's letters.

    Attributes:
        objective_step: (eta_f); constraint_step: (eta_c).
        tolerance: (eps) at the beginning of a pass; it falls by ``tolerance_decay`` per step from ``decay_start`` on.
        batch: rows of the objective; group_batch: rows of each group in each of two draws.
        cyclic: the same batches of groups in every pass, as the published code draws them.
    """

    objective_step: PositiveFloat = 0.5
    constraint_step: PositiveFloat = 0.05
    tolerance: PositiveFloat = 1e-4
    tolerance_decay: float = Field(0.97, gt=0, le=1)
    decay_start: NonNegativeInt = 500
    batch: PositiveInt = 16
    group_batch: PositiveInt = 16
    cyclic: bool = False


@dataclass(frozen=True)
class SwitchingSteps:
    """Steps of SSw for several runs at once, each on its own drawn rows."""

    settings: StochasticSwitchingSettings

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Streams | None:
        """Rows of every step: of the objective, of the test, and of the constraint's step."""
        return with_two_draws(len(problem.X), problem.strata, self.settings, seeds)

    def start(self, problem: Sampled, x: Array) -> State:
        """Return the state before the first step; ``objective_steps`` counts the steps on the objective."""
        zero = np.zeros(len(x))
        return {"x": x.copy(), "objective_steps": zero, "taken": zero.copy(), "rows": zero.copy()}

    def eps(self, k: int, streams: Streams | None) -> float:
        """Return the tolerance of step k."""
        in_pass = k if streams is None else k % math.ceil(streams[0].pool.size / streams[0].batch)
        settings = self.settings
        return steps.tolerance_at(in_pass, settings.tolerance, settings.tolerance_decay, settings.decay_start)

    def step(self, problem: Sampled, streams: Streams | None, state: State, k: int) -> None:
        """Take one step of every run; ``taken`` becomes its length eta_k."""
        objective, draw_1, draw_2 = (
            (None, None, None) if streams is None else (stream.drawn_at(k) for stream in streams)
        )
        x = state["x"]
        # Algorithm 3, lines 4 to 11, for all runs at once:
        # x' = x - eta_f f'(x) where max c <= eps_k;  else x - eta_c c_i'(x), i the largest of another draw
        values, _ = problem.constraints(x, draw_1)
        holds = steps.seems_feasible(values, self.eps(k, streams))[:, 0]
        on, off = np.flatnonzero(holds), np.flatnonzero(~holds)
        if on.size:
            rows = None if objective is None else objective[on]
            x[on] -= x.dtype.type(self.settings.objective_step) * problem.gradient(x[on], rows)
        if off.size:
            again, pull_back = problem.constraints(x[off], None if draw_2 is None else draw_2[off])
            worst = steps.largest(again).astype(again.dtype)
            x[off] -= x.dtype.type(self.settings.constraint_step) * pull_back(worst)
        state["objective_steps"] += holds
        # eta_k, from which the output draws tau with P(tau = k) = eta_k / sum eta (Algorithm 3, line 14)
        state["taken"] = np.where(holds, self.settings.objective_step, self.settings.constraint_step)
        if draw_1 is not None and objective is not None:
            state["rows"] += draw_1[0].size + np.where(holds, objective.shape[1], draw_1[0].size)


class StochasticSwitching(Stochastic[StochasticSwitchingSettings]):
    """The stochastic switching subgradient method."""

    settings = StochasticSwitchingSettings
    label = "SSw"
    paper = "Benchmark of stochastic approximation algorithms, section 3.4"
    look = PlotStyle("#CC79A7", "D", (0, (3, 1)))

    def method(self, settings: StochasticSwitchingSettings, rows: Dataset, n_seeds: int) -> SwitchingSteps:
        """Switching steps, alike for any number of runs."""
        return SwitchingSteps(settings)


ALGORITHM = StochasticSwitching()
