"""Densities of predicted probabilities by group, all runs of a method together."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.pages import cells
from partialfair.reporting import canvas, run_scores, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.runs import group_names
from partialfair.verdicts.results import Setting

COLUMNS = ("experiment", "algorithm", "kappa", "group", "probability", "density", "n_runs", "note")
GRID = np.linspace(-0.1, 1.1, 241)
FACTOR = 0.4  # of Scott's bandwidth, as in the paper's code
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
LARGEST = 20_000  # rows of a density; more are thinned evenly after sorting, which changes no visible point


def points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one line of ``COLUMNS`` per setting, group and probability."""
    return [
        line
        for setting in list(runs.settings(context, context.options.get("algorithms")))
        for line in _densities(context, setting)
    ]


def _densities(context: Context, setting: Setting) -> list[dict[str, Any]]:
    from scipy.stats import gaussian_kde

    scores, group = run_scores.pooled(context, setting, str(context.options.get("split", "test")))
    base = {"experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa}
    if not scores.size:
        return [{**base, "note": "not run"}]
    names = group_names(context, setting.dataset)
    n_runs = len(run_scores.values(context, setting, "inaccuracy", "test"))
    lines = []
    for code in np.unique(group):
        p = np.sort(1 / (1 + np.exp(-scores[group == code])))
        p = p[:: max(1, len(p) // LARGEST)]
        height = gaussian_kde(p, lambda kde: FACTOR * kde.scotts_factor())(GRID)
        lines += [
            {**base, "group": names[code], "probability": round(float(at), 4), "density": round(float(value), 5),
             "n_runs": n_runs}
            for at, value in zip(GRID, height, strict=True)
        ]  # fmt: skip
    return lines


def _draw(context: Context, lines: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    panels = list(runs.settings(context, context.options.get("algorithms")))
    figure, axes = plt.subplots(1, len(panels), figsize=(2.2 * len(panels) + 0.8, 2.9), squeeze=False, sharey=True)
    for axis, setting in zip(axes[0], panels, strict=True):
        own = [p for p in lines if (p["experiment"], p["algorithm"]) == (setting.experiment, setting.algorithm)]
        axis.set_title(style.look(setting.algorithm).label)
        axis.set_xlabel("predicted probability")
        drawn = [p for p in own if "density" in p]
        if not drawn:
            canvas.empty(axis, own[0]["note"] if own else "not run")
            continue
        for place, name in enumerate(dict.fromkeys(p["group"] for p in drawn)):
            part = [p for p in drawn if p["group"] == name]
            at, height = [p["probability"] for p in part], [p["density"] for p in part]
            axis.fill_between(at, height, color=COLOURS[place], alpha=0.25, lw=0)
            axis.plot(at, height, color=COLOURS[place], lw=1.3, ls="-" if place == 0 else (0, (5, 1.5)), label=name)
        axis.axvline(0.5, color=style.INK, lw=0.8, ls=(0, (1.5, 2)))
        axis.set_xlim(-0.1, 1.1)
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_ylabel("density, test rows")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.1, 1, 1), w_pad=0.5)
    figure.legend(handles, labels, loc="lower center", ncols=max(len(labels), 1))
    return figure


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    lines = points(context)
    paths = canvas.write(context, lambda: _draw(context, lines))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines), *paths]


KINDS = {"probability_densities": Kind(render, canvas.inline)}
