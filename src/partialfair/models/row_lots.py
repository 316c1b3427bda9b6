"""Lots that are drawn for rows by their content: the same row gets the same lot in every call, order and layout."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.data.dataset import Matrix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_lots(X: Matrix, salt: int = 0) -> NDArray[np.float64]:
    """Return the numbers in [0, 1), (n,), that look drawn evenly and depend on the features of a row (n, d) alone.

    The finaliser of splitmix64 (Steele, Lea and Flood 2014) mixes the single-precision bits of every entry that is not
    zero with its column; a row's sum is mixed again. Rows with equal features share a lot.

    Args:
        X: features; entries are read in single precision.
        salt: another number gives other lots.
    """
    with np.errstate(over="ignore"):
        totals = _of_columns(X) if isinstance(X, np.ndarray) else _of_entries(sparse.csr_array(X))
        mixed = _mixed(totals + np.uint64(salt % 2**32) * _GOLDEN)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _of_columns(X: NDArray[Any]) -> NDArray[np.uint64]:
    """Sums (n,) over the entries of each row of a dense matrix, column by column: quicker than by a sparse copy."""
    totals = np.zeros(len(X), np.uint64)
    for column in range(X.shape[1]):
        data = X[:, column].astype(np.float32)
        totals += np.where(data == 0, np.uint64(0), _entries(data, np.uint64(column)))
    return totals


def _of_entries(rows: Any) -> NDArray[np.uint64]:
    """Return the same of a sparse matrix by rows."""
    data = rows.data.astype(np.float32)
    mixed = np.where(data == 0, np.uint64(0), _entries(data, rows.indices.astype(np.uint64)))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _entries(data: NDArray[np.float32], columns: Any) -> NDArray[np.uint64]:
    """Bits of entries, mixed with their columns."""
    return _mixed(data.view(np.uint32).astype(np.uint64) + (columns + np.uint64(1)) * _GOLDEN)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)))
