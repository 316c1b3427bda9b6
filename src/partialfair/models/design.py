"""Rows prepared for the kernels: standardised, sorted by subset, ones kept as positions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.data.dataset import Matrix
from partialfair.errors import DataError
from partialfair.kernels.row_sums import collapse, expand
from partialfair.models.features import Standardiser, selected

GATHER_DENSITY = 0.5  # a binary column with fewer ones than this share is cheaper gathered than multiplied
LARGEST_CODE = 256  # combinations per code; more would push the tables out of the first-level cache


@dataclass(frozen=True, eq=False)
class GroupedDesign:
    """Rows of one training set in the order and layout of the kernels.

    A weight table has d+2 positions per group: 0 = intercept, 1..d = features, d+1 = a zero for rows with fewer
    ones. The kernels use a wider, "coded" table: combinations of ones that occur together get an entry of their
    own, so that a row needs fewer additions (a9a: 5 codes instead of 13 ones, and 0.6 of the time per step).

    Attributes:
        order: (n,) original row of each stored row.
        ones: (F, n) table positions of each row's ones, padded with d+1.
        codes: (F', n) positions of each row's combinations in the coded table.
        members: (E, M) table positions whose weights add up to each entry of the coded table, padded with d+1.
        dense: (p, n) values of the remaining columns, float32.
        dense_columns: (p,) their table positions; in the coded table they stand at 1..p.
        starts: (S+1,) first row of each subset.
        subset_group: (S,) group of each subset.
        n_features: d.
    """

    order: NDArray[np.int64]
    ones: NDArray[np.unsignedinteger]
    codes: NDArray[np.unsignedinteger]
    members: NDArray[np.int64]
    dense: NDArray[np.float32]
    dense_columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    subset_group: NDArray[np.int64]
    n_features: int

    @property
    def n_rows(self) -> int:
        """Return the number of rows, n."""
        return int(self.order.size)

    @property
    def arrays(self) -> tuple[NDArray, ...]:
        """Return the leading arguments of the kernels that take a coded table."""
        return self.codes, self.dense, np.arange(1, 1 + self.dense_columns.size), self.starts, self.subset_group

    @property
    def plain_arrays(self) -> tuple[NDArray, ...]:
        """Return the leading arguments of the kernels that take a weight table."""
        return self.ones, self.dense, self.dense_columns, self.starts, self.subset_group

    def expand(self, table: NDArray) -> NDArray:
        """Coded table (..., E) of a weight table (..., d+2) whose last position is zero."""
        out = np.empty((*table.shape[:-1], len(self.members)), table.dtype)
        expand(table.reshape(-1, table.shape[-1]), self.members, out.reshape(-1, out.shape[-1]))
        return out

    def collapse(self, coded: NDArray) -> NDArray:
        """Adjoint of :meth:`expand`: (..., E) to (..., d+2)."""
        out = np.zeros((*coded.shape[:-1], self.n_features + 2), coded.dtype)
        collapse(coded.reshape(-1, coded.shape[-1]), self.members, out.reshape(-1, out.shape[-1]))
        return out

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
        dense = np.ascontiguousarray(selected(X, dense_columns), dtype=np.float32)
        if standardiser is not None and numeric.size:
            dense[:, np.searchsorted(dense_columns, numeric)] = standardiser.values(X)
        ones = _ones(X, gathered)[order]
        codes, members = _combine(ones, dense_columns + 1, d)
        return cls(
            order=order,
            ones=np.ascontiguousarray(ones.T),
            codes=codes,
            members=members,
            dense=np.ascontiguousarray(dense[order].T),
            dense_columns=dense_columns + 1,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            subset_group=np.asarray(subset_group, np.int64),
            n_features=d,
        )


def _binary_columns(X: Matrix) -> NDArray[np.bool_]:
    """Return the columns that hold zeros and ones only."""
    if isinstance(X, np.ndarray):
        return np.asarray(((X == 0) | (X == 1)).all(axis=0))
    binary = np.ones(X.shape[1], np.bool_)
    binary[X.indices[(X.data != 1) & (X.data != 0)]] = False
    return binary


def _ones(X: Matrix, gathered: NDArray[np.bool_]) -> NDArray[np.unsignedinteger]:
    """Return the positions (feature index + 1) of the ones of gathered columns, padded with d + 1, (n, F)."""
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
    ones[rows, _aligned(rows, columns, slot, d, width)] = columns + 1
    return ones


def _aligned(
    rows: NDArray[np.int64], columns: NDArray[np.integer], slot: NDArray[np.int64], d: int, width: int
) -> NDArray[np.int64]:
    """Slots that keep a feature in one place, if no row needs a place twice: fewer combinations then occur."""
    if width == 0:
        return slot
    counts = np.bincount(columns.astype(np.int64) * width + slot, minlength=d * width).reshape(d, width)
    usual = counts.argmax(axis=1)[columns]
    taken = np.bincount(rows * width + usual)
    return usual if taken.max(initial=0) <= 1 else slot


def _combine(
    ones: NDArray[np.unsignedinteger], dense_columns: NDArray[np.int64], d: int
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
    """Merge slots of ones whose combinations are few; return codes (F', n) and members (E, M).

    First fit, from the slot with the fewest values on: deterministic, and within a tenth of the best for the
    datasets at hand.
    """
    n = len(ones)
    largest = min(LARGEST_CODE, max(n // 64, 1))
    distinct = [np.unique(ones[:, j], return_inverse=True) for j in range(ones.shape[1])]
    bins: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # members (size, M), code of every row
    for values, inverse in sorted(distinct, key=lambda pair: pair[0].size):
        values = values.astype(np.int64)[:, None]
        for i, (members, code) in enumerate(bins):
            joint_code = code * len(values) + inverse
            occurs = np.flatnonzero(np.bincount(joint_code, minlength=len(members) * len(values)))
            if occurs.size <= largest:
                merged = np.hstack([members[occurs // len(values)], values[occurs % len(values)]])
                bins[i] = merged, np.searchsorted(occurs, joint_code)
                break
        else:
            bins.append((values, inverse))
    depth = max((members.shape[1] for members, _ in bins), default=1)
    tables = [np.concatenate([[0], dense_columns])[:, None], *(members for members, _ in bins)]
    padded = [np.pad(table, ((0, 0), (0, depth - table.shape[1])), constant_values=d + 1) for table in tables]
    offsets = np.cumsum([len(table) for table in tables])
    kind = np.uint16 if offsets[-1] <= np.iinfo(np.uint16).max else np.uint32
    codes = np.empty((len(bins), n), kind)
    for j, (_, code) in enumerate(bins):
        codes[j] = code + offsets[j]
    return codes, np.concatenate(padded)
