"""Risk and unfairness of test predictions along the optimiser's path (DP post-processing paper, Figures 1 and 4)."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.reporting import canvas
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.regression_points import LOOKS, PUBLISHED_METRICS, TITLES, published_name, series
from partialfair.tables.files import read_json
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("series", "dataset", "metric", "evaluations", "mean", "std", "n_seeds")
WINDOWS = {"risk": 100, "ks_group_0": 50, "ks_group_1": 50}
TAIL = 0.2
"""Share of the path, at its end, whose mean counts as the plateau."""


def curves(context: Context) -> dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]:
    """Steps (q,) and values (repetitions, q) by series, dataset and metric."""
    found: dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]] = {}
    shown = context.options.get("show")
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


def _lines(found: dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]) -> list[dict[str, Any]]:
    out = []
    for (name, dataset, metric), (steps, values) in found.items():
        at, mean = smoothed(steps, values.mean(axis=0), WINDOWS[metric])
        deviation = smoothed(steps, values.std(axis=0), WINDOWS[metric])[1]
        keep = np.unique(np.linspace(0, len(at) - 1, min(len(at), 250)).astype(int))
        out += [
            {"series": name, "dataset": dataset, "metric": metric, "evaluations": int(at[i])}
            | {"mean": round(float(mean[i]), 7), "std": round(float(deviation[i]), 7), "n_seeds": len(values)}
            for i in keep
        ]
    return out


def _draw(context: Context, lines: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    datasets = [name for name in TITLES if any(line["dataset"] == name for line in lines)]
    width = max(len(datasets), 1)
    figure, axes = plt.subplots(2, width, figsize=(4.6 * width + 0.4, 6.4), squeeze=False, sharex="col")
    for column, dataset in enumerate(datasets):
        own = [line for line in lines if line["dataset"] == dataset]
        _panel(context, axes[0][column], own, ("risk",), dataset)
        _panel(context, axes[1][column], own, ("ks_group_0", "ks_group_1"), dataset)
        axes[0][column].set_title(TITLES[dataset])
        axes[1][column].set_xlabel("gradient evaluations")
    axes[0][0].set_ylabel("risk on test rows")
    axes[1][0].set_ylabel("unfairness (KS distance from all rows)")
    if not datasets:
        canvas.empty(axes[0][0], "not run")
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    handles = dict(sorted(handles.items(), key=lambda entry: entry[0].startswith("published")))  # it comes last
    rows = math.ceil(len(handles) / max(1, int(2.1 * width)))
    figure.tight_layout(rect=(0, (0.1 + 0.21 * rows) / 6.4, 1, 1), h_pad=1.0, w_pad=1.4)
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="lower center", ncols=max(1, int(2.1 * width)), fontsize=8.5
        )
    return figure


def _panel(context: Context, axis: Any, lines: list[dict[str, Any]], metrics: tuple[str, ...], dataset: str) -> None:
    for one, (colour, _, _) in zip(series(context), LOOKS, strict=False):
        for metric, dash in zip(metrics, ("-", (0, (4, 1.5))), strict=False):
            own = [line for line in lines if (line["series"], line["metric"]) == (one.name, metric)]
            if not own:
                continue
            at = np.array([line["evaluations"] for line in own])
            mean, std = (np.array([line[key] for line in own]) for key in ("mean", "std"))
            label = None if metric == "risk" else f"{one.label}, group {metric[-1]}"
            axis.plot(at, mean, color=colour, ls=dash, lw=1.2, label=label, zorder=4)
            axis.fill_between(at, mean - std, mean + std, color=colour, alpha=0.13, lw=0, zorder=2)
    for row in context.published:
        if row.dataset == dataset and PUBLISHED_METRICS.get(row.metric) in metrics:
            label = "published plateau"
            axis.axhline(row.value, color="#262626", lw=0.9, ls=(0, (1, 2)), label=label, zorder=3)
    axis.set_xlim(left=0)


def reproduce(context: Context, row: Published) -> Outcome:
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


def render(context: Context) -> list[Path]:
    """Write the figure and its lines."""
    lines = _lines(curves(context))
    paths = canvas.write(context, lambda: _draw(context, lines))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines), *paths]


KINDS = {"regression_history": Kind(render, canvas.inline, reproduce)}
