"""Densities of test predictions by group: post-processed (modes) and base (DP post-processing paper, Figure 5)."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.grid.paths import SPLIT, TABLE
from partialfair.models.stored import load_model
from partialfair.pages import cells
from partialfair.reporting import canvas, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.regression_points import LOOKS, series
from partialfair.tables.dataset import Dataset, Split

COLUMNS = ("series", "group", "prediction", "density", "mean", "n")
POINTS = 200


def lines(context: Context) -> list[dict[str, Any]]:
    """Gaussian kernel densities (SciPy's default bandwidth) over the first repetition's test rows."""
    from scipy.stats import gaussian_kde

    out = []
    for one in series(context):
        job = next(job for job in context.config.jobs(one.experiment) if job.algorithm == one.algorithm)
        file = context.root / job.path / "model.npz"
        table = context.root / TABLE.format(dataset=job.dataset)
        if not (file.exists() and table.exists()):
            continue
        data = Dataset.load(table)
        test = data.take(Split.load(context.root / SPLIT.format(dataset=job.dataset, seed=job.seed)).test)
        found = load_model(file).predictions(test.X).mode()
        low, high = np.min(data.y), np.max(data.y)
        at = np.linspace(low, high, POINTS)
        for code, group in enumerate(data.group_names):
            own = found[test.group == code]
            height = gaussian_kde(own)(at) if own.size > 1 and np.ptp(own) > 0 else np.full(POINTS, math.nan)
            out += [
                {"series": one.name, "group": group, "prediction": round(float(x), 6), "density": round(float(h), 6)}
                | {"mean": round(float(own.mean()), 6), "n": int(own.size)}
                for x, h in zip(at, height, strict=True)
            ]
    return out


def _draw(context: Context, found: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    shown = series(context)
    figure, axes = plt.subplots(1, len(shown), figsize=(4.6 * len(shown), 3.9), squeeze=False)
    for axis, one in zip(axes[0], shown, strict=True):
        own = [line for line in found if line["series"] == one.name]
        axis.set_title(one.label)
        axis.set_xlabel("predicted label on test rows")
        for group, (colour, _, dash) in zip(dict.fromkeys(line["group"] for line in own), LOOKS, strict=False):
            part = [line for line in own if line["group"] == group]
            axis.plot([p["prediction"] for p in part], [p["density"] for p in part], color=colour, ls=dash, label=group)
            axis.axvline(part[0]["mean"], color=colour, lw=0.8, alpha=0.6, ls=dash)
        if not own:
            canvas.empty(axis, "not run")
    axes[0][0].set_ylabel("density")
    handles, labels = axes[0][-1].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.09, 1, 1), w_pad=1.4)
    if handles:
        handles, labels = [*handles, Line2D([], [], color=style.INK, lw=0.8)], [*labels, "thin: mean of the group"]
        figure.legend(handles, labels, loc="lower center", ncols=5)
    return figure


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: how far the groups' means lie apart in each panel."""
    found, out = lines(context), []
    for one in series(context):
        means = list({line["group"]: line["mean"] for line in found if line["series"] == one.name}.values())
        fair = one.name != "base"
        statement = "means of all groups within 0.03 of 0" if fair else "means of the groups about -.17, -.04, .06, .17"
        target = np.zeros(4) if fair else np.array([-0.17, -0.04, 0.06, 0.17])
        content: dict[str, Any] = {"paper": context.paper, "exhibit": context.name, "dataset": "four_groups"}
        content |= {"algorithm": one.name, "constraint": "", "interval": "", "setting": "first repetition"}
        content |= {
            "metric": "largest distance of a group's mean from there",
            "published": statement,
            "tolerance": 0.03,
        }
        if len(means) != len(target):
            out.append(content | {"verdict": "not run", "note": "no run"})
            continue
        worst = float(np.abs(np.array(means) - target).max())
        note = "group means " + ", ".join(f"{mean:+.3f}" for mean in means)
        out.append(
            content | {"reproduced": worst, "verdict": "reproduced" if worst <= 0.03 else "differs", "note": note}
        )
    return out


def render(context: Context) -> list[Path]:
    """Write the figure and its lines."""
    found = lines(context)
    paths = canvas.write(context, lambda: _draw(context, found))
    return [cells.write_csv(context.path("csv"), COLUMNS, found), *paths]


KINDS = {"regression_densities": Kind(render, canvas.inline, claims=claims)}
