"""One look for all figures: colours, markers and names of algorithms and datasets.

Colours are tones of :mod:`partialfair.pages.palette`, for light and for dark pages. Algorithms that an exhibit
shows together differ in colour, marker and dash pattern, so that figures survive printing in grey; those of different
papers may look alike.
"""

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from partialfair import plugins
from partialfair.data.intervals import Interval, Pairs
from partialfair.errors import PluginError
from partialfair.pages.palette import DPI, GRID, INK, TONES, applied, faint, tone

__all__ = ["DPI", "GRID", "INK", "applied", "faint"]  # and what follows

INSIDE = TONES["red"].light  # what lies inside the interval of ranks
PAPERS = tuple(TONES[name].light for name in ("blue", "vermilion", "pink", "olive", "green", "violet", "amber"))
"""Colours of papers, where methods of several stand side by side."""


@dataclass(frozen=True)
class PlotStyle:
    """How one algorithm is drawn."""

    label: str
    colour: str
    marker: str
    dash: Any = "-"


_SPARE_STYLES = tuple(zip((TONES[name].light for name in ("blue", "vermilion", "green", "pink", "amber", "violet")),
                    "Xh<>p8", strict=True))  # fmt: skip


def plot_style(algorithm: str, algorithms: list[str] | None = None) -> PlotStyle:
    """Return how an algorithm is drawn: as its plug-in says, else in a spare style.

    Args:
        algorithm: its name.
        algorithms: all that the exhibit shows together; those without a style take the spare ones in turn.
    """
    declared = _declared_style(algorithm)
    if declared is not None and declared.colour:
        return declared
    undeclared = sorted(
        name for name in (algorithms or [algorithm]) if not getattr(_declared_style(name), "colour", "")
    )
    position = undeclared.index(algorithm) if algorithm in undeclared else 0
    colour, marker = _SPARE_STYLES[position % len(_SPARE_STYLES)]
    label = declared.label if declared is not None else algorithm.replace("_", " ")
    return PlotStyle(label, colour, marker, (0, (2, 1 + position % 3)))


_HEX = re.compile("#[0-9a-fA-F]{6}")


@cache
def _declared_style(algorithm: str) -> PlotStyle | None:
    """Return what a plug-in declares, without a colour if it leaves that open; ``None`` if there is no such plug-in."""
    if algorithm not in plugins.names("algorithms"):
        return None
    plugin = plugins.load("algorithms", algorithm).ALGORITHM
    label = plugin.label or algorithm.replace("_", " ")
    if plugin.look and not _HEX.fullmatch(str(getattr(plugin.look, "colour", ""))):
        raise PluginError(
            f'algorithms/{algorithm}.py: look is {plugin.look!r}; write PlotStyle("#0072b2", "o"), or leave it out'
        )
    return (
        PlotStyle(label, tone(plugin.look.colour), plugin.look.marker, plugin.look.dash)
        if plugin.look
        else PlotStyle(label, "", "")
    )


def ascending(algorithm: str) -> bool:
    """Tell whether a larger parameter means a tighter model, as for weights of penalties; a tolerance loosens it."""
    is_plugin = algorithm in plugins.names("algorithms")
    return is_plugin and bool(plugins.load("algorithms", algorithm).ALGORITHM.kappa == "weight")


def dataset_title(dataset: str) -> str:
    """Return the name of a dataset in titles: its module's, else its own."""
    if dataset not in plugins.names("datasets"):
        return dataset.replace("_", " ")
    return str(plugins.load("datasets", dataset).SPEC.title)


def kappa_title(kappa: float) -> str:
    """Return a tolerance as it stands in titles."""
    return "unconstrained" if math.isinf(kappa) else f"κ = {kappa:g}"


def kappa_symbol(kappa: float) -> str:
    """Return a tolerance as it stands in tables."""
    return "–" if math.isnan(kappa) else "∞" if math.isinf(kappa) else f"{kappa:g}"


def parameter(algorithm: str, kappa: float) -> str:
    """Return what the models of an algorithm differ in, in a column of tolerances; weights of penalties are marked."""
    return "λ " * ascending(algorithm) + kappa_symbol(kappa)


def interval_title(interval: Any) -> str:
    """Return an interval as it stands in titles."""
    return " ∪ ".join(f"[{low:g}, {high:g}]" for low, high in pairs_of(interval))


def pairs_of(interval: Any) -> Pairs:
    """Return the pairs of an interval; those of the first group where groups have their own."""
    return Interval.of(interval).first
