"""Tables as data and as HTML: one row type for CSV, one template for all pages."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import palette

VERDICT_KINDS = {
    "agrees": "good", "holds": "good", "dominated": "good", "as stated": "good", "near": "near", "differs": "bad",
    "fails": "bad", "differs from the paper": "bad", "does not hold": "bad", "partly": "near",
    "mixed": "near", "depends": "near",
}  # fmt: skip
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Cell:
    """One cell of an HTML table.

    Attributes:
        text: what it says.
        kind: class names: ``text``, ``number``, ``published``, ``good``, ``bad``, ``near``, ``best``, ``none``,
            ``ahead``, ``behind``, ``wrap``, ``hash``; ``best`` is bold and says nothing of a verdict.
        note: shown on hovering.
        again: what the cell above says for this one as well, where this one is empty; shown where a row is a card.
    """

    text: str
    kind: str = "number"
    note: str = ""
    again: str = ""


@dataclass(frozen=True)
class Table:
    """An HTML table with two header lines.

    Attributes:
        groups: (title, number of columns) of the upper header line.
        columns: titles of the lower one.
        rows: cells.
        breaks: numbers of rows before which a rule is drawn.
    """

    groups: Sequence[tuple[str, int]]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    breaks: frozenset[int] = field(default_factory=frozenset)

    @property
    def labels(self) -> list[str]:
        """What stands beside each cell where a row is a card: its title, with the upper one where two are alike."""
        if len({*self.columns}) == len(self.columns):
            return list(self.columns)
        upper = [title for title, width in self.groups for _ in range(width)] or [""] * len(self.columns)
        return [": ".join(filter(None, pair)) for pair in zip(upper, self.columns, strict=True)]


def blocks(
    groups: Sequence[tuple[str, int]], columns: Sequence[str], lines: Iterable[tuple[Sequence[Cell], Sequence[Cell]]]
) -> Table:
    """A table in blocks: what a row shares with the one above is left empty, and a rule stands before other rows.

    Args:
        groups, columns: see :class:`Table`.
        lines: of every row the cells that its block shares, and its own.
    """
    rows: list[list[Cell]] = []
    breaks, above = set(), None
    for shared, own in lines:
        if shared != above:
            breaks.add(len(rows))
        rows.append(
            [*(replace(cell, text="", note="", again=cell.text) if shared == above else cell for cell in shared), *own]
        )
        above = shared
    return Table(groups, columns, rows, frozenset(breaks))


def text(value: str, note: str = "") -> Cell:
    """A left-aligned cell."""
    return Cell(value, "text", note)


def published(value: float | None, digits: int = 4) -> Cell:
    """A number that a paper prints, marked as such; a dash if it prints none."""
    return Cell("–", "none") if value is None else Cell(f"{value:.{digits}f}", "published")


def measured(estimate: Estimate | None, verdict: str = "", note: str = "") -> Cell:
    """A mean over seeds with the half-width of its interval, coloured by verdict."""
    if estimate is None or math.isnan(estimate.mean):
        return Cell("no value" if "without a value" in note else "not run", "none", note)
    half = "" if math.isnan(estimate.half_width) else f" ± {estimate.half_width:.4f}"
    return Cell(f"{estimate.mean:.4f}{half}", verdict_kind(verdict, "number"), note)


def mean(line: Mapping[str, Any], name: str, half: str = "", verdict: str = "") -> Cell:
    """A mean that stands in a line with its half-width, by default ``{name}_half_width``; see :func:`measured`."""
    value, width = line.get(name), line.get(half or f"{name}_half_width", math.nan)
    known = None if value is None else Estimate(value, value - width, value + width, width, 1)
    return measured(known, verdict, line["note"])


def signed(line: Mapping[str, Any], note: str = "") -> Cell:
    """What a line of the scorecard measured, with its sign and the ends of its interval.

    Four decimals, or as many as show the first digit of a smaller value, but no more than the six that are stored, nor
    than show the first digit of the interval's half-width.
    """
    value, low, high = (line.get(name, math.nan) for name in ("reproduced", "ci_low", "ci_high"))
    if value is None or math.isnan(value):
        return Cell("–", "none")
    size = max(abs(value), 0.0 if math.isnan(low) else (high - low) / 2)
    digits = 4 if size == 0 else min(max(4, math.ceil(-math.log10(size))), 6)
    interval = "" if math.isnan(low) else f" [{low:+z.{digits}f}, {high:+z.{digits}f}]"
    return Cell(f"{value:+z.{digits}f}{interval}", "number", note)


def verdict_kind(verdict: str, other: str = "none") -> str:
    """Class name of a cell that shows what a verdict is about; ``other`` for verdicts that are neither good nor bad."""
    return VERDICT_KINDS.get(verdict, other)


@cache
def environment() -> Any:
    """The template environment; everything inserted is escaped unless marked as HTML."""
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals["figure_colours"] = palette.variables
    return made


def html(table: Table) -> str:
    """Return the table as a piece of HTML."""
    return str(environment().get_template("table.html.j2").render(table=table))
