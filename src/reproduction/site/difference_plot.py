"""All numbers of a paper in one picture: how far each is from the printed one, in standard errors."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import median

from reproduction.site.scorecard_entries import Entry
from reproduction.site.sentences import effect

TOP = 30
STEP = 3.4  # pixels between stacked marks
_TICKS = (-100, -30, -10, -3, 0, 3, 10, 30, 100)
RIGHT = 16
LIMIT = 200.0  # standard errors at the ends of the axis
_AGREES = 2.0  # standard errors within which two means agree
MARKS = {"good": "circle", "fair": "diamond", "bad": "cross", "none": "ring"}


@dataclass(frozen=True)
class _PictureSize:
    """Sizes of the picture in pixels: names stand beside their rows on a page, and above them on a phone."""

    width: int
    left: int
    row: int
    ticks: tuple[int, ...]
    narrow: bool = False

    def x_of(self, value: float) -> float:
        """Return the horizontal coordinate of a difference: linear near 0, logarithmic far from it."""
        # x = asinh(d) / asinh(LIMIT) in [-1, 1], with d clipped to +-LIMIT standard errors.
        share = math.asinh(max(-LIMIT, min(LIMIT, value))) / math.asinh(LIMIT)
        return self.left + (self.width - self.left - RIGHT) * (share + 1) / 2

    def beside(self, labels: Iterable[str]) -> "_PictureSize":
        """Return a size with room for labels on the left; on a phone they stand above the rows."""
        longest = max(map(len, labels), default=0)
        return self if self.narrow else replace(self, left=max(self.left, round(LETTER * longest) + 16))


LETTER = 6.4  # pixels, of the picture's font
PAGE = _PictureSize(860, 190, 26, _TICKS)
_PHONE = _PictureSize(380, 16, 44, (-100, -10, 0, 10, 100), narrow=True)


def plot(entries: Sequence[Entry], name: str, title: str) -> str:
    """Return an SVG with a row per exhibit and a mark per number, and one for phones; empty without standard errors.

    Args:
        entries: lines of one paper; those that are not numbers are left out.
        name: prefix of identifiers.
        title: of the picture.
    """
    rows: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == "number" and math.isfinite(difference(entry)):
            rows.setdefault(_label(entry), []).append(entry)
    if not rows:
        return ""
    rows = {label: sorted(row_entries, key=difference) for label, row_entries in rows.items()}
    pictures = "".join(_picture(rows, size, name, title, describe(entries)) for size in (PAGE, _PHONE))
    tips = json.dumps([_tip(entry) for row_entries in rows.values() for entry in row_entries], ensure_ascii=False)
    return (
        f"{pictures}<script type='application/json' id='{name}-tips'>{tips.replace('</', '<' + chr(92) + '/')}</script>"
    )


def _label(entry: Entry) -> str:
    """Return the exhibit and the dataset of a row in words: ``Table 3, law school``."""
    text = re.sub(r"\bfig(?=\d)", "figure", entry.exhibit.replace("_", " "))
    text = re.sub(r"(?<=[a-z])(?=\d)", " ", text)
    return ", ".join(filter(None, [text[:1].upper() + text[1:], entry.dataset_title]))


def _tip(entry: Entry) -> str:
    """Return the text of a mark that a pointer or the arrow keys reach."""
    power = "" if entry.power else ", could not have failed"
    return (
        f"{entry.description}\npublished {entry.number('published'):.4g}, ours {effect(entry)}\n"
        f"{difference(entry):+.2g} standard errors: {entry.outcome}{power}"
    )


def tolerance(entries: Sequence[Entry]) -> float:
    """Return the tolerance of a row in standard errors, its median; 0 if fewer than half of its lines have one."""
    tolerances = [entry.number("tolerance") / entry.noise for entry in entries if entry.number("tolerance") > 0]
    return median(tolerances) if 2 * len(tolerances) >= len(entries) else 0.0


def _picture(rows: Mapping[str, Sequence[Entry]], size: _PictureSize, name: str, title: str, description: str) -> str:
    size, height = size.beside(rows), TOP + size.row * len(rows) + 34
    elements = [
        _shade(tolerance(row_entries), TOP + size.row * number, size)
        for number, row_entries in enumerate(rows.values())
    ]
    elements.append(_frame(len(rows), size))
    count = 0
    for number, (label, row_entries) in enumerate(rows.items()):
        top = TOP + size.row * number
        middle = top + size.row * (0.68 if size.narrow else 0.5)
        x, y, anchor = (size.left, top + 13, "start") if size.narrow else (size.left - 8, middle + 4, "end")
        elements.append(f"<text x='{x}' y='{y:.0f}' text-anchor='{anchor}'>{escape(label)}</text>")
        elements += _draw_row(row_entries, middle, size, count)
        count += len(row_entries)
    kind, key = ("pf-strip narrow", f"{name}-n") if size.narrow else ("pf-strip", name)
    return (
        f"<svg class='{kind}' viewBox='0 0 {size.width} {height}' role='img' aria-labelledby='{key}-t {key}-d' "
        f"tabindex='0' data-tips='{name}-tips'>"
        f"<title id='{key}-t'>{escape(title)}</title><desc id='{key}-d'>{escape(description)}</desc>"
        f"{''.join(elements)}</svg>"
    )


def describe(entries: Sequence[Entry]) -> str:
    """Return the picture in words."""
    differences = (difference(entry) for entry in entries if entry.kind == "number")
    distances = [abs(value) for value in differences if math.isfinite(value)]
    agreeing = sum(value <= _AGREES for value in distances)
    return (
        f"{len(distances)} published numbers by exhibit and dataset; {agreeing} of them lie within {_AGREES:g} "
        f"standard errors of ours, and the farthest is {max(distances):.3g} standard errors away. Arrow keys move "
        "from mark to mark."
    )


def difference(entry: Entry) -> float:
    """Return ours minus published in standard errors; not a number if there is none."""
    noise = entry.noise
    if not noise > 0:
        return math.nan
    return (entry.number("reproduced") - entry.number("published")) / noise


def _frame(rows: int, size: _PictureSize) -> str:
    low, high, bottom = size.x_of(-_AGREES), size.x_of(_AGREES), TOP + size.row * rows
    lines = [f"<rect class='band' x='{low:.1f}' y='{TOP}' width='{high - low:.1f}' height='{bottom - TOP}'/>"]
    lines += [f"<text class='head' x='{(low + high) / 2:.1f}' y='{TOP - 10}' text-anchor='middle'>agrees</text>"]
    for tick in size.ticks:
        x = size.x_of(tick)
        lines.append(f"<line class='grid' x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{bottom}'/>")
        lines.append(f"<text x='{x:.1f}' y='{bottom + 14}' text-anchor='middle'>{tick:+d}</text>".replace("+0", "0"))
    middle = "standard errors" if size.narrow else "difference in standard errors"
    lines.append(
        f"<text class='head' x='{size.left}' y='{bottom + 30}'>← ours lower</text>"
        f"<text class='head' x='{size.x_of(0):.1f}' y='{bottom + 30}' text-anchor='middle'>{middle}</text>"
        f"<text class='head' x='{size.width - RIGHT}' y='{bottom + 30}' text-anchor='end'>ours higher →</text>"
    )
    return "".join(lines)


def _shade(width: float, top: int, size: _PictureSize) -> str:
    """Shade the tolerance of a row where it is wider than the noise."""
    if width <= _AGREES:
        return ""
    low, high = size.x_of(-width), size.x_of(width)
    return f"<rect class='near' x='{low:.1f}' y='{top}' width='{high - low:.1f}' height='{size.row}'/>"


def _draw_row(entries: Sequence[Entry], middle: float, size: _PictureSize, first_number: int) -> list[str]:
    """Draw the marks of a row; marks that would cover each other are stacked above and below its middle."""
    used: Counter[int] = Counter()
    symbols = []
    for number, entry in enumerate(entries, first_number):
        x = size.x_of(difference(entry))
        stacked = used[round(x / 5)]
        used[round(x / 5)] += 1
        shift = min(STEP * ((stacked + 1) // 2), 10.0) * (-1 if stacked % 2 else 1)
        symbols.append(_symbol(entry.tone, x, middle + shift, number, pale=not entry.power))
    return symbols


def _symbol(tone: str, x: float, y: float, number: int, *, pale: bool) -> str:
    css_class = f"m {tone}{' pale' if pale else ''}' data-k='{number}"
    if MARKS[tone] == "cross":
        return f"<path class='{css_class}' d='M{x - 3:.1f} {y - 3:.1f}l6 6m0-6l-6 6'/>"
    if MARKS[tone] == "diamond":
        return f"<path class='{css_class}' d='M{x:.1f} {y - 4:.1f}l4 4-4 4-4-4z'/>"
    return f"<circle class='{css_class}' cx='{x:.1f}' cy='{y:.1f}' r='3.2'/>"
