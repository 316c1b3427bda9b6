"""What a paper states of its data and settings, beside those in use here; listed, never counted for the paper."""

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts import scorecard, stated_numbers
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.published import Published

COLUMNS = ("dataset", "algorithm", "setting", "split", "metric", "published", "here", "verdict", "note")


class StatedSettings(Options, stated_numbers.StatedSources):
    """Statements of a paper on data and settings, beside those in use here."""


def reproduce(context: Context[StatedSettings], row: Published) -> ReproducedNumber:
    """Return the value in use here for a stated number."""
    return stated_numbers.reproduce(context, row, context.options)


def csv_lines(context: Context[StatedSettings]) -> list[Line]:
    """Return one line per stated number: ``COLUMNS``."""
    lines = [scorecard.compare(context, row, reproduce) | {"split": row.split} for row in context.published]
    return [line | {"here": line.get("reproduced")} for line in lines]


def table(_: Context[StatedSettings], lines: list[Line]) -> Table:
    """Return stated numbers in the paper's order."""
    rows = []
    for line in lines:
        kind = cells.verdict_kind(line["verdict"])
        title = style.dataset_title(line["dataset"]) if line["dataset"] else ""
        subject = " ".join(filter(None, [title, line["algorithm"] and style.plot_style(line["algorithm"]).label]))
        quantity = " ".join(filter(None, [line["metric"].replace("_", " "), line["split"]]))
        value = "–" if line["here"] is None else f"{line['here']:.6g}"
        head = [cells.text(subject or "all"), cells.text(quantity), Cell(line["setting"], "text wrap")]
        numbers = [Cell(f"{line['published']:g}", "published"), Cell(value, kind), Cell(line["verdict"], kind)]
        rows.append([*head, *numbers, Cell(line["note"], "text wrap")])
    return Table([], ["of", "what", "where stated", "published", "here", "verdict", "note"], rows)


FROM_TABLES = True
KIND = ExhibitKind.from_lines(StatedSettings, COLUMNS, csv_lines, table=table, reproduce=reproduce, needs_results=False)
