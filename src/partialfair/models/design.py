"""Rows prepared for the kernels: standardised, sorted by subset, ones kept as positions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.datasets.table import Matrix
from partialfair.errors import DataError

GATHER_DENSITY = 0.5  # a binary column with fewer ones than this share is cheaper gathered than multiplied


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Centres and scales numeric columns with training statistics; other columns stay as they are."""

    columns: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: Matrix, columns: NDArray[np.int64]) -> "Standardiser":
        """Learn mean and standard deviation of ``columns``; a constant column is only centred."""
        values = np.asarray(_dense(X, columns), dtype=np.float64)
        scale = values.std(axis=0)
        return cls(columns, values.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def values(self, X: Matrix) -> NDArray[np.float64]:
        """Standardised numeric columns, (n, p)."""
        return (np.asarray(_dense(X, self.columns), dtype=np.float64) - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class GroupedDesign:
    """Rows of one training set in the order and layout of the kernels.

    Attributes:
        order: (n,) original row of each stored row.
        ones: (n, F) positions in the weight table of each row's ones, padded with d+1.
        dense: (n, p) values of the remaining columns, float32.
        dense_columns: (p,) their positions in the weight table.
        starts: (S+1,) first row of each subset.
        subset_group: (S,) group of each subset.
        n_features: d.
    """

    order: NDArray[np.int64]
    ones: NDArray[np.unsignedinteger]
    dense: NDArray[np.float32]
    dense_columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    subset_group: NDArray[np.int64]
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.order.size)

    @property
    def arrays(self) -> tuple[NDArray, ...]:
        """The leading arguments of every kernel."""
        return self.ones, self.dense, self.dense_columns, self.starts, self.subset_group

    @classmethod
    def build(
        cls,
        X: Matrix,
        row_subset: NDArray[np.int64],
        subset_group: NDArray[np.int64],
        standardiser: Standardiser | None = None,
    ) -> "GroupedDesign":
        """Sort rows by subset (stably) and split columns into gathered ones and dense values.

        Args:
            X: (n, d) features.
            row_subset: (n,) subset of every row, 0..S-1.
            subset_group: (S,) group of every subset.
            standardiser: applied to its columns, which are then dense.
        """
        n, d = X.shape
        order = np.argsort(row_subset, kind="stable")
        counts = np.bincount(row_subset, minlength=subset_group.size)
        numeric = standardiser.columns if standardiser else np.zeros(0, np.int64)
        gathered = _binary_columns(X)
        gathered[numeric] = False
        if isinstance(X, np.ndarray):
            gathered &= X.mean(axis=0) < GATHER_DENSITY
        dense_columns = np.flatnonzero(~gathered)
        dense = np.ascontiguousarray(_dense(X, dense_columns), dtype=np.float32)
        if standardiser is not None and numeric.size:
            dense[:, np.searchsorted(dense_columns, numeric)] = standardiser.values(X)
        return cls(
            order=order,
            ones=_ones(X, gathered)[order],
            dense=np.ascontiguousarray(dense[order]),
            dense_columns=dense_columns + 1,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            subset_group=np.asarray(subset_group, np.int64),
            n_features=d,
        )


def _dense(X: Matrix, columns: NDArray[np.int64]) -> NDArray:
    """Selected columns as a dense array."""
    if isinstance(X, np.ndarray):
        return X[:, columns]
    return X.tocsc()[:, columns].toarray() if columns.size else np.zeros((X.shape[0], 0), np.float32)


def _binary_columns(X: Matrix) -> NDArray[np.bool_]:
    """Columns that hold zeros and ones only."""
    if isinstance(X, np.ndarray):
        return np.asarray(((X == 0) | (X == 1)).all(axis=0))
    binary = np.ones(X.shape[1], np.bool_)
    binary[X.indices[(X.data != 1) & (X.data != 0)]] = False
    return binary


def _ones(X: Matrix, gathered: NDArray[np.bool_]) -> NDArray[np.unsignedinteger]:
    """Positions (feature index + 1) of the ones of gathered columns, padded with d + 1, (n, F)."""
    n, d = X.shape
    kind = np.uint16 if d + 1 <= np.iinfo(np.uint16).max else np.uint32
    csr = sparse.csr_array(np.where(gathered, X, 0)) if isinstance(X, np.ndarray) else X
    if d > np.iinfo(np.uint32).max - 2:
        raise DataError(f"{d} features are more than the kernels can index")
    keep = gathered[csr.indices] & (csr.data != 0)
    rows = np.repeat(np.arange(n), np.diff(csr.indptr))[keep]
    columns = csr.indices[keep]
    per_row = np.bincount(rows, minlength=n)
    width = int(per_row.max(initial=0))
    ones = np.full((n, width), d + 1, kind)
    slot = np.arange(rows.size) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    ones[rows, slot] = columns + 1
    return ones
