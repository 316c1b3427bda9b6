"""Forest plot: every comparison that a paper's verdict rests on, with its lead, its interval and its word."""

import math
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import palette
from reproduction.exhibits import central_comparisons
from reproduction.exhibits.central_comparisons import COLOURS, INKS, CentralComparison
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts import letters

WIDTH, NAMES, BESIDE = 9.0, 2.3, 2.75  # inches: of the figure, for names at the left, for words at the right
_LEFT = -NAMES / (WIDTH - NAMES - BESIDE) + 0.03
BEHIND = {"fc": "white", "ec": "none", "pad": 1}
HEIGHT = 0.22  # of a row, in inches
WIDE = 300.0  # ratio of leads beyond which an axis is logarithmic on either side of 0


class Forest(Options):
    """Every comparison that the paper's verdict rests on: lead, interval and word."""

    source: Literal["forest"] = Field(description="forest: leads of the method with intervals and words")
    ahead: str = Field("method", description="what the paper's method is called at the end of the axis")
    behind: str = Field("baseline", description="what the others are called there")


def draw(context: Context[Forest], lines: list[Line]) -> Any:
    """Draw one panel per unit and one row per comparison, grouped by location."""
    from matplotlib import pyplot as plt

    rows = [row for row in central_comparisons.rows(context, lines) if row.claim.against]
    units = list(dict.fromkeys(_unit(row, rows) for row in rows))
    panels = [[row for row in rows if _unit(row, rows) == unit] for unit in units]
    row_counts = [_count_rows(unit_rows) for unit_rows in panels]
    note_lines = textwrap.wrap(" ".join([*_note(rows), *_note_of_omitted(len(lines) - len(rows))]), 128)
    top_margin, bottom_margin, gap_height = 0.62, 0.5 + 0.14 * len(note_lines), 0.85
    height = HEIGHT * sum(row_counts) + top_margin + bottom_margin + gap_height * (len(panels) - 1)
    figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, height), squeeze=False, height_ratios=row_counts)
    for axis, unit_rows, unit in zip(axes[:, 0], panels, units, strict=True):
        _draw_unit(axis, unit_rows, unit, context.options)
    headline = central_comparisons.count_by_word(lines)
    figure.text(0.012, 1 - 0.1 / height, headline, fontsize=10.5, fontweight="bold", color=palette.INK, va="top")
    figure.text(0.012, 0.06 / height, "\n".join(note_lines), fontsize=8, color=palette.INK, va="bottom")
    mean_height = HEIGHT * sum(row_counts) / len(panels)
    figure.subplots_adjust(
        left=NAMES / WIDTH,
        right=1 - BESIDE / WIDTH,
        top=1 - top_margin / height,
        bottom=bottom_margin / height,
        hspace=gap_height / mean_height,
    )
    return figure


def _note(rows: list[CentralComparison]) -> Iterator[str]:
    """Yield the meaning of every mark and word that the figure has."""
    if any(math.isfinite(row.lead.low) for row in rows):
        yield "Dot and bar: mean lead with its 95% interval."
    if any(math.isnan(row.lead.low) and math.isfinite(row.lead.mean) for row in rows):
        yield "A dot without a bar is one deterministic run."
    if len({row.line.get("matters") for row in rows} - {None, ""}) == 1:
        yield "Grey band: nobody would choose a method for less."
    if any(row.word == letters.DEPENDS for row in rows):
        yield "Depends: readings of the sentence disagree, by what they choose"
        choices = {choice for row in rows if row.claim.readings for choice in row.claim.readings.main}
        explanations = {"cut": "cut: which part of the axis", "levels": "levels: each one, or their mean"}
        explanations |= {"budget": "budget: the share of the work that is done"}
        chosen_explanations = [text for name, text in explanations.items() if name in choices]
        yield f"({'; '.join([*chosen_explanations, *(['seeds: one of them decides'] if _by_seeds(rows) else [])])})."
    if any(row.line.get("grade") for row in rows):
        yield "* for this dataset, not for a fresh draw of people."
    if any(row.label.startswith("true") for row in rows):
        yield "No evidence: a model that the sentence is not about passes, too."


def _note_of_omitted(number: int) -> list[str]:
    return [f"Not drawn: {number} that {'compare' if number > 1 else 'compares'} nothing."] if number else []


def _by_seeds(rows: list[CentralComparison]) -> bool:
    return any(letters.SEEDS in str(row.line.get("depends_on", "")) for row in rows)


def _unit(row: CentralComparison, rows: list[CentralComparison]) -> str:
    """Return the unit of a comparison; where it has no number, the unit of the other comparisons of its claim."""
    if math.isfinite(row.lead.mean):
        return row.lead.unit
    leads = (comparison.lead for comparison in rows if comparison.claim.id == row.claim.id)
    return next((comparison_lead.unit for comparison_lead in leads if math.isfinite(comparison_lead.mean)), "")


def _count_rows(rows: list[CentralComparison]) -> int:
    return len(rows) + sum(upper.location != lower.location for upper, lower in pairwise(rows)) + 1


def _draw_unit(axis: Any, rows: list[CentralComparison], unit: str, options: Forest) -> None:
    low, high = _axis_ends(rows)
    margins = {float(row.line["matters"]) for row in rows if row.line.get("matters") not in (None, "")}
    if len(margins) == 1:
        (margin,) = margins
        axis.axvspan(-margin, margin, color=palette.GRID, alpha=0.55, lw=0, zorder=0)
    axis.axvline(0, color=palette.INK, lw=1, zorder=1)
    axis_transform = axis.get_yaxis_transform()
    ticks, labels, location, y = [], [], "", 0
    for row in rows:
        if row.location != location:
            location = row.location
            axis.text(
                _LEFT,
                y,
                location,
                transform=axis_transform,
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
        labels.append(row.compared_with)
        _draw_lead(axis, row, y, (low, high))
        _write_result(axis, row, y)
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


def _axis_ends(rows: list[CentralComparison]) -> tuple[float, float]:
    """Return the ends of the axis: decided intervals fit, and undecided ones that are wider end in arrows."""
    decided_words = (letters.HOLDS, letters.FAILS, letters.DEPENDS, letters.ALIKE)
    measured_leads = [row.lead for row in rows if math.isfinite(row.lead.mean)]
    decided = [row for row in rows if row.word in decided_words]
    decided_leads = [row.lead for row in decided if math.isfinite(row.lead.mean)] or measured_leads
    ends = [value for lead in decided_leads for value in (lead.mean, lead.low, lead.high) if math.isfinite(value)]
    span = max(map(abs, ends), default=1.0) or 1.0
    return 1.1 * min([*ends, -0.35 * span]), 1.1 * max([*ends, 0.35 * span])


def _draw_lead(axis: Any, row: CentralComparison, y: int, reach: tuple[float, float]) -> None:
    colour, lead = COLOURS[row.word], row.lead
    if not math.isfinite(lead.mean):
        return
    axis_low, axis_high = reach
    if math.isfinite(lead.low):
        ends = [max(lead.low, axis_low), min(lead.high, axis_high)]
        axis.plot(ends, [y, y], color=colour, lw=2.6, zorder=3, solid_capstyle="butt")
        for is_outside, end, marker in ((lead.low < axis_low, axis_low, "<"), (lead.high > axis_high, axis_high, ">")):
            if is_outside:
                axis.plot(end, y, marker, color=colour, ms=6, zorder=4, clip_on=False)
    if axis_low <= lead.mean <= axis_high:
        axis.plot(lead.mean, y, "o", color=colour, ms=5.5, mec="white", mew=0.7, zorder=5)


def _write_result(axis: Any, row: CentralComparison, y: int) -> None:
    """Write the lead as a number, and the word, to the right of the axis."""
    axis_transform, lead = axis.get_yaxis_transform(), row.lead
    is_decided = row.word in (letters.HOLDS, letters.FAILS, letters.DEPENDS) and not row.label.startswith("true")
    number = ""
    if math.isfinite(lead.mean):
        number = f"{lead.mean:+.2f}" if lead.unit.startswith("points") else f"{lead.mean:+.2g}"
    number = number.replace("+0.", "+.").replace("-0.", "-.").replace("-", "−")
    axis.text(1.03, y, number, transform=axis_transform, va="center", fontsize=8, color=palette.INK)
    weight = "bold" if is_decided else "normal"
    axis.text(
        1.03 + 0.72 / (WIDTH - NAMES - BESIDE), y, row.label, transform=axis_transform, va="center", fontsize=8.5,
        color=INKS[row.word], fontweight=weight,
    )  # fmt: skip
