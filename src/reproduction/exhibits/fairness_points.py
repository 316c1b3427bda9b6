"""Models as points of fairness and accuracy: means over seeds with t-intervals."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.data.intervals import format_interval
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts.results import Setting, by_seed

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "source", "n_seeds",
    "fairness", "fairness_low", "fairness_high", "accuracy", "accuracy_low", "accuracy_high", "missed", "note",
)  # fmt: skip
MISSED = "White centre: the constraint exceeds κ on the training rows at some seed."
FEWEST = 3  # seeds for an interval; that of two is more than twelve times as long as they are apart
SINGLE = f"Small points: the single seeds, where there are fewer than {FEWEST}; these have no bars."
LETTER, HEIGHT = 4.9, 10.0  # width of a letter of a label, and its height
_LABEL_HEIGHTS = (5.0, -15.0, 15.0, -25.0, 25.0, -35.0, 35.0, -45.0)  # of a label's lower edge above its mark
_LABEL_DISTANCES = (6.0, 18.0, 36.0)  # of a label from its mark, to the right or to the left
_TOUCHING = 9.0  # points of print between two marks that share a label
OVER_A_LABEL, OVER_A_MARK = 8, 25  # as bad as over so many bars
FAIRNESS = "fairness on I (1 = parity)"  # 1 - largest violation on test rows
END = 1.01  # of the axis of fairness: an interval may reach beyond 1, fairness cannot
_LINE_STYLES = (
    ("#0072b2", "o", "-"),
    ("#c8500a", "s", (0, (5, 1.5))),
    ("#008f68", "^", (0, (6, 1.2, 1.2, 1.2))),  # no dots: those join models that are far apart
    ("#d0619f", "D", (0, (2.5, 1))),
)


class FairnessPoints(Options):
    """Accuracy against 1 - violation of the experiment's constraint, from the unconstrained to the tightest model."""

    source: Literal["fairness"] = Field("fairness", description="fairness: accuracy against 1 - violation")
    line: Literal["algorithm", "experiment"] = Field(
        "algorithm", description="what one line is: an algorithm, or an experiment (all of them in one panel)"
    )
    algorithms: list[str] | None = Field(None, description="algorithms shown; all of them by default")
    legend: dict[str, str] = Field(
        {}, description="words for the lines of experiments; by default the interval that each constrains"
    )
    published_points: str | None = Field(None, description="exhibit whose published numbers are drawn as hollow marks")
    beyond: list[str] = Field([], description="algorithms that the paper's figure does not show; they are thin")


def csv_lines(context: Context[FairnessPoints]) -> list[Line]:
    """Return a line of ``COLUMNS`` per setting and per published point; a setting without any value has a note."""
    lines: list[Line] = []
    algorithms = context.options.algorithms
    for experiment in context.experiments:
        settings = [s for s in context.results.settings(experiment) if algorithms is None or s.algorithm in algorithms]
        metrics = {"fairness": context.convention(experiment).absolute, "accuracy": "accuracy"}
        for setting in settings:
            line: Line = dict(zip(COLUMNS[:4], setting, strict=True)) | {"source": "reproduced"}
            for name, metric in metrics.items():
                estimate = context.results.estimate(setting, metric)
                line |= {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
                line["n_seeds"] = estimate.n
            lines.append(line | {"missed": _count_missed(context, setting), "note": context.results.reason(setting)})
        lines += _published_points(context, experiment)
    return lines


def _count_missed(context: Context[FairnessPoints], setting: Setting) -> int:
    """Count the seeds at which the constraint exceeds kappa on the training rows."""
    return int((context.results.runs_of(setting)["status"] == "tolerance missed").sum())


def _published_points(context: Context[FairnessPoints], experiment: str) -> list[Line]:
    """Return the published pairs of fairness and accuracy for the datasets and intervals of one experiment."""
    if not context.options.published_points:
        return []
    runs_of, metric = context.config.experiment(experiment).runs, context.convention(experiment).fairness
    points: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in context.published_of(context.options.published_points):
        run = runs_of.get(row.dataset)
        if run is not None and row.interval == format_interval(run.interval):
            points.setdefault((row.dataset, row.algorithm, row.setting), {})[row.metric] = row.value
    return [
        {"experiment": experiment, "dataset": dataset, "algorithm": algorithm, "kappa": math.nan}
        | {"source": "published", "fairness": point[metric], "accuracy": point["accuracy"], "note": setting}
        for (dataset, algorithm, setting), point in points.items()
        if {metric, "accuracy"} <= point.keys()
    ]


def draw(context: Context[FairnessPoints], lines: list[Line]) -> Any:
    """Draw rows of experiments and columns of datasets; one row where a line is an experiment."""
    if context.options.line == "experiment":
        datasets = list(dict.fromkeys(line["dataset"] for line in lines)) or [""]
        by_dataset = {name: [line for line in lines if line["dataset"] == name] for name in datasets}
        compared = {name for name, points in by_dataset.items() if len({point["experiment"] for point in points}) > 1}
        by_dataset = {name: points for name, points in by_dataset.items() if name in compared or not compared}
        panels = [[_experiments_panel(context, name, points) for name, points in by_dataset.items()]]
        return canvas.draw_panels(panels, (5.6 * len(by_dataset), 5.4), {}, columns=1, note=_note(lines))
    datasets = run_files.datasets(context)
    panels = []
    for experiment in context.experiments:
        points = [line for line in lines if line["experiment"] == experiment]
        by_dataset = {name: [point for point in points if point["dataset"] == name] for name in datasets}
        panels.append([_algorithms_panel(context, experiment, name, group) for name, group in by_dataset.items()])
    size = (max(3.3 * len(datasets), 5.0), 2.9 * len(context.experiments) + 1.1)
    last_words = ["published", "not in the paper"]
    return canvas.draw_panels(panels, size, {}, last_words=last_words, width=2.6, note=_note(lines))


def _note(lines: list[Line]) -> str:
    """Return what bars and small points mean, as far as the figure has them."""
    seeds = [line["n_seeds"] for line in lines if line.get("n_seeds")]
    bars = [canvas.BARS] if not seeds or max(seeds) >= FEWEST else []
    small_points = [SINGLE] if any(1 < count < FEWEST for count in seeds) else []
    return " ".join([*bars, *small_points])


def _algorithms_panel(context: Context[FairnessPoints], experiment: str, dataset: str, points: list[Line]) -> PlotPanel:
    """Return a line per algorithm; each starts at the unconstrained model, whose mark lies on top."""
    title = context.convention(experiment).title
    run = context.config.experiment(experiment).runs.get(dataset)
    interval = "" if run is None else f", I = {style.interval_title(run.interval)}"
    labels = {"title": f"{style.dataset_title(dataset)}, {title}{interval}"}
    labels["xlabel"] = FAIRNESS
    if dataset == next(iter(context.config.experiment(experiment).runs), ""):
        labels["ylabel"] = "test accuracy"
    algorithms = list(dict.fromkeys(p["algorithm"] for p in points))
    estimated = [p for p in points if p["source"] == "reproduced" and not math.isnan(p["accuracy"])]
    starts = [p for p in estimated if p["algorithm"] == "unconstrained"]
    curves: list[PlotCurve] = []
    beyond = set(context.options.beyond)
    for name in sorted(algorithms, key=lambda n: (n not in beyond, n == "unconstrained")):
        model_points = sorted((p for p in estimated if p["algorithm"] == name), key=_tightness)
        method_style = style.plot_style(name, algorithms)
        if model_points:
            path = model_points if name == "unconstrained" else [*starts, *model_points]
            label = f"{method_style.label} (not in the paper)" if name in beyond else method_style.label
            width, size = (0.8, 4.0) if name in beyond else (1.6, 5.5)
            colour, marker = method_style.colour, method_style.marker
            curves += [*_connect(path, colour, method_style.dash, width)]
            curves += [_marks(model_points, colour, marker, label, size), *_centres(model_points, marker)]
            curves += _seed_points(context, model_points, colour)
    curves += _published_marks(points, algorithms)

    def finish(axis: Any) -> None:
        axis.margins(0.08)
        axis.set_xlim(right=min(axis.get_xlim()[1], END))

    return PlotPanel(curves, labels, finish=finish)


def _published_marks(points: list[Line], algorithms: list[str]) -> list[PlotCurve]:
    """Return a hollow mark per published point."""
    curves = []
    for point in (p for p in points if p["source"] == "published"):
        method_style = style.plot_style(point["algorithm"], algorithms)
        size = 11 if method_style.marker == "*" else 8
        hollow_style = {"mfc": "none", "mec": method_style.colour, "mew": 1.1, "ms": size, "ls": "none"}
        hollow_style |= {"marker": method_style.marker, "label": f"{method_style.label}, published", "zorder": 2}
        curves.append(PlotCurve([point["fairness"]], [point["accuracy"]], hollow_style))
    return curves


def _experiments_panel(context: Context[FairnessPoints], dataset: str, points: list[Line]) -> PlotPanel:
    """Return a line per experiment; they start at one unconstrained model, which all experiments share."""
    runs_of = context.config.experiment(context.experiments[0]).runs
    run = runs_of.get(dataset) or next(iter(runs_of.values()))
    interval = style.interval_title(run.metric_interval or run.interval)
    title = context.convention(context.experiments[0]).title
    labels = {"title": style.dataset_title(dataset) if dataset else "", "ylabel": "test accuracy"}
    labels["xlabel"] = f"{title} fairness on I = {interval} (1 = parity)"
    published = {(p["fairness"], p["accuracy"]): p for p in points if p["source"] == "published"}  # of all experiments
    points = [point for point in points if point["source"] != "published"]
    estimated = [point for point in points if not math.isnan(point["accuracy"])]
    starts = [point for point in estimated if math.isinf(point["kappa"])][:1]
    curves, labelled, colours = [], [], {}
    for number, experiment in enumerate(context.experiments):
        constrained = (point for point in estimated if not math.isinf(point["kappa"]))
        model_points = sorted((p for p in constrained if p["experiment"] == experiment), key=_tightness)
        colour, marker, dash = _LINE_STYLES[number % len(_LINE_STYLES)]
        colours[experiment] = colour
        if model_points:
            curves += _connect([*starts, *model_points], colour, dash)
            curves.append(_marks(model_points, colour, marker, _line_title(context, experiment)))
            curves += _centres(model_points, marker)
            curves += _seed_points(context, model_points, colour)
            labelled += model_points
    named = [algorithm for run in runs_of.values() for algorithm in run.algorithms]
    curves += _published_marks([*published.values()], list(dict.fromkeys(named)))
    if starts:
        curves += [_marks(starts, style.INK, "*", "no constraint"), *_seed_points(context, starts, style.INK)]

    def finish(axis: Any) -> None:
        axis.margins(0.1)
        axis.set_xlim(right=min(axis.get_xlim()[1], END))

    def annotate(axis: Any) -> None:
        for group, offset in _place_labels(axis, labelled, starts):
            position, colour = (group[0]["fairness"], group[0]["accuracy"]), colours[group[0]["experiment"]]
            arrow = {"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 0, "shrinkB": 3}
            axis.annotate(
                _label_text(group), position, offset, textcoords="offset points", fontsize=8,
                color=style.INK, arrowprops=arrow, zorder=7,
                bbox={"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.8},
            )  # fmt: skip

    reason = "; ".join(dict.fromkeys(point["note"] for point in points if point["note"]))
    return PlotPanel(curves, labels, reason, finish, annotate)


def _label_text(points: Sequence[Line]) -> str:
    """Return the tolerance or weight of a mark, or the range of several marks that share a label."""
    letter = "λ" if style.ascending(points[0]["algorithm"]) else "κ"
    ends = sorted({point["kappa"] for point in points})
    return f"{letter} {ends[0]:g}" if len(ends) == 1 else f"{letter} {ends[0]:g} to {ends[-1]:g}"


def label_size(points: Sequence[Line]) -> NDArray[np.float64]:
    """Return width and height of the label of marks in points of print, shape (2,)."""
    return np.array([LETTER * len(_label_text(points)), HEIGHT])


def _place_labels(
    axis: Any, points: Sequence[Line], starts: Sequence[Line] = ()
) -> list[tuple[list[Line], tuple[float, float]]]:
    """Return the labels: points that share a label, and its offset from the mark of the first, in points of print.

    Neighbours of one experiment whose marks touch share a label. A label goes where it covers the fewest bars, marks,
    lines and labels, and stays inside the panel.
    """
    panel_size = np.array(axis.get_position().size) * axis.figure.get_size_inches() * 72
    axis_start, axis_end = (np.array(ends) for ends in zip(axis.get_xlim(), axis.get_ylim(), strict=True))

    def to_print(*coordinates: float) -> NDArray[np.float64]:
        return np.asarray((np.array(coordinates) - axis_start) / (axis_end - axis_start) * panel_size, np.float64)

    marks = [to_print(p["fairness"], p["accuracy"]) for p in points]
    covered = [(mark - 4, mark + 4) for mark in marks for _ in range(OVER_A_MARK)]
    for p in points:
        horizontal = to_print(p["fairness_low"], p["accuracy"]), to_print(p["fairness_high"], p["accuracy"])
        vertical = to_print(p["fairness"], p["accuracy_low"]), to_print(p["fairness"], p["accuracy_high"])
        # The ends of a single seed's bar are NaN, which covers nothing.
        covered += [(low - 1.5, high + 1.5) for low, high in (horizontal, vertical)]
    connections = [*zip(marks, marks[1:], strict=False)]  # those between experiments are not drawn, and do no harm
    first_marks = {p["experiment"]: mark for p, mark in reversed([*zip(points, marks, strict=True)])}
    connections += [(to_print(p["fairness"], p["accuracy"]), mark) for p in starts for mark in first_marks.values()]
    for start, end in connections:
        steps = [start + share * (end - start) for share in np.linspace(0, 1, 15)]
        covered += [(step - 1, step + 1) for step in steps]
    groups: list[tuple[list[Line], NDArray[np.float64]]] = []
    for point, mark in zip(points, marks, strict=True):
        members, first_mark = groups[-1] if groups else ([], mark)
        is_close = np.linalg.norm(mark - first_mark) < _TOUCHING
        if members and point["experiment"] == members[0]["experiment"] and is_close:
            members.append(point)
        else:
            groups.append(([point], mark))
    placed = []
    for members, mark in groups:
        # labels are placed one after another, each where it covers least of what is drawn or placed before it
        size = label_size(members)
        sides = [(distance, -distance - float(size[0])) for distance in _LABEL_DISTANCES]
        offsets = [(x, y) for side in sides for y in _LABEL_HEIGHTS for x in side]
        boxes = {offset: (mark + offset, mark + offset + size) for offset in offsets}
        outside = {offset: _is_outside(box, panel_size) for offset, box in boxes.items()}
        chosen = min(offsets, key=lambda offset: (outside[offset], sum(_overlap(boxes[offset], b) for b in covered)))
        covered += OVER_A_LABEL * [boxes[chosen]]
        placed.append((members, chosen))
    return placed


def _is_outside(box: tuple[NDArray[np.float64], NDArray[np.float64]], panel: NDArray[np.float64]) -> bool:
    """Tell whether a box, by its lower left and its upper right corner, reaches beyond the panel."""
    return bool(np.any(box[0] < 0) or np.any(box[1] > panel))


def _overlap(box: tuple[NDArray[np.float64], NDArray[np.float64]], other_box: tuple[Any, Any]) -> bool:
    """Tell whether two boxes, each by its lower left and its upper right corner, have a point in common."""
    return bool(np.all(box[0] < other_box[1]) and np.all(other_box[0] < box[1]))


def _tightness(point: Line) -> float:
    """Return a number that orders the models of one algorithm, the loosest first."""
    kappa = float(point["kappa"])
    return kappa if style.ascending(point["algorithm"]) else -kappa


def _line_title(context: Context[FairnessPoints], experiment: str) -> str:
    """Return the entry's words for an experiment, else the interval and the number of ranks that it constrains."""
    if experiment in context.options.legend:
        return context.options.legend[experiment]
    model = context.config.experiment(experiment)
    run = next(iter(model.runs.values()))
    return f"constraint on {style.interval_title(run.interval)} at {run.grid or model.grid} ranks"


def _connect(path: Iterable[Line], colour: str, dash: Any, width: float = 1.6) -> list[PlotCurve]:
    line_style = {"color": colour, "ls": dash, "lw": width, "zorder": 3}
    return canvas.chords([(point["fairness"], point["accuracy"]) for point in path], line_style)


def _marks(points: list[Line], colour: str, marker: str, label: str, size: float = 5.5) -> PlotCurve:
    """Return marks with intervals in both directions; the bars are thin so that they hide no mark."""
    bars = {}
    for direction, name in (("xerr", "fairness"), ("yerr", "accuracy")):
        ends = [canvas.bar_lengths(point, name) if point["n_seeds"] >= FEWEST else [[0.0], [0.0]] for point in points]
        bars[direction] = [[low[0] for low, _ in ends], [high[0] for _, high in ends]]
    mark_style = {"fmt": marker, "color": colour, "ecolor": (colour, style.faint(colour)), "zorder": 4}
    mark_style |= {"elinewidth": 0.7, "capsize": 0, "ms": 10 if marker == "*" else size, "label": label}
    return PlotCurve.through([(point["fairness"], point["accuracy"]) for point in points], mark_style, bars)


def _seed_points(context: Context[FairnessPoints], points: list[Line], colour: str) -> list[PlotCurve]:
    """Return the seeds of settings that have too few for an interval, as small points around their mean."""
    seed_coordinates = []
    for line in (point for point in points if 1 < point["n_seeds"] < FEWEST):
        setting = Setting(line["experiment"], line["dataset"], line["algorithm"], line["kappa"])
        metrics = context.convention(setting.experiment).absolute, "accuracy"
        violations, accuracies = (by_seed(context.results, setting, metric) for metric in metrics)
        seeds = sorted(violations.keys() & accuracies.keys())
        seed_coordinates += [(1 - violations[seed], accuracies[seed]) for seed in seeds]
    mark_style = {"marker": "o", "ls": "none", "color": colour, "mec": "none", "ms": 2.6, "zorder": 5}
    return [PlotCurve.through(seed_coordinates, mark_style)] if seed_coordinates else []


def _centres(points: list[Line], marker: str) -> list[PlotCurve]:
    """Return white centres of the marks whose models miss their tolerance."""
    coordinates = [(point["fairness"], point["accuracy"]) for point in points if point["missed"]]
    mark_style = {"marker": marker, "ls": "none", "color": "white", "ms": 2.8, "zorder": 5}
    return [replace(PlotCurve.through(coordinates, mark_style), meaning=MISSED)] if coordinates else []
