"""A training problem with a linear score: min f0(w) subject to f_i(w, aux) <= 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Record, Task, linear_score
from partialfair.constraints.program import HingeProgram
from partialfair.data.dataset import Matrix
from partialfair.kernels.pointwise import add_hinge_residual, hinge_means, hinge_slopes, logistic_exact
from partialfair.kernels.row_sums import adjoint_one, forward_one
from partialfair.models.design import GroupedDesign
from partialfair.models.features import Standardiser
from partialfair.models.linear import GroupLinear, LinearScore

Vector = NDArray[np.float64]
Point = tuple[Vector, Vector]  # parameters (R, d+1) and auxiliary variables (P,)


@dataclass(frozen=True, eq=False)
class State:
    """Everything about one point that its value and derivatives are made of."""

    params: Vector
    aux: Vector
    scores: Vector
    thresholds: Vector
    means: Vector


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """The problem in the layout of the kernels; points are pairs (params (R, d+1), aux (P,)).

    Attributes:
        design: training rows, sorted by the program's subsets.
        y: (n,) labels -1/+1 in the design's order.
        model: the score model.
        program: the constraints; ``None`` for an unconstrained problem.
    """

    design: GroupedDesign
    y: Vector
    model: GroupLinear
    program: HingeProgram | None

    @classmethod
    def build(
        cls,
        X: Matrix,
        y: Vector,
        group: NDArray[np.integer],
        *,
        program: HingeProgram | None = None,
        standardiser: Standardiser | None = None,
        n_groups: int | None = None,
        uses_group: bool = True,
    ) -> "LinearProblem":
        """Lay out training rows X (n, d), y (n,), group (n,) for the kernels."""
        groups = n_groups or int(group.max()) + 1
        row_subset = group.astype(np.int64) if program is None else program.row_subset
        subset_group = np.arange(groups) if program is None else program.subset_group
        design = GroupedDesign.build(X, row_subset, subset_group, standardiser)
        return cls(design, y[design.order], GroupLinear(X.shape[1], groups, uses_group), program)

    @property
    def n_aux(self) -> int:
        """Number of auxiliary variables."""
        return self.program.n_aux if self.program else 0

    @property
    def n_constraints(self) -> int:
        """Number of constraints."""
        return self.program.n_constraints if self.program else 0

    @cached_property
    def y32(self) -> NDArray[np.float32]:
        """Labels in the precision of the batched kernels."""
        return self.y.astype(np.float32)

    @cached_property
    def unit(self) -> float:
        """Norm of the loss gradient where all weights are zero: the unit of KKT residuals."""
        state = self.state(np.zeros(self.model.shape), np.zeros(self.n_aux))
        return float(np.linalg.norm(self.loss(state)[1]))

    def start(self) -> tuple[Vector, Vector]:
        """A constant score with auxiliary variables that make every constraint hold."""
        params = np.zeros(self.model.shape)
        if self.program is None:
            return params, np.zeros(0)
        params[0, 0] = self.program.start_score
        return params, self.program.start.copy()

    def scores(self, params: Vector) -> Vector:
        """Scores (n,) in the design's order."""
        # (G, d+2) weights of each group, the last position 0 for padding, coded into (G, E) before the pass over the
        # rows
        table = np.zeros((self.model.n_groups, self.model.n_features + 2))
        table[:, :-1] = self.model.effective(params)
        out = np.empty(self.design.n_rows)
        forward_one(*self.design.arrays, self.design.expand(table), out)
        return out

    def state(self, params: Vector, aux: Vector) -> State:
        """Compute scores and hinge means once; the methods below share them."""
        scores = self.scores(params)
        if self.program is None:
            return State(params, aux, scores, np.zeros(0), np.zeros((0, 0)))
        # t_q = shift_q + aux[aux_index_q], and H[s, q] = mean over subset s of max(score - t_q, 0), (S, Q)
        thresholds = self.program.thresholds(aux)
        means = np.empty((self.program.n_subsets, thresholds.size))
        hinge_means(scores, self.design.starts, thresholds, means)
        return State(params, aux, scores, thresholds, means)

    def loss(self, state: State) -> tuple[float, Vector]:
        """Mean logistic loss and its gradient by the parameters, (R, d+1)."""
        residual = np.empty(self.design.n_rows)
        value = logistic_exact(state.scores, self.y, 1.0 / self.y.size, residual)
        return value, self.pull_back(residual)

    def constraints(self, state: State) -> Vector:
        """Constraint values f (m,)."""
        if self.program is None:
            return np.zeros(0)
        # f_i = f+_i - f-_i of problem (27), both functions of the hinge means alone
        return self.program.convex.values(state.means) - self.program.concave.values(state.means)

    def true_violation(self, params: Vector, aux: Vector, steepness: float = 1e6) -> float:
        """Largest constraint value with indicators in place of the surrogate (0 without constraints).

        The clipped-linear surrogate of steeply scaled scores and thresholds is the indicator but for scores
        within 1/steepness of a threshold.
        """
        if self.program is None:
            return 0.0
        # clip(k (s - t) + 1/2, 0, 1) tends to 1[s > t] as k grows: scores and thresholds are scaled, shifts of +-1/2
        # are not
        thresholds = self.program.thresholds(aux * steepness)
        means = np.empty((self.program.n_subsets, thresholds.size))
        hinge_means(self.scores(params) * steepness, self.design.starts, thresholds, means)
        return float((self.program.convex.values(means) - self.program.concave.values(means)).max())

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """Loss, and the gradient of ``f0 + sum_i multipliers_i f_i`` by parameters and auxiliaries."""
        residual = np.empty(self.design.n_rows)
        value = logistic_exact(state.scores, self.y, 1.0 / self.y.size, residual)
        if self.program is None:
            return value, self.pull_back(residual), np.zeros(0)
        # sum_i mu_i df_i / dH (S, Q), then through H to the scores: one pass for all constraints, no Jacobian
        weights = self.program.slope_weights(state.means, multipliers)
        by_aux = self._add_hinges(state, weights, residual)
        return value, self.pull_back(residual), by_aux

    def jacobian(self, state: State) -> tuple[Vector, Vector]:
        """Derivatives of all constraints by parameters (m, R, d+1) and auxiliaries (m, P)."""
        if self.program is None:
            return np.zeros((0, *self.model.shape)), np.zeros((0, 0))
        slope, fraction = self.hinge_slopes(state.scores, state.thresholds)
        # df_i / dH (m, S, Q), times dH / d(theta) and dH / dt = -fraction
        choice = self.program.convex.derivative(state.means) - self.program.concave.derivative(state.means)
        by_group = np.zeros((len(choice), self.model.n_groups, self.model.n_features + 1))
        for s, g in enumerate(self.program.subset_group):
            by_group[:, g] += choice[:, s] @ slope[s]
        by_threshold = -np.einsum("isq,sq->iq", choice, fraction)
        return self.model.fold(by_group), self.program.fold_thresholds(by_threshold)

    def hinge_slopes(self, scores: NDArray, thresholds: Vector) -> tuple[Vector, Vector]:
        """Gradients of the hinge means by group weights (S, Q, d+1), and shares above thresholds (S, Q)."""
        # the kernel sorts rows into bins between ascending thresholds
        order = np.argsort(thresholds, kind="stable")
        n_subsets = self.design.starts.size - 1
        slope = np.empty((n_subsets, thresholds.size, self.model.n_features + 1))
        fraction = np.empty((n_subsets, thresholds.size))
        hinge_slopes(self.design.arrays, self.design.members, scores, thresholds[order], order, slope, fraction)
        return slope, fraction

    def pull_back(self, residual: Vector) -> Vector:
        """Gradient (R, d+1) of ``sum_i residual_i * score_i``."""
        # X_g' residual per group, (G, E) coded, back to (G, d+2), folded to theta: by theta_0 all groups, by theta_g
        # its own
        coded = np.zeros((self.model.n_groups, len(self.design.members)))
        adjoint_one(*self.design.arrays, residual, coded)
        return self.model.fold(self.design.collapse(coded)[:, :-1])

    def _add_hinges(self, state: State, weights: Vector, residual: Vector) -> Vector:
        """Add the derivative of ``sum(weights * H)`` to the residual; return its derivative by the auxiliaries."""
        program = self.program
        assert program is not None
        # dH[s, q] / dt_q = -share above t_q, whence the minus of the derivative by the auxiliaries
        used = np.flatnonzero(np.any(weights != 0, axis=0))
        if used.size == 0:
            return np.zeros(program.n_aux)
        shares = np.zeros_like(weights)
        add_hinge_residual(state.scores, self.design.starts, state.thresholds, weights, residual, shares)
        return program.fold_thresholds(-(weights * shares).sum(axis=0)[None])[0]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver returns.

    Attributes:
        params: (R, d+1) parameters of the score model.
        aux: (P,) auxiliary variables of the constraints.
        records: one per outer iteration.
        failure: why the point should not be used; empty if it may.
    """

    params: Vector
    aux: Vector
    records: Sequence[Record]
    failure: str = ""


_BUILT: WeakKeyDictionary[Task, LinearProblem] = WeakKeyDictionary()


def linear_problem(task: Task) -> LinearProblem:
    """The training problem of a linear score, built once per task."""
    problem = _BUILT.get(task)
    if problem is None:
        rows = task.train
        problem = LinearProblem.build(
            rows.X,
            rows.y,
            rows.group,
            program=task.program(),
            standardiser=task.standardiser,
            n_groups=rows.n_groups,
            uses_group=task.uses_group,
        )
        problem = _BUILT[task] = problem if task.place is None else task.place(problem)
    return problem


def score_at(task: Task, params: Vector, aux: Vector | None = None) -> LinearScore:
    """The score model with parameters (R, d+1), ready to be applied to raw rows."""
    model = GroupLinear(task.train.n_features, task.train.n_groups, task.uses_group)
    return linear_score(task, model.effective(params), aux)
