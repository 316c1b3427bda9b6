"""Score files: CSV or parquet, with every fault named by file, column and row."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from partialfair.audit.result import AuditResult
from partialfair.audit.run import audit_scores
from partialfair.data.columns import TableFile
from partialfair.data.missing_words import MISSING_WORDS
from partialfair.errors import DataError


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
        path: see :class:`partialfair.data.columns.TableFile`.
        score: name of the score column.
        group: names of the group columns; a text that is none may hold several, joined by commas.
        label: name of the label column.
        weight: name of the column of weights.
        options: see :func:`partialfair.audit.audit_scores`.

    Raises:
        DataError: naming file, column and row.
    """
    file = TableFile(path)
    groups = named_columns(file, group)
    column_names = [score, *groups, *(name for name in (label, weight) if name)]
    repeated = {name for name in column_names if column_names.count(name) > 1}
    if repeated:
        raise DataError(f"{path}: column {repeated.pop()!r} is given for two purposes; name each column once")
    columns = file.columns(column_names)
    record = {"file_sha256": file.sha256, "date": datetime.now(UTC).isoformat(timespec="seconds")}
    try:
        result = audit_scores(
            columns[score],
            {name: columns[name] for name in groups},
            columns[label] if label else None,
            weights=columns[weight] if weight else None,
            source=printable(Path(path).name),
            words=MISSING_WORDS,
            **options,
        )
        return replace(result, record={**result.record, **record})
    except DataError as error:
        raise DataError(f"{printable(str(path))}: {in_columns(str(error), score, groups, label, weight)}") from None


def named_columns(file: TableFile, group: str | Sequence[str]) -> list[str]:
    """Return the names of the group columns: of texts that are no column, the parts between commas."""
    texts = [group] if isinstance(group, str) else list(group)
    column_names = file.names if any("," in text for text in texts) else []
    return [name for text in texts for name in ([text] if text in column_names else map(str.strip, text.split(",")))]


def in_columns(
    text: str, score: str, groups: Sequence[str], label: str | None = None, weight: str | None = None
) -> str:
    """Say what is wrong with a sample in the words of its file: columns by name, rows from 1 after the header."""
    columns = {"scores": score, "labels": label, "weights": weight, "groups": ", ".join(groups)}
    for argument, column in ((argument, repr(name)) for argument, name in columns.items()):
        text = text.replace(f"{argument}: column '{argument}'", f"column {column}")
        text = text.replace(f"{argument}: column", "column").replace(f"{argument}: ", f"column {column}: ")
    return re.sub(r"in row (\d+)", lambda match: f"in row {int(match[1]) + 1} after the header", text)


def printable(text: str) -> str:
    """A text of the command line that can be printed and written: bytes that are no UTF-8 become their hexadecimals."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
