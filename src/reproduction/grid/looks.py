"""Which cells of the grid take more seeds: ``papers/<paper>/second_look.json``, written after the first look.

A cell is a method on a dataset in an experiment. :mod:`reproduction.verdicts.second_look` has the rule that opens one;
here it is read. Without the file there has been no second look, and every cell has its first seeds alone.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from partialfair.data.files import read_json
from partialfair.errors import DataError
from reproduction.grid import papers

FILE = "second_look.json"


Cell = tuple[str, str, str]
"""Experiment, dataset and algorithm."""


def open_cells(paper: str, root: Path = Path()) -> frozenset[Cell]:
    """Return the cells of a paper that take more seeds.

    Raises:
        DataError: the file is not one of this kind.
    """
    path = papers.file(paper, FILE, root)
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else frozenset()


def as_entries(cells: Iterable[Cell]) -> dict[str, dict[str, list[str]]]:
    """Return cells as the file has them: algorithms by dataset by experiment, sorted."""
    entries: dict[str, dict[str, list[str]]] = {}
    for experiment, dataset, algorithm in sorted(cells):
        entries.setdefault(experiment, {}).setdefault(dataset, []).append(algorithm)
    return entries


@cache
def _read(path: Path, changed: int) -> frozenset[Cell]:  # ``changed`` makes a rewritten file a new entry
    try:
        entries = read_json(path)["open"].items()
        return frozenset(
            (name, dataset, method)
            for name, datasets in entries
            for dataset in datasets
            for method in datasets[dataset]
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: not a second look ({error}); delete it, and the next run writes it anew") from error
