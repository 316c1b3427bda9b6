"""Baseline scorecard: lines that were decided beside the trained runs, and cannot be decided without them."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from reproduction.verdicts.line import COLUMNS, LACKS, Line

_KEY = (
    "paper", "exhibit", "kind", "section", "claim", "dataset", "algorithm", "constraint", "interval", "setting",
    "against", "published",
)  # fmt: skip
"""Columns that tell one line from another; so does the metric, but for claims, whose metric a test may rename."""
_DECIDED = ("verdict", "reproduced", "ci_low", "ci_high", "n", "statistic")
"""Columns that follow from a line's own test, also where null models or other lines of its family lack their runs."""
_NUMBERS = frozenset(column.name for column in fields(Line) if "None" in str(column.type))
"""Columns that hold a number or nothing."""


def load(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a ``scorecard.csv``, typed as :meth:`~reproduction.verdicts.line.Line.row` types them.

    Raises:
        DataError: the file cannot be read, or is no scorecard.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise DataError(f"{path}: not a scorecard of this version; delete it and try again")
            return [_typed(row) for row in reader]
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: not readable ({error}); delete it and try again") from error


def lost(lines: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of ``before`` that were decided there and are "not run" in ``lines``."""
    undone = {key for key, line in _keyed(lines) if line["verdict"] == "not run"}
    return [dict(line) for key, line in _keyed(before) if line["verdict"] != "not run" and key in undone]


def decided_in_both(
    lines: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the lines of ``before`` that are decided in both, each with its counterpart in ``lines``."""
    now = {key: dict(line) for key, line in _keyed(lines) if line["verdict"] != "not run"}
    before_lines = ((key, dict(line)) for key, line in _keyed(before) if line["verdict"] != "not run")
    return [(line, now[key]) for key, line in before_lines if key in now]


def difference(line: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Return in words the first column in which a line differs from the same line ``again``; empty if none does.

    All columns are compared, or those of :data:`_DECIDED` where a file that the line needs is missing.
    """
    for name in _DECIDED if again.get(LACKS) else COLUMNS:
        if line.get(name, "") != again.get(name, ""):
            where = ", ".join(str(line[key]) for key in ("exhibit", "dataset", "algorithm", "metric") if line[key])
            return f"{name} of {where} is {line.get(name)!r}, the results give {again.get(name)!r}"
    return ""


def keep(lines: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``lines``, as they were ``before`` where a file is missing (:data:`~reproduction.verdicts.line.LACKS`).

    A claim is taken from ``before`` with all its comparisons, and so are the questions that an exhibit asks of each of
    its runs, which it does not ask without runs. A line that was not decided before is taken from ``lines``.
    """
    keyed = list(_keyed(lines))
    stood: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, line in _keyed(before):
        stood.setdefault(_unit(key, line), []).append(dict(line))
    result: list[dict[str, Any]] = []
    taken = set()
    for key, line in keyed:
        unit = _unit(key, line)
        before_lines = stood.get(unit, []) if line.get(LACKS) else []
        if all(earlier["verdict"] == "not run" for earlier in before_lines):
            result.append(dict(line))
        elif unit not in taken:  # else the claim is in already, with all its comparisons
            result += before_lines
            taken.add(unit)
    keys = {key for key, _ in keyed}
    questions = (line for key, (line, *_) in stood.items() if key not in keys and not line["claim"])
    return result + [line for line in questions if line["kind"] == "question"]


def _unit(key: tuple[str, ...], line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of the lines that are kept together: the comparisons of a claim, or one other line."""
    return (line["paper"], line["kind"], line["claim"]) if line.get("claim") else key


def _keyed(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield every line after its key; lines with equal keys (two shares of a split, say) are numbered.

    Numbers are compared by five digits, since the file rounds them.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        cells = [line.get(name, "") for name in (*_KEY, *(() if line.get("claim") else ("metric",)))]
        key = tuple(f"{value:.5g}" if isinstance(value, int | float) else value for value in cells)
        seen[key] += 1
        yield (*key, str(seen[key])), line


def _typed(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with its numbers, empty ones left out; ``published`` is a number where it reads as one."""
    values: dict[str, Any] = {}
    for name, text in row.items():
        if name not in _NUMBERS and name != "published":
            values[name] = text
        elif name == "published" or text:
            values[name] = _number(text, otherwise=text if name == "published" else None)
    return values


def _number(text: str, otherwise: str | None) -> float | str:
    """Return a text as a number; a whole number is an int, so that it is written again as it was.

    Raises:
        ValueError: the text is no number, and nothing stands in its place.
    """
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        if otherwise is None:
            raise
        return otherwise
