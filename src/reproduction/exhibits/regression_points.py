"""Regression runs as points of risk and unfairness, as the DP post-processing paper has them: mean and deviation.

A series is an experiment with one of its algorithms; exhibits name theirs by the option ``series``:

    series:
      dp_postproc: {experiment: dp_released, algorithm: dp_postproc, label: SGD3 with AC-SA²}
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import papers
from reproduction.verdicts import setting_parts
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting, by_seed

COLUMNS = (
    "series", "dataset", "source", "eps", "n_seeds", "risk", "risk_std", "ks_group_0", "ks_group_0_std", "ks_group_1",
    "ks_group_1_std", "ks_noise_floor",
)  # fmt: skip
TINY = 2.0**-8
"""Tolerances up to which points are shown once more where the entry says ``enlarge``."""
_TINY_TEXT = f"eps ≤ 2{f'{math.log2(TINY):.0f}'.translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
TICK = 0.06  # of a panel's height
NOISE = "at the bottom: noise (KS after permuting groups)"
_XLABEL = "unfairness: KS distance of group 0 from all rows"
SERIES_STYLES = (
    ("#0072b2", "o", "-"), ("#c8500a", "s", (0, (5, 1.5))), ("#008f68", "^", (0, (4, 1, 1, 1))),
    ("#d0619f", "D", (0, (3, 1))), ("#ad8100", "v", (0, (1.5, 1))), ("#7b4fb8", "P", (0, (6, 1, 1, 1, 1, 1))),
)  # fmt: skip
_OPEN_MARK = {"mfc": "none", "ms": 9.5, "mew": 1.1, "ls": "none"}  # of a published point
METRICS = ("risk", "ks_group_0", "ks_group_1")
PUBLISHED_METRICS = {"risk": "risk", "ks_unfairness_s0": "ks_group_0", "ks_unfairness_s1": "ks_group_1"}
BINNED = {"ks_group_0": "ks_binned_0", "ks_group_1": "ks_binned_1"}


class SeriesOption(BaseModel):
    """The runs of one line: an experiment's, of one algorithm."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    experiment: str = Field(description="the runs' experiment")
    algorithm: str = Field(description="the runs' algorithm")
    label: str | None = Field(None, description="what the line is called; its name by default")
    instead: dict[str, str] = Field({}, description="another experiment for a dataset, by its published name")
    ties: str | None = Field(None, description="experiment with the same runs on data perturbed in the ninth digit")
    nulls: list[str] = Field(
        [], description="experiments with other settings of the method: null models of its numbers"
    )


class RegressionPoints(Options):
    """Risk against the Kolmogorov-Smirnov distance of a group from all rows: means and standard deviations."""

    source: Literal["risk"] = Field(description="risk: risk against unfairness of regressions")
    series: dict[str, SeriesOption] = Field(description="lines of the figure by the name of their published numbers")
    show: list[str] | None = Field(None, description="datasets shown, by their published names; all by default")
    enlarge: bool = Field(False, description="show the points at tiny tolerances once more, larger and below")


class Series(SeriesOption):
    """A series option with its name, which is its label where the option has none."""

    name: str
    label: str = ""

    def experiment_of(self, dataset: str) -> str:
        """Return the experiment that a published dataset's runs come from."""
        return self.instead.get(dataset, self.experiment)


def exhibit_series(context: Context[Any]) -> list[Series]:
    """Return the series of an exhibit, in its order."""
    entries: Mapping[str, Any] = context.option("series") or {}
    options = {n: e.model_dump() if isinstance(e, SeriesOption) else dict(e) for n, e in entries.items()}
    return [Series(**entry | {"name": name, "label": entry.get("label") or name}) for name, entry in options.items()]


def published_name(context: Context[Any], dataset: str) -> str:
    """Return the name under which numbers of a dataset are published, whatever way its rows are divided."""
    paper_datasets = papers.paper(context.paper, context.root).datasets
    return next((name for name, printed in paper_datasets.items() if dataset.startswith(printed.here)), dataset)


def titles(context: Context[Any], datasets: Iterable[str]) -> dict[str, str]:
    """Return titles of datasets by published name: those of the exhibit's paper in its order, then all others."""
    paper_datasets, names = papers.paper(context.paper, context.root).datasets, dict.fromkeys(datasets)
    listed = {name: printed.title for name, printed in paper_datasets.items() if name in names}
    return listed | {name: style.dataset_title(name) for name in names if name not in paper_datasets}


def tolerance_of(row: Published) -> float:
    """Return the tolerance in a published setting, ``eps=2^-8``; NaN for the unconstrained model.

    Raises:
        DataError: the setting says neither.
    """
    prefix, separator, power = row.setting.partition("eps=2^")
    try:
        if not prefix and separator:
            return 2.0 ** float(power)
    except ValueError:
        pass
    if not row.setting.startswith(setting_parts.UNCONSTRAINED):
        raise setting_parts.refused(row, "it states no tolerance; write eps=2^-8, or unconstrained")
    return math.nan


def values(context: Context[Any], setting: Setting, metric: str) -> np.ndarray:
    """Return the values of a metric over the seeds of a setting, on test rows, shape (seeds,)."""
    return np.array([*by_seed(context.results, setting, metric).values()], np.float64)


def points(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """Yield mean and standard deviation (over repetitions, ddof 0) of every series, dataset and tolerance."""
    for series in exhibit_series(context):
        names = dict.fromkeys((series.experiment, *series.instead.values()))  # a set has another order in every process
        settings = [s for name in names for s in context.results.settings(name)]
        for setting in settings:
            is_of_series = setting.experiment == series.experiment_of(published_name(context, setting.dataset))
            if setting.algorithm != series.algorithm or not is_of_series:
                continue
            line: dict[str, Any] = {"series": series.name, "dataset": published_name(context, setting.dataset)}
            line |= {"source": "reproduced", "eps": setting.kappa}
            for metric in METRICS:
                by_repetition = values(context, setting, metric)
                line |= {metric: _mean(by_repetition), f"{metric}_std": _deviation(by_repetition)}
                line["n_seeds"] = len(by_repetition)
            line["ks_noise_floor"] = _mean(values(context, setting, "ks_noise_floor"))
            yield line


def published_points(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """Yield the published points of the series of an exhibit."""
    names = {series.name for series in exhibit_series(context)}
    points: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in context.published:
        if row.algorithm in names and row.metric in PUBLISHED_METRICS:
            eps = tolerance_of(row)
            point_key = row.algorithm, row.dataset, "base" if math.isnan(eps) else repr(eps)
            key_columns = {"series": row.algorithm, "dataset": row.dataset, "source": "published"}
            line = points.setdefault(point_key, key_columns)
            line |= {PUBLISHED_METRICS[row.metric]: row.value, "eps": eps}
    yield from points.values()


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else math.nan


def _deviation(values: np.ndarray) -> float:
    return float(values.std()) if values.size else math.nan


def csv_lines(context: Context[RegressionPoints]) -> list[Line]:
    """Return one dictionary of ``COLUMNS`` per point of the figure."""
    datasets = context.options.show
    lines = [*points(context), *published_points(context)]
    return [line for line in lines if datasets is None or line["dataset"] in datasets]


def draw(context: Context[RegressionPoints], lines: list[Line]) -> Any:
    """Draw one panel per dataset."""
    datasets = titles(context, (line["dataset"] for line in lines))
    points_of = {title: [line for line in lines if line["dataset"] == name] for name, title in datasets.items()}
    rows = [[_panel(context, title, points) for title, points in points_of.items()] or [PlotPanel([], {})]]
    note = canvas.BARS
    if context.options.enlarge and datasets:
        rows.append([_enlarged(context, title, points) for title, points in points_of.items()])
        note += f" Lower row: the framed points, {_TINY_TEXT}, without bars; above they are dots."
    size = (4.3 * max(len(datasets), 1) + 0.4, 3.5 * len(rows) + 1.1)
    return canvas.draw_panels(rows, size, {}, width=2.3, last_words=["published", "noise"], note=note)


def _panel(context: Context[RegressionPoints], title: str, points: list[Line]) -> PlotPanel:
    series_styles = iter(SERIES_STYLES * 3)
    curves: list[PlotCurve] = []
    floors: list[tuple[float, str]] = []
    has_published = False
    for series in exhibit_series(context):
        colour, marker, dash = (style.INK, "X", "") if series.name == "base" else next(series_styles)
        series_points = [point for point in points if point["series"] == series.name]
        series_points.sort(key=lambda point: -point["eps"])
        reproduced = [point for point in series_points if point["source"] == "reproduced" and point["n_seeds"]]
        floors_of_points = (point.get("ks_noise_floor", math.nan) for point in reproduced)
        floor = _mean(np.array([value for value in floors_of_points if not math.isnan(value)]))
        if not math.isnan(floor):
            floors.append((floor, colour))
        if reproduced:
            if dash:
                line_style = {"color": colour, "ls": dash, "lw": 1.5, "zorder": 3}
                curves += canvas.chords([(point["ks_group_0"], point["risk"]) for point in reproduced], line_style)
            mark_style: dict[str, Any] = {"fmt": marker, "ls": "none", "color": colour, "elinewidth": 0.7}
            mark_style |= {"ecolor": (colour, style.faint(colour))}
            framed = _tiny_points(reproduced) if context.options.enlarge else []
            unframed = [point for point in reproduced if point not in framed]
            curves.append(
                _curve_of(unframed, mark_style | {"ms": 6, "label": series.label, "zorder": 4}, _bars(unframed))
            )
            if framed:  # their marks are in the row below; here they would hide each other
                curves.append(_curve_of(framed, mark_style | {"ms": 2.5, "zorder": 3}, _bars(framed)))
        published = [
            point
            for point in series_points
            if point["source"] == "published" and "ks_group_0" in point and "risk" in point
        ]
        if context.options.enlarge:
            framed = _tiny_points(published)
            published = [point for point in published if point not in framed]
        if published:
            curves.append(_curve_of(published, _OPEN_MARK | {"marker": marker, "mec": colour, "zorder": 3}))
            has_published = True

    if has_published:
        open_mark = _OPEN_MARK | {"marker": "o", "mec": style.INK, "label": "open marks: published"}
        curves.append(PlotCurve([], [], open_mark))

    def finish(axis: Any) -> None:
        for floor, colour in floors:  # of each series its own: they differ by a factor of four
            axis.plot([floor, floor], [0, TICK], color=colour, lw=2.5, transform=axis.get_xaxis_transform(), zorder=2)
        if floors:
            axis.plot([], [], color=style.INK, lw=2.5, marker="", label=NOISE)
        axis.set_xlim(left=0)
        if context.options.enlarge:
            _frame(axis, _tiny_points(points))

    labels = {"title": title, "xlabel": _XLABEL}
    return PlotPanel(curves, labels | {"ylabel": "risk on test rows"}, finish=finish)


def _bars(points: list[Line]) -> dict[str, list[float]]:
    """Return half the width of the 95% interval of the mean per point, in either direction."""
    deviations = {"xerr": "ks_group_0_std", "yerr": "risk_std"}
    return {
        direction: [float(canvas.half_width(point[name], point["n_seeds"])) for point in points]
        for direction, name in deviations.items()
    }


def _curve_of(points: list[Line], mark_style: dict[str, Any], bars: dict[str, Any] | None = None) -> PlotCurve:
    return PlotCurve([point["ks_group_0"] for point in points], [point["risk"] for point in points], mark_style, bars)


def _tiny_points(points: list[Line]) -> list[Line]:
    """Return the points at tiny tolerances, which lie upon each other among the others."""
    return [
        point
        for point in points
        if point["series"] != "base" and point.get("eps", 1.0) <= TINY and {"risk", "ks_group_0"} <= point.keys()
    ]


def _frame(axis: Any, points: list[Line]) -> None:
    """Frame the points that the row below shows once more."""
    from matplotlib.patches import Rectangle

    if not points:
        return
    x, y = [point["ks_group_0"] for point in points], [point["risk"] for point in points]
    margin_x, margin_y = (0.02 * abs(end - start) for start, end in (axis.get_xlim(), axis.get_ylim()))
    size = max(x) - min(x) + 2 * margin_x, max(y) - min(y) + 2 * margin_y
    corner = (min(x) - margin_x, min(y) - margin_y)
    axis.add_patch(Rectangle(corner, *size, fill=False, ec="#777777", lw=0.8, zorder=6))


def _enlarged(context: Context[RegressionPoints], title: str, points: list[Line]) -> PlotPanel:
    """Return a panel of the points at tiny tolerances, without bars."""
    curves = []
    series_names = [series.name for series in exhibit_series(context) if series.name != "base"]
    for name, (colour, marker, _) in zip(series_names, SERIES_STYLES * 3, strict=False):
        for source, face, size in (("published", "none", 10.0), ("reproduced", colour, 6.5)):
            source_points = [p for p in _tiny_points(points) if (p["series"], p["source"]) == (name, source)]
            mark_style = {"marker": marker, "mfc": face, "mec": colour, "ms": size, "ls": "none"}
            mark_style |= {"mew": 1.1, "zorder": 4}
            curves += [_curve_of(source_points, mark_style)] if source_points else []
    labels = {"title": f"{title}, framed: {_TINY_TEXT}", "xlabel": _XLABEL, "ylabel": "risk on test rows"}
    return PlotPanel(curves, labels, finish=lambda axis: axis.margins(0.08))
