"""The optimiser's steps as the paper's code takes them: both base models are evaluated anew at every step.

The same points as :class:`papers.dp_postprocessing.algorithms.stochastic_approximation.DualSteps`, some hundred times
slower; kept for the comparison of times with Table 1 of the DP post-processing paper.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.dp_postprocessing.algorithms.stochastic_approximation import PlainSteps
from partialfair.algorithms.regression.fair_dual import Dual
from partialfair.models.features import dense_features
from partialfair.models.grid_predictor import PlugIns, group_weights, softmax

Vector = NDArray[np.float64]


@dataclass
class EveryStep(PlainSteps):
    """NumPy steps whose oracle asks scikit-learn models for one row at a time."""

    @classmethod
    def build(
        cls, dual: Dual, base: PlugIns, X: Any, shares: Vector, random: np.random.Generator, shift: int
    ) -> "EveryStep":
        """Steps on the rows X (N, d) of the dual's sample."""
        regression, classification = _estimators(base)
        rows, eps = dense_features(X), dual.eps[:, None]
        theta = _theta(dual, base.eta(X))

        def gradient(point: Vector) -> Vector:
            row = rows[random.integers(0, len(rows))][None]
            # equation (11): t and r of one drawn row, then t q + eps by Lambda and eps - t q by V
            weights = group_weights(classification.predict_proba(row), shares)
            costs = (regression.predict(row)[:, None] - theta) ** 2
            drift = weights.T @ softmax(dual.beta * (weights @ (point[0] - point[1]) - costs))
            return np.stack([drift + eps, eps - drift])

        return cls(gradient, shift)


def _theta(dual: Dual, eta: Vector) -> Vector:
    """The atoms that the costs of the dual are made of: a row's costs differ by ``theta^2 - 2 eta theta``."""
    lowest, highest = np.argmin(eta), np.argmax(eta)
    low, high = eta[lowest], eta[highest]
    return (dual.r[lowest] - dual.r[highest] - low**2 + high**2) / (-2 * (low - high))


def _estimators(base: PlugIns) -> tuple[Any, Any]:
    """The base models as fitted scikit-learn estimators."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    regression = LinearRegression()
    regression.coef_, regression.intercept_ = base.regression[:-1], base.regression[-1]
    classification = LogisticRegression()
    classification.coef_, classification.intercept_ = base.classification[:, :-1], base.classification[:, -1]
    classification.classes_ = np.arange(max(2, len(base.classification)))
    return regression, classification
