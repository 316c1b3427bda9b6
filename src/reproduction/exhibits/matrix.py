"""Matrix of readings: what each comparison of a paper's central claims says under every reading of its sentence."""

import textwrap
from itertools import product
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import palette
from partialfair.pages.palette import TONES
from reproduction.exhibits import central_comparisons
from reproduction.exhibits.central_comparisons import INKS, CentralComparison
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts import letters

WIDTH, NAMES, CELL, HEAD = 9.0, 2.6, 0.36, 2.0  # inches
HEIGHT = 0.24
BLUE, RED = TONES["blue"].light, TONES["vermilion"].light
LOOKS = {
    "H": (BLUE, 0.3, "bold"), "h": (BLUE, 0.12, "normal"), "F": (RED, 0.3, "bold"), "f": (RED, 0.12, "normal"),
    "-": (palette.GRID, 0.3, "normal"), "x": ("none", 0.0, "normal"),
}  # fmt: skip
"""Colour of a cell with its opacity, and weight of its letter."""
_LETTER_SIGNS = {"-": "–", "x": "·"}
_NOTE = (
    "H holds, F fails (2.5%, corrected for the family); h, f: only without correction; –: open; ·: no common level. "
    "The first column is the main reading."
)
SEEDS = "Last column: runs without one seed that have another word."


class Matrix(Options):
    """What each comparison of the central claims says under every reading: letters, with the word beside them."""

    source: Literal["matrix"] = Field(description="matrix: letters by comparison and reading")


def draw(context: Context[Matrix], lines: list[Line]) -> Any:
    """Draw one block of rows for the claims that share their readings, with the readings' names above it."""
    from matplotlib import pyplot as plt

    blocks: dict[tuple[str, ...], list[CentralComparison]] = {}
    for row in central_comparisons.rows(context, lines):
        if row.line.get("letters"):
            blocks.setdefault(tuple(_columns(row)), []).append(row)
    spans = [HEAD + HEIGHT * _count_rows(block_rows) for block_rows in blocks.values()]
    seeds = any(row.line.get("seeds_flip") for block_rows in blocks.values() for row in block_rows)
    note = textwrap.wrap(f"{_NOTE} {SEEDS}" if seeds else _NOTE, 128)
    height = sum(spans) + 0.2 + 0.14 * len(note)
    figure = plt.figure(figsize=(WIDTH, height))
    top = height
    for (columns, block_rows), span in zip(blocks.items(), spans, strict=True):
        top -= span
        axis = figure.add_axes((0, top / height, 1, span / height))
        axis.set(xlim=(0, WIDTH), ylim=(span, 0))
        axis.axis("off")
        _draw_block(axis, columns, block_rows)
    figure.text(0.012, 0.06 / height, "\n".join(note), fontsize=8, color=palette.INK, va="bottom")
    return figure


def _count_rows(rows: list[CentralComparison]) -> int:
    return len(rows) + len(dict.fromkeys(row.location for row in rows))


def _columns(row: CentralComparison) -> list[str]:
    """Return the readings of a comparison by name, in the order of its letters, without options of the main reading."""
    readings = row.claim.readings
    assert readings is not None
    names = list(readings.names().values())
    main_options = [options[0] for options in names]
    labels = [
        ", ".join(name for name, main in zip(reading, main_options, strict=True) if name != main)
        for reading in product(*names)
    ]
    return ["main reading", *labels[1:]]


def _draw_block(axis: Any, columns: tuple[str, ...], rows: list[CentralComparison]) -> None:
    seeds = any(row.line.get("seeds_flip") for row in rows)
    for k, name in enumerate([*columns, *(["one seed left out"] if seeds else [])]):
        x = NAMES + CELL * (k + 0.35)
        axis.text(x, HEAD - 0.12, name, rotation=40, rotation_mode="anchor", ha="left", va="bottom", fontsize=7.5)
    location, y = "", HEAD
    for row in rows:
        if row.location != location:
            location, y = row.location, y + HEIGHT
            axis.text(0.1, y - HEIGHT / 2, location, fontsize=8.5, fontweight="bold", va="center", color=palette.INK)
        axis.text(
            NAMES - 0.1, y + HEIGHT / 2, row.compared_with, fontsize=8.5, ha="right", va="center", color=palette.INK
        )
        reading_letters = "".join(str(row.line["letters"]).split())
        for k, letter in enumerate(reading_letters):
            face, opacity, weight = LOOKS[letter]
            _draw_cell(axis, NAMES + CELL * k, y, face, opacity)
            _write_letter(axis, NAMES + CELL * k, y, _LETTER_SIGNS.get(letter, letter), weight)
        x = NAMES + CELL * len(reading_letters)
        if seeds:
            by_seeds = letters.SEEDS in str(row.line.get("depends_on", ""))
            _draw_cell(axis, x, y, TONES["olive"].light if by_seeds else palette.GRID, 0.3)
            _write_letter(
                axis, x, y, str(row.line.get("seeds_flip", "")).split(" ")[0], "bold" if by_seeds else "normal"
            )
            x += CELL
        axis.text(x + 0.12, y + HEIGHT / 2, row.label, fontsize=8.5, va="center", color=INKS[row.word])
        y += HEIGHT


def _draw_cell(axis: Any, x: float, y: float, face: str, opacity: float) -> None:
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((x + 0.015, y + 0.015), CELL - 0.03, HEIGHT - 0.03, fc=face, ec="none", alpha=opacity))


def _write_letter(axis: Any, x: float, y: float, text: str, weight: str) -> None:
    centre = (x + CELL / 2, y + HEIGHT / 2)
    axis.text(*centre, text, fontsize=8, ha="center", va="center", color=palette.INK, fontweight=weight)
