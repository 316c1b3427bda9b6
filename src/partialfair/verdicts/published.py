"""Numbers printed in the papers, as typed from them into ``papers/<paper>/published.csv``."""

import csv
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from partialfair.errors import ConfigError, DataError
from partialfair.grid import papers
from partialfair.tables import intervals


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
        """File and line, for messages."""
        file = papers.file(self.paper, papers.PUBLISHED)
        return f"{file}, line {self.line}" if self.line else str(file)

    @property
    def options(self) -> dict[str, str]:
        """The parts of ``setting`` that have a value, e.g. ``{"kappa": "0.1", "grid": "10"}``."""
        parts = (part.partition("=") for part in self.setting.split(";"))
        return {key.strip(): value.strip() for key, equals, value in parts if equals}

    @property
    def unconstrained(self) -> bool:
        """Whether the number belongs to the model without a constraint."""
        return self.algorithm == "unconstrained"


def load(paper: str, root: Path = Path()) -> tuple[Published, ...]:
    """Return all published numbers of a paper below the project's ``root``; none if it has no such file.

    Raises:
        DataError: a line of the file has no number, or no readable interval.
    """
    path = papers.file(paper, papers.PUBLISHED, root)
    return _read(path, path.stat().st_mtime_ns, papers.paper(paper, root).seeds) if path.is_file() else ()


def of_exhibit(paper: str, exhibit: str, root: Path = Path()) -> tuple[Published, ...]:
    """Return the published numbers of one exhibit, in the paper's order."""
    return tuple(row for row in load(paper, root) if row.exhibit == exhibit)


@cache
def _read(path: Path, changed: int, seeds: int | None) -> tuple[Published, ...]:  # ``changed`` makes a new entry
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(_parse(line, path, number, seeds) for number, line in enumerate(csv.DictReader(stream), start=2))


def _parse(line: dict[str, str], path: Path, number: int, seeds: int | None) -> Published:
    names = ("paper", "exhibit", "dataset", "algorithm", "constraint", "setting", "metric")
    try:
        interval = intervals.format_interval(line["interval"]) if line["interval"] else ""
        texts = {name: line[name] for name in names}
        return Published(
            **texts,
            interval=interval,
            value=float(line["value"]),
            split=line.get("split") or "",
            spread=float(line.get("spread") or math.nan),
            spread_kind=line.get("spread_kind") or "",
            seeds=seeds,
            line=number,
        )
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise DataError(f"{path}, line {number}: {error}; correct the line") from error
