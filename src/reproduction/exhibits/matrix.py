"""Matrix of readings: what each comparison of a paper's central claims says under every reading of its sentence."""

import textwrap
from itertools import product
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import palette
from partialfair.pages.palette import TONES
from reproduction.exhibits import central
from reproduction.exhibits.central import INKS, Row
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
SHOWN = {"-": "–", "x": "·"}
NOTE = (
    "H holds, F fails (2.5%, corrected for the family); h, f: only without correction; –: open; ·: no common level. "
    "The first column is the main reading."
)
SEEDS = "Last column: runs without one seed that have another word."


class Matrix(Options):
    """What each comparison of the central claims says under every reading: letters, with the word beside them."""

    source: Literal["matrix"] = Field(description="matrix: letters by comparison and reading")


def draw(context: Context[Matrix], found: list[Line]) -> Any:
    """One block of rows for the claims that share their readings, with names of the readings above it."""
    from matplotlib import pyplot as plt

    blocks: dict[tuple[str, ...], list[Row]] = {}
    for row in central.rows(context, found):
        if row.line.get("letters"):
            blocks.setdefault(tuple(_columns(row)), []).append(row)
    spans = [HEAD + HEIGHT * _height(own) for own in blocks.values()]
    seeds = any(row.line.get("seeds_flip") for own in blocks.values() for row in own)
    note = textwrap.wrap(f"{NOTE} {SEEDS}" if seeds else NOTE, 128)
    tall = sum(spans) + 0.2 + 0.14 * len(note)
    figure = plt.figure(figsize=(WIDTH, tall))
    top = tall
    for (columns, own), span in zip(blocks.items(), spans, strict=True):
        top -= span
        axis = figure.add_axes((0, top / tall, 1, span / tall))
        axis.set(xlim=(0, WIDTH), ylim=(span, 0))
        axis.axis("off")
        _block(axis, columns, own)
    figure.text(0.012, 0.06 / tall, "\n".join(note), fontsize=8, color=palette.INK, va="bottom")
    return figure


def _height(rows: list[Row]) -> int:
    return len(rows) + len(dict.fromkeys(row.place for row in rows))


def _columns(row: Row) -> list[str]:
    """Names of the readings of a comparison, in the order of its letters; main options are left out beside others."""
    readings = row.claim.readings
    assert readings is not None
    names = list(readings.names().values())
    mains = [own[0] for own in names]
    found = [
        ", ".join(name for name, main in zip(reading, mains, strict=True) if name != main)
        for reading in product(*names)
    ]
    return ["main reading", *found[1:]]


def _block(axis: Any, columns: tuple[str, ...], rows: list[Row]) -> None:
    seeds = any(row.line.get("seeds_flip") for row in rows)
    for k, name in enumerate([*columns, *(["one seed left out"] if seeds else [])]):
        x = NAMES + CELL * (k + 0.35)
        axis.text(x, HEAD - 0.12, name, rotation=40, rotation_mode="anchor", ha="left", va="bottom", fontsize=7.5)
    place, y = "", HEAD
    for row in rows:
        if row.place != place:
            place, y = row.place, y + HEIGHT
            axis.text(0.1, y - HEIGHT / 2, place, fontsize=8.5, fontweight="bold", va="center", color=palette.INK)
        axis.text(NAMES - 0.1, y + HEIGHT / 2, row.other, fontsize=8.5, ha="right", va="center", color=palette.INK)
        spelt = "".join(str(row.line["letters"]).split())
        for k, letter in enumerate(spelt):
            face, opacity, weight = LOOKS[letter]
            _cell(axis, NAMES + CELL * k, y, face, opacity)
            _letter(axis, NAMES + CELL * k, y, SHOWN.get(letter, letter), weight)
        x = NAMES + CELL * len(spelt)
        if seeds:
            strong = letters.SEEDS in str(row.line.get("depends_on", ""))
            _cell(axis, x, y, TONES["olive"].light if strong else palette.GRID, 0.3)
            _letter(axis, x, y, str(row.line.get("seeds_flip", "")).split(" ")[0], "bold" if strong else "normal")
            x += CELL
        axis.text(x + 0.12, y + HEIGHT / 2, row.said, fontsize=8.5, va="center", color=INKS[row.word])
        y += HEIGHT


def _cell(axis: Any, x: float, y: float, face: str, opacity: float) -> None:
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((x + 0.015, y + 0.015), CELL - 0.03, HEIGHT - 0.03, fc=face, ec="none", alpha=opacity))


def _letter(axis: Any, x: float, y: float, text: str, weight: str) -> None:
    at = (x + CELL / 2, y + HEIGHT / 2)
    axis.text(*at, text, fontsize=8, ha="center", va="center", color=palette.INK, fontweight=weight)
