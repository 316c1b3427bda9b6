"""Stochastic inexact difference-of-convex algorithm (IDCA) for networks.

Partial fairness paper, section 6 and, for networks, appendix G.9. With ``f_i = f_i+ - f_i-`` and the smooth score's
weak convexity bounded by rho, both parts plus ``rho/2 |w|^2`` are convex. An outer iteration linearises the second part
at the outer iterate v_k = (w_k, theta_k) and solves

    min f0(w) + rho/2 |w - w_k|^2   subject to, for all i,
    g_i(v) = f_i+(v) + rho/2 |w - w_k|^2 - f_i-(v_k) - <f_i-'(v_k), v - v_k> <= 0

by the primal-dual method on mini-batches. A batch has equally many rows of every subset (for parity: every group), so
that each hinge mean is estimated from rows of its own; the loss weighs rows by the size of their subset and stays
unbiased. The linear term needs no stored gradient: on a batch it is the mean of ``slope * (<h_k'(x), w - w_k> -
(theta - theta_k))``, with a directional derivative of the network at w_k, and its gradient is a backward pass there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from papers.partial_fairness.algorithms.network_problem import NetworkProblem
from papers.partial_fairness.algorithms.networks import DeepIDCASettings
from papers.partial_fairness.algorithms.primal_dual import primal_dual
from partialfair.algorithms import stochastic_steps as steps
from partialfair.models.network_function import Inputs, to_numpy

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OuterIterate:
    """A point between two subproblems.

    Attributes:
        x: the point, flat.
        queues: (m,) at the end of the outer iteration.
        multipliers: (m,) estimated by the queues.
        round: outer iterations done.
    """

    x: torch.Tensor
    queues: Vector
    multipliers: Vector
    round: int = 0


def first_state(problem: NetworkProblem, w: torch.Tensor, aux: Vector) -> OuterIterate:
    """The state before the first outer iteration."""
    nothing = np.zeros(problem.program.n_constraints)
    return OuterIterate(problem.point(w, aux), nothing, nothing)


def outer_iteration(
    problem: NetworkProblem, settings: DeepIDCASettings, state: OuterIterate, stream: np.random.Generator
) -> OuterIterate:
    """Linearise at the state's point and solve the subproblem.

    Args:
        problem: the problem.
        settings: constants of the method.
        state: the outer iterate.
        stream: draws the batches of this outer iteration.
    """
    # Algorithm 1, line 3, by the primal-dual method in place of Algorithm 2 (appendix G.9)
    draw = _batches(problem, settings, state.x, stream)
    queues = state.queues if settings.keep_queues else np.zeros_like(state.queues)
    outcome = primal_dual(draw, state.x, queues, settings.inner_steps, settings.step_scale)
    x = outcome.average if settings.next_iterate == "average" else outcome.last
    return OuterIterate(x, outcome.queues, outcome.multipliers, state.round + 1)


def _batches(
    problem: NetworkProblem, settings: DeepIDCASettings, anchor: torch.Tensor, stream: np.random.Generator
) -> Callable[[int], "_Batch"]:
    """The samples of one subproblem."""
    share = max(settings.batch // problem.program.n_subsets, 1)

    def draw(step: int) -> _Batch:
        draws = [stream.choice(rows, min(share, len(rows)), replace=False) for rows in problem.subset_rows]
        return _Batch(problem, settings.rho, anchor, np.concatenate(draws), [len(rows_drawn) for rows_drawn in draws])

    return draw


@dataclass(frozen=True, eq=False)
class _Hinges:
    """Hinge means of a batch and which rows count in them."""

    above: NDArray[np.bool_]  # (b, Q)
    means: Vector  # (S, Q)


class _Batch:
    """One sample of the subproblem; rows are sorted by subset."""

    def __init__(
        self, problem: NetworkProblem, rho: float, anchor: torch.Tensor, rows: NDArray[np.int64], counts: list[int]
    ) -> None:
        self.problem, self.rho = problem, rho
        self.inputs: Inputs = problem.function.inputs(problem.X, problem.group, rows)
        self.subset = np.repeat(np.arange(len(counts)), counts)
        self.share = 1.0 / np.array(counts, np.float64)[self.subset]
        self.y = problem.y[rows]
        # a row stands for size of its subset / rows drawn of it, so that the batch's loss is unbiased
        sizes = np.array([len(members) for members in problem.subset_rows]) / len(problem.y)
        self.importance = sizes[self.subset] * self.share
        self.anchor_w, self.anchor_aux = problem.weights_and_aux(anchor)
        # The anchor's scores with their graph: its linear term is differentiated if a queue is not empty.
        self.anchor_leaf = self.anchor_w.detach().requires_grad_()
        self.anchor_scores = problem.function.scores(self.anchor_leaf, self.inputs)
        self.anchor_hinges = self._hinges(to_numpy(self.anchor_scores), self.anchor_aux)
        self.hinges: _Hinges | None = None

    def gradient(self, x: torch.Tensor, weight: float, queues: Vector) -> torch.Tensor:
        """``weight * f0' + sum_i queues_i g_i'`` at a point."""
        w, aux = self.problem.weights_and_aux(x)
        leaf = w.detach().requires_grad_()
        scores = self.problem.function.scores(leaf, self.inputs)
        values = to_numpy(scores)
        self.hinges = self._hinges(values, aux)
        convex = self.problem.program.convex.pull_back(self.hinges.means, queues)
        residual, by_aux = self._pull_back(self.hinges, convex)
        residual -= weight * self.importance * self.y * expit(-self.y * values)
        by_w = _vjp(scores, leaf, residual)
        if queues.any():
            concave = self.problem.program.concave.pull_back(self.anchor_hinges.means, queues)
            residual, anchor_by_aux = self._pull_back(self.anchor_hinges, concave)
            by_w = by_w - _vjp(self.anchor_scores, self.anchor_leaf, residual)
            by_aux = by_aux - anchor_by_aux
        # V f0' + sum_i Q_i (f_i+' - f_i-'(v_k)) + rho (V + sum_i Q_i) (w - w_k)
        by_w = steps.plus(by_w, w - self.anchor_w, steps.proximal_weight(self.rho, weight, queues))
        return self.problem.point(by_w, by_aux)

    def extrapolated(self, x: torch.Tensor, following: torch.Tensor) -> Vector:
        """``g_i(x) + <g_i'(x), following - x>``; called after :meth:`gradient` at the same point."""
        assert self.hinges is not None
        function, program = self.problem.function, self.problem.program
        (w, aux), (next_w, next_aux) = self.problem.weights_and_aux(x), self.problem.weights_and_aux(following)
        # <h'(x), w' - w> of every row of the batch: a directional derivative (b,), no gradient by the weights
        step = function.tangent(w, next_w - w, self.inputs)
        moved = self._moved(self.hinges, step, next_aux - aux)
        convex = program.convex.values(self.hinges.means)
        slope = _along(program.convex.derivative(self.hinges.means), moved)
        # the same at the anchor, for the linearised f-_i of equation (32)
        step = function.tangent(self.anchor_w, next_w - self.anchor_w, self.inputs)
        moved = self._moved(self.anchor_hinges, step, next_aux - self.anchor_aux)
        means = self.anchor_hinges.means
        concave, tangent = program.concave.values(means), _along(program.concave.derivative(means), moved)
        distance = w - self.anchor_w
        proximal = self.rho * float(steps.half_distance(distance @ distance, distance @ (next_w - w)))
        return steps.extrapolated(convex, slope, concave, tangent, proximal)

    def _hinges(self, scores: Vector, aux: Vector) -> _Hinges:
        excess = scores[:, None] - self.problem.program.thresholds(aux)
        return _Hinges(excess > 0, self._means(np.maximum(excess, 0.0)))

    def _means(self, values: Vector) -> Vector:
        """Means over the rows of every subset, (S, Q), of values (b, Q)."""
        out = np.zeros((self.problem.program.n_subsets, values.shape[1]))
        np.add.at(out, self.subset, values * self.share[:, None])
        return out

    def _moved(self, hinges: _Hinges, scores: Vector, aux: Vector) -> Vector:
        """Change of the hinge means (S, Q) to first order, for changes of the scores (b,) and auxiliaries (P,)."""
        program = self.problem.program
        thresholds = program.thresholds(aux) - program.shift
        return self._means(np.where(hinges.above, scores[:, None] - thresholds, 0.0))

    def _pull_back(self, hinges: _Hinges, weights: Vector) -> tuple[Vector, Vector]:
        """Derivative of ``sum(weights * H)`` by the scores (b,) and by the auxiliaries (P,)."""
        per_row = np.where(hinges.above, weights[self.subset] * self.share[:, None], 0.0)
        return per_row.sum(axis=1), self.problem.program.fold_thresholds(-per_row.sum(axis=0))


def _vjp(scores: torch.Tensor, leaf: torch.Tensor, residual: Vector) -> torch.Tensor:
    """Gradient of ``sum(residual * scores)`` by the weights."""
    return torch.autograd.grad(scores, leaf, torch.as_tensor(residual, dtype=scores.dtype, device=scores.device))[0]


def _along(derivative: Vector, moved: Vector) -> Vector:
    """Directional derivative (m,) for derivatives (m, S, Q) by the hinge means that move by (S, Q)."""
    return np.einsum("isq,sq->i", derivative, moved)
