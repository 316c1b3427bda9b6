"""Verdicts on what a paper claims in words: one line of the scorecard per claim and comparison, each with its test.

A line counts as reproduced only if its test says so. One that is decided the other way and one that is not decided both
differ; the note says which.
"""

import math
from typing import Any

from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.verdicts import claim_tests
from partialfair.verdicts.claim import load
from partialfair.verdicts.results import convention

COLUMNS = (
    "claim", "exhibit", "dataset", "constraint", "algorithm", "setting", "metric", "statement", "test", "statistic",
    "p_value", "estimate", "ci_low", "ci_high", "verdict", "note",
)  # fmt: skip


class Claims(Options):
    """What an entry takes."""

    reference_accuracy: dict[str, float] = Field({}, description="of the reference point of hypervolumes, by dataset")


def scorecard_lines(context: Context[Any]) -> list[Line]:
    """Lines of the scorecard, with the statement where a published number would stand."""
    return [line.row() for line in claim_tests.lines(context, load(context.paper, context.root))]


def lines(context: Context[Any]) -> list[Line]:
    """One line per claim and comparison: ``COLUMNS``."""
    found = scorecard_lines(context)
    return [{**line, "statement": line["published"], "estimate": line.get("reproduced")} for line in found]


def table(context: Context[Any]) -> Table:
    """All lines, claim by claim."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for line in scorecard_lines(context):
        new = line["claim"] != previous
        if new:
            breaks.add(len(rows))
        title = convention(line["constraint"]).title if line["constraint"] else ""
        rows.append(
            [
                Cell(f"{line['published']} ({line['exhibit']})" if new else "", "text wrap"),
                cells.text(" ".join(filter(None, [line["dataset"].replace("_", " "), title])) or "–"),
                Cell(line["setting"] or "–", "text wrap"),
                Cell(line["metric"] or "–", "text wrap"),
                cells.signed(line, line["test"]),
                _p_value(line.get("p_value", math.nan)),
                Cell(line["verdict"], cells.verdict_kind(line["verdict"])),
                Cell(line["note"], "text wrap"),
            ]
        )
        previous = line["claim"]
    columns = ["claim", "where", "comparison", "measured", "estimate", "p", "verdict", "note"]
    return Table([], columns, rows, frozenset(breaks))


def _p_value(p: float) -> Cell:
    return Cell("–", "none") if math.isnan(p) else Cell("< .0001" if p < 1e-4 else f"{p:.4f}")


KIND = Kind.of(Claims, COLUMNS, lines, table=table, claims=scorecard_lines)
