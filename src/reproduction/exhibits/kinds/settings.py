"""What a paper states of its data and settings, beside those in use here; listed, never counted for the paper."""

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts import scorecard, stated
from reproduction.verdicts.evidence import Outcome
from reproduction.verdicts.published import Published

COLUMNS = ("dataset", "algorithm", "setting", "split", "metric", "published", "here", "verdict", "note")


class Settings(Options, stated.Places):
    """Statements of a paper on data and settings, beside those in use here."""


def reproduce(context: Context[Settings], row: Published) -> Outcome:
    """What is in use here for a stated number."""
    return stated.reproduce(context, row, context.options)


def lines(context: Context[Settings]) -> list[Line]:
    """One line per stated number: ``COLUMNS``."""
    found = [scorecard.compare(context, row, reproduce) | {"split": row.split} for row in context.published]
    return [line | {"here": line.get("reproduced")} for line in found]


def table(_: Context[Settings], found: list[Line]) -> Table:
    """Stated numbers in the paper's order."""
    rows = []
    for line in found:
        kind = cells.verdict_kind(line["verdict"])
        title = style.dataset_title(line["dataset"]) if line["dataset"] else ""
        of = " ".join(filter(None, [title, line["algorithm"] and style.look(line["algorithm"]).label]))
        what = " ".join(filter(None, [line["metric"].replace("_", " "), line["split"]]))
        here = "–" if line["here"] is None else f"{line['here']:.6g}"
        head = [cells.text(of or "all"), cells.text(what), Cell(line["setting"], "text wrap")]
        numbers = [Cell(f"{line['published']:g}", "published"), Cell(here, kind), Cell(line["verdict"], kind)]
        rows.append([*head, *numbers, Cell(line["note"], "text wrap")])
    return Table([], ["of", "what", "where stated", "published", "here", "verdict", "note"], rows)


KIND = Kind.of(Settings, COLUMNS, lines, table=table, reproduce=reproduce, needs_results=False)
