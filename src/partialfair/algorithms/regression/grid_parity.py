"""Predictions drawn from a grid of atoms so that groups agree, by predicted group probabilities: an exact fit.

Source: DP post-processing paper, Algorithm 1. Rows enter by what two models say of them, ``eta`` (predicted label) and
``tau`` (predicted probabilities of the groups). The finite-sample problem is solved by proximal Newton steps, on a
sample of the rows; the distance between groups is measured on all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.cumulative_dual import CumulativeDual, per_atom
from partialfair.algorithms.regression.fair_dual import Dual, atoms
from partialfair.algorithms.regression.quantile_maps import weighted_distance
from partialfair.data.predictions import Predictions
from partialfair.errors import ConfigError
from partialfair.models.grid_predictor import group_weights, softmax

Vector = NDArray[np.float64]
HALF_ATOMS = (10, 50)
"""Least and largest L of 2 L + 1 atoms by default: the time of a fit grows with their square."""
VARIABLES = 300
"""Atoms times groups of more than two, about, by default at most."""
SOLVED_ROWS = 10_000
BLOCK = 1 << 13
SEARCHES = 10
CLOSE = 0.9
"""Share of the tolerance that the search is content with."""
ROUNDING = 1e-6
ACCURACY = 1e-7


@dataclass
class GridParity:
    """A predictor on a grid, and the rows that it is solved on.

    Attributes:
        epsilon: largest distance between two groups; with ``per_atom`` the paper's slack, one number or one per group.
        per_atom: whether every atom is bounded, as in the paper, or the distribution functions.
        theta: (G,) atoms on the scale of -1 to 1.
        scale: label = scale[0] + scale[1] * theta.
        beta: inverse strength of the entropic term.
        random: draws the rows that are solved on.
        representatives: (m,) keys, (m,) eta and (m, K) tau of these rows.
        shares: (K,) shares of the groups.
        multipliers: (K, G) D of the predictor; zero where nothing is constrained.
        distance, base_distance: largest distance between two groups, of the predictor and of eta alone.
        residual: norm of the least subgradient at the solution.
    """

    epsilon: Any
    per_atom: bool
    theta: Vector
    scale: tuple[float, float]
    beta: float
    random: np.random.Generator
    representatives: tuple[Vector, Vector, Vector] | None = None
    shares: Vector = field(default_factory=lambda: np.ones(1))
    multipliers: Vector = field(default_factory=lambda: np.zeros((1, 1)))
    distance: float = 0.0
    base_distance: float = 0.0
    residual: float = 0.0

    @classmethod
    def from_rows(
        cls,
        eta: Vector,
        epsilon: Any,
        groups: int,
        *,
        labels: tuple[float, float],
        per_atom: bool = False,
        bounds: tuple[float, float] | None = None,
        half_atoms: int | None = None,
        beta: float | None = None,
        random: np.random.Generator,
    ) -> "GridParity":
        """Choose a grid for predictions (N,) of rows of some groups.

        By default it reaches from their smallest to their largest, within the labels' range: a fair predictor of least
        risk leaves that nowhere. Beta is by default L^2 / 2: lots spread a prediction by one atom. With ``per_atom``
        the defaults are the paper's: the labels' range, and sqrt(N) log2(sqrt(N)).
        """
        low, high = bounds or labels
        if bounds is None and not per_atom and max(low, eta.min()) < min(high, eta.max()):
            low, high = max(low, float(eta.min())), min(high, float(eta.max()))
        low, high = (float(low), float(high)) if low < high else (float(low) - 0.5, float(low) + 0.5)
        # per atom: L = sqrt(N) and beta = sqrt(N) log2(sqrt(N)), as in section 6 of the paper
        root = float(np.sqrt(len(eta)))
        least, most = (1, HALF_ATOMS[1]) if per_atom else (HALF_ATOMS[0], min(HALF_ATOMS[1], VARIABLES // (2 * groups)))
        size = half_atoms or int(np.clip(int(root), least, max(least, most)))
        smooth = beta or (max(1.0, root * float(np.log2(max(root, 2.0)))) if per_atom else size**2 / 2)
        return cls(epsilon, per_atom, atoms(size), ((low + high) / 2, (high - low) / 2), float(smooth), random)

    @property
    def atoms(self) -> Vector:
        """(G,) atoms on the scale of the label."""
        return self.scale[0] + self.scale[1] * self.theta

    @property
    def active(self) -> bool:
        """Whether a constraint binds; if not, eta itself is the prediction."""
        return bool(self.multipliers.any())

    def add(self, eta: Vector, tau: Vector) -> None:
        """Take rows (n,), (n, K) into account: draw those that are solved on from all that were seen, and solve.

        Raises:
            ConfigError: epsilon has another number of entries than there are groups.
        """
        # Reservoir by keys: every row ever seen gets a uniform key, and the rows of the smallest keys are solved on. A
        # row's chance does not depend on when it came.
        keys = np.zeros(0)
        if self.representatives is not None:
            keys = self.representatives[0]
            eta, tau = np.concatenate([self.representatives[1], eta]), np.concatenate([self.representatives[2], tau])
        keys = np.concatenate([keys, self.random.random(len(eta) - keys.size)])
        indices = np.arange(keys.size)
        if keys.size > SOLVED_ROWS:
            indices = np.sort(np.argpartition(keys, SOLVED_ROWS)[:SOLVED_ROWS])
        self.representatives = keys[indices], eta[indices], tau[indices]
        self._solve(eta, tau)

    def predictions(self, eta: Vector, tau: Vector) -> Predictions:
        """Distributions of the predictions of rows (n,), (n, K)."""
        weights = group_weights(tau, self.shares) @ self.multipliers
        return Predictions.randomised(self.atoms, softmax(self.beta * (weights - self._costs(eta))))

    def predict(self, eta: Vector, tau: Vector, lots: Vector, kind: str) -> Vector:
        """Predictions (n,): by lot (n,) of [0, 1) for the kind "sample", else "mean" or "mode"."""
        out = np.empty(len(eta))
        for block in _blocks(len(eta)):
            predicted = self.predictions(eta[block], tau[block])
            if kind != "sample":
                out[block] = predicted.values if kind == "mean" else predicted.mode()
                continue
            steps = np.cumsum(predicted.probabilities, axis=1)  # type: ignore[arg-type]
            chosen = (steps <= lots[block, None] * steps[:, -1:]).sum(axis=1)
            out[block] = self.atoms[chosen.clip(max=self.theta.size - 1)]
        return out

    def _costs(self, eta: Vector) -> Vector:
        return np.asarray(((eta - self.scale[0]) / self.scale[1])[:, None] - self.theta) ** 2

    def _measured(self, eta: Vector, tau: Vector) -> float:
        """Largest distance of two groups' distribution functions, by the groups' and the atoms' probabilities."""
        # P(atom <= l | S = s) = sum_i tau_s(i) sum_{k <= l} pi_k(i) / sum_i tau_s(i), (K, G)
        sums = np.zeros((self.shares.size, self.theta.size))
        for block in _blocks(len(eta)):
            sums += tau[block].T @ np.asarray(self.predictions(eta[block], tau[block]).probabilities)
        shares = np.cumsum(sums / tau.sum(axis=0)[:, None], axis=1)
        return float(np.ptp(shares, axis=0).max())

    def _solve(self, eta: Vector, tau: Vector) -> None:
        assert self.representatives is not None
        _, representatives, representative_tau = self.representatives
        self.shares = representative_tau.mean(axis=0)  # of the rows solved on, so that every slack can be met
        groups = self.shares.size
        self.multipliers = np.zeros((groups, self.theta.size))
        self.distance = self.base_distance = weighted_distance(eta, tau)
        weights, costs = group_weights(representative_tau, self.shares), self._costs(representatives)
        if self.per_atom:
            if np.ndim(self.epsilon) and np.size(self.epsilon) != groups:
                raise ConfigError(f"epsilon has {np.size(self.epsilon)} entries for {groups} groups; give one each")
            slack = np.broadcast_to(np.minimum(np.asarray(self.epsilon, np.float64), 1e6), groups).copy()
            point = proximal_newton.solve(Dual(weights, costs, slack, self.beta), tolerance=ACCURACY)
            self.multipliers, self.residual = point.difference, point.residual
            if self.active:
                self.distance = self._measured(eta, tau)
        elif self.base_distance > self.epsilon:
            used = groups - 1 if groups == 2 or self.epsilon == 0 else groups  # these imply the last one
            self._search(CumulativeDual(weights[:, :used], costs, np.zeros(used), self.beta), eta, tau)

    def _search(self, dual: CumulativeDual, eta: Vector, tau: Vector) -> None:
        """The loosest bound at which the distance on all rows is at most epsilon.

        A group may lie ``(1 - p_s)`` times the bound from all rows: two groups are then that far apart. With more
        groups, and on other rows than were solved on, the distance is another; it falls with the bound.
        """
        target, used = float(self.epsilon), dual.t.shape[1]
        bound, loose, tight = target, np.inf, 0.0
        start: Vector | None = None
        best: tuple[Vector, float, float] | None = None
        for _ in range(SEARCHES):
            point = proximal_newton.solve(
                dual.with_eps((1 - self.shares[:used]) * bound), start, tolerance=ACCURACY, reduce=False
            )
            start = point.difference
            self.multipliers[:used], self.residual = per_atom(start), point.residual
            self.distance = self._measured(eta, tau)
            if self.distance <= target + ROUNDING:
                best, tight = (self.multipliers.copy(), self.residual, self.distance), bound
                if self.distance >= CLOSE * target:
                    break
            else:
                loose = bound
            if bound == 0.0:
                break
            # the distance grows with the bound: aim between CLOSE and 1 times the target by proportion, or halve the
            # bracket
            slack_target = bound * (CLOSE + 1) / 2 * target / max(self.distance, ROUNDING)
            bound = slack_target if tight < slack_target < loose else (tight + min(loose, 1.0)) / 2
            bound = bound if bound > ROUNDING else 0.0
        if best is not None:
            self.multipliers, self.residual, self.distance = best


def _blocks(n_rows: int) -> Iterator[slice]:
    """Rows in parts that fit the cache once they have a column per atom."""
    return (slice(low, min(low + BLOCK, n_rows)) for low in range(0, n_rows, BLOCK))
