"""Mean log loss under constraints on stratum means, estimated from drawn rows: for R runs at once.

A point x (R, N) holds the parameters of the score and the auxiliary variables of the constraints. Runs do not depend on
one another: run r reads row r of every array.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from papers.stochastic_benchmark.algorithms.row_streams import Rows
from partialfair.algorithms.contract import Certificate, EvaluatedPoint
from partialfair.algorithms.least_squares import non_negative
from partialfair.constraints import surrogates
from partialfair.constraints.parts import Constraints, constraints_of
from partialfair.constraints.stratum_means import HingeMeans, LossMeans, StratumMeans, log_loss, sigmoid
from partialfair.models.stacked import Array, StackedScore

PullBack = Callable[[Array], Array]
ACTIVE_WITHIN, SMALL = 1e-3, 0.01
AT_ZERO = "the norm of the loss gradient where all parameters are zero"
BLOCK = 1024  # rows of a pass over all data that are computed at once: they fit in the cache


class Sampled(Protocol):
    """What the stochastic methods ask of a problem; ``rows`` of ``None`` stands for all rows."""

    @property
    def n_constraints(self) -> int:
        """Number of constraints, m."""
        ...

    def gradient(self, x: Array, rows: Rows | None) -> Array:
        """Derivative (R, N) of the mean loss of rows (R, B)."""
        ...

    def constraints(self, x: Array, rows: Rows | None) -> tuple[Array, PullBack]:
        """Constraint values (R, m) on rows (R, S, b), and v (R, m) -> derivative (R, N) of ``sum_i v_i c_i``."""
        ...


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All rows at points (R, N): mean loss (R,), constraint values (R, m), stratum means (R, S, Q)."""

    loss: NDArray[np.float64]
    constraints: NDArray[np.float64]
    means: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StochasticProblem:
    """The problem on training rows.

    A problem of its own beside those of other families: R runs stand side by side, each on rows that it has drawn
    itself, and constraints are known only through means over strata of those rows. The others evaluate one point, or
    many, on all rows.

    Attributes:
        score: the score model.
        X: (n, p) its inputs.
        positive: (n,) labels 0/1, of the type of X.
        means: the constraints, or ``None``.
    """

    score: StackedScore
    X: Array
    positive: Array
    means: StratumMeans | None

    @property
    def n_constraints(self) -> int:
        """Number of constraints, m."""
        return 0 if self.means is None else len(self.means.labels)

    @property
    def n_aux(self) -> int:
        """Number of auxiliary variables, P."""
        return 0 if self.means is None else int(self.means.start.size)

    @cached_property
    def pair_slack(self) -> float | None:
        """Tolerance delta if the constraints are ``D <= delta`` and ``-D <= delta``, else ``None``."""
        if not isinstance(self.means, LossMeans) or len(self.means.matrix) != 2:
            return None
        return self.means.slack if (self.means.matrix[0] == -self.means.matrix[1]).all() else None

    @cached_property
    def strata(self) -> list[Rows]:
        """Row numbers of each stratum."""
        if self.means is None:
            return []
        return [np.flatnonzero(self.means.row_stratum == s) for s in range(self.means.n_strata)]

    def split(self, x: Array) -> tuple[Array, Array]:
        """Parameters (R, n) and auxiliaries (R, P) of points."""
        return x[:, : self.score.size], x[:, self.score.size :]

    def gradient(self, x: Array, rows: Rows | None) -> Array:
        """Derivative (R, N) of the mean loss of rows (R, B)."""
        if rows is None:
            return self._whole_gradient(x)
        theta, _ = self.split(x)
        scores, cache = self.score.forward(theta, self.X[rows])
        return self._joined(self.score.backward(theta, cache, self.residual(scores, rows)), x)

    def residual(self, scores: Array, rows: Rows) -> Array:
        """Derivative (R, B) of the mean loss by the scores of rows (R, B)."""
        # log(1 + exp(z)) - Y z has the derivative sigmoid(z) - Y
        return (sigmoid(scores) - self.positive[rows]) / scores.shape[1]

    def weighted_gradient(self, x: Array, rows: Rows, residual: Callable[[Array], Array]) -> Array:
        """Derivative (R, N) of a function of the scores of rows (R, B), whose derivative by them ``residual`` gives."""
        theta, _ = self.split(x)
        scores, cache = self.score.forward(theta, self.X[rows])
        return self._joined(self.score.backward(theta, cache, residual(scores).astype(x.dtype)), x)

    def constraints(self, x: Array, rows: Rows | None) -> tuple[Array, PullBack]:
        """Values (R, m) on rows (R, S, b), equally many of each stratum, and their pull-back."""
        if rows is None:
            return self._whole_constraints(x)
        assert self.means is not None
        constraints, (theta, aux) = self.means, self.split(x)
        # rows (R, S b) in one pass forward; means over the b rows of each stratum (R, S, Q) make the constraints
        flat = rows.reshape(len(rows), -1)
        scores, cache = self.score.forward(theta, self.X[flat])
        positive = self.positive[flat]
        features = constraints.features(scores, positive, aux)
        means = features.reshape(len(rows), rows.shape[1], rows.shape[2], -1).mean(axis=2)

        def pull_back(v: Array) -> Array:
            # sum_i v_i dc_i / d mean_s, divided among the stratum's b rows: one pass backward for any number of
            # constraints
            weights = np.repeat(constraints.weights(means, v) / rows.shape[2], rows.shape[2], axis=1)
            residual, by_aux = constraints.pull_back(scores, positive, aux, weights)
            by_theta = self.score.backward(theta, cache, residual.astype(x.dtype))
            return self._joined(by_theta, x, by_aux)

        return constraints.values(means), pull_back

    def evaluate(self, x: Array) -> Evaluation:
        """Mean loss, constraints and stratum means on all rows, in double precision from scores on."""
        theta, aux = self.split(x)
        losses = np.zeros(len(x))
        means: NDArray[np.float64] | None = None
        n_strata = 0 if self.means is None else self.means.n_strata
        counts = np.array([rows.size for rows in self.strata])
        for block in self._blocks():
            scores = self.score.forward(theta, self.X[None, block])[0].astype(np.float64)
            positive = np.broadcast_to(self.positive[block].astype(np.float64), scores.shape)
            losses += log_loss(scores, positive).sum(axis=1)
            if self.means is not None:
                features = self.means.features(scores, positive, aux.astype(np.float64))
                means = np.zeros((len(x), n_strata, features.shape[2])) if means is None else means
                stratum = self.means.row_stratum[block]
                for s in range(n_strata):
                    means[:, s] += features[:, stratum == s].sum(axis=1)
        if self.means is None or means is None:
            return Evaluation(losses / len(self.X), np.zeros((len(x), 0)), np.zeros((len(x), 0, 0)))
        means /= counts[:, None]
        return Evaluation(losses / len(self.X), np.asarray(self.means.values(means), np.float64), means)

    @cached_property
    def in_double(self) -> "StochasticProblem":
        """The problem in double precision."""
        return StochasticProblem(self.score, self.X.astype(np.float64), self.positive.astype(np.float64), self.means)

    def _blocks(self) -> list[slice]:
        return [slice(start, start + BLOCK) for start in range(0, len(self.X), BLOCK)]

    def _joined(self, by_theta: Array, x: Array, by_aux: Array | None = None) -> Array:
        """Derivatives by the parameters and by the auxiliaries, side by side."""
        if not self.n_aux:
            return by_theta
        out = np.zeros_like(x)
        out[:, : self.score.size] = by_theta
        if by_aux is not None:
            out[:, self.score.size :] = by_aux
        return out

    def _whole_gradient(self, x: Array) -> Array:
        theta, _ = self.split(x)
        total = np.zeros_like(theta)
        for block in self._blocks():
            scores, cache = self.score.forward(theta, self.X[None, block])
            total += self.score.backward(theta, cache, (sigmoid(scores) - self.positive[block]) / len(self.X))
        return self._joined(total, x)

    def _whole_constraints(self, x: Array) -> tuple[Array, PullBack]:
        assert self.means is not None
        constraints, (theta, aux) = self.means, self.split(x)
        evaluation = self.evaluate(x)
        counts = np.array([rows.size for rows in self.strata])

        def pull_back(v: Array) -> Array:
            by_stratum = constraints.weights(evaluation.means, v) / counts[:, None]
            by_stratum = np.concatenate([by_stratum, np.zeros_like(by_stratum[:, :1])], axis=1)  # for stratum -1
            total, total_aux = np.zeros_like(theta), np.zeros((len(x), self.n_aux))
            for block in self._blocks():
                scores, cache = self.score.forward(theta, self.X[None, block])
                positive = np.broadcast_to(self.positive[block], scores.shape)
                weights = by_stratum[:, constraints.row_stratum[block]]
                residual, by_aux = constraints.pull_back(scores, positive, aux, weights)
                total += self.score.backward(theta, cache, residual.astype(x.dtype))
                total_aux += by_aux
            return self._joined(total, x, total_aux)

        return evaluation.constraints, pull_back


@dataclass(frozen=True)
class Passed:
    """A point (N,) on the way, and its largest constraint value."""

    x: NDArray[np.float64]
    violation: float


@dataclass(frozen=True, eq=False)
class StochasticPoint(EvaluatedPoint):
    """A point (N,) of the problem, on all rows.

    Attributes:
        surrogate: of the indicator, where constraints have one.
        certified: whether the loss and the constraints are all that was minimised, so that they can be stationary.
    """

    problem: StochasticProblem
    x: NDArray[np.float64]
    surrogate: Any = "clipped_linear"
    certified: bool = True

    @property
    def by_metric(self) -> bool:  # type: ignore[override]  # what it is depends on the constraints
        """Whether the constraints are smoothed shares at thresholds."""
        return isinstance(self.problem.means, HingeMeans)

    @cached_property
    def _evaluation(self) -> Evaluation:
        return self.problem.in_double.evaluate(self.x[None])

    def objective(self) -> float:
        """Mean log loss."""
        return float(self._evaluation.loss[0])

    def violation(self) -> float:
        """Largest constraint value; 0 without constraints."""
        values = self._evaluation.constraints[0]
        return float(values.max()) if values.size else 0.0

    @cached_property
    def _indicator(self) -> Constraints:
        assert isinstance(self.problem.means, HingeMeans)
        return constraints_of(self.problem.means.program, surrogates.make(self.surrogate)).sharp()

    def indicator_violation(self, point: Passed | None = None) -> float:
        """Largest constraint value with the indicator in place of its surrogate; gaps of losses have neither."""
        problem, x = self.problem, self.x if point is None else point.x
        if problem.means is None:
            return 0.0
        if isinstance(problem.means, LossMeans):
            return float(problem.evaluate(x[None]).constraints.max()) if point is None else point.violation
        theta, aux = x[: problem.score.size], x[problem.score.size :]
        scores = problem.score.forward(theta[None].astype(np.float64), problem.X[None])[0][0]
        return float(self._indicator.parts(np.asarray(scores, np.float64), np.asarray(aux, np.float64)).values.max())

    def certificate(self) -> Certificate | None:
        """KKT residual, as that of a linear score: the best multipliers of constraints above ``-ACTIVE_WITHIN``."""
        if not self.certified:
            return None
        double, x, values = self.problem.in_double, self.x[None], self._evaluation.constraints[0]
        # min over l >= 0 of |L' + sum_i l_i c_i'| on all rows, over constraints that are not slack by more than
        # ACTIVE_WITHIN
        unit = float(np.linalg.norm(double.gradient(np.zeros_like(x), None)))
        gradient = double.gradient(x, None)[0]
        multipliers, residual = np.zeros(values.size), float(np.linalg.norm(gradient))
        active = np.flatnonzero(values >= -ACTIVE_WITHIN)
        if active.size:
            _, pull_back = double.constraints(x, None)
            rows = np.concatenate([pull_back(np.eye(values.size)[None, i]) for i in active])
            multipliers[active], residual = non_negative(rows.T, -gradient)
        return Certificate("kkt", float(residual) / unit, AT_ZERO, SMALL, multipliers)
