"""Validation curves of networks against epochs: mean over seeds with its 95% interval."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from reproduction.exhibits import canvas, run_files, stored_traces, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
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


def _curves_of(
    context: Context[Any], entry: TraceSeries
) -> tuple[dict[int, stored_traces.Curves], Setting | None, str]:
    """Return curves of one series by seed, its setting, and why seeds are missing."""
    setting = next(run_files.settings(context, [entry.algorithm]), None)
    if setting is None:
        return {}, None, f"no run of {entry.algorithm}"
    curves_by_seed, missing_reason = {}, ""
    for seed in context.config.seeds(setting.experiment, setting.dataset, setting.algorithm):
        candidates, reason = stored_traces.curves(context, setting, seed)
        name = entry.candidate or next(iter(candidates), "")
        if name in candidates:
            curves_by_seed[seed] = candidates[name]
        else:
            missing_reason = reason or f"no candidate {name!r}"
    return curves_by_seed, setting, missing_reason


def csv_lines(context: Context[EpochCurves]) -> Iterator[Line]:
    """Yield one line per series, seed, epoch and quantity; a note where a series was not run."""
    for entry in context.options.series:
        curves_by_seed, setting, missing_reason = _curves_of(context, entry)
        key = {"dataset": setting.dataset if setting else "", "series": entry.label}
        if not curves_by_seed:
            yield key | {"note": missing_reason}
        for seed, trace in curves_by_seed.items():
            for quantity in context.options.quantities:
                for epoch, value in zip(trace["epoch"], trace[quantity], strict=True):
                    point = {"epoch": float(epoch), "quantity": quantity, "value": round(float(value), 6)}
                    yield key | {"seed": seed} | point


def draw(context: Context[EpochCurves], lines: list[Line]) -> Any:
    """Draw a panel per quantity over epochs, two panels a row."""
    panels = [_panel(context, lines, *quantity) for quantity in context.options.quantities.items()]
    columns = min(2, len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    entries = len(context.options.series)
    return canvas.draw_panels(
        rows, (4.9 * columns, 3.1 * len(rows) + 0.9), {}, columns=3 if entries == 3 else 2, note=canvas.BANDS
    )


def _panel(context: Context[EpochCurves], lines: list[Line], quantity: str, title: str) -> PlotPanel:
    curves = []
    for position, entry in enumerate(context.options.series):
        quantity_points = (point for point in lines if point.get("quantity") == quantity)
        series_points = [point for point in quantity_points if point["series"] == entry.label]
        if not series_points:
            continue
        epochs = sorted({point["epoch"] for point in series_points})
        table = np.array([[point["value"] for point in series_points if point["epoch"] == epoch] for epoch in epochs])
        mean, half_width = table.mean(axis=1), canvas.half_width(table.std(axis=1), table.shape[1])
        line_style = {
            "color": COLOURS[position % len(COLOURS)],
            "ls": DASHES[position % len(DASHES)],
            "label": f"{entry.label} (n = {table.shape[1]})",
        }
        curves.append(PlotCurve(epochs, mean, line_style, band=(mean - half_width, mean + half_width), shade=0.12))

    def finish(axis: Any) -> None:
        if quantity in context.options.limits:
            allowed = context.options.limits[quantity]
            axis.axhline(allowed, color=style.INK, lw=0.8, label=f"constraint: at most {allowed:g}")
        _limit_axis(axis, [(np.asarray(curve.x), np.asarray(curve.y)) for curve in curves])

    reason = "; ".join(dict.fromkeys(point["note"] for point in lines if point.get("note")))
    return PlotPanel(curves, {"title": title, "xlabel": "epochs"}, reason, finish)


def _limit_axis(axis: Any, curves: list[tuple[Any, Any]]) -> None:
    """Let the first epochs leave the frame where they would squeeze all that follow, and say so."""
    curves = [(x, y) for x, y in curves if len(x) > 2]
    if not curves:
        return
    late_values = np.concatenate([y[x >= 0.4 * x.max()] for x, y in curves])
    all_values = np.concatenate([y for _, y in curves])
    span = max(float(np.ptp(late_values)), 1e-6)
    if np.ptp(all_values) > 3 * span:
        low, high = float(late_values.min()) - 0.6 * span, float(late_values.max()) + 0.6 * span
        axis.set_ylim(max(low, float(all_values.min()) - 0.1 * span), high)
        canvas.write_in_corner(axis, "the first epochs leave the frame", top=True)
