"""The table every dataset module produces and every algorithm reads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.data.files import UNREADABLE, atomic_path
from partialfair.data.images import ImageRows, ImageShape, map_member
from partialfair.errors import DataError

Matrix: TypeAlias = NDArray[np.float32] | sparse.csr_array

LARGEST = 1e12
"""A larger feature value is taken for a mistake: sums of its products would leave single precision."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of one learning task.

    Attributes:
        X: features, shape (n, d), float32; dense, or CSR where most entries are zero. The sensitive
            attribute is not among them. Numeric columns are raw: they are standardised with training
            statistics when a model is fitted. Where the rows are images, an :class:`ImageRows` stands here, whose
            pixels stay on disk.
        y: labels, shape (n,), float64: -1 or +1 for classification, any real for regression.
        group: group codes, shape (n,), int16, values 0..G-1.
        feature_names: d names, in column order; none where the rows are images.
        group_names: G names; ``group_names[code]`` names a group.
        name: the dataset's name.
        numeric: indices of the numeric (not one-hot) columns, shape (p,), int64.
        partition: shape (n,), int8: 0 where a row belongs to the published training file, 1 where it
            belongs to the published test file; ``None`` if the publisher made no split.
        task: ``"classification"`` or ``"regression"``.
    """

    X: Matrix
    y: NDArray[np.float64]
    group: NDArray[np.int16]
    feature_names: tuple[str, ...]
    group_names: tuple[str, ...]
    name: str
    numeric: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    partition: NDArray[np.int8] | None = None
    task: Literal["classification", "regression"] = "classification"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Return the number of features, the sensitive attribute not counted."""
        return int(self.X.shape[1])

    @property
    def image_shape(self) -> ImageShape | None:
        """Channels, height and width where the rows are images, else ``None``."""
        return self.X.image_shape if isinstance(self.X, ImageRows) else None

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return len(self.group_names)

    def take(self, rows: NDArray[np.integer]) -> "Dataset":
        """Return the dataset restricted to ``rows``, in that order."""
        return Dataset(
            X=self.X[rows],
            y=self.y[rows],
            group=self.group[rows],
            feature_names=self.feature_names,
            group_names=self.group_names,
            name=self.name,
            numeric=self.numeric,
            partition=None if self.partition is None else self.partition[rows],
            task=self.task,
        )

    def save(self, path: str | Path) -> None:
        """Write the table as an ``.npz`` file without pickled objects, atomically."""
        arrays: dict[str, Any] = {
            "y": self.y,
            "group": self.group,
            "numeric": self.numeric,
            "feature_names": np.array(self.feature_names, dtype=np.str_),
            "group_names": np.array(self.group_names, dtype=np.str_),
            "name": np.array(self.name),
            "task": np.array(self.task),
            "shape": np.array(self.X.shape, dtype=np.int64),
        }
        if self.partition is not None:
            arrays["partition"] = self.partition
        if isinstance(self.X, ImageRows):
            arrays |= {"X": self.X.array(), "image_shape": np.array(self.X.image_shape, np.int64)}
        elif isinstance(self.X, np.ndarray):
            arrays["X"] = self.X
        else:
            arrays |= {f"X_{array}": getattr(self.X, array) for array in ("data", "indices", "indptr")}
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Dataset":
        """Read a table written by :meth:`save`.

        Raises:
            DataError: the file is missing, truncated or not such a table.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files if name != "X" or "image_shape" not in stored}
            shape = tuple(arrays["shape"])
            if "image_shape" in arrays:
                channels, height, width = (int(length) for length in arrays["image_shape"])
                X: Matrix = ImageRows.of_pixels(map_member(path, "X"), (channels, height, width))
            elif "X" in arrays:
                X = arrays["X"]
            else:
                X = sparse.csr_array((arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=shape)
            return cls(
                X=X,
                y=arrays["y"],
                group=arrays["group"],
                feature_names=tuple(arrays["feature_names"].tolist()),
                group_names=tuple(arrays["group_names"].tolist()),
                name=str(arrays["name"]),
                numeric=arrays["numeric"],
                partition=arrays.get("partition"),
                task=str(arrays["task"]),  # type: ignore[arg-type]
            )
        except UNREADABLE as error:
            raise DataError(
                f"{path}: not a readable table ({error}); delete the file and prepare the dataset again"
            ) from error


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the training, validation and test parts of a dataset (int64, disjoint)."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    def save(self, path: str | Path) -> None:
        """Write the split as an ``.npz`` file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, train=self.train, validation=self.validation, test=self.test)

    @classmethod
    def load(cls, path: str | Path, n_rows: int | None = None) -> "Split":
        """Read a split written by :meth:`save`.

        Args:
            path: the file.
            n_rows: rows of the table it belongs to; they must be the ones that it divides.

        Raises:
            DataError: the file is missing, truncated, not a split, or the split of another table.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                split = cls(stored["train"], stored["validation"], stored["test"])
            rows = np.sort(np.concatenate([split.train, split.validation, split.test]))
        except UNREADABLE as error:
            raise DataError(f"{path}: not a readable split ({error}); delete the file and split again") from error
        remedy = "delete the file and split again"
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise DataError(f"{path}: row numbers are of type {rows.dtype}, not whole numbers; {remedy}")
        twice = rows[1:][rows[1:] == rows[:-1]]
        if twice.size:
            raise DataError(f"{path}: row {twice[0]} stands in two parts; {remedy}")
        if n_rows is not None and rows.size and (rows[0] < 0 or rows[-1] >= n_rows):
            row = rows[0] if rows[0] < 0 else rows[-1]
            raise DataError(f"{path}: row {row} is not one of the table's {n_rows} rows; {remedy}")
        return split


def _check(data: Dataset) -> None:
    """Refuse a table that an algorithm could not use, naming the column or row."""
    if len(data.X.shape) != 2:
        raise DataError(f"{data.name}: X has shape {data.X.shape}; give it rows and columns, (n, d)")
    n, d = data.X.shape
    for label, length, expected in (
        ("y", len(data.y), n),
        ("group", len(data.group), n),
        ("feature_names", len(data.feature_names), d if data.image_shape is None else 0),
    ):
        if length != expected:
            raise DataError(f"{data.name}: {label} has {length} entries, X has shape {(n, d)}; make them agree")
    _check_names(data)
    values = data.X if isinstance(data.X, np.ndarray) else getattr(data.X, "data", np.zeros(0))  # bytes are finite
    if not np.isfinite(values).all():
        raise DataError(f"{data.name}: {_first_bad_entry(data, np.isfinite)}; impute or drop such rows first")
    if values.size and max(values.max(), -values.min()) > LARGEST:
        entry = _first_bad_entry(data, lambda entries: np.abs(entries) <= LARGEST)
        raise DataError(f"{data.name}: {entry}, beyond {LARGEST:g}; correct it or rescale the column")
    bad_y = np.flatnonzero(~np.isfinite(data.y))
    if data.task == "classification":
        bad_y = np.flatnonzero((data.y != 1) & (data.y != -1))
    if bad_y.size:
        remedy = "map the labels to -1 and +1" if data.task == "classification" else "drop or impute such rows"
        raise DataError(f"{data.name}: label {data.y[bad_y[0]]!r} in row {bad_y[0]}; {remedy}")
    if n and (data.group.min() < 0 or data.group.max() >= data.n_groups):
        row = int(np.flatnonzero((data.group < 0) | (data.group >= data.n_groups))[0])
        raise DataError(
            f"{data.name}: group code {data.group[row]} in row {row} is outside 0..{data.n_groups - 1}; "
            "use codes that index group_names"
        )


def _check_names(data: Dataset) -> None:
    """Refuse names that stand twice, and numeric columns that do not exist."""
    for label, names in (("feature", data.feature_names), ("group", data.group_names)):
        if len(set(names)) < len(names):
            twice = next(name for position, name in enumerate(names) if name in names[:position])
            raise DataError(f"{data.name}: {label} name {twice!r} stands twice; rename one of them")
    d = data.X.shape[1]
    if data.numeric.size and (data.numeric.min() < 0 or data.numeric.max() >= d):
        raise DataError(f"{data.name}: numeric lists column {data.numeric.max()}, X has {d}; list columns 0..{d - 1}")


def _first_bad_entry(data: Dataset, is_good: Callable[[Any], Any]) -> str:
    """Describe the first entry of X that is not good."""
    if isinstance(data.X, np.ndarray):
        row, column = (int(index[0]) for index in np.nonzero(~is_good(data.X)))
        value = data.X[row, column]
    else:
        position = int(np.flatnonzero(~is_good(data.X.data))[0])
        row = int(np.searchsorted(data.X.indptr, position, side="right")) - 1
        column, value = int(data.X.indices[position]), data.X.data[position]
    return f"feature {data.feature_names[column]!r} is {value} in row {row}"
