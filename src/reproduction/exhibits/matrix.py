"""Matrix of readings: what each comparison of a paper's central claims says under every reading of its sentence."""

import math
import textwrap
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import palette
from partialfair.pages.palette import TONES
from reproduction.exhibits import central_comparisons
from reproduction.exhibits.central_comparisons import INKS, CentralComparison
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts import letters

WIDTH, NAMES, CELL, WORDS = 9.0, 1.8, 0.36, 1.9  # inches; CELL is the widest
HEIGHT, HEAD = 0.24, 0.19  # of a row of cells, and of one of names above them
BLUE, RED = TONES["blue"].light, TONES["vermilion"].light
LOOKS = {
    "H": (BLUE, 0.3, "bold"), "h": (BLUE, 0.12, "normal"), "F": (RED, 0.3, "bold"), "f": (RED, 0.12, "normal"),
    "-": (palette.GRID, 0.3, "normal"), "x": ("none", 0.0, "normal"),
}  # fmt: skip
"""Colour of a cell with its opacity, and weight of its letter."""
NARROW = 0.15
"""Cells of so many inches hold no letter: in a matrix with such cells, the colours are strong enough without."""
STRONGER = {"H": 0.85, "h": 0.3, "F": 0.85, "f": 0.3, "-": 0.6, "x": 0.0}
_LETTER_SIGNS = {"-": "–", "x": "·"}
_LETTER = 0.062  # inches of a name above the cells
_NOTE = (
    "H holds, F fails (2.5%, corrected for the family); h, f: only without correction; –: open; ·: no common level. "
    "The first column is the main reading."
)
_COLOURS = (
    "Strong blue: holds; strong red: fails (2.5%, corrected for the family); pale: only without correction; grey: "
    "open; white: no common level. The first column is the main reading."
)
SEEDS = "Last column: runs without one seed that have another word."


class Matrix(Options):
    """What each comparison of the central claims says under every reading: letters, with the word beside them."""

    source: Literal["matrix"] = Field(description="matrix: letters by comparison and reading")


def draw(context: Context[Matrix], lines: list[Line]) -> Any:
    """Draw one block of rows for the claims that share their readings, with the options of each choice above it."""
    from matplotlib import pyplot as plt

    blocks: dict[tuple[tuple[str, ...], ...], list[CentralComparison]] = {}
    for row in central_comparisons.rows(context, lines):
        if row.line.get("letters"):
            assert row.claim.readings is not None
            names = row.claim.readings.names()
            blocks.setdefault(tuple((choice, *options) for choice, options in names.items()), []).append(row)
    heads = [_head(choices) for choices in blocks]
    spans = [
        HEAD * (len(head.lines) + len(head.key)) + HEIGHT * (_count_rows(block_rows) + 1)
        for head, block_rows in zip(heads, blocks.values(), strict=True)
    ]
    seeds = any(row.line.get("seeds_flip") for block_rows in blocks.values() for row in block_rows)
    notes = [_COLOURS] if any(head.cell < NARROW for head in heads) else []
    notes += [_NOTE] if any(head.cell >= NARROW for head in heads) else []
    note = textwrap.wrap(" ".join([*notes, *([SEEDS] if seeds else [])]), 128)
    height = sum(spans) + 0.14 * len(note)
    figure = plt.figure(figsize=(WIDTH, height))
    top = height
    for head, block_rows, span in zip(heads, blocks.values(), spans, strict=True):
        top -= span
        axis = figure.add_axes((0, top / height, 1, span / height))
        axis.set(xlim=(0, WIDTH), ylim=(span, 0))
        axis.axis("off")
        _draw_block(axis, head, block_rows)
    figure.text(0.012, 0.06 / height, "\n".join(note), fontsize=8, color=palette.INK, va="bottom")
    return figure


def _count_rows(rows: list[CentralComparison]) -> int:
    return len(rows) + len(dict.fromkeys(row.location for row in rows))


@dataclass(frozen=True)
class _Head:
    """What stands above the cells of a block: a line for each choice, the outermost first, and a key to its numbers."""

    cell: float
    lines: list[tuple[str, list[str]]]
    key: list[str]


def _head(choices: tuple[tuple[str, ...], ...]) -> _Head:
    """Name the options of each choice over their cells; numbers stand for names that are wider than these."""
    readings = math.prod(len(options) for _, *options in choices)
    cell = min(CELL, (WIDTH - NAMES - CELL - WORDS) / readings)
    lines, key, repeated = [], [], 1
    for choice, *options in choices:
        repeated *= len(options)
        width, labels = cell * readings / repeated, options
        if len(options) > 1 and max(map(len, options)) * _LETTER > width:
            labels = [str(number + 1) for number in range(len(options))]
            listed = ", ".join(f"{label} {option}" for label, option in zip(labels, options, strict=True))
            key += textwrap.wrap(f"{choice}: {listed}", 150, subsequent_indent="    ")
        if len(options) > 1:
            lines.append((choice, labels * (repeated // len(options))))
    return _Head(cell, lines, key)


def _draw_block(axis: Any, head: _Head, rows: list[CentralComparison]) -> None:
    seeds = any(row.line.get("seeds_flip") for row in rows)
    for k, text in enumerate(head.key):
        axis.text(0.1, HEAD * (k + 0.5), text, fontsize=7.5, va="center", color=palette.INK)
    y = HEAD * len(head.key)
    columns = len(head.lines[-1][1]) if head.lines else 1
    for choice, labels in head.lines:
        width = head.cell * columns / len(labels)
        axis.text(NAMES - 0.1, y + HEAD / 2, choice, fontsize=7.5, ha="right", va="center", color=palette.INK)
        for k, label in enumerate(labels):
            axis.text(
                NAMES + width * (k + 0.5), y + HEAD / 2, label, fontsize=min(7.5, 102 * width), ha="center", va="center"
            )
        y += HEAD
    if seeds:
        axis.text(NAMES + head.cell * columns + CELL / 2, y - HEAD / 2, "seeds", fontsize=7.5, ha="center", va="center")
    location, cells = "", dict[str, list[tuple[float, float]]]()
    for row in rows:
        if row.location != location:
            location, y = row.location, y + HEIGHT
            axis.text(0.1, y - HEIGHT / 2, location, fontsize=8.5, fontweight="bold", va="center", color=palette.INK)
        axis.text(
            NAMES - 0.1, y + HEIGHT / 2, row.compared_with, fontsize=8.5, ha="right", va="center", color=palette.INK
        )
        reading_letters = "".join(str(row.line["letters"]).split())
        for k, letter in enumerate(reading_letters):
            x = NAMES + head.cell * k
            cells.setdefault(letter, []).append((x, y))
            if head.cell >= NARROW:
                _write_letter(axis, x + head.cell / 2, y, _LETTER_SIGNS.get(letter, letter), LOOKS[letter][2])
        x = NAMES + head.cell * len(reading_letters)
        if seeds:
            by_seeds = letters.SEEDS in str(row.line.get("depends_on", ""))
            _draw_cells(axis, [(x, y)], CELL, TONES["olive"].light if by_seeds else palette.GRID, 0.3)
            flips = str(row.line.get("seeds_flip", "")).split(" ")[0]
            _write_letter(axis, x + CELL / 2, y, flips, "bold" if by_seeds else "normal")
            x += CELL
        axis.text(x + 0.12, y + HEIGHT / 2, row.label, fontsize=8.5, va="center", color=INKS[row.word])
        y += HEIGHT
    for letter, places in cells.items():
        face, opacity, _ = LOOKS[letter]
        _draw_cells(axis, places, head.cell, face, opacity if head.cell >= NARROW else STRONGER[letter])


def _draw_cells(axis: Any, places: list[tuple[float, float]], width: float, face: str, opacity: float) -> None:
    """Draw cells of one colour as one path, which keeps a page with thousands of them small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    gap = min(0.015, width / 12)
    boxes = [((x + gap, y + 0.015), (x + width - gap, y + HEIGHT - 0.015)) for x, y in places]
    outline = Path.make_compound_path(
        *(Path([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], closed=True) for (x0, y0), (x1, y1) in boxes)
    )
    axis.add_patch(PathPatch(outline, fc=face, ec="none", alpha=opacity))


def _write_letter(axis: Any, x: float, y: float, text: str, weight: str) -> None:
    axis.text(x, y + HEIGHT / 2, text, fontsize=8, ha="center", va="center", color=palette.INK, fontweight=weight)
