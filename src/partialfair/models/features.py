"""Features of rows as the models read them: numeric columns standardised, further columns appended.

Compiled kernels read another layout (:class:`partialfair.models.design.GroupedDesign`), in which a row costs as many
additions as it has ones; everything else is built here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.data.dataset import Matrix


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Centres and scales numeric columns with training statistics; other columns stay as they are."""

    columns: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: Matrix, columns: NDArray[np.int64]) -> "Standardiser":
        """Learn mean and standard deviation of ``columns``; a constant column is only centred."""
        values = np.asarray(selected(X, columns), dtype=np.float64)
        scale = values.std(axis=0)
        return cls(columns, values.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def values(self, X: Matrix) -> NDArray[np.float64]:
        """Standardised numeric columns, (n, p)."""
        return (np.asarray(selected(X, self.columns), dtype=np.float64) - self.mean) / self.scale

    def fault(self, n_features: int) -> str:
        """Say why it does not fit rows of ``n_features`` columns; empty if it does."""
        columns = self.columns
        if columns.size and (columns.min() < 0 or columns.max() >= n_features):
            return f"numeric column {columns.max()} is none of its {n_features} features"
        if {columns.shape} != {self.mean.shape, self.scale.shape}:
            return "numeric columns, their means and their scales differ in number"
        return "" if (self.scale > 0).all() else "a scale is not positive"


def selected(X: Matrix, columns: NDArray[np.int64]) -> NDArray[Any]:
    """Some columns as a dense array."""
    if isinstance(X, np.ndarray):
        return X[:, columns]
    return X.tocsc()[:, columns].toarray() if columns.size else np.zeros((X.shape[0], 0), np.float32)


def dense_features(
    X: Matrix, standardiser: Standardiser | None = None, appended: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Return the features (n, d) in double precision, numeric columns standardised, then the appended columns (n, q).

    Where there is nothing to do, this is X itself.
    """
    changed = standardiser is not None and standardiser.columns.size > 0
    rows = X if isinstance(X, np.ndarray) else X.toarray()
    dense = np.array(rows, np.float64, copy=True if changed else None)
    if standardiser is not None and changed:
        dense[:, standardiser.columns] = standardiser.values(X)
    return dense if appended is None else np.hstack([dense, appended])


def features(X: Matrix, standardiser: Standardiser | None = None, appended: NDArray[Any] | None = None) -> Matrix:
    """Return the same of sparse rows as a sparse matrix, and of dense rows as a dense one."""
    if isinstance(X, np.ndarray):
        return dense_features(X, standardiser, appended)
    matrix = sparse.csr_array(X, dtype=np.float64)
    if standardiser is not None and standardiser.columns.size:
        columns, values = standardiser.columns, standardiser.values(X)
        kept_columns = np.ones(X.shape[1])
        kept_columns[columns] = 0.0
        places = (np.repeat(np.arange(X.shape[0]), columns.size), np.tile(columns, X.shape[0]))
        numeric = sparse.csr_array((values.ravel(), places), shape=X.shape)
        matrix = sparse.csr_array(matrix @ sparse.diags_array(kept_columns) + numeric)
    if appended is not None:
        matrix = sparse.csr_array(sparse.hstack([matrix, sparse.csr_array(appended)], format="csr"))
        matrix.sort_indices()
    return matrix


def group_indicators(group: NDArray[np.integer], n_groups: int, first: int = 1) -> NDArray[np.float64]:
    """Indicators (n, G - first) of the groups from ``first`` on; the first group is the reference by default."""
    return (np.asarray(group)[:, None] == np.arange(first, n_groups)).astype(np.float64)
