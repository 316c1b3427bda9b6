"""Linear base models, and a randomised choice among atoms made from them: what post-processing gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from partialfair.data.dataset import Matrix
from partialfair.data.predictions import Predictions
from partialfair.models.features import dense_features
from partialfair.models.stored import NOT_STORED, StoredModel, check_features

Vector = NDArray[np.float64]
TRACED = ("risk", "ks_group_0", "ks_group_1")
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class PlugIns:
    """Linear base models.

    Attributes:
        regression: (d+1,) coefficients of eta, intercept last.
        classification: (C, d+1) coefficients of the group's logits, intercept last; C = 1 for two groups.
    """

    regression: Vector
    classification: Vector

    def eta(self, X: Any) -> Vector:
        """Predicted labels (n,) of raw features (n, d)."""
        return np.asarray(dense_features(X) @ self.regression[:-1] + self.regression[-1])

    def tau(self, X: Any) -> Vector:
        """Predicted group probabilities (n, K)."""
        logits = dense_features(X) @ self.classification[:, :-1].T + self.classification[:, -1]
        if len(self.classification) == 1:
            positive = expit(logits)
            return np.hstack([1.0 - positive, positive])
        return softmax(logits)


@dataclass(frozen=True, eq=False)
class GridPredictor(StoredModel):
    """``pi(l | x) = softmax_l(beta (<D_l, t(x)> - (eta(x) - theta_l)^2))``, or eta itself.

    The group is not used at prediction time: t(x) is made of predicted group probabilities.

    Attributes:
        base: eta and tau.
        shares: (K,) p.
        beta: inverse strength of the entropic term.
        theta: (G,) atoms on the scale of eta.
        scale: label = scale[0] + scale[1] * theta.
        difference: (K, G) D; empty for the deterministic predictor eta.
        group_names, feature_names: of the dataset it was made from.
        level_eps, level_differences: (m,) further tolerances, and (m, K, G) their D.
        repeat_eps, repeat_differences: (u,) tolerances, and (u, K, G) D of the same fit on other drawn rows.
        trace_steps, trace: (q,) steps of the optimiser, and (q, K, G) D at them.
        status: "ok", or why it should not be used.
    """

    compressed: ClassVar[bool] = True

    base: PlugIns
    shares: Vector
    beta: float
    theta: Vector
    scale: tuple[float, float]
    difference: Vector
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    level_eps: Vector = field(default_factory=lambda: _NONE)
    level_differences: Vector = field(default_factory=lambda: _NONE)
    repeat_eps: Vector = field(default_factory=lambda: _NONE)
    repeat_differences: Vector = field(default_factory=lambda: _NONE)
    trace_steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    trace: NDArray[np.floating] = field(default_factory=lambda: _NONE)
    status: str = "ok"
    uses_group: bool = field(default=False, metadata=NOT_STORED)

    @property
    def usable(self) -> bool:
        """Tell whether the model can predict."""
        return True

    @cached_property
    def atoms(self) -> Vector:
        """(G,) atoms on the scale of the label."""
        return self.scale[0] + self.scale[1] * self.theta

    def predictions(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Predictions:
        """Return the predictions of raw features (n, d), on the scale of the label."""
        check_features(X, len(self.feature_names))
        eta = self.base.eta(X)
        if not self.difference.size:
            return Predictions(self.scale[0] + self.scale[1] * eta, self.atoms)
        return self._randomised(eta, group_weights(self.base.tau(X), self.shares), self.difference)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Vector:
        """Conditional means (n,)."""
        return self.predictions(X).values

    @property
    def levels(self) -> Mapping[str, "GridPredictor"]:
        """Further predictors from the same base models, by tolerance."""
        return {
            repr(float(eps)): replace(self, difference=D)
            for eps, D in zip(self.level_eps, self.level_differences, strict=True)
        }

    @property
    def repeats(self) -> Mapping[str, list["GridPredictor"]]:
        """Return the same fit on other drawn rows, by tolerance."""
        predictors: dict[str, list[GridPredictor]] = {}
        for eps, D in zip(self.repeat_eps, self.repeat_differences, strict=True):
            predictors.setdefault(repr(float(eps)), []).append(replace(self, difference=D))
        return predictors

    @property
    def traced(self) -> tuple[str, ...] | None:
        """Return the metrics to follow along the optimiser's path; ``None`` if it was not recorded."""
        return TRACED if self.trace_steps.size else None

    def on_the_way(self, X: Matrix) -> Iterator[tuple[int, Predictions]]:
        """Yield (steps done, predictions of X) along the recorded path."""
        check_features(X, len(self.feature_names))
        eta, weights = self.base.eta(X), group_weights(self.base.tau(X), self.shares)
        for count, difference in zip(self.trace_steps.tolist(), self.trace, strict=True):
            yield count, self._randomised(eta, weights, difference.astype(np.float64))

    def _randomised(self, eta: Vector, weights: Vector, difference: Vector) -> Predictions:
        logits = self.beta * (weights @ difference - (eta[:, None] - self.theta) ** 2)
        return Predictions.randomised(self.atoms, softmax(logits))


MODEL = GridPredictor


def group_weights(tau: Vector, shares: Vector) -> Vector:
    """``t_s = 1 - tau_s / p_s`` (N, K) of group probabilities (N, K) and shares (K,)."""
    return np.asarray(1.0 - tau / shares)


def softmax(logits: Vector) -> Vector:
    """Return the shares (n, J) of each row, from logits (n, J) whose largest is taken off first."""
    weights: Vector = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
