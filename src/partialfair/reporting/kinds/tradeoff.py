"""Figures: accuracy against fairness, one panel per constraint and dataset."""

import math
from pathlib import Path
from typing import Any

from partialfair.pages import cells
from partialfair.reporting import canvas, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts.results import Convention, convention

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "source", "n_seeds",
    "fairness", "fairness_low", "fairness_high", "accuracy", "accuracy_low", "accuracy_high", "note",
)  # fmt: skip


def tradeoff_points(context: Context) -> list[dict[str, Any]]:
    """Return what the trade-off figure shows, one dictionary of ``COLUMNS`` per point.

    A setting without any value is a point without numbers and with a note. Published points come from the
    exhibit named by the option ``published_points``, for the panels whose interval they share. The option
    ``algorithms`` restricts what is shown.
    """
    points = []
    shown_algorithms = context.options.get("algorithms")
    for experiment in context.experiments:
        shown = _convention(context, experiment)
        for setting in context.results.settings(experiment):
            if shown_algorithms is not None and setting.algorithm not in shown_algorithms:
                continue
            fairness = context.results.estimate(setting, shown.absolute)
            accuracy = context.results.estimate(setting, "accuracy")
            points.append(
                dict(zip(COLUMNS[:4], setting, strict=True))
                | {"source": "reproduced", "n_seeds": accuracy.n, "note": context.results.reason(setting)}
                | {"fairness": fairness.mean, "fairness_low": fairness.low, "fairness_high": fairness.high}
                | {"accuracy": accuracy.mean, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high}
            )
        points.extend(_published_points(context, experiment))
    return points


def _convention(context: Context, experiment: str) -> Convention:
    return convention(context.config.experiment(experiment).constraint)


def _published_points(context: Context, experiment: str) -> list[dict[str, Any]]:
    """Published (fairness, accuracy) pairs of the datasets and intervals of one experiment."""
    from partialfair.tables.intervals import format_interval

    source = context.options.get("published_points")
    model = context.config.experiment(experiment)
    if not source:
        return []
    metric = f"{convention(model.constraint).title.lower()}_fairness"
    pairs: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in context.published_of(str(source)):
        run = model.runs.get(row.dataset)
        if run is not None and row.interval == format_interval(run.interval):
            pairs.setdefault((row.dataset, row.algorithm, row.setting), {})[row.metric] = row.value
    return [
        {"experiment": experiment, "dataset": dataset, "algorithm": algorithm, "kappa": math.nan}
        | {"source": "published", "fairness": pair[metric], "accuracy": pair["accuracy"], "note": setting}
        for (dataset, algorithm, setting), pair in pairs.items()
        if {metric, "accuracy"} <= pair.keys()
    ]


def tradeoff(context: Context) -> list[Path]:
    """Draw 1 - largest violation against test accuracy: rows are experiments, columns datasets.

    One line per algorithm starts at the unconstrained model and goes from the loosest to the tightest setting;
    bars are t-intervals over seeds in both directions.
    """
    points = tradeoff_points(context)
    paths = canvas.write(context, lambda: _draw(context, points))
    return [cells.write_csv(context.path("csv"), COLUMNS, points), *paths]


def _draw(context: Context, points: list[dict[str, Any]]) -> Any:
    """Draw all panels; the caller applies the style and closes the figure."""
    from matplotlib import pyplot as plt

    datasets = list(dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs))
    size = (max(3.3 * len(datasets), 5.0), 2.9 * len(context.experiments) + 0.9)
    figure, axes = plt.subplots(len(context.experiments), len(datasets), figsize=size, squeeze=False)
    for row, experiment in enumerate(context.experiments):
        for column, dataset in enumerate(datasets):
            panel = [p for p in points if p["experiment"] == experiment and p["dataset"] == dataset]
            _panel(axes[row][column], panel, _title(context, experiment, dataset))
        axes[row][0].set_ylabel("test accuracy")
        for axis in axes[row]:
            axis.set_xlabel(f"1 − max {_convention(context, experiment).title} violation on test")
    _legend(figure, axes)
    return figure


def _title(context: Context, experiment: str, dataset: str) -> str:
    run = context.config.experiment(experiment).runs.get(dataset)
    name = f"{style.dataset_title(dataset)}, {_convention(context, experiment).title}"
    if run is None:
        return name
    pairs = run.interval if not isinstance(run.interval[0][0], tuple) else run.interval[0]
    return f"{name}, I = {' ∪ '.join(f'[{low:g}, {high:g}]' for low, high in pairs)}"


def _panel(axis: Any, points: list[dict[str, Any]], title: str) -> None:
    """Draw the lines of one panel."""
    axis.set_title(title)
    drawn = [p for p in points if p["source"] == "reproduced" and not math.isnan(p["accuracy"])]
    names = list(dict.fromkeys(p["algorithm"] for p in points))
    starts = [p for p in drawn if p["algorithm"] == "unconstrained"]
    for name in sorted(names, key=lambda n: n == "unconstrained"):  # the common start lies on top
        own = sorted((p for p in drawn if p["algorithm"] == name), key=lambda p: p["kappa"], reverse=True)
        _line(axis, own[::-1] if name in style.ASCENDING else own, starts, style.look(name, names))
    for point in (p for p in points if p["source"] == "published"):
        look = style.look(point["algorithm"], names)
        axis.plot(
            point["fairness"], point["accuracy"], look.marker, mfc="none", mec=look.colour, alpha=0.75,
            ms=11 if look.marker == "*" else 8, mew=1.1, label=f"{look.label}, published", zorder=2, ls="none",
        )  # fmt: skip
    if not points or not (drawn or any(p["source"] == "published" for p in points)):
        canvas.empty(axis, "not run")
    axis.margins(0.08)


def _line(axis: Any, own: list[dict[str, Any]], starts: list[dict[str, Any]], look: style.Look) -> None:
    """Draw one algorithm: a line from the unconstrained point, markers with intervals at its own points."""
    if not own:
        return
    path = own if own[0]["algorithm"] == "unconstrained" else [*starts, *own]
    axis.plot([p["fairness"] for p in path], [p["accuracy"] for p in path], color=look.colour, ls=look.dash, zorder=3)
    bars = {}
    for direction, name in (("xerr", "fairness"), ("yerr", "accuracy")):
        below = [_length(p[name] - p[f"{name}_low"]) for p in own]
        above = [_length(p[f"{name}_high"] - p[name]) for p in own]
        bars[direction] = [below, above]
    axis.errorbar(
        [p["fairness"] for p in own], [p["accuracy"] for p in own], **bars, fmt=look.marker, color=look.colour,
        ms=10 if look.marker == "*" else 5.5, elinewidth=0.9, capsize=2, label=look.label, zorder=4,
    )  # fmt: skip


def _length(value: float) -> float:
    """Length of an error bar; none for a single seed."""
    return 0.0 if math.isnan(value) else value


def _legend(figure: Any, axes: Any) -> None:
    """One legend below all panels."""
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    labels = sorted(entries, key=lambda label: "published" in label)
    width, height = figure.get_size_inches()
    columns = max(1, min(len(labels), int(width / 2.3)))
    rows = math.ceil(len(labels) / columns)
    figure.tight_layout(rect=(0, (0.12 + 0.22 * rows) / height, 1, 1), h_pad=1.6, w_pad=1.2)
    if labels:
        figure.legend([entries[name] for name in labels], labels, loc="lower center", ncols=columns)


KINDS = {"tradeoff": Kind(tradeoff, canvas.inline)}
