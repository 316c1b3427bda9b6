"""Writing figures: PDF, SVG and PNG without time stamps, and SVG that takes the colours of the page."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from partialfair.files import atomic_path
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context

FORMATS = ("pdf", "svg", "png")
_PIXELS = 125  # largest width of an inline figure, per inch
_LARGEST = 600_000  # characters of an inline SVG; a larger one becomes an image

Draw = Callable[[], Any]


def write(context: Context, draw: Draw) -> list[Path]:
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


def fragment(context: Context, draw: Draw) -> str:
    """Return the figure as inline SVG: ink and grid take the page's colours, so that dark pages work."""
    with style.applied():
        figure = draw()
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        text, width = stream.getvalue(), figure.get_size_inches()[0]
        image = _raster(figure, context.name) if len(text) > _LARGEST else ""
        _close(figure)
    box = f"<div class='figure' style='max-width: {round(_PIXELS * width)}px'>{{}}</div>"
    if image:
        return box.format(image)
    text = text[text.index("<svg") :].replace(style.INK, "currentColor").replace(style.GRID, "var(--rule)")
    text = text.replace(style.ALGORITHMS["idca"].colour.lower(), "var(--blue)")
    # Identifiers must differ between figures of one page.
    for mark in ('id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{context.name}-")
    return box.format(text)


def _raster(figure: Any, name: str) -> str:
    """Return a figure with very many points as an image of a few colours, on white: a page must stay small."""
    import base64

    from PIL import Image

    stream, small = io.BytesIO(), io.BytesIO()
    figure.savefig(stream, format="png", dpi=_PIXELS, facecolor="white")
    Image.open(stream).convert("RGB").quantize(128).save(small, format="png", optimize=True)
    content = base64.b64encode(small.getvalue()).decode("ascii")
    return f'<img alt="{name}" src="data:image/png;base64,{content}">'


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
