"""Writing figures: PDF, SVG and PNG without time stamps, and SVG that takes the colours of the page."""

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.errors import DataError
from partialfair.reporting import style
from partialfair.tables.files import atomic_path

if TYPE_CHECKING:
    from partialfair.reporting.exhibit import Context

FORMATS = ("pdf", "svg", "png")
_PIXELS = 125  # largest width of an inline figure, per inch
_LARGEST = 600_000  # characters of an inline SVG; a larger one becomes an image

Draw = Callable[[], Any]


def write(context: "Context[Any]", draw: Draw) -> list[Path]:
    """Draw a figure and write it as ``{name}.pdf``, ``.svg`` and ``.png``.

    Args:
        context: of the exhibit.
        draw: returns the figure; it is called in the common style, and the figure is closed afterwards.
    """
    with style.applied():
        figure = draw()
        paths = [_save(figure, context.path(suffix)) for suffix in FORMATS]
        _close(figure)
    return paths


def inline(context: "Context[Any]") -> str:
    """Return the figure that :func:`write` has written as a piece of HTML.

    It is inline SVG whose ink and grid take the page's colours, so that dark pages work; a figure with very many points
    is an image.

    Raises:
        DataError: the figure's files are missing.
    """
    source = context.path("svg")
    try:
        text = source.read_text(encoding="utf-8")
        content = _raster(context.path("png")) if len(text) > _LARGEST else _themed(text, context.name)
    except FileNotFoundError as error:
        raise DataError(f"{error.filename} is missing; draw it: python -m partialfair report {context.name}") from error
    width = float(text[text.index('width="') + 7 :].split("pt")[0]) / 72
    return f"<div class='figure' style='max-width: {round(_PIXELS * width)}px'>{content}</div>"


def _themed(svg: str, name: str) -> str:
    """Return an SVG whose ink, grid and blue are the page's, with identifiers that differ from other figures'."""
    svg = svg[svg.index("<svg") :].replace(style.INK, "currentColor").replace(style.GRID, "var(--rule)")
    svg = svg.replace(style.BLUE.lower(), "var(--blue)")
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    return svg


def _raster(png: Path) -> str:
    """Return a figure as an image of the page's width and few colours: a page must stay small."""
    import base64

    from PIL import Image

    small = io.BytesIO()
    with Image.open(png) as image:
        size = [round(side * _PIXELS / style.DPI) for side in image.size]
        image.convert("RGB").resize((size[0], size[1])).quantize(128).save(small, format="png", optimize=True)
    content = base64.b64encode(small.getvalue()).decode("ascii")
    return f'<img alt="{png.stem}" src="data:image/png;base64,{content}">'


@dataclass(frozen=True)
class Curve:
    """One line, row of points or density of a panel.

    Attributes:
        x, y: of the same length.
        look: what matplotlib's ``plot`` (``errorbar`` where there are bars) takes.
        bars: lengths of error bars, ``xerr`` and ``yerr``, each a list or a pair of lists below and above.
        band: lower and upper end of a band around the line.
        shade: opacity of the band.
    """

    x: Any
    y: Any
    look: Mapping[str, Any]
    bars: Mapping[str, Any] | None = None
    band: tuple[Any, Any] | None = None
    shade: float = 0.13

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
    """

    curves: Sequence[Curve]
    labels: Mapping[str, Any]
    reason: str = ""
    finish: Callable[[Any], None] | None = None

    def __or__(self, labels: Mapping[str, Any]) -> "Panel":
        """Return the panel with further labels."""
        return replace(self, labels={**self.labels, **labels})


def figure(
    panels: Sequence[Sequence[Panel]], size: tuple[float, float], share: Mapping[str, Any], **legend: Any
) -> Any:
    """Draw rows of panels with one legend below them.

    Args:
        panels: rows of equal length.
        size: of the figure, in inches.
        share: what matplotlib's ``subplots`` takes besides, for instance ``sharex``.
        legend: see :func:`below`.
    """
    from matplotlib import pyplot as plt

    rows, columns = max(len(panels), 1), max(map(len, panels), default=1)
    drawn, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **share)
    for line_of_axes, line in zip(axes, panels, strict=False):
        for axis, panel in zip(line_of_axes, line, strict=False):
            _panel(axis, panel)
        for axis in line_of_axes[len(line) :]:
            axis.set_visible(False)
    below(drawn, axes, **legend)
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


def below(
    figure: Any, axes: Any, *, width: float = 2.3, columns: int = 0, last: Sequence[str] = (), more: Any = None
) -> None:
    """Draw one legend below all panels, and fit the panels into what is left.

    Args:
        figure, axes: as matplotlib's ``subplots`` returns them.
        width: of one column of the legend in inches; ``columns`` states their number instead.
        last: entries that hold one of these words come last.
        more: further entries, handles by label.
    """
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries |= more or {}
    labels = sorted(entries, key=lambda label: tuple(word in label for word in last))
    across, height = figure.get_size_inches()
    columns = columns or max(1, min(len(labels), int(across / width)))
    depth = math.ceil(len(labels) / columns)
    figure.tight_layout(rect=(0, (0.12 + 0.22 * depth) / height if labels else 0, 1, 1), h_pad=1.2, w_pad=1.2)
    if labels:
        figure.legend([entries[name] for name in labels], labels, loc="lower center", ncols=columns)


def corner(axis: Any, words: str, *, top: bool) -> None:
    """Write small words into the right upper or lower corner of a panel."""
    axis.text(
        0.99, 0.97 if top else 0.03, words, transform=axis.transAxes, ha="right", va="top" if top else "bottom",
        fontsize=8, color="#6b6b6b", zorder=9, bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
    )  # fmt: skip


def lengths(line: Mapping[str, Any], name: str) -> list[list[float]]:
    """Lengths of the bar from ``{name}_low`` to ``{name}_high``, as matplotlib takes them; none for a single seed."""
    ends = (line[name] - line[f"{name}_low"], line[f"{name}_high"] - line[name])
    return [[0.0 if math.isnan(end) else end] for end in ends]


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
    return target
