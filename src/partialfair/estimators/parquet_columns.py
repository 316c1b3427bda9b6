"""Columns of a Parquet file: read a batch at a time, with labels and groups checked as those of rows in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import lookalikes, missing_words
from partialfair.data.dataset import LARGEST
from partialfair.data.groups import text_of
from partialfair.estimators.inputs import InputError, value_errors
from partialfair.estimators.labels import binary_labels

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

Vector = NDArray[np.float64]
BATCH = 1 << 17
MOST_GROUPS = np.iinfo(np.int16).max


def opened(path: str | Path, texts: Sequence[str] = ()) -> "parquet.ParquetFile":
    """Return a Parquet file with rows, some of whose columns of texts come as codes.

    Raises:
        InputError: there is no such file, it is none, it has no rows, or two columns of one name.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the path of one Parquet file")
    try:
        file = parquet.ParquetFile(path, read_dictionary=list(texts))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; give the path of a Parquet file") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a Parquet file ({error}); write it anew") from error
    if not file.metadata.num_rows:
        raise InputError(f"{path} has no rows; give a file with at least one")
    names = file.schema_arrow.names
    if twice := [name for position, name in enumerate(names) if name in names[:position]]:
        raise InputError(f"{path}: column {twice[0]!r} occurs twice; rename one of them")
    return file


def batches(path: str | Path, columns: Sequence[str], categories: Sequence[str]) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a file, some at a time; texts of categories come as codes.

    Raises:
        InputError: the file cannot be read, or a column is missing or of a kind that cannot be used.
    """
    import pyarrow as pa
    import pyarrow.types as kinds

    types = {column.name: column.type for column in opened(path).schema_arrow}
    if absent := sorted({*columns} - {*types}):
        raise InputError(f"{path} has no column {absent[0]!r}; write it with the columns of fit_parquet")
    for name in columns:
        if kinds.is_nested(types[name]) or kinds.is_decimal(types[name]):
            raise unusable(name, types[name])
    texts = [name for name in categories if is_text(types[name])]
    file = opened(path, texts)
    try:
        yield from file.iter_batches(BATCH, columns=list(columns), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read to its end ({error}); write it anew") from error


def is_text(kind: "pa.DataType") -> bool:
    """Tell whether a column holds texts, however they are laid out: polars' are views."""
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def unusable(name: str, kind: Any) -> InputError:
    """Return the error about a column of a type that is neither numbers nor texts."""
    return InputError(f"column {name!r} has type {kind}; convert it to numbers or texts, or drop it")


def labels_of(path: str | Path, label: str) -> tuple[Vector, NDArray[Any]]:
    """Return the labels -1 and +1 (n,) of the rows of a file, and the two values (2,) that they stand for.

    Raises:
        InputError: a missing label, or fewer or more than two values.
    """
    import pyarrow.types as kinds

    codes_of_batches, offset = [], 0
    code_of_value: dict[Any, int] = {}
    for batch in batches(path, [label], ()):
        kind = batch.schema.types[0]
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not (is_text(kind) or kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind)):
            raise InputError(f"column {label!r} has type {kind}, and a label is a text, a number or a truth value")
        codes, values = encoded(batch.column(0))
        _refuse_missing(codes, values, label, offset, missing_words.MISSING_WORDS["label"])
        look = np.zeros(len(values), np.int32)
        for code in np.unique(codes):  # categories that do not occur are no labels
            look[code] = code_of_value.setdefault(values[code], len(code_of_value))
        codes_of_batches.append(look[codes])
        offset += batch.num_rows
    if len(code_of_value) != 2:
        raise InputError(f"column {label!r} has {len(code_of_value)} values; a label has two and is never missing")
    with value_errors():
        lookalikes.refuse_alike([text_of(value) for value in code_of_value], f"column {label!r}", list(code_of_value))
    values = sorted(code_of_value)
    sign = np.array([-1.0 if value == values[0] else 1.0 for value in code_of_value])
    return sign[np.concatenate(codes_of_batches)], binary_labels(np.array(values))[0]


def groups_of(path: str | Path, name: str) -> tuple[NDArray[np.int16], tuple[str, ...]]:
    """Return the codes (n,) of the groups of the rows of a file, and their names (G,) in order.

    Raises:
        InputError: a row without a group, or a number of groups that cannot be used.
    """
    codes_of_batches, offset = [], 0
    code_of_name: dict[str, int] = {}
    for batch in batches(path, [name], [name]):
        codes, batch_names = named_groups(batch.column(0), name, offset)
        look = np.array([code_of_name.setdefault(value, len(code_of_name)) for value in batch_names], np.int64)
        if len(code_of_name) > MOST_GROUPS:
            raise InputError(f"column {name!r} has more than {MOST_GROUPS} groups; cut a numeric column into bins")
        codes_of_batches.append(look[codes].astype(np.int16))
        offset += batch.num_rows
    names = tuple(sorted(code_of_name))
    with value_errors():
        lookalikes.refuse_alike(names, f"column {name!r}")
    if len(names) < 2:
        raise InputError(f"column {name!r} has one group; a fairness constraint needs at least two")
    sorted_codes = np.array([names.index(value) for value in code_of_name], np.int16)
    return sorted_codes[np.concatenate(codes_of_batches)], names


def named_groups(column: "pa.Array", name: str, offset: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the codes (n,) of the groups in a column, and their names, which are those that ``fit`` gives them.

    Args:
        column: (n,) values.
        name: of the column.
        offset: row of the file that the column begins with.

    Raises:
        InputError: a row without a group.
    """
    codes, values = encoded(column)
    _refuse_missing(codes, values, name, offset, missing_words.MISSING_WORDS["group"])
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    look = np.zeros(len(values), np.int64)
    look[occurring] = np.arange(occurring.size)
    return look[codes], tuple(text_of(values[code]) for code in occurring)


def _refuse_missing(
    codes: NDArray[np.int64], values: list[Any], name: str, offset: int, null_texts: frozenset[str]
) -> None:
    """Refuse a column with a missing value, for which some texts stand.

    Raises:
        InputError: naming the first row without a value.
    """
    missing = [code for code, value in enumerate(values) if missing_words.is_missing(value, null_texts)]
    rows = np.flatnonzero(np.isin(codes, missing)) if missing else np.zeros(0, np.int64)
    if rows.size:
        raise InputError(
            f"column {name!r} has no value in row {offset + int(rows[0])}; drop such rows, or give them a value"
        )


def numbers_of(column: "pa.Array", name: str) -> Vector:
    """Return a column of numbers, (n,).

    Raises:
        InputError: no numbers, or a missing or infinite one.
    """
    import pyarrow.types as kinds

    if not (kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_null(column.type)):
        raise InputError(f"column {name!r} has type {column.type}, and fit had numbers there; convert it to numbers")
    values = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"column {name!r} has missing or infinite numbers; impute them or drop these rows")
    if values.size and max(values.max(), -values.min()) > LARGEST:
        value = values[int(np.argmax(np.abs(values) > LARGEST))]
        raise InputError(f"column {name!r} has {value:g}, beyond {LARGEST:g}; correct it or rescale the column")
    return values


def encoded(column: "pa.Array") -> tuple[NDArray[np.int64], list[Any]]:
    """Return the codes (n,) of a column's values, and the values; a missing one, NaN too, is ``None``."""
    import pyarrow as pa

    dictionary = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    values = [None if value != value else value for value in dictionary.dictionary.to_pylist()]
    indices = dictionary.indices
    if indices.null_count or None in values:
        values = [*values, None]
        indices = indices.fill_null(len(values) - 1)
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64), values
