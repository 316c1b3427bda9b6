"""Columns of CSV and parquet files that people bring, with every fault named by file, column and row."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.plugins import did_you_mean

SEPARATORS = (",", ";", "\t", "|")
OTHER_FORMATS = {
    b"PAR1": "it is parquet: let its name end in .parquet",
    b"\x1f\x8b": "it is compressed by gzip: unpack it",
    b"PK\x03\x04": "it is a ZIP archive or a workbook: unpack it, or export the sheet as CSV",
}
"""Formats that people name by mistake, by their first bytes, and what to do."""


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns; no rows are read.

    Raises:
        DataError: the file is missing, empty or malformed.
    """
    _require_file(path)
    if _is_parquet(path):
        return [str(name) for name in _parquet_schema(path)]
    return _header(path)[1]


def read_columns(path: Path, wanted: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns of a file by name; those of a CSV file are texts.

    Args:
        path: a CSV file with a header line (separated by comma, semicolon, tab or bar), or a parquet file.
        wanted: names of the columns to read; by default all.

    Raises:
        DataError: the file is missing, empty or malformed, or has no such column.
    """
    _require_file(path)
    table = _read_parquet(path, wanted) if _is_parquet(path) else _read_csv(path, wanted)
    if not table.num_rows:
        raise DataError(f"{path}: there are no rows; write one line per row")
    return {name: table.column(name).to_pandas() for name in wanted or table.column_names}


def _read_csv(path: Path, wanted: Sequence[str] | None) -> Any:
    """Read columns as texts, so that a group called 'NA' or '01' stays what it is."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    separator, names = _header(path)
    chosen = names if wanted is None else list(wanted)
    _require(path, names, chosen)
    try:
        return arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=chosen, column_types=dict.fromkeys(chosen, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise DataError(_csv_fault(path, chosen, _first_line(error))) from error


def _csv_fault(path: Path, chosen: Sequence[str], text: str) -> str:
    """What is wrong with a CSV file, from the words of the reader, which counts the columns that it reads from 0."""
    if "UTF8" in text:
        number = re.search(r"column #(\d+)", text)
        known = number is not None and int(number[1]) < len(chosen)
        where = f"column {chosen[int(number[1])]!r}" if number is not None and known else "a column"
        return f"{path}: {where} holds text that is not UTF-8; save the file as UTF-8"
    if "skip initial" in text:
        return f"{path}: there are no rows; write one line per row"
    return f"{path}: not a readable CSV file ({text}); correct that line"


def _require_file(path: Path) -> None:
    if not path.is_file():
        what = "it is a folder; give a file in it" if path.is_dir() else "there is no such file; check the path"
        raise DataError(f"{path}: {what}")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; write a header line and one line per row")


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _header(path: Path) -> tuple[str, list[str]]:
    """Separator and names of the header line: the separator is the one that gives the most names.

    Raises:
        DataError: it is no UTF-8 text, a quotation mark is not closed, or a column has no name.
    """
    with path.open("rb") as stream:
        content = stream.readline()
    for begins, remedy in OTHER_FORMATS.items():
        if content.startswith(begins):
            raise DataError(f"{path}: this is no CSV file; {remedy}")
    try:
        line = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: line 1 is not UTF-8 text (byte {content[error.start]:#x} at position {error.start}); save the "
            "file as UTF-8"
        ) from error
    if line.count('"') % 2:
        raise DataError(f"{path}: a quotation mark of the header line is not closed; write every name on line 1")
    first = next(iter(line.strip("\r\n").splitlines()), "")  # a lone carriage return ends a line, too
    if not first.strip():
        raise DataError(f"{path}: line 1 is empty; write the names of the columns there")
    found = {mark: next(csv.reader([first], delimiter=mark, skipinitialspace=True)) for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: len(found[mark]))
    names = [name.strip() for name in found[separator]]
    if "" in names:
        place = names.index("")
        hint = "; pandas writes its index so, without it: to_csv(path, index=False)" if place == 0 else ""
        raise DataError(f"{path}: column {place + 1} has no name; write one name per column on line 1{hint}")
    return separator, names


def _read_parquet(path: Path, wanted: Sequence[str] | None) -> Any:
    from pyarrow import ArrowInvalid, parquet

    names = _parquet_schema(path)
    _require(path, names, names if wanted is None else wanted)
    try:
        return parquet.read_table(path, columns=None if wanted is None else list(wanted))
    except (ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file ({_first_line(error)}); write it again") from error


def _parquet_schema(path: Path) -> list[str]:
    from pyarrow import ArrowInvalid, parquet

    try:
        return list(parquet.read_schema(path).names)
    except (ArrowInvalid, OSError) as error:
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
