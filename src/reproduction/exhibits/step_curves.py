"""Risk and unfairness of test predictions along the optimiser's path (DP post-processing paper, Figures 1 and 4)."""

import math
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.data.files import read_json
from partialfair.metrics.uncertainty import t_interval
from reproduction.exhibits import canvas, regression_numbers
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.regression_points import (
    PUBLISHED_METRICS,
    SERIES_STYLES,
    Series,
    SeriesOption,
    exhibit_series,
    published_name,
    titles,
)
from reproduction.grid import paths
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.published import Published

COLUMNS = ("series", "dataset", "metric", "evaluations", "mean", "std", "n_seeds")
_WINDOWS = {"risk": 100, "ks_group_0": 50, "ks_group_1": 50}
TAIL = 0.2
"""Share of the path, at its end, whose mean counts as the plateau."""
_NOISE_AT = 2.0**-16
"""Tolerance at which ``noise_from`` has its end points."""

Paths = dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]


class StepCurves(Options):
    """Risk and unfairness against gradient evaluations, a column per dataset."""

    source: Literal["steps"] = Field(description="steps: risk and unfairness along the optimiser's path")
    series: dict[str, SeriesOption] = Field(description="lines by name; the first is held against published plateaus")
    show: list[str] | None = Field(None, description="datasets shown, by their published names; all by default")
    noise_from: str | None = Field(None, description="experiment whose repeats say how noisy an end point is")


def curves(context: Context[StepCurves]) -> Paths:
    """Return steps (q,) and values (repetitions, q) by series, dataset and metric."""
    paths_by_key: Paths = {}
    datasets = context.options.show
    for series in exhibit_series(context):
        recorded: dict[str, list[dict[str, Any]]] = {}
        for job in context.config.jobs(series.experiment):
            file = context.root / job.path / paths.METRICS
            dataset = published_name(context, job.dataset)
            steps = read_json(file).get("steps") if (not datasets or dataset in datasets) and is_here(file) else None
            if steps:
                recorded.setdefault(dataset, []).append(steps)
        for dataset, runs in recorded.items():
            for metric in _WINDOWS:
                values = np.array([run[metric] for run in runs], float)
                paths_by_key[series.name, dataset, metric] = np.array(runs[0]["evaluations"]), values
    return paths_by_key


def smoothed(steps: np.ndarray, values: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the moving average of recorded values over ``window`` steps, with the steps at the windows' ends."""
    width = max(1, window // int(steps[0]))
    if len(values) < width:
        return steps[:0], values[:0]
    return steps[width - 1 :], np.convolve(values, np.full(width, 1 / width), "valid")


def csv_lines(context: Context[StepCurves]) -> list[Line]:
    """Return smoothed mean and deviation over repetitions, at 250 places of each path at most."""
    lines: list[Line] = []
    for (name, dataset, metric), (steps, values) in curves(context).items():
        steps_shown, mean = smoothed(steps, values.mean(axis=0), _WINDOWS[metric])
        deviation = smoothed(steps, values.std(axis=0), _WINDOWS[metric])[1]
        indices = np.unique(np.linspace(0, len(steps_shown) - 1, min(len(steps_shown), 250)).astype(int))
        lines += [
            {"series": name, "dataset": dataset, "metric": metric, "evaluations": int(steps_shown[index])}
            | {"mean": round(float(mean[index]), 7), "std": round(float(deviation[index]), 7), "n_seeds": len(values)}
            for index in indices
        ]
    return lines


def draw(context: Context[StepCurves], lines: list[Line]) -> Any:
    """Draw risk above unfairness, a column per dataset."""
    dataset_names = titles(context, (line["dataset"] for line in lines))
    metrics = {"risk": ("risk",), "ks": ("ks_group_0", "ks_group_1")}

    def panel(row: str, dataset: str) -> PlotPanel:
        return _panel(context, [p for p in lines if p["dataset"] == dataset], metrics[row], dataset)

    rows = {"risk": "risk on test rows", "ks": "unfairness (KS distance from all rows)"}
    panels = canvas.panel_grid(rows, dataset_names, panel, "gradient evaluations")
    if len(dataset_names) == 1:  # side by side
        labels = {"title": next(iter(dataset_names.values())), "xlabel": "gradient evaluations"}
        side_by_side = [[row[0] | labels for row in panels]]
        return canvas.draw_panels(side_by_side, (9.6, 4.4), {}, width=3.1, last_words=["published"], note=canvas.BANDS)
    size = (4.6 * max(len(dataset_names), 1) + 0.4, 6.4)
    panels = panels if dataset_names else [[PlotPanel([], {})] for _ in rows]
    return canvas.draw_panels(panels, size, {"sharex": "col"}, width=3.1, last_words=["published"], note=canvas.BANDS)


def _panel(context: Context[StepCurves], points: list[Line], metrics: tuple[str, ...], dataset: str) -> PlotPanel:
    curves = []
    for series, (colour, _, _) in zip(exhibit_series(context), SERIES_STYLES, strict=False):
        for metric, dash in zip(metrics, ("-", (0, (4, 1.5))), strict=False):
            series_points = [p for p in points if (p["series"], p["metric"]) == (series.name, metric)]
            if series_points:
                mean = np.array([point["mean"] for point in series_points])
                deviations = [point["std"] for point in series_points]
                half_width = canvas.half_width(deviations, series_points[0]["n_seeds"])
                label = None if metric == "risk" else f"{series.label}, group {metric[-1]}"
                line_style = {"color": colour, "ls": dash, "lw": 1.2, "label": label, "zorder": 4}
                evaluations = [point["evaluations"] for point in series_points]
                band = (mean - half_width, mean + half_width)
                curves.append(PlotCurve(evaluations, mean, line_style, band=band))

    def finish(axis: Any) -> None:
        for row in context.published:
            if row.dataset == dataset and PUBLISHED_METRICS.get(row.metric) in metrics:
                plateau_style = {"color": "#262626", "lw": 0.9, "ls": (0, (1, 2)), "zorder": 3}
                axis.axhline(row.value, label="published plateau", **plateau_style)
        axis.set_xlim(left=0)

    return PlotPanel(curves, {}, finish=finish)


def reproduce(context: Context[StepCurves], row: Published) -> ReproducedNumber:
    """Return the mean over the last fifth of the path, for a plateau read off the published plot.

    Its noise is that of the same optimiser's end points (``noise_from``), and half a unit of what was read.
    """
    metric = PUBLISHED_METRICS.get(row.metric)
    first_series = next(iter(exhibit_series(context)), None)
    paths_by_key = curves(context)
    series_path = paths_by_key.get((first_series.name if first_series else "", row.dataset, metric or ""))
    if series_path is None or first_series is None:
        return ReproducedNumber(None, "no recorded path of this dataset")
    steps, values = series_path
    tail = values[:, steps > (1 - TAIL) * steps[-1]].mean(axis=1)
    null_values = {}
    for series in exhibit_series(context)[1:]:
        other_path = paths_by_key.get((series.name, row.dataset, metric or ""))
        if other_path is not None:
            null_values[series.label] = float(other_path[1][:, other_path[0] > (1 - TAIL) * other_path[0][-1]].mean())
    null_values["the first tenth of the path"] = float(values[:, steps <= 0.1 * steps[-1]].mean())
    noise = math.hypot(_end_point_noise(context, row.dataset, str(metric)), regression_numbers.printed(row.value))
    repeats = regression_numbers.GROUPS if metric == "ks_group_1" else ""
    estimate, source = t_interval(tail, context.results.level), f"{first_series.experiment}, last fifth of the path"
    return ReproducedNumber(
        estimate, "published value read off a plot", source, noise=noise, nulls=null_values, repeats=repeats
    )


def _end_point_noise(context: Context[StepCurves], dataset: str, metric: str) -> float:
    """Return noise of the end points of the same optimiser; 0 where no experiment with repeats is named."""
    for setting in context.results.settings(context.options.noise_from or ""):
        if published_name(context, setting.dataset) == dataset and setting.kappa == _NOISE_AT:
            series = Series(name="", experiment=setting.experiment, algorithm=setting.algorithm)
            noise = regression_numbers.noise_of(context, series, setting, metric)
            if noise:
                return noise
    return 0.0
