"""Risk and unfairness of test predictions along the optimiser's path (DP post-processing paper, Figures 1 and 4)."""

import math
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.tables.files import read_json
from reproduction.exhibits import canvas, regression_numbers
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.regression_points import (
    LOOKS,
    PUBLISHED_METRICS,
    Series,
    SeriesOption,
    published_name,
    series,
    titles,
)
from reproduction.grid import paths
from reproduction.verdicts.evidence import Outcome
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.published import Published

COLUMNS = ("series", "dataset", "metric", "evaluations", "mean", "std", "n_seeds")
WINDOWS = {"risk": 100, "ks_group_0": 50, "ks_group_1": 50}
TAIL = 0.2
"""Share of the path, at its end, whose mean counts as the plateau."""
NOISE_AT = 2.0**-16
"""Tolerance at which ``noise_from`` has its end points."""

Paths = dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]


class StepCurves(Options):
    """Risk and unfairness against gradient evaluations, a column per dataset."""

    source: Literal["steps"] = Field(description="steps: risk and unfairness along the optimiser's path")
    series: dict[str, SeriesOption] = Field(description="lines by name; the first is held against published plateaus")
    show: list[str] | None = Field(None, description="datasets shown, by their published names; all by default")
    noise_from: str | None = Field(None, description="experiment whose repeats say how noisy an end point is")


def curves(context: Context[StepCurves]) -> Paths:
    """Steps (q,) and values (repetitions, q) by series, dataset and metric."""
    found: Paths = {}
    shown = context.options.show
    for one in series(context):
        recorded: dict[str, list[dict[str, Any]]] = {}
        for job in context.config.jobs(one.experiment):
            file = context.root / job.path / paths.METRICS
            dataset = published_name(context, job.dataset)
            steps = read_json(file).get("steps") if (not shown or dataset in shown) and is_here(file) else None
            if steps:
                recorded.setdefault(dataset, []).append(steps)
        for dataset, runs in recorded.items():
            for metric in WINDOWS:
                values = np.array([run[metric] for run in runs], float)
                found[one.name, dataset, metric] = np.array(runs[0]["evaluations"]), values
    return found


def smoothed(steps: np.ndarray, values: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Moving average over ``window`` steps of values recorded every so many; steps are those of the window's end."""
    width = max(1, window // int(steps[0]))
    if len(values) < width:
        return steps[:0], values[:0]
    return steps[width - 1 :], np.convolve(values, np.full(width, 1 / width), "valid")


def lines(context: Context[StepCurves]) -> list[Line]:
    """Smoothed mean and deviation over repetitions, at 250 places of each path at most."""
    out: list[Line] = []
    for (name, dataset, metric), (steps, values) in curves(context).items():
        at, mean = smoothed(steps, values.mean(axis=0), WINDOWS[metric])
        deviation = smoothed(steps, values.std(axis=0), WINDOWS[metric])[1]
        keep = np.unique(np.linspace(0, len(at) - 1, min(len(at), 250)).astype(int))
        out += [
            {"series": name, "dataset": dataset, "metric": metric, "evaluations": int(at[i])}
            | {"mean": round(float(mean[i]), 7), "std": round(float(deviation[i]), 7), "n_seeds": len(values)}
            for i in keep
        ]
    return out


def draw(context: Context[StepCurves], found: list[Line]) -> Any:
    """Draw risk above unfairness, a column per dataset."""
    shown = titles(context, (line["dataset"] for line in found))
    metrics = {"risk": ("risk",), "ks": ("ks_group_0", "ks_group_1")}

    def panel(row: str, dataset: str) -> Panel:
        return _panel(context, [p for p in found if p["dataset"] == dataset], metrics[row], dataset)

    rows = {"risk": "risk on test rows", "ks": "unfairness (KS distance from all rows)"}
    panels = canvas.grid(rows, shown, panel, "gradient evaluations")
    if len(shown) == 1:  # side by side
        labels = {"title": next(iter(shown.values())), "xlabel": "gradient evaluations"}
        side_by_side = [[row[0] | labels for row in panels]]
        return canvas.figure(side_by_side, (9.6, 4.4), {}, width=3.1, last=["published"], note=canvas.BANDS)
    size = (4.6 * max(len(shown), 1) + 0.4, 6.4)
    panels = panels if shown else [[Panel([], {})] for _ in rows]
    return canvas.figure(panels, size, {"sharex": "col"}, width=3.1, last=["published"], note=canvas.BANDS)


def _panel(context: Context[StepCurves], found: list[Line], metrics: tuple[str, ...], dataset: str) -> Panel:
    drawn = []
    for one, (colour, _, _) in zip(series(context), LOOKS, strict=False):
        for metric, dash in zip(metrics, ("-", (0, (4, 1.5))), strict=False):
            own = [line for line in found if (line["series"], line["metric"]) == (one.name, metric)]
            if own:
                mean = np.array([line["mean"] for line in own])
                half = canvas.half_width([line["std"] for line in own], own[0]["n_seeds"])
                label = None if metric == "risk" else f"{one.label}, group {metric[-1]}"
                look = {"color": colour, "ls": dash, "lw": 1.2, "label": label, "zorder": 4}
                drawn.append(Curve([p["evaluations"] for p in own], mean, look, band=(mean - half, mean + half)))

    def finish(axis: Any) -> None:
        for row in context.published:
            if row.dataset == dataset and PUBLISHED_METRICS.get(row.metric) in metrics:
                line = {"color": "#262626", "lw": 0.9, "ls": (0, (1, 2)), "zorder": 3}
                axis.axhline(row.value, label="published plateau", **line)
        axis.set_xlim(left=0)

    return Panel(drawn, {}, finish=finish)


def reproduce(context: Context[StepCurves], row: Published) -> Outcome:
    """The mean over the last fifth of the path, against a plateau read off the published plot.

    Its noise is that of the same optimiser's end points (``noise_from``), and half a unit of what was read.
    """
    metric = PUBLISHED_METRICS.get(row.metric)
    first = next(iter(series(context)), None)
    every = curves(context)
    found = every.get((first.name if first else "", row.dataset, metric or ""))
    if found is None or first is None:
        return Outcome(None, "no recorded path of this dataset")
    steps, values = found
    tail = values[:, steps > (1 - TAIL) * steps[-1]].mean(axis=1)
    nulls = {}
    for one in series(context)[1:]:
        other = every.get((one.name, row.dataset, metric or ""))
        if other is not None:
            nulls[one.label] = float(other[1][:, other[0] > (1 - TAIL) * other[0][-1]].mean())
    nulls["the first tenth of the path"] = float(values[:, steps <= 0.1 * steps[-1]].mean())
    noise = math.hypot(_noise(context, row.dataset, str(metric)), regression_numbers.printed(row.value))
    repeats = regression_numbers.GROUPS if metric == "ks_group_1" else ""
    estimate, where = t_interval(tail, context.results.level), f"{first.experiment}, last fifth of the path"
    return Outcome(estimate, "published value read off a plot", where, noise=noise, nulls=nulls, repeats=repeats)


def _noise(context: Context[StepCurves], dataset: str, metric: str) -> float:
    """Noise of the end points of the same optimiser; 0 where no experiment with repeats is named."""
    for setting in context.results.settings(context.options.noise_from or ""):
        if published_name(context, setting.dataset) == dataset and setting.kappa == NOISE_AT:
            one = Series(name="", experiment=setting.experiment, algorithm=setting.algorithm)
            found = regression_numbers.noise_of(context, one, setting, metric)
            if found:
                return found
    return 0.0
