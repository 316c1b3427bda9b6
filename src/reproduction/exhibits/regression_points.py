"""Regression runs as points of risk and unfairness, as the DP post-processing paper has them: mean and deviation.

A series is an experiment with one of its algorithms; exhibits name theirs by the option ``series``:

    series:
      dp_postproc: {experiment: dp_released, algorithm: dp_postproc, label: SGD3 with AC-SA²}
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import papers
from reproduction.verdicts import setting_parts
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting, by_seed

COLUMNS = (
    "series", "dataset", "source", "eps", "n_seeds", "risk", "risk_std", "ks_group_0", "ks_group_0_std", "ks_group_1",
    "ks_group_1_std", "ks_noise_floor",
)  # fmt: skip
TINY = 2.0**-8
"""Tolerances up to which points are shown once more where the entry says ``enlarge``."""
SMALL = f"eps ≤ 2{f'{math.log2(TINY):.0f}'.translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
TICK = 0.06  # of a panel's height
NOISE = "at the bottom: noise (KS after permuting groups)"
XLABEL = "unfairness: KS distance of group 0 from all rows"
LOOKS = (
    ("#0072b2", "o", "-"), ("#c8500a", "s", (0, (5, 1.5))), ("#008f68", "^", (0, (4, 1, 1, 1))),
    ("#d0619f", "D", (0, (3, 1))), ("#ad8100", "v", (0, (1.5, 1))), ("#7b4fb8", "P", (0, (6, 1, 1, 1, 1, 1))),
)  # fmt: skip
METRICS = ("risk", "ks_group_0", "ks_group_1")
PUBLISHED_METRICS = {"risk": "risk", "ks_unfairness_s0": "ks_group_0", "ks_unfairness_s1": "ks_group_1"}
BINNED = {"ks_group_0": "ks_binned_0", "ks_group_1": "ks_binned_1"}


class SeriesOption(BaseModel):
    """The runs of one line: an experiment's, of one algorithm."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    experiment: str = Field(description="the runs' experiment")
    algorithm: str = Field(description="the runs' algorithm")
    label: str | None = Field(None, description="what the line is called; its name by default")
    instead: dict[str, str] = Field({}, description="another experiment for a dataset, by its published name")
    ties: str | None = Field(None, description="experiment with the same runs on data perturbed in the ninth digit")
    nulls: list[str] = Field(
        [], description="experiments with other settings of the method: null models of its numbers"
    )


class RegressionPoints(Options):
    """Risk against the Kolmogorov-Smirnov distance of a group from all rows: means and standard deviations."""

    source: Literal["risk"] = Field(description="risk: risk against unfairness of regressions")
    series: dict[str, SeriesOption] = Field(description="lines of the figure by the name of their published numbers")
    show: list[str] | None = Field(None, description="datasets shown, by their published names; all by default")
    enlarge: bool = Field(False, description="show the points at tiny tolerances once more, larger and below")


class Series(SeriesOption):
    """The same with its name, by which it is called where the option has no label."""

    name: str
    label: str = ""

    def of(self, dataset: str) -> str:
        """The experiment that a published dataset's runs come from."""
        return self.instead.get(dataset, self.experiment)


def series(context: Context[Any]) -> list[Series]:
    """The series of an exhibit, in its order."""
    entries: Mapping[str, Any] = context.option("series") or {}
    read = {n: e.model_dump() if isinstance(e, SeriesOption) else dict(e) for n, e in entries.items()}
    return [Series(**entry | {"name": name, "label": entry.get("label") or name}) for name, entry in read.items()]


def published_name(context: Context[Any], dataset: str) -> str:
    """The name under which numbers of a dataset are published, whatever way its rows are divided."""
    known = papers.paper(context.paper, context.root).datasets
    return next((name for name, one in known.items() if dataset.startswith(one.here)), dataset)


def titles(context: Context[Any], datasets: Iterable[str]) -> dict[str, str]:
    """Titles of datasets by published name: in the order of the exhibit's paper, then those that it does not list."""
    known, shown = papers.paper(context.paper, context.root).datasets, dict.fromkeys(datasets)
    listed = {name: one.title for name, one in known.items() if name in shown}
    return listed | {name: style.dataset_title(name) for name in shown if name not in known}


def tolerance_of(row: Published) -> float:
    """The tolerance in a published setting, ``eps=2^-8``; NaN of the unconstrained model.

    Raises:
        DataError: the setting says neither.
    """
    word, found, power = row.setting.partition("eps=2^")
    try:
        if not word and found:
            return 2.0 ** float(power)
    except ValueError:
        pass
    if not row.setting.startswith(setting_parts.UNCONSTRAINED):
        raise setting_parts.refused(row, "it states no tolerance; write eps=2^-8, or unconstrained")
    return math.nan


def values(context: Context[Any], setting: Setting, metric: str) -> np.ndarray:
    """Values of a metric over the seeds of a setting, on test rows."""
    return np.array([*by_seed(context.results, setting, metric).values()], np.float64)


def points(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """Mean and standard deviation (over repetitions, ddof 0) of every series, dataset and tolerance."""
    for one in series(context):
        names = dict.fromkeys((one.experiment, *one.instead.values()))  # a set has another order in every process
        every = [s for name in names for s in context.results.settings(name)]
        for setting in every:
            used = setting.experiment == one.of(published_name(context, setting.dataset))
            if setting.algorithm != one.algorithm or not used:
                continue
            line: dict[str, Any] = {"series": one.name, "dataset": published_name(context, setting.dataset)}
            line |= {"source": "reproduced", "eps": setting.kappa}
            for metric in METRICS:
                found = values(context, setting, metric)
                line |= {metric: _mean(found), f"{metric}_std": _deviation(found), "n_seeds": len(found)}
            line["ks_noise_floor"] = _mean(values(context, setting, "ks_noise_floor"))
            yield line


def published_points(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """The published points of the series of an exhibit."""
    wanted = {one.name for one in series(context)}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in context.published:
        if row.algorithm in wanted and row.metric in PUBLISHED_METRICS:
            eps = tolerance_of(row)
            key = row.algorithm, row.dataset, "base" if math.isnan(eps) else repr(eps)
            line = found.setdefault(key, {"series": row.algorithm, "dataset": row.dataset, "source": "published"})
            line |= {PUBLISHED_METRICS[row.metric]: row.value, "eps": eps}
    yield from found.values()


def _mean(found: np.ndarray) -> float:
    return float(found.mean()) if found.size else math.nan


def _deviation(found: np.ndarray) -> float:
    return float(found.std()) if found.size else math.nan


def lines(context: Context[RegressionPoints]) -> list[Line]:
    """What a figure of points shows, one dictionary of ``COLUMNS`` per point."""
    shown = context.options.show
    found = [*points(context), *published_points(context)]
    return [line for line in found if shown is None or line["dataset"] in shown]


def draw(context: Context[RegressionPoints], found: list[Line]) -> Any:
    """Draw one panel per dataset."""
    datasets = titles(context, (line["dataset"] for line in found))
    of = {title: [line for line in found if line["dataset"] == name] for name, title in datasets.items()}
    rows, note = [[_panel(context, title, own) for title, own in of.items()] or [Panel([], {})]], canvas.BARS
    if context.options.enlarge and datasets:
        rows.append([_enlarged(context, title, own) for title, own in of.items()])
        note += f" Lower row: the framed points, {SMALL}, without bars; above they are dots."
    size = (4.3 * max(len(datasets), 1) + 0.4, 3.5 * len(rows) + 1.1)
    return canvas.figure(rows, size, {}, width=2.3, last=["published", "noise"], note=note)


def _panel(context: Context[RegressionPoints], title: str, found: list[Line]) -> Panel:
    looks = iter(LOOKS * 3)
    curves: list[Curve] = []
    floors: list[tuple[float, str]] = []
    published = False
    for one in series(context):
        colour, marker, dash = (style.INK, "X", "") if one.name == "base" else next(looks)
        own = sorted((line for line in found if line["series"] == one.name), key=lambda line: -line["eps"])
        ours = [line for line in own if line["source"] == "reproduced" and line["n_seeds"]]
        floor = _mean(np.array([f for line in ours if not math.isnan(f := line.get("ks_noise_floor", math.nan))]))
        if not math.isnan(floor):
            floors.append((floor, colour))
        if ours:
            if dash:
                line = {"color": colour, "ls": dash, "lw": 1.5, "zorder": 3}
                curves += canvas.chords([(p["ks_group_0"], p["risk"]) for p in ours], line)
            look: dict[str, Any] = {"fmt": marker, "ls": "none", "color": colour, "elinewidth": 0.7}
            look |= {"ecolor": (colour, style.faint(colour))}
            framed = _tiny(ours) if context.options.enlarge else []
            alone = [p for p in ours if p not in framed]
            curves.append(_points_of(alone, look | {"ms": 6, "label": one.label, "zorder": 4}, _bars(alone)))
            if framed:  # their marks are in the row below; here they would hide each other
                curves.append(_points_of(framed, look | {"ms": 2.5, "zorder": 3}, _bars(framed)))
        theirs = [line for line in own if line["source"] == "published" and "ks_group_0" in line and "risk" in line]
        if context.options.enlarge:
            framed = _tiny(theirs)
            theirs = [p for p in theirs if p not in framed]
        if theirs:
            look = {"marker": marker, "mfc": "none", "mec": colour, "ms": 9.5, "mew": 1.1, "ls": "none", "zorder": 3}
            curves.append(_points_of(theirs, look))
            published = True

    if published:
        look = {"marker": "o", "mfc": "none", "mec": style.INK, "ms": 9.5, "mew": 1.1, "ls": "none"}
        curves.append(Curve([], [], look | {"label": "open marks: published"}))

    def finish(axis: Any) -> None:
        for floor, colour in floors:  # of each series its own: they differ by a factor of four
            axis.plot([floor, floor], [0, TICK], color=colour, lw=2.5, transform=axis.get_xaxis_transform(), zorder=2)
        if floors:
            axis.plot([], [], color=style.INK, lw=2.5, marker="", label=NOISE)
        axis.set_xlim(left=0)
        if context.options.enlarge:
            _frame(axis, _tiny(found))

    labels = {"title": title, "xlabel": XLABEL}
    return Panel(curves, labels | {"ylabel": "risk on test rows"}, finish=finish)


def _bars(own: list[Line]) -> dict[str, list[float]]:
    """Half a 95% interval of the mean in either direction, per point."""
    spreads = {"xerr": "ks_group_0_std", "yerr": "risk_std"}
    return {way: [float(canvas.half_width(p[name], p["n_seeds"])) for p in own] for way, name in spreads.items()}


def _points_of(own: list[Line], look: dict[str, Any], bars: dict[str, Any] | None = None) -> Curve:
    return Curve([p["ks_group_0"] for p in own], [p["risk"] for p in own], look, bars)


def _tiny(found: list[Line]) -> list[Line]:
    """The points at tiny tolerances, which lie upon each other among the others."""
    return [
        p for p in found if p["series"] != "base" and p.get("eps", 1.0) <= TINY and {"risk", "ks_group_0"} <= p.keys()
    ]


def _frame(axis: Any, tiny: list[Line]) -> None:
    """Show where the points lie that the row below has once more."""
    from matplotlib.patches import Rectangle

    if not tiny:
        return
    x, y = [p["ks_group_0"] for p in tiny], [p["risk"] for p in tiny]
    low, high = (0.02 * abs(end - start) for start, end in (axis.get_xlim(), axis.get_ylim()))
    size = max(x) - min(x) + 2 * low, max(y) - min(y) + 2 * high
    axis.add_patch(Rectangle((min(x) - low, min(y) - high), *size, fill=False, ec="#777777", lw=0.8, zorder=6))


def _enlarged(context: Context[RegressionPoints], title: str, found: list[Line]) -> Panel:
    """The points at tiny tolerances once more, without bars."""
    curves = []
    names = [one.name for one in series(context) if one.name != "base"]
    for name, (colour, marker, _) in zip(names, LOOKS * 3, strict=False):
        for source, face, size in (("published", "none", 10.0), ("reproduced", colour, 6.5)):
            own = [p for p in _tiny(found) if (p["series"], p["source"]) == (name, source)]
            look = {"marker": marker, "mfc": face, "mec": colour, "ms": size, "ls": "none", "mew": 1.1, "zorder": 4}
            curves += [_points_of(own, look)] if own else []
    labels = {"title": f"{title}, framed: {SMALL}", "xlabel": XLABEL, "ylabel": "risk on test rows"}
    return Panel(curves, labels, finish=lambda axis: axis.margins(0.08))
