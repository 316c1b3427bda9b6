"""The two base models of post-processing: a regression of the label, and group probabilities, from scikit-learn.

Source: DP post-processing paper, section 6. They are kept as plain coefficients on raw features.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.models.features import dense_features
from partialfair.models.grid_predictor import PlugIns

Vector = NDArray[np.float64]


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

    features = dense_features(X)
    regression = LinearRegression().fit(features, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classification = LogisticRegression(max_iter=max_iter).fit(features, group)
    # coefficients (K, d + 1), or (1, d + 1) for two groups, the intercept last
    logits = np.column_stack([classification.coef_, classification.intercept_])
    return PlugIns(np.append(regression.coef_, regression.intercept_), logits)
