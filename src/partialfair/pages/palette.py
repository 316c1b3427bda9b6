"""Ink, grid, fonts and colours of all figures, on light and on dark pages.

A figure is drawn in the light tones; a page replaces each by a variable that has the dark one on dark pages. In either
scheme a tone has a contrast of at least 3:1 with the page, and any two differ by at least 17 (CIEDE2000), so that no
two methods of a panel look alike; Okabe and Ito's own sky blue, orange and pink miss the former on white.
"""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import NamedTuple

INK = "#262626"
GRID = "#dcdcdc"
DPI = 200  # of figures as images
_VISIBLE = 3.05  # contrast with the page that a mark needs: 3, and a reserve for rounding


class Tone(NamedTuple):
    """One colour, as hexadecimal numbers."""

    light: str
    dark: str


TONES = {
    "blue": Tone("#0072b2", "#3d9be0"),
    "vermilion": Tone("#c8500a", "#f07b3f"),
    "green": Tone("#008f68", "#1db889"),
    "pink": Tone("#d0619f", "#f2a6d2"),
    "amber": Tone("#ad8100", "#f7cf5a"),
    "violet": Tone("#7b4fb8", "#a37bf2"),
    "olive": Tone("#5f5200", "#8f8124"),
    "grey": Tone("#777777", "#857d72"),
    "red": Tone("#b3123b", "#ff5c77"),
    "ink": Tone(INK, "#e4e7eb"),
}
"""Colours of methods, groups and marks."""

PAGES = Tone("#ffffff", "#14171b")
_DECLARED = {
    "#d55e00": "vermilion", "#009e73": "green", "#cc79a7": "pink", "#e69f00": "amber", "#56b4e9": "violet",
    "#7a6a00": "olive", "#6b6b6b": "grey", "#8a8f98": "grey", "#c8102e": "red", "#c1121f": "red",
}  # fmt: skip
"""The tone in which a colour that a plug-in declares is drawn."""

_FURNITURE = {"#ffffff": "var(--page)", GRID: "var(--rule)"}
_HEX = re.compile(r"#[0-9a-f]{6}\b")


def tone(colour: str) -> str:
    """Return the light tone that a declared colour is drawn in; any other colour as it is."""
    name = _DECLARED.get(colour.lower())
    return colour if name is None else TONES[name].light


def contrast(foreground: Sequence[float], background: Sequence[float]) -> float:
    """Return the contrast of two colours, each red, green and blue from 0 to 255; it is symmetric."""
    # WCAG 2.1: (L_1 + 0.05) / (L_2 + 0.05) with the larger relative luminance L_1.
    low, high = sorted(_luminance(*colour) for colour in (foreground, background))
    return (high + 0.05) / (low + 0.05)


def _luminance(*colour: float) -> float:
    # WCAG 2.1: L = 0.2126 R + 0.7152 G + 0.0722 B of the linear shares of sRGB.
    shares = (share / 255 for share in colour)
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def faint(colour: str) -> float:
    """Return the opacity of a line that stands behind others: the least at which both pages show its colour."""
    declared = next((tone for tone in TONES.values() if tone.light == colour.lower()), Tone(colour, colour))
    pairs = list(zip(declared, PAGES, strict=True))
    return next((k / 100 for k in range(100) if all(_over(*pair, k / 100) >= _VISIBLE for pair in pairs)), 1.0)


def _over(colour: str, page: str, opacity: float) -> float:
    """Return the contrast of a colour of some opacity with the page that it lies on."""
    ground = _channels(page)
    mixed = [
        opacity * channel + (1 - opacity) * behind for channel, behind in zip(_channels(colour), ground, strict=True)
    ]
    return contrast(mixed, ground)


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def on_page(svg: str) -> str:
    """Return a figure whose colours follow the page: tones, ink, grid and white become variables."""
    replacements = {light: f"var(--tone-{name},{light})" for name, (light, _) in TONES.items()} | _FURNITURE
    return _HEX.sub(lambda match: replacements.get(match[0], match[0]), svg)


def themed(svg: str, name: str, description: str, title: str = "") -> str:
    """Return an SVG in the page's colours, described, with identifiers that differ from other figures'.

    Args:
        svg: the figure.
        name: prefix of its identifiers.
        description: what the figure shows.
        title: its name; none where a heading names it.
    """
    svg = svg[svg.index("<svg") :]
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    head, body = svg.split(">", 1)
    texts = {tag: text for tag, text in (("title", title), ("desc", description)) if text}
    about = "".join(f"<{tag} id='{name}-{tag}'>{escape(text)}</{tag}>" for tag, text in texts.items())
    label = " ".join(f"{name}-{tag}" for tag in texts)
    return f"{head} role='img' aria-labelledby='{label}'>{about}{on_page(body)}"


def variables(dark: bool) -> str:
    """Return the declarations that a style sheet needs for :func:`on_page`, without ``--page`` and ``--rule``."""
    return " ".join(f"--tone-{name}: {pair.dark if dark else pair.light};" for name, pair in TONES.items())


RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.labelsize": 9.5,
    "legend.fontsize": 9.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.dpi": DPI,
    "svg.fonttype": "none",  # text stays text: it can be found, read aloud and edited
    "svg.hashsalt": "partialfair",
    "pdf.fonttype": 42,
}


def applied() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws without a display and in this style."""
    import matplotlib as mpl

    mpl.use("agg")
    return mpl.rc_context(RC)  # type: ignore[arg-type]
