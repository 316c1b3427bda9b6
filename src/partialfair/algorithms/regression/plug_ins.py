"""The two base models of post-processing: a regression of the label, and group probabilities, from scikit-learn.

Source: DP post-processing paper, section 6 (spec: section 3.1). They are kept as plain coefficients on raw features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from partialfair.algorithms.regression.fair_dual import softmax

Vector = NDArray[np.float64]


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
        return np.asarray(dense(X) @ self.regression[:-1] + self.regression[-1])

    def tau(self, X: Any) -> Vector:
        """Predicted group probabilities (n, K)."""
        logits = dense(X) @ self.classification[:, :-1].T + self.classification[:, -1]
        if len(self.classification) == 1:
            positive = expit(logits)
            return np.hstack([1.0 - positive, positive])
        return softmax(logits)


def fit(X: Any, y: Vector, group: NDArray[np.integer], max_iter: int = 100) -> PlugIns:
    """Least squares with intercept, and logistic regression with scikit-learn's defaults.

    Args:
        X: (n, d) raw features.
        y: (n,) labels on the scale of the atoms.
        group: (n,) codes.
        max_iter: of the logistic regression; 100 is the default that the published numbers come from, with which it
            does not converge on unscaled features of every dataset.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LinearRegression, LogisticRegression

    features = dense(X)
    regression = LinearRegression().fit(features, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classification = LogisticRegression(max_iter=max_iter).fit(features, group)
    logits = np.column_stack([classification.coef_, classification.intercept_])
    return PlugIns(np.append(regression.coef_, regression.intercept_), logits)


def dense(X: Any) -> Vector:
    """Features as a dense array of double precision."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
