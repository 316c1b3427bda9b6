"""Means over runs of four metrics as one closed line per method, around a centre of zero."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.pages import cells
from partialfair.reporting import canvas, run_scores, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.kinds.mean_std_table import short

COLUMNS = ("experiment", "algorithm", "kappa", "split", "metric", "mean", "n_runs", "published")


def points(context: Context) -> list[dict[str, Any]]:
    """One line of ``COLUMNS`` per method, split and metric."""
    known = {(row.algorithm, row.metric, row.setting): row.value for row in context.published}
    lines = []
    for setting in runs.settings(context, context.options.get("algorithms")):
        for split in ("train", "test"):
            for metric in context.options["metrics"]:
                estimate, _ = run_scores.mean_and_spread(context, setting, metric, split)
                lines.append(
                    {
                        "experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa,
                        "split": split, "metric": metric, "mean": estimate.mean, "n_runs": estimate.n,
                        "published": known.get((setting.algorithm, metric, f"split={split};statistic=mean")),
                    }
                )  # fmt: skip
    return lines


def _draw(context: Context, lines: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    metrics = list(context.options["metrics"])
    angles = np.linspace(0, 2 * np.pi, len(metrics), endpoint=False)
    figure, axes = plt.subplots(1, 2, figsize=(9.4, 5.8), subplot_kw={"projection": "polar"})
    for axis, split in zip(axes, ("train", "test"), strict=True):
        for algorithm in dict.fromkeys(line["algorithm"] for line in lines):
            own = {line["metric"]: line for line in lines if (line["algorithm"], line["split"]) == (algorithm, split)}
            look = style.look(algorithm)
            means = [own[metric]["mean"] for metric in metrics]
            if not np.isnan(means).any():
                at, height = np.append(angles, angles[0]), [*means, means[0]]
                axis.plot(at, height, color=look.colour, ls=look.dash, marker=look.marker, ms=5, label=look.label)
            printed = [own[metric]["published"] for metric in metrics]
            if None not in printed:
                axis.plot(angles, printed, look.marker, color=look.colour, ms=8, mfc="none", mew=0.8)
        axis.plot([], [], "o", color=style.INK, ms=8, mfc="none", mew=0.8, label="published")
        axis.set_xticks(angles, [short(metric) for metric in metrics])
        axis.set_yticks([0.1, 0.2, 0.3])
        axis.set_ylim(0, 0.31)
        axis.set_title(f"{split} rows", pad=14)
        axis.tick_params(axis="x", pad=8)
        axis.set_rlabel_position(35)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.14, 1, 0.97), w_pad=3)
    figure.legend(handles, labels, loc="lower center", ncols=4)
    return figure


def render(context: Context) -> list[Path]:
    """Write the figure and its numbers."""
    lines = points(context)
    paths = canvas.write(context, lambda: _draw(context, lines))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines), *paths]


KINDS = {"metric_radar": Kind(render, canvas.inline)}
