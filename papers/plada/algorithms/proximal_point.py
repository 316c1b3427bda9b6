"""IPP: the inexact proximal-point method for weakly convex constraints, with two inner solvers (double loop).

Outer iteration: ``x_{k+1}`` nearly minimises ``F + chi`` subject to ``g + chi <= 0``, ``chi = (rho/2) ||x - x_k||^2``
and g = max_j |h_j| - eps_j. Inner solvers: switching subgradient for strongly convex problems (Ma, Lin and Yang, 2020)
and constraint extrapolation (ConEx; Boob, Deng and Lan, 2022), which linearises g and keeps chi exact.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.plada.algorithms.gap_problem import Array, GapProblem, worst
from papers.plada.algorithms.switching_gaps import active_subgradient


@dataclass(frozen=True)
class ProximalRule:
    """Schedule of the double loop; ``first_step``, ``c1``, ``c2`` are numbers, or arrays (B,) with one per point.

    Attributes:
        weight: rho of chi; larger than the modulus of weak convexity.
        inner: K, inner iterations per outer one.
        solver: ``ssg`` or ``conex``.
        first_step: E of the inner switching steps ``E / (t + 2)``; in theory 2 / rho.
        tolerance: of the inner switching.
        c1, c2: ConEx's primal (``e = c1 (t + 1)``) and dual (``tau = c2 / (t + 1)``) parameters.
    """

    weight: float
    inner: int = 10
    solver: str = "ssg"
    first_step: Any = 1.0
    tolerance: float = 0.0
    c1: Any = 1.0
    c2: Any = 1.0


class ProximalPoint:
    """The double loop, one inner iteration per :meth:`step`, at B points at once.

    Attributes:
        state: values at the present outer point x_k.
    """

    def __init__(self, problem: GapProblem, rule: ProximalRule, theta: Array) -> None:
        self.problem, self.rule, self.iteration, self.work = problem, rule, 0, 0
        self.state = problem.state(theta)
        self._settled = True
        self._begin()

    @property
    def settled(self) -> bool:
        """Whether an outer iteration has just ended, so that :attr:`state` is new."""
        return self._settled

    def _begin(self) -> None:
        """Start the inner solver at the outer point."""
        inner = Switching if self.rule.solver == "ssg" else ConEx
        self._inner: _Inner = inner(self.problem, self.rule, self.state.theta)
        self.work += self._inner.begin

    def step(self) -> None:
        """Do one inner iteration; after K of them the average is the new outer point."""
        self._inner.step()
        self.iteration += 1
        self.work += self._inner.products
        self._settled = self.iteration % self.rule.inner == 0
        if self._settled:
            self.state = self.problem.state(self._inner.average)
            self.work += 1
            self._begin()


class _Inner(ABC):
    """What both inner solvers have: the centre, the present point and the weighted average.

    Attributes:
        begin, products: products with the data at the start, and of an iteration.
    """

    begin, products = 0, 2

    @abstractmethod
    def step(self) -> None:
        """One iteration, from :attr:`x` to the next point."""

    def __init__(self, problem: GapProblem, rule: ProximalRule, centre: Array) -> None:
        self.problem, self.rule, self.centre = problem, rule, centre
        self.x, self.t = centre, 0
        self._sum, self._weight = np.zeros_like(centre), np.zeros(centre.shape[1])

    @property
    def average(self) -> Array:
        """Average with weights t + 1 of the points that count; the present point if none does."""
        return np.where(self._weight > 0, self._sum / np.maximum(self._weight, 1.0), self.x)

    def _count(self, where: Array) -> None:
        self._sum = self._sum + (self.t + 1) * self.x * where
        self._weight = self._weight + (self.t + 1) * where

    def _chi(self, x: Array) -> Array:
        return 0.5 * self.rule.weight * np.sum((x - self.centre) ** 2, axis=0)


class Switching(_Inner):
    """Switching subgradient with steps ``E / (t + 2)``; points that satisfy the constraint count.

    Apart from :class:`~papers.plada.algorithms.switching_gaps.SwitchingGaps`: both functions have the proximal
    term, a step is equally long on either, and the result is an average rather than the best feasible point.
    """

    def step(self) -> None:
        """Do one iteration."""
        state = self.problem.state(self.x)
        # g(x) + chi(x) <= tolerance decides which function the step follows; both have the proximal term
        feasible = (worst(self.problem, state) + self._chi(self.x) <= self.rule.tolerance).astype(np.float64)
        self._count(feasible)
        coefficients = active_subgradient(self.problem, state.gaps, 1.0 - feasible)
        direction = self.problem.combined(state, feasible, coefficients)
        # chi' = rho (x - x_k)
        direction = direction + self.rule.weight * (self.x - self.centre)
        self.x = self.problem.project(self.x - self.rule.first_step / (self.t + 2) * direction)
        self.t += 1


class ConEx(_Inner):
    """Constraint extrapolation; every new point counts."""

    begin, products = 2, 3

    def __init__(self, problem: GapProblem, rule: ProximalRule, centre: Array) -> None:
        super().__init__(problem, rule, centre)
        state = problem.state(centre)
        self._value = worst(problem, state)  # of g at the point of linearisation
        self._slope = self._subgradient(state)
        self._at = centre
        self._linear = self._value
        self.y = np.zeros(centre.shape[1])

    def _subgradient(self, state):
        return self.problem.combined(
            state, np.zeros(state.loss.size), active_subgradient(self.problem, state.gaps, np.ones(1))
        )

    def step(self) -> None:
        """Do one iteration: two products with the data for derivatives, one for values."""
        rule, t = self.rule, self.t
        # l_g(x_t) = g(x_(t-1)) + <g'(x_(t-1)), x_t - x_(t-1)> + chi(x_t), extrapolated by theta_t = t / (t + 1)
        linear = self._value + np.sum(self._slope * (self.x - self._at), axis=0) + self._chi(self.x)
        theta = t / (t + 1)
        extrapolated = (1 + theta) * linear - theta * self._linear
        self._linear = linear
        # dual step of length 1 / tau_t = (t + 1) / c2
        self.y = np.maximum(0.0, self.y + extrapolated * (t + 1) / rule.c2)
        state = self.problem.state(self.x)
        self._value, self._slope, self._at = worst(self.problem, state), self._subgradient(state), self.x
        loss = self.problem.combined(state, np.ones(state.loss.size), np.zeros_like(state.gaps))
        # primal step: chi has the weight 1 + y (from F and from g) and is minimised exactly beside e_t / 2 |x - x_t|^2
        weight = (1 + self.y) * rule.weight
        push = rule.c1 * (t + 1)
        moved = (push * self.x + weight * self.centre - loss - self.y * self._slope) / (push + weight)
        self.x = self.problem.project(moved)
        self._count(np.ones(self.x.shape[1]))
        self.t += 1
