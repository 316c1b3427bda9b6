"""Weights of rows: checked, made whole numbers, and what they leave of the number of rows."""

import math

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError

TOTAL = 1 << 45
"""Sum of weights that are no whole numbers, once they are: their rounding is then far below that of a float."""
LARGEST = 1 << 52  # sum of whole weights up to which ranks are exact


def check_weights(weights: NDArray[np.float64], subject: str = "weights") -> NDArray[np.float64]:
    """Return the weights of the rows, (n,) finite numbers, at least 0 and not all 0.

    Raises:
        DataError: naming the first unsuitable value and its row, or a sum beyond double precision.
    """
    bad = np.flatnonzero(weights < 0)
    if bad.size:
        raise DataError(
            f"{subject}: {float(weights[bad[0]]):g} in row {bad[0]} is no weight ({bad.size} such rows); pass finite "
            "numbers that are at least 0"
        )
    if not weights.any():
        raise DataError(f"{subject}: all are 0, so that no row counts; give some row a positive weight")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise DataError(f"{subject}: their sum is beyond double precision; divide all by one number")
    return weights


def whole_weights(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positive weights as whole numbers: as they are where they are whole, so that a weight is repeated rows.

    Others are scaled to a sum of about ``TOTAL`` and rounded, which moves no share of rows by more than 1e-13.
    """
    if np.array_equal(weights, np.rint(weights)) and math.fsum(weights) <= LARGEST:
        return weights.astype(np.int64)
    shares = weights / weights.max()  # whose sum is no number too large or too small to divide by
    return np.maximum(np.rint(shares * (TOTAL / math.fsum(shares))), 1).astype(np.int64)


def effective_rows(weights: NDArray[np.int64] | None, code: NDArray[np.int64], n_codes: int) -> NDArray[np.float64]:
    """Rows of each code, (n_codes,); of weighted rows Kish's effective number, (sum w)^2 / sum w^2 (Kish, 1965)."""
    if weights is None:
        return np.bincount(code, minlength=n_codes).astype(np.float64)
    scaled = weights / weights.max()
    total = np.bincount(code, weights=scaled, minlength=n_codes)
    squares = np.bincount(code, weights=scaled**2, minlength=n_codes)
    return np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)


def rows_counted(weights: NDArray[np.float64] | None, code: NDArray[np.integer], n_codes: int) -> NDArray[np.float64]:
    """Rows of each code, (n_codes,): sums of whole weights, which stand for repeated rows, else Kish's number."""
    if weights is not None and np.array_equal(weights, np.rint(weights)):
        return np.asarray(np.bincount(code, weights=weights, minlength=n_codes), np.float64)
    integer_weights = None if weights is None else whole_weights(weights)
    return effective_rows(integer_weights, np.asarray(code, np.int64), n_codes)
