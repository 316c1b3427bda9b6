"""Rows of a Parquet file in the layout of the compiled kernels, read a batch at a time.

Numbers are held in single precision, a category as the position of its level: 10,000,000 rows of 50 numbers and 50
categories take 3 GB, a tenth of what their one-hot matrix would take. The file is read once, but for the label and the
groups, which are read before: rows of a group lie together.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import lookalikes, missing_words
from partialfair.data.columns import index_columns
from partialfair.data.groups import text_of
from partialfair.estimators.inputs import InputError, value_errors
from partialfair.estimators.parquet_columns import (
    BATCH,
    batches,
    encoded,
    groups_of,
    is_text,
    labels_of,
    numbers_of,
    opened,
    unusable,
)
from partialfair.models.design import GroupedDesign
from partialfair.models.features import Standardiser
from partialfair.plugins import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

Vector = NDArray[np.float64]
MOST_FEATURES = np.iinfo(np.uint16).max - 1
MISSING = "missing"
"""Name of the level of rows without a value."""
_NO_LEVEL = missing_words.MISSING_WORDS["category"]


@dataclass(eq=False)
class Encoding:
    """How the columns of a file become features: numbers standardised, then one feature per level of each category.

    Attributes:
        numbers, categories: names of columns, in the order of the file.
        levels: of each category, by the texts of their values (``None`` for rows without one), sorted; a value that is
            none of them is no feature.
        types: of each category, the type that its column had.
        centre: (p,) of each number, taken off in double precision before it is held in single.
        mean, scale: (p,) of what remains.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: list[dict[Any, int]] = field(default_factory=list)
    centre: Vector = field(default_factory=lambda: np.zeros(0))
    mean: Vector = field(default_factory=lambda: np.zeros(0))
    scale: Vector = field(default_factory=lambda: np.ones(0))
    types: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: "pa.Schema", left_out: Sequence[str], categories: Sequence[str]) -> "Encoding":
        """Return the columns of a file but for some: texts and truth values are categories, and those named.

        The index of a pandas table, which ``fit`` would not see either, is left out unless it is named as a category.

        Raises:
            InputError: a column that is neither, or a category that the file does not have.
        """
        import pyarrow.types as kinds

        if unknown := sorted({*categories, *left_out} - {*schema.names}):
            columns = ", ".join(schema.names[:8]) + ", ..." * (len(schema.names) > 8)
            hint = did_you_mean(unknown[0], schema.names) if len(schema.names) > 8 else ""
            raise InputError(f"the file has no column {unknown[0]!r}; " + (hint or f"its columns are {columns}"))
        numbers, named = [], []
        no_features = {*left_out} | ({*index_columns(schema)} - {*categories})
        for column in schema:
            kind = column.type
            texts = (kinds.is_dictionary, is_text, kinds.is_boolean)
            if column.name in no_features:
                continue
            if column.name in categories or any(is_kind(kind) for is_kind in texts):
                named.append(column.name)
            elif kinds.is_integer(kind) or kinds.is_floating(kind):
                numbers.append(column.name)
            else:
                raise unusable(column.name, kind)
        types = tuple(str(schema.field(name).type) for name in named)
        return cls(tuple(numbers), tuple(named), [{} for _ in named], types=types)

    @property
    def standardiser(self) -> Standardiser:
        """That of the features, whose first columns are the numbers."""
        return Standardiser(np.arange(len(self.numbers)), self.centre + self.mean, self.scale)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; the level of rows without a value is in brackets where a text is called so too."""
        names = list(self.numbers)
        for name, levels in zip(self.categories, self.levels, strict=True):
            absent = f"({MISSING})" if MISSING in levels else MISSING
            names += [f"{name}={absent if text is None else text}" for text in levels]
        return tuple(names)

    def positions(self, batch: "pa.RecordBatch", grow: bool = False) -> NDArray[np.int64]:
        """Return the numbers (q, n) of the levels of each row; -1 for an unknown one, unless it is added."""
        positions = np.empty((len(self.categories), batch.num_rows), np.int64)
        for row, name, levels in zip(positions, self.categories, self.levels, strict=True):
            codes, values = encoded(batch.column(name))
            texts = [None if missing_words.is_missing(value, _NO_LEVEL) else text_of(value) for value in values]
            if grow:
                for code in np.unique(codes):  # categories that do not occur are no levels
                    levels.setdefault(texts[code], len(levels))
            else:
                texts = _as_fitted(name, texts, levels)
            look = np.array([levels.get(text, -1) for text in texts], np.int64)
            row[:] = look[codes]
        return positions

    def values(self, batch: "pa.RecordBatch") -> NDArray[np.float32]:
        """Return the numbers (p, n) of each row less their centres.

        Raises:
            InputError: a missing or infinite number.
        """
        centred = np.empty((len(self.numbers), batch.num_rows), np.float32)
        for row, name, centre in zip(centred, self.numbers, self.centre, strict=True):
            values = numbers_of(batch.column(name), name)
            row[:] = values - centre
        return centred


@dataclass(frozen=True, eq=False)
class CodedRows:
    """All rows of a file, those of a group together.

    Attributes:
        design: features in the layout of the kernels.
        y: (n,) labels -1 and +1; group: (n,) codes.
        classes: the two labels; group_names: names of the codes.
        encoding: how columns became features.
    """

    design: GroupedDesign
    y: Vector
    group: NDArray[np.int16]
    classes: NDArray[Any]
    group_names: tuple[str, ...]
    encoding: Encoding


def read_rows(path: str | Path, label: str, sensitive_features: str, categories: Sequence[str] = ()) -> CodedRows:
    """Read a Parquet file.

    Args:
        path: the file.
        label: column with two values; the larger one is positive.
        sensitive_features: column with the groups, which is no feature.
        categories: columns of numbers that are codes.

    Raises:
        InputError: a file that cannot be read, or a column that is missing or cannot be used.
    """
    for purpose, name in (("label", label), ("sensitive_features", sensitive_features)):
        if not isinstance(name, str):
            raise InputError(f"{purpose} is {name!r}; give the name of one column")
    if label == sensitive_features:
        raise InputError(f"column {label!r} is given as label and as sensitive_features; name two columns")
    if used := sorted({*categories} & {label, sensitive_features}):
        raise InputError(
            f"categories: column {used[0]!r} is the label or the groups, which are no features; leave it out"
        )
    encoding = Encoding.of(opened(path).schema_arrow, (label, sensitive_features), categories)
    if not encoding.numbers and not encoding.categories:
        raise InputError(f"{path}: there is no column besides {label!r} and {sensitive_features!r}; add features")
    y, classes = labels_of(path, label)
    group, names = groups_of(path, sensitive_features)
    sizes = np.bincount(group, minlength=len(names))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order = np.argsort(group, kind="stable")
    dense = np.empty((len(encoding.numbers), y.size), np.float32)
    codes = np.empty((len(encoding.categories), y.size), np.uint16)
    _fill(path, encoding, group, starts, dense, codes)
    _settle(encoding, codes, categories)
    for row, mean, scale in zip(dense, encoding.mean, encoding.scale, strict=True):
        row -= np.float32(mean)
        row /= np.float32(scale)
    features = encoding.feature_names
    if twice := [name for position, name in enumerate(features) if name in features[:position]]:
        raise InputError(f"{path}: two features are called {twice[0]!r}; rename a column")
    design = _design(encoding, order, starts, dense, codes)
    return CodedRows(design, y[order], group[order], classes, names, encoding)


def block(
    batch: "pa.RecordBatch", encoding: Encoding, group: NDArray[np.int16]
) -> tuple[GroupedDesign, NDArray[np.int64]]:
    """Return the rows of a batch in the layout of the kernels, encoded as those of a file that was read before.

    Returns:
        The rows, and for each category (q,) how many of them have a value that is none of its levels.
    """
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=int(group.max()) + 1))]).astype(np.int64)
    dense = encoding.values(batch)[:, order]
    dense -= encoding.mean.astype(np.float32)[:, None]
    dense /= encoding.scale.astype(np.float32)[:, None]
    offsets, last = _places(encoding)
    positions = encoding.positions(batch)[:, order]
    codes = np.where(positions < 0, last, positions + offsets[:, None]).astype(np.uint16)
    design = _design(encoding, order, starts, np.ascontiguousarray(dense), np.ascontiguousarray(codes))
    return design, np.count_nonzero(positions < 0, axis=1)


def check_levels(unknown: NDArray[np.int64], n_rows: int, encoding: Encoding, types: Sequence[str]) -> None:
    """Say in which categories rows have a value that is none of the levels of ``fit_parquet``, and how many.

    Args:
        unknown: (q,) how many rows have such a value.
        n_rows: how many rows there are.
        encoding: that of ``fit_parquet``.
        types: of the q columns.

    Raises:
        InputError: all rows have one, and the column is of another type than in ``fit_parquet``.
    """
    before = encoding.types or types
    for name, count, then, now in zip(encoding.categories, unknown.tolist(), before, types, strict=True):
        share = f"column {name!r}: {_share(count, n_rows)} of the rows have an unknown level, of which fit had no rows"
        if count == n_rows and then != now:
            raise InputError(f"{share}; its type is {now}, and was {then} in fit: convert it to the type of fit")
        if count:
            warnings.warn(f"{share}; they count as none of the levels: check the column", UserWarning, stacklevel=5)


def _share(count: int, n_rows: int) -> str:
    share = count / n_rows
    return f"{share:.0%}" if share >= 0.01 else f"{share:.2g}"


def _as_fitted(name: str, texts: list[str | None], levels: Mapping[str | None, int]) -> list[str | None]:
    """Return the values of a column as ``fit_parquet`` has them: "1.0" is its level "1".

    Raises:
        InputError: a value looks like a level and is none.
    """
    strange = [text for text in texts if text is not None and text not in levels]
    if not strange:
        return texts
    with value_errors():
        fitted = [level for level in levels if level is not None]
        matched = lookalikes.levels_matched(list(dict.fromkeys(strange)), fitted, f"column {name!r}")
    return [text if text is None else matched.get(text, text) for text in texts]


def _fill(
    path: str | Path,
    encoding: Encoding,
    group: NDArray[np.int16],
    starts: NDArray[np.int64],
    dense: NDArray[np.float32],
    codes: NDArray[np.uint16],
) -> None:
    """Read all features to where their rows belong; learn levels, and means and deviations of numbers."""
    filled, begin = starts[:-1].copy(), 0
    count, mean, squares = 0, np.zeros(len(encoding.numbers)), np.zeros(len(encoding.numbers))
    for batch in batches(path, (*encoding.numbers, *encoding.categories), encoding.categories):
        n = batch.num_rows
        if not count:
            encoding.centre = np.array([numbers_of(batch.column(name), name).mean() for name in encoding.numbers])
        values, levels = encoding.values(batch), encoding.positions(batch, grow=True)
        if max((len(levels) for levels in encoding.levels), default=0) > MOST_FEATURES:
            raise InputError(f"a category has more than {MOST_FEATURES} levels; drop the column or merge levels")
        batch_group = group[begin : begin + n]
        for k in np.unique(batch_group):
            rows = np.flatnonzero(batch_group == k)
            target = slice(filled[k], filled[k] + rows.size)
            dense[:, target], codes[:, target] = values[:, rows], levels[:, rows]
            filled[k] += rows.size
        batch_mean = values.mean(axis=1, dtype=np.float64)
        spread = np.array(
            [np.square(row - m, dtype=np.float64).sum() for row, m in zip(values, batch_mean, strict=True)]
        )
        total = count + n
        squares += spread + np.square(batch_mean - mean) * (count * n / total)
        mean += (batch_mean - mean) * (n / total)
        count, begin = total, begin + n
    deviation = np.sqrt(squares / max(count, 1))
    encoding.mean, encoding.scale = mean, np.where(deviation > 0, deviation, 1.0)


def _settle(encoding: Encoding, codes: NDArray[np.uint16], named: Sequence[str]) -> None:
    """Sort levels by name, and turn their numbers into positions of features; columns in ``named`` are categories."""
    if len(encoding.numbers) + sum(map(len, encoding.levels)) > MOST_FEATURES:
        raise InputError(f"the categories have more than {MOST_FEATURES} levels in all; drop columns or merge levels")
    for name, levels in zip(encoding.categories, encoding.levels, strict=True):
        with value_errors():
            texts = [text for text in levels if text is not None]
            lookalikes.refuse_alike(texts, f"column {name!r}")
            if name not in named:
                lookalikes.refuse_disguised(name, texts, "write it as numbers, or name it in categories")
    before = [list(levels) for levels in encoding.levels]
    encoding.levels = [{value: j for j, value in enumerate(sorted(levels, key=str))} for levels in before]
    offsets, _ = _places(encoding)
    for row, old, new, start in zip(codes, before, encoding.levels, offsets, strict=True):
        new_codes = np.array([new[value] + start for value in old], np.uint16)
        for low in range(0, row.size, BATCH):
            row[low : low + BATCH] = new_codes[row[low : low + BATCH]]


def _places(encoding: Encoding) -> tuple[NDArray[np.int64], int]:
    """Position of the first level of each category, and the one that counts nothing."""
    sizes = [len(levels) for levels in encoding.levels]
    ends = 1 + len(encoding.numbers) + np.cumsum([0, *sizes])
    return ends[:-1].astype(np.int64), int(ends[-1])


def _design(
    encoding: Encoding,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    dense: NDArray[np.float32],
    codes: NDArray[np.uint16],
) -> GroupedDesign:
    last = _places(encoding)[1]
    return GroupedDesign(
        order=order,
        ones=codes,
        codes=codes,
        members=np.arange(last + 1)[:, None],
        dense=dense,
        dense_columns=np.arange(1, len(dense) + 1),
        starts=starts,
        subset_group=np.arange(starts.size - 1),
        n_features=last - 1,
    )
