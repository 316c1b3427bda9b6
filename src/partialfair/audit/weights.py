"""Weights of the rows of an audit: checked, made whole numbers, and what they leave of the number of rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError
from partialfair.tables.masked import refuse_masked

TOTAL = 1 << 45
"""Sum of weights that are no whole numbers, once they are: their rounding is then far below that of a float."""
LARGEST = 1 << 52  # sum of whole weights up to which ranks are exact


def check_weights(weights: Any, n_rows: int) -> NDArray[np.float64]:
    """Weights of the rows, (n,) finite numbers, at least 0 and not all 0.

    Raises:
        DataError: naming the first unsuitable value and its row.
    """
    refuse_masked(weights, "weights")
    array = np.asarray(weights)
    if array.ndim != 1 or len(array) != n_rows:
        raise DataError(f"weights: shape {array.shape}, scores have {n_rows} rows; pass one weight per row")
    if array.dtype.kind in "cmM":
        raise DataError(f"weights: values of type {array.dtype} are no weights; pass real numbers")
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        row, value = next((row, value) for row, value in enumerate(array.tolist()) if not _is_number(value))
        raise DataError(f"weights: {value!r} in row {row} is not a number; correct or drop that row") from None
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise DataError(
            f"weights: {float(values[bad[0]]):g} in row {bad[0]} is no weight ({bad.size} such rows); pass finite "
            "numbers that are at least 0"
        )
    if not values.any():
        raise DataError("weights: all are 0, so that no row counts; give some row a positive weight")
    return values


def whole_weights(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positive weights as whole numbers: as they are where they are whole, so that a weight is repeated rows.

    Others are scaled to a sum of about ``TOTAL`` and rounded, which moves no share of rows by more than 1e-13.
    """
    total = math.fsum(weights)
    if total <= LARGEST and np.array_equal(weights, np.rint(weights)):
        return weights.astype(np.int64)
    return np.maximum(np.rint(weights * (TOTAL / total)), 1).astype(np.int64)


def effective_rows(weights: NDArray[np.int64] | None, code: NDArray[np.int64], n_codes: int) -> NDArray[np.float64]:
    """Rows of each code, (n_codes,); of weighted rows Kish's effective number, (sum w)^2 / sum w^2 (Kish, 1965)."""
    if weights is None:
        return np.bincount(code, minlength=n_codes).astype(np.float64)
    scaled = weights / weights.max()
    total = np.bincount(code, weights=scaled, minlength=n_codes)
    squares = np.bincount(code, weights=scaled**2, minlength=n_codes)
    return np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
