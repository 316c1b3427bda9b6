"""Ink, grid and fonts of all figures."""

from contextlib import AbstractContextManager

INK = "#262626"
GRID = "#dcdcdc"
DPI = 200  # of figures as images

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
    "svg.fonttype": "path",
    "svg.hashsalt": "partialfair",
    "pdf.fonttype": 42,
}


def applied() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws without a display and in this style."""
    import matplotlib as mpl

    mpl.use("agg")
    return mpl.rc_context(RC)  # type: ignore[arg-type]
