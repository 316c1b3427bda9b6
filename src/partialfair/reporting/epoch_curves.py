"""Validation curves of networks against epochs: mean over seeds with a band of one standard deviation."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from partialfair.metrics.uncertainty import Estimate
from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.reporting.trace_curves import TraceSeries
from partialfair.verdicts import statements
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting

COLUMNS = ("dataset", "series", "seed", "epoch", "quantity", "value", "note")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#262626", "#CC79A7", "#E69F00")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (8, 2)), "-")


class Comparison(BaseModel):
    """A statement that the first of two series is the lower one in the second half."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    series: list[str] = Field(description="labels of the two series, the lower one first", min_length=2, max_length=2)
    quantity: str = Field(description="what is compared")
    positive: bool = Field(False, description="compare the positive part only")
    statement: str = Field(description="what the paper says")


class EpochCurves(Options):
    """Quantities on validation rows against epochs, a panel each."""

    source: Literal["epochs"] = Field(description="epochs: validation curves of networks")
    series: list[TraceSeries] = Field(description="lines of every panel")
    quantities: dict[str, str] = Field(description="quantities shown, with the titles of their panels")
    zero: list[str] = Field([], description="quantities whose panels have a line at 0")
    compare: list[Comparison] = Field([], description="statements on two of the series")
    absent: str = Field("the data are not at hand", description="why published numbers are not reproduced")


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
    """Draw two panels a row."""
    panels = [_panel(context, found, *quantity) for quantity in context.options.quantities.items()]
    columns = min(2, len(panels))
    rows = [panels[place : place + columns] for place in range(0, len(panels), columns)]
    entries = len(context.options.series)
    return canvas.figure(rows, (4.9 * columns, 3.1 * len(rows) + 0.7), {}, columns=3 if entries == 3 else 2)


def _panel(context: Context[EpochCurves], found: list[Line], quantity: str, title: str) -> Panel:
    curves = []
    for place, entry in enumerate(context.options.series):
        own = [p for p in found if p["series"] == entry.label and p.get("quantity") == quantity]
        if not own:
            continue
        epochs = sorted({p["epoch"] for p in own})
        table = np.array([[p["value"] for p in own if p["epoch"] == e] for e in epochs])
        middle, spread = table.mean(axis=1), table.std(axis=1, ddof=1) if table.shape[1] > 1 else 0 * table[:, 0]
        look = {"color": COLOURS[place], "ls": DASHES[place], "label": f"{entry.label} (n = {table.shape[1]})"}
        curves.append(Curve(epochs, middle, look, band=(middle - spread, middle + spread), shade=0.12))

    def finish(axis: Any) -> None:
        if quantity in context.options.zero:
            axis.axhline(0.0, color=style.INK, lw=0.8)
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


def late_mean(trace: traces.Curves, quantity: str, positive: bool) -> float:
    """Mean of a curve over its second half, of its positive part where that is asked."""
    values = trace[quantity][len(trace["epoch"]) // 2 :]
    return float(np.mean(np.maximum(values, 0.0) if positive else values))


def claims(context: Context[EpochCurves]) -> list[Line]:
    """Scorecard lines of the option ``compare``: the first series is the lower one in the second half."""
    found: list[Line] = []
    entries = {entry.label: entry for entry in context.options.series}
    for wanted in context.options.compare:
        pair = [curves_of(context, entries[label]) for label in wanted.series]
        values = [{s: late_mean(t, wanted.quantity, wanted.positive) for s, t in one[0].items()} for one in pair]
        if pair[0][1] is None:
            continue
        gains = statements.differences(values[1], values[0])
        means = [f"{name} {np.mean(list(v.values())):.4f}" for name, v in zip(wanted.series, values, strict=True) if v]
        metric = f"{wanted.quantity} of {wanted.series[1]} minus {wanted.series[0]}, second half"
        note = "; ".join(means) or pair[0][2]
        found.append(statements.line(context, pair[0][1], metric, wanted.statement, gains, note))
    return found


def reproduce(context: Context[EpochCurves], row: Published) -> Outcome:
    """Counts that the paper prints in the text or caption of the figure."""
    if row.metric != "n_repetitions":
        return Outcome(None, context.options.absent)
    found, _, why = curves_of(context, context.options.series[0])
    count = Estimate(float(len(found)), np.nan, np.nan, np.nan, 1)
    return Outcome(count, source="seeds that were run") if found else Outcome(None, why)
