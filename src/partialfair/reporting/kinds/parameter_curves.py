"""One method under several values of a parameter: loss, constraint and KKT residual of every candidate of one run."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "candidate", "rho", "iteration", "loss", "violation", "kkt", "stationarity", "note")
ROWS = {"loss": "loss $F$", "violation": "constraint $|h| - \\epsilon$", "kkt": "KKT residual"}
COLOURS = ("#CC79A7", "#E69F00", "#009E73", "#56B4E9", "#0072B2", "#262626")
GREEK = {"alpha": "$\\alpha$", "beta": "$\\beta$"}
SAME = 1e-3
"""Spread of the last losses up to which candidates count as equal, a third of a percent of the loss itself."""


def _run(context: Context) -> tuple[Any, dict[str, Any], str]:
    """The exhibit's run: its setting, and curves by candidate."""
    setting = next(runs.settings(context, [str(context.options["algorithm"])]))
    found, reason = traces.curves(context, setting, context.config.seeds(setting.experiment)[0])
    return setting, found, reason


def _variants(context: Context) -> dict[str, dict[str, Any]]:
    """Parameters of every candidate as the grid gives them."""
    algorithm = str(context.options["algorithm"])
    return dict(context.config.algorithm_settings(context.experiments[0], algorithm)["variants"])


def points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, or one line with a note."""
    setting, found, reason = _run(context)
    if not found:
        return [{"dataset": setting.dataset, "note": reason}]
    out = []
    for name, trace in found.items():
        place = {int(k): p for p, k in enumerate(trace["iteration"])}
        far = dict(zip(trace.get("stationarity_at", []), trace.get("stationarity", []), strict=True))
        entry = _variants(context).get(name, {})
        alpha, beta = entry.get("alpha", 10.0), entry.get("beta", 0.1)
        for number, k in enumerate(trace["kept"]):
            at = place[int(k)]
            out.append(
                {"dataset": setting.dataset, "candidate": name, "rho": round(alpha / (1 + alpha * beta), 4)}
                | {"iteration": int(k), "kkt": round(float(trace["kkt"][number]), 7)}
                | {"loss": round(float(trace["loss"][at]), 7), "violation": round(float(trace["violation"][at]), 7)}
                | {"stationarity": round(float(far[k]), 7) if k in far else None}
            )
    return out


def _draw(context: Context, drawn: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure, axes = plt.subplots(1, 3, figsize=(10.6, 3.6))
    rho = {p["candidate"]: p["rho"] for p in drawn if "candidate" in p}
    names = sorted(rho, key=lambda name: rho[name])
    for axis, (quantity, title) in zip(axes, ROWS.items(), strict=True):
        axis.set_title(title)
        axis.set_xlabel("iterations")
        if not names:
            canvas.empty(axis, drawn[0]["note"])
            continue
        for place, name in enumerate(names):
            own = [p for p in drawn if p["candidate"] == name and p["iteration"] > 0]
            label = f"{_in_greek(name)} ($\\rho$ = {rho[name]:.2f})"
            # Lines that coincide are seen through each other: the first is wide, the last on top thin.
            width = 1.2 + 3.2 * (len(names) - 1 - place) / max(len(names) - 1, 1)
            line = {"color": COLOURS[place % 6], "lw": width, "solid_capstyle": "round", "zorder": 3 + place}
            axis.plot([p["iteration"] for p in own], [p[quantity] for p in own], label=label, **line)
        axis.set_xscale("log")
        if quantity == "violation":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            axis.text(0.02, 0.97, "violated above 0", transform=axis.transAxes, va="top", fontsize=8, color="#6b6b6b")
        if quantity == "kkt":
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3)
    return figure


def _in_greek(name: str) -> str:
    """The candidate's name with letters in place of their names."""
    for word, letter in GREEK.items():
        name = name.replace(word, letter)
    return name


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    drawn = points(context)
    return [cells.write_csv(context.path("csv"), COLUMNS, drawn), *canvas.write(context, lambda: _draw(context, drawn))]


def reproduce(context: Context, row: Published) -> Outcome:
    """The value at which the paper holds the other parameter: that of every candidate of the grid."""
    name = row.metric.removesuffix("_fixed")
    default = {"alpha": 10.0, "beta": 0.1}.get(name)
    values = {float(entry.get(name, default or 0.0)) for entry in _variants(context).values()}
    if default is None or len(values) != 1:
        return Outcome(None, f"{name} is not fixed in this experiment: {sorted(values)}")
    return Outcome(Estimate(values.pop(), float("nan"), float("nan"), float("nan"), 1), source="the grid's own value")


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: the last losses coincide, and so does the path of the constraint."""
    setting, found, reason = _run(context)
    name = str(context.options["parameter"])
    ends = {candidate: float(trace["loss"][-1]) for candidate, trace in found.items()}
    spread = max(ends.values()) - min(ends.values()) if ends else None
    peaks = {candidate: float(trace["violation"].max()) for candidate, trace in found.items()}
    note = reason if spread is None else f"losses from {min(ends.values()):.5f} to {max(ends.values()):.5f}"
    first = traces.finding(
        context, setting, f"The loss that PLADA reaches hardly depends on {name}",
        f"{SAME} minus the spread of the last losses", None if spread is None else SAME - spread, note, name,
    )  # fmt: skip
    apart = None if not peaks else float(np.ptp(list(peaks.values())))
    note = reason if apart is None else ", ".join(f"{key}: {value:.4f}" for key, value in peaks.items())
    second = traces.finding(
        context, setting, f"The curves of the constraint coincide whatever {name}",
        "0.01 minus the spread of the largest violations", None if apart is None else 0.01 - apart, note, name,
    )  # fmt: skip
    return [first, second]


KINDS = {"parameter_curves": Kind(render, canvas.inline, reproduce=reproduce, claims=claims)}
