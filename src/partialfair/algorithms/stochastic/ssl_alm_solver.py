"""SSL-ALM: stochastic smoothed linearised augmented Lagrangian method; without smoothing (mu = 0), plain ALM.

Source: Benchmark of stochastic approximation algorithms, section 3, equations (9)-(12). Inequalities become equalities
``c(x) + s = 0`` with slacks s >= 0. Two independent draws of rows make the penalty's gradient unbiased: the Jacobian is
that of the first, the value that of the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partialfair.algorithms.stochastic.row_streams import Balanced, Permutations
from partialfair.algorithms.stochastic.stochastic_problem import Sampled, StochasticProblem
from partialfair.algorithms.stochastic.stochastic_run import State
from partialfair.models.stacked import Array

Streams = tuple[Permutations, Balanced, Balanced]


@dataclass(frozen=True)
class SSLALM:
    """The method.

    Attributes:
        proximal: mu, weight of the distance to the anchor.
        penalty: rho.
        step_size: tau, of points and slacks.
        dual_step: eta.
        smoothing: beta, how fast the anchor follows.
        dual_bound: M; multipliers whose norm reaches it are set to 0.
        batch: rows of the objective per step, ``None`` for all.
        group_batch: rows of each stratum per step and draw.
        cyclic: draw the same batches of strata in every pass, as the published code does.
    """

    proximal: float = 2.0
    penalty: float = 1.0
    step_size: float = 0.01
    dual_step: float = 0.05
    smoothing: float = 0.5
    dual_bound: float = 10.0
    batch: int | None = 8
    group_batch: int = 8
    cyclic: bool = False

    def streams(self, problem: StochasticProblem, seeds: Sequence[int]) -> Streams | None:
        """Rows of every step: of the objective, and two draws for the constraints."""
        if self.batch is None:
            return None
        objective = Permutations(np.arange(len(problem.X)), self.batch, seeds, "objective")
        draws = [Balanced(problem.strata, self.group_batch, seeds, name, self.cyclic) for name in ("first", "second")]
        return objective, draws[0], draws[1]

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        runs, m = len(x), problem.n_constraints
        state = {"x": x.copy(), "slack": np.zeros((runs, m)), "dual": np.zeros((runs, m)), "rows": np.zeros(runs)}
        return state | {"anchor": x.copy(), "slack_anchor": np.zeros((runs, m))}

    def step(self, problem: Sampled, streams: Streams | None, state: State, k: int) -> None:
        """One step of every run."""
        objective, first, second = (None, None, None) if streams is None else (part.at(k) for part in streams)
        x, slack = state["x"], state["slack"]
        values, pull_back = problem.constraints(x, first)
        dual = state["dual"] + self.dual_step * (values + slack)
        dual[np.linalg.norm(dual, axis=1) >= self.dual_bound] = 0.0
        other = values if streams is None else problem.constraints(x, second)[0]
        v = dual + self.penalty * (other + slack)
        gradient = problem.gradient(x, objective)
        gradient += pull_back(v)
        by_slack = v
        if self.proximal:
            gradient += x.dtype.type(self.proximal) * (x - state["anchor"])
            by_slack = v + self.proximal * (slack - state["slack_anchor"])
            state["anchor"] += x.dtype.type(self.smoothing) * (x - state["anchor"])
            state["slack_anchor"] += self.smoothing * (slack - state["slack_anchor"])
        gradient *= x.dtype.type(self.step_size)
        x -= gradient
        state["slack"] = np.maximum(slack - self.step_size * by_slack, 0.0)
        state["dual"] = dual
        if objective is not None and first is not None:
            state["rows"] += objective.shape[1] + 2 * first[0].size
