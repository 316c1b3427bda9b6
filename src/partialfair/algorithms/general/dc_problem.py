"""A training problem of any make: score model, loss, constraint family and surrogate chosen freely.

It has the methods of :class:`partialfair.algorithms.linear.problem.LinearProblem`, so the solvers that use those run
on it; that class serves the usual combination with compiled kernels, and the two are checked against each other. Here
everything is plain NumPy in double precision, except sums over pairs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.general.score_functions import LinearScores, ScoreFunction
from partialfair.constraints.losses.base import Loss, evaluate
from partialfair.constraints.parts import Constraints, Parts

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """What the solvers ask of a model: the shape of its parameters."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class State:
    """Scores and constraints at one point; ``parts`` is ``None`` without constraints."""

    params: Vector
    aux: Vector
    scores: Vector
    parts: Parts | None


@dataclass(frozen=True, eq=False)
class Linearisation:
    """The concave parts at an anchor, f0 first: value (m+1,) and slopes (m+1, size + P), as functions of the point."""

    value: Vector
    slope: Vector


@dataclass(frozen=True, eq=False)
class DCProblem:
    """``min f0(w) subject to f_i(w, aux) <= 0``, each a difference of convex functions.

    Attributes:
        score: scores of the training rows.
        objective: loss of the scores.
        family: constraints on the scores; ``None`` for an unconstrained problem.
        rho: modulus of weak convexity: ``(rho/2) |w|^2`` is added to both parts of every function. 0 suits a
            linear score; a smooth non-linear one needs a bound on its curvature.
        positive_share: share of positive labels; see :meth:`placed`.
        begin: point to start from, if not a constant score.
    """

    score: ScoreFunction
    objective: Loss
    family: Constraints | None
    rho: float = 0.0
    positive_share: float = 0.5
    begin: tuple[Vector, Vector] | None = None

    @cached_property
    def model(self) -> Shape:
        """Shape and size of the parameters."""
        return getattr(self.score, "model", None) or Shape(self.score.shape)

    @property
    def n_aux(self) -> int:
        """Number of auxiliary variables."""
        return int(self.family.start.size) if self.family else 0

    @property
    def n_constraints(self) -> int:
        """Number of constraints."""
        return len(self.family.labels) if self.family else 0

    @cached_property
    def unit(self) -> float:
        """Norm of the loss gradient at the start with score 0: the unit of KKT residuals."""
        state = self.state(self.score.start(0.0), np.zeros(self.n_aux))
        return float(np.linalg.norm(self.loss(state)[1]))

    def start(self) -> tuple[Vector, Vector]:
        """``begin``, or a constant score with auxiliary variables that make every constraint hold."""
        if self.begin is not None:
            return self.begin
        if self.family is None:
            return self.score.start(0.0), np.zeros(0)
        return self.score.start(self.family.start_score), self.family.start.copy()

    def scores(self, params: Vector) -> Vector:
        """Scores (n,) of the training rows."""
        return self.score.scores(params)

    def state(self, params: Vector, aux: Vector) -> State:
        """Compute what the methods below share."""
        scores = self.score.scores(params)
        return State(params, aux, scores, self.family.parts(scores, aux) if self.family else None)

    def loss(self, state: State) -> tuple[float, Vector]:
        """f0 and its gradient by the parameters."""
        value, residual = evaluate(self.objective, state.scores)
        return value, self.pull_back(state, residual)

    def constraints(self, state: State) -> Vector:
        """Constraint values f (m,)."""
        # f_i = f+_i - f-_i of problem (27)
        return state.parts.values if state.parts else np.zeros(0)

    def true_violation(self, params: Vector, aux: Vector) -> float:
        """Largest constraint value with indicators in place of the surrogate (0 without constraints)."""
        if self.family is None:
            return 0.0
        return float(self.family.sharp().parts(self.score.scores(params), aux).values.max())

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """Loss, and the gradient of ``f0 + sum_i multipliers_i f_i`` by parameters and auxiliaries."""
        value, residual = evaluate(self.objective, state.scores)
        by_aux = np.zeros(self.n_aux)
        if state.parts:
            by_row, by_aux = state.parts.vjp(multipliers)
            residual = residual + by_row
        return value, self.pull_back(state, residual), by_aux

    def jacobian(self, state: State) -> tuple[Vector, Vector]:
        """Derivatives of all constraints by parameters (m, ...) and auxiliaries (m, P)."""
        flat, by_aux = self._slopes(state, 1.0, -1.0)
        return flat.reshape(-1, *self.model.shape), by_aux

    def placed(self, params: Vector, aux: Vector) -> tuple[Vector, Vector]:
        """The same point with the intercept that a loss on pairs leaves open.

        It is put where the share of positive scores is that of positive labels. Thresholds move with it. A point
        whose constraints would not stay as they are (those at the decision threshold), or whose score has no
        intercept, is returned unchanged.
        """
        score = self.score
        if not (self.objective.free_intercept and isinstance(score, LinearScores)):
            return params, aux
        scores = score.scores(params)
        # a loss on pairs does not see a constant: the score 0 is put at the quantile that leaves positive_share above
        # it
        shift = -float(np.quantile(scores, 1 - self.positive_share))
        moved = params + score.start(shift)
        if self.family is not None:
            before, after = self.family.parts(scores, aux), self.family.parts(score.scores(moved), aux + shift)
            if np.abs(after.values - before.values).max() > 1e-9:
                return params, aux
        return moved, aux + shift

    def pull_back(self, state: State, residual: Vector) -> Vector:
        """Gradient by the parameters of ``sum_i residual_i * score_i``."""
        return self.score.backward(state.params, residual)

    def linearise(self, state: State) -> Linearisation:
        """The concave parts of f0 and of all constraints, linearised at a point."""
        # Equation (32) as an affine function of the point, precomputed at the anchor v0: f-_i(v0) + <f-'_i, v - v0> =
        # value_i + slope_i . v; row 0 is f0's.
        m, size = self.n_constraints, self.model.size
        value, slope = np.empty(m + 1), np.zeros((m + 1, size + self.n_aux))
        value[0], residual = self.objective.concave(state.scores)
        slope[0, :size] = self.pull_back(state, residual).ravel()
        if state.parts:
            value[1:] = state.parts.concave
            slope[1:, :size], slope[1:, size:] = self._slopes(state, 0.0, 1.0)
        # (rho / 2) |w|^2 belongs to both parts: its own linearisation is rho <w0, w> - (rho / 2) |w0|^2
        w = state.params.ravel()
        slope[:, :size] += self.rho * w
        value += self.rho / 2 * (w @ w)
        return Linearisation(value - slope @ np.concatenate([w, state.aux]), slope)

    def majorants(self, state: State, anchor: Linearisation) -> Vector:
        """Constraint majorants g_i (m,): convex parts minus linearised concave parts."""
        assert state.parts is not None
        # g_i(v) = f+_i(v) + (rho / 2) |w|^2 - linearised f-_i, equation (31)
        linear = anchor.value[1:] + anchor.slope[1:] @ np.concatenate([state.params.ravel(), state.aux])
        return state.parts.convex + self._square(state) - linear

    def majorant_gradient(self, state: State, anchor: Linearisation, i: int) -> Vector:
        """A subgradient (size + P,) of the majorant g_i."""
        assert state.parts is not None
        # f+'_i(v) - f-'_i(v0), both by parameters and by auxiliaries
        unit = np.zeros(self.n_constraints)
        unit[i] = 1.0
        by_row, by_aux = state.parts.pull_back(unit, np.zeros(self.n_constraints))
        return self._flat(state, by_row, by_aux) - anchor.slope[i + 1]

    def loss_majorant(self, state: State, anchor: Linearisation) -> tuple[float, Vector]:
        """Value and a subgradient (size + P,) of the majorant of f0; f0 itself where it is convex and rho is 0."""
        # g_0(v) = f+_0(v) - linearised f-_0, which is f0 itself where the loss is convex
        value, residual = self.objective.convex(state.scores)
        point = np.concatenate([state.params.ravel(), state.aux])
        linear = float(anchor.value[0] + anchor.slope[0] @ point)
        gradient = self._flat(state, residual, np.zeros(self.n_aux)) - anchor.slope[0]
        return value + self._square(state) - linear, gradient

    def _flat(self, state: State, by_row: Vector, by_aux: Vector) -> Vector:
        """Gradient (size + P,) of a convex part from its derivatives by scores and auxiliaries."""
        by_params = self.pull_back(state, by_row).ravel() + self.rho * state.params.ravel()
        return np.concatenate([by_params, by_aux])

    def _square(self, state: State) -> float:
        """``(rho/2) |w|^2``."""
        return self.rho / 2 * float(np.sum(state.params**2)) if self.rho else 0.0

    def _slopes(self, state: State, convex: float, concave: float) -> tuple[Vector, Vector]:
        """Derivatives of ``convex f+_i + concave f-_i`` by parameters (m, size) and auxiliaries (m, P)."""
        m = self.n_constraints
        by_params, by_aux = np.zeros((m, self.model.size)), np.zeros((m, self.n_aux))
        for i, unit in enumerate(np.eye(m)):
            assert state.parts is not None
            residual, by_aux[i] = state.parts.pull_back(convex * unit, concave * unit)
            by_params[i] = self.pull_back(state, residual).ravel()
        return by_params, by_aux
