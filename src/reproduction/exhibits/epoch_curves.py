"""Validation curves of networks against epochs: mean over seeds with its 95% interval."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from reproduction.exhibits import canvas, runs, style, traces
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.trace_curves import TraceSeries
from reproduction.verdicts.results import Setting

COLUMNS = ("dataset", "series", "seed", "epoch", "quantity", "value", "note")
COLOURS = ("#0072b2", "#c8500a", "#008f68", "#262626", "#d0619f", "#ad8100")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (8, 2)), "-")


class EpochCurves(Options):
    """Quantities on validation rows against epochs, a panel each."""

    source: Literal["epochs"] = Field(description="epochs: validation curves of networks")
    series: list[TraceSeries] = Field(description="lines of every panel")
    quantities: dict[str, str] = Field(description="quantities shown, with the titles of their panels")
    limits: dict[str, float] = Field(
        {}, description="quantities whose panels have a line at what the constraint allows"
    )


def curves_of(context: Context[Any], entry: TraceSeries) -> tuple[dict[int, traces.Curves], Setting | None, str]:
    """Curves of one series by seed, its setting, and why seeds are missing."""
    setting = next(runs.settings(context, [entry.algorithm]), None)
    if setting is None:
        return {}, None, f"no run of {entry.algorithm}"
    found, why = {}, ""
    for seed in context.config.seeds(setting.experiment):
        by_name, reason = traces.curves(context, setting, seed)
        name = entry.candidate or next(iter(by_name), "")
        if name in by_name:
            found[seed] = by_name[name]
        else:
            why = reason or f"no candidate {name!r}"
    return found, setting, why


def lines(context: Context[EpochCurves]) -> Iterator[Line]:
    """One line per series, seed, epoch and quantity; a note where a series was not run."""
    for entry in context.options.series:
        found, setting, why = curves_of(context, entry)
        key = {"dataset": setting.dataset if setting else "", "series": entry.label}
        if not found:
            yield key | {"note": why}
        for seed, trace in found.items():
            for quantity in context.options.quantities:
                for epoch, value in zip(trace["epoch"], trace[quantity], strict=True):
                    point = {"epoch": float(epoch), "quantity": quantity, "value": round(float(value), 6)}
                    yield key | {"seed": seed} | point


def draw(context: Context[EpochCurves], found: list[Line]) -> Any:
    """Each quantity over epochs in a panel, two panels a row."""
    panels = [_panel(context, found, *quantity) for quantity in context.options.quantities.items()]
    columns = min(2, len(panels))
    rows = [panels[place : place + columns] for place in range(0, len(panels), columns)]
    entries = len(context.options.series)
    return canvas.figure(
        rows, (4.9 * columns, 3.1 * len(rows) + 0.9), {}, columns=3 if entries == 3 else 2, note=canvas.BANDS
    )


def _panel(context: Context[EpochCurves], found: list[Line], quantity: str, title: str) -> Panel:
    curves = []
    for place, entry in enumerate(context.options.series):
        own = [p for p in found if p["series"] == entry.label and p.get("quantity") == quantity]
        if not own:
            continue
        epochs = sorted({p["epoch"] for p in own})
        table = np.array([[p["value"] for p in own if p["epoch"] == e] for e in epochs])
        middle, half = table.mean(axis=1), canvas.half_width(table.std(axis=1), table.shape[1])
        look = {
            "color": COLOURS[place % len(COLOURS)],
            "ls": DASHES[place % len(DASHES)],
            "label": f"{entry.label} (n = {table.shape[1]})",
        }
        curves.append(Curve(epochs, middle, look, band=(middle - half, middle + half), shade=0.12))

    def finish(axis: Any) -> None:
        if quantity in context.options.limits:
            allowed = context.options.limits[quantity]
            axis.axhline(allowed, color=style.INK, lw=0.8, label=f"constraint: at most {allowed:g}")
        _frame(axis, [(np.asarray(curve.x), np.asarray(curve.y)) for curve in curves])

    reason = "; ".join(dict.fromkeys(p["note"] for p in found if p.get("note")))
    return Panel(curves, {"title": title, "xlabel": "epochs"}, reason, finish)


def _frame(axis: Any, curves: list[tuple[Any, Any]]) -> None:
    """Where the first epochs would squeeze all that follows, let them leave the frame, and say so."""
    curves = [(x, y) for x, y in curves if len(x) > 2]
    if not curves:
        return
    late = np.concatenate([y[x >= 0.4 * x.max()] for x, y in curves])
    whole = np.concatenate([y for _, y in curves])
    span = max(float(np.ptp(late)), 1e-6)
    if np.ptp(whole) > 3 * span:
        low, high = float(late.min()) - 0.6 * span, float(late.max()) + 0.6 * span
        axis.set_ylim(max(low, float(whole.min()) - 0.1 * span), high)
        canvas.corner(axis, "the first epochs leave the frame", top=True)
