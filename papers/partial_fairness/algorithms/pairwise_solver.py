"""Logistic loss under convex quadratic constraints on score pairs, solved to the global optimum.

The baselines Group AUC, Inter-group and Intra-group (Partial fairness paper, appendix G.3) are convex problems
with few constraints and at most some thousand variables. The paper uses projected gradients with an
interior-point projection; here the whole problem is solved by a logarithmic barrier (Boyd and Vandenberghe,
Convex Optimization, section 11.3): with exact Hessians it takes some 25 Newton steps at any size, and because
the problem is convex, the m / t that it ends with bounds the distance to the optimal loss.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from scipy.linalg import cho_factor, cho_solve

from papers.partial_fairness.algorithms.pairwise_moments import Pair, PairwiseMoments
from partialfair.algorithms.contract import Record, Settings
from partialfair.algorithms.linear.newton import Scaling, minimise_loss
from partialfair.algorithms.linear.problem import LinearProblem, Solution, State
from partialfair.data.dataset import Matrix
from partialfair.errors import InfeasibleError
from partialfair.kernels.gram import gram, mirrored
from partialfair.models.design import GroupedDesign
from partialfair.models.features import Standardiser
from partialfair.models.linear import GroupLinear

Vector = NDArray[np.float64]
RIDGE = 1e-9  # share of the mean curvature on the diagonal: collinear one-hot columns leave directions flat
CENTRING = 1e-2  # decrease expected of a Newton step at which a point counts as central, as a share of the gap
NO_AUX = np.zeros(0)  # these constraints have no auxiliary variables
BLOCKS = Scaling(np.zeros((0, 0, 0)))  # weights of each group in place of shared weights and differences


@dataclass(frozen=True, eq=False)
class PairwiseProblem(LinearProblem):
    """A linear problem whose constraints are those of :class:`PairwiseMoments`.

    Attributes:
        moments: the constraints.
    """

    moments: PairwiseMoments

    @classmethod
    def with_pairs(
        cls,
        X: Matrix,
        y: Vector,
        subsets: tuple[NDArray[np.int64], NDArray[np.int64]],
        pairs: Sequence[Sequence[Pair]],
        kappa: float,
        labels: Sequence[str],
        *,
        standardiser: Standardiser | None = None,
        uses_group: bool = True,
    ) -> "PairwiseProblem":
        """Lay out training rows X (n, d), y (n,), sorted by subset, and compute the moments."""
        row_subset, subset_group = subsets
        design = GroupedDesign.build(X, row_subset, subset_group, standardiser)
        model = GroupLinear(X.shape[1], int(subset_group.max()) + 1, uses_group)
        moments = PairwiseMoments.build(design, pairs, kappa, labels)
        return cls(design, y[design.order], model, None, moments)

    @property
    def n_constraints(self) -> int:
        """Number of constraints."""
        return self.moments.n_constraints

    def constraints(self, state: State) -> Vector:
        """Constraint values (m,)."""
        return self.moments.values(self.model.effective(state.params))

    def jacobian(self, state: State) -> tuple[Vector, Vector]:
        """Derivatives of the constraints by parameters (m, R, d+1) and by no auxiliaries (m, 0)."""
        by_params = self.model.fold(self.moments.jacobian(self.model.effective(state.params)))
        return by_params, np.zeros((self.n_constraints, 0))

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """Loss, and the gradient of ``f0 + sum_i multipliers_i f_i`` by parameters and (no) auxiliaries."""
        value, gradient = self.loss(state)
        by_params = self.jacobian(state)[0]
        return value, gradient + np.einsum("i,irj->rj", multipliers, by_params), np.zeros(0)

    def true_violation(self, params: Vector, aux: Vector, steepness: float = 1e6) -> float:
        """Largest constraint value; the baselines are defined by their surrogate."""
        return float(self.moments.values(self.model.effective(params)).max())


class PairwiseSettings(Settings):
    """Settings of the barrier method.

    Attributes:
        gap: bound on the distance of the loss to its optimum at which to stop.
        growth: factor on t from one centring to the next.
        newton_steps: at most so many Newton steps per centring.
    """

    gap: PositiveFloat = 1e-7
    growth: float = Field(30.0, gt=1)
    newton_steps: PositiveInt = 50


def solve(
    problem: PairwiseProblem,
    *,
    settings: PairwiseSettings | None = None,
    report: Callable[[Record], None] | None = None,
) -> Solution:
    """Minimise f0 subject to the constraints, to the global optimum.

    Args:
        problem: the problem.
        settings: see :class:`PairwiseSettings`.
        report: called after each centring.

    Raises:
        InfeasibleError: kappa is not positive. Both orders of a pair of groups add up to at least 0 for every
            model, so no constraint set with a negative kappa can be met, and kappa = 0 has no interior.
    """
    settings = settings or PairwiseSettings()
    if not problem.moments.kappa > 0:
        raise InfeasibleError(
            f"kappa is {problem.moments.kappa:g}: the constraints of both orders of two groups add up to at least 0 "
            "for every linear score, so no model satisfies them strictly; use a positive kappa"
        )
    barrier = _Barrier(problem, settings)
    # where the unconstrained minimum meets the constraints it is the solution
    free = minimise_loss(problem, tolerance=settings.gap / 100)
    if problem.moments.values(problem.model.effective(free)).max() <= 0:
        return Solution(free, NO_AUX, [barrier.record(free, 1)])
    return barrier.run(barrier.interior(free), report)


class _Barrier:
    """Newton's method on the barrier function ``f0 - (1 / t) sum_i log(-f_i)``."""

    def __init__(self, problem: PairwiseProblem, settings: PairwiseSettings) -> None:
        self.problem, self.settings = problem, settings
        self.steps = 0

    def interior(self, free: Vector) -> Vector:
        """Return a multiple of the unconstrained optimum that uses half of every tolerance at most."""
        moments, model = self.problem.moments, self.problem.model
        # at w = 0 every f_i is -kappa, and f is convex: a short enough multiple of w is strictly feasible
        share = 1.0
        while moments.values(model.effective(share * free)).max() > -moments.kappa / 2:
            share *= 0.8
        return share * free

    def run(self, params: Vector, report: Callable[[Record], None] | None) -> Solution:
        """Follow the central path from a strictly feasible point until the gap is closed."""
        # on the central path of t, f0 is within m / t of its optimum (Boyd and Vandenberghe, section 11.3)
        m, t = self.problem.n_constraints, 10.0 * self.problem.n_constraints
        history: list[Record] = []
        while True:
            params, central = self.centre(params, t)
            history.append(self.record(params, len(history) + 1))
            if report is not None:
                report(history[-1])
            if not central:
                steps = self.settings.newton_steps
                failure = f"Newton's method did not reach the central path within {steps} steps at gap {m / t:.1e}"
                return Solution(params, NO_AUX, history, failure)
            if m / t <= self.settings.gap:
                return Solution(params, NO_AUX, history)
            t = min(t * self.settings.growth, 1.0001 * m / self.settings.gap)

    def centre(self, params: Vector, t: float) -> tuple[Vector, bool]:
        """Minimise ``f0 - (1/t) sum log(-f)`` from a strictly feasible point."""
        value, gradient, matrix = self.expand(params, t)
        for _ in range(self.settings.newton_steps):
            # Newton step; -slope / 2 is the decrease that it promises, a small share of m / t once the point is central
            step = -cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), gradient.ravel()).reshape(params.shape)
            slope = float(np.sum(gradient * step))
            if -slope / 2 <= CENTRING * self.problem.n_constraints / t:
                return params, True
            self.steps += 1
            z, length = BLOCKS.from_params(params), 1.0
            # backtracking by a tenth of the promise (Armijo); points outside have an infinite value
            while self.value(BLOCKS.to_params(z + length * step), t) > value + 0.1 * length * slope:
                length /= 2
                if length < 1e-10:  # the decrease left is below the rounding of the loss
                    return params, -slope / 2 <= self.problem.n_constraints / t
            params = BLOCKS.to_params(z + length * step)
            value, gradient, matrix = self.expand(params, t)
        return params, False

    def value(self, params: Vector, t: float) -> float:
        """Return the barrier function; infinite at infeasible points."""
        slack = -self.problem.moments.values(self.problem.model.effective(params))
        if slack.min() <= 0:
            return np.inf
        state = self.problem.state(params, NO_AUX)
        return self.problem.loss(state)[0] - float(np.log(slack).sum()) / t

    def expand(self, params: Vector, t: float) -> tuple[float, Vector, Vector]:
        """Value, gradient (R, d+1) and Hessian (R(d+1), R(d+1)) of the barrier by the weights of each block."""
        problem = self.problem
        state = problem.state(params, NO_AUX)
        loss, by_params = problem.loss(state)
        # gradient f0' + sum_i l_i f_i' with l_i = 1 / (t (-f_i)); Hessian f0'' + sum_i l_i f_i'' + sum_i l_i / (-f_i)
        # f_i' f_i''
        slack = -problem.constraints(state)
        rows = np.array([BLOCKS.pull_back(row) for row in problem.jacobian(state)[0]])
        multipliers = 1 / (t * slack)
        gradient = BLOCKS.pull_back(by_params) + np.einsum("i,irj->rj", multipliers, rows)
        scaled = rows.reshape(len(rows), -1) * np.sqrt(multipliers / slack)[:, None]
        matrix = self.curvature(state.scores, multipliers) + scaled.T @ scaled
        matrix[np.diag_indices_from(matrix)] += RIDGE * np.trace(matrix) / len(matrix)
        return loss - float(np.log(slack).sum()) / t, gradient, matrix

    def curvature(self, scores: Vector, multipliers: Vector) -> Vector:
        """Hessian of the Lagrangian by the weights of each block, (R(d+1), R(d+1))."""
        model, design = self.problem.model, self.problem.design
        # f0'' per group by a weighted Gram matrix; f_i'' is constant and comes from the moments
        share = 1 / (1 + np.exp(-scores))
        width = model.n_features + 2
        half = np.zeros((model.n_groups, width, width))
        gram(*design.plain_arrays, share * (1 - share) / scores.size, half)
        full = self.problem.moments.hessian(multipliers)
        for g, block in enumerate(mirrored(half[:, :-1, :-1])):
            full[g, :, g, :] += block
        if model.shape[0] == 1:
            return full.sum(axis=(0, 2))
        return full.reshape(model.size, model.size)

    def record(self, params: Vector, iteration: int) -> Record:
        """One line of the history: loss and worst constraint at a point, and the steps so far."""
        state = self.problem.state(params, NO_AUX)
        worst = float(self.problem.constraints(state).max())
        point = params, NO_AUX
        return Record(iteration, self.steps, self.problem.loss(state)[0], worst, time.process_time(), point)
