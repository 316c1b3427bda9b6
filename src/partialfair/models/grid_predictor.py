"""Linear base models, and a randomised choice among atoms made from them: what post-processing gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.fair_dual import group_weights, softmax
from partialfair.algorithms.regression.plug_ins import PlugIns
from partialfair.errors import DataError
from partialfair.models.predictions import Predictions
from partialfair.tables.dataset import Matrix
from partialfair.tables.files import atomic_path

Vector = NDArray[np.float64]
TRACED = ("risk", "ks_group_0", "ks_group_1")
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class GridPredictor:
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
        trace_steps, trace: (q,) steps of the optimiser, and (q, K, G) D at them.
        status: "ok", or why it should not be used.
    """

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
    trace_steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    trace: NDArray[np.floating] = field(default_factory=lambda: _NONE)
    status: str = "ok"
    uses_group: bool = False

    @property
    def usable(self) -> bool:
        """Whether the model can predict."""
        return True

    @cached_property
    def atoms(self) -> Vector:
        """(G,) atoms on the scale of the label."""
        return self.scale[0] + self.scale[1] * self.theta

    def predictions(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Predictions:
        """Predictions of raw features (n, d), on the scale of the label."""
        self._check(X)
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
    def traced(self) -> tuple[str, ...] | None:
        """Metrics to follow along the optimiser's path; ``None`` if it was not recorded."""
        return TRACED if self.trace_steps.size else None

    def on_the_way(self, X: Matrix) -> Iterator[tuple[int, Predictions]]:
        """Yield (steps done, predictions of X) along the recorded path."""
        self._check(X)
        eta, weights = self.base.eta(X), group_weights(self.base.tau(X), self.shares)
        for count, difference in zip(self.trace_steps.tolist(), self.trace, strict=True):
            yield count, self._randomised(eta, weights, difference.astype(np.float64))

    def _randomised(self, eta: Vector, weights: Vector, difference: Vector) -> Predictions:
        logits = self.beta * (weights @ difference - (eta[:, None] - self.theta) ** 2)
        return Predictions.randomised(self.atoms, softmax(logits))

    def _check(self, X: Matrix) -> None:
        if X.shape[1] != len(self.feature_names):
            raise DataError(f"X has {X.shape[1]} features, the model was made from {len(self.feature_names)}")

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez_compressed(
                stream,
                kind=np.array("grid_predictor"),
                regression=self.base.regression,
                classification=self.base.classification,
                shares=self.shares,
                beta=np.array(self.beta),
                theta=self.theta,
                scale=np.array(self.scale),
                difference=self.difference,
                group_names=np.array(self.group_names, np.str_),
                feature_names=np.array(self.feature_names, np.str_),
                level_eps=self.level_eps,
                level_differences=self.level_differences,
                trace_steps=self.trace_steps,
                trace=self.trace,
                status=np.array(self.status),
            )


def from_arrays(arrays: dict[str, NDArray[Any]]) -> GridPredictor:
    """The model whose arrays :meth:`GridPredictor.save` wrote."""
    return GridPredictor(
        base=PlugIns(arrays["regression"], arrays["classification"]),
        shares=arrays["shares"],
        beta=float(arrays["beta"]),
        theta=arrays["theta"],
        scale=(float(arrays["scale"][0]), float(arrays["scale"][1])),
        difference=arrays["difference"],
        group_names=tuple(arrays["group_names"].tolist()),
        feature_names=tuple(arrays["feature_names"].tolist()),
        level_eps=arrays["level_eps"],
        level_differences=arrays["level_differences"],
        trace_steps=arrays["trace_steps"],
        trace=arrays["trace"],
        status=str(arrays["status"]),
    )
