"""Stochastic switching subgradient method (SSw): steps on the objective where the constraint seems to hold.

Source: Benchmark of stochastic approximation algorithms, section 3 (after Huang and Lin). The test and the constraint's
step use independent draws.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partialfair.algorithms.stochastic.row_streams import Balanced, Permutations
from partialfair.algorithms.stochastic.stochastic_problem import Sampled, StochasticProblem
from partialfair.algorithms.stochastic.stochastic_run import State
from partialfair.models.stacked import Array

Streams = tuple[Permutations, Balanced, Balanced]


@dataclass(frozen=True)
class StochasticSwitching:
    """The method.

    Attributes:
        objective_step: eta_f; constraint_step: eta_c.
        tolerance: eps at the beginning of every pass over the rows.
        tolerance_decay: factor per step after ``decay_start`` steps of the pass.
        decay_start: see there.
        batch: rows of the objective per step, ``None`` for all.
        group_batch: rows of each stratum per step and draw.
    """

    objective_step: float = 0.5
    constraint_step: float = 0.05
    tolerance: float = 1e-4
    tolerance_decay: float = 0.97
    decay_start: int = 500
    batch: int | None = 16
    group_batch: int = 16

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Streams | None:
        """Rows of every step: of the objective, of the test, and of the constraint's step."""
        if self.batch is None:
            return None
        objective = Permutations(np.arange(len(problem.X)), self.batch, seeds, "objective")
        draws = [Balanced(problem.strata, self.group_batch, seeds, name) for name in ("first", "second")]
        return objective, draws[0], draws[1]

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step; ``objective_steps`` counts those on the objective."""
        zero = np.zeros(len(x))
        return {"x": x.copy(), "objective_steps": zero, "taken": zero.copy(), "rows": zero.copy()}

    def eps(self, k: int, streams: Streams | None) -> float:
        """Tolerance of step k."""
        in_pass = k if streams is None else k % math.ceil(streams[0].pool.size / streams[0].batch)
        return float(self.tolerance * self.tolerance_decay ** max(0, in_pass - self.decay_start))

    def step(self, problem: Sampled, streams: Streams | None, state: State, k: int) -> None:
        """One step of every run; ``taken`` is its length."""
        objective, first, second = (None, None, None) if streams is None else (part.at(k) for part in streams)
        x = state["x"]
        values, _ = problem.constraints(x, first)
        holds = values.max(axis=1) <= self.eps(k, streams)
        on, off = np.flatnonzero(holds), np.flatnonzero(~holds)
        if on.size:
            rows = None if objective is None else objective[on]
            x[on] -= x.dtype.type(self.objective_step) * problem.gradient(x[on], rows)
        if off.size:
            again, pull_back = problem.constraints(x[off], None if second is None else second[off])
            largest = np.zeros_like(again)
            largest[np.arange(off.size), again.argmax(axis=1)] = 1.0
            x[off] -= x.dtype.type(self.constraint_step) * pull_back(largest)
        state["objective_steps"] += holds
        state["taken"] = np.where(holds, self.objective_step, self.constraint_step)
        if first is not None and objective is not None:
            state["rows"] += first[0].size + np.where(holds, objective.shape[1], first[0].size)
