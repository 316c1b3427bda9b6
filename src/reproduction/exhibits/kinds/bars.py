"""Bars of accuracy and fairness on a row of intervals, and of several metrics on two splits."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.metrics import get
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.tables.intervals import format_interval
from reproduction.exhibits import canvas, runs, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.exhibits.kinds import mean_std_table
from reproduction.statistics.frontier import COVERED, fairness_at
from reproduction.verdicts import run_scores
from reproduction.verdicts.results import Setting, by_seed, differences

INTERVAL_COLUMNS = (
    "dataset", "interval", "experiment", "algorithm", "kappa", "n_seeds", "fairness", "fairness_low", "fairness_high",
    "accuracy", "accuracy_low", "accuracy_high", "accuracy_difference", "matched", "pair", "seed", "bound", "note",
)  # fmt: skip
METRIC_COLUMNS = (
    "experiment", "algorithm", "kappa", "split", "metric", "mean", "mean_low", "mean_high", "n_runs", "published",
)  # fmt: skip
SPLITS = ("train", "test")
_AXES = ("fairness", "accuracy")


class IntervalBars(Options):
    """Accuracy and fairness of several methods, each at one kappa, on a row of intervals: one experiment each."""

    source: Literal["intervals"] = Field("intervals", description="intervals: a row of bars per experiment")
    reference: str | None = Field(None, description="experiment whose unconstrained models are marked")
    algorithm: str = Field(description="the algorithm that the others are held against")


class MetricBars(Options):
    """Means over runs of several metrics with their intervals, a group each; the published means are open marks."""

    source: Literal["metrics"] = Field(description="metrics: a row of bars per metric, a panel per split")
    algorithms: list[str] | None = Field(None, description="algorithms shown, in this order; all of them by default")
    metrics: list[str] = Field(description="metrics shown")


def experiments(context: Context[IntervalBars]) -> list[str]:
    """Experiments that are a row of bars each: all but the one of the option ``reference``."""
    return [name for name in context.experiments if name != context.options.reference]


def datasets(context: Context[IntervalBars]) -> list[str]:
    """Datasets of the experiments."""
    return list(dict.fromkeys(d for e in experiments(context) for d in context.config.experiment(e).runs))


def settings(context: Context[IntervalBars], dataset: str) -> list[list[Setting]]:
    """Settings of a dataset: one list per experiment, that is per interval, with one setting per algorithm.

    Of an algorithm with several kappas it is, among those whose accuracy matches that of the algorithm which the others
    are held against, the one that is fairest, both on validation rows and as means over seeds; if none matches, it is
    the one of nearest accuracy. Nearness alone would decide by noise where accuracy hardly changes with kappa.
    """
    shown = []
    for name in experiments(context):
        run = context.config.experiment(name).runs.get(dataset)
        if run is not None:
            every = {a: [Setting(name, dataset, a, kappa) for kappa in kappas] for a, kappas in run.algorithms.items()}
            shown.append([_shown(context, own) for own in every.values()])
    return shown


def _shown(context: Context[IntervalBars], own: list[Setting]) -> Setting:
    """The one of an algorithm's settings that is held against the others."""
    matched = [setting for setting in own if _matched(context, setting)]
    if matched:
        return min(matched, key=lambda s: _mean(context, s, _violation(context, s)))
    wanted = _wanted(context, own[0].experiment, own[0].dataset)
    return min(own, key=lambda s: _distance(context, s, wanted))


def _wanted(context: Context[IntervalBars], experiment: str, dataset: str) -> list[float]:
    """Accuracies on validation rows by seed of the algorithm that the others are matched to."""
    name = context.options.algorithm
    kappas = context.config.experiment(experiment).runs[dataset].algorithms.get(name, [])
    return _validation(context, Setting(experiment, dataset, name, kappas[0])) if kappas else []


def _validation(context: Context[IntervalBars], setting: Setting) -> list[float]:
    return list(by_seed(context.results, setting, "accuracy", "validation").values())


def _mean(context: Context[IntervalBars], setting: Setting, metric: str) -> float:
    """Mean over seeds of a metric on validation rows; infinity if it is not known."""
    values = list(by_seed(context.results, setting, metric, "validation").values())
    return float(np.mean(values)) if values else math.inf


def _distance(context: Context[IntervalBars], setting: Setting, wanted: list[float]) -> float:
    """Distance of the mean accuracies on validation rows; infinity if one is not known."""
    own = _validation(context, setting)
    return abs(float(np.mean(own) - np.mean(wanted))) if own and wanted else math.inf


def _matched(context: Context[IntervalBars], setting: Setting) -> bool:
    """Whether the accuracies match: their distance is at most the standard error over seeds of the wanted one."""
    wanted = _wanted(context, setting.experiment, setting.dataset)
    if len(wanted) < 2:
        return False
    return _distance(context, setting, wanted) <= float(np.std(wanted, ddof=1)) / math.sqrt(len(wanted))


def interval_lines(context: Context[IntervalBars]) -> list[Line]:
    """What the figure shows: one dictionary of ``INTERVAL_COLUMNS`` per pair of bars and per reference mark.

    After them come the numbers of every seed, which the claims are tested on: in the pair "all" those of all bars, and
    in one named after an algorithm its fairness at the accuracy of the one that it is held against, and that one's.
    """
    lines: list[Line] = []
    for dataset in datasets(context):
        for panel in settings(context, dataset):
            own = next((s for s in panel if s.algorithm == context.options.algorithm), None)
            reference = _reference(context, panel[0])
            lines += [reference] if reference is not None else []
            lines += [_bar(context, setting, own) for setting in panel]
            lines += [line for setting in panel for line in _seeds(context, setting, "all")]
            if own is not None:
                lines += [line for s in panel if s != own for line in _at_equal_accuracy(context, own, s)]
    return lines


def _at_equal_accuracy(context: Context[IntervalBars], own: Setting, other: Setting) -> list[Line]:
    """Lines of every seed with an algorithm and, where its accuracy is met, with the fairness of the other one there.

    All kappas of the other one count, on the rows on which both are compared: on validation rows, which are another
    sample, models of equal accuracy are no longer equal. None where too few seeds have a value.

    Where all models of the other one are more accurate, nothing is known of it at that accuracy; if one of them is
    fairer as well, it is at least as fair there. Such a bound stands for a value, and is marked as one, where every
    seed without a value has one: of some seeds alone they would be those that speak against the first one.
    """
    kappas = context.config.experiment(own.experiment).runs[own.dataset].algorithms[other.algorithm]
    models: dict[int, list[Line]] = {}
    for kappa in kappas:
        for line in _seeds(context, other._replace(kappa=kappa), other.algorithm):
            models.setdefault(line["seed"], []).append(line)
    wanted = _seeds(context, own, other.algorithm)
    met = [_met(models.get(line["seed"], []), line) for line in wanted]
    bounds = not any(math.isnan(fairness) for fairness, _ in met)
    found = []
    for line, (fairness, bound) in zip(wanted, met, strict=True):
        if not math.isnan(fairness) and (bounds or not bound):
            line |= {"bound": "yes" if bound else "no"}
            found += [line, line | {"algorithm": other.algorithm, "kappa": math.nan, "fairness": fairness}]
    return found if len(found) >= 2 * COVERED * len(wanted) - 1e-9 else []


def _met(models: list[Line], line: Line) -> tuple[float, bool]:
    """Fairness of an algorithm's models at the accuracy of a line, and whether that is a bound; NaN if neither."""
    fairness, accuracy = (np.array([m[name] for m in models]) for name in _AXES)
    (at,) = fairness_at((fairness, accuracy), np.array([line["accuracy"]]))
    if models and accuracy.min() > line["accuracy"] and fairness.max() >= line["fairness"]:
        return float(fairness.max()), True
    return float(at), False


def _bar(context: Context[IntervalBars], setting: Setting, own: Setting | None) -> Line:
    fairness, accuracy = (
        context.results.estimate(setting, metric) for metric in (_violation(context, setting), "accuracy")
    )
    difference = math.nan if own is None else _mean_difference(context, setting, own)
    return _head(context, setting) | _numbers(fairness, accuracy) | {
        "note": context.results.reason(setting),
        "accuracy_difference": difference, "matched": int(_matched(context, setting)),
    }  # fmt: skip


def _seeds(context: Context[IntervalBars], setting: Setting, pair: str) -> list[Line]:
    """Fairness and accuracy of every seed that has both."""
    gaps, right = (by_seed(context.results, setting, name) for name in (_violation(context, setting), "accuracy"))
    head = _head(context, setting)
    return [
        head | {"pair": pair, "seed": seed, "fairness": 1 - gaps[seed], "accuracy": right[seed]}
        for seed in sorted(gaps.keys() & right.keys())
    ]


def _head(context: Context[IntervalBars], setting: Setting) -> Line:
    interval = context.config.experiment(setting.experiment).runs[setting.dataset].interval
    return setting._asdict() | {"interval": format_interval(interval)}


def _violation(context: Context[IntervalBars], setting: Setting) -> str:
    return context.convention(setting.experiment).absolute


def _numbers(fairness: Estimate, accuracy: Estimate) -> Line:
    return {
        "n_seeds": accuracy.n,
        "fairness": fairness.mean, "fairness_low": fairness.low, "fairness_high": fairness.high,
        "accuracy": accuracy.mean, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
    }  # fmt: skip


def _mean_difference(context: Context[IntervalBars], setting: Setting, own: Setting) -> float:
    """Mean over seeds of a setting's accuracy minus that of the one it is held against; NaN if no seed has both."""
    accuracy = (by_seed(context.results, one, "accuracy") for one in (setting, own))
    values = differences(*accuracy)
    return float(np.mean(values)) if values else math.nan


def _reference(context: Context[IntervalBars], setting: Setting) -> Line | None:
    """The unconstrained model of the option ``reference``, one of the experiments, on the interval of ``setting``."""
    name = context.options.reference
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
        gap, right = (get(metric) for metric in (context.convention(setting.experiment).absolute, "accuracy"))
        fairness.append(1 - gap(found.scores, found.y, found.group, run.interval))
        accuracy.append(right(found.scores, found.y, found.group, run.interval))
    level = context.results.level
    line = reference._asdict() | {"experiment": setting.experiment, "interval": format_interval(run.interval)}
    numbers = _numbers(t_interval(fairness, level), t_interval(accuracy, level))
    return line | numbers | {"note": "; ".join(dict.fromkeys(reasons))}


def draw_intervals(context: Context[IntervalBars], found: list[Line]) -> Any:
    """Draw accuracy beside fairness, two panels per dataset."""
    names = datasets(context)
    row = []
    for dataset in names:
        own = [line for line in found if line["dataset"] == dataset and "pair" not in line]
        title = style.dataset_title(dataset)
        row.append(_panel(own, "interval", "accuracy") | {"title": f"{title}: accuracy", "xlabel": "test accuracy"})
        fairness = f"1 − max {context.convention(experiments(context)[0]).title} violation"
        row.append(
            _panel(own, "interval", "fairness", named=False) | {"title": f"{title}: fairness", "xlabel": fairness}
        )
    name = context.label(context.options.algorithm)
    note = (
        f"{canvas.BARS} Hollow: no model within a standard error of {name}'s accuracy on "
        "validation rows. Accuracies on test rows, shown here, still differ; claims are tested at equal ones."
    )
    return canvas.figure([row], (2.6 * len(row) + 0.5, 6.8), {}, note=note)


def _panel(found: list[Line], group: str, name: str, *, named: bool = True) -> Panel:
    """Dots of one quantity: a group per value of the column ``group``, a line of it per algorithm."""

    def finish(axis: Any) -> None:
        groups = list(dict.fromkeys(line[group] for line in found))
        algorithms = list(dict.fromkeys(a for a in (line["algorithm"] for line in found) if a != "unconstrained"))
        height = 0.82 / max(len(algorithms), 1)
        for line in (line for line in found if not math.isnan(line[name])):
            place, look = groups.index(line[group]), style.look(line["algorithm"], algorithms)
            if line["algorithm"] == "unconstrained":
                mark = {"color": look.colour, "lw": 1.3, "zorder": 5, "label": look.label}
                axis.vlines(line[name], place - 0.44, place + 0.44, **mark)
                continue
            at = place + (algorithms.index(line["algorithm"]) + 0.5) * height - 0.41
            ends = canvas.lengths(line, name) if f"{name}_low" in line else None
            dot = {"fmt": look.marker, "color": look.colour, "ms": 5, "elinewidth": 1.1, "capsize": 0, "zorder": 3}
            dot |= {"label": look.label} if line.get("matched", 1) else {"mfc": "white", "ms": 7}
            axis.errorbar(line[name], at, xerr=ends, **dot)
            if line.get("published") is not None:
                axis.plot([line["published"]], [at], **OPEN)
        for place, value in enumerate(groups):
            if all(math.isnan(line[name]) for line in found if line[group] == value and line["kappa"] < math.inf):
                axis.text(0.5, place, "not run", ha="center", va="center", transform=axis.get_yaxis_transform())
        for place in range(1, len(groups)):
            axis.axhline(place - 0.5, color=style.GRID, lw=0.8, zorder=0)
        axis.set_ylim(len(groups) - 0.45, -0.55)
        axis.set_yticks(range(len(groups)), [_words(value) if named else "" for value in groups])
        axis.grid(axis="y", visible=False)
        axis.locator_params(axis="x", nbins=4)

    return Panel([Curve([], [], {})] if found else [], {}, finish=finish)


OPEN = {
    "marker": "o",
    "color": style.INK,
    "ms": 5,
    "mfc": "none",
    "mew": 0.8,
    "ls": "none",
    "zorder": 5,
    "label": "published",
}


def _words(group: str) -> str:
    """An interval or the name of a metric as it stands beside its bars."""
    return f"[{group.replace('-', ', ')}]" if group[:1].isdigit() else group.replace("_", " ")


def metric_lines(context: Context[MetricBars]) -> Iterator[Line]:
    """One line of ``METRIC_COLUMNS`` per method, split and metric."""
    known = {mean_std_table.place_of(context, row): row.value for row in context.published}
    for setting in runs.settings(context, context.options.algorithms):
        for split in SPLITS:
            for metric in context.options.metrics:
                estimate, _ = run_scores.mean_and_spread(context, setting, metric, split)
                yield {
                    "experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa,
                    "split": split, "metric": metric, "mean": estimate.mean, "n_runs": estimate.n,
                    "mean_low": estimate.low, "mean_high": estimate.high,
                    "published": known.get((setting, metric, split, "mean")),
                }  # fmt: skip


def draw_metrics(context: Context[MetricBars], found: list[Line]) -> Any:
    """Bars of every metric, a panel per split."""
    row = [
        _panel([line for line in found if line["split"] == split], "metric", "mean")
        | {"title": f"{split} rows", "xlabel": "mean over runs; 0 is best"}
        for split in SPLITS
    ]
    note = "Bars: 95% t-intervals of the mean over runs."
    return canvas.figure([row], (9.4, 5.8), {"sharex": True}, columns=4, note=note)


KIND = {
    "intervals": Kind.of(IntervalBars, INTERVAL_COLUMNS, interval_lines, draw=draw_intervals),
    "metrics": Kind.of(MetricBars, METRIC_COLUMNS, metric_lines, draw=draw_metrics),
}
"""By source: accuracy and fairness on intervals, several metrics on two splits."""
