"""Numbers that a claim takes from the CSV of an exhibit, by seed."""

import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from reproduction.verdicts.claim import FromTable

Values = dict[int, float]


@cache
def _read_table(path: Path, changed: int) -> pd.DataFrame:  # ``changed`` makes a rewritten file a new entry
    return pd.read_csv(path)


@cache
def _rows_by_cells(path: Path, changed: int, columns: tuple[str, ...]) -> dict[Any, Any]:
    """Return row numbers by the cells of some columns: claims ask for the rows of a method hundreds of times."""
    groups = _read_table(path, changed).groupby(list(columns), sort=False).indices
    return {key if isinstance(key, tuple) else (key,): rows for key, rows in groups.items()}


def _version(root: Path, source: FromTable) -> tuple[Path, int] | None:
    """Return the path of the table and the time of its last change; ``None`` before the exhibit has been drawn."""
    path = root / "reports" / source.exhibit / f"{source.exhibit}.csv"
    return (path, path.stat().st_mtime_ns) if path.is_file() else None


def read(root: Path, source: FromTable) -> pd.DataFrame | None:
    """Return the table of an exhibit; ``None`` before the exhibit has been drawn."""
    version = _version(root, source)
    return None if version is None else _read_table(*version)


def unreadable(root: Path, source: FromTable) -> str:
    """Return why a table cannot be read as the claim needs it; empty if it can."""
    table = read(root, source)
    if table is None:
        return f"{source.exhibit} has not been drawn"
    absent = [name for name in source.columns if name not in table]
    return f"{source.exhibit}.csv has no column {', '.join(absent)}; draw it anew" if absent else ""


class _RowQuery(NamedTuple):
    """A selection of rows and columns of a table: key of the cache."""

    path: Path
    changed: int  # when; makes a rewritten file another
    columns: tuple[str, ...]
    value: str
    cells: tuple[tuple[str, Any], ...]


def _query(root: Path, source: FromTable, dataset: str, method: str) -> _RowQuery | None:
    """Return the selection of one method's rows; ``None`` for a table that cannot be read."""
    version = _version(root, source)
    if version is None or unreadable(root, source):
        return None
    cells = source.where | ({source.method: method} if method else {}) | ({"dataset": dataset} if dataset else {})
    return _RowQuery(*version, _used(source), source.value, tuple(cells.items()))


def _used(source: FromTable) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for n in (source.value, source.seed, source.x, source.ends, source.across) if n))


# Claims ask for the same rows four times each, for one comparison after the other.
@cache
def _rows(query: _RowQuery) -> pd.DataFrame:
    table = _read_table(query.path, query.changed)[list(query.columns)]
    if query.cells:
        columns, key = zip(*query.cells, strict=True)
        table = table.iloc[_rows_by_cells(query.path, query.changed, columns).get(key, [])]
    return table[table[query.value].notna()]


@cache
def _runs(query: _RowQuery, seed: str) -> dict[int, pd.DataFrame]:
    return {int(number): seed_rows for number, seed_rows in _rows(query).groupby(seed, sort=True)}


def rows_of(root: Path, source: FromTable, dataset: str, method: str) -> pd.DataFrame:
    """Return the rows of one method in an exhibit's table with the columns in use; do not write to them."""
    query = _query(root, source, dataset, method)
    return pd.DataFrame(columns=list(_used(source))) if query is None else _rows(query)


def runs(root: Path, source: FromTable, dataset: str, method: str) -> dict[int, pd.DataFrame]:
    """Return the rows of one method by seed; a table without seeds is one run of seed 0."""
    query = _query(root, source, dataset, method)
    if query is None or source.seed is None:
        return {} if query is None or _rows(query).empty else {0: _rows(query)}
    return _runs(query, source.seed)


def values(
    root: Path, source: FromTable, dataset: str, method: str, end: float = math.inf, most: Values | None = None
) -> Values:
    """Return the compared number of one method by seed, reduced over the rows that count.

    Args:
        root, source, dataset, method: which rows; see :func:`rows_of`.
        end: largest x of a curve.
        most: by seed, the largest value of the column ``ends``; no bound for ``None``.
    """
    reduced = {}
    for seed, rows in runs(root, source, dataset, method).items():
        rows = counted_rows(rows, source, end)
        if most is not None and source.ends is not None:
            rows = rows[rows[source.ends] <= most.get(seed, math.nan) + 1e-12]
        column = rows[source.value] - source.beyond if source.beyond else rows[source.value]
        if source.first is not None:
            column = column.abs() if source.first == "magnitude" else column.clip(lower=0.0)
        if len(column) > (source.reduce == "spread"):
            reduce = {"last": lambda n: n.iloc[-1], "spread": lambda n: n.max() - n.min()}.get(source.reduce)
            reduced[seed] = float(reduce(column) if reduce else getattr(column, source.reduce)())
    return reduced


def counted_rows(rows: pd.DataFrame, source: FromTable, end: float) -> pd.DataFrame:
    """Return the rows of one run that count: x at most ``end``, and behind the share ``after`` of the curve."""
    if source.x is not None and len(rows):
        rows = rows[rows[source.x] <= end].sort_values(source.x)
        rows = rows[rows[source.x] >= source.after * rows[source.x].max()]
    return rows


def in_common(root: Path, source: FromTable, dataset: str, methods: list[str]) -> list[Values]:
    """Return the numbers of two methods at equal work, or up to the worse end of the two runs of a seed."""
    runs_of_methods = [runs(root, source, dataset, name) for name in methods]
    end, most = math.inf, None
    if source.common and source.x is not None and all(runs_of_methods):
        end = source.work * min(float(rows[source.x].max()) for numbers in runs_of_methods for rows in numbers.values())
    if source.ends is not None and source.x is not None:
        last = [
            {s: float(rows.sort_values(source.x)[source.ends].iloc[-1]) for s, rows in f.items()}
            for f in runs_of_methods
        ]
        most = {seed: max(last[0][seed], last[1][seed]) for seed in last[0].keys() & last[1].keys()}
    numbers = [values(root, source, dataset, name, end, most) for name in methods]
    if source.work < 1 and source.reduce == "min":  # nothing within the constraint so far is worse than anything
        numbers = [
            dict.fromkeys(rows, math.inf) | by_seed for rows, by_seed in zip(runs_of_methods, numbers, strict=True)
        ]
    return numbers
