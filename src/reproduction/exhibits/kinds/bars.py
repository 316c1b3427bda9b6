"""Bars of accuracy and fairness on a row of intervals, and of several metrics on two splits."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.data.intervals import format_interval
from partialfair.metrics import get
from partialfair.metrics.uncertainty import Estimate, t_interval
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.exhibits.fairness_points import FAIRNESS
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
    """Return the experiments with a row of bars each: all but that of the option ``reference``."""
    return [name for name in context.experiments if name != context.options.reference]


def datasets(context: Context[IntervalBars]) -> list[str]:
    """Return datasets of the experiments."""
    return list(dict.fromkeys(d for e in experiments(context) for d in context.config.experiment(e).runs))


def settings(context: Context[IntervalBars], dataset: str) -> list[list[Setting]]:
    """Return settings of a dataset: one list per experiment, that is per interval, with one setting per algorithm.

    Of an algorithm with several kappas it is, among those whose accuracy matches that of the algorithm which the others
    are held against, the one that is fairest, both on validation rows and as means over seeds; if none matches, it is
    the one of nearest accuracy. Nearness alone would decide by noise where accuracy hardly changes with kappa.
    """
    panels = []
    for name in experiments(context):
        run = context.config.experiment(name).runs.get(dataset)
        if run is not None:
            candidates = [[Setting(name, dataset, a, kappa) for kappa in ks] for a, ks in run.algorithms.items()]
            panels.append([_chosen_setting(context, group) for group in candidates])
    return panels


def _chosen_setting(context: Context[IntervalBars], settings_of_algorithm: list[Setting]) -> Setting:
    """Return the setting of an algorithm that is held against the others."""
    matched = [setting for setting in settings_of_algorithm if _is_matched(context, setting)]
    if matched:
        return min(matched, key=lambda s: _mean(context, s, _violation(context, s)))
    target = _target_accuracies(context, settings_of_algorithm[0].experiment, settings_of_algorithm[0].dataset)
    return min(settings_of_algorithm, key=lambda s: _distance(context, s, target))


def _target_accuracies(context: Context[IntervalBars], experiment: str, dataset: str) -> list[float]:
    """Return the accuracies, on validation rows by seed, of the algorithm that the others are matched to."""
    name = context.options.algorithm
    kappas = context.config.experiment(experiment).runs[dataset].algorithms.get(name, [])
    return _validation(context, Setting(experiment, dataset, name, kappas[0])) if kappas else []


def _validation(context: Context[IntervalBars], setting: Setting) -> list[float]:
    return list(by_seed(context.results, setting, "accuracy", "validation").values())


def _mean(context: Context[IntervalBars], setting: Setting, metric: str) -> float:
    """Return the mean over seeds of a metric on validation rows; infinity if it is not known."""
    values = list(by_seed(context.results, setting, metric, "validation").values())
    return float(np.mean(values)) if values else math.inf


def _distance(context: Context[IntervalBars], setting: Setting, target: list[float]) -> float:
    """Return distance of the mean accuracies on validation rows; infinity if one is not known."""
    accuracies = _validation(context, setting)
    return abs(float(np.mean(accuracies) - np.mean(target))) if accuracies and target else math.inf


def _is_matched(context: Context[IntervalBars], setting: Setting) -> bool:
    """Tell whether the accuracies match: their distance is at most the target's standard error over seeds."""
    target = _target_accuracies(context, setting.experiment, setting.dataset)
    if len(target) < 2:
        return False
    return _distance(context, setting, target) <= float(np.std(target, ddof=1)) / math.sqrt(len(target))


def interval_lines(context: Context[IntervalBars]) -> list[Line]:
    """Return one line of ``INTERVAL_COLUMNS`` per pair of bars and per reference mark.

    After them come the numbers of every seed, on which claims are tested: the pair "all" holds those of all bars, and
    a pair named after an algorithm its fairness at the accuracy of the algorithm in focus, and the latter's numbers.
    """
    lines: list[Line] = []
    for dataset in datasets(context):
        for panel in settings(context, dataset):
            held_against = next((s for s in panel if s.algorithm == context.options.algorithm), None)
            reference = _reference_line(context, panel[0])
            lines += [reference] if reference is not None else []
            lines += [_bar_line(context, setting, held_against) for setting in panel]
            lines += [line for setting in panel for line in _seed_lines(context, setting, "all")]
            if held_against is not None:
                for setting in panel:
                    lines += _lines_at_equal_accuracy(context, held_against, setting) if setting != held_against else []
    return lines


def _lines_at_equal_accuracy(context: Context[IntervalBars], focus: Setting, compared: Setting) -> list[Line]:
    """Return lines of every seed: an algorithm, and the other algorithm's fairness at the same accuracy.

    All kappas of the compared algorithm count, on the rows on which both are compared: on validation rows, which are
    another sample, models of equal accuracy are no longer equal. There is no line where too few seeds have a value.

    Where all models of the compared algorithm are more accurate, its fairness at that accuracy is unknown; if one of
    its models is fairer as well, the algorithm is at least as fair there. Such a bound stands for a value, and is
    marked as a bound, where every seed without a value has one: some seeds alone would be those that favour it.
    """
    kappas = context.config.experiment(focus.experiment).runs[focus.dataset].algorithms[compared.algorithm]
    models: dict[int, list[Line]] = {}
    for kappa in kappas:
        for line in _seed_lines(context, compared._replace(kappa=kappa), compared.algorithm):
            models.setdefault(line["seed"], []).append(line)
    focus_lines = _seed_lines(context, focus, compared.algorithm)
    fairness_and_bound = [_fairness_at_accuracy(models.get(line["seed"], []), line) for line in focus_lines]
    all_have_values = not any(math.isnan(fairness) for fairness, _ in fairness_and_bound)
    lines = []
    for line, (fairness, is_bound) in zip(focus_lines, fairness_and_bound, strict=True):
        if not math.isnan(fairness) and (all_have_values or not is_bound):
            line |= {"bound": "yes" if is_bound else "no"}
            lines += [line, line | {"algorithm": compared.algorithm, "kappa": math.nan, "fairness": fairness}]
    return lines if len(lines) >= 2 * COVERED * len(focus_lines) - 1e-9 else []


def _fairness_at_accuracy(models: list[Line], line: Line) -> tuple[float, bool]:
    """Return the fairness of models at the accuracy of a line, and whether it is a bound; NaN if neither is known."""
    fairness, accuracy = (np.array([model[name] for model in models]) for name in _AXES)
    (interpolated,) = fairness_at((fairness, accuracy), np.array([line["accuracy"]]))
    if models and accuracy.min() > line["accuracy"] and fairness.max() >= line["fairness"]:
        return float(fairness.max()), True
    return float(interpolated), False


def _bar_line(context: Context[IntervalBars], setting: Setting, focus: Setting | None) -> Line:
    fairness, accuracy = (
        context.results.estimate(setting, metric) for metric in (_violation(context, setting), "accuracy")
    )
    difference = math.nan if focus is None else _mean_difference(context, setting, focus)
    return _setting_columns(context, setting) | _estimate_columns(fairness, accuracy) | {
        "note": context.results.reason(setting),
        "accuracy_difference": difference, "matched": int(_is_matched(context, setting)),
    }  # fmt: skip


def _seed_lines(context: Context[IntervalBars], setting: Setting, pair: str) -> list[Line]:
    """Return fairness and accuracy of every seed that has both."""
    violations, accuracies = (
        by_seed(context.results, setting, name) for name in (_violation(context, setting), "accuracy")
    )
    setting_columns = _setting_columns(context, setting)
    return [
        setting_columns | {"pair": pair, "seed": seed, "fairness": 1 - violations[seed], "accuracy": accuracies[seed]}
        for seed in sorted(violations.keys() & accuracies.keys())
    ]


def _setting_columns(context: Context[IntervalBars], setting: Setting) -> Line:
    interval = context.config.experiment(setting.experiment).runs[setting.dataset].interval
    return setting._asdict() | {"interval": format_interval(interval)}


def _violation(context: Context[IntervalBars], setting: Setting) -> str:
    return context.convention(setting.experiment).absolute


def _estimate_columns(fairness: Estimate, accuracy: Estimate) -> Line:
    return {
        "n_seeds": accuracy.n,
        "fairness": fairness.mean, "fairness_low": fairness.low, "fairness_high": fairness.high,
        "accuracy": accuracy.mean, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
    }  # fmt: skip


def _mean_difference(context: Context[IntervalBars], setting: Setting, focus: Setting) -> float:
    """Return the mean over seeds of a setting's accuracy minus that of the focus; NaN if no seed has both."""
    accuracy = (by_seed(context.results, side, "accuracy") for side in (setting, focus))
    values = differences(*accuracy)
    return float(np.mean(values)) if values else math.nan


def _reference_line(context: Context[IntervalBars], setting: Setting) -> Line | None:
    """Return the unconstrained model of the experiment ``reference`` on the interval of ``setting``."""
    name = context.options.reference
    experiment = context.config.experiment(setting.experiment)
    run = experiment.runs[setting.dataset]
    if name is None:
        return None
    reference = Setting(str(name), setting.dataset, "unconstrained", math.inf)
    fairness, accuracy, reasons = [], [], []
    for seed in context.config.seeds(setting.experiment, setting.dataset, setting.algorithm):
        test_scores, reason = run_files.test_scores(context, reference, seed)
        if test_scores is None:
            reasons.append(reason)
            continue
        fairness_gap, accuracy_metric = (
            get(metric) for metric in (context.convention(setting.experiment).absolute, "accuracy")
        )
        fairness.append(1 - fairness_gap(test_scores.scores, test_scores.y, test_scores.group, run.interval))
        accuracy.append(accuracy_metric(test_scores.scores, test_scores.y, test_scores.group, run.interval))
    level = context.results.level
    line = reference._asdict() | {"experiment": setting.experiment, "interval": format_interval(run.interval)}
    numbers = _estimate_columns(t_interval(fairness, level), t_interval(accuracy, level))
    return line | numbers | {"note": "; ".join(dict.fromkeys(reasons))}


def draw_intervals(context: Context[IntervalBars], lines: list[Line]) -> Any:
    """Draw accuracy beside fairness, two panels per dataset."""
    names = datasets(context)
    row = []
    for dataset in names:
        bar_lines = [line for line in lines if line["dataset"] == dataset and "pair" not in line]
        title = style.dataset_title(dataset)
        labels = {"title": f"{title}: accuracy", "xlabel": "test accuracy"}
        row.append(_panel(bar_lines, "interval", "accuracy") | labels)
        convention = context.convention(experiments(context)[0])
        labels = {"title": f"{title}: {convention.title} fairness", "xlabel": FAIRNESS}
        row.append(_panel(bar_lines, "interval", "fairness", named=False) | labels)
    name = context.label(context.options.algorithm)
    note = (
        f"{canvas.BARS} Hollow: no model within a standard error of {name}'s accuracy on "
        "validation rows. Accuracies on test rows, shown here, still differ; claims are tested at equal ones."
    )
    return canvas.draw_panels([row], (2.6 * len(row) + 0.5, 6.8), {}, note=note)


def _panel(lines: list[Line], group: str, name: str, *, named: bool = True) -> PlotPanel:
    """Return dots of one quantity: a group per value of the column ``group``, a dot of it per algorithm."""

    def finish(axis: Any) -> None:
        groups = list(dict.fromkeys(line[group] for line in lines))
        names = dict.fromkeys(line["algorithm"] for line in lines)
        algorithms = [algorithm for algorithm in names if algorithm != "unconstrained"]
        height = 0.82 / max(len(algorithms), 1)
        for line in (line for line in lines if not math.isnan(line[name])):
            position, method_style = groups.index(line[group]), style.plot_style(line["algorithm"], algorithms)
            if line["algorithm"] == "unconstrained":
                line_style = {"color": method_style.colour, "lw": 1.3, "zorder": 5, "label": method_style.label}
                axis.vlines(line[name], position - 0.44, position + 0.44, **line_style)
                continue
            y = position + (algorithms.index(line["algorithm"]) + 0.5) * height - 0.41
            interval_bar = canvas.bar_lengths(line, name) if f"{name}_low" in line else None
            dot_style = {
                "fmt": method_style.marker,
                "color": method_style.colour,
                "ms": 5,
                "elinewidth": 1.1,
                "capsize": 0,
                "zorder": 3,
            }
            dot_style |= {"label": method_style.label} if line.get("matched", 1) else {"mfc": "white", "ms": 7}
            axis.errorbar(line[name], y, xerr=interval_bar, **dot_style)
            if line.get("published") is not None:
                axis.plot([line["published"]], [y], **_PUBLISHED_MARK)
        for position, value in enumerate(groups):
            if all(math.isnan(line[name]) for line in lines if line[group] == value and line["kappa"] < math.inf):
                axis.text(0.5, position, "not run", ha="center", va="center", transform=axis.get_yaxis_transform())
        for position in range(1, len(groups)):
            axis.axhline(position - 0.5, color=style.GRID, lw=0.8, zorder=0)
        axis.set_ylim(len(groups) - 0.45, -0.55)
        axis.set_yticks(range(len(groups)), [_group_title(value) if named else "" for value in groups])
        axis.grid(axis="y", visible=False)
        axis.locator_params(axis="x", nbins=4)

    return PlotPanel([PlotCurve([], [], {})] if lines else [], {}, finish=finish)


_PUBLISHED_MARK = {
    "marker": "o",
    "color": style.INK,
    "ms": 5,
    "mfc": "none",
    "mew": 0.8,
    "ls": "none",
    "zorder": 5,
    "label": "published",
}


def _group_title(group: str) -> str:
    """Return an interval or a metric's name as it stands beside its bars."""
    return f"[{group.replace('-', ', ')}]" if group[:1].isdigit() else group.replace("_", " ")


def metric_lines(context: Context[MetricBars]) -> Iterator[Line]:
    """Yield one line of ``METRIC_COLUMNS`` per method, split and metric."""
    published_means = {mean_std_table.statistic_of(context, row): row.value for row in context.published}
    for setting in run_files.settings(context, context.options.algorithms):
        for split in SPLITS:
            for metric in context.options.metrics:
                estimate, _ = run_scores.mean_and_spread(context, setting, metric, split)
                yield {
                    "experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa,
                    "split": split, "metric": metric, "mean": estimate.mean, "n_runs": estimate.n,
                    "mean_low": estimate.low, "mean_high": estimate.high,
                    "published": published_means.get((setting, metric, split, "mean")),
                }  # fmt: skip


def draw_metrics(context: Context[MetricBars], lines: list[Line]) -> Any:
    """Draw bars of every metric, a panel per split."""
    row = [
        _panel([line for line in lines if line["split"] == split], "metric", "mean")
        | {"title": f"{split} rows", "xlabel": "mean over runs; 0 is best"}
        for split in SPLITS
    ]
    note = "Bars: 95% t-intervals of the mean over runs."
    return canvas.draw_panels([row], (9.4, 5.8), {"sharex": True}, columns=4, note=note)


KIND = {
    "intervals": ExhibitKind.from_lines(IntervalBars, INTERVAL_COLUMNS, interval_lines, draw=draw_intervals),
    "metrics": ExhibitKind.from_lines(MetricBars, METRIC_COLUMNS, metric_lines, draw=draw_metrics),
}
"""By source: accuracy and fairness on intervals, several metrics on two splits."""
