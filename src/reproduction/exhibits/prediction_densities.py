"""Densities of test predictions by group: post-processed (modes) and base (DP post-processing paper, Figure 5)."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.models.stored import load_model
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.regression_points import SERIES_STYLES, SeriesOption, exhibit_series
from reproduction.grid import paths
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.run_scores import rows_of

COLUMNS = ("series", "group", "prediction", "density", "mean", "n")
POINTS = 200


class PredictionDensities(Options):
    """Gaussian kernel densities (SciPy's default bandwidth) over the test rows of the first repetition."""

    source: Literal["predictions"] = Field(description="predictions: of the first repetition, by group")
    series: dict[str, SeriesOption] = Field(description="panels by name")


def csv_lines(context: Context[PredictionDensities]) -> Iterator[Line]:
    """Yield one line of ``COLUMNS`` per series, group and prediction."""
    from scipy.stats import gaussian_kde

    for series in exhibit_series(context):
        job = next(job for job in context.config.jobs(series.experiment) if job.algorithm == series.algorithm)
        file, table = context.root / job.path / paths.MODEL, context.root / paths.table(job.dataset)
        if not (is_here(file) and is_here(table)):
            continue
        labels = rows_of(context.root, job.dataset, "", job.seed).y
        test = rows_of(context.root, job.dataset, "test", job.seed)
        predictions = load_model(file).predictions(test.X).mode()
        points = np.linspace(np.min(labels), np.max(labels), POINTS)
        for code, group in enumerate(test.group_names):
            group_predictions = predictions[test.group == code]
            varies = group_predictions.size > 1 and np.ptp(group_predictions) > 0
            height = gaussian_kde(group_predictions)(points) if varies else np.full(POINTS, math.nan)
            key: Line = {"series": series.name, "group": group}
            key |= {"mean": round(float(group_predictions.mean()), 6), "n": int(group_predictions.size)}
            for x, density in zip(points, height, strict=True):
                yield key | {"prediction": round(float(x), 6), "density": round(float(density), 6)}


def draw(context: Context[PredictionDensities], lines: list[Line]) -> Any:
    """Draw a panel per series, with the groups' means as thin lines."""
    from matplotlib.lines import Line2D

    panel_series = exhibit_series(context)
    row = []
    for column, series in enumerate(panel_series):
        series_lines = [line for line in lines if line["series"] == series.name]
        labels = {"title": series.label, "xlabel": "predicted label on test rows"}
        labels["ylabel"] = "" if column else "density"
        row.append(_panel(series_lines) | labels)
    extra_entries = {"thin: mean of the group": Line2D([], [], color=style.INK, lw=0.8)} if lines else {}
    return canvas.draw_panels([row], (4.6 * len(panel_series), 3.9), {}, columns=5, extra_entries=extra_entries)


def _panel(lines: list[Line]) -> PlotPanel:
    groups = list(zip(dict.fromkeys(line["group"] for line in lines), SERIES_STYLES, strict=False))
    curves, means = [], {}
    for group, (colour, _, dash) in groups:
        group_lines = [line for line in lines if line["group"] == group]
        means[group] = group_lines[0]["mean"]
        path = [(p["prediction"], p["density"]) for p in group_lines]
        curves.append(PlotCurve.through(path, {"color": colour, "ls": dash, "label": group}))

    def finish(axis: Any) -> None:
        for group, (colour, _, dash) in groups:
            axis.axvline(means[group], color=colour, lw=0.8, ls=dash)

    return PlotPanel(curves, {}, finish=finish)
