"""Lots that are drawn for rows by their content: the same row gets the same lot in every call, order and layout."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.tables.dataset import Matrix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_lots(X: Matrix, salt: int = 0) -> NDArray[np.float64]:
    """Numbers in [0, 1), (n,), that look drawn evenly and depend on the features of a row (n, d) alone.

    The finaliser of splitmix64 (Steele, Lea and Flood 2014) mixes the single-precision bits of every entry that is not
    zero with its column; a row's sum is mixed again. Rows with equal features share a lot.

    Args:
        X: features; entries are read in single precision.
        salt: another number gives other lots.
    """
    rows = sparse.csr_array(X)
    data = rows.data.astype(np.float32)
    with np.errstate(over="ignore"):
        bits = np.where(data == 0, np.float32(0), data).view(np.uint32).astype(np.uint64)
        columns = rows.indices.astype(np.uint64)
        mixed = _mixed(bits + (columns + np.uint64(1)) * _GOLDEN)
        mixed[data == 0] = 0
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        totals = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        found = _mixed(totals + np.uint64(salt % 2**32) * _GOLDEN)
    return np.asarray((found >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)))
