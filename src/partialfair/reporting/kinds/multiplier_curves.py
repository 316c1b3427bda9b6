"""Multipliers of a primal-dual method against iterations: lambda, mu and their distance, one column per dataset."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.kinds.constrained_curves import datasets, title_of

COLUMNS = ("dataset", "candidate", "iteration", "distance", "lam", "mu", "optimal_multiplier", "note")
POINTS = 150
COLOURS = {0: "#0072B2", 1: "#D55E00", 2: "#009E73"}
SETTLED = 1e-2
NEAR = 0.03


def optimal_multiplier(context: Context, dataset: str) -> float:
    """Sum of the sizes of the exact optimum's multipliers; nan if it was not run."""
    import json

    runs = context.results.runs
    rows = runs[(runs["algorithm"] == "gap_optimum") & (runs["dataset"] == dataset) & (runs["status"] == "ok")]
    if not len(rows):
        return float("nan")
    return float(np.abs(json.loads(rows["selected"].iloc[0])["multipliers"]).sum())


def duals(trace: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Distance of lambda and mu, and the sums of their components, by iteration."""
    parts = [np.array([trace[key] for key in sorted(trace) if key.startswith(name)]) for name in ("lam", "mu")]
    return np.linalg.norm(parts[0] - parts[1], axis=0), parts[0].sum(axis=0), parts[1].sum(axis=0)


def points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows; a line with a note for a dataset that was not run."""
    out: list[dict[str, Any]] = []
    for setting in runs.settings(context, ["plada"]):
        found, reason = traces.curves(context, setting, context.config.seeds(setting.experiment)[0])
        best = optimal_multiplier(context, setting.dataset)
        if not found:
            out.append({"dataset": setting.dataset, "note": reason})
        for name, trace in found.items():
            distance, lam, mu = duals(trace)
            for at in np.unique(np.rint(np.geomspace(1, len(lam) - 1, POINTS)).astype(int)):
                out.append(  # noqa: PERF401
                    {"dataset": setting.dataset, "candidate": name, "iteration": int(trace["iteration"][at])}
                    | {"distance": float(f"{distance[at]:.6g}"), "lam": round(float(lam[at]), 7)}
                    | {"mu": round(float(mu[at]), 7), "optimal_multiplier": round(best, 6)}
                )
    return out


def _draw(context: Context, drawn: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    shown = datasets(context)
    figure, axes = plt.subplots(3, len(shown), figsize=(3.5 * len(shown) + 0.4, 7.0), squeeze=False, sharex="col")
    labels = dict(context.options.get("labels") or {})
    for column, dataset in enumerate(shown):
        own = [p for p in drawn if p["dataset"] == dataset and "iteration" in p]
        for row, quantity in enumerate(("distance", "lam", "mu")):
            axis = axes[row][column]
            if not own:
                canvas.empty(axis, "not run")
                continue
            for place, name in enumerate(dict.fromkeys(p["candidate"] for p in own)):
                line = [p for p in own if p["candidate"] == name]
                x, y = [p["iteration"] for p in line], [p[quantity] for p in line]
                axis.plot(x, y, color=COLOURS[place % 3], ls=["-", (0, (4, 1.5)), (0, (1.5, 1))][place % 3],
                          label=labels.get(name, name))  # fmt: skip
            if quantity == "distance":
                axis.set_yscale("log")
            else:
                axis.axhline(own[0]["optimal_multiplier"], color=style.INK, lw=0.9, ls=(0, (1, 1.5)), label="optimum")
            axis.set_xscale("log")
        axes[0][column].set_title(title_of(context, dataset))
        axes[2][column].set_xlabel("iterations")
    for row, title in enumerate(("$|\\lambda - \\mu|$", "$\\lambda$", "$\\mu$")):
        axes[row][0].set_ylabel(title)
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=4)
    return figure


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    drawn = points(context)
    return [cells.write_csv(context.path("csv"), COLUMNS, drawn), *canvas.write(context, lambda: _draw(context, drawn))]


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: lambda and mu meet, and they meet at the multiplier of the exact optimum."""
    lines = []
    for setting in runs.settings(context, ["plada"]):
        found, reason = traces.curves(context, setting, context.config.seeds(setting.experiment)[0])
        best = optimal_multiplier(context, setting.dataset)
        for name in list(found) if found else [""]:
            value = near = None
            note = other = reason
            if found:
                distance, lam, _ = duals(found[name])
                value, near = SETTLED - float(distance[-1]), NEAR - abs(float(lam[-1]) - best)
                note = f"|lambda - mu| {distance[-1]:.1e} after {len(lam) - 1} iterations"
                other = f"lambda {lam[-1]:.4f}, optimum {best:.4f}"
            lines += [
                traces.finding(context, setting, "Lambda and mu meet (Theorem 2)", f"{SETTLED} minus the last distance",
                               value, note, name),
                traces.finding(context, setting, "Lambda converges to the multiplier of the constrained optimum",
                               f"{NEAR} minus the distance to the exact optimum's", near, other, name),
            ]  # fmt: skip
    return lines


KINDS = {"multiplier_curves": Kind(render, canvas.inline, claims=claims)}
