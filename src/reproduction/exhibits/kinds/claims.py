"""What a paper claims in words: every comparison with its test, its effect and its verdict."""

import math
from typing import Any

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import central_comparisons, forest, matrix, specification, style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts import baseline_scorecard, scorecard
from reproduction.verdicts.line import COLUMNS, OTHER_WAY, counts, decides, robust
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.verdict import claim_state


class Claims(Options):
    """What an entry takes: the claims are those of the paper of its experiments."""


def csv_lines(context: Context[Any]) -> list[Line]:
    """Return one line per comparison, as in the scorecard."""
    lines = scorecard.claim_lines(context.config, context.paper, context.root, Context)
    if context.keep and is_here(context.path("csv")):
        lines = baseline_scorecard.keep(lines, baseline_scorecard.load(context.path("csv")))
    return [line | {"counts": "yes" if counts(line) else "no"} for line in lines]


def table(_: Context[Any], lines: list[Line]) -> Table:
    """Return all comparisons, claim by claim."""
    rows: list[list[Cell]] = []
    breaks = set()
    for name in dict.fromkeys(line["claim"] for line in lines):
        claim_lines = [line for line in lines if line["claim"] == name]
        breaks.add(len(rows))
        verdict = claim_state(claim_lines)
        claim_cell = Cell(verdict, cells.verdict_kind(verdict))
        section = "question" if claim_lines[0]["kind"] == "question" else claim_lines[0]["section"]
        # What the notes say of every comparison stands beside the first alone.
        shared_notes = set.intersection(*(set(line["note"].split("; ")) for line in claim_lines))
        for position, line in enumerate(claim_lines):
            head = [Cell(line["published"], "text wrap"), Cell(section, "text wrap"), claim_cell]
            notes = [sentence for sentence in line["note"].split("; ") if not position or sentence not in shared_notes]
            rows.append([*(head if not position else [Cell("")] * 3), *_comparison(line, "; ".join(notes))])
    columns = ["claim", "where the paper says it", "together", "where", "against", "effect", "p", "verdict", "note"]
    return Table([], columns, rows, frozenset(breaks))


def _comparison(line: Line, note: str) -> list[Cell]:
    title = style.dataset_title(line["dataset"]) if line["dataset"] else "–"
    return [
        Cell("; ".join(filter(None, [title, line["setting"]])), "text wrap"),
        Cell(line["against"] or "–", "text wrap"),
        cells.signed(line, f"{line['metric']}; {line['test']}"),
        _p_value(line.get("p_value", math.nan)),
        Cell(_word(line), cells.verdict_kind(robust(line)) if decides(line) else "none", line.get("by_option", "")),
        Cell("; ".join(filter(None, [_reason_not_counted(line), _power(line), note])), "text wrap"),
    ]


def _word(line: Line) -> str:
    """Return the word of a comparison, with what it depends on."""
    depends = line.get("depends_on", "")
    return f"{robust(line)}{f' ({depends})' if depends else ''}{' *' * bool(line.get('grade'))}"


def _reason_not_counted(line: Line) -> str:
    """Say why a comparison does not count; empty if it counts."""
    if decides(line):
        return ""
    passing = [part.removesuffix(" passes") for part in line["nulls"].split("; ") if part.endswith(" passes")]
    return f"does not count: {' and '.join(passing)} {'pass' if len(passing) > 1 else 'passes'} too"


def _power(line: Line) -> str:
    """Say which effect an undecided comparison could have detected."""
    if "detectable" not in line:
        return ""
    side = "the opposite" if OTHER_WAY in line["note"] else "this one"
    needed = f"; {line['seeds_needed']} seeds would show {side}" if "seeds_needed" in line else ""
    return f"an effect of {line['detectable']:.3g} could have been seen{needed}"


def _p_value(p: float) -> Cell:
    return Cell("–", "none") if math.isnan(p) else Cell("< .0001" if p < 1e-4 else f"{p:.4f}")


KIND = {
    "lines": ExhibitKind.from_lines(Claims, COLUMNS, csv_lines, table=table),
    "forest": ExhibitKind.from_lines(
        forest.Forest, central_comparisons.COLUMNS, central_comparisons.csv_lines, draw=forest.draw
    ),
    "matrix": ExhibitKind.from_lines(
        matrix.Matrix, central_comparisons.COLUMNS, central_comparisons.csv_lines, draw=matrix.draw
    ),
    "specification": ExhibitKind.from_lines(
        specification.Specification, specification.COLUMNS, specification.csv_lines, draw=specification.draw
    ),
}
"""By source: all lines as a table, central comparisons with leads or with letters, one comparison by reading."""
