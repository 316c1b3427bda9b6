"""Drop-first one-hot encoding straight into CSR, from integer category codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Categorical:
    """A categorical column.

    Attributes:
        name: column name.
        codes: shape (n,), integers 0..L-1.
        levels: L level names in the order of the codes; the first is the reference and gets no column.
    """

    name: str
    codes: NDArray[np.integer]
    levels: Sequence[str]

    @classmethod
    def of(cls, name: str, values: NDArray[np.str_]) -> "Categorical":
        """The column of texts ``values`` (n,), whose levels are sorted."""
        levels, codes = np.unique(values, return_inverse=True)
        return cls(name, codes, [str(level) for level in levels])


def drop_first(
    numeric: NDArray[np.float32], numeric_names: Sequence[str], categoricals: Sequence[Categorical]
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Encode a table as numeric columns followed by the drop-first indicators.

    Every entry of a numeric column is stored, zeros included, so that a model can standardise those
    columns in the matrix. No dense one-hot array is made: memory is that of the stored entries.

    Args:
        numeric: shape (n, p).
        numeric_names: p names.
        categoricals: the categorical columns.

    Returns:
        CSR matrix (float32 values, int32 indices) with p + sum(L - 1) columns, and its column names.
    """
    n, p = numeric.shape
    names = list(numeric_names)
    columns = np.empty((n, p + len(categoricals)), np.int32)
    columns[:, :p] = np.arange(p, dtype=np.int32)
    for position, column in enumerate(categoricals):
        # Level 0 is the reference: it is marked -1 and stored nowhere.
        columns[:, p + position] = np.where(column.codes > 0, column.codes.astype(np.int32) - 1 + len(names), -1)
        names += [f"{column.name}={level}" for level in column.levels[1:]]
    stored = columns >= 0
    values = np.ones(columns.shape, np.float32)
    values[:, :p] = numeric
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(stored.sum(axis=1), out=starts[1:])
    matrix = sparse.csr_array((values[stored], columns[stored], starts), shape=(n, len(names)))
    matrix.has_sorted_indices = True
    return matrix, tuple(names)
