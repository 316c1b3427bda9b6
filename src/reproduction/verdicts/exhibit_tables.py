"""Numbers that a claim takes from the CSV of an exhibit, by seed."""

import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from reproduction.verdicts.claim import FromTable

Values = dict[int, float]


@cache
def _of(path: Path, changed: int) -> pd.DataFrame:  # ``changed`` makes a rewritten file a new entry
    return pd.read_csv(path)


@cache
def _places(path: Path, changed: int, columns: tuple[str, ...]) -> dict[Any, Any]:
    """Row numbers by the values of some columns: claims ask for the rows of a method hundreds of times."""
    found = _of(path, changed).groupby(list(columns), sort=False).indices
    return {key if isinstance(key, tuple) else (key,): rows for key, rows in found.items()}


def _version(root: Path, source: FromTable) -> tuple[Path, int] | None:
    """Where the table lies and when it was written, or ``None`` before the exhibit has been drawn."""
    path = root / "reports" / source.exhibit / f"{source.exhibit}.csv"
    return (path, path.stat().st_mtime_ns) if path.is_file() else None


def read(root: Path, source: FromTable) -> pd.DataFrame | None:
    """The table, or ``None`` before the exhibit has been drawn."""
    version = _version(root, source)
    return None if version is None else _of(*version)


def unreadable(root: Path, source: FromTable) -> str:
    """Why a table cannot be read as the claim needs it; empty if it can."""
    table = read(root, source)
    if table is None:
        return f"{source.exhibit} has not been drawn"
    absent = [name for name in source.columns if name not in table]
    return f"{source.exhibit}.csv has no column {', '.join(absent)}; draw it anew" if absent else ""


class _Rows(NamedTuple):
    """Which rows and columns of a table."""

    path: Path
    changed: int  # when; makes a rewritten file another
    columns: tuple[str, ...]
    value: str
    wanted: tuple[tuple[str, Any], ...]


def _wanted(root: Path, source: FromTable, dataset: str, method: str) -> _Rows | None:
    """The rows of one method, or ``None`` of a table that cannot be read."""
    version = _version(root, source)
    if version is None or unreadable(root, source):
        return None
    wanted = source.where | ({source.method: method} if method else {}) | ({"dataset": dataset} if dataset else {})
    return _Rows(*version, _used(source), source.value, tuple(wanted.items()))


def _used(source: FromTable) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for n in (source.value, source.seed, source.x, source.ends, source.across) if n))


# Claims ask for the same rows four times each, for one comparison after the other.
@cache
def _rows(of: _Rows) -> pd.DataFrame:
    table = _of(of.path, of.changed)[list(of.columns)]
    if of.wanted:
        columns, cells = zip(*of.wanted, strict=True)
        table = table.iloc[_places(of.path, of.changed, columns).get(cells, [])]
    return table[table[of.value].notna()]


@cache
def _runs(of: _Rows, seed: str) -> dict[int, pd.DataFrame]:
    return {int(number): own for number, own in _rows(of).groupby(seed, sort=True)}


def rows_of(root: Path, source: FromTable, dataset: str, method: str) -> pd.DataFrame:
    """Rows of one method of an exhibit's table, of the columns that are used; not to be written to."""
    of = _wanted(root, source, dataset, method)
    return pd.DataFrame(columns=list(_used(source))) if of is None else _rows(of)


def runs(root: Path, source: FromTable, dataset: str, method: str) -> dict[int, pd.DataFrame]:
    """Such rows by seed; a table without seeds is one run."""
    of = _wanted(root, source, dataset, method)
    if of is None or source.seed is None:
        return {} if of is None or _rows(of).empty else {0: _rows(of)}
    return _runs(of, source.seed)


def values(
    root: Path, source: FromTable, dataset: str, method: str, end: float = math.inf, most: Values | None = None
) -> Values:
    """The number by seed, of a curve up to ``end``, where the column ``ends`` is at most ``most`` at the seed."""
    found = {}
    for seed, own in runs(root, source, dataset, method).items():
        own = part(own, source, end)
        if most is not None and source.ends is not None:
            own = own[own[source.ends] <= most.get(seed, math.nan) + 1e-12]
        numbers = own[source.value] - source.beyond if source.beyond else own[source.value]
        if source.first is not None:
            numbers = numbers.abs() if source.first == "magnitude" else numbers.clip(lower=0.0)
        if len(numbers) > (source.reduce == "spread"):
            reduce = {"last": lambda n: n.iloc[-1], "spread": lambda n: n.max() - n.min()}.get(source.reduce)
            found[seed] = float(reduce(numbers) if reduce else getattr(numbers, source.reduce)())
    return found


def part(rows: pd.DataFrame, source: FromTable, end: float) -> pd.DataFrame:
    """The rows of one run that count."""
    if source.x is not None and len(rows):
        rows = rows[rows[source.x] <= end].sort_values(source.x)
        rows = rows[rows[source.x] >= source.after * rows[source.x].max()]
    return rows


def in_common(root: Path, source: FromTable, dataset: str, methods: list[str]) -> list[Values]:
    """The numbers of two methods at equal work, or where both reach what the two runs of a seed end with."""
    both = [runs(root, source, dataset, name) for name in methods]
    end, most = math.inf, None
    if source.common and source.x is not None and all(both):
        end = source.work * min(float(own[source.x].max()) for found in both for own in found.values())
    if source.ends is not None and source.x is not None:
        last = [{s: float(own.sort_values(source.x)[source.ends].iloc[-1]) for s, own in f.items()} for f in both]
        most = {seed: max(last[0][seed], last[1][seed]) for seed in last[0].keys() & last[1].keys()}
    found = [values(root, source, dataset, name, end, most) for name in methods]
    if source.work < 1 and source.reduce == "min":  # nothing within the constraint so far is worse than anything
        found = [dict.fromkeys(own, math.inf) | there for own, there in zip(both, found, strict=True)]
    return found
