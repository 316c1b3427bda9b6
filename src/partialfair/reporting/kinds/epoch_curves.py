"""Validation curves of networks against epochs: mean over seeds with a band of one standard deviation."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import statements
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "series", "seed", "epoch", "quantity", "value", "note")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#262626", "#CC79A7", "#E69F00")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (8, 2)), "-")


def curves_of(context: Context, entry: dict[str, str]) -> tuple[dict[int, dict[str, Any]], Any, str]:
    """Curves of one series by seed, its setting, and why seeds are missing."""
    setting = next(runs.settings(context, [entry["algorithm"]]), None)
    if setting is None:
        return {}, None, f"no run of {entry['algorithm']}"
    found, why = {}, ""
    for seed in context.config.seeds(setting.experiment):
        by_name, reason = traces.curves(context, setting, seed)
        name = entry.get("candidate") or next(iter(by_name), "")
        if name in by_name:
            found[seed] = by_name[name]
        else:
            why = reason or f"no candidate {name!r}"
    return found, setting, why


def points(context: Context) -> list[dict[str, Any]]:
    """One line per series, seed, epoch and quantity; a note where a series was not run."""
    out: list[dict[str, Any]] = []
    for entry in context.options["series"]:
        found, setting, why = curves_of(context, entry)
        key = {"dataset": setting.dataset if setting else "", "series": entry["label"]}
        if not found:
            out.append(key | {"note": why})
        for seed, trace in found.items():
            for quantity in context.options["quantities"]:
                values = trace[quantity]
                out += [
                    key | {"seed": seed, "epoch": float(e), "quantity": quantity, "value": round(float(v), 6)}
                    for e, v in zip(trace["epoch"], values, strict=True)
                ]
    return out


def _draw(context: Context, drawn: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    quantities = dict(context.options["quantities"])
    columns = 2 if len(quantities) > 1 else 1
    rows = -(-len(quantities) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.9 * columns, 3.1 * rows + 0.7), squeeze=False)
    for axis, (quantity, title) in zip(axes.flat, quantities.items(), strict=False):
        for place, entry in enumerate(context.options["series"]):
            own = [p for p in drawn if p["series"] == entry["label"] and p.get("quantity") == quantity]
            if not own:
                continue
            epochs = sorted({p["epoch"] for p in own})
            table = np.array([[p["value"] for p in own if p["epoch"] == e] for e in epochs])
            middle, spread = table.mean(axis=1), table.std(axis=1, ddof=1) if table.shape[1] > 1 else 0 * table[:, 0]
            axis.plot(
                epochs, middle, color=COLOURS[place], ls=DASHES[place], label=f"{entry['label']} (n = {table.shape[1]})"
            )
            axis.fill_between(epochs, middle - spread, middle + spread, color=COLOURS[place], alpha=0.12, lw=0)
        axis.set_title(title)
        axis.set_xlabel("epochs")
        if quantity in context.options.get("zero", []):
            axis.axhline(0.0, color=style.INK, lw=0.8)
        if len(axis.lines) > (quantity in context.options.get("zero", [])):
            _frame(axis)
        else:
            canvas.empty(axis, "; ".join(dict.fromkeys(p["note"] for p in drawn if p.get("note"))) or "not run")
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    columns = 3 if len(entries) == 3 else 2
    depth = -(-len(entries) // columns)
    figure.tight_layout(rect=(0, (0.15 + 0.24 * depth) / figure.get_size_inches()[1], 1, 1), h_pad=1.2)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=columns)
    return figure


def _frame(axis: Any) -> None:
    """Where the first epochs would squeeze all that follows, let them leave the frame, and say so."""
    shown = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axis.lines[: len(COLOURS)]]
    curves = [(x, y) for x, y in shown if len(x) > 2]  # not the line at 0
    late = np.concatenate([y[x >= 0.4 * x.max()] for x, y in curves])
    whole = np.concatenate([y for _, y in curves])
    span = max(float(np.ptp(late)), 1e-6)
    if np.ptp(whole) <= 3 * span:
        return
    low, high = float(late.min()) - 0.6 * span, float(late.max()) + 0.6 * span
    axis.set_ylim(max(low, float(whole.min()) - 0.1 * span), high)
    axis.text(
        0.98, 0.97, "the first epochs leave the frame", transform=axis.transAxes, ha="right", va="top", fontsize=8,
        color="#6b6b6b", bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
    )  # fmt: skip


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    drawn = points(context)
    return [cells.write_csv(context.path("csv"), COLUMNS, drawn), *canvas.write(context, lambda: _draw(context, drawn))]


def late_mean(trace: dict[str, Any], quantity: str, positive: bool) -> float:
    """Mean of a curve over its second half, of its positive part where that is asked."""
    values = trace[quantity][len(trace["epoch"]) // 2 :]
    return float(np.mean(np.maximum(values, 0.0) if positive else values))


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines of the entry's ``compare``: the first series is the lower one in the second half."""
    lines = []
    for wanted in context.options.get("compare", []):
        entries = {entry["label"]: entry for entry in context.options["series"]}
        pair = [curves_of(context, entries[label]) for label in wanted["series"]]
        values = [{s: late_mean(t, wanted["quantity"], wanted["positive"]) for s, t in one[0].items()} for one in pair]
        if pair[0][1] is None:
            continue
        gains = statements.differences(values[1], values[0])
        means = [
            f"{name} {np.mean(list(v.values())):.4f}" for name, v in zip(wanted["series"], values, strict=True) if v
        ]
        metric = f"{wanted['quantity']} of {wanted['series'][1]} minus {wanted['series'][0]}, second half"
        note = "; ".join(means) or pair[0][2]
        lines.append(statements.line(context, pair[0][1], metric, wanted["statement"], gains, note))
    return lines


def reproduce(context: Context, row: Published) -> Outcome:
    """Counts that the paper prints in the text or caption of the figure."""
    if row.metric == "n_repetitions":
        found, _, why = curves_of(context, context.options["series"][0])
        return (
            Outcome(Estimate(float(len(found)), np.nan, np.nan, np.nan, 1), source="seeds that were run")
            if found
            else (Outcome(None, why))
        )
    return Outcome(None, str(context.options.get("absent", "the data are not at hand")))


KINDS = {"epoch_curves": Kind(render, canvas.inline, reproduce=reproduce, claims=claims)}
