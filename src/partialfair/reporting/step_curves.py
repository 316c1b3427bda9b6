"""Risk and unfairness of test predictions along the optimiser's path (DP post-processing paper, Figures 1 and 4)."""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.reporting import canvas
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.reporting.regression_points import (
    LOOKS,
    PUBLISHED_METRICS,
    TITLES,
    SeriesOption,
    published_name,
    series,
)
from partialfair.tables.files import read_json
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("series", "dataset", "metric", "evaluations", "mean", "std", "n_seeds")
WINDOWS = {"risk": 100, "ks_group_0": 50, "ks_group_1": 50}
TAIL = 0.2
"""Share of the path, at its end, whose mean counts as the plateau."""

Paths = dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]


class StepCurves(Options):
    """Risk and unfairness against gradient evaluations, a column per dataset."""

    source: Literal["steps"] = Field(description="steps: risk and unfairness along the optimiser's path")
    series: dict[str, SeriesOption] = Field(description="lines by name; the first is held against published plateaus")
    show: list[str] | None = Field(None, description="datasets shown, by their published names; all by default")


def curves(context: Context[StepCurves]) -> Paths:
    """Steps (q,) and values (repetitions, q) by series, dataset and metric."""
    found: Paths = {}
    shown = context.options.show
    for one in series(context):
        paths: dict[str, list[dict[str, Any]]] = {}
        for job in context.config.jobs(one.experiment):
            file = context.root / job.path / "metrics.json"
            dataset = published_name(job.dataset)
            steps = read_json(file).get("steps") if file.exists() and (not shown or dataset in shown) else None
            if steps:
                paths.setdefault(dataset, []).append(steps)
        for dataset, runs in paths.items():
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
    datasets = [name for name in TITLES if any(line["dataset"] == name for line in found)]
    rows = {"risk on test rows": ("risk",), "unfairness (KS distance from all rows)": ("ks_group_0", "ks_group_1")}
    panels = [
        [
            _panel(context, [p for p in found if p["dataset"] == dataset], metrics, dataset)
            | {"title": TITLES[dataset] if "risk" in metrics else "", "ylabel": "" if column else title}
            | ({} if "risk" in metrics else {"xlabel": "gradient evaluations"})
            for column, dataset in enumerate(datasets)
        ]
        or [Panel([], {})]
        for title, metrics in rows.items()
    ]
    size = (4.6 * max(len(datasets), 1) + 0.4, 6.4)
    return canvas.figure(panels, size, {"sharex": "col"}, last=["published"])


def _panel(context: Context[StepCurves], found: list[Line], metrics: tuple[str, ...], dataset: str) -> Panel:
    drawn = []
    for one, (colour, _, _) in zip(series(context), LOOKS, strict=False):
        for metric, dash in zip(metrics, ("-", (0, (4, 1.5))), strict=False):
            own = [line for line in found if (line["series"], line["metric"]) == (one.name, metric)]
            if own:
                mean, std = (np.array([line[key] for line in own]) for key in ("mean", "std"))
                label = None if metric == "risk" else f"{one.label}, group {metric[-1]}"
                look = {"color": colour, "ls": dash, "lw": 1.2, "label": label, "zorder": 4}
                drawn.append(Curve([p["evaluations"] for p in own], mean, look, band=(mean - std, mean + std)))

    def finish(axis: Any) -> None:
        for row in context.published:
            if row.dataset == dataset and PUBLISHED_METRICS.get(row.metric) in metrics:
                line = {"color": "#262626", "lw": 0.9, "ls": (0, (1, 2)), "zorder": 3}
                axis.axhline(row.value, label="published plateau", **line)
        axis.set_xlim(left=0)

    return Panel(drawn, {}, finish=finish)


def reproduce(context: Context[StepCurves], row: Published) -> Outcome:
    """The mean over the last fifth of the path, against a plateau read off the published plot."""
    metric = PUBLISHED_METRICS.get(row.metric)
    first = next(iter(series(context)), None)
    found = curves(context).get((first.name if first else "", row.dataset, metric or ""))
    if found is None or first is None:
        return Outcome(None, "no recorded path of this dataset")
    steps, values = found
    tail = values[:, steps > (1 - TAIL) * steps[-1]].mean(axis=1)
    note = "published value read off a plot"
    return Outcome(t_interval(tail, context.results.level), note, f"{first.experiment}, last fifth of the path")
