"""Metrics by name.

A metric is one function ``(scores, y, group, interval, threshold) -> float`` listed in the dictionary
``METRICS`` of any module of this folder, or of its folder ``on_request``; modules are found by scanning.
Those of this folder are computed for every run, those on request where an experiment names them.
"""

import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.errors import NotEstimableError, PluginError
from partialfair.plugins import did_you_mean, run_plugin

if TYPE_CHECKING:
    from partialfair.metrics.resampling import Replicates

PACKAGE = "partialfair.metrics"
ON_REQUEST = f"{PACKAGE}.on_request"

MetricFunction = Callable[[NDArray, NDArray, NDArray, Any, float], float]
Direction = Literal["violation", "quality"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


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
        """Return the metric's value for scores (n,), labels and group codes, on an interval."""
        return float(self.function(scores, y, group, interval, threshold))

    @property
    def source(self) -> str | None:
        """Return the file of the module that defines its function, if it is known."""
        return getattr(sys.modules.get(getattr(self.function, "__module__", "")), "__file__", None)


@cache
def registry() -> Mapping[str, Metric]:
    """Return the metrics of every run by name, from the ``METRICS`` of every module of this folder.

    Raises:
        PluginError: an entry is not a Metric, or two modules offer the same name.
    """
    return _collected(PACKAGE)


@cache
def on_request() -> Mapping[str, Metric]:
    """Return the metrics that are computed where an experiment names them, from the folder ``on_request``.

    Raises:
        PluginError: an entry is not a Metric, or a name is taken.
    """
    return _collected(ON_REQUEST, taken=registry())


def modules_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the dotted names of the modules that offer some metrics.

    Raises:
        PluginError: there is no such metric; the message gives the nearest name.
    """
    for name in names:
        get(name)
    folders = (PACKAGE,) if registry().keys() >= set(names) else (PACKAGE, ON_REQUEST)  # not imported for nothing
    modules = [module for folder in folders for module in _modules(folder)]
    places = {name: module for module in modules for name in _entries(module)}
    return tuple(sorted({places[name] for name in names}))


def _collected(package: str, taken: Mapping[str, Metric] | None = None) -> dict[str, Metric]:
    """Return the entries of all modules of a package."""
    metrics: dict[str, Metric] = dict(taken or {})
    for module in _modules(package):
        for name, entry in _entries(module).items():
            where = f"{module.removeprefix('partialfair.').replace('.', '/')}.py: METRICS[{name!r}]"
            if not isinstance(entry, Metric) or not callable(entry.function):
                raise PluginError(f"{where} is no Metric; write Metric(function, title)")
            if entry.direction not in DIRECTIONS:
                hint = did_you_mean(str(entry.direction), DIRECTIONS)
                raise PluginError(f"{where} has the direction {entry.direction!r}; {hint}")
            if name in metrics:
                raise PluginError(f"{where} exists in another module; rename it")
            metrics[name] = entry
    return {name: entry for name, entry in metrics.items() if name not in (taken or {})}


def _modules(package: str) -> list[str]:
    """Return the dotted names of the modules of a package, not of those in its folders."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return [f"{package}.{module.name}" for module in modules if not module.ispkg]


def _entries(module: str) -> Mapping[str, Any]:
    """Return what a module offers."""
    return getattr(import_module(module), "METRICS", {})


def names() -> tuple[str, ...]:
    """Return the names of the metrics of every run, sorted."""
    return tuple(sorted(registry()))


def get(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        PluginError: there is none; the message gives the nearest name.
    """
    if name in registry():  # looked up first: what is on request is not imported for nothing
        return registry()[name]
    if name not in on_request():
        raise PluginError(f"unknown metric {name!r}; {did_you_mean(name, [*registry(), *on_request()])}")
    return on_request()[name]


@guards.of_rows
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

    Raises:
        PluginError: there is no metric of a name, or it is at fault.
    """
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for name in only if only is not None else names():
        try:
            metric = get(name)
            values[name] = run_plugin(f"metric {name!r}", metric.source, metric, scores, y, group, interval, threshold)
        except NotEstimableError as error:
            values[name], reasons[name] = None, str(error)
    return values, reasons


def require_binary(y: NDArray) -> None:
    """Refuse labels other than -1 and +1.

    Raises:
        NotEstimableError: naming the first such label.
    """
    wrong = np.flatnonzero((y != 1) & (y != -1))
    if wrong.size:
        raise NotEstimableError(f"label {y[wrong[0]]!r} in row {int(wrong[0])} is not -1 or +1; map the labels first")
