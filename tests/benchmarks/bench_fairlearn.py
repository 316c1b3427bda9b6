"""fairlearn's grid search and threshold optimiser against this project under demographic parity, on training rows."""

import numpy as np

from tests.benchmarks.common import Result
from tests.benchmarks.peers import Decide, Rows, compare

BOUND = 0.01  # difference_bound of the reduction, fairlearn's default


def estimator(solver: str):
    """scikit-learn's logistic regression at its default penalty."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver=solver, max_iter=1000)


def grid_search(solver: str):
    """Grid search over the multipliers, at fairlearn's default of ten points: one classifier."""

    def fit(rows: Rows) -> Decide:
        from fairlearn.reductions import DemographicParity, GridSearch

        method = GridSearch(estimator(solver), DemographicParity(difference_bound=BOUND))
        method.fit(rows.X, rows.y, sensitive_features=rows.group)
        return lambda part: np.asarray(method.predict(part.X), float)

    return fit


def threshold_optimizer(solver: str):
    """Post-processing by randomised group thresholds: exact parity on the training rows."""

    def fit(rows: Rows) -> Decide:
        from fairlearn.postprocessing import ThresholdOptimizer

        method = ThresholdOptimizer(
            estimator=estimator(solver), constraints="demographic_parity", predict_method="predict_proba"
        )
        method.fit(rows.X, rows.y, sensitive_features=rows.group)
        return lambda part: method._pmf_predict(part.X, sensitive_features=part.group)[:, 1]

    return fit


def variants(name: str, make) -> dict:
    """With the default solver of the logistic regression, and with the one for many rows and few columns."""
    return {f"{name} over logistic regression ({solver})": make(solver) for solver in ("lbfgs", "newton-cholesky")}


def run() -> list[Result]:
    """The first is held against the target; the second does what our algorithm does, and is for information."""
    search = variants("fairlearn GridSearch", grid_search)
    thresholds = variants("fairlearn ThresholdOptimizer", threshold_optimizer)
    return [
        *compare("vs_fairlearn_grid_search_time", search, ">= 5", repeats=1),
        *compare("vs_fairlearn_threshold_optimizer_time", thresholds, None, repeats=3, randomised=True),
    ]
