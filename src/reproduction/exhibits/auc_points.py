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
from partialfair.errors import ConfigError
from partialfair.tables.files import read_json
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import paths
from reproduction.grid.config import kappa_text
from reproduction.verdicts.lookups import is_here
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
SHARE = 0.28
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
        """Standard errors of both."""
        return standard_error(self.gap), standard_error(self.auc)

    def differences(self, start: "Point | None") -> NDArray[np.float64]:
        """AUC minus that of the unconstrained model of the same seed; the AUC itself where there is none."""
        if start is None or not start.auc.size:
            return self.auc
        by_seed = dict(zip(start.seeds.tolist(), start.auc.tolist(), strict=True))
        pairs = zip(self.seeds.tolist(), self.auc.tolist(), strict=True)
        return np.array([auc - by_seed[seed] for seed, auc in pairs if seed in by_seed])


def standard_error(values: NDArray[np.float64]) -> float:
    """Standard deviation over the root of the number of values; NaN for fewer than two."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


_FOUND: WeakKeyDictionary[Results, dict[tuple[str, str], list[Point]]] = WeakKeyDictionary()


def points(context: Context[Any], experiment: str, dataset: str) -> list[Point]:
    """Every algorithm of an experiment on a dataset at every target tolerance, in the order of the grid."""
    known = _FOUND.setdefault(context.results, {})
    if (experiment, dataset) not in known:
        known[experiment, dataset] = list(_points(context, experiment, dataset))
    return known[experiment, dataset]


def _points(context: Context[Any], experiment: str, dataset: str) -> Iterator[Point]:
    wanted = context.config.experiment(experiment).runs.get(dataset)
    settings = list(context.results.settings(experiment))
    for algorithm in wanted.algorithms if wanted is not None else ():
        kappas = sorted({s.kappa for s in settings if (s.dataset, s.algorithm) == (dataset, algorithm)}, reverse=True)
        for kappa in kappas:
            yield point(context, Setting(experiment, dataset, algorithm, kappa))


def point(context: Context[Any], setting: Setting) -> Point:
    """AUC and largest AUC gap of a setting by seed, on test rows."""
    measured = (QUALITY, context.convention(setting.experiment).absolute)
    auc, gap = (by_seed(context.results, setting, metric) for metric in measured)
    seeds = sorted(set(auc) & set(gap))
    reason = "" if seeds else context.results.reason(setting, QUALITY)
    return Point(
        setting,
        np.array(seeds, np.int64),
        np.array([auc[seed] for seed in seeds]),
        np.array([gap[seed] for seed in seeds]),
        sum(_outside(context, setting, seed) for seed in seeds),
        reason,
    )


def _outside(context: Context[Any], setting: Setting, seed: int) -> bool:
    """Whether a run says that no candidate was within the tolerance on validation rows."""
    if math.isinf(setting.kappa):
        return False
    return bool(selected(context, setting, seed).get("infeasible_on_val", False))


def selected(context: Context[Any], setting: Setting, seed: int) -> dict[str, Any]:
    """What the run of a setting recorded of its choice; empty if no fit.json of the method says so."""
    experiment = context.config.experiment(setting.experiment)
    kappas = experiment.runs[setting.dataset].algorithms[setting.algorithm]
    for kappa in kappas:
        try:
            path = context.root / context.config.job(*setting[:3], kappa_text(kappa), seed).path / paths.FIT
        except ConfigError:
            continue
        if is_here(path):
            found = (read_json(path).get("selected") or {}).get(f"kappa={setting.kappa:g}")
            if found:
                return dict(found)
    return {}


def panels(context: Context[Any]) -> list[tuple[str, str]]:
    """(dataset, experiment) of all panels, dataset by dataset; the option ``panels`` names the datasets."""
    wanted = context.option("panels")
    names = dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs)
    datasets = [name for name in names if wanted is None or name in wanted]
    return [(dataset, experiment) for dataset in datasets for experiment in context.experiments]


def lines(context: Context[Any]) -> Iterator[Line]:
    """One line of ``COLUMNS`` per point."""
    for dataset, experiment in panels(context):
        found = points(context, experiment, dataset)
        for entry in found:
            (gap, auc), (gap_error, auc_error) = entry.mean, entry.error
            numbers = {"gap": gap, "gap_se": gap_error, "auc": auc, "auc_se": auc_error}
            numbers["auc_paired_se"] = standard_error(entry.differences(start_of(found)))
            yield (
                dict(zip(COLUMNS[:4], entry.setting, strict=True))
                | {"n_seeds": entry.auc.size, "outside_on_validation": entry.outside, "note": entry.reason}
                | {name: round(value, 6) for name, value in numbers.items()}
            )


def start_of(found: Sequence[Point]) -> Point | None:
    """The unconstrained model among the points of a panel."""
    return next((entry for entry in found if entry.setting.algorithm == START and entry.auc.size), None)


def title_of(context: Context[Any], dataset: str, experiment: str) -> str:
    """Title of a panel: dataset and constraint."""
    title = plugins.load("constraints", context.config.experiment(experiment).constraint).TITLE
    return f"{style.dataset_title(dataset)}, {title}"


def draw(context: Context[AUCPoints], found: list[Line]) -> Any:
    """Draw rows of datasets and columns of experiments."""
    from matplotlib.lines import Line2D

    columns, shown = len(context.experiments), panels(context)
    every = [_panel(context, *pair, first=not place % columns) for place, pair in enumerate(shown)]
    rows = [every[place : place + columns] for place in range(0, len(every), columns)]
    hollow = Line2D([], [], marker="o", ls="none", mfc="white", mec=style.INK)
    some = any(line["outside_on_validation"] for line in found)
    more = {"hollow: outside the tolerance on validation rows": hollow} if some else {}
    size = (3.5 * columns, 3.1 * max(len(rows), 1) + 1.1)
    return canvas.figure(rows, size, {}, width=3.2, more=more, last=["grey:", "hollow:"], note=BARS)


def _panel(context: Context[AUCPoints], dataset: str, experiment: str, *, first: bool) -> Panel:
    labels = {"title": title_of(context, dataset, experiment), "xlabel": "gap |Δ| of the two AUCs, test rows"}
    labels |= {"ylabel": "AUC on test rows"} if first else {}
    drawn = [entry for entry in points(context, experiment, dataset) if entry.auc.size]
    start = start_of(drawn)
    curves: list[Curve] = []
    for name in dict.fromkeys(entry.setting.algorithm for entry in drawn):
        curves += _curves(name, [entry for entry in drawn if entry.setting.algorithm == name], start)

    def finish(axis: Any) -> None:
        axis.margins(0.07)
        axis.set_xlim(left=-0.02 * axis.get_xlim()[1])  # gaps are not negative, whatever their bars say
        _scale(axis, drawn, start)

    return Panel(curves, labels, finish=finish)


def _half(values: NDArray[np.float64]) -> float:
    """Half the width of the interval of a mean over seeds."""
    return float(canvas.half_width(values.std(), values.size)) if values.size else 0.0


def _curves(name: str, own: Sequence[Point], start: Point | None) -> Iterator[Curve]:
    """One method: a line through its points from the unconstrained model on, with intervals over seeds."""
    look, beyond = style.look(name), name in BEYOND
    means = [entry.mean for entry in own]
    path = means if name == START or start is None else [start.mean, *means]
    line = {"color": look.colour, "ls": look.dash, "lw": 1.0 if beyond else 1.6}
    yield from canvas.chords(path, line | {"zorder": 2 if beyond else 3})
    errors = [[_half(entry.gap) for entry in own], [_half(entry.differences(start)) for entry in own]]
    size = 4.5 if beyond else 5.5
    marks: dict[str, Any] = {"fmt": look.marker, "color": look.colour, "label": look.label, "elinewidth": 0.7}
    marks |= {"ms": 11 if look.marker == "*" else size, "capsize": 0, "ecolor": (look.colour, style.faint(look.colour))}
    marks["zorder"] = 6 if name == START else 3 if beyond else 4
    yield Curve.through(means, marks, {"xerr": errors[0], "yerr": errors[1]})
    outside = [entry.mean for entry in own if entry.outside]
    if outside:  # what no candidate satisfied on validation rows is hollow
        hollow = {"marker": look.marker, "mfc": "white", "mec": look.colour, "ls": "none", "ms": size, "zorder": 5}
        yield Curve.through(outside, hollow)


def scale_floor(values: Sequence[float]) -> float:
    """Smallest AUC above which the scale is even: the lowest lie below where a wide gap parts them from the others.

    A third of the points at most; below them the scale is compressed.
    """
    order = sorted(values, reverse=True)
    kept = order
    for cut in range(1, len(order) // 3 + 1):
        rest, next_lower = order[:-cut], order[-cut]
        if rest[-1] - next_lower > APART * (rest[0] - rest[-1]):
            kept = rest
    return kept[-1] if kept else math.nan


def _scale(axis: Any, drawn: Sequence[Point], start: Point | None) -> None:
    """Scale for the bulk of the models, compressed below it where some are far below. Long bars are cut."""
    if not drawn:
        return
    means = [point.mean[1] for point in drawn]
    floor, high = scale_floor(means), max(means)
    span = max(high - floor, 1e-3)
    reach = [min(_half(point.differences(start)), LONGEST * span) for point in drawn]
    top = max(mean + bar for mean, bar in zip(means, reach, strict=True)) + 0.05 * span
    edge = min(mean - bar for mean, bar in zip(means, reach, strict=True) if mean >= floor) - 0.05 * span
    axis.set_ylim(edge, top)
    lowest = min(means)
    if lowest < floor:
        _compress(axis, lowest - 0.12 * (edge - lowest), edge, top)


def _compress(axis: Any, bottom: float, edge: float, top: float) -> None:
    """Give what lies between ``bottom`` and ``edge`` a scale and ticks of its own, and say so by its colour."""
    factor = SHARE / (1 - SHARE) * (top - edge) / (edge - bottom)

    def squeezed(y: Any) -> Any:
        return np.where(np.asarray(y) < edge, edge + (np.asarray(y) - edge) * factor, y)

    def stretched(y: Any) -> Any:
        return np.where(np.asarray(y) < edge, edge + (np.asarray(y) - edge) / factor, y)

    axis.set_yscale("function", functions=(squeezed, stretched))
    axis.set_ylim(bottom, top)
    upper = _ticks(edge, top, 6, 0.0)
    axis.set_yticks(*(list(part) for part in zip(*_ticks(bottom, edge, 3, 0.2), *upper, strict=True)))
    axis.axhspan(bottom, edge, color=style.GRID, alpha=0.5, lw=0, zorder=0, label=COMPRESSED)
    slash = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 9, "ls": "none", "color": style.INK, "mew": 1.1}
    axis.plot([0.0], [edge], transform=axis.get_yaxis_transform(), clip_on=False, zorder=10, **slash)


def _ticks(low: float, high: float, count: int, free: float) -> list[tuple[float, str]]:
    """Places of ticks with their labels between two ends, with a share at the upper end left free."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    digits = max(len(f"{place:.6f}".rstrip("0").partition(".")[2]) for place in places)
    return [(float(p), f"{p:.{digits}f}") for p in places if low <= p <= high - free * (high - low)]
