"""Mirrored bars: accuracy and partial fairness of several methods, each at one kappa, on a row of intervals."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics import get
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.tables.intervals import format_interval
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting, convention

COLUMNS = (
    "dataset", "interval", "experiment", "algorithm", "kappa", "n_seeds", "fairness", "fairness_low", "fairness_high",
    "accuracy", "accuracy_low", "accuracy_high", "accuracy_difference", "matched", "note",
)  # fmt: skip
MATCHED = 0.01  # accuracies match if their means over seeds differ by at most this


def experiments(context: Context) -> list[str]:
    """Experiments that are a row of bars each: all but the one of the option ``reference``."""
    return [name for name in context.experiments if name != context.options.get("reference")]


def datasets(context: Context) -> list[str]:
    """Datasets of the experiments."""
    return list(dict.fromkeys(d for e in experiments(context) for d in context.config.experiment(e).runs))


def settings(context: Context, dataset: str) -> list[list[Setting]]:
    """Settings of a dataset: one list per experiment, that is per interval, with one setting per algorithm.

    Of an algorithm with several kappas the tightest counts.
    """
    shown = []
    for name in experiments(context):
        run = context.config.experiment(name).runs.get(dataset)
        if run is not None:
            tightest = {a: max(k) if style.ascending(a) else min(k) for a, k in run.algorithms.items()}
            shown.append([Setting(name, dataset, a, kappa) for a, kappa in tightest.items()])
    return shown


def first_algorithm(context: Context) -> str:
    """The algorithm that the others are held against."""
    return str(context.options.get("algorithm", "idca"))


def bars(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one dictionary of ``COLUMNS`` per pair of bars, and one per reference mark."""
    lines = []
    for dataset in datasets(context):
        for panel in settings(context, dataset):
            own = next((s for s in panel if s.algorithm == first_algorithm(context)), None)
            reference = _reference(context, panel[0])
            lines += [reference] if reference is not None else []
            lines += [_bar(context, setting, own) for setting in panel]
    return lines


def _bar(context: Context, setting: Setting, own: Setting | None) -> dict[str, Any]:
    run = context.config.experiment(setting.experiment)
    shown = convention(run.constraint).absolute
    line = setting._asdict() | {"interval": format_interval(run.runs[setting.dataset].interval)}
    fairness, accuracy = (context.results.estimate(setting, metric) for metric in (shown, "accuracy"))
    difference = math.nan if own is None else _mean_difference(context, setting, own)
    return line | _numbers(fairness, accuracy) | {
        "note": context.results.reason(setting),
        "accuracy_difference": difference, "matched": int(_matched(difference)),
    }  # fmt: skip


def _numbers(fairness: Estimate, accuracy: Estimate) -> dict[str, Any]:
    return {
        "n_seeds": accuracy.n,
        "fairness": fairness.mean, "fairness_low": fairness.low, "fairness_high": fairness.high,
        "accuracy": accuracy.mean, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
    }  # fmt: skip


def _mean_difference(context: Context, setting: Setting, own: Setting) -> float:
    """Mean over seeds of a setting's accuracy minus that of the one it is held against; NaN if no seed has both."""
    accuracy = (statements.by_seed(context.results, one, "accuracy") for one in (setting, own))
    values = statements.differences(*accuracy)
    return float(np.mean(values)) if values else math.nan


def _matched(difference: float) -> bool:
    return abs(difference) <= MATCHED  # false for NaN


def _reference(context: Context, setting: Setting) -> dict[str, Any] | None:
    """The unconstrained model of the option ``reference``, one of the experiments, on the interval of ``setting``."""
    name = context.options.get("reference")
    experiment = context.config.experiment(setting.experiment)
    run = experiment.runs[setting.dataset]
    if name is None:
        return None
    reference = Setting(str(name), setting.dataset, "unconstrained", math.inf)
    fairness, accuracy, reasons = [], [], []
    for seed in context.config.seeds(setting.experiment):
        found, reason = runs.test_scores(context, reference, seed)
        if found is None:
            reasons.append(reason)
            continue
        gap, right = (get(metric) for metric in (convention(experiment.constraint).absolute, "accuracy"))
        fairness.append(1 - gap(found.scores, found.y, found.group, run.interval))
        accuracy.append(right(found.scores, found.y, found.group, run.interval))
    level = context.results.level
    line = reference._asdict() | {"experiment": setting.experiment, "interval": format_interval(run.interval)}
    numbers = _numbers(t_interval(fairness, level), t_interval(accuracy, level))
    return line | numbers | {"note": "; ".join(dict.fromkeys(reasons))}


def _draw(context: Context, lines: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    names = datasets(context)
    figure = plt.figure(figsize=(4.2 * len(names) + 0.5, 6.6))
    outer = figure.add_gridspec(1, len(names), left=0.07, right=0.99, top=0.94, bottom=0.14, wspace=0.24)
    for column, dataset in enumerate(names):
        inner = outer[column].subgridspec(1, 2, wspace=0.0)
        left = figure.add_subplot(inner[0])
        right = figure.add_subplot(inner[1], sharey=left)
        own = [line for line in lines if line["dataset"] == dataset]
        _panel(left, own, "accuracy")
        _panel(right, own, "fairness")
        left.invert_xaxis()
        left.set_title(style.dataset_title(dataset), x=1.0)
        left.set_xlabel("test accuracy")
        right.set_xlabel("1 − max pSP violation")
        right.tick_params(labelleft=False, left=False)
    _legend(figure, list(dict.fromkeys(line["algorithm"] for line in lines)))
    return figure


def _panel(axis: Any, lines: list[dict[str, Any]], name: str) -> None:
    """Draw one side: bars of all intervals and methods, reference marks of the unconstrained model."""
    shown = list(dict.fromkeys(line["interval"] for line in lines))
    algorithms = [a for a in dict.fromkeys(line["algorithm"] for line in lines) if a != "unconstrained"]
    height = 0.82 / max(len(algorithms), 1)
    for line in lines:
        place, value = shown.index(line["interval"]), line[name]
        if math.isnan(value):
            continue
        look = style.look(line["algorithm"], algorithms)
        if line["algorithm"] == "unconstrained":
            axis.vlines(value, place - 0.44, place + 0.44, color=look.colour, lw=1.3, zorder=5)
            continue
        offset = (algorithms.index(line["algorithm"]) + 0.5) * height - 0.41
        ends = [[_length(value - line[f"{name}_low"])], [_length(line[f"{name}_high"] - value)]]
        style_of_bar = {"color": look.colour, "edgecolor": "none", "alpha": 1.0 if line["matched"] else 0.45}
        axis.barh(place + offset, value, height * 0.94, xerr=ends, zorder=3, **style_of_bar,
                  error_kw={"elinewidth": 0.8, "ecolor": style.INK, "zorder": 4})  # fmt: skip
    for place, interval in enumerate(shown):
        if all(math.isnan(line[name]) for line in lines if line["interval"] == interval and line["kappa"] < math.inf):
            axis.text(0.5, place, "not run", ha="center", va="center")
    axis.set_ylim(len(shown) - 0.45, -0.55)
    axis.set_xlim(0, 1.0)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1.0] if name == "accuracy" else [0.25, 0.5, 0.75, 1.0])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}".lstrip("0") or "0")
    axis.set_yticks(range(len(shown)), ["[" + text.replace("-", ", ") + "]" for text in shown])
    axis.grid(axis="y", visible=False)


def _length(value: float) -> float:
    """Length of an error bar; none for a single seed."""
    return 0.0 if math.isnan(value) else value


def _legend(figure: Any, algorithms: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name in algorithms:
        look = style.look(name, algorithms)
        if name == "unconstrained":
            handles.append(Line2D([], [], color=look.colour, lw=1.3, marker="|", ms=9, ls="none", label=look.label))
        else:
            handles.append(Patch(color=look.colour, label=look.label))
    figure.legend(handles=handles, loc="lower center", ncols=len(handles))


def render(context: Context) -> list[Path]:
    """Write the figure and its numbers."""
    lines = bars(context)
    paths = canvas.write(context, lambda: _draw(context, lines))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines), *paths]


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: on every interval, the partial constraint is fairer than each method of matched accuracy."""
    return [_claim(context, panel) for dataset in datasets(context) for panel in settings(context, dataset)]


def _claim(context: Context, panel: list[Setting]) -> dict[str, Any]:
    """The claim of one interval, decided by the method that comes nearest to it."""
    own = next((s for s in panel if s.algorithm == first_algorithm(context)), None)
    others = [s for s in panel if s != own]
    title = style.look(first_algorithm(context)).label
    statement = f"{title} has the highest pSP fairness of the methods at matched accuracy"
    if own is None:
        return statements.line(context, panel[0], "fairness", statement, [], f"{title} is not in the grid")
    leads = {s: _lead(context, own, s) for s in others}
    apart = {s: _mean_difference(context, s, own) for s in others}
    matched = [s for s in others if _matched(apart[s]) and leads[s]]
    nearest = min(matched, key=lambda s: t_interval(leads[s]).mean, default=None)
    notes = [
        f"{style.look(s.algorithm).label} not matched (accuracy {apart[s]:+.4f}, fairness {-np.mean(leads[s]):+.4f})"
        for s in others
        if s not in matched and leads[s]
    ]
    notes += [
        f"{style.look(s.algorithm).label}: {context.results.reason(s)}" for s in panel if context.results.reason(s)
    ]
    label = f"kappa={own.kappa:g}"
    if nearest is None:
        note = "; ".join(["no other method is at matched accuracy", *notes])
        return statements.line(context, own, "fairness minus that of the next method", statement, [], note, label)
    versus = style.look(nearest.algorithm).label
    notes.insert(0, f"next is {versus}, accuracy {apart[nearest]:+.4f} against {title}; {len(matched)} methods matched")
    return statements.line(
        context, own, "fairness minus that of the next method", statement, leads[nearest], "; ".join(notes), label
    )


def _lead(context: Context, own: Setting, other: Setting) -> list[float]:
    """Fairness of one setting minus that of another, over the seeds that have both."""
    metric = convention(context.config.experiment(own.experiment).constraint).absolute
    violations: tuple[Mapping[int, float], ...] = tuple(
        statements.by_seed(context.results, one, metric) for one in (other, own)
    )
    return statements.differences(*violations)


KINDS = {"interval_bars": Kind(render, canvas.inline, claims=claims)}
