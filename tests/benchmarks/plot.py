"""The picture of the results, reports/benchmarks.png: every figure against its target, and the curves of growth."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from partialfair.data.files import atomic_path
from tests.benchmarks.store import HEADLINES, read, read_order

GOOD, BAD, INFO, INK = "#2a7f62", "#b5482f", "#8a97a3", "#1d2731"
SHORT = {
    "idca_batched_vs_naive": "batched IDCA against a NumPy loop",
    "step_limit_fraction": "batched step: its speed, two bare matrix products = 1",
    "alm_vs_idca_time": "direct solver against IDCA",
    "classifier_truthful_share": "share of fits whose status is true",
    "promise_kept_share": "promises kept on new rows",
    "tight_parity_blind_vs_eg": "accuracy at tight parity, blind",
    "tight_parity_aware_vs_eg": "accuracy at tight parity, aware",
    "vs_fairlearn_eg_time": "against ExponentiatedGradient, blind",
    "vs_fairlearn_eg_path_time": "blind, along a path",
    "vs_fairlearn_eg_aware_time": "against ExponentiatedGradient, aware",
    "vs_fairlearn_eg_aware_path_time": "aware, along a path",
    "vs_fairlearn_grid_search_time": "against fairlearn GridSearch",
    "vs_fairlearn_threshold_optimizer_time": "against fairlearn ThresholdOptimizer",
    "vs_fairret_time": "against fairret, PyTorch loop",
    "torch_step": "step in PyTorch over our own networks",
    "torch_peers": "step of the Lagrangian over the faster peer's",
    "auc_network_step_vs_dense": "networks on sparse rows against dense products",
    "ten_million_rows_minutes": "fit on ten million rows, minutes",
    "regression_aware_gain": "squared error of fair regressions, aware",
    "acs_fit_seconds": "ACSIncome fit, seconds",
    "acs_fit_gib": "ACSIncome fit, GiB",
    "rows_growth_exponent": "growth with rows, exponent",
    "job_overhead_seconds": "workflow per job, seconds",
    "dry_run_seconds": "dry run of the whole grid, seconds",
    "dry_run_20000_seconds": "dry run of 20,000 jobs, seconds",
    "verify_seconds": "verification, seconds",
    "draw_all_seconds": "all exhibits and the page, seconds",
    "cli_start_seconds": "start of a command, seconds",
    "paper_grid_minutes": "main paper's grid, minutes",
}
CURVES = (
    ("rows", "rows", "ms per iteration"),
    ("features", "features (direct solver)", "ms per evaluation"),
    ("grid", "ranks of the grid", "ms per iteration"),
    ("groups", "groups", "ms per iteration"),
    ("columns", "configurations at once (IDCA)", "ms per inner step"),
    ("jobs", "jobs", "s per dry run"),
)
NAMES = {"alm": "direct solver, one evaluation", "idca": "IDCA, 8 configurations, one inner step"}
Curve = list[tuple[float, float]]


def margin(row: dict[str, Any]) -> float:
    """How many times better than its target a figure is; below 1 it misses it."""
    sign, bound = row["target"].split()
    return row["value"] / float(bound) if sign == ">=" else float(bound) / row["value"]


def bars(axis: Axes, content: dict[str, dict[str, Any]]) -> None:
    """One bar per figure with a target of the project: how far it is from the target."""
    shown = [row for row in read_order(content) if row["id"] in SHORT and row["value"] is not None and row["target"]]
    shown = [row for row in shown if float(row["target"].split()[1])]  # a bound of zero has no multiples
    shown.sort(key=lambda row: [*SHORT].index(row["id"]))
    for place, row in enumerate(shown):
        better = margin(row)
        axis.barh(place, np.log10(better), color=GOOD if row["holds"] else BAD, height=0.62)
        unit, bound = " times" if row["unit"] == "times" else "", row["target"].replace(">=", "at least")
        text = f"{row['value']:.3g}{unit}  (target: {bound.replace('<=', 'at most')})"
        axis.text(max(np.log10(better), 0) + 0.02, place, text, va="center", fontsize=8, color=INK)
    axis.set_yticks(range(len(shown)), [SHORT[row["id"]] for row in shown], fontsize=8.5)
    axis.invert_yaxis()
    axis.axvline(0, color=INK, linewidth=1)
    low = min([0.0, *(float(np.log10(margin(row))) for row in shown)])
    high = max([0.1, *(float(np.log10(margin(row))) for row in shown)])
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low - 0.05 <= np.log10(t) <= high + 0.05]
    axis.set_xticks(np.log10(ticks), [f"{t:g}×" for t in ticks])
    axis.set_xlim(low - 0.05, high + 0.55)
    words = "distance from the target: 2× is twice as good as asked, 0.5× half as good (green: target met, red: missed)"
    axis.set_xlabel(words, fontsize=8.5)
    axis.set_title("Figures against their targets", loc="left", fontsize=10)


def curve(axis: Axes, title: str, unit: str, curves: dict[str, Curve]) -> None:
    """Time against one size, both on logarithmic scales, with the line of proportional growth."""
    longest: Curve = max((sorted(points) for points in curves.values()), key=len)
    for number, (name, points) in enumerate(sorted(curves.items(), reverse=True)):
        x, y = np.array(sorted(points)).T
        look = {"color": ("#1f5f8b", "#c8791d", "#6b4c9a")[number], "label": _label(name, len(curves))}
        axis.plot(x, y, "o-", markersize=3.5, linewidth=1.4, **look)
        if number == 0:
            axis.plot(x, y[-1] * x / x[-1], ":", color=INFO, linewidth=1, label="proportional", zorder=0)
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = [x for x, _ in longest]
    axis.set_xticks(ticks, [_short(x) for x in ticks])
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for one in (axis.xaxis, axis.yaxis):
        one.set_minor_locator(NullLocator())
    axis.set_xlabel(title, fontsize=8.5)
    axis.set_ylabel(unit, fontsize=8.5)
    axis.tick_params(labelsize=8)
    axis.margins(y=0.12)
    axis.legend(fontsize=7, frameon=False)


def _label(name: str, curves: int) -> str:
    """What a curve is, if there are several."""
    if "features" in name:
        return "one-hot features" if name.startswith("one_hot") else "normal features"
    return NAMES.get(name.rsplit("_", 1)[-1], "measured") if curves > 1 else "measured"


def _short(x: float) -> str:
    """A number of three digits with its unit: 30k, 1.14M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if x >= unit:
            return f"{x / unit:.3g}{name}"
    return f"{x:g}"


def read_curves(path: Path) -> dict[str, dict[str, Curve]]:
    """Points by axis and id."""
    found: dict[str, dict[str, Curve]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["x"]:
                axis = row["axis"].removeprefix("one_hot_")
                found[axis][row["id"]].append((float(row["x"]), float(row["value"])))
    return found


def draw(results: Path, target: Path) -> None:
    """Draw the picture of a results file and of the CSV beside it."""
    content, curves = read(results), read_curves(results.with_suffix(".csv"))
    figure = plt.figure(figsize=(11, 9.2), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.15))
    bars(upper.subplots(), content)
    for axis, (name, title, unit) in zip(lower.subplots(2, 3).flat, CURVES, strict=True):
        if name in curves:
            curve(axis, title, unit, curves[name])
        else:
            axis.text(0.5, 0.5, "not measured", ha="center", va="center", color=INFO)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_xlabel(title, fontsize=8.5)
    machines = sorted({row["machine"] for row in content.values()})
    figure.suptitle(f"Benchmarks: {'; '.join(machines)}; one thread", fontsize=10.5)
    with atomic_path(target) as path:
        figure.savefig(path, dpi=130, format="png")
    plt.close(figure)


assert set(HEADLINES) <= set(SHORT)
