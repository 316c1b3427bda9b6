"""Writing figures: PDF, SVG and PNG without time stamps, and SVG that takes the colours of the page."""

import io
from collections.abc import Callable
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
    svg = svg.replace(style.ALGORITHMS["idca"].colour.lower(), "var(--blue)")
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


def empty(axis: Any, reason: str) -> None:
    """Say in a panel why nothing is drawn in it."""
    axis.text(0.5, 0.5, reason, ha="center", va="center", transform=axis.transAxes, wrap=True)
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
