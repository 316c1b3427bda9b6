"""PLADA and the multiplier-model method (LMM) for a small network under constraints on the losses of groups.

Sources: PLADA paper, Algorithm 1 and section 5.3; Narasimhan et al., Approximate heavily-constrained learning with
Lagrange multiplier models (NeurIPS 2020). Full-batch iterations; an iteration costs one pass forward and one backward:
the values at the new parameters are those that the next iteration starts from.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from papers.plada.algorithms.group_losses import Array, GroupLosses, Loss, loss_of
from papers.plada.algorithms.plada_solver import Parameters, moved
from partialfair.algorithms import stochastic_steps as steps
from partialfair.models.stacked import StackedMLP

Dual = Literal["all", "sampled", "none"]
ADAGRAD_EPSILON = 1e-10


class Network:
    """A network on fixed rows: its losses at the present parameters, and steps against a weighted sum of them.

    Attributes:
        theta: (1, size) parameters, float32.
        losses: (n,).
    """

    def __init__(self, model: StackedMLP, theta: Array, X: Array, y: Array, kind: Loss) -> None:
        self.model, self.kind = model, kind
        self.theta = theta[None].astype(np.float32)
        self._X, self._y = X[None].astype(np.float32), y.astype(np.float32)
        self.refresh()

    def refresh(self) -> None:
        """Compute losses at the present parameters."""
        scores, self._cache = self.model.forward(self.theta, self._X)
        self.scores = scores[0]
        self.losses, self._slope = loss_of(self.scores, self._y, self.kind)

    def gradient(self, weights: Array) -> Array:
        """Derivative (1, size) of ``<weights, losses>``."""
        residual = (weights * self._slope).astype(np.float32)
        return self.model.backward(self.theta, self._cache, residual[None])


class NetworkPlada:
    """PLADA with the parameters of the network as theta.

    Args:
        network: at its initial weights.
        groups: the constraints.
        parameters: step sizes, numbers.
        dual: ``all``: every multiplier moves in every iteration; ``sampled``: one constraint is drawn, enters the loss
            and has its slack and multipliers moved; ``none``: the constraints are ignored (an unconstrained fit).
        stream: of the draws.

    Attributes:
        u, lam, mu: (m,).
    """

    def __init__(
        self,
        network: Network,
        groups: GroupLosses,
        parameters: Parameters,
        dual: Dual = "all",
        stream: np.random.Generator | None = None,
    ) -> None:
        self.network, self.groups, self.parameters, self.dual, self._stream = network, groups, parameters, dual, stream
        self.u, self.lam, self.mu = np.zeros(groups.m), np.zeros(groups.m), np.zeros(groups.m)
        self.iteration = 0

    def step(self) -> None:
        """One step of the weights on all rows, then one of the multipliers that this variant moves."""
        network, p = self.network, self.parameters
        active: Any = slice(None)
        lam = self.lam
        if self.dual == "sampled":
            assert self._stream is not None
            active = self._stream.integers(self.groups.m, size=1)
            lam = np.where(np.arange(self.groups.m) == active, self.lam, 0.0)
        # line 3 with the linearised reading: weights (n,) of the rows' losses in F + <lambda, G>
        weights: Array = np.full(len(network.losses), 1 / len(network.losses), np.float32)
        if self.dual != "none":
            weights = weights + self.groups.pull(lam)
        network.theta = network.theta - np.float32(p.eta) * network.gradient(weights)
        network.refresh()
        if self.dual != "none":
            self._move(active)
        self.iteration += 1

    def _move(self, active: Any) -> None:
        """Move slack and multipliers of some constraints (lines 4 to 6 of Algorithm 1)."""
        p = self.parameters
        # lines 4 and 5 with the old lambda, line 6 with the new losses
        slack, centre, dual = self.u[active], self.mu[active], self.lam[active]
        self.u[active], self.mu[active] = moved(slack, centre, dual, self.iteration, p)
        values = self.groups.values(self.network.losses)
        self.lam[active] = steps.perturbed_dual(self.mu[active], values[active], self.u[active], p.rho)


class MultiplierModel:
    """LMM: the multiplier of a group is ``|MLP(description of the group)|``; network and multipliers move by Adagrad.

    Args:
        network: at its initial weights.
        groups: the constraints, one per group.
        model: the multiplier network.
        phi: (size,) its initial parameters; the last one, the bias of the output, is set to 1.
        descriptions: (K, p) of the groups.
        rate: of Adagrad, for both networks.
        dual_scale: factor of the multipliers' objective.
        stream: draws a group per step.
    """

    def __init__(
        self,
        network: Network,
        groups: GroupLosses,
        model: StackedMLP,
        phi: Array,
        descriptions: Array,
        rate: float,
        dual_scale: float,
        stream: np.random.Generator,
    ) -> None:
        self.network, self.groups, self.model, self.rate, self.dual_scale = network, groups, model, rate, dual_scale
        self.phi = phi[None].astype(np.float32)
        self.phi[0, -1] = 1.0
        self._descriptions, self._stream = descriptions.astype(np.float32), stream
        self._squares = np.zeros_like(network.theta), np.zeros_like(self.phi)

    def multipliers(self, groups: NDArray[np.integer] | slice = slice(None)) -> Array:
        """Multipliers (J,), at least 0, that the second network gives the described groups."""
        return steps.model_multipliers(self.model.forward(self.phi, self._descriptions[None, groups])[0][0])[0]

    def step(self) -> None:
        """One Adagrad step of both networks, with the constraint of one group drawn at random."""
        network = self.network
        j = self._stream.integers(self.groups.m, size=1)
        outputs, cache = self.model.forward(self.phi, self._descriptions[None, j])
        # lambda_j = |MLP(description of group j)|, at least 0; the network's weights descend on F + lambda_j G_j ...
        multipliers, slope = steps.model_multipliers(outputs)
        row = self.groups.weights[j[0]]
        weights = np.float32(1 / len(network.losses)) + multipliers[0, 0] * row
        # ... and phi ascends on lambda_j times the violation by 0-1 errors: a hinge loss of 1, a log loss of ln 2 at
        # score 0
        wrong = (network.losses >= 1.0) if network.kind == "hinge" else (network.losses >= np.log(2.0))
        violation = float(row @ wrong) - self.groups.eps  # of the 0-1 errors
        by_theta = network.gradient(weights)
        by_phi = steps.model_weights(violation, self.dual_scale) * self.model.backward(self.phi, cache, slope)
        network.theta = adagrad(network.theta, by_theta, self._squares[0], self.rate)
        self.phi = adagrad(self.phi, by_phi, self._squares[1], self.rate)
        network.refresh()


def adagrad(point: Array, gradient: Array, squares: Array, rate: float) -> Array:
    """The point (1, size) after a step of Adagrad, in single precision; ``squares`` grows in its place."""
    squares += gradient**2
    following = point - np.float32(rate) * gradient / (np.sqrt(squares) + np.float32(ADAGRAD_EPSILON))
    return following.astype(np.float32)


def best_candidate(violations: Array, objectives: Array) -> int:
    """Choose an iterate by the heuristic of the multiplier-model paper.

    Iterates are ranked within every constraint by their violation; the one whose worst rank is smallest wins, ties go
    to the smaller objective.

    Args:
        violations: (K, m) of K iterates.
        objectives: (K,).
    """
    # rank 1 is the smallest violation of a constraint; satisfied constraints all share it
    worst = rankdata(np.maximum(violations, 0.0), method="min", axis=0).max(axis=1)
    tied = np.flatnonzero(worst == worst.min())
    return int(tied[np.argmin(objectives[tied])])
