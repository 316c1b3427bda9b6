"""Lines of a scorecard that were decided where the trained runs are, and cannot be decided here."""

import csv
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.verdicts.line import COLUMNS, Line

KEY = (
    "paper", "exhibit", "kind", "section", "claim", "dataset", "algorithm", "constraint", "interval", "setting",
    "against", "published",
)  # fmt: skip
"""Columns that tell one line from another, besides the metric of what is no claim: a test may rename a claim's."""
DECIDED = ("verdict", "reproduced", "ci_low", "ci_high", "n", "statistic")
"""Columns that a line has from its own test; null models and the correction of p-values take other lines and data."""
NUMBERS = frozenset(one.name for one in fields(Line) if "None" in str(one.type))
"""Columns that hold a number or nothing."""


def load(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a ``scorecard.csv``, typed as :meth:`~partialfair.verdicts.line.Line.row` types them.

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
    """Say in what a line was decided otherwise ``again``, of its own test (:data:`DECIDED`); empty if in nothing."""
    for name in DECIDED:
        if line.get(name) != again.get(name):
            where = ", ".join(str(line[key]) for key in ("exhibit", "dataset", "algorithm", "metric") if line[key])
            return f"{name} of {where} is {line.get(name)!r}, the results give {again.get(name)!r}"
    return ""


def keep(lines: Iterable[dict[str, Any]], before: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``lines``, but those of ``before`` for every paper of which :func:`lost` finds one.

    A paper stays as a whole: p-values of its claims are corrected together, and null models of its numbers may want
    data that are missing, too, so that its other lines could be decided otherwise for want of them.
    """
    every, stood = list(lines), list(before)
    waiting = {line["paper"]: deque[dict[str, Any]]() for line in lost(every, stood)}
    for line in stood:
        if line["paper"] in waiting:
            waiting[line["paper"]].append(dict(line))
    kept = []
    for line in every:
        own = waiting.get(line["paper"])
        if own is None:
            kept.append(line)
        elif own:
            kept.append(own.popleft())
    return kept + [line for own in waiting.values() for line in own]


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
