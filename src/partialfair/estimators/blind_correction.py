"""Scores without the group at prediction: a linear function of a classifier's score and the chances of the groups."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partialfair.estimators.classifier import PartialFairClassifier

Vector = NDArray[np.float64]


def corrected_columns(scores: Vector, chances: ArrayLike) -> Vector:
    """Return the columns (n, 2 G - 1) of the linear function.

    Args:
        scores: (n,) of the classifier.
        chances: (n, G) of the groups, by a classifier of the group.

    Returns:
        The score, the chances of all groups but the first, and the products of both.
    """
    group_chances = np.asarray(chances, np.float64)[:, 1:]
    return np.column_stack([scores, group_chances, scores[:, None] * group_chances])


def fit_correction(model: Any, columns: Vector, y: Any, groups: Any, weights: Vector | None) -> None:
    """Fit the linear function under the constraint, and take over what it says of itself.

    Args:
        model: an estimator with the settings of the constraint; gets ``correction_``, ``map_``, ``interval_``,
            ``status_``, ``train_violation_``, ``sampling_band_`` and ``promise_``.
        columns: of :func:`corrected_columns`, on rows that neither classifier has seen.
        y: (n,) labels.
        groups: (n,) names.
        weights: (n,) in the loss, or ``None``.
    """
    correction = PartialFairClassifier(
        interval=model.interval, kappa=model.kappa, kappa_scale=model.kappa_scale, uses_group=False,
        confidence=model.confidence,
    )  # fmt: skip
    correction.fit(columns, y, sensitive_features=groups, sample_weight=weights)
    model.correction_, model.map_ = correction, None
    for name in ("interval_", "status_", "train_violation_", "sampling_band_", "promise_"):
        setattr(model, name, getattr(correction, name))
