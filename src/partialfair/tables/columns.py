"""Columns of CSV and parquet files that people bring, with every fault named by file, column and row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.plugins import did_you_mean

SEPARATORS = (",", ";", "\t", "|")


def read_columns(path: Path, wanted: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns of a file by name; those of a CSV file are texts.

    Args:
        path: a CSV file with a header line (separated by comma, semicolon, tab or bar), or a parquet file.
        wanted: names of the columns to read; by default all.

    Raises:
        DataError: the file is missing, empty or malformed, or has no such column.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; write a header line and one line per row")
    table = _read_parquet(path, wanted) if path.suffix.lower() in (".parquet", ".pq") else _read_csv(path, wanted)
    if not table.num_rows:
        raise DataError(f"{path}: there are no rows; write one line per row")
    return {name: table.column(name).to_pandas() for name in wanted or table.column_names}


def _read_csv(path: Path, wanted: Sequence[str] | None) -> Any:
    """Read columns as texts, so that a group called 'NA' or '01' stays what it is."""
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as stream:
        line = stream.readline()
    try:
        header = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: line 1 is not UTF-8 text (byte {line[error.start]:#x} at position {error.start}); save the file "
            "as UTF-8"
        ) from error
    separator = max(SEPARATORS, key=header.count)
    names = [name.strip().strip('"') for name in header.strip("\r\n").split(separator)]
    chosen = names if wanted is None else list(wanted)
    _require(path, names, chosen)
    try:
        return csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(
                include_columns=chosen, column_types=dict.fromkeys(chosen, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise DataError(f"{path}: not a readable CSV file ({_first_line(error)}); correct that line") from error


def _read_parquet(path: Path, wanted: Sequence[str] | None) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
        _require(path, names, names if wanted is None else wanted)
        return parquet.read_table(path, columns=None if wanted is None else list(wanted))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file ({_first_line(error)}); write it again") from error


def _require(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            hint = f"{did_you_mean(name, names)} (columns: {', '.join(names)})"
            raise DataError(f"{path}: there is no column {name!r}; {hint}")
        if list(names).count(name) > 1:
            raise DataError(f"{path}: column {name!r} occurs twice; rename one of them")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
