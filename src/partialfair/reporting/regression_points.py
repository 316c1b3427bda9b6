"""Regression runs as points of risk and unfairness, as the DP post-processing paper has them: mean and deviation.

A series is an experiment with one of its algorithms; exhibits name theirs by the option ``series``:

    series:
      dp_postproc: {experiment: dp_released, algorithm: dp_postproc, label: SGD3 with AC-SA²}
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from partialfair.reporting import canvas, style
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.verdicts.results import Setting

COLUMNS = (
    "series", "dataset", "source", "eps", "n_seeds", "risk", "risk_std", "ks_group_0", "ks_group_0_std", "ks_group_1",
    "ks_group_1_std", "ks_noise_floor",
)  # fmt: skip
TINY = 2.0**-8
"""Tolerances up to which points are shown once more where the entry says ``enlarge``."""
TITLES = {"communities": "Communities and Crime", "law_school": "Law School", "adult": "Adult"}
LOOKS = (
    ("#0072b2", "o", "-"), ("#c8500a", "s", (0, (5, 1.5))), ("#008f68", "^", (0, (4, 1, 1, 1))),
    ("#d0619f", "D", (0, (3, 1))), ("#ad8100", "v", (0, (1.5, 1))), ("#7b4fb8", "P", (0, (6, 1, 1, 1, 1, 1))),
)  # fmt: skip
METRICS = ("risk", "ks_group_0", "ks_group_1")
PUBLISHED_METRICS = {"risk": "risk", "ks_unfairness_s0": "ks_group_0", "ks_unfairness_s1": "ks_group_1"}
BINNED = {"ks_group_0": "ks_binned_0", "ks_group_1": "ks_binned_1"}
DATASETS = {"dp_law": "law_school", "dp_communities": "communities", "dp_adult": "adult"}


class SeriesOption(BaseModel):
    """Runs that one line shows."""

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
    seeds: list[int] | None = Field(None, description="repetitions that count; all by default")
    published_points: list[str] | None = Field(None, description="exhibits whose published points are drawn")
    enlarge: bool = Field(False, description="show the points at tiny tolerances once more in a corner")


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


def published_name(dataset: str) -> str:
    """The name under which numbers of a dataset are published, whatever way its rows are divided."""
    return next((name for own, name in DATASETS.items() if dataset.startswith(own)), dataset)


def tolerance_of(setting: str) -> float:
    """The tolerance in a published setting, ``eps=2^-8``; NaN if it has none."""
    _, found, power = setting.partition("eps=2^")
    return 2.0 ** float(power) if found else math.nan


def values(context: Context[Any], setting: Setting, metric: str) -> np.ndarray:
    """Values of a metric over the seeds of a setting (test rows), or over those named by the option ``seeds``."""
    wanted = context.option("seeds")
    by_seed = context.results.values(setting, metric)
    found = np.array([value for seed, value in by_seed.items() if not wanted or seed in wanted], np.float64)
    return np.asarray(found[~np.isnan(found)])


def points(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """Mean and standard deviation (over repetitions, ddof 0) of every series, dataset and tolerance."""
    for one in series(context):
        names = dict.fromkeys((one.experiment, *one.instead.values()))  # a set has another order in every process
        every = [s for name in names for s in context.results.settings(name)]
        for setting in every:
            used = setting.experiment == one.of(published_name(setting.dataset))
            if setting.algorithm != one.algorithm or not used:
                continue
            line: dict[str, Any] = {"series": one.name, "dataset": published_name(setting.dataset)}
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
    sources = context.option("published_points") or [context.published_as]
    for source in sources:
        for row in context.published_of(str(source)):
            if row.algorithm in wanted and row.metric in PUBLISHED_METRICS:
                eps = tolerance_of(row.setting)
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
    datasets = [name for name in TITLES if any(line["dataset"] == name for line in found)]
    row = [_panel(context, name, [line for line in found if line["dataset"] == name]) for name in datasets]
    size = (4.3 * max(len(row), 1) + 0.4, 4.6)
    return canvas.figure([row or [Panel([], {})]], size, {}, width=2.3, last=["published", "noise"], note=canvas.BARS)


def _panel(context: Context[RegressionPoints], dataset: str, found: list[Line]) -> Panel:
    looks = iter(LOOKS * 3)
    curves: list[Curve] = []
    published = False
    for one in series(context):
        colour, marker, dash = (style.INK, "X", "") if one.name == "base" else next(looks)
        own = sorted((line for line in found if line["series"] == one.name), key=lambda line: -line["eps"])
        ours = [line for line in own if line["source"] == "reproduced" and line["n_seeds"]]
        if ours:
            look = {"fmt": marker, "ls": dash or "none", "color": colour, "ecolor": (colour, 0.4), "elinewidth": 0.8}
            spreads = {"xerr": "ks_group_0_std", "yerr": "risk_std"}
            bars = {
                way: [float(canvas.half_width(p[name], p["n_seeds"])) for p in ours] for way, name in spreads.items()
            }
            curves.append(_points_of(ours, look | {"ms": 6, "label": one.label, "zorder": 4}, bars))
        theirs = [line for line in own if line["source"] == "published" and "ks_group_0" in line and "risk" in line]
        if theirs:
            look = {"marker": marker, "mfc": "none", "mec": colour, "ms": 9.5, "mew": 1.1, "ls": "none", "zorder": 3}
            curves.append(_points_of(theirs, look))
            published = True

    if published:
        look = {"marker": "o", "mfc": "none", "mec": "#6b6b6b", "ms": 9.5, "mew": 1.1, "ls": "none"}
        curves.append(Curve([], [], look | {"label": "open marks: published"}))

    def finish(axis: Any) -> None:
        floors = [line["ks_noise_floor"] for line in found if not math.isnan(line.get("ks_noise_floor", math.nan))]
        if floors:
            words, floor = "noise: KS after permuting groups", sum(floors) / len(floors)
            axis.axvspan(0, floor, color=style.GRID, alpha=0.55, lw=0, zorder=0, label=words)
        axis.set_xlim(left=0)
        if context.options.enlarge:
            _enlarged(context, axis, found)

    labels = {"title": TITLES[dataset], "xlabel": "unfairness: KS distance of group 0 from all rows"}
    return Panel(curves, labels | {"ylabel": "risk on test rows"}, finish=finish)


def _points_of(own: list[Line], look: dict[str, Any], bars: dict[str, Any] | None = None) -> Curve:
    return Curve([p["ks_group_0"] for p in own], [p["risk"] for p in own], look, bars)


def _enlarged(context: Context[Any], axis: Any, found: list[dict[str, Any]]) -> None:
    """The points at tiny tolerances, which lie upon each other, once more in the free corner and without bars."""
    tiny = [p for p in found if p["series"] != "base" and p.get("eps", 1.0) <= TINY and "risk" in p and p["ks_group_0"]]
    if len(tiny) < 3:
        return
    inset = axis.inset_axes((0.42, 0.57, 0.46, 0.4))
    names = [one.name for one in series(context) if one.name != "base"]
    for name, (colour, marker, _) in zip(names, LOOKS * 3, strict=False):
        for source, face, size in (("published", "none", 8.0), ("reproduced", colour, 4.5)):
            own = [p for p in tiny if (p["series"], p["source"]) == (name, source)]
            x, y = [p["ks_group_0"] for p in own], [p["risk"] for p in own]
            inset.plot(x, y, marker, mfc=face, mec=colour, ms=size, ls="none", mew=0.9)
    inset.margins(0.12, 0.2)
    inset.tick_params(labelsize=7)
    inset.locator_params(nbins=4)
    inset.yaxis.tick_right()
    inset.spines[["top", "right"]].set_visible(True)
    inset.set_facecolor("white")
    words = f"enlarged: eps ≤ 2^{math.log2(TINY):.0f}"
    inset.text(0.03, 0.03, words, transform=inset.transAxes, fontsize=7.5, color="#777777", zorder=6)
    axis.indicate_inset_zoom(inset, edgecolor="#777777", lw=0.8)
