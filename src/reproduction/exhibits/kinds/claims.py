"""What a paper claims in words: every comparison with its test, its effect and its verdict."""

import math
from typing import Any

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import central, forest, matrix, specification, style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts import scorecard, standing
from reproduction.verdicts.line import COLUMNS, OTHER_WAY, counts, decides, robust
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.verdict import of_claim


class Claims(Options):
    """What an entry takes: the claims are those of the paper of its experiments."""


def lines(context: Context[Any]) -> list[Line]:
    """One line per comparison, as in the scorecard."""
    found = scorecard.of_claims(context.config, context.paper, context.root, Context)
    if context.keep and is_here(context.path("csv")):
        found = standing.keep(found, standing.load(context.path("csv")))
    return [line | {"counts": "yes" if counts(line) else "no"} for line in found]


def table(_: Context[Any], found: list[Line]) -> Table:
    """All comparisons, claim by claim."""
    rows: list[list[Cell]] = []
    breaks = set()
    for name in dict.fromkeys(line["claim"] for line in found):
        own = [line for line in found if line["claim"] == name]
        breaks.add(len(rows))
        verdict = of_claim(own)
        together = Cell(verdict, cells.verdict_kind(verdict))
        said = "question" if own[0]["kind"] == "question" else own[0]["section"]
        # What the notes say of every comparison stands beside the first alone.
        shared = set.intersection(*(set(line["note"].split("; ")) for line in own))
        for place, line in enumerate(own):
            head = [Cell(line["published"], "text wrap"), Cell(said, "text wrap"), together]
            note = [part for part in line["note"].split("; ") if not place or part not in shared]
            rows.append([*(head if not place else [Cell("")] * 3), *_comparison(line, "; ".join(note))])
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
        Cell("; ".join(filter(None, [_idle(line), _power(line), note])), "text wrap"),
    ]


def _word(line: Line) -> str:
    """The word of a comparison, with what it depends on."""
    depends = line.get("depends_on", "")
    return f"{robust(line)}{f' ({depends})' if depends else ''}{' *' * bool(line.get('grade'))}"


def _idle(line: Line) -> str:
    """Why a comparison does not count."""
    if decides(line):
        return ""
    passing = [part.removesuffix(" passes") for part in line["nulls"].split("; ") if part.endswith(" passes")]
    return f"does not count: {' and '.join(passing)} {'pass' if len(passing) > 1 else 'passes'} too"


def _power(line: Line) -> str:
    """What an undecided comparison could have seen."""
    if "detectable" not in line:
        return ""
    side = "the opposite" if OTHER_WAY in line["note"] else "this one"
    needed = f"; {line['seeds_needed']} seeds would show {side}" if "seeds_needed" in line else ""
    return f"an effect of {line['detectable']:.3g} could have been seen{needed}"


def _p_value(p: float) -> Cell:
    return Cell("–", "none") if math.isnan(p) else Cell("< .0001" if p < 1e-4 else f"{p:.4f}")


KIND = {
    "lines": Kind.of(Claims, COLUMNS, lines, table=table),
    "forest": Kind.of(forest.Forest, central.COLUMNS, central.lines, draw=forest.draw),
    "matrix": Kind.of(matrix.Matrix, central.COLUMNS, central.lines, draw=matrix.draw),
    "specification": Kind.of(
        specification.Specification, specification.COLUMNS, specification.lines, draw=specification.draw
    ),
}
"""By source: all lines as a table, central comparisons with leads or with letters, one comparison by reading."""
