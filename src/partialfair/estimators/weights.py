"""Weights of rows in estimators that other models are part of: read, handed on, and counted in ranks."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from partialfair.algorithms.linear.rank_map import counts_of
from partialfair.data import intake, missing_words
from partialfair.data.weights import check_weights
from partialfair.estimators.inputs import InputError, value_errors
from partialfair.metrics.choose_interval import default_threshold, suggest_from_counts, suggest_interval

Vector = NDArray[np.float64]
RESAMPLED = 1 << 18
"""Rows that stand for rows with weights that are no whole numbers."""


def row_weights(sample_weight: Any, n_rows: int) -> Vector | None:
    """Return the weights (n,) that a person passes, or ``None``; one number is the weight of all rows.

    Raises:
        InputError: another number of weights, or one that is missing, negative or infinite, or all are 0.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    with value_errors():
        weights, missing = intake.numbers(
            sample_weight, "sample_weight", infinite="pass finite numbers", use="weights of rows"
        )
        missing_words.refuse_missing(missing, "sample_weight", sample_weight, "pass 0 for rows that do not count")
        if weights.size != n_rows:
            raise InputError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}; pass one weight per row")
        if not weights.any():
            raise InputError(
                "sample_weight is zero for all rows, so that no row counts; give some row a positive weight"
            )
        return check_weights(weights, "sample_weight")


def fitted(model: Any, X: Any, y: Any, chosen: NDArray[np.int64], weights: Vector | None) -> Any:
    """Return a model fitted on some of the rows, with their weights if there are any.

    Raises:
        InputError: there are weights, and the model takes none.
    """
    rows = (X, y) if chosen.size == len(y) else tuple(_safe_indexing(table, chosen) for table in (X, y))
    if weights is None:
        return model.fit(*rows)
    if not has_fit_parameter(model, "sample_weight"):
        raise InputError(
            f"sample_weight was passed, and {type(model).__name__} takes none; use another model, or pass it fitted "
            "with prefit=True"
        )
    return model.fit(*rows, sample_weight=weights[chosen])


def suggested_interval(
    scores: Vector, codes: NDArray[np.int64], weights: Vector | None, threshold: float | None
) -> tuple[float, float]:
    """Return what :func:`partialfair.metrics.choose_interval.suggest_interval` gives of rows with weights (n,)."""
    if weights is None:
        return suggest_interval(scores, codes, threshold=threshold).interval
    cut = default_threshold(scores) if threshold is None else threshold
    rate = float(weights[scores > cut].sum() / weights.sum())
    return suggest_from_counts(counts_of(scores, codes, int(codes.max()) + 1, weights), rate).interval


def without_unit(weights: Vector) -> Vector:
    """Return weights (n,) without their common factor, unless they are whole numbers, which stand for repeated rows.

    The mean of positive ones is 1; equal ones are exactly 1.
    """
    if _are_repetitions(weights):
        return weights
    shares = weights / weights.max()
    mean = float(shares[shares > 0].mean())
    return np.asarray((shares > 0) * 1.0 if mean > 1 - 1e-12 else shares / mean)


def repeated(weights: Vector) -> NDArray[np.int64]:
    """Return the numbers of rows, each as often as its weight (n,) says.

    Of weights that are no whole numbers, about :data:`RESAMPLED` rows at equal distances of their cumulative weight:
    the number of a row's repetitions is off by less than 1.
    """
    rows = np.arange(weights.size)
    if _are_repetitions(weights):
        return np.repeat(rows, weights.astype(np.int64))
    ends = np.cumsum(weights)
    number = max(RESAMPLED, weights.size)
    places = (np.arange(number) + 0.5) / number * ends[-1]
    return np.asarray(np.searchsorted(ends, places, side="right").clip(max=weights.size - 1))


def _are_repetitions(weights: Vector) -> bool:
    are_whole = np.array_equal(weights, np.rint(weights))
    return are_whole and bool(weights.sum() <= max(RESAMPLED, 8 * weights.size))
