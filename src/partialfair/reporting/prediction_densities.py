"""Densities of test predictions by group: post-processed (modes) and base (DP post-processing paper, Figure 5)."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.grid.paths import SPLIT, TABLE
from partialfair.models.stored import load_model
from partialfair.reporting import canvas, style
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.reporting.regression_points import LOOKS, SeriesOption, series
from partialfair.tables.dataset import Dataset, Split
from partialfair.verdicts import statements

COLUMNS = ("series", "group", "prediction", "density", "mean", "n")
POINTS = 200
NEAR = 0.03  # largest distance of a group's mean from where it should be


class PredictionDensities(Options):
    """Gaussian kernel densities (SciPy's default bandwidth) over the test rows of the first repetition."""

    source: Literal["predictions"] = Field(description="predictions: of the first repetition, by group")
    series: dict[str, SeriesOption] = Field(description="panels by name")


def lines(context: Context[PredictionDensities]) -> Iterator[Line]:
    """One line of ``COLUMNS`` per series, group and prediction."""
    from scipy.stats import gaussian_kde

    for one in series(context):
        job = next(job for job in context.config.jobs(one.experiment) if job.algorithm == one.algorithm)
        file, table = context.root / job.path / "model.npz", context.root / TABLE.format(dataset=job.dataset)
        if not (file.exists() and table.exists()):
            continue
        data = Dataset.load(table)
        test = data.take(Split.load(context.root / SPLIT.format(dataset=job.dataset, seed=job.seed)).test)
        found = load_model(file).predictions(test.X).mode()
        at = np.linspace(np.min(data.y), np.max(data.y), POINTS)
        for code, group in enumerate(data.group_names):
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
            axis.axvline(means[group], color=colour, lw=0.8, alpha=0.6, ls=dash)

    return Panel(curves, {}, finish=finish)


def claims(context: Context[PredictionDensities]) -> list[Line]:
    """Scorecard lines: how far the groups' means lie apart in each panel."""
    found, out = list(lines(context)), []
    for one in series(context):
        means = list({line["group"]: line["mean"] for line in found if line["series"] == one.name}.values())
        fair = one.name != "base"
        statement = "means of all groups within 0.03 of 0" if fair else "means of the groups about -.17, -.04, .06, .17"
        target = np.zeros(4) if fair else np.array([-0.17, -0.04, 0.06, 0.17])
        measured: Line = {"note": "no run"}
        if len(means) == len(target):
            worst = float(np.abs(np.array(means) - target).max())
            note = "group means " + ", ".join(f"{mean:+.3f}" for mean in means)
            verdict = "reproduced" if worst <= NEAR else "differs"
            measured = {"reproduced": worst, "verdict": verdict, "note": note}
        where = "four_groups", one.name, "first repetition", "largest distance of a group's mean from there"
        out.append(statements.fact(context, *where, published=statement, tolerance=NEAR, **measured))
    return out
