"""SSL-ALM: stochastic smoothed linearised augmented Lagrangian method; without smoothing (mu = 0), plain ALM.

Source: Benchmark of stochastic approximation algorithms, section 3.3, equations (10), (11). Inequalities become
equalities ``c(x) + s = 0`` with slacks s >= 0. Two independent draws of rows make the penalty's gradient unbiased: the
Jacobian is that of the first, the value that of the second. This is equation (10); the sentence above it in the paper
names the two draws the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from papers.stochastic_benchmark.algorithms.row_streams import Streams, with_two_draws
from papers.stochastic_benchmark.algorithms.stochastic_problem import Sampled, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import State
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset
from partialfair.models.stacked import Array


class SSLALMSettings(StochasticSettings):
    """Settings; in brackets the paper's letters.

    Attributes:
        proximal: (mu), weight of the distance to the anchor.
        penalty: (rho).
        step_size: (tau), of points and slacks.
        dual_step: (eta).
        smoothing: (beta), how fast the anchor follows.
        dual_bound: (M_y); multipliers whose norm reaches it are set to 0.
        batch: rows of the objective; group_batch: rows of each group in each of two draws.
        cyclic: the same batches of groups in every pass, as the published code draws them.
        whole_last_step: the last step reads all rows and leaves the multipliers, as in the published code.
    """

    proximal: NonNegativeFloat = 2.0
    penalty: PositiveFloat = 1.0
    step_size: PositiveFloat = 0.01
    dual_step: PositiveFloat = 0.05
    smoothing: PositiveFloat = 0.5
    dual_bound: PositiveFloat = 10.0
    batch: PositiveInt = 8
    group_batch: PositiveInt = 8
    cyclic: bool = False
    whole_last_step: bool = False


@dataclass(frozen=True)
class SmoothedSteps:
    """Steps of SSL-ALM on drawn rows: multipliers first, then point, slacks and anchors."""

    settings: SSLALMSettings

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Streams | None:
        """Rows of every step: of the objective, and two draws for the constraints."""
        return with_two_draws(len(problem.X), problem.strata, self.settings, seeds)

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        runs, m = len(x), problem.n_constraints
        state = {"x": x.copy(), "slack": np.zeros((runs, m)), "dual": np.zeros((runs, m)), "rows": np.zeros(runs)}
        return state | {"anchor": x.copy(), "slack_anchor": np.zeros((runs, m))}

    def step(self, problem: Sampled, streams: Streams | None, state: State, k: int) -> None:
        """Take one step of every run; the formulas are those of :mod:`partialfair.algorithms.stochastic_steps`."""
        settings = self.settings
        last = settings.whole_last_step and k == settings.steps - 1
        drawn, streams = streams, None if last else streams
        objective, draw_1, draw_2 = (
            (None, None, None) if streams is None else (stream.drawn_at(k) for stream in streams)
        )
        x, slack, dual = state["x"], state["slack"], state["dual"]
        values, pull_back = problem.constraints(x, draw_1)
        # Algorithm 2, lines 5 to 8, and the constraints' weights in equation (10):
        # y' = y + eta (c + s), 0 where its norm reaches M_y;  v = y' + rho (c' + s)
        if not last:
            dual = steps.bounded_dual(dual, slack, values, settings.dual_step, settings.dual_bound)
        again = values if streams is None else problem.constraints(x, draw_2)[0]
        weights = steps.penalised(dual, slack, again, settings.penalty)
        # equation (10), and line 10 with the old x:
        # g = f' + c'(x)' v + mu (x - a), and v + mu (s - a_s) of the slacks;  a' = a + beta (x - a)
        gradient = problem.gradient(x, objective)
        gradient += pull_back(weights)
        if settings.proximal:
            mu, beta = settings.proximal, settings.smoothing
            gradient, state["anchor"] = steps.smoothed(gradient, state["anchor"], x - state["anchor"], mu, beta)
            weights, state["slack_anchor"] = steps.smoothed(
                weights, state["slack_anchor"], slack - state["slack_anchor"], mu, beta
            )
        # line 9; the projection on R^n x R_(>= 0)^m clips the slacks alone:
        # x' = x - tau g;  s' = max(0, s - tau g_s)
        gradient *= x.dtype.type(settings.step_size)
        x -= gradient
        state["slack"] = steps.moved_slack(slack, weights, settings.step_size)
        state["dual"] = dual
        if objective is not None and draw_1 is not None:
            state["rows"] += objective.shape[1] + 2 * draw_1[0].size
        elif last and drawn is not None:
            state["rows"] += drawn[0].pool.size + sum(rows.size for rows in drawn[1].strata)


class SSLALM(Stochastic[SSLALMSettings]):
    """The stochastic smoothed and linearised augmented Lagrangian method."""

    settings = SSLALMSettings
    label = "SSL-ALM"
    paper = "Benchmark of stochastic approximation algorithms, section 3.3"
    look = PlotStyle("#0072B2", "o")

    def method(self, settings: SSLALMSettings, rows: Dataset, n_seeds: int) -> SmoothedSteps:
        """Smoothed steps, alike for any number of runs."""
        return SmoothedSteps(settings)


ALGORITHM = SSLALM()
