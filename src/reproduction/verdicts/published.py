"""Numbers printed in the papers, as typed from them into ``papers/<paper>/published.csv``."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from partialfair.data import intervals
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean
from reproduction.grid import papers


@dataclass(frozen=True)
class Published:
    """One published number; empty text where a column does not apply.

    Attributes:
        interval: as this package writes it (``0.05-0.3``).
        setting: which run of the exhibit: ``unconstrained``, ``row=2``, ``kappa=0.1;grid=10``.
        split: part of the data it speaks of, in the paper's word.
        spread, spread_kind: what is printed behind a plus-minus sign, and whether it is a ``std``; NaN if nothing.
        seeds: what the printed mean is of; ``None`` if the paper's folder does not say.
        line: where it stands in the file.
    """

    paper: str
    exhibit: str
    dataset: str
    algorithm: str
    constraint: str
    interval: str
    setting: str
    metric: str
    value: float
    split: str = ""
    spread: float = math.nan
    spread_kind: str = ""
    seeds: int | None = None
    line: int | None = field(default=None, compare=False)

    @property
    def where(self) -> str:
        """Return file and line, for messages."""
        file = papers.file(self.paper, papers.PUBLISHED)
        return f"{file}, line {self.line}" if self.line else str(file)

    @property
    def options(self) -> dict[str, str]:
        """Return the parts of ``setting`` that have a value, e.g. ``{"kappa": "0.1", "grid": "10"}``."""
        pairs = (text.partition("=") for text in self.setting.split(";"))
        return {key.strip(): value.strip() for key, equals, value in pairs if equals}

    @property
    def unconstrained(self) -> bool:
        """Whether the number belongs to the model without a constraint."""
        return self.algorithm == "unconstrained"


def load(paper: str, root: Path = Path()) -> tuple[Published, ...]:
    """Return all published numbers of a paper below the project's ``root``; none if it has no such file.

    Raises:
        DataError: the file has no such columns, a line stands twice or has no number or no readable interval.
    """
    path = papers.file(paper, papers.PUBLISHED, root)
    return _read(path, path.stat().st_mtime_ns, papers.paper(paper, root).seeds) if path.is_file() else ()


def exhibit_numbers(paper: str, exhibit: str, root: Path = Path()) -> tuple[Published, ...]:
    """Return the published numbers of one exhibit, in the paper's order."""
    return tuple(row for row in load(paper, root) if row.exhibit == exhibit)


_KEY = ("paper", "exhibit", "dataset", "algorithm", "constraint", "interval", "setting", "metric")
_REQUIRED = (*_KEY, "value")
"""Columns without which a file cannot be read."""
_OPTIONAL = ("split", "spread", "spread_kind")
"""Columns that a file may have besides."""


@cache
def _read(path: Path, changed: int, seeds: int | None) -> tuple[Published, ...]:  # ``changed`` makes a new entry
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            _check_head(path, reader.fieldnames or ())
            rows = tuple(_parse(line, path, reader.line_num, seeds) for line in reader)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: it is no text in UTF-8 ({error.reason}); save it as CSV in UTF-8") from error
    seen: dict[tuple[str, ...], Published] = {}
    for row in rows:
        key = (*(getattr(row, name) for name in _KEY), row.split)
        if key in seen:
            raise DataError(f"{path}, line {row.line}: the number of line {seen[key].line} once more; remove one")
        seen[key] = row
    return rows


def _check_head(path: Path, names: Sequence[str]) -> None:
    for name in _REQUIRED:
        if name not in names:
            raise DataError(f"{path}: there is no column {name!r}; the first line names {', '.join(_REQUIRED)}")
    for name in names:
        if name not in (*_REQUIRED, *_OPTIONAL):
            raise DataError(f"{path}: unknown column {name!r}; {did_you_mean(name, (*_REQUIRED, *_OPTIONAL))}")


def _parse(line: dict[str, str], path: Path, number: int, seeds: int | None) -> Published:
    where = f"{path}, line {number}"
    if None in line or None in line.values():
        raise DataError(f"{where}: it has not as many columns as the first line; put text with a comma in quotes")
    if line["paper"] != path.parent.name:
        raise DataError(f"{where}: paper is {line['paper']!r}; write the name of the folder, {path.parent.name}")
    try:
        interval = intervals.format_interval(line["interval"]) if line["interval"] else ""
    except ConfigError as error:
        raise DataError(f"{where}: {error}; correct the line") from error
    texts = {name: line[name] for name in _KEY} | {"interval": interval, "split": line.get("split", "")}
    spread = _number(line, "spread", where) if line.get("spread") else math.nan
    if spread < 0:
        raise DataError(f"{where}: spread is {line['spread']!r}; a spread is not negative")
    if (kind := line.get("spread_kind", "")) not in ("", "std"):
        raise DataError(f"{where}: spread_kind is {kind!r}; write std, or leave it empty")
    return Published(
        **texts,
        value=_number(line, "value", where),
        spread=spread,
        spread_kind=kind,
        seeds=seeds,
        line=number,
    )


def _number(line: dict[str, str], name: str, where: str) -> float:
    """Return the finite number in a column of a line; raise :class:`DataError` if there is none."""
    try:
        value = float(line[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}: {name} is {line[name]!r}; give a number")
    return value
