"""Inequalities of a paper's proofs beside what was measured: one tidy schema and one table for all papers."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options

COLUMNS = ("dataset", "statement", "setting", "fit", "points", "broken", "left", "right", "note")
RELATIVE = 1e-9
"""Share of the larger side up to which two sides count as equal."""


@dataclass(frozen=True)
class Inequality:
    """One side at most the other, at one point.

    Attributes:
        statement: where the paper says so.
        lesser, greater: the two sides as measured.
        accuracy: absolute error up to which the sides are known.
    """

    statement: str
    lesser: float
    greater: float
    accuracy: float = 1e-12

    @property
    def excess(self) -> float:
        """Return by how much the left side is larger than rounding and accuracy explain; positive where it fails."""
        return self.lesser - self.greater - self.accuracy - RELATIVE * max(abs(self.lesser), abs(self.greater))


def summary(inequalities: Sequence[Inequality]) -> list[Line]:
    """Return a line per statement: how many points break it, and both sides where the excess is largest."""
    by_statement: dict[str, list[Inequality]] = {}
    for inequality in inequalities:
        by_statement.setdefault(inequality.statement, []).append(inequality)
    lines = []
    for statement, members in by_statement.items():
        worst = max(members, key=lambda member: member.excess)
        counts = {"points": len(members), "broken": sum(member.excess > 0 for member in members)}
        sides = {"left": _rounded(worst.lesser, worst.accuracy), "right": _rounded(worst.greater, worst.accuracy)}
        lines.append({"statement": statement, **counts, **sides})
    return lines


def _rounded(side: float, accuracy: float) -> float:
    """Return six digits of a side, none below its accuracy: the last bits of sums differ between machines."""
    return round(float(f"{side:.6g}"), -round(math.log10(accuracy))) + 0.0


def kind(options: type[Options], lines: Callable[[Context[Any]], Iterable[Line]]) -> ExhibitKind:
    """Return the kind of exhibits that show some lines; pages take them from the drawn CSV, since they take fits."""
    drawn_anew = ExhibitKind.from_lines(options, COLUMNS, lines, table=table, needs_results=False)
    return replace(drawn_anew, fragment=_fragment)


def _fragment(context: Context[Any]) -> str:
    """Return the table of the CSV that was drawn, or a sentence before that."""
    path = context.path("csv")
    if not path.is_file():
        return f"<p class='missing'>Not drawn: run `partialfair report {context.name}`.</p>"
    records = pd.read_csv(path).to_dict("records")
    lines = [{str(name): cell for name, cell in record.items() if pd.notna(cell)} for record in records]
    return cells.html(table(context, lines))


def table(_: Context[Any], lines: list[Line]) -> Table:
    """Return a row per statement, setting and fit: both sides at the worst point, and whether all points satisfy it."""
    rows = []
    for line in lines:
        head = [cells.text(style.dataset_title(line["dataset"])), cells.text(line.get("statement", ""))]
        if "points" not in line:
            rows.append((head, [Cell(line["note"], "none")] + [Cell("–", "none")] * 4))
            continue
        holds = Cell("yes") if not line["broken"] else Cell(f"no, {line['broken']} of {line['points']}", "bad")
        sides = [Cell(f"{line['left']:.4g}"), Cell(f"{line['right']:.4g}")]
        rows.append((head, [cells.text(line["setting"]), cells.text(line["fit"]), *sides, holds]))
    return cells.blocks([], ["dataset", "statement", "setting", "fit", "left", "right", "holds"], rows)
