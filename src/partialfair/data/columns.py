"""Columns of CSV and parquet files that people bring, with every fault named by file, column and row."""

import bz2
import csv
import gzip
import hashlib
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.plugins import did_you_mean

SEPARATORS = (",", ";", "\t", "|")
STANDARD_INPUT = "-"

_AS_CSV = "write it as CSV or parquet"
OTHER_FORMATS = {
    b"PAR1": "it is parquet: let its name end in .parquet",
    b"PK\x03\x04": "it is a ZIP archive or a workbook (.xlsx, .ods): unpack it, or export the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "it is a workbook of old Excel (.xls): export the sheet as CSV",
    b"ARROW1": f"it is Feather, Arrow's own format: {_AS_CSV}",
    b"FEA1": f"it is Feather, Arrow's own format: {_AS_CSV}",
    **{bytes((0x80, protocol)): f"it holds pickled objects of Python: {_AS_CSV}" for protocol in range(2, 6)},
    b"\x89HDF": f"it is HDF5: {_AS_CSV}",
    b"\x93NUMPY": f"it is an array of NumPy: {_AS_CSV}",
    b"SQLite format 3": f"it is an SQLite database: {_AS_CSV}",
    b"$FL": f"it is of SPSS: {_AS_CSV}",
    b"<stata_dta>": f"it is of Stata: {_AS_CSV}",
    b"ORC": f"it is ORC: {_AS_CSV}",
    b"Obj\x01": f"it is Avro: {_AS_CSV}",
    b"RDX": f"it is of R: {_AS_CSV}",
    b"X\n": f"it is of R: {_AS_CSV}",
    b"\x04\x22\x4d\x18": "it is compressed by LZ4: unpack it",
    b"%PDF": "it is a PDF: export the table as CSV",
    b"\x89PNG": "it is a picture",
    b"<html": f"it is a web page: {_AS_CSV}",
    b"<!DOCTYPE": f"it is a web page: {_AS_CSV}",
    b"<?xml": f"it is XML: {_AS_CSV}",
    b"\xff\xfe": "it is text in UTF-16: save it as UTF-8",
    b"\xfe\xff": "it is text in UTF-16: save it as UTF-8",
    b'{"': f"it is JSON: {_AS_CSV}",
    b"[{": f"it is JSON: {_AS_CSV}",
}
"""Formats that people name by mistake, by their first bytes, and what to do."""
OTHER_SUFFIXES = {
    ".sas7bdat": f"it is of SAS: {_AS_CSV}", ".xpt": f"it is of SAS: {_AS_CSV}", ".dta": f"it is of Stata: {_AS_CSV}",
}  # fmt: skip
"""Formats whose first bytes say little, by the ends of their names."""


def _of_zstd(content: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return bytes(stream.read())


COMPRESSED: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ\x00": ("xz", lzma.decompress),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _of_zstd),
}
"""Compressions that are undone, by their first bytes."""
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


class TableFile:
    """A CSV or parquet file, or what comes through a pipe, whose bytes are read at most once.

    Args:
        path: a CSV file with a header line (separated by comma, semicolon, tab or bar), or a parquet file; either may
            be compressed by gzip, bzip2, xz or Zstandard. "-" is the standard input.

    Raises:
        DataError: there is no such file, it is a folder or empty, cannot be unpacked, or is of another format.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._content = self._loaded()
        self.is_parquet = self._begins(b"PAR1") if self._content is not None else _is_parquet(self.path)
        if not self.is_parquet:
            for begins, remedy in OTHER_FORMATS.items():
                if self._begins(begins):
                    raise DataError(f"{path}: this is no CSV file; {remedy}")
            if (remedy := OTHER_SUFFIXES.get(self.path.suffix.lower(), "")) or self._begins(b"ustar", 257):
                raise DataError(f"{path}: this is no CSV file; {remedy or 'it is a tar archive: unpack it'}")

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the bytes as they came, in hexadecimal digits."""
        if self._arrived is not None:
            return hashlib.sha256(self._arrived).hexdigest()
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the columns.

        Raises:
            DataError: the header line or the file's schema cannot be read.
        """
        if not self.is_parquet:
            return self._header[1]
        from pyarrow import ArrowInvalid, parquet

        try:
            return [str(name) for name in parquet.read_schema(self._source()).names]
        except (ArrowInvalid, OSError) as error:
            raise DataError(
                f"{self.path}: not a readable parquet file ({_first_line(error)}); write it again"
            ) from error

    @cached_property
    def index_names(self) -> tuple[str, ...]:
        """Columns of a parquet file in which pandas keeps the index of a table; to it they are no columns."""
        if not self.is_parquet:
            return ()
        from pyarrow import parquet

        return index_columns(parquet.read_schema(self._source()))

    def columns(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the columns by name; those of a CSV file are texts, and whole numbers stay so where one is missing.

        Args:
            names: names of the columns to read; by default all.

        Raises:
            DataError: the file is malformed, has no rows, or has no such column.
        """
        chosen = self.names if names is None else list(names)
        _require(self.path, self.names, chosen)
        table = self._read_parquet(chosen) if self.is_parquet else self._read_csv(chosen)
        if not table.num_rows:
            raise DataError(f"{self.path}: there are no rows; write one line per row")
        return {name: table.column(name).to_pandas(integer_object_nulls=True) for name in chosen}

    def table(self) -> Any:
        """Return a parquet file as a table of Arrow, with all that its schema says.

        Raises:
            DataError: it is malformed.
        """
        return self._read_parquet(self.names)

    def _loaded(self) -> bytes | None:
        """The bytes of a pipe or a compressed file, unpacked; ``None`` of a plain file, which Arrow opens itself."""
        path = self.path
        self._arrived: bytes | None = None
        if str(path) == STANDARD_INPUT:
            self._arrived = sys.stdin.buffer.read()
        elif path.is_dir() or not path.exists():
            fault = "it is a folder; give a file in it" if path.is_dir() else "there is no such file; check the path"
            raise DataError(f"{path}: {fault}")
        elif not path.is_file():
            self._arrived = path.read_bytes()
        if not (path.stat().st_size if self._arrived is None else self._arrived):
            raise DataError(f"{path}: the file is empty; write a header line and one line per row")
        if self._arrived is None:
            with path.open("rb") as stream:
                head = stream.read(8)
        else:
            head = self._arrived[:8]
        for begins, (name, unpack) in COMPRESSED.items():
            if head.startswith(begins):
                try:
                    return unpack(path.read_bytes() if self._arrived is None else self._arrived)
                except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
                    raise DataError(
                        f"{path}: it is compressed by {name} and cannot be unpacked ({_first_line(error)}); write it "
                        "again"
                    ) from error
        named = str(path).isascii() or str(path) == str(path).encode("utf-8", "replace").decode()
        return self._arrived if named else path.read_bytes()  # Arrow opens no file whose name is not UTF-8

    def _begins(self, mark: bytes, offset: int = 0) -> bool:
        return self._head[offset : offset + len(mark)] == mark

    @cached_property
    def _head(self) -> bytes:
        if self._content is not None:
            return self._content[:512]
        with self.path.open("rb") as stream:
            return stream.read(512)

    def _source(self) -> Any:
        """Return what Arrow reads from."""
        import pyarrow as pa

        return str(self.path) if self._content is None else pa.BufferReader(self._content)

    def _read_csv(self, chosen: Sequence[str]) -> Any:
        """Read columns as texts, so that a group called 'NA' or '01' stays what it is."""
        import pyarrow as pa

        try:
            return self._csv_columns(chosen, pa.string())
        except (pa.ArrowInvalid, KeyError) as error:
            raise DataError(self._csv_fault(_first_line(error))) from error

    def _csv_columns(self, chosen: Sequence[str], kind: Any) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        separator, names, lines = self._header
        with pa.OSFile(str(self.path)) if self._content is None else pa.BufferReader(self._content) as stream:
            return arrow_csv.read_csv(
                stream,
                read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=lines),
                parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=chosen, column_types=dict.fromkeys(chosen, kind), strings_can_be_null=False
                ),
            )

    def _csv_fault(self, text: str) -> str:
        """Return what is wrong with a CSV file, from the words of the reader, which counts all columns from 0."""
        if "UTF8" in text:
            number = re.search(r"column #(\d+)", text)
            where = "a column holds text" if number is None else self._no_text(self.names[int(number[1])])
            return f"{self.path}: {where} that is not UTF-8; save the file as UTF-8"
        if "skip initial" in text:
            return f"{self.path}: there are no rows; write one line per row"
        return f"{self.path}: not a readable CSV file ({text}); correct that line"

    def _no_text(self, name: str) -> str:
        """Return the first entry of a column that is no text in UTF-8."""
        import pyarrow as pa

        for row, entry in enumerate(self._csv_columns([name], pa.binary()).column(name).to_pylist()):
            try:
                entry.decode()
            except UnicodeDecodeError:
                return f"column {name!r} holds {entry!r} in row {row + 1} after the header, text"
        return f"column {name!r} holds text"

    @cached_property
    def _header(self) -> tuple[str, list[str], int]:
        """Separator and names of the header line, and the number of lines up to its end.

        The separator is the one that gives the most names, unless a first line of Excel's says it.

        Raises:
            DataError: it is no UTF-8 text, a quotation mark is not closed, or a column has no name.
        """
        path = self.path
        if self._content is None:
            with path.open("rb") as stream:
                content = stream.readline() + stream.readline()
        else:
            content = b"\n".join(self._content.split(b"\n", 2)[:2])
        begin, _, second_line = content.partition(b"\n")
        try:
            line = begin.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: line 1 is not UTF-8 text (byte {begin[error.start]:#x} at position {error.start}); save the "
                "file as UTF-8"
            ) from error
        if "\0" in line:
            raise DataError(f"{path}: line 1 has bytes of zero, as text in UTF-16 has; save the file as UTF-8")
        separators: tuple[str, ...] = SEPARATORS
        lines = 1
        if declaration := _SEPARATOR_LINE.fullmatch(line.strip(" \r\n")):
            separators, lines = (declaration[1],), 2
            line = second_line.partition(b"\n")[0].decode("utf-8", "replace")
        if line.count('"') % 2:
            raise DataError(f"{path}: a quotation mark of the header line is not closed; write every name on line 1")
        header = next(iter(line.strip("\r\n").splitlines()), "")  # a lone carriage return ends a line, too
        if not header.strip():
            raise DataError(f"{path}: line {lines} is empty; write the names of the columns there")
        names_by_separator = {
            mark: next(csv.reader([header], delimiter=mark, skipinitialspace=True)) for mark in separators
        }
        separator = max(separators, key=lambda mark: len(names_by_separator[mark]))
        names = [name.strip() for name in names_by_separator[separator]]
        if "" in names:
            position = names.index("")
            hint = "; pandas writes its index so, without it: to_csv(path, index=False)" if position == 0 else ""
            raise DataError(
                f"{path}: column {position + 1} has no name; write one name per column on line {lines}{hint}"
            )
        return separator, names, lines

    def _read_parquet(self, chosen: Sequence[str]) -> Any:
        from pyarrow import ArrowInvalid, parquet

        try:
            return parquet.read_table(self._source(), columns=list(chosen))
        except (ArrowInvalid, OSError) as error:
            raise DataError(
                f"{self.path}: not a readable parquet file ({_first_line(error)}); write it again"
            ) from error


def index_columns(schema: Any) -> tuple[str, ...]:
    """Columns in which pandas keeps the index of a table; to it they are no columns, and they say nothing of a row."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return tuple(name for name in columns if isinstance(name, str))  # an index of the rows' numbers is kept as a range


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _require(path: Path, names: Sequence[str], chosen: Sequence[str]) -> None:
    for name in chosen:
        if name not in names:
            hint = f"{did_you_mean(name, names)} (columns: {', '.join(names)})"
            raise DataError(f"{path}: there is no column {name!r}; {hint}")
        if list(names).count(name) > 1:
            raise DataError(f"{path}: column {name!r} occurs twice; rename one of them")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
