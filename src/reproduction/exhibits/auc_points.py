"""Models of the AUC fairness experiments as points: test AUC and gap with standard errors over seeds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair import plugins
from partialfair.data.files import read_json
from partialfair.errors import ConfigError
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import paths
from reproduction.grid.config import kappa_text
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Results, Setting, by_seed

START = "auc_unconstrained"
QUALITY = "auc"
COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "n_seeds", "gap", "gap_se", "auc", "auc_se", "auc_paired_se",
    "outside_on_validation", "note",
)  # fmt: skip
BEYOND = ("exact_surrogate", "mean_gap_line")
"""Methods that the paper does not have: drawn thinner, below the others."""
APART = 0.5
"""The scale is compressed where points are this far below the others, in ranges of the others."""
_COMPRESSED_SHARE = 0.28
"""Of the height of a panel, what the compressed part takes."""
COMPRESSED = "grey: the vertical scale is compressed"
BARS = (
    "Bars: 95% t-intervals over seeds. Across: of the mean gap. Up and down: of the mean difference in AUC from the "
    "unconstrained model of the same seed, since splits differ more than models do; long ones are cut."
)
LONGEST = 0.35
"""Longest bar that the scale makes room for, in ranges of the points."""


class AUCPoints(Options):
    """AUC against the AUC gap that the experiment constrains: means and standard errors over seeds."""

    source: Literal["auc_gap"] = Field(description="auc_gap: AUC against the gap that the experiment constrains")
    panels: list[str] | None = Field(None, description="datasets shown, a row each; all of them by default")


@dataclass(frozen=True, eq=False)
class Point:
    """What the seeds of one setting give.

    Attributes:
        setting: experiment, dataset, algorithm and target tolerance.
        seeds: (S,) seeds with a value; auc, gap: (S,) test values.
        outside: number of seeds at which no candidate was within the tolerance on validation rows.
        reason: why there are fewer values than seeds.
    """

    setting: Setting
    seeds: NDArray[np.int64]
    auc: NDArray[np.float64]
    gap: NDArray[np.float64]
    outside: int = 0
    reason: str = ""

    @property
    def mean(self) -> tuple[float, float]:
        """Mean gap and mean AUC."""
        return (float(self.gap.mean()), float(self.auc.mean())) if self.auc.size else (math.nan, math.nan)

    @property
    def error(self) -> tuple[float, float]:
        """Return the standard errors of mean gap and mean AUC."""
        return standard_error(self.gap), standard_error(self.auc)

    def differences(self, start: "Point | None") -> NDArray[np.float64]:
        """Return AUC minus that of the unconstrained model of the same seed; the AUC itself without such a model."""
        if start is None or not start.auc.size:
            return self.auc
        start_auc = dict(zip(start.seeds.tolist(), start.auc.tolist(), strict=True))
        pairs = zip(self.seeds.tolist(), self.auc.tolist(), strict=True)
        return np.array([auc - start_auc[seed] for seed, auc in pairs if seed in start_auc])


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean; NaN for fewer than two values."""
    # s / sqrt(n), with s^2 = sum of (x_i - mean)^2 / (n - 1).
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


_CACHED_POINTS: WeakKeyDictionary[Results, dict[tuple[str, str], list[Point]]] = WeakKeyDictionary()


def points(context: Context[Any], experiment: str, dataset: str) -> list[Point]:
    """Return the points of all algorithms and target tolerances of an experiment on a dataset, in the grid's order."""
    cached = _CACHED_POINTS.setdefault(context.results, {})
    if (experiment, dataset) not in cached:
        cached[experiment, dataset] = list(_points(context, experiment, dataset))
    return cached[experiment, dataset]


def _points(context: Context[Any], experiment: str, dataset: str) -> Iterator[Point]:
    run = context.config.experiment(experiment).runs.get(dataset)
    settings = list(context.results.settings(experiment))
    for algorithm in run.algorithms if run is not None else ():
        kappas = {setting.kappa for setting in settings if setting[1:3] == (dataset, algorithm)}
        for kappa in sorted(kappas, reverse=True):
            yield point(context, Setting(experiment, dataset, algorithm, kappa))


def point(context: Context[Any], setting: Setting) -> Point:
    """Return AUC and largest AUC gap of a setting by seed, on test rows."""
    metrics = (QUALITY, context.convention(setting.experiment).absolute)
    auc, gap = (by_seed(context.results, setting, metric) for metric in metrics)
    seeds = sorted(set(auc) & set(gap))
    reason = "" if seeds else context.results.reason(setting, QUALITY)
    return Point(
        setting,
        np.array(seeds, np.int64),
        np.array([auc[seed] for seed in seeds]),
        np.array([gap[seed] for seed in seeds]),
        sum(_is_outside(context, setting, seed) for seed in seeds),
        reason,
    )


def _is_outside(context: Context[Any], setting: Setting, seed: int) -> bool:
    """Tell whether a run says that no candidate was within the tolerance on validation rows."""
    if math.isinf(setting.kappa):
        return False
    return bool(selected(context, setting, seed).get("infeasible_on_val", False))


def selected(context: Context[Any], setting: Setting, seed: int) -> dict[str, Any]:
    """Return the choice that the run of a setting recorded; empty if no fit.json of the method records one."""
    experiment = context.config.experiment(setting.experiment)
    kappas = experiment.runs[setting.dataset].algorithms[setting.algorithm]
    for kappa in kappas:
        try:
            path = context.root / context.config.job(*setting[:3], kappa_text(kappa), seed).path / paths.FIT
        except ConfigError:
            continue
        if is_here(path):
            choice = (read_json(path).get("selected") or {}).get(f"kappa={setting.kappa:g}")
            if choice:
                return dict(choice)
    return {}


def panels(context: Context[Any]) -> list[tuple[str, str]]:
    """Return (dataset, experiment) of all panels, dataset by dataset; the option ``panels`` names the datasets."""
    shown_datasets = context.option("panels")
    names = dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs)
    datasets = [name for name in names if shown_datasets is None or name in shown_datasets]
    return [(dataset, experiment) for dataset in datasets for experiment in context.experiments]


def csv_lines(context: Context[Any]) -> Iterator[Line]:
    """Yield one line of ``COLUMNS`` per point."""
    for dataset, experiment in panels(context):
        panel_points = points(context, experiment, dataset)
        for point in panel_points:
            (gap, auc), (gap_error, auc_error) = point.mean, point.error
            numbers = {"gap": gap, "gap_se": gap_error, "auc": auc, "auc_se": auc_error}
            numbers["auc_paired_se"] = standard_error(point.differences(start_of(panel_points)))
            yield (
                dict(zip(COLUMNS[:4], point.setting, strict=True))
                | {"n_seeds": point.auc.size, "outside_on_validation": point.outside, "note": point.reason}
                | {name: round(value, 6) for name, value in numbers.items()}
            )


def start_of(panel_points: Sequence[Point]) -> Point | None:
    """Return the unconstrained model among the points of a panel."""
    return next((point for point in panel_points if point.setting.algorithm == START and point.auc.size), None)


def title_of(context: Context[Any], dataset: str, experiment: str) -> str:
    """Return title of a panel: dataset and constraint."""
    title = plugins.load("constraints", context.config.experiment(experiment).constraint).TITLE
    return f"{style.dataset_title(dataset)}, {title}"


def draw(context: Context[AUCPoints], lines: list[Line]) -> Any:
    """Draw rows of datasets and columns of experiments."""
    from matplotlib.lines import Line2D

    columns = len(context.experiments)
    drawn = [_panel(context, *pair, is_first=not number % columns) for number, pair in enumerate(panels(context))]
    rows = [drawn[start : start + columns] for start in range(0, len(drawn), columns)]
    hollow = Line2D([], [], marker="o", ls="none", mfc="white", mec=style.INK)
    has_hollow = any(line["outside_on_validation"] for line in lines)
    entries = {"hollow: outside the tolerance on validation rows": hollow} if has_hollow else {}
    size, last_words = (3.5 * columns, 3.1 * max(len(rows), 1) + 1.1), ["grey:", "hollow:"]
    return canvas.draw_panels(rows, size, {}, width=3.2, extra_entries=entries, last_words=last_words, note=BARS)


def _panel(context: Context[AUCPoints], dataset: str, experiment: str, *, is_first: bool) -> PlotPanel:
    labels = {"title": title_of(context, dataset, experiment), "xlabel": "gap |Δ| of the two AUCs, test rows"}
    labels |= {"ylabel": "AUC on test rows"} if is_first else {}
    panel_points = [point for point in points(context, experiment, dataset) if point.auc.size]
    start = start_of(panel_points)
    curves: list[PlotCurve] = []
    for name in dict.fromkeys(point.setting.algorithm for point in panel_points):
        curves += _curves(name, [point for point in panel_points if point.setting.algorithm == name], start)

    def finish(axis: Any) -> None:
        axis.margins(0.07)
        axis.set_xlim(left=-0.02 * axis.get_xlim()[1])  # gaps are not negative, whatever their bars say
        _set_scale(axis, panel_points, start)

    return PlotPanel(curves, labels, finish=finish)


def _half_width_of(values: NDArray[np.float64]) -> float:
    """Return half the width of the 95% interval of a mean over seeds."""
    return float(canvas.half_width(values.std(), values.size)) if values.size else 0.0


def _curves(name: str, method_points: Sequence[Point], start: Point | None) -> Iterator[PlotCurve]:
    """Yield the curves of a method: a line through its points from the unconstrained model on, marks and bars."""
    method_style, is_baseline = style.plot_style(name), name in BEYOND
    means = [point.mean for point in method_points]
    path = means if name == START or start is None else [start.mean, *means]
    line_style = {"color": method_style.colour, "ls": method_style.dash, "lw": 1.0 if is_baseline else 1.6}
    yield from canvas.chords(path, line_style | {"zorder": 2 if is_baseline else 3})
    gap_errors = [_half_width_of(point.gap) for point in method_points]
    auc_errors = [_half_width_of(point.differences(start)) for point in method_points]
    colour, marker = method_style.colour, method_style.marker
    mark_size = 4.5 if is_baseline else 5.5
    mark_style: dict[str, Any] = {"fmt": marker, "color": colour, "label": method_style.label, "elinewidth": 0.7}
    mark_style |= {"ms": 11 if marker == "*" else mark_size, "capsize": 0, "ecolor": (colour, style.faint(colour))}
    mark_style["zorder"] = 6 if name == START else 3 if is_baseline else 4
    yield PlotCurve.through(means, mark_style, {"xerr": gap_errors, "yerr": auc_errors})
    outside = [point.mean for point in method_points if point.outside]
    if outside:  # what no candidate satisfied on validation rows is hollow
        hollow_style = {"marker": marker, "mfc": "white", "mec": colour, "ls": "none", "ms": mark_size, "zorder": 5}
        yield PlotCurve.through(outside, hollow_style)


def scale_floor(values: Sequence[float]) -> float:
    """Return the smallest AUC above which the scale is even; values below a wide gap lie under it.

    A third of the points at most; below them the scale is compressed.
    """
    descending = sorted(values, reverse=True)
    even_part = descending
    for count in range(1, len(descending) // 3 + 1):
        upper_part, next_lower = descending[:-count], descending[-count]
        if upper_part[-1] - next_lower > APART * (upper_part[0] - upper_part[-1]):
            even_part = upper_part
    return even_part[-1] if even_part else math.nan


def _set_scale(axis: Any, panel_points: Sequence[Point], start: Point | None) -> None:
    """Scale for the bulk of the models, compressed below it where some are far below. Long bars are cut."""
    if not panel_points:
        return
    means = [point.mean[1] for point in panel_points]
    floor, high = scale_floor(means), max(means)
    span = max(high - floor, 1e-3)
    bar_lengths = [min(_half_width_of(point.differences(start)), LONGEST * span) for point in panel_points]
    top = max(mean + bar for mean, bar in zip(means, bar_lengths, strict=True)) + 0.05 * span
    edge = min(mean - bar for mean, bar in zip(means, bar_lengths, strict=True) if mean >= floor) - 0.05 * span
    axis.set_ylim(edge, top)
    lowest = min(means)
    if lowest < floor:
        _compress_below(axis, lowest - 0.12 * (edge - lowest), edge, top)


def _compress_below(axis: Any, bottom: float, edge: float, top: float) -> None:
    """Give what lies between ``bottom`` and ``edge`` a scale and ticks of its own, and say so by its colour."""
    factor = _COMPRESSED_SHARE / (1 - _COMPRESSED_SHARE) * (top - edge) / (edge - bottom)

    def squeezed(y: Any) -> Any:
        return np.where(np.asarray(y) < edge, edge + (np.asarray(y) - edge) * factor, y)

    def stretched(y: Any) -> Any:
        return np.where(np.asarray(y) < edge, edge + (np.asarray(y) - edge) / factor, y)

    axis.set_yscale("function", functions=(squeezed, stretched))
    axis.set_ylim(bottom, top)
    upper = _ticks(edge, top, 6, 0.0)
    ticks, labels = zip(*_ticks(bottom, edge, 3, 0.2), *upper, strict=True)
    axis.set_yticks(list(ticks), list(labels))
    axis.axhspan(bottom, edge, color=style.GRID, alpha=0.5, lw=0, zorder=0, label=COMPRESSED)
    slash = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 9, "ls": "none", "color": style.INK, "mew": 1.1}
    axis.plot([0.0], [edge], transform=axis.get_yaxis_transform(), clip_on=False, zorder=10, **slash)


def _ticks(low: float, high: float, count: int, free_share: float) -> list[tuple[float, str]]:
    """Return ticks with their labels between two ends; a share at the upper end stays free."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    digits = max(len(f"{tick:.6f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [(float(tick), f"{tick:.{digits}f}") for tick in ticks if low <= tick <= high - free_share * (high - low)]
