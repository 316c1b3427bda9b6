"""Models as points of fairness and accuracy: means over seeds with t-intervals."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.tables.intervals import format_interval
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import Curve, Panel
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
HEIGHTS = (5.0, -15.0, 15.0, -25.0, 25.0, -35.0, 35.0, -45.0)  # of a label's lower edge above its mark
AWAY = (6.0, 18.0, 36.0)  # of a label from its mark, to the right or to the left
TOUCHING = 9.0  # points of print between two marks that share a label
OVER_A_LABEL, OVER_A_MARK = 8, 25  # as bad as over so many bars
END = 1.01  # of the axis of fairness: an interval may reach beyond 1, fairness cannot
_LOOKS = (
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
            found.append(line | {"missed": _missed(context, setting), "note": context.results.reason(setting)})
        found += _published(context, experiment)
    return found


def _missed(context: Context[FairnessPoints], setting: Setting) -> int:
    """Number of seeds at which the constraint exceeds kappa on the training rows."""
    return int((context.results.runs_of(setting)["status"] == "tolerance missed").sum())


def _published(context: Context[FairnessPoints], experiment: str) -> list[Line]:
    """Published (fairness, accuracy) pairs of the datasets and intervals of one experiment."""
    if not context.options.published_points:
        return []
    runs, metric = context.config.experiment(experiment).runs, context.convention(experiment).fairness
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
        return canvas.figure(panels, (5.6 * len(datasets), 5.4), {}, columns=1, note=_note(found))
    datasets = list(dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs))
    panels = [
        [
            _of_algorithms(context, e, d, [p for p in found if (p["experiment"], p["dataset"]) == (e, d)])
            for d in datasets
        ]
        for e in context.experiments
    ]
    size = (max(3.3 * len(datasets), 5.0), 2.9 * len(context.experiments) + 1.1)
    return canvas.figure(panels, size, {}, last=["published", "not in the paper"], width=2.6, note=_note(found))


def _note(found: list[Line]) -> str:
    """What bars and dots of single seeds mean, as far as there are any."""
    seeds = [line["n_seeds"] for line in found if line.get("n_seeds")]
    bars = [canvas.BARS] if not seeds or max(seeds) >= FEWEST else []
    single = [SINGLE] if any(1 < count < FEWEST for count in seeds) else []
    return " ".join([*bars, *single])


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
    beyond = set(context.options.beyond)
    for name in sorted(names, key=lambda n: (n not in beyond, n == "unconstrained")):
        own = sorted((p for p in drawn if p["algorithm"] == name), key=_tightness)
        look = style.look(name, names)
        if own:
            path = own if name == "unconstrained" else [*starts, *own]
            label = f"{look.label} (not in the paper)" if name in beyond else look.label
            width, size = (0.8, 4.0) if name in beyond else (1.6, 5.5)
            curves += [*_line(path, look.colour, look.dash, width), _marks(own, look.colour, look.marker, label, size)]
            curves += [*_centres(own, look.marker), *_seeds(context, own, look.colour)]
    for point in (p for p in points if p["source"] == "published"):
        look = style.look(point["algorithm"], names)
        hollow = {"mfc": "none", "mec": look.colour, "mew": 1.1, "ms": 11 if look.marker == "*" else 8, "ls": "none"}
        hollow |= {"marker": look.marker, "label": f"{look.label}, published", "zorder": 2}
        curves.append(Curve([point["fairness"]], [point["accuracy"]], hollow))

    def finish(axis: Any) -> None:
        axis.margins(0.08)
        axis.set_xlim(right=min(axis.get_xlim()[1], END))

    return Panel(curves, labels, finish=finish)


def _of_experiments(context: Context[FairnessPoints], dataset: str, points: list[Line]) -> Panel:
    """Every experiment's line; the unconstrained models of all of them are one common start."""
    runs = context.config.experiment(context.experiments[0]).runs
    run = runs.get(dataset) or next(iter(runs.values()))
    where = style.interval_title(run.metric_interval or run.interval)
    title = context.convention(context.experiments[0]).title
    labels = {"title": style.dataset_title(dataset) if dataset else "", "ylabel": "test accuracy"}
    labels["xlabel"] = f"1 − max {title} violation on test, ranks in {where}"
    drawn = [p for p in points if not math.isnan(p["accuracy"])]
    starts = [p for p in drawn if math.isinf(p["kappa"])][:1]
    curves, words, inks = [], [], {}
    for number, experiment in enumerate(context.experiments):
        own = [p for p in drawn if p["experiment"] == experiment and not math.isinf(p["kappa"])]
        own.sort(key=_tightness)
        colour, marker, dash = _LOOKS[number % len(_LOOKS)]
        inks[experiment] = colour
        if own:
            curves += _line([*starts, *own], colour, dash)
            curves += [_marks(own, colour, marker, line_title(context, experiment)), *_centres(own, marker)]
            curves += _seeds(context, own, colour)
            words += own
    curves += [_marks(starts, style.INK, "*", "no constraint"), *_seeds(context, starts, style.INK)] if starts else []

    def finish(axis: Any) -> None:
        axis.margins(0.1)
        axis.set_xlim(right=min(axis.get_xlim()[1], END))

    def written(axis: Any) -> None:
        for named, at in _free_places(axis, words, starts):
            place = (named[0]["fairness"], named[0]["accuracy"])
            line = {"arrowstyle": "-", "color": inks[named[0]["experiment"]], "lw": 0.8, "shrinkA": 0, "shrinkB": 3}
            axis.annotate(
                _name(named), place, at, textcoords="offset points", fontsize=8, color=style.INK, arrowprops=line,
                zorder=7, bbox={"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.8},
            )  # fmt: skip

    return Panel(curves, labels, "; ".join(dict.fromkeys(p["note"] for p in points if p["note"])), finish, written)


def _name(points: Sequence[Line]) -> str:
    """The tolerance or weight of a mark, or the range of several that share a label."""
    letter = "λ" if style.ascending(points[0]["algorithm"]) else "κ"
    ends = sorted({point["kappa"] for point in points})
    return f"{letter} {ends[0]:g}" if len(ends) == 1 else f"{letter} {ends[0]:g} to {ends[-1]:g}"


def label_size(points: Sequence[Line]) -> NDArray[np.float64]:
    """Width and height of the label of some marks, in points of print."""
    return np.array([LETTER * len(_name(points)), HEIGHT])


def _free_places(
    axis: Any, points: Sequence[Line], starts: Sequence[Line] = ()
) -> list[tuple[list[Line], tuple[float, float]]]:
    """Labels: the points that share one, and its offset from the first one's mark, in points of print.

    Neighbours of one experiment whose marks touch share a label. A label goes where it covers the fewest bars, marks,
    lines and labels, and stays inside the panel.
    """
    panel = np.array(axis.get_position().size) * axis.figure.get_size_inches() * 72
    start, end = (np.array(ends) for ends in zip(axis.get_xlim(), axis.get_ylim(), strict=True))

    def at(*place: float) -> NDArray[np.float64]:
        return np.asarray((np.array(place) - start) / (end - start) * panel, np.float64)

    marks = [at(p["fairness"], p["accuracy"]) for p in points]
    taken = [(mark - 4, mark + 4) for mark in marks for _ in range(OVER_A_MARK)]
    for p in points:
        across = at(p["fairness_low"], p["accuracy"]), at(p["fairness_high"], p["accuracy"])
        upwards = at(p["fairness"], p["accuracy_low"]), at(p["fairness"], p["accuracy_high"])
        taken += [(low - 1.5, high + 1.5) for low, high in (across, upwards)]  # of one seed NaN, which covers nothing
    lines = [*zip(marks, marks[1:], strict=False)]  # those between experiments are not drawn, and do no harm
    first_of = {p["experiment"]: mark for p, mark in reversed([*zip(points, marks, strict=True)])}
    lines += [(at(p["fairness"], p["accuracy"]), mark) for p in starts for mark in first_of.values()]
    for first, last in lines:
        steps = [first + share * (last - first) for share in np.linspace(0, 1, 15)]
        taken += [(step - 1, step + 1) for step in steps]
    together: list[tuple[list[Line], NDArray[np.float64]]] = []
    for point, mark in zip(points, marks, strict=True):
        named, first = together[-1] if together else ([], mark)
        if named and point["experiment"] == named[0]["experiment"] and np.linalg.norm(mark - first) < TOUCHING:
            named.append(point)
        else:
            together.append(([point], mark))
    found = []
    for named, mark in together:
        size = label_size(named)
        offsets = [(x, y) for away in AWAY for y in HEIGHTS for x in (away, -away - float(size[0]))]
        boxes = {offset: (mark + offset, mark + offset + size) for offset in offsets}
        best = min(
            offsets,
            key=lambda offset: (_leaves(boxes[offset], panel), sum(_cover(boxes[offset], one) for one in taken)),
        )
        taken += OVER_A_LABEL * [boxes[best]]
        found.append((named, best))
    return found


def _leaves(box: tuple[NDArray[np.float64], NDArray[np.float64]], panel: NDArray[np.float64]) -> bool:
    """Whether a box, by its lower left and its upper right corner, reaches beyond the panel."""
    return bool(np.any(box[0] < 0) or np.any(box[1] > panel))


def _cover(one: tuple[NDArray[np.float64], NDArray[np.float64]], other: tuple[Any, Any]) -> bool:
    """Whether two boxes, each by its lower left and its upper right corner, have a point in common."""
    return bool(np.all(one[0] < other[1]) and np.all(other[0] < one[1]))


def _tightness(point: Line) -> float:
    """A number by which the models of one algorithm are ordered, the loosest first."""
    kappa = float(point["kappa"])
    return kappa if style.ascending(point["algorithm"]) else -kappa


def line_title(context: Context[FairnessPoints], experiment: str) -> str:
    """The entry's words for an experiment, else what it constrains: its interval and its number of ranks."""
    if experiment in context.options.legend:
        return context.options.legend[experiment]
    model = context.config.experiment(experiment)
    run = next(iter(model.runs.values()))
    return f"constraint on {style.interval_title(run.interval)} at {run.grid or model.grid} ranks"


def _line(path: Iterable[Line], colour: str, dash: Any, width: float = 1.6) -> list[Curve]:
    look = {"color": colour, "ls": dash, "lw": width, "zorder": 3}
    return canvas.chords([(p["fairness"], p["accuracy"]) for p in path], look)


def _marks(own: list[Line], colour: str, marker: str, label: str, size: float = 5.5) -> Curve:
    """Marks with intervals in both directions, which are thin so that they hide no mark."""
    bars = {}
    for direction, name in (("xerr", "fairness"), ("yerr", "accuracy")):
        ends = [canvas.lengths(p, name) if p["n_seeds"] >= FEWEST else [[0.0], [0.0]] for p in own]
        bars[direction] = [[low[0] for low, _ in ends], [high[0] for _, high in ends]]
    look = {
        "fmt": marker,
        "color": colour,
        "ecolor": (colour, style.faint(colour)),
        "elinewidth": 0.7,
        "capsize": 0,
        "zorder": 4,
    }
    look |= {"ms": 10 if marker == "*" else size, "label": label}
    return Curve.through([(p["fairness"], p["accuracy"]) for p in own], look, bars)


def _seeds(context: Context[FairnessPoints], own: list[Line], colour: str) -> list[Curve]:
    """The seeds of settings that have too few for an interval, as small points around the mark of their mean."""
    at = []
    for line in (one for one in own if 1 < one["n_seeds"] < FEWEST):
        setting = Setting(line["experiment"], line["dataset"], line["algorithm"], line["kappa"])
        metrics = context.convention(setting.experiment).absolute, "accuracy"
        gaps, right = (by_seed(context.results, setting, metric) for metric in metrics)
        at += [(1 - gaps[seed], right[seed]) for seed in sorted(gaps.keys() & right.keys())]
    look = {"marker": "o", "ls": "none", "color": colour, "mec": "none", "ms": 2.6, "zorder": 5}
    return [Curve.through(at, look)] if at else []


def _centres(own: list[Line], marker: str) -> list[Curve]:
    """White centres of the marks whose models miss their tolerance."""
    missed = [(p["fairness"], p["accuracy"]) for p in own if p["missed"]]
    look = {"marker": marker, "ls": "none", "color": "white", "ms": 2.8, "zorder": 5}
    return [replace(Curve.through(missed, look), means=MISSED)] if missed else []
