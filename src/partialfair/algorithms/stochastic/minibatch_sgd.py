"""Stochastic gradient descent on the mean log loss, by itself or with a penalty on balanced batches.

Source: Benchmark of stochastic approximation algorithms, section 4.2 (SGD, SGD-Fairret).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partialfair.algorithms.stochastic.fairret_penalties import Penalty
from partialfair.algorithms.stochastic.row_streams import Balanced, Permutations
from partialfair.algorithms.stochastic.stochastic_problem import Sampled, StochasticProblem
from partialfair.algorithms.stochastic.stochastic_run import State
from partialfair.models.stacked import Array


@dataclass(frozen=True)
class SGD:
    """Plain steps on the loss.

    Attributes:
        step_size: constant.
        batch: rows per step, ``None`` for all.
    """

    step_size: float = 0.005
    batch: int | None = 8

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Permutations | None:
        """Rows of every step."""
        if self.batch is None:
            return None
        return Permutations(np.arange(len(problem.X)), self.batch, seeds, "objective")

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        return {"x": x.copy(), "rows": np.zeros(len(x))}

    def step(self, problem: Sampled, streams: Permutations | None, state: State, k: int) -> None:
        """One step of every run."""
        rows = None if streams is None else streams.at(k)
        gradient = problem.gradient(state["x"], rows)
        gradient *= state["x"].dtype.type(self.step_size)
        state["x"] -= gradient
        state["rows"] += 0 if rows is None else rows.shape[1]


@dataclass(frozen=True)
class PenalisedSGD:
    """Steps on the loss of group-balanced batches plus a penalty on the same rows.

    Attributes:
        penalty: its derivative by the scores.
        step_size: constant.
        weight: of the penalty.
        group_batch: rows of each group per step.
        groups: (n,) codes, from which rows are drawn in equal numbers.
    """

    penalty: Penalty
    groups: np.ndarray
    step_size: float = 0.05
    weight: float = 0.5
    group_batch: int = 12

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Balanced:
        """Rows of every step."""
        strata = [np.flatnonzero(self.groups == code) for code in np.unique(self.groups)]
        return Balanced(strata, self.group_batch, seeds, "balanced")

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        return {"x": x.copy(), "rows": np.zeros(len(x))}

    def step(self, problem: StochasticProblem, streams: Balanced, state: State, k: int) -> None:
        """One step of every run."""
        drawn = streams.at(k)
        rows = drawn.reshape(len(drawn), -1)

        def residual(scores: Array) -> Array:
            positive = problem.positive[rows]
            by_group = self.penalty(scores.reshape(drawn.shape), positive.reshape(drawn.shape))
            return problem.residual(scores, rows) + self.weight * by_group.reshape(scores.shape)

        gradient = problem.weighted_gradient(state["x"], rows, residual)
        state["x"] -= state["x"].dtype.type(self.step_size) * gradient
        state["rows"] += rows.shape[1]
