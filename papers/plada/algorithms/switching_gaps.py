"""SSG: the single-loop switching subgradient method on ``min F  s.t.  g = max_j |h_j| - eps_j <= 0``.

Source: Huang and Lin, Oracle complexity of single-loop switching subgradient methods for non-smooth weakly convex
functional constrained optimization (NeurIPS 2023), as PLADA's paper uses it. A step along -grad F where the constraint
holds to a tolerance, else along a subgradient of the constraint.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from papers.plada.algorithms.gap_problem import Array, GapProblem, worst
from partialfair.algorithms import stochastic_steps as steps


@dataclass(frozen=True)
class SwitchingRule:
    """Steps and tolerances; numbers, or arrays (B,) with one entry per point of the batch.

    Attributes:
        step: of a feasible iteration, divided by ``sqrt(t + 1)`` if ``diminishing``.
        tolerance: of feasibility, likewise.
        diminishing: whether both fall; a bool or an array (B,).
        infeasible: ``polyak`` (g / ||subgradient||^2) or ``step``, the same as feasible ones.
    """

    step: Any
    tolerance: Any = 1e-5
    diminishing: Any = False
    infeasible: Literal["polyak", "step"] = "polyak"

    def step_and_tolerance(self, t: int) -> tuple[Any, Any]:
        """Step and tolerance of iteration t."""
        factor = np.where(self.diminishing, 1 / np.sqrt(t + 1), 1.0)
        return self.step * factor, self.tolerance * factor


class SwitchingGaps:
    """The iteration, at B points at once.

    Apart from the compiled switching steps of the linear solvers, which know hinge programs only and step by ``eps /
    |g|^2`` on the loss; here each of the B points has a step and a tolerance of its own, on any gap problem.

    Attributes:
        state: values at the present points.
        best: (d, B) the feasible iterate (g within its tolerance) of the smallest loss; nan where there is none yet.
        best_loss: (B,) its loss; infinite where there is none.
    """

    def __init__(self, problem: GapProblem, rule: SwitchingRule, theta: Array) -> None:
        self.problem, self.rule, self.iteration, self.work = problem, rule, 0, 0
        self.state = problem.state(theta)
        self.best = np.full(theta.shape, np.nan)
        self.best_loss = np.full(theta.shape[1], np.inf)

    @property
    def settled(self) -> bool:
        """Whether the present point is one to report; here always."""
        return True

    def step(self) -> None:
        """Do one iteration: one product with the data for values, one for the subgradient."""
        step, tolerance = self.rule.step_and_tolerance(self.iteration)
        state = self.state
        # g = max_j |h_j| - eps_j within the tolerance: a step on F
        g = worst(self.problem, state)
        feasible = g <= tolerance
        better = feasible & (state.loss < self.best_loss)
        self.best_loss = np.where(better, state.loss, self.best_loss)
        self.best = np.where(better, state.theta, self.best)
        direction = self.problem.combined(
            state, feasible * 1.0, active_subgradient(self.problem, state.gaps, ~feasible)
        )
        # else a step of length g / |g'|^2 along a subgradient sign(h_j) grad h_j of the largest constraint
        if self.rule.infeasible == "polyak":
            square = np.sum(direction**2, axis=0)
            step = np.where(feasible, step, g / np.maximum(square, np.finfo(float).tiny))
        self.state = self.problem.state(self.problem.project(state.theta - step * direction))
        self.iteration += 1
        self.work += 2


def active_subgradient(problem: GapProblem, gaps: Array, where: Array) -> Array:
    """Coefficients (m, B) of the gaps' gradients in a subgradient of the largest constraint; 0 elsewhere."""
    active = steps.largest(np.abs(gaps) - problem.eps[:, None], axis=0)
    return active * steps.sign(gaps) * where
