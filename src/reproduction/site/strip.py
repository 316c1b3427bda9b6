"""All numbers of a paper in one picture: how far each is from the printed one, in standard errors."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import median

from reproduction.site.card import Entry
from reproduction.site.exhibits import measured

TOP = 30
STEP = 3.4  # pixels between marks of one place
TICKS = (-100, -30, -10, -3, 0, 3, 10, 30, 100)
RIGHT = 16
LIMIT = 200.0  # standard errors at the ends of the axis
AGREES = 2.0  # standard errors within which two means agree
MARKS = {"good": "circle", "fair": "diamond", "bad": "cross", "none": "ring"}


@dataclass(frozen=True)
class _Size:
    """Of the picture in pixels: beside each other on a page, names above their rows on a phone."""

    width: int
    left: int
    row: int
    ticks: tuple[int, ...]
    narrow: bool = False

    def place(self, value: float) -> float:
        """Return the horizontal place of a difference: linear near 0, logarithmic far from it."""
        share = math.asinh(max(-LIMIT, min(LIMIT, value))) / math.asinh(LIMIT)
        return self.left + (self.width - self.left - RIGHT) * (share + 1) / 2

    def beside(self, labels: Iterable[str]) -> "_Size":
        """Return the same with room for labels on the left; on a phone they stand above the rows."""
        longest = max(map(len, labels), default=0)
        return self if self.narrow else replace(self, left=max(self.left, round(LETTER * longest) + 16))


LETTER = 6.4  # pixels, of the picture's font
PAGE = _Size(860, 190, 26, TICKS)
PHONE = _Size(380, 16, 44, (-100, -10, 0, 10, 100), narrow=True)


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
    rows = {label: sorted(own, key=difference) for label, own in rows.items()}
    pictures = "".join(_picture(rows, size, name, title, described(entries)) for size in (PAGE, PHONE))
    tips = json.dumps([_said(entry) for own in rows.values() for entry in own], ensure_ascii=False)
    return (
        f"{pictures}<script type='application/json' id='{name}-tips'>{tips.replace('</', '<' + chr(92) + '/')}</script>"
    )


def _label(entry: Entry) -> str:
    """The exhibit and the dataset of a row, in words: ``Table 3, law school``."""
    words = re.sub(r"\bfig(?=\d)", "figure", entry.exhibit.replace("_", " "))
    words = re.sub(r"(?<=[a-z])(?=\d)", " ", words)
    return ", ".join(filter(None, [words[:1].upper() + words[1:], entry.place]))


def _said(entry: Entry) -> str:
    """What a mark says when it is pointed at, or reached by the arrow keys."""
    power = "" if entry.power else ", could not have failed"
    return (
        f"{entry.what}\npublished {entry.number('published'):.4g}, ours {measured(entry)}\n"
        f"{difference(entry):+.2g} standard errors: {entry.outcome}{power}"
    )


def tolerance(own: Sequence[Entry]) -> float:
    """Return the tolerance of a row in standard errors, its median; 0 if fewer than half of its lines have one."""
    found = [entry.number("tolerance") / entry.noise for entry in own if entry.number("tolerance") > 0]
    return median(found) if 2 * len(found) >= len(own) else 0.0


def _picture(rows: Mapping[str, Sequence[Entry]], size: _Size, name: str, title: str, words: str) -> str:
    size, height = size.beside(rows), TOP + size.row * len(rows) + 34
    parts = [_shade(tolerance(own), TOP + size.row * number, size) for number, own in enumerate(rows.values())]
    parts.append(_frame(len(rows), size))
    count = 0
    for number, (label, own) in enumerate(rows.items()):
        top = TOP + size.row * number
        middle = top + size.row * (0.68 if size.narrow else 0.5)
        x, y, anchor = (size.left, top + 13, "start") if size.narrow else (size.left - 8, middle + 4, "end")
        parts.append(f"<text x='{x}' y='{y:.0f}' text-anchor='{anchor}'>{escape(label)}</text>")
        parts += _row(own, middle, size, count)
        count += len(own)
    kind, key = ("pf-strip narrow", f"{name}-n") if size.narrow else ("pf-strip", name)
    return (
        f"<svg class='{kind}' viewBox='0 0 {size.width} {height}' role='img' aria-labelledby='{key}-t {key}-d' "
        f"tabindex='0' data-tips='{name}-tips'>"
        f"<title id='{key}-t'>{escape(title)}</title><desc id='{key}-d'>{escape(words)}</desc>{''.join(parts)}</svg>"
    )


def described(entries: Sequence[Entry]) -> str:
    """Return the picture in words."""
    found = [abs(difference(e)) for e in entries if e.kind == "number" and math.isfinite(difference(e))]
    near = sum(value <= AGREES for value in found)
    return (
        f"{len(found)} published numbers by exhibit and dataset; {near} of them lie within {AGREES:g} standard errors "
        f"of ours, and the farthest is {max(found):.3g} standard errors away. Arrow keys move from mark to mark."
    )


def difference(entry: Entry) -> float:
    """Return ours minus published in standard errors; not a number if there is none."""
    noise = entry.noise
    if not noise > 0:
        return math.nan
    return (entry.number("reproduced") - entry.number("published")) / noise


def _frame(rows: int, size: _Size) -> str:
    low, high, bottom = size.place(-AGREES), size.place(AGREES), TOP + size.row * rows
    lines = [f"<rect class='band' x='{low:.1f}' y='{TOP}' width='{high - low:.1f}' height='{bottom - TOP}'/>"]
    lines += [f"<text class='head' x='{(low + high) / 2:.1f}' y='{TOP - 10}' text-anchor='middle'>agrees</text>"]
    for tick in size.ticks:
        x = size.place(tick)
        lines.append(f"<line class='grid' x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{bottom}'/>")
        lines.append(f"<text x='{x:.1f}' y='{bottom + 14}' text-anchor='middle'>{tick:+d}</text>".replace("+0", "0"))
    middle = "standard errors" if size.narrow else "difference in standard errors"
    lines.append(
        f"<text class='head' x='{size.left}' y='{bottom + 30}'>← ours lower</text>"
        f"<text class='head' x='{size.place(0):.1f}' y='{bottom + 30}' text-anchor='middle'>{middle}</text>"
        f"<text class='head' x='{size.width - RIGHT}' y='{bottom + 30}' text-anchor='end'>ours higher →</text>"
    )
    return "".join(lines)


def _shade(width: float, top: int, size: _Size) -> str:
    """Shade the tolerance of a row where it is wider than the noise."""
    if width <= AGREES:
        return ""
    low, high = size.place(-width), size.place(width)
    return f"<rect class='near' x='{low:.1f}' y='{top}' width='{high - low:.1f}' height='{size.row}'/>"


def _row(own: Sequence[Entry], middle: float, size: _Size, first: int) -> list[str]:
    """Draw the marks of a row, those of one place beside each other above and below its middle, numbered on."""
    used: Counter[int] = Counter()
    parts = []
    for place, entry in enumerate(own, first):
        x = size.place(difference(entry))
        level = used[round(x / 5)]
        used[round(x / 5)] += 1
        shift = min(STEP * ((level + 1) // 2), 10.0) * (-1 if level % 2 else 1)
        parts.append(_symbol(entry.tone, x, middle + shift, place, pale=not entry.power))
    return parts


def _symbol(tone: str, x: float, y: float, place: int, *, pale: bool) -> str:
    kind = f"m {tone}{' pale' if pale else ''}' data-k='{place}"
    if MARKS[tone] == "cross":
        return f"<path class='{kind}' d='M{x - 3:.1f} {y - 3:.1f}l6 6m0-6l-6 6'/>"
    if MARKS[tone] == "diamond":
        return f"<path class='{kind}' d='M{x:.1f} {y - 4:.1f}l4 4-4 4-4-4z'/>"
    return f"<circle class='{kind}' cx='{x:.1f}' cy='{y:.1f}' r='3.2'/>"
