"""Metrics by name.

A metric is one function ``(scores, y, group, interval, threshold) -> float`` listed in the dictionary
``METRICS`` of any module of this folder; modules are found by scanning.
"""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import NotEstimableError, PluginError
from partialfair.plugins import did_you_mean

if TYPE_CHECKING:
    from partialfair.metrics.resampling import Replicates

MetricFunction = Callable[[NDArray, NDArray, NDArray, Any, float], float]
Direction = Literal["violation", "quality"]


@dataclass(frozen=True)
class Metric:
    """A number of a scored sample.

    Attributes:
        function: ``(scores, y, group, interval, threshold) -> float``.
        title: a few words for tables and axes.
        direction: a violation is 0 at parity and exhibits show 1 - violation; a quality is shown as it is.
        replicate: the same number for many resampled samples at once, shape (replicates,); ``None`` if the
            metric has no bootstrap interval.
    """

    function: MetricFunction
    title: str
    direction: Direction = "violation"
    replicate: "Callable[[Replicates], NDArray] | None" = None

    def __call__(self, scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
        """Evaluate the metric."""
        return float(self.function(scores, y, group, interval, threshold))


@cache
def registry() -> Mapping[str, Metric]:
    """Return all metrics by name, from the ``METRICS`` of every module of this folder.

    Raises:
        PluginError: an entry is not a Metric, or two modules offer the same name.
    """
    found: dict[str, Metric] = {}
    for module in pkgutil.iter_modules(import_module("partialfair.metrics").__path__):
        entries = getattr(import_module(f"partialfair.metrics.{module.name}"), "METRICS", {})
        for name, entry in entries.items():
            if not isinstance(entry, Metric):
                raise PluginError(
                    f"metrics/{module.name}.py: METRICS[{name!r}] is no Metric; write Metric(function, title)"
                )
            if name in found:
                raise PluginError(f"metrics/{module.name}.py: METRICS[{name!r}] exists in another module; rename it")
            found[name] = entry
    return found


def names() -> tuple[str, ...]:
    """Names of all metrics, sorted."""
    return tuple(sorted(registry()))


def get(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        PluginError: there is none; the message gives the nearest name.
    """
    if name not in registry():
        raise PluginError(f"unknown metric {name!r}; {did_you_mean(name, registry())}")
    return registry()[name]


def evaluate_all(
    scores: NDArray,
    y: NDArray,
    group: NDArray,
    interval: Any,
    threshold: float = 0.0,
    only: Sequence[str] | None = None,
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Evaluate every metric (or those named).

    Returns:
        Values by name, ``None`` where not estimable, and the reasons of those.
    """
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for name in only if only is not None else names():
        try:
            values[name] = get(name)(scores, y, group, interval, threshold)
        except NotEstimableError as error:
            values[name], reasons[name] = None, str(error)
    return values, reasons


def require_binary(y: NDArray) -> None:
    """Refuse labels other than -1 and +1.

    Raises:
        NotEstimableError: naming the first such label.
    """
    other = np.flatnonzero((y != 1) & (y != -1))
    if other.size:
        raise NotEstimableError(f"label {y[other[0]]!r} in row {int(other[0])} is not -1 or +1; map the labels first")
