"""Loss, constraint and near-stationarity against processor time: methods for one constrained problem, side by side.

An exhibit lists its ``series``: algorithm, candidate (a variant of it) and label. The gap of a loss is taken from the
exact optimum of the same problem, run by ``gap_optimum``.
"""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts.results import Setting

COLUMNS = ("dataset", "series", "iteration", "cpu_seconds", "loss", "violation", "kkt", "true_violation",
           "stationarity", "optimal_loss", "note")  # fmt: skip
ALLOWED = 1e-3
COLOURS: dict[str, tuple[str, ...]] = {
    "plada": ("#0072B2", "#56B4E9", "#003A5C"),
    "ssg_gaps": ("#D55E00", "#E69F00", "#6B2F00"),
    "ipp_ssg": ("#009E73",),
    "ipp_conex": ("#CC79A7",),
}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.5, 1)))
LINEAR = 1e-3
"""Constraint values up to which the axis is linear; beyond it is logarithmic."""
ROWS = ("loss", "violation", "stationarity")
TITLES = {
    "loss": "loss $F$",
    "violation": "constraint $\\max_j |h_j| - \\epsilon$\n(linear within $\\pm 10^{-3}$)",
    "stationarity": "near-stationarity $S$",
    "kkt": "KKT residual",
}


def datasets(context: Context) -> list[str]:
    """Datasets of the exhibit's experiments, in their order."""
    return list(dict.fromkeys(d for name in context.experiments for d in context.config.experiment(name).runs))


def series(context: Context, dataset: str) -> list[tuple[dict[str, str], Setting, dict[str, Any] | None, str]]:
    """Entry, setting and curves of every series of a dataset; ``None`` and the reason where it was not run."""
    out: list[tuple[dict[str, str], Setting, dict[str, Any] | None, str]] = []
    seed = context.config.seeds(context.experiments[0])[0]
    for entry in context.options["series"]:
        for setting in runs.settings(context, [entry["algorithm"]]):
            if setting.dataset == dataset:
                found, reason = traces.curves(context, setting, seed)
                name = entry.get("candidate") or next(iter(found), "")
                out.append((entry, setting, found.get(name), reason or f"no candidate {name}"))
    return out


def optimal_loss(context: Context, dataset: str) -> float:
    """Loss of the exact optimum; nan if it was not run."""
    runs = context.results.runs
    rows = runs[(runs["algorithm"] == "gap_optimum") & (runs["dataset"] == dataset) & (runs["status"] == "ok")]
    return float(rows["objective"].iloc[0]) if len(rows) else float("nan")


def curve_points(context: Context) -> list[dict[str, Any]]:
    """Points of all series at the iterates that were looked at closely, and a note for series that were not run."""
    points: list[dict[str, Any]] = []
    for dataset in datasets(context):
        best = optimal_loss(context, dataset)
        for entry, _, trace, reason in series(context, dataset):
            key = {"dataset": dataset, "series": entry["label"], "optimal_loss": round(best, 7)}
            if trace is None:
                points.append(key | {"note": reason})
                continue
            place = {int(k): p for p, k in enumerate(trace["iteration"])}
            far = dict(zip(trace.get("stationarity_at", []), trace.get("stationarity", []), strict=True))
            clock = traces.seconds(trace, trace["kept"])
            for number, k in enumerate(trace["kept"]):
                at = place[int(k)]
                points.append(
                    key
                    | {"iteration": int(k), "cpu_seconds": round(float(clock[number]), 4)}
                    | {"loss": round(float(trace["loss"][at]), 7), "violation": round(float(trace["violation"][at]), 7)}
                    | {name: round(float(trace[name][number]), 7) for name in ("kkt", "true_violation")}
                    | {"stationarity": round(float(far[k]), 7) if k in far else None}
                )
    return points


def _draw(context: Context, points: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    shown = datasets(context)
    rows = list(context.options.get("rows", ROWS))
    size = (max(7.6, 3.5 * len(shown) + 0.4), 7.6)
    figure, axes = plt.subplots(len(rows), len(shown), figsize=size, squeeze=False, sharex="col")
    labels = looks(context.options["series"])
    for column, dataset in enumerate(shown):
        own = [p for p in points if p["dataset"] == dataset]
        for row, name in enumerate(rows):
            _panel(axes[row][column], own, name, labels)
        axes[0][column].set_title(title_of(context, dataset))
        axes[-1][column].set_xlabel("processor time [s]")
    for row, name in enumerate(rows):
        axes[row][0].set_ylabel(TITLES[name])
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=4 if len(shown) > 2 else 3)
    return figure


def title_of(context: Context, dataset: str) -> str:
    """Title of a dataset, by the entry's ``dataset_titles`` or its own."""
    return str((context.options.get("dataset_titles") or {}).get(dataset, style.dataset_title(dataset)))


def looks(entries: list[dict[str, str]]) -> dict[str, dict[str, Any]]:
    """Colour and dash of every series: an algorithm has one hue, its candidates shades of it and dashes."""
    out: dict[str, dict[str, Any]] = {}
    seen: dict[str, int] = {}
    for entry in entries:
        name = entry["algorithm"]
        place = seen.setdefault(name, 0)
        seen[name] += 1
        shades = COLOURS.get(name, (style.look(name).colour,))
        alone = sum(other["algorithm"] == name for other in entries) == 1
        dash = (0, (6, 1, 1, 1)) if alone and name == "ipp_ssg" else DASHES[2] if alone else DASHES[place % 3]
        out[entry["label"]] = {"color": shades[place % len(shades)], "ls": dash}
    return out


def _panel(axis: Any, points: list[dict[str, Any]], name: str, labels: dict[str, dict[str, Any]]) -> None:
    drawn = [p for p in points if p.get(name) is not None and p.get("cpu_seconds", 0) > 0]
    if not drawn:
        canvas.empty(axis, "not run")
        return
    for place, (label, look) in enumerate(labels.items()):
        own = [p for p in drawn if p["series"] == label]
        if own:
            mark = {"marker": "o", "ms": 4} if name == "stationarity" else {}
            x, y = [p["cpu_seconds"] for p in own], [p[name] for p in own]
            axis.plot(x, y, lw=1.7, label=label, zorder=6 - place, **look, **mark)
    axis.set_xscale("log")
    axis.set_xlim(left=max(0.01, min(p["cpu_seconds"] for p in drawn)))
    if name == "loss":
        best = points[0]["optimal_loss"]
        if not np.isnan(best):
            axis.axhline(best, color=style.INK, lw=0.9, ls=(0, (1, 1.5)), label="exact optimum")
    elif name == "violation":
        axis.axhline(0.0, color=style.INK, lw=0.8)
        axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.6)
        for height, word in ((0.97, "violated"), (0.03, "satisfied")):
            axis.text(
                0.99, height, word, transform=axis.transAxes, ha="right", va="top" if height > 0.5 else "bottom",
                fontsize=8, color="#6b6b6b", zorder=9, bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
            )  # fmt: skip
    else:
        axis.set_yscale("log")


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    points = curve_points(context)
    return [
        cells.write_csv(context.path("csv"), COLUMNS, points),
        *canvas.write(context, lambda: _draw(context, points)),
    ]


def best_until(trace: dict[str, Any], budget: float) -> float:
    """Smallest loss at a violation of at most 1e-3 within a budget of processor seconds; infinity if there is none."""
    within = (traces.seconds(trace, trace["iteration"]) <= budget) & (trace["violation"] <= ALLOWED)
    return float(trace["loss"][within].min()) if within.any() else float("inf")


def tail_violation(trace: dict[str, Any]) -> float:
    """Largest constraint value over the last tenth of the iterations."""
    last = trace["iteration"] >= 0.9 * trace["iteration"][-1]
    return float(trace["violation"][last].max())


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: PLADA against the best baseline at equal time, and oscillation around the boundary."""
    lines = []
    for dataset in datasets(context):
        found = series(context, dataset)
        ours = [one for one in found if one[0]["algorithm"] == "plada"]
        others = [one for one in found if one[0]["algorithm"] != "plada"]
        for entry, setting, trace, reason in ours:
            lines.append(_lead(context, entry, setting, trace, others, reason))
        switching = next((one for one in others if one[0]["algorithm"] == "ssg_gaps"), None)
        if ours and switching is not None:
            lines.append(_oscillation(context, ours[0], switching))
    return lines


def _lead(context: Context, entry: Any, setting: Setting, trace: Any, others: list[Any], reason: str) -> dict[str, Any]:
    """PLADA's best feasible loss at equal processor time is the smallest."""
    statement = (
        "PLADA reaches a smaller loss at a violation of at most 0.001 than every baseline in equal processor time"
    )
    metric = "best baseline's loss minus PLADA's"
    run = [(one[0]["label"], one[2]) for one in others if one[2] is not None]
    if trace is None or not run:
        return traces.finding(
            context, setting, statement, metric, None, reason or "no baseline was run", entry["label"]
        )
    budget = min(float(one["clock"][-1]) for one in [trace, *(found for _, found in run)])
    own, losses = best_until(trace, budget), {label: best_until(found, budget) for label, found in run}
    best = min(losses, key=lambda label: losses[label])
    note = f"{budget:.1f} s: {entry['label']} {own:.5f}, best baseline {best} {losses[best]:.5f}"
    value = losses[best] - own if np.isfinite(losses[best] - own) else (1.0 if np.isfinite(own) else -1.0)
    return traces.finding(context, setting, statement, metric, value, note, entry["label"])


def _oscillation(context: Context, ours: Any, switching: Any) -> dict[str, Any]:
    """SSG ends farther outside the constraint than PLADA."""
    statement = "SSG oscillates around the boundary while PLADA settles"
    metric = "largest violation over the last tenth, SSG minus PLADA"
    value, note = None, "not run"
    if ours[2] is not None and switching[2] is not None:
        both = [max(0.0, tail_violation(one[2])) for one in (ours, switching)]
        value, note = both[1] - both[0], f"{ours[0]['label']} {both[0]:.5f}, {switching[0]['label']} {both[1]:.5f}"
    return traces.finding(context, ours[1], statement, metric, value, note, ours[0]["label"])


KINDS = {"constrained_curves": Kind(render, canvas.inline, claims=claims)}
