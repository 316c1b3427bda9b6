"""Figures in words, from the numbers they show: the alternative text of every figure on a page."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

LISTED = 6  # values of a column that are named; of more, their number is said
VALUES = 4  # columns of numbers that are described
_BESIDE = ("_low", "_high", "_sd", "_se", "n_seeds", "n_runs", "seed", "note", "kappa", "q1", "q3", "published")


def figure(title: str, source: Path) -> str:
    """Return what a figure shows, from the CSV that it was drawn with.

    Args:
        title: the first words.
        source: the CSV.

    Raises:
        FileNotFoundError: there is no such file.
    """
    with source.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    return words(title, lines)


def words(title: str, lines: Sequence[Mapping[str, str]]) -> str:
    """Return a title and what lines of text by column show: names that occur, ranges, and where a column is largest."""
    if not lines:
        return f"{title.rstrip('.')}. It shows nothing yet."
    numbers = {name: _numbers(lines, name) for name in lines[0]}
    names = [name for name, found in numbers.items() if found is None]
    sentences = [f"{title.rstrip('.')}.", _names(lines, names)]
    shown = [n for n, found in numbers.items() if found and not any(n.endswith(end) for end in _BESIDE)]
    sentences += [_range(lines, name, numbers[name] or {}, names) for name in shown[-VALUES:]]
    return " ".join(filter(None, sentences))


def _numbers(lines: Sequence[Mapping[str, str]], name: str) -> dict[int, float] | None:
    """Return the finite numbers of a column by line; ``None`` if it holds words."""
    found = {}
    for place, line in enumerate(lines):
        try:
            value = float(line[name]) if line[name] else math.nan
        except (TypeError, ValueError):
            return None
        if math.isfinite(value):
            found[place] = value
    return found


def _names(lines: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    parts = []
    for name in names:
        values = list(dict.fromkeys(line[name].replace("_", " ") for line in lines if line[name]))
        if name == "note" or not values or max(map(len, values)) > 60:
            continue
        listed = ", ".join(values) if len(values) <= LISTED else f"{len(values)} values"
        parts.append(f"{name.replace('_', ' ')}: {listed}")
    return f"By {'; '.join(parts)}." if parts else ""


def _range(lines: Sequence[Mapping[str, str]], name: str, found: Mapping[int, float], names: Sequence[str]) -> str:
    low, high = min(found, key=lambda i: found[i]), max(found, key=lambda i: found[i])
    column = name.replace("_", " ").capitalize()
    if found[low] == found[high]:
        return f"{column} is {found[low]:.3g} throughout."
    span = f"{column} runs from {found[low]:.3g} to {found[high]:.3g}"
    where = [lines[high][own].replace("_", " ") for own in names if own != "note"]
    where = [value for value in where if 0 < len(value) < 40][:3]
    return f"{span}, largest for {', '.join(where)}." if where else f"{span}."
