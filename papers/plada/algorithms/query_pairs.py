"""Pairs of documents of one query: ranking loss, errors by group, two stochastic methods under a bound on their gap.

Source: PLADA paper, appendix D.3, and the multiplier-model paper. Of a query all pairs (positive, negative) count. The
loss is ``softplus(-(s_pos - s_neg))``; the constraints are ``+-(err01 - err10) <= eps``, where err01 is the error on
pairs of a positive document of group 0 and a negative one of group 1. Hinge losses stand for errors where derivatives
are taken.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from papers.plada.algorithms.network_plada import adagrad
from papers.plada.algorithms.plada_solver import Parameters, moved
from partialfair.algorithms import stochastic_steps as steps
from partialfair.models.stacked import StackedMLP

Array = NDArray[np.floating]
SIGNS = np.array([1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Query:
    """Documents of one query.

    Attributes:
        X: (n, p) inputs, float32.
        positive: (n,) relevance.
        group: (n,) 0 or 1.
    """

    X: NDArray[np.float32]
    positive: NDArray[np.bool_]
    group: NDArray[np.integer]

    @cached_property
    def _relevant_and_not(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.flatnonzero(self.positive), np.flatnonzero(~self.positive)

    @cached_property
    def contrast(self) -> Array:
        """(P, N) weights whose sum with errors is err01 - err10; 0 where either kind of pair is absent."""
        # weights +1 / n_01 on pairs of a relevant document of group 0 and another of group 1, -1 / n_10 on those the
        # other way
        group_winner, group_loser = (self.group[rows] for rows in self._relevant_and_not)
        mixed = [np.outer(group_winner == g, group_loser == 1 - g) for g in (0, 1)]
        counts = [kind.sum() for kind in mixed]
        if not min(counts):
            return np.zeros(mixed[0].shape)
        return mixed[0] / counts[0] - mixed[1] / counts[1]

    @property
    def n_pairs(self) -> int:
        """Pairs of a positive and a negative document."""
        return int(self.contrast.size)

    def margins(self, scores: Array) -> Array:
        """Score differences (P, N)."""
        winners, losers = self._relevant_and_not
        return scores[winners][:, None] - scores[losers][None]

    def loss(self, margins: Array) -> tuple[float, Array]:
        """Mean softplus loss and its derivative by the margins."""
        small = np.exp(-np.abs(margins))
        value = float(np.mean(np.maximum(-margins, 0) + np.log1p(small)))
        return value, -np.where(margins >= 0, small, 1.0) / (1 + small) / margins.size

    def hinge_gap(self, margins: Array) -> tuple[float, Array]:
        """err01 - err10 with hinge losses, and its derivative by the margins."""
        return float(np.sum(self.contrast * np.maximum(1 - margins, 0))), -self.contrast * (margins < 1)

    def errors(self, margins: Array) -> tuple[float, float]:
        """Share of wrong pairs, ties counting half, and err01 - err10 with these errors."""
        wrong = (margins < 0) + 0.5 * (margins == 0)
        return float(wrong.mean()), float(np.sum(self.contrast * wrong))

    def to_rows(self, by_margin: Array) -> Array:
        """Derivative (n,) by the scores of one by the margins."""
        out = np.zeros(len(self.positive))
        out[self._relevant_and_not[0]] = by_margin.sum(axis=1)
        out[self._relevant_and_not[1]] = -by_margin.sum(axis=0)
        return out


class Ranker:
    """A network that scores documents."""

    def __init__(self, model: StackedMLP, theta: Array) -> None:
        self.model, self.theta = model, theta[None].astype(np.float32)

    def margins(self, query: Query) -> tuple[Array, object]:
        """Margins of a query's pairs, and what :meth:`gradient` needs."""
        scores, cache = self.model.forward(self.theta, query.X[None])
        return query.margins(scores[0].astype(np.float64)), cache

    def gradient(self, query: Query, cache: object, by_margin: Array) -> Array:
        """Derivative (1, size)."""
        return self.model.backward(self.theta, cache, query.to_rows(by_margin)[None].astype(np.float32))


class RankingPlada:
    """PLADA, one query per iteration; slack and multipliers of either constraint are shared by all queries."""

    def __init__(self, ranker: Ranker, parameters: Parameters, eps: float, constrained: bool = True) -> None:
        self.ranker, self.parameters, self.eps, self.constrained = ranker, parameters, eps, constrained
        self.u, self.lam, self.mu = np.zeros(2), np.zeros(2), np.zeros(2)
        self.iteration = 0

    def step(self, query: Query) -> None:
        """Do one iteration on one query."""
        p = self.parameters
        # line 3 on one query: grad of softplus loss + (lambda_1 - lambda_2) grad gap
        margins, cache = self.ranker.margins(query)
        _, by_margin = query.loss(margins)
        _, by_gap = query.hinge_gap(margins)
        gradient = self.ranker.gradient(query, cache, by_margin + float(self.lam @ SIGNS) * by_gap)
        self.ranker.theta = self.ranker.theta - np.float32(p.eta) * gradient
        if not self.constrained:  # an unconstrained fit, for comparison
            return
        # lines 4 to 6; the gap at the new weights
        self.u, self.mu = moved(self.u, self.mu, self.lam, self.iteration, p)
        gap, _ = query.hinge_gap(self.ranker.margins(query)[0])
        self.lam = steps.perturbed_dual(self.mu, SIGNS * gap - self.eps, self.u, p.rho)
        self.iteration += 1


class RankingMultiplierModel:
    """LMM: multipliers are ``|MLP(mean features of the query, which constraint)|``; Adagrad for both networks."""

    def __init__(
        self, ranker: Ranker, model: StackedMLP, phi: Array, rate: float, dual_scale: float, eps: float, inputs: int
    ) -> None:
        self.ranker, self.model, self.rate, self.dual_scale, self.eps = ranker, model, rate, dual_scale, eps
        self.phi = phi[None].astype(np.float32)
        self.phi[0, -1] = 1.0
        self._inputs = inputs  # of the query's means, the last columns of X
        self._squares = np.zeros_like(ranker.theta), np.zeros_like(self.phi)

    def step(self, query: Query) -> None:
        """One step of ranker and multiplier network on the pairs of one query."""
        margins, cache = self.ranker.margins(query)
        # two inputs (2, p + 1): the query's mean features with +1 or -1, one per constraint
        described = np.repeat(query.X[:1, -self._inputs :], 2, axis=0)
        described = np.column_stack([described, SIGNS]).astype(np.float32)
        outputs, phi_cache = self.model.forward(self.phi, described[None])
        lam, slope = steps.model_multipliers(outputs[0])
        _, by_margin = query.loss(margins)
        _, by_gap = query.hinge_gap(margins)
        by_theta = self.ranker.gradient(query, cache, by_margin + float(lam.astype(np.float64) @ SIGNS) * by_gap)
        violations = SIGNS * query.errors(margins)[1] - self.eps
        residual = steps.model_weights(violations, self.dual_scale) * slope
        by_phi = self.model.backward(self.phi, phi_cache, residual[None].astype(np.float32))
        self.ranker.theta = adagrad(self.ranker.theta, by_theta, self._squares[0], self.rate)
        self.phi = adagrad(self.phi, by_phi, self._squares[1], self.rate)


def ndcg(scores: Array, positive: NDArray[np.bool_], depth: int = 10) -> float:
    """Normalised discounted gain of the first ``depth`` documents, of binary relevance."""
    # DCG = sum over ranks r = 1..depth of relevance / log2(r + 1), divided by that of the best order
    discount = 1 / np.log2(np.arange(2, depth + 2))
    order = np.argsort(-scores, kind="stable")[:depth]
    best = discount[: min(depth, int(positive.sum()))].sum()
    return float((positive[order] * discount[: len(order)]).sum() / best) if best else 0.0
