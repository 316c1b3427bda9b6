"""Score files: CSV or parquet, with every fault named by file, column and row."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from partialfair.audit.result import AuditResult
from partialfair.audit.run import audit_scores
from partialfair.errors import DataError
from partialfair.plugins import did_you_mean

SEPARATORS = (",", ";", "\t", "|")


def audit_file(
    path: str | Path, *, score: str, group: str | Sequence[str], label: str | None = None, **options: Any
) -> AuditResult:
    """Audit a score file.

    Args:
        path: a CSV file with a header line (separated by comma, semicolon, tab or bar), or a parquet file.
        score: name of the score column.
        group: names of the group columns; one text may hold several, joined by commas.
        label: name of the label column.
        options: see :func:`partialfair.audit.audit_scores`.

    Raises:
        DataError: naming file, column and row.
    """
    groups = [name.strip() for name in group.split(",")] if isinstance(group, str) else list(group)
    wanted = [score, *groups, *([label] if label else [])]
    repeated = {name for name in wanted if wanted.count(name) > 1}
    if repeated:
        raise DataError(f"{path}: column {repeated.pop()!r} is given for two purposes; name each column once")
    columns = read_columns(Path(path), wanted)
    try:
        return audit_scores(
            _scores(columns[score], score),
            {name: columns[name] for name in groups},
            columns[label] if label else None,
            source=Path(path).name,
            **options,
        )
    except DataError as error:
        text = str(error).replace("labels: column 'labels'", f"column {label!r}").replace("groups: column", "column")
        prefixes = (("scores:", f"column {score!r}:"), ("labels:", f"column {label!r}:"))
        for prefix, replacement in (*prefixes, ("groups:", f"column {', '.join(groups)!r}:")):
            if text.startswith(prefix):
                text = replacement + text.removeprefix(prefix)
        text = re.sub(r"in row (\d+)", lambda match: f"in row {int(match[1]) + 1} after the header", text)
        raise DataError(f"{path}: {text}") from None


def read_columns(path: Path, wanted: Sequence[str]) -> dict[str, Any]:
    """Columns of a file by name; those of a CSV file are texts.

    Raises:
        DataError: the file is missing, empty or malformed, or has no such column.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; write a header line and one line per scored row")
    table = _read_parquet(path, wanted) if path.suffix.lower() in (".parquet", ".pq") else _read_csv(path, wanted)
    if not table.num_rows:
        raise DataError(f"{path}: there are no rows; write one line per scored row")
    return {name: table.column(name).to_pandas() for name in wanted}


def _read_csv(path: Path, wanted: Sequence[str]) -> Any:
    """Read the wanted columns as texts, so that a group called 'NA' or '01' stays what it is."""
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as stream:
        header = stream.readline().decode("utf-8-sig", errors="replace")
    separator = max(SEPARATORS, key=header.count)
    names = [name.strip().strip('"') for name in header.strip("\r\n").split(separator)]
    _require(path, names, wanted)
    try:
        return csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(
                include_columns=list(wanted), column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise DataError(f"{path}: not a readable CSV file ({_first_line(error)}); correct that line") from error


def _read_parquet(path: Path, wanted: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        _require(path, parquet.read_schema(path).names, wanted)
        return parquet.read_table(path, columns=list(wanted))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file ({_first_line(error)}); write it again") from error


def _require(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            hint = f"{did_you_mean(name, names)} (columns: {', '.join(names)})"
            raise DataError(f"{path}: there is no column {name!r}; {hint}")
        if list(names).count(name) > 1:
            raise DataError(f"{path}: column {name!r} occurs twice; rename one of them")


def _scores(column: Any, name: str) -> Any:
    """Numbers of a text column; the row of the first text that is none is named.

    Rows are counted from 1 after the header.
    """
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").astype("float64")
    bad = values.isna() | values.isin([float("inf"), float("-inf")])
    if bad.any():
        row = int(bad.to_numpy().argmax())
        value = column.iloc[row]
        raise DataError(
            f"column {name!r}, row {row + 1} after the header: score {value!r} is not a finite number "
            f"({int(bad.sum())} such rows); correct or drop them"
        )
    return values.to_numpy()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
