"""Lines of a scorecard that were decided where the trained runs are, and cannot be decided here."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from reproduction.verdicts.line import COLUMNS, LACKS, Line

KEY = (
    "paper", "exhibit", "kind", "section", "claim", "dataset", "algorithm", "constraint", "interval", "setting",
    "against", "published",
)  # fmt: skip
"""Columns that tell one line from another, besides the metric of what is no claim: a test may rename a claim's."""
DECIDED = ("verdict", "reproduced", "ci_low", "ci_high", "n", "statistic")
"""Columns that a line has from its own test, also where null models or other lines of its family lack their runs."""
NUMBERS = frozenset(one.name for one in fields(Line) if "None" in str(one.type))
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
    """Return the lines of ``before`` that were decided there and are in ``lines``, each with what it is there."""
    now = {key: dict(line) for key, line in _keyed(lines) if line["verdict"] != "not run"}
    stood = ((key, dict(line)) for key, line in _keyed(before) if line["verdict"] != "not run")
    return [(line, now[key]) for key, line in stood if key in now]


def difference(line: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Say in what a line was decided otherwise ``again``; empty if in nothing.

    Every column is compared, or :data:`DECIDED` where something that it was looked for in is not here.
    """
    for name in DECIDED if again.get(LACKS) else COLUMNS:
        if line.get(name, "") != again.get(name, ""):
            where = ", ".join(str(line[key]) for key in ("exhibit", "dataset", "algorithm", "metric") if line[key])
            return f"{name} of {where} is {line.get(name)!r}, the results give {again.get(name)!r}"
    return ""


def keep(lines: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``lines``, but as they were ``before`` where something lacks (:data:`~reproduction.verdicts.line.LACKS`).

    A claim stays as a whole, with all its comparisons, and so do questions that an exhibit asks of each of its runs,
    which it does not ask where there are none. What was not decided before is as it is found here.
    """
    keyed = list(_keyed(lines))
    stood: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, line in _keyed(before):
        stood.setdefault(_unit(key, line), []).append(dict(line))
    kept: list[dict[str, Any]] = []
    taken = set()
    for key, line in keyed:
        unit = _unit(key, line)
        own = stood.get(unit, []) if line.get(LACKS) else []
        if all(one["verdict"] == "not run" for one in own):
            kept.append(dict(line))
        elif unit not in taken:  # else the claim is in already, with all its comparisons
            kept += own
            taken.add(unit)
    found = {key for key, _ in keyed}
    asked = (line for key, (line, *_) in stood.items() if key not in found and not line["claim"])
    return kept + [line for line in asked if line["kind"] == "question"]


def _unit(key: tuple[str, ...], line: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands or falls together: the comparisons of a claim, or one other line."""
    return (line["paper"], line["kind"], line["claim"]) if line.get("claim") else key


def _keyed(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Lines with what tells them apart; of equal ones (two shares of a split, say), which of them it is.

    Numbers are told apart by five digits: the file rounds them.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        every = [line.get(name, "") for name in (*KEY, *(() if line.get("claim") else ("metric",)))]
        key = tuple(f"{value:.5g}" if isinstance(value, int | float) else value for value in every)
        seen[key] += 1
        yield (*key, str(seen[key])), line


def _typed(row: Mapping[str, str]) -> dict[str, Any]:
    """A number that there is none of is left out; ``published`` is a number where it reads as one."""
    found: dict[str, Any] = {}
    for name, text in row.items():
        if name not in NUMBERS and name != "published":
            found[name] = text
        elif name == "published" or text:
            found[name] = _number(text, otherwise=text if name == "published" else None)
    return found


def _number(text: str, otherwise: str | None) -> float | str:
    """A whole number stays one, so that it is written again as it was.

    Raises:
        ValueError: the text is no number, and nothing stands in its place.
    """
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        if otherwise is None:
            raise
        return otherwise
