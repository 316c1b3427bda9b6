"""Score files: CSV or parquet, with every fault named by file, column and row."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.audit.result import AuditResult
from partialfair.audit.run import audit_scores
from partialfair.errors import DataError
from partialfair.tables.columns import column_names, read_columns
from partialfair.tables.files import sha256


def audit_file(
    path: str | Path,
    *,
    score: str,
    group: str | Sequence[str],
    label: str | None = None,
    weight: str | None = None,
    **options: Any,
) -> AuditResult:
    """Audit a score file.

    Args:
        path: a CSV file with a header line (separated by comma, semicolon, tab or bar), or a parquet file.
        score: name of the score column.
        group: names of the group columns; a text that is none may hold several, joined by commas.
        label: name of the label column.
        weight: name of the column of weights.
        options: see :func:`partialfair.audit.audit_scores`.

    Raises:
        DataError: naming file, column and row.
    """
    groups = named_columns(path, group)
    wanted = [score, *groups, *(name for name in (label, weight) if name)]
    repeated = {name for name in wanted if wanted.count(name) > 1}
    if repeated:
        raise DataError(f"{path}: column {repeated.pop()!r} is given for two purposes; name each column once")
    columns = read_columns(Path(path), wanted)
    record = {"file_sha256": sha256(path), "date": datetime.now(UTC).isoformat(timespec="seconds")}
    try:
        result = audit_scores(
            scores_of(columns[score], score),
            {name: columns[name] for name in groups},
            columns[label] if label else None,
            weights=numbers_of(columns[weight], weight, "weight") if weight else None,
            source=Path(path).name,
            **options,
        )
        return replace(result, record={**result.record, **record})
    except DataError as error:
        raise DataError(f"{path}: {in_columns(str(error), score, groups, label, weight)}") from None


def named_columns(path: str | Path, group: str | Sequence[str]) -> list[str]:
    """Names of the group columns: of texts that are no column, the parts between commas."""
    texts = [group] if isinstance(group, str) else list(group)
    known = column_names(Path(path)) if any("," in text for text in texts) else []
    return [name for text in texts for name in ([text] if text in known else map(str.strip, text.split(",")))]


def in_columns(
    text: str, score: str, groups: Sequence[str], label: str | None = None, weight: str | None = None
) -> str:
    """Say what is wrong with a sample in the words of its file: columns by name, rows from 1 after the header."""
    text = text.replace("labels: column 'labels'", f"column {label!r}")
    text = text.replace("labels: column", "column").replace("groups: column", "column")
    prefixes = (
        ("scores:", f"column {score!r}:"),
        ("labels:", f"column {label!r}:"),
        ("weights:", f"column {weight!r}:"),
    )
    for prefix, replacement in (*prefixes, ("groups:", f"column {', '.join(groups)!r}:")):
        if text.startswith(prefix):
            text = replacement + text.removeprefix(prefix)
    return re.sub(r"in row (\d+)", lambda match: f"in row {int(match[1]) + 1} after the header", text)


def scores_of(column: Any, name: str) -> Any:
    """Scores of a column; see :func:`numbers_of`."""
    return numbers_of(column, name, "score")


def numbers_of(column: Any, name: str, what: str) -> Any:
    """Numbers of a text column.

    Args:
        column: as read.
        name: of the column.
        what: they are: a score, a weight.

    Raises:
        DataError: a text that is no finite number, with its row, counted from 1 after the header; dates or durations.
    """
    import pandas as pd

    use = "ranked as scores" if what == "score" else f"{what}s"
    if getattr(column.dtype, "kind", "O") in "mMc":  # pandas makes numbers of them: nanoseconds
        raise DataError(f"column {name!r}: values of type {column.dtype} cannot be {use}; pass real numbers")
    values = pd.to_numeric(column, errors="coerce").astype("float64")
    bad = values.isna() | values.isin([float("inf"), float("-inf")])
    if bad.any():
        row = int(bad.to_numpy().argmax())
        value = column.iloc[row]
        value = value.item() if isinstance(value, np.generic) else value
        shown = "a collection" if np.ndim(value) else repr(value)
        raise DataError(
            f"column {name!r}, row {row + 1} after the header: {what} {shown} is not a finite number "
            f"({int(bad.sum())} such rows); {_remedy(value)}"
        )
    return values.to_numpy()


def _remedy(value: Any) -> str:
    """What to do about a score that is no number; what a comma means is not guessed where it can mean two things."""
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text):
        return "leave out commas that divide thousands, and write points for decimal ones: this one can be either"
    if re.fullmatch(r"-?[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})", text):
        return "leave out the commas that divide thousands"
    return "write decimal points for commas" if re.fullmatch(r"-?\d*,\d+", text) else "correct or drop them"
