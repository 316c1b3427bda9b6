"""Accuracy against fairness with one line per experiment: what a change of interval or grid costs one algorithm."""

import math
from pathlib import Path
from typing import Any

from partialfair.pages import cells
from partialfair.reporting import canvas, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.kinds.rank_curves import falling
from partialfair.reporting.kinds.tradeoff import COLUMNS, tradeoff_points
from partialfair.verdicts.results import Setting, convention

_LOOKS = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", (0, (5, 1.5))),
    ("#009E73", "^", (0, (1.5, 1))),
    ("#CC79A7", "D", "-."),
)


def _draw(context: Context, points: list[dict[str, Any]]) -> Any:
    """One panel per dataset; the unconstrained models of all experiments are one common start."""
    from matplotlib import pyplot as plt

    datasets = list(dict.fromkeys(p["dataset"] for p in points)) or [""]
    figure, axes = plt.subplots(1, len(datasets), figsize=(5.6 * len(datasets), 4.3), squeeze=False)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        _panel(context, axis, [p for p in points if p["dataset"] == dataset])
        axis.set_title(style.dataset_title(dataset) if dataset else "")
    title = convention(context.config.experiment(context.experiments[0]).constraint).title
    axes[0][0].set_ylabel("test accuracy")
    for axis in axes[0]:
        axis.set_xlabel(f"1 − max {title} violation on test, ranks in {_measured(context)}")
    figure.tight_layout()
    return figure


def _panel(context: Context, axis: Any, points: list[dict[str, Any]]) -> None:
    drawn = [p for p in points if not math.isnan(p["accuracy"])]
    if not drawn:
        reasons = "; ".join(dict.fromkeys(p["note"] for p in points if p["note"]))
        canvas.empty(axis, reasons or "not run")
        return
    starts = [p for p in drawn if math.isinf(p["kappa"])][:1]
    for number, experiment in enumerate(context.experiments):
        own = [p for p in drawn if p["experiment"] == experiment and not math.isinf(p["kappa"])]
        own.sort(key=lambda p: p["kappa"], reverse=True)
        colour, marker, dash = _LOOKS[number % len(_LOOKS)]
        path = [*starts, *own]
        axis.plot([p["fairness"] for p in path], [p["accuracy"] for p in path], color=colour, ls=dash, zorder=3)
        _bars(axis, own, marker, colour, _line_title(context, experiment))
        for point in own:
            axis.annotate(
                f"κ {point['kappa']:g}", (point["fairness"], point["accuracy"]), (5, 5), textcoords="offset points",
                fontsize=7.5, color=colour,
            )  # fmt: skip
    _bars(axis, starts, "*", style.INK, "no constraint")
    axis.margins(0.1)
    axis.set_xlim(right=min(axis.get_xlim()[1], 1.01))  # an interval over few seeds may reach beyond 1, fairness cannot
    axis.legend(loc="best")


def _bars(axis: Any, points: list[dict[str, Any]], marker: str, colour: str, label: str) -> None:
    """Markers with intervals over seeds."""
    if not points:
        return
    bars = {}
    for direction, name in (("xerr", "fairness"), ("yerr", "accuracy")):
        ends = ((p[name] - p[f"{name}_low"], p[f"{name}_high"] - p[name]) for p in points)
        bars[direction] = list(
            zip(*([0.0 if math.isnan(length) else length for length in end] for end in ends), strict=True)
        )
    _, caps, lengths = axis.errorbar(
        [p["fairness"] for p in points], [p["accuracy"] for p in points], **bars, fmt=marker, color=colour, label=label,
        ms=11 if marker == "*" else 6, elinewidth=0.8, capsize=2, zorder=4,
    )  # fmt: skip
    for artist in (*caps, *lengths):
        artist.set_alpha(0.4)


def _line_title(context: Context, experiment: str) -> str:
    """What an experiment constrains: its interval and its number of ranks."""
    model = context.config.experiment(experiment)
    run = next(iter(model.runs.values()))
    return f"constraint on {_pairs(run.interval)} at {run.grid or model.grid} ranks"


def _measured(context: Context) -> str:
    run = next(iter(context.config.experiment(context.experiments[0]).runs.values()))
    return _pairs(run.metric_interval or run.interval)


def _pairs(interval: Any) -> str:
    return " ∪ ".join(f"[{low:g}, {high:g}]" for low, high in style.pairs_of(interval))


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    points = tradeoff_points(context)
    paths = canvas.write(context, lambda: _draw(context, points))
    return [cells.write_csv(context.path("csv"), COLUMNS, points), *paths]


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: along every line, each tightening of kappa makes the violation on test rows smaller."""
    lines = []
    for experiment in context.experiments:
        lines += falling(
            context, _paths(context, experiment), "absolute", f"fall of the violation on {_measured(context)}",
            f"{_line_title(context, experiment)}: the violation is smaller than {{before}}",
        )  # fmt: skip
    return lines


def _paths(context: Context, experiment: str) -> dict[str, list[Setting]]:
    """By dataset, the settings along the line of an experiment: the common start, then falling kappa."""
    paths = {}
    for dataset, run in context.config.experiment(experiment).runs.items():
        shown = context.options.get("algorithms") or run.algorithms
        own = [(name, kappa) for name in shown for kappa in run.algorithms.get(name, ()) if not math.isinf(kappa)]
        tightened = [Setting(experiment, dataset, name, kappa) for name, kappa in sorted(own, key=lambda one: -one[1])]
        paths[dataset] = [*_starts(context, dataset), *tightened]
    return paths


def _starts(context: Context, dataset: str) -> list[Setting]:
    """The unconstrained model that the lines of a dataset start from, if an experiment has one."""
    for experiment in context.experiments:
        run = context.config.experiment(experiment).runs.get(dataset)
        for name, kappas in run.algorithms.items() if run is not None else ():
            if any(math.isinf(kappa) for kappa in kappas):
                return [Setting(experiment, dataset, name, math.inf)]
    return []


KINDS = {"experiment_lines": Kind(render, canvas.inline, claims=claims)}
