"""Densities of test predictions by group: post-processed (modes) and base (DP post-processing paper, Figure 5)."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.models.stored import load_model
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.regression_points import LOOKS, SeriesOption, series
from reproduction.grid import paths
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.run_scores import rows_of

COLUMNS = ("series", "group", "prediction", "density", "mean", "n")
POINTS = 200


class PredictionDensities(Options):
    """Gaussian kernel densities (SciPy's default bandwidth) over the test rows of the first repetition."""

    source: Literal["predictions"] = Field(description="predictions: of the first repetition, by group")
    series: dict[str, SeriesOption] = Field(description="panels by name")


def lines(context: Context[PredictionDensities]) -> Iterator[Line]:
    """One line of ``COLUMNS`` per series, group and prediction."""
    from scipy.stats import gaussian_kde

    for one in series(context):
        job = next(job for job in context.config.jobs(one.experiment) if job.algorithm == one.algorithm)
        file, table = context.root / job.path / paths.MODEL, context.root / paths.table(job.dataset)
        if not (is_here(file) and is_here(table)):
            continue
        labels = rows_of(context.root, job.dataset, "", job.seed).y
        test = rows_of(context.root, job.dataset, "test", job.seed)
        found = load_model(file).predictions(test.X).mode()
        at = np.linspace(np.min(labels), np.max(labels), POINTS)
        for code, group in enumerate(test.group_names):
            own = found[test.group == code]
            height = gaussian_kde(own)(at) if own.size > 1 and np.ptp(own) > 0 else np.full(POINTS, math.nan)
            key = {"series": one.name, "group": group, "mean": round(float(own.mean()), 6), "n": int(own.size)}
            for x, h in zip(at, height, strict=True):
                yield key | {"prediction": round(float(x), 6), "density": round(float(h), 6)}


def draw(context: Context[PredictionDensities], found: list[Line]) -> Any:
    """Draw a panel per series, with the groups' means as thin lines."""
    from matplotlib.lines import Line2D

    shown = series(context)
    row = []
    for column, one in enumerate(shown):
        own = [line for line in found if line["series"] == one.name]
        labels = {"title": one.label, "xlabel": "predicted label on test rows", "ylabel": "" if column else "density"}
        row.append(_panel(own) | labels)
    more = {"thin: mean of the group": Line2D([], [], color=style.INK, lw=0.8)} if found else {}
    return canvas.figure([row], (4.6 * len(shown), 3.9), {}, columns=5, more=more)


def _panel(found: list[Line]) -> Panel:
    groups = list(zip(dict.fromkeys(line["group"] for line in found), LOOKS, strict=False))
    curves, means = [], {}
    for group, (colour, _, dash) in groups:
        own = [line for line in found if line["group"] == group]
        means[group] = own[0]["mean"]
        path = [(p["prediction"], p["density"]) for p in own]
        curves.append(Curve.through(path, {"color": colour, "ls": dash, "label": group}))

    def finish(axis: Any) -> None:
        for group, (colour, _, dash) in groups:
            axis.axvline(means[group], color=colour, lw=0.8, ls=dash)

    return Panel(curves, {}, finish=finish)
