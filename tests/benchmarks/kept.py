"""Rows of a long benchmark, kept in a CSV file as they are measured: a run that stops goes on where it was."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from reproduction.grid.closure import closure_hash

CODE = "code"
MEASURED = "partialfair.estimators.classifier"


def code() -> str:
    """Digits that change with the code of the classifier."""
    return closure_hash(MEASURED)


class Kept:
    """A table whose rows are told apart by some of its columns.

    A row that is there is not measured again, whatever code it is of; its column ``code`` says which. Delete the file,
    or some of its lines, to measure them again.

    Args:
        path: the file; it need not exist.
        columns: of the file, ``code`` excepted.
        keys: those that tell rows apart.
    """

    def __init__(self, path: Path, columns: Sequence[str], keys: Sequence[str]) -> None:
        self.path, self.columns, self.keys = path, (*columns, CODE), tuple(keys)
        self.rows: list[dict[str, str]] = []
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as stream:
                self.rows = list(csv.DictReader(stream))
        self._known = {self._key(row) for row in self.rows}

    def missing(self, keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Those of some keys of which there is no row."""
        return [key for key in keys if tuple(map(_text, key)) not in self._known]

    def add(self, row: dict[str, Any]) -> None:
        """Append a row to the file."""
        text = {name: _text(row[name]) if name != CODE else code() for name in self.columns}
        new = not self.path.is_file()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, self.columns, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(text)
        self.rows.append(text)
        self._known.add(self._key(text))

    def where(self, chosen: Callable[[dict[str, str]], bool]) -> list[dict[str, str]]:
        """Rows that are chosen."""
        return [row for row in self.rows if chosen(row)]

    def older(self, chosen: Callable[[dict[str, str]], bool] = lambda row: True) -> str:
        """Says how many rows, of those of the classifier, are of other code than the present one; empty if none."""
        rows = self.where(chosen)
        count = sum(row[CODE] != code() for row in rows)
        return f"{count} of {len(rows)} fits were measured with earlier code of the classifier" if count else ""

    def _key(self, row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in self.keys)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
