"""Writing figures without time stamps, as SVG that takes the colours of the page, and in other formats on request."""

import base64
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair.data.files import atomic_path
from partialfair.errors import DataError
from partialfair.pages import palette
from reproduction.exhibits import descriptions, style, titles
from reproduction.statistics.frontier import FAR

if TYPE_CHECKING:
    from reproduction.exhibits.exhibit import Context

FORMAT = "svg"
"""In which figures are committed, and which pages show."""
_PIXELS = 125  # largest width of an inline figure, per inch
_TEXT = 9.1  # pixels of a figure's smallest letters, below which its frame scrolls instead
_FONT = re.compile(r"<t(?:ext|span)\b[^>]*?font(?:-size)?:[^;\"]*?([\d.]+)px")
_TAG, _LONG = re.compile(r"<[^>]+>"), re.compile(r"-?\d+\.\d{3,}")
_LARGEST = 400_000  # characters of an inline SVG; a larger one, or one of more elements, becomes an image
_ELEMENTS = 8_000
_BACKGROUND, _NO_BACKGROUND = 'style="fill: #ffffff"/>', 'style="fill: none"/>'  # of the whole figure, the first patch

Draw = Callable[[], Any]


def write_figure(context: "Context[Any]", draw: Draw) -> list[Path]:
    """Draw a figure and write it in each of the context's formats.

    Args:
        context: of the exhibit.
        draw: returns the figure; it is called in the common style, and the figure is closed afterwards.
    """
    if not context.formats:
        return []
    with style.applied():
        drawn_figure = draw()
        paths = [_save(drawn_figure, context.path(suffix)) for suffix in context.formats]
        _close(drawn_figure)
    return paths


def inline_figure(context: "Context[Any]") -> str:
    """Return the figure that :func:`write_figure` has written as a piece of HTML.

    Raises:
        DataError: the figure's files are missing.
    """
    title = str(context.option("title", "")) or context.name
    return figure_html(context.path("svg"), title, titles.title_function(context.config, context.option))


def figure_html(source: Path, title: str, title_of: descriptions.Wording | None = None) -> str:
    """Return a written figure as a piece of HTML, with the CSV beside it in words for who cannot see it.

    It is inline SVG whose colours follow the page; a figure with very many points is an image.

    Args:
        source: the SVG; a CSV of the same name lies beside it.
        title: of the figure, with which its description begins.
        title_of: titles of the values of the CSV.

    Raises:
        DataError: the figure's files are missing.
    """
    try:
        svg = _slim(source.read_text(encoding="utf-8")).replace(_BACKGROUND, _NO_BACKGROUND, 1)
        description = descriptions.describe_figure(title, source.with_suffix(".csv"), title_of)
        is_large = len(svg) > _LARGEST or svg.count("<") > 2 * _ELEMENTS
        picture = _image(svg, description) if is_large else palette.themed(svg, source.stem, description, title)
    except FileNotFoundError as error:
        message = f"{error.filename} is missing; draw it: python -m partialfair report {source.stem}"
        raise DataError(message) from error
    width_points = float(svg[svg.index('width="') + 7 :].split("pt")[0])
    return frame_figure(picture, title, _PIXELS * width_points / 72, _TEXT * width_points / _smallest_letters(svg))


def frame_figure(content: str, title: str, largest_width: float, smallest_width: float) -> str:
    """Return a figure in a frame of its own, which scrolls where the figure would be too small to be read.

    Args:
        content: the figure.
        title: of the figure.
        largest_width, smallest_width: of the figure, in pixels.
    """
    css = f"max-width: {round(largest_width)}px; --least: {math.ceil(smallest_width)}px"
    return (
        f"<div class='figure' tabindex='0' role='region' aria-label='{escape(title, quote=True)}' style='{css}'>"
        f"{content}</div>"
    )


def _smallest_letters(svg: str) -> float:
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


def _image(svg: str, description: str) -> str:
    """Return a figure as an image, whose many elements are none of the page's."""
    encoded = base64.b64encode(svg.encode()).decode("ascii")
    return f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{encoded}">'


@dataclass(frozen=True)
class PlotCurve:
    """One line, row of points or density of a panel.

    Attributes:
        x, y: of the same length.
        style: what matplotlib's ``plot`` (``errorbar`` where there are bars) takes.
        bars: lengths of error bars, ``xerr`` and ``yerr``, each a list or a pair of lists below and above.
        band: lower and upper end of a band around the line.
        shade: opacity of the band.
        meaning: what the figure's note has to say of it.
    """

    x: Any
    y: Any
    style: Mapping[str, Any]
    bars: Mapping[str, Any] | None = None
    band: tuple[Any, Any] | None = None
    shade: float = 0.13
    meaning: str = ""

    @classmethod
    def through(cls, points: Iterable[tuple[float, float]], style: Mapping[str, Any], bars: Any = None) -> "PlotCurve":
        """Return the line through points (x, y)."""
        coordinates = list(points)
        return cls([x for x, _ in coordinates], [y for _, y in coordinates], style, bars)


@dataclass(frozen=True)
class PlotPanel:
    """One pair of axes.

    Attributes:
        curves: what is drawn.
        labels: what matplotlib's ``axis.set`` takes: title, xlabel, ylabel, limits; empty texts are left out.
        reason: what stands in a panel without curves; None where ``finish`` draws bars or other things instead.
        finish: draws what is peculiar to the panel, given its axis.
        annotate: draws words inside the panel whose positions depend on its size, which is then settled.
    """

    curves: Sequence[PlotCurve]
    labels: Mapping[str, Any]
    reason: str | None = ""
    finish: Callable[[Any], None] | None = None
    annotate: Callable[[Any], None] | None = None

    def __or__(self, labels: Mapping[str, Any]) -> "PlotPanel":
        """Return the panel with further labels."""
        return replace(self, labels={**self.labels, **labels})


def panel_grid(
    rows: Mapping[str, str], columns: Mapping[str, str], panel: Callable[[str, str], PlotPanel], xlabel: str
) -> list[list[PlotPanel]]:
    """Return panels by row and column, with their labels at the edges of the figure alone.

    Args:
        rows: names of rows, with what stands beside the first column.
        columns: names of columns, with what stands above the first row.
        panel: returns the panel of a row and a column, by their names.
        xlabel: what stands below the last row.
    """
    first_row, last_row = next(iter(rows)), list(rows)[-1]
    return [
        [
            panel(row, column)
            | {"title": title if row == first_row else "", "xlabel": xlabel if row == last_row else ""}
            | {"ylabel": "" if number else ylabel}
            for number, (column, title) in enumerate(columns.items())
        ]
        for row, ylabel in rows.items()
    ]


def draw_panels(
    panels: Sequence[Sequence[PlotPanel]], size: tuple[float, float], share: Mapping[str, Any], **legend: Any
) -> Any:
    """Draw rows of panels with one legend below them.

    Args:
        panels: rows of equal length.
        size: of the figure, in inches.
        share: what matplotlib's ``subplots`` takes besides, for instance ``sharex``.
        legend: see :func:`add_legend`; the note goes on with what the curves mean.
    """
    from matplotlib import pyplot as plt

    rows, columns = max(len(panels), 1), max(map(len, panels), default=1)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **share)
    for line_of_axes, line in zip(axes, panels, strict=False):
        for axis, panel in zip(line_of_axes, line, strict=False):
            _panel(axis, panel)
        for axis in line_of_axes[len(line) :]:
            axis.set_visible(False)
    meanings = dict.fromkeys(curve.meaning for line in panels for panel in line for curve in panel.curves)
    note = " ".join(filter(None, [legend.pop("note", ""), *meanings]))
    add_legend(figure, axes, note=note, **legend)
    for line_of_axes, line in zip(axes, panels, strict=False):
        for axis, panel in zip(line_of_axes, line, strict=False):
            if panel.curves and panel.annotate is not None:
                panel.annotate(axis)
    return figure


def _panel(axis: Any, panel: PlotPanel) -> None:
    for curve in panel.curves:
        if curve.bars is not None:
            axis.errorbar(curve.x, curve.y, **curve.bars, **curve.style)
        else:
            axis.plot(curve.x, curve.y, **curve.style)
        if curve.band is not None:
            axis.fill_between(curve.x, *curve.band, color=curve.style["color"], alpha=curve.shade, lw=0, zorder=2)
    axis.set(**{key: value for key, value in panel.labels.items() if value != ""})
    if not panel.curves and panel.reason is not None:
        write_reason(axis, panel.reason or "not run")
    elif panel.finish is not None:
        panel.finish(axis)


_NOTE_LETTER = 0.062
"""Mean width of a letter of a figure's note, in inches."""

_LEGEND_LINE = 0.22
"""Height of a line of a legend, in inches."""

DOTTED = f"Thin dots: the two models that they join are more than {FAR:g} apart."
"""What a line of :func:`chords` over a long distance means."""


def chords(path: Sequence[tuple[float, float]], line_style: Mapping[str, Any]) -> list[PlotCurve]:
    """Return the line from model to model, dotted and thin where it joins two models that are far apart.

    Args:
        path: horizontal coordinate, in units of fairness or of its violation, and vertical coordinate of each model.
        line_style: colour, ``ls``, ``lw`` and ``zorder`` of the line.
    """
    dotted = dict(line_style) | {
        "ls": (0, (1, 2.5)),
        "lw": 0.7 * line_style["lw"],
        "alpha": style.faint(line_style["color"]),
    }
    return [
        replace(PlotCurve.through(pair, dotted), meaning=DOTTED)
        if abs(pair[1][0] - pair[0][0]) > FAR
        else PlotCurve.through(pair, dict(line_style))
        for pair in zip(path, path[1:], strict=False)
    ]


BARS = "Bars: 95% t-intervals of the mean over seeds."
BANDS = "Bands: 95% t-intervals of the mean over seeds."
"""What error bars and bands mean in every figure; a figure that shows something else says so."""


def add_legend(
    figure: Any,
    axes: Any,
    *,
    width: float = 2.3,
    columns: int = 0,
    last_words: Sequence[str] = (),
    extra_entries: Any = None,
    note: str = "",
) -> None:
    """Draw one legend and a note below all panels, and fit the panels into what is left.

    Args:
        figure, axes: as matplotlib's ``subplots`` returns them.
        width: of one column of the legend in inches; ``columns`` states their number instead.
        last_words: entries that hold one of these words come last.
        extra_entries: further entries, handles by label.
        note: what bars and bands mean.
    """
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries |= extra_entries or {}
    labels = sorted(entries, key=lambda label: tuple(word in label for word in last_words))
    width_inches, height = figure.get_size_inches()
    columns = columns or max(1, min(len(labels), int(width_inches / width)))
    legend, fitted_columns = (
        _legend(figure, {name: entries[name] for name in labels}, columns) if labels else (None, columns)
    )
    legend_rows = math.ceil(len(labels) / fitted_columns)
    height += _LEGEND_LINE * (legend_rows - math.ceil(len(labels) / columns))  # the panels keep their size
    figure.set_size_inches(width_inches, height)
    note_lines = textwrap.wrap(note, int(width_inches / _NOTE_LETTER))
    note_share = (0.06 + 0.14 * len(note_lines)) / height if note_lines else 0.0
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, note_share))
    legend_share = note_share + ((0.12 + _LEGEND_LINE * legend_rows) / height if labels else 0)
    figure.tight_layout(rect=(0, legend_share, 1, 1), h_pad=1.2, w_pad=1.2)
    if note_lines:
        figure.text(0.5, 0.06 / height, "\n".join(note_lines), ha="center", va="bottom", fontsize=8, color=palette.INK)


def _legend(figure: Any, entries: Mapping[str, Any], columns: int) -> tuple[Any, int]:
    """Draw a legend in at most so many columns as the width has room for; return the legend and their number."""
    while True:
        legend = figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return legend, columns
        legend.remove()
        columns -= 1


def write_in_corner(axis: Any, text: str, *, top: bool) -> None:
    """Write small words into the right upper or lower corner of a panel."""
    axis.text(
        0.99, 0.97 if top else 0.03, text, transform=axis.transAxes, ha="right", va="top" if top else "bottom",
        fontsize=8, color=palette.INK, zorder=9, bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
    )  # fmt: skip


def bar_lengths(line: Mapping[str, Any], name: str) -> list[list[float]]:
    """Return the lengths of the bar from ``{name}_low`` to ``{name}_high``, below and above; 0 for a single seed."""
    ends = (line[name] - line[f"{name}_low"], line[f"{name}_high"] - line[name])
    return [[0.0 if math.isnan(end) else end] for end in ends]


def half_width(spread: Any, n: int) -> Any:
    """Return half the width of the 95% interval of the mean of ``n`` values; 0 for a single one.

    Args:
        spread: standard deviation of the values with divisor ``n``, of any shape.
        n: number of values.
    """
    from scipy.stats import t

    # Student's t interval (Student 1908): mean +- t_{.975, n-1} s / sqrt(n), with s^2 = n / (n - 1) spread^2.
    return np.asarray(spread) * (t.ppf(0.975, n - 1) / math.sqrt(n - 1) if n > 1 else 0.0)


def write_reason(axis: Any, reason: str) -> None:
    """Say in a panel why nothing is drawn in it."""
    alignment = {"ha": "center", "va": "center", "transform": axis.transAxes, "wrap": True}
    axis.text(0.5, 0.5, reason, **alignment, in_layout=False)  # however long it is, the panels keep their size
    axis.set_xticks([])
    axis.set_yticks([])


def _close(figure: Any) -> None:
    from matplotlib import pyplot as plt

    plt.close(figure)


def _save(figure: Any, target: Path) -> Path:
    """Write one format without a time stamp, so that equal numbers give equal files."""
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[target.suffix[1:]]
    facecolor = "none" if target.suffix == ".pdf" else "white"
    with atomic_path(target) as path:
        figure.savefig(path, metadata=metadata, facecolor=facecolor)
        if target.suffix == ".svg":
            path.write_text(_slim(path.read_text(encoding="utf-8")), encoding="utf-8")
    return target
