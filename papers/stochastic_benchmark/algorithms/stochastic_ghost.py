"""Stochastic Ghost: directions from subproblems on drawn rows, made nearly unbiased by a random number of levels.

Source: Benchmark of stochastic approximation algorithms, section 3.2, equations (7)-(9). A step draws a level N with
``P(N = j) = p (1 - p)^j`` and J = 2^(N+1) rows, and moves along

    d_1 + (d_J - (d_even + d_odd) / 2) / P(N)

where d_1 is the direction of single rows, and the others those of all, of every second and of the other drawn rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, PositiveFloat

from papers.stochastic_benchmark.algorithms.stochastic_problem import PullBack, Sampled, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import State
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.contract import PlotStyle
from partialfair.algorithms.ghost_subproblem import Subproblem, general_direction, level_weight, pair_direction
from partialfair.data.dataset import Dataset
from partialfair.models.stacked import Array
from partialfair.seeding import generator

CHUNK = 32  # steps whose rows are drawn at once


@dataclass(frozen=True)
class Draw:
    """Rows of one run at one step: those of the objective and of each stratum, the first of them for ``d_1``.

    Attributes:
        level: N.
        objective: (1 + J,) rows.
        strata: (S, 1 + J) rows.
    """

    level: int
    objective: NDArray[np.int64]
    strata: NDArray[np.int64]


@dataclass(eq=False)
class LevelDraws:
    """Draws of every run, with replacement; a function of seed and step.

    Attributes:
        n_rows: rows of the objective.
        strata: rows of each stratum.
        seeds: one per run.
        success: p.
        largest: largest level; a larger one is drawn anew.
    """

    n_rows: int
    strata: Sequence[NDArray[np.int64]]
    seeds: Sequence[int]
    success: float
    largest: int
    _chunk: tuple[int, list[list[Draw]]] = field(default=(-1, []), init=False)

    def drawn_at(self, step: int) -> list[Draw]:
        """Return the level of a step and its rows for every run."""
        number, position = divmod(step, CHUNK)
        if self._chunk[0] != number:
            self._chunk = number, [self._draws(seed, number) for seed in self.seeds]
        return [draws[position] for draws in self._chunk[1]]

    def _draws(self, seed: int, chunk: int) -> list[Draw]:
        stream = generator("rows", "ghost", seed, chunk)
        return [self._draw(stream) for _ in range(CHUNK)]

    def _draw(self, stream: np.random.Generator) -> Draw:
        # N of the geometric distribution on 0, 1, ..., drawn anew while 2^(N + 1) exceeds the largest group
        level = self.largest + 1
        while level > self.largest:
            level = int(stream.geometric(self.success)) - 1
        size = 1 + 2 ** (level + 1)
        objective = stream.integers(0, self.n_rows, size)
        return Draw(level, objective, np.stack([rows[stream.integers(0, rows.size, size)] for rows in self.strata]))


class GhostSettings(StochasticSettings, Subproblem):
    """Settings; in brackets the paper's letters. Those of the subproblem are named there.

    Attributes:
        step_size: (alpha_0); decay: (alpha_hat), of ``alpha <- alpha (1 - decay alpha)``.
        success: (p_0), parameter of the geometric distribution.
        renormalised: divide by P(N | N <= largest level) in place of P(N). The paper divides by P(N), which leaves a
            small bias once large levels are redrawn.
    """

    step_size: PositiveFloat = 0.05
    decay: NonNegativeFloat = 0.05
    success: float = Field(0.4, gt=0, lt=1)
    renormalised: bool = False


@dataclass(frozen=True)
class GhostSteps:
    """Steps along the solution of a subproblem on drawn rows, corrected by a random level."""

    settings: GhostSettings

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> LevelDraws | None:
        """Draws of rows for every step; ``None`` where every step takes all rows."""
        if self.settings.full_batch:
            return None
        largest = int(np.log2(max(rows.size for rows in problem.strata))) - 1
        return LevelDraws(len(problem.X), problem.strata, seeds, self.settings.success, largest)

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        return {"x": x.copy(), "alpha": np.array(self.settings.step_size), "rows": np.zeros(len(x))}

    def step(self, problem: Sampled, streams: LevelDraws | None, state: State, k: int) -> None:
        """Shorten the step length alpha, from the second step on, and move along the subproblem's direction."""
        if k > 0:
            state["alpha"] = steps.shortened(state["alpha"], self.settings.decay)
        x = state["x"]
        if streams is None:
            # equation (7): all rows
            d = self._direction(problem, problem.gradient(x, None), *problem.constraints(x, None))
        else:
            d = self._multilevel(problem, streams, streams.drawn_at(k), x)
            # (1 + S)(1 + J) rows of a step, for the S = 2 strata of every run of the grid
            state["rows"] += [3 * draw.objective.size for draw in streams.drawn_at(k)]
        # x_{k+1} = x_k + alpha_k d(x_k)
        x += x.dtype.type(state["alpha"]) * d.astype(x.dtype)

    def _multilevel(self, problem: Sampled, streams: LevelDraws, draws: list[Draw], x: Array) -> Array:
        """Return the estimate of every run; runs of one level are computed together."""
        # d(x_k; X^1) of equation (9), from one row of the objective and one of each group
        singles = np.stack([draw.objective[:1] for draw in draws]), np.stack([draw.strata[:, :1] for draw in draws])
        d = self._direction(problem, problem.gradient(x, singles[0]), *problem.constraints(x, singles[1]))
        levels = np.array([draw.level for draw in draws])
        for level in np.unique(levels):
            runs = np.flatnonzero(levels == level)
            # Rows 1, 3, 5, ... and 2, 4, 6, ... of the draw (row 0 is the single one): two batches per run.
            batches = [
                (draws[r].objective[offset::2], draws[r].strata[:, offset::2]) for r in runs for offset in (1, 2)
            ]
            twice = np.repeat(x[runs], 2, axis=0)
            g = problem.gradient(twice, np.stack([rows for rows, _ in batches]))
            values, pull_back = problem.constraints(twice, np.stack([rows for _, rows in batches]))
            halves, joint = self._halves_and_joint(problem, g, values, pull_back)
            # P(N) = p (1 - p)^N, the denominator of equation (9)
            weight = level_weight(
                int(level), self.settings.success, streams.largest if self.settings.renormalised else None
            )
            d[runs] = steps.multilevel(d[runs], joint, halves, weight)
        return d

    def _halves_and_joint(self, problem: Sampled, g: Array, values: Array, pull_back: PullBack) -> tuple[Array, Array]:
        """Return the mean direction of the two halves, and the direction of all rows."""
        # each half is a batch of its own; gradients and values of all J rows are the means of those of the halves
        halves = self._direction(problem, g, values, pull_back)

        def mean(block: Array) -> Array:
            return block.reshape(-1, 2, *block.shape[1:]).mean(axis=1)

        def pull_back_mean(v: Array) -> Array:
            return mean(pull_back(np.repeat(v, 2, axis=0)))

        return mean(halves), self._direction(problem, mean(g), mean(values), pull_back_mean)

    def _direction(self, problem: Sampled, g: Array, values: Array, pull_back: PullBack) -> Array:
        """Directions (R, N): in closed form where the two constraints are opposite."""
        slack = getattr(problem, "pair_slack", None)
        if slack is not None:
            # D = c_1 + delta and a = c_1' describe both constraints, c_1 = D - delta and c_2 = -D - delta
            by_level = np.zeros_like(values)
            by_level[:, 0] = 1
            return pair_direction(g, pull_back(by_level), values[:, 0] + slack, slack, self.settings)[0]
        m = values.shape[1]
        by_constraint = np.stack([pull_back(np.broadcast_to(row, values.shape)) for row in np.eye(m)], axis=1)
        subproblems = zip(g, by_constraint, values, strict=True)
        return np.stack([general_direction(*subproblem, self.settings)[0] for subproblem in subproblems])


class StochasticGhost(Stochastic[GhostSettings]):
    """The Stochastic Ghost method."""

    settings = GhostSettings
    label = "StGh"
    paper = "Benchmark of stochastic approximation algorithms, section 3.2"
    look = PlotStyle("#009E73", "^", (0, (4, 1, 1, 1)))

    def method(self, settings: GhostSettings, rows: Dataset, n_seeds: int) -> GhostSteps:
        """Ghost steps, alike for any number of runs."""
        return GhostSteps(settings)


ALGORITHM = StochasticGhost()
