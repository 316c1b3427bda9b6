"""Writing figures: PDF, SVG and PNG without time stamps, and SVG that takes the colours of the page."""

import base64
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair.errors import DataError
from partialfair.pages import palette
from partialfair.tables.files import atomic_path
from reproduction.exhibits import described, style, words
from reproduction.statistics.frontier import FAR

if TYPE_CHECKING:
    from reproduction.exhibits.exhibit import Context

FORMATS = ("pdf", "svg", "png")
_PIXELS = 125  # largest width of an inline figure, per inch
_TEXT = 9.1  # pixels of a figure's smallest letters, below which its frame scrolls instead
_FONT = re.compile(r"<t(?:ext|span)\b[^>]*?font(?:-size)?:[^;\"]*?([\d.]+)px")
_TAG, _LONG = re.compile(r"<[^>]+>"), re.compile(r"-?\d+\.\d{3,}")
_LARGEST = 400_000  # characters of an inline SVG; a larger one, or one of more elements, becomes an image
_ELEMENTS = 8_000

Draw = Callable[[], Any]


def write(context: "Context[Any]", draw: Draw) -> list[Path]:
    """Draw a figure and write it as ``{name}.pdf``, ``.svg`` and ``.png``, if pictures are wanted.

    Args:
        context: of the exhibit.
        draw: returns the figure; it is called in the common style, and the figure is closed afterwards.
    """
    if not context.pictures:
        return []
    with style.applied():
        figure = draw()
        paths = [_save(figure, context.path(suffix)) for suffix in FORMATS]
        _close(figure)
    return paths


def inline(context: "Context[Any]") -> str:
    """Return the figure that :func:`write` has written as a piece of HTML.

    Raises:
        DataError: the figure's files are missing.
    """
    title = str(context.option("title", "")) or context.name
    return drawn(context.path("svg"), title, words.of(context.config, context.option))


def drawn(source: Path, title: str, say: described.Say | None = None) -> str:
    """Return a written figure as a piece of HTML, with the CSV beside it in words for who cannot see it.

    It is inline SVG whose colours follow the page; a figure with very many points is an image.

    Args:
        source: the SVG; PNG and CSV of the same name lie beside it.
        title: of the figure, with which its description begins.
        say: words for the values of the CSV.

    Raises:
        DataError: the figure's files are missing.
    """
    try:
        text = _slim(source.read_text(encoding="utf-8"))
        shown = described.figure(title, source.with_suffix(".csv"), say)
        heavy = len(text) > _LARGEST or text.count("<") > 2 * _ELEMENTS
        content = (
            _raster(source.with_suffix(".png"), shown) if heavy else palette.themed(text, source.stem, shown, title)
        )
    except FileNotFoundError as error:
        message = f"{error.filename} is missing; draw it: python -m partialfair report {source.stem}"
        raise DataError(message) from error
    width = float(text[text.index('width="') + 7 :].split("pt")[0])
    return framed(content, title, _PIXELS * width / 72, _TEXT * width / smallest(text))


def framed(content: str, title: str, most: float, least: float) -> str:
    """Return a figure in a frame of its own, which scrolls where the figure would be too small to be read.

    Args:
        content: the figure.
        title: of the figure.
        most, least: its largest and smallest width in pixels.
    """
    sizes = f"max-width: {round(most)}px; --least: {math.ceil(least)}px"
    return (
        f"<div class='figure' tabindex='0' role='region' aria-label='{escape(title, quote=True)}' style='{sizes}'>"
        f"{content}</div>"
    )


def smallest(svg: str) -> float:
    """Return the size of the smallest letters of an SVG, in its own units."""
    return min(map(float, _FONT.findall(svg)), default=math.inf)


def _slim(svg: str) -> str:
    """Return an SVG without metadata and with coordinates of two decimals, which is a fiftieth of a pixel.

    Text between the tags, such as the numbers along an axis, stays as it is.
    """
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    return _TAG.sub(lambda tag: _LONG.sub(_two_decimals, tag[0]), svg)


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _raster(png: Path, words: str) -> str:
    """Return a figure as an image of the page's width and few colours: a page must stay small."""
    content = base64.b64encode(shrunk(png, _PIXELS / style.DPI)).decode("ascii")
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{content}">'


def shrunk(png: Path, factor: float) -> bytes:
    """Return an image at a fraction of its size, with few colours."""
    from PIL import Image

    small = io.BytesIO()
    with Image.open(png) as image:
        size = [max(1, round(side * factor)) for side in image.size]
        image.convert("RGB").resize((size[0], size[1])).quantize(64).save(small, format="png", optimize=True)
    return small.getvalue()


@dataclass(frozen=True)
class Curve:
    """One line, row of points or density of a panel.

    Attributes:
        x, y: of the same length.
        look: what matplotlib's ``plot`` (``errorbar`` where there are bars) takes.
        bars: lengths of error bars, ``xerr`` and ``yerr``, each a list or a pair of lists below and above.
        band: lower and upper end of a band around the line.
        shade: opacity of the band.
        means: what the figure's note has to say of it.
    """

    x: Any
    y: Any
    look: Mapping[str, Any]
    bars: Mapping[str, Any] | None = None
    band: tuple[Any, Any] | None = None
    shade: float = 0.13
    means: str = ""

    @classmethod
    def through(cls, points: Iterable[tuple[float, float]], look: Mapping[str, Any], bars: Any = None) -> "Curve":
        """Return the line through points (x, y)."""
        found = list(points)
        return cls([x for x, _ in found], [y for _, y in found], look, bars)


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        curves: what is drawn.
        labels: what matplotlib's ``axis.set`` takes: title, xlabel, ylabel, limits; empty texts are left out.
        reason: what stands in a panel without curves.
        finish: draws what is peculiar to the panel, given its axis.
        written: the same for words inside the panel whose places depend on its size, which is then settled.
    """

    curves: Sequence[Curve]
    labels: Mapping[str, Any]
    reason: str = ""
    finish: Callable[[Any], None] | None = None
    written: Callable[[Any], None] | None = None

    def __or__(self, labels: Mapping[str, Any]) -> "Panel":
        """Return the panel with further labels."""
        return replace(self, labels={**self.labels, **labels})


def grid(
    rows: Mapping[str, str], columns: Mapping[str, str], panel: Callable[[str, str], Panel], xlabel: str
) -> list[list[Panel]]:
    """Return panels by row and column, with their labels at the edges of the figure alone.

    Args:
        rows: names of rows, with what stands beside the first column.
        columns: names of columns, with what stands above the first row.
        panel: one panel, by the names of its row and column.
        xlabel: what stands below the last row.
    """
    first, last = next(iter(rows)), list(rows)[-1]
    return [
        [
            panel(row, column)
            | {"title": title if row == first else "", "xlabel": xlabel if row == last else ""}
            | {"ylabel": "" if place else ylabel}
            for place, (column, title) in enumerate(columns.items())
        ]
        for row, ylabel in rows.items()
    ]


def figure(
    panels: Sequence[Sequence[Panel]], size: tuple[float, float], share: Mapping[str, Any], **legend: Any
) -> Any:
    """Draw rows of panels with one legend below them.

    Args:
        panels: rows of equal length.
        size: of the figure, in inches.
        share: what matplotlib's ``subplots`` takes besides, for instance ``sharex``.
        legend: see :func:`below`; the note goes on with what the curves mean.
    """
    from matplotlib import pyplot as plt

    rows, columns = max(len(panels), 1), max(map(len, panels), default=1)
    drawn, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **share)
    for line_of_axes, line in zip(axes, panels, strict=False):
        for axis, panel in zip(line_of_axes, line, strict=False):
            _panel(axis, panel)
        for axis in line_of_axes[len(line) :]:
            axis.set_visible(False)
    meanings = dict.fromkeys(curve.means for line in panels for panel in line for curve in panel.curves)
    note = " ".join(filter(None, [legend.pop("note", ""), *meanings]))
    below(drawn, axes, note=note, **legend)
    for line_of_axes, line in zip(axes, panels, strict=False):
        for axis, panel in zip(line_of_axes, line, strict=False):
            if panel.curves and panel.written is not None:
                panel.written(axis)
    return drawn


def _panel(axis: Any, panel: Panel) -> None:
    for curve in panel.curves:
        if curve.bars is not None:
            axis.errorbar(curve.x, curve.y, **curve.bars, **curve.look)
        else:
            axis.plot(curve.x, curve.y, **curve.look)
        if curve.band is not None:
            axis.fill_between(curve.x, *curve.band, color=curve.look["color"], alpha=curve.shade, lw=0, zorder=2)
    axis.set(**{name: value for name, value in panel.labels.items() if value != ""})
    if not panel.curves:
        empty(axis, panel.reason or "not run")
    elif panel.finish is not None:
        panel.finish(axis)


NOTE_LETTER = 0.062
"""Mean width of a letter of a figure's note, in inches."""

LEGEND_LINE = 0.22
"""Height of a line of a legend, in inches."""

DOTTED = f"Thin dots: the two models that they join are more than {FAR:g} apart."
"""What :func:`chords` draws over a long way."""


def chords(path: Sequence[tuple[float, float]], look: Mapping[str, Any]) -> list[Curve]:
    """The line from model to model, dotted and thin where it joins two of the figure that are far apart.

    Args:
        path: horizontal place, in units of fairness or of its violation, and vertical place of each model.
        look: colour, ``ls``, ``lw`` and ``zorder`` of the line.
    """
    far = dict(look) | {"ls": (0, (1, 2.5)), "lw": 0.7 * look["lw"], "alpha": style.faint(look["color"])}
    return [
        replace(Curve.through(pair, far), means=DOTTED)
        if abs(pair[1][0] - pair[0][0]) > FAR
        else Curve.through(pair, dict(look))
        for pair in zip(path, path[1:], strict=False)
    ]


BARS = "Bars: 95% t-intervals of the mean over seeds."
BANDS = "Bands: 95% t-intervals of the mean over seeds."
"""What error bars and bands mean, in every figure alike; a figure that shows something else says so."""


def below(
    figure: Any,
    axes: Any,
    *,
    width: float = 2.3,
    columns: int = 0,
    last: Sequence[str] = (),
    more: Any = None,
    note: str = "",
) -> None:
    """Draw one legend and a note below all panels, and fit the panels into what is left.

    Args:
        figure, axes: as matplotlib's ``subplots`` returns them.
        width: of one column of the legend in inches; ``columns`` states their number instead.
        last: entries that hold one of these words come last.
        more: further entries, handles by label.
        note: what bars and bands mean.
    """
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries |= more or {}
    labels = sorted(entries, key=lambda label: tuple(word in label for word in last))
    across, height = figure.get_size_inches()
    columns = columns or max(1, min(len(labels), int(across / width)))
    legend, fits = _legend(figure, {name: entries[name] for name in labels}, columns) if labels else (None, columns)
    depth = math.ceil(len(labels) / fits)
    height += LEGEND_LINE * (depth - math.ceil(len(labels) / columns))  # the panels keep their size
    figure.set_size_inches(across, height)
    written = textwrap.wrap(note, int(across / NOTE_LETTER))
    said = (0.06 + 0.14 * len(written)) / height if written else 0.0
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, said))
    room = said + ((0.12 + LEGEND_LINE * depth) / height if labels else 0)
    figure.tight_layout(rect=(0, room, 1, 1), h_pad=1.2, w_pad=1.2)
    if written:
        figure.text(0.5, 0.06 / height, "\n".join(written), ha="center", va="bottom", fontsize=8, color=palette.INK)


def _legend(figure: Any, entries: Mapping[str, Any], columns: int) -> tuple[Any, int]:
    """Draw a legend in so many columns, or as many as the width has room for; return it and their number."""
    while True:
        legend = figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return legend, columns
        legend.remove()
        columns -= 1


def corner(axis: Any, words: str, *, top: bool) -> None:
    """Write small words into the right upper or lower corner of a panel."""
    axis.text(
        0.99, 0.97 if top else 0.03, words, transform=axis.transAxes, ha="right", va="top" if top else "bottom",
        fontsize=8, color=palette.INK, zorder=9, bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
    )  # fmt: skip


def lengths(line: Mapping[str, Any], name: str) -> list[list[float]]:
    """Lengths of the bar from ``{name}_low`` to ``{name}_high``, as matplotlib takes them; none for a single seed."""
    ends = (line[name] - line[f"{name}_low"], line[f"{name}_high"] - line[name])
    return [[0.0 if math.isnan(end) else end] for end in ends]


def half_width(spread: Any, n: int) -> Any:
    """Half the width of the 95% t-interval of a mean of ``n`` values, from their spread with divisor ``n``."""
    from scipy.stats import t

    return np.asarray(spread) * (t.ppf(0.975, n - 1) / math.sqrt(n - 1) if n > 1 else 0.0)


def empty(axis: Any, reason: str) -> None:
    """Say in a panel why nothing is drawn in it."""
    words = {"ha": "center", "va": "center", "transform": axis.transAxes, "wrap": True}
    axis.text(0.5, 0.5, reason, **words, in_layout=False)  # however long it is, the panels keep their size
    axis.set_xticks([])
    axis.set_yticks([])


def _close(figure: Any) -> None:
    from matplotlib import pyplot as plt

    plt.close(figure)


def _save(figure: Any, target: Path) -> Path:
    """Write one format without a time stamp, so that equal numbers give equal files."""
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[target.suffix[1:]]
    face = "white" if target.suffix == ".png" else "none"
    with atomic_path(target) as path:
        figure.savefig(path, metadata=stamp, facecolor=face)
        if target.suffix == ".svg":
            path.write_text(_slim(path.read_text(encoding="utf-8")), encoding="utf-8")
    return target
