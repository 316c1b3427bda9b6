"""Forest plot: every comparison that a paper's verdict rests on, with its lead, its interval and its word."""

import math
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import palette
from reproduction.exhibits import central
from reproduction.exhibits.central import COLOURS, INKS, Row
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts import letters

WIDTH, NAMES, BESIDE = 9.0, 2.3, 2.75  # inches: of the figure, for names at the left, for words at the right
LEFT = -NAMES / (WIDTH - NAMES - BESIDE) + 0.03
BEHIND = {"fc": "white", "ec": "none", "pad": 1}
HEIGHT = 0.22  # of a row, in inches
WIDE = 300.0  # ratio of leads beyond which an axis is logarithmic on either side of 0


class Forest(Options):
    """Every comparison that the paper's verdict rests on: lead, interval and word."""

    source: Literal["forest"] = Field(description="forest: leads of the method with intervals and words")
    ahead: str = Field("method", description="what the paper's method is called at the end of the axis")
    behind: str = Field("baseline", description="what the others are called there")


def draw(context: Context[Forest], found: list[Line]) -> Any:
    """One panel per unit, one row per comparison, grouped by place."""
    from matplotlib import pyplot as plt

    rows = [row for row in central.rows(context, found) if row.claim.against]
    units = list(dict.fromkeys(_unit(row, rows) for row in rows))
    panels = [[row for row in rows if _unit(row, rows) == unit] for unit in units]
    spans = [_height(own) for own in panels]
    said = textwrap.wrap(" ".join([*_note(rows), *_left_out(len(found) - len(rows))]), 128)
    over, under, between = 0.62, 0.5 + 0.14 * len(said), 0.85
    tall = HEIGHT * sum(spans) + over + under + between * (len(panels) - 1)
    figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, tall), squeeze=False, height_ratios=spans)
    for axis, own, unit in zip(axes[:, 0], panels, units, strict=True):
        _panel(axis, own, unit, context.options)
    head = central.counted(found)
    figure.text(0.012, 1 - 0.1 / tall, head, fontsize=10.5, fontweight="bold", color=palette.INK, va="top")
    figure.text(0.012, 0.06 / tall, "\n".join(said), fontsize=8, color=palette.INK, va="bottom")
    mean = HEIGHT * sum(spans) / len(panels)
    figure.subplots_adjust(
        left=NAMES / WIDTH, right=1 - BESIDE / WIDTH, top=1 - over / tall, bottom=under / tall, hspace=between / mean
    )
    return figure


def _note(rows: list[Row]) -> Iterator[str]:
    """What the marks and words mean that are there."""
    if any(math.isfinite(row.lead.low) for row in rows):
        yield "Dot and bar: mean lead with its 95% interval."
    if any(math.isnan(row.lead.low) and math.isfinite(row.lead.mean) for row in rows):
        yield "A dot without a bar is one deterministic run."
    if len({row.line.get("matters") for row in rows} - {None, ""}) == 1:
        yield "Grey band: nobody would choose a method for less."
    if any(row.word == letters.DEPENDS for row in rows):
        yield "Depends: readings of the sentence disagree, by what they choose"
        choices = {choice for row in rows if row.claim.readings for choice in row.claim.readings.main}
        known = {"cut": "cut: which part of the axis", "levels": "levels: each one, or their mean"}
        known |= {"budget": "budget: the share of the work that is done"}
        words = [text for name, text in known.items() if name in choices]
        yield f"({'; '.join([*words, *(['seeds: one of them decides'] if _by_seeds(rows) else [])])})."
    if any(row.line.get("grade") for row in rows):
        yield "* for this dataset, not for a fresh draw of people."
    if any(row.said.startswith("true") for row in rows):
        yield "No evidence: a model that the sentence is not about passes, too."


def _left_out(count: int) -> list[str]:
    return [f"Not drawn: {count} that {'compare' if count > 1 else 'compares'} nothing."] if count else []


def _by_seeds(rows: list[Row]) -> bool:
    return any(letters.SEEDS in str(row.line.get("depends_on", "")) for row in rows)


def _unit(row: Row, rows: list[Row]) -> str:
    """The unit of a comparison; of one without a number, that of the others of its claim."""
    if math.isfinite(row.lead.mean):
        return row.lead.unit
    own = (one.lead for one in rows if one.claim.id == row.claim.id)
    return next((lead.unit for lead in own if math.isfinite(lead.mean)), "")


def _height(rows: list[Row]) -> int:
    return len(rows) + sum(one.place != other.place for one, other in pairwise(rows)) + 1


def _panel(axis: Any, rows: list[Row], unit: str, options: Forest) -> None:
    low, high = _reach(rows)
    margins = {float(row.line["matters"]) for row in rows if row.line.get("matters") not in (None, "")}
    if len(margins) == 1:
        (margin,) = margins
        axis.axvspan(-margin, margin, color=palette.GRID, alpha=0.55, lw=0, zorder=0)
    axis.axvline(0, color=palette.INK, lw=1, zorder=1)
    across = axis.get_yaxis_transform()
    ticks, labels, place, y = [], [], "", 0
    for row in rows:
        if row.place != place:
            place = row.place
            axis.text(
                LEFT,
                y,
                place,
                transform=across,
                fontsize=8.5,
                fontweight="bold",
                color=palette.INK,
                va="center",
                zorder=7,
                bbox=BEHIND,
            )
            axis.axhline(y, color=palette.GRID, lw=0.6, zorder=0)
            y += 1
        ticks.append(y)
        labels.append(row.other)
        _mark(axis, row, y, (low, high))
        _words(axis, row, y)
        y += 1
    axis.set_yticks(ticks, labels, fontsize=8.5)
    axis.set_ylim(y - 0.4, -0.7)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False)
    axis.spines[["top", "right", "left"]].set_visible(False)
    leads = [abs(row.lead.mean) for row in rows if math.isfinite(row.lead.mean) and row.lead.mean]
    if leads and max(leads) > WIDE * min(leads) and not margins:
        axis.set_xscale("symlog", linthresh=10 ** math.floor(math.log10(min(leads)) + 1))
        low, high = 2 * low, 2 * high
        axis.set_xticks([tick for tick in axis.get_xticks() if tick == 0 or round(math.log10(abs(tick))) % 2])
    axis.set_xlim(low, high)
    axis.set_xlabel(f"lead, {unit}" if unit.startswith("points") else f"lead in {unit}", fontsize=9)
    ends = ((0.0, "left", f"◀ {options.behind} ahead"), (1.0, "right", f"{options.ahead} ahead ▶"))
    for x, side, text in ends:
        axis.text(x, 1, text, transform=axis.transAxes, ha=side, va="bottom", fontsize=8.5, color=palette.INK)


def _reach(rows: list[Row]) -> tuple[float, float]:
    """Ends of the axis: all that is decided fits, the widest intervals of the rest end in arrows."""
    told = (letters.HOLDS, letters.FAILS, letters.DEPENDS, letters.ALIKE)
    shown = [row.lead for row in rows if math.isfinite(row.lead.mean)]
    decided = [row.lead for row in rows if math.isfinite(row.lead.mean) and row.word in told] or shown
    ends = [value for lead in decided for value in (lead.mean, lead.low, lead.high) if math.isfinite(value)]
    span = max(map(abs, ends), default=1.0) or 1.0
    return 1.1 * min([*ends, -0.35 * span]), 1.1 * max([*ends, 0.35 * span])


def _mark(axis: Any, row: Row, y: int, reach: tuple[float, float]) -> None:
    colour, lead = COLOURS[row.word], row.lead
    if not math.isfinite(lead.mean):
        return
    least, most = reach
    if math.isfinite(lead.low):
        ends = [max(lead.low, least), min(lead.high, most)]
        axis.plot(ends, [y, y], color=colour, lw=2.6, zorder=3, solid_capstyle="butt")
        for outside, end, marker in ((lead.low < least, least, "<"), (lead.high > most, most, ">")):
            if outside:
                axis.plot(end, y, marker, color=colour, ms=6, zorder=4, clip_on=False)
    if least <= lead.mean <= most:
        axis.plot(lead.mean, y, "o", color=colour, ms=5.5, mec="white", mew=0.7, zorder=5)


def _words(axis: Any, row: Row, y: int) -> None:
    """The lead as a number, and the word, to the right of the axis."""
    across, lead = axis.get_yaxis_transform(), row.lead
    strong = row.word in (letters.HOLDS, letters.FAILS, letters.DEPENDS) and not row.said.startswith("true")
    number = ""
    if math.isfinite(lead.mean):
        number = f"{lead.mean:+.2f}" if lead.unit.startswith("points") else f"{lead.mean:+.2g}"
    number = number.replace("+0.", "+.").replace("-0.", "-.").replace("-", "−")
    axis.text(1.03, y, number, transform=across, va="center", fontsize=8, color=palette.INK)
    weight = "bold" if strong else "normal"
    axis.text(
        1.03 + 0.72 / (WIDTH - NAMES - BESIDE), y, row.said, transform=across, va="center", fontsize=8.5,
        color=INKS[row.word], fontweight=weight,
    )  # fmt: skip
