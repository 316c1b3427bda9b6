"""Models as points of fairness and accuracy: means over seeds with t-intervals."""

import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from partialfair.reporting import canvas, style
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.reporting.falling import falling
from partialfair.tables.intervals import format_interval
from partialfair.verdicts.results import Setting

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "source", "n_seeds",
    "fairness", "fairness_low", "fairness_high", "accuracy", "accuracy_low", "accuracy_high", "note",
)  # fmt: skip
_LOOKS = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", (0, (5, 1.5))),
    ("#009E73", "^", (0, (1.5, 1))),
    ("#CC79A7", "D", "-."),
)


class FairnessPoints(Options):
    """Accuracy against 1 - violation of the experiment's constraint, from the unconstrained to the tightest model."""

    source: Literal["fairness"] = Field("fairness", description="fairness: accuracy against 1 - violation")
    line: Literal["algorithm", "experiment"] = Field(
        "algorithm", description="what one line is: an algorithm, or an experiment (all of them in one panel)"
    )
    algorithms: list[str] | None = Field(None, description="algorithms shown; all of them by default")
    published_points: str | None = Field(None, description="exhibit whose published numbers are drawn as hollow marks")


def lines(context: Context[FairnessPoints]) -> list[Line]:
    """One line of ``COLUMNS`` per setting and per published point; a setting without any value has a note."""
    found: list[Line] = []
    shown = context.options.algorithms
    for experiment in context.experiments:
        settings = [s for s in context.results.settings(experiment) if shown is None or s.algorithm in shown]
        metrics = {"fairness": context.convention(experiment).absolute, "accuracy": "accuracy"}
        for setting in settings:
            line: Line = dict(zip(COLUMNS[:4], setting, strict=True)) | {"source": "reproduced"}
            for name, metric in metrics.items():
                found_value = context.results.estimate(setting, metric)
                line |= {name: found_value.mean, f"{name}_low": found_value.low, f"{name}_high": found_value.high}
                line["n_seeds"] = found_value.n
            found.append(line | {"note": context.results.reason(setting)})
        found += _published(context, experiment)
    return found


def _published(context: Context[FairnessPoints], experiment: str) -> list[Line]:
    """Published (fairness, accuracy) pairs of the datasets and intervals of one experiment."""
    if not context.options.published_points:
        return []
    runs, metric = (
        context.config.experiment(experiment).runs,
        f"{context.convention(experiment).title.lower()}_fairness",
    )
    pairs: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in context.published_of(context.options.published_points):
        run = runs.get(row.dataset)
        if run is not None and row.interval == format_interval(run.interval):
            pairs.setdefault((row.dataset, row.algorithm, row.setting), {})[row.metric] = row.value
    return [
        {"experiment": experiment, "dataset": dataset, "algorithm": algorithm, "kappa": math.nan}
        | {"source": "published", "fairness": pair[metric], "accuracy": pair["accuracy"], "note": setting}
        for (dataset, algorithm, setting), pair in pairs.items()
        if {metric, "accuracy"} <= pair.keys()
    ]


def draw(context: Context[FairnessPoints], found: list[Line]) -> Any:
    """Draw rows of experiments and columns of datasets; one row where a line is an experiment."""
    if context.options.line == "experiment":
        datasets = list(dict.fromkeys(p["dataset"] for p in found)) or [""]
        panels = [
            [_of_experiments(context, dataset, [p for p in found if p["dataset"] == dataset]) for dataset in datasets]
        ]
        return canvas.figure(panels, (5.6 * len(datasets), 5.2), {}, columns=1)
    datasets = list(dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs))
    panels = [
        [
            _of_algorithms(context, e, d, [p for p in found if (p["experiment"], p["dataset"]) == (e, d)])
            for d in datasets
        ]
        for e in context.experiments
    ]
    size = (max(3.3 * len(datasets), 5.0), 2.9 * len(context.experiments) + 0.9)
    return canvas.figure(panels, size, {}, last=["published"])


def _of_algorithms(context: Context[FairnessPoints], experiment: str, dataset: str, points: list[Line]) -> Panel:
    """Every algorithm's line starts at the unconstrained model, whose mark lies on top."""
    title = context.convention(experiment).title
    run = context.config.experiment(experiment).runs.get(dataset)
    where = "" if run is None else f", I = {style.interval_title(run.interval)}"
    labels = {
        "title": f"{style.dataset_title(dataset)}, {title}{where}",
        "xlabel": f"1 − max {title} violation on test",
    }
    labels |= (
        {"ylabel": "test accuracy"} if dataset == next(iter(context.config.experiment(experiment).runs), "") else {}
    )
    names = list(dict.fromkeys(p["algorithm"] for p in points))
    drawn = [p for p in points if p["source"] == "reproduced" and not math.isnan(p["accuracy"])]
    starts = [p for p in drawn if p["algorithm"] == "unconstrained"]
    curves: list[Curve] = []
    for name in sorted(names, key=lambda n: n == "unconstrained"):
        own = sorted((p for p in drawn if p["algorithm"] == name), key=lambda p: p["kappa"], reverse=True)
        own = own[::-1] if style.ascending(name) else own
        look = style.look(name, names)
        if own:
            path = own if name == "unconstrained" else [*starts, *own]
            curves += [_line(path, look.colour, look.dash), _marks(own, look.colour, look.marker, look.label)]
    for point in (p for p in points if p["source"] == "published"):
        look = style.look(point["algorithm"], names)
        hollow = {"mfc": "none", "mec": look.colour, "mew": 1.1, "ms": 11 if look.marker == "*" else 8, "ls": "none"}
        hollow |= {"marker": look.marker, "alpha": 0.75, "label": f"{look.label}, published", "zorder": 2}
        curves.append(Curve([point["fairness"]], [point["accuracy"]], hollow))
    return Panel(curves, labels, finish=lambda axis: axis.margins(0.08))


def _of_experiments(context: Context[FairnessPoints], dataset: str, points: list[Line]) -> Panel:
    """Every experiment's line; the unconstrained models of all of them are one common start."""
    first = context.config.experiment(context.experiments[0])
    run = next(iter(first.runs.values()))
    where = style.interval_title(run.metric_interval or run.interval)
    title = context.convention(context.experiments[0]).title
    labels = {"title": style.dataset_title(dataset) if dataset else "", "ylabel": "test accuracy"}
    labels["xlabel"] = f"1 − max {title} violation on test, ranks in {where}"
    drawn = [p for p in points if not math.isnan(p["accuracy"])]
    starts = [p for p in drawn if math.isinf(p["kappa"])][:1]
    curves, words = [], []
    for number, experiment in enumerate(context.experiments):
        own = [p for p in drawn if p["experiment"] == experiment and not math.isinf(p["kappa"])]
        own.sort(key=lambda p: p["kappa"], reverse=True)
        colour, marker, dash = _LOOKS[number % len(_LOOKS)]
        if own:
            curves += [
                _line([*starts, *own], colour, dash),
                _marks(own, colour, marker, line_title(context, experiment), 0.4),
            ]
            words += [(p, colour) for p in own]
    curves += [_marks(starts, style.INK, "*", "no constraint", 0.4)] if starts else []

    def finish(axis: Any) -> None:
        for point, colour in words:
            place = (point["fairness"], point["accuracy"])
            text = f"κ {point['kappa']:g}"
            axis.annotate(text, place, (5, 5), textcoords="offset points", fontsize=7.5, color=colour)
        axis.margins(0.1)
        axis.set_xlim(right=min(axis.get_xlim()[1], 1.01))  # an interval may reach beyond 1, fairness cannot

    return Panel(curves, labels, "; ".join(dict.fromkeys(p["note"] for p in points if p["note"])), finish)


def line_title(context: Context[Any], experiment: str) -> str:
    """What an experiment constrains: its interval and its number of ranks."""
    model = context.config.experiment(experiment)
    run = next(iter(model.runs.values()))
    return f"constraint on {style.interval_title(run.interval)} at {run.grid or model.grid} ranks"


def _line(path: Iterable[Line], colour: str, dash: Any) -> Curve:
    look = {"color": colour, "ls": dash, "zorder": 3}
    return Curve.through([(p["fairness"], p["accuracy"]) for p in path], look)


def _marks(own: list[Line], colour: str, marker: str, label: str, pale: float = 1.0) -> Curve:
    """Marks with intervals in both directions, ``pale`` where they would hide the marks."""
    bars = {}
    for direction, name in (("xerr", "fairness"), ("yerr", "accuracy")):
        ends = [canvas.lengths(p, name) for p in own]
        bars[direction] = [[low[0] for low, _ in ends], [high[0] for _, high in ends]]
    look = {"fmt": marker, "color": colour, "ecolor": (colour, pale), "elinewidth": 0.9, "capsize": 2, "zorder": 4}
    look |= {"ms": 10 if marker == "*" else 5.5, "label": label}
    return Curve.through([(p["fairness"], p["accuracy"]) for p in own], look, bars)


def claims(context: Context[FairnessPoints]) -> list[dict[str, Any]]:
    """Scorecard lines where a line is an experiment: each tightening of kappa makes the violation smaller."""
    lines: list[Line] = []
    if context.options.line != "experiment":
        return lines
    run = next(iter(context.config.experiment(context.experiments[0]).runs.values()))
    where = style.interval_title(run.metric_interval or run.interval)
    for experiment in context.experiments:
        lines += falling(
            context, _paths(context, experiment), "absolute", f"fall of the violation on {where}",
            f"{line_title(context, experiment)}: the violation is smaller than {{before}}",
        )  # fmt: skip
    return lines


def _paths(context: Context[FairnessPoints], experiment: str) -> dict[str, list[Setting]]:
    """By dataset, the settings along the line of an experiment: the common start, then falling kappa."""
    paths = {}
    for dataset, run in context.config.experiment(experiment).runs.items():
        shown = context.options.algorithms or run.algorithms
        own = [(name, kappa) for name in shown for kappa in run.algorithms.get(name, ()) if not math.isinf(kappa)]
        tightened = [Setting(experiment, dataset, name, kappa) for name, kappa in sorted(own, key=lambda one: -one[1])]
        paths[dataset] = [*_starts(context, dataset), *tightened]
    return paths


def _starts(context: Context[FairnessPoints], dataset: str) -> list[Setting]:
    """The unconstrained model that the lines of a dataset start from, if an experiment has one."""
    for experiment in context.experiments:
        run = context.config.experiment(experiment).runs.get(dataset)
        for name, kappas in run.algorithms.items() if run is not None else ():
            if any(math.isinf(kappa) for kappa in kappas):
                return [Setting(experiment, dataset, name, math.inf)]
    return []
