"""A training problem whose score is a network: min f0(w) subject to f_i(w, aux) <= 0."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from partialfair.algorithms.contract import Certificate, EvaluatedPoint
from partialfair.constraints.program import HingeProgram
from partialfair.data.dataset import Matrix
from partialfair.models.network import BATCH
from partialfair.models.network_function import NetworkFunction, to_numpy

Vector = NDArray[np.float64]
SMALL = 0.01


@dataclass(frozen=True, eq=False)
class Value:
    """A point's scores and what follows from them.

    Attributes:
        scores: (n,) of the training rows.
        aux: (P,) auxiliary variables.
        objective: mean logistic loss.
        violation: largest f_i (negative where all hold strictly).
    """

    scores: Vector
    aux: Vector
    objective: float
    violation: float


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    """The problem; a point is one flat vector: weights (size,), then auxiliary variables (P,).

    A problem of its own beside the linear one: derivatives come from PyTorch, minibatch by minibatch on the network's
    device, where the linear kernels hold all rows coded and compute theirs by hand.

    Attributes:
        function: the score.
        X, y, group: training rows.
        program: the constraints, in the order of these rows.
    """

    function: NetworkFunction
    X: Matrix
    y: Vector
    group: NDArray[np.integer]
    program: HingeProgram

    def point(self, w: torch.Tensor, aux: Vector) -> torch.Tensor:
        """The flat vector of weights and auxiliary variables."""
        return torch.cat([w, torch.as_tensor(aux, dtype=w.dtype, device=w.device)])

    def weights_and_aux(self, x: torch.Tensor) -> tuple[torch.Tensor, Vector]:
        """Weights and auxiliary variables of a point."""
        return x[: self.function.size], to_numpy(x[self.function.size :])

    @cached_property
    def subset_rows(self) -> list[NDArray[np.int64]]:
        """Rows of every subset."""
        return [np.flatnonzero(self.program.row_subset == s) for s in range(self.program.n_subsets)]

    def value(self, x: torch.Tensor) -> Value:
        """Scores of all training rows at a point, with loss and largest constraint value."""
        w, aux = self.weights_and_aux(x)
        scores = self.function.all_scores(w, self.X, self.group)
        loss = float(np.logaddexp(0.0, -self.y * scores).mean())
        return Value(scores, aux, loss, float(self.program.values(scores, aux).max()))

    def true_violation(self, scores: Vector, aux: Vector, steepness: float = 1e6) -> float:
        """Largest constraint value with indicators in place of the surrogate, of the training rows' scores."""
        return float(self.program.values(scores * steepness, aux * steepness).max())

    def feasible_aux(self, scores: Vector) -> Vector:
        """Auxiliary variables that suit given scores (n,) as ``program.start`` suits scores that are all equal.

        There a threshold leaves the share ``1/2 - start`` of every group above it; here it is put where that is the
        mean over the groups of their smoothed shares, which decrease in the threshold: by bisection.
        """
        program = self.program
        if program.n_aux == 0:
            return np.zeros(0)
        target = np.clip(0.5 - (program.start - program.start_score), 0.0, 1.0)
        low = np.full(program.n_aux, scores.min() - 0.5)
        high = np.full(program.n_aux, scores.max() + 0.5)
        for _ in range(50):
            middle = (low + high) / 2
            share = np.mean(
                [np.clip(scores[rows, None] - middle + 0.5, 0, 1).mean(axis=0) for rows in self.subset_rows], axis=0
            )
            low, high = np.where(share > target, middle, low), np.where(share > target, high, middle)
        return (low + high) / 2

    def gradient(self, x: torch.Tensor, multipliers: Vector) -> torch.Tensor:
        """Gradient of ``f0 + sum_i multipliers_i f_i`` on all training rows, batch by batch."""
        w, aux = self.weights_and_aux(x)
        scores = self.function.all_scores(w, self.X, self.group)
        # derivative of f0 + sum_i mu_i f_i by all scores first, then one backward pass per batch of rows
        residual, by_aux = self.program.vjp(scores, aux, multipliers)
        residual = residual - self.y * expit(-self.y * scores) / len(self.y)
        out = torch.zeros_like(w)
        for start in range(0, len(self.y), BATCH):
            rows = np.arange(start, min(start + BATCH, len(self.y)))
            leaf = w.detach().requires_grad_()
            h = self.function.scores(leaf, self.function.inputs(self.X, self.group, rows))
            out += torch.autograd.grad(h, leaf, torch.as_tensor(residual[rows], dtype=h.dtype, device=h.device))[0]
        return self.point(out, by_aux)

    def stationarity(self, x: torch.Tensor, multipliers: Vector, unit: float) -> float:
        """Norm of that gradient in units of ``unit``: the residual of the first-order conditions."""
        return float(torch.linalg.vector_norm(self.gradient(x, multipliers).double())) / unit


@dataclass(frozen=True, eq=False)
class NetworkPoint(EvaluatedPoint):
    """A point of the problem.

    Attributes:
        multipliers: (m,) that the method ended with.
    """

    problem: NetworkProblem
    x: torch.Tensor
    multipliers: Vector
    by_metric = True

    @cached_property
    def value(self) -> Value:
        """Scores of the training rows there."""
        return self.problem.value(self.x)

    def objective(self) -> float:
        """Mean logistic loss."""
        return self.value.objective

    def violation(self) -> float:
        """Largest constraint value f_i, negative where all hold strictly."""
        return self.value.violation

    def indicator_violation(self, point: tuple[Vector, Vector] | None = None) -> float:
        """Largest f_i with indicators, here or at other training scores (n,) and auxiliary variables (P,)."""
        return self.problem.true_violation(*((self.value.scores, self.value.aux) if point is None else point))

    def certificate(self) -> Certificate:
        """Norm of the Lagrangian's gradient with the method's multipliers, in units of that at a constant score."""
        function, w = self.problem.function, self.problem.weights_and_aux(self.x)[0]
        function.put(w)
        function.network.make_constant(0.0)
        constant = self.problem.point(function.start(), self.problem.program.start)
        unit = float(self.problem.gradient(constant, np.zeros(self.problem.program.n_constraints)).norm())
        function.put(w)
        residual = self.problem.stationarity(self.x, self.multipliers, unit if 0 < unit < np.inf else 1.0)
        return Certificate(
            "kkt", residual, "the norm of the loss gradient at a constant score", SMALL, self.multipliers
        )
