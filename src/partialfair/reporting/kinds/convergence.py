"""Convergence: loss and infeasibility against the number of inner iterations, one method against another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "named_seed", "inner_steps", "objective", "infeasibility", "note",
)  # fmt: skip
POINTS = 120  # of one line; histories are thinned to them
LINEAR = 1e-3  # infeasibility is on a logarithmic axis above this, and linear below, where it may be negative


def settings(context: Context) -> dict[str, list[Setting]]:
    """Settings by dataset, one per algorithm of the option ``algorithms`` at the dataset's kappa."""
    experiment = context.experiments[0]
    return {
        dataset: [Setting(experiment, dataset, str(name), float(kappa)) for name in context.options["algorithms"]]
        for dataset, kappa in context.options["kappas"].items()
    }


def thinned(history: pd.DataFrame, points: int) -> pd.DataFrame:
    """Return about ``points`` rows, dense at the start, where most happens; the first and the last are among them."""
    if len(history) <= points:
        return history
    early = np.geomspace(1, len(history), points // 2)
    even = np.linspace(1, len(history), points // 2)
    return history.iloc[np.unique(np.rint(np.concatenate([early, even])).astype(int)) - 1]


def history_points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one dictionary of ``COLUMNS`` per point; a run without a history is one with a note."""
    return [point for panel in settings(context).values() for one in panel for point in _points(context, one)]


def _points(context: Context, setting: Setting) -> Iterator[dict[str, Any]]:
    named = int(context.options.get("seed", 0))
    for seed in context.config.seeds(setting.experiment):
        content = {"dataset": setting.dataset, "algorithm": setting.algorithm, "kappa": setting.kappa, "seed": seed}
        content |= {"named_seed": int(seed == named)}
        history, reason = runs.history(context, setting, seed)
        if history is None:
            yield content | {"note": reason}
            continue
        for row in thinned(history, POINTS).itertuples():
            yield content | {
                "inner_steps": int(row.inner_steps), "objective": round(float(row.objective), 7),
                "infeasibility": round(float(row.max_violation), 7),
            }  # fmt: skip


def _draw(context: Context, points: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    shown = settings(context)
    figure, axes = plt.subplots(2, len(shown), figsize=(3.5 * len(shown) + 0.4, 6.0), squeeze=False, sharex="col")
    for column, (dataset, panel) in enumerate(shown.items()):
        own = [p for p in points if p["dataset"] == dataset]
        for row, name in enumerate(("objective", "infeasibility")):
            _panel(axes[row][column], own, name)
        axes[0][column].set_title(f"{style.dataset_title(dataset)}, {style.kappa_title(panel[0].kappa)}")
        axes[1][column].set_xlabel("inner iterations")
    axes[0][0].set_ylabel("loss $f_0$")
    axes[1][0].set_ylabel("infeasibility $\\max_i f_i$")
    _legend(figure, axes)
    return figure


def _panel(axis: Any, points: list[dict[str, Any]], name: str) -> None:
    """Draw one quantity: a strong line for the named seed, faint ones for the others, a dot where a run ends."""
    drawn = [p for p in points if "inner_steps" in p]
    if not drawn:
        canvas.empty(axis, points[0]["note"] if points else "not run")
        return
    for algorithm in dict.fromkeys(p["algorithm"] for p in drawn):
        look = style.look(algorithm)
        for seed in dict.fromkeys(p["seed"] for p in drawn):
            own = [p for p in drawn if (p["algorithm"], p["seed"]) == (algorithm, seed)]
            if not own:
                continue
            named = bool(own[0]["named_seed"])
            weight = {"lw": 1.8, "ls": look.dash, "label": look.label} if named else {"lw": 0.7, "alpha": 0.45}
            at, height = [p["inner_steps"] for p in own], [p[name] for p in own]
            axis.plot(at, height, color=look.colour, zorder=4 if named else 3, **weight)
            if named:
                axis.plot(at[-1:], height[-1:], look.marker, color=look.colour, ms=6, zorder=5)
    axis.set_xscale("symlog", linthresh=100, linscale=0.3)
    axis.set_xticks([0, 1_000, 10_000], ["0", "1,000", "10,000"])
    axis.set_xticks([], minor=True)
    axis.set_xlim(left=0)
    if name == "infeasibility":
        axis.axhline(0.0, color=style.INK, lw=0.8)
        axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)


def _legend(figure: Any, axes: Any) -> None:
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.tight_layout(rect=(0, 0.06, 1, 1), h_pad=1.0, w_pad=1.2)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=len(entries))


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    points = history_points(context)
    paths = canvas.write(context, lambda: _draw(context, points))
    return [cells.write_csv(context.path("csv"), COLUMNS, points), *paths]


def loss_at_equal_infeasibility(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float, float]:
    """Return the lowest loss of each history at no more than the same infeasibility, and that infeasibility.

    It is the larger of what the two runs end with, so that both have a point that counts. All steps of both count.
    """
    level = max(float(one["max_violation"].iloc[-1]) for one in (first, second))
    losses = []
    for one in (first, second):
        allowed = one[one["max_violation"] <= level + 1e-12]
        losses.append(float(allowed["objective"].min()))
    return losses[0], losses[1], level


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: the first algorithm's loss at equal infeasibility is below the second's."""
    return [_claim(context, *panel[:2]) for panel in settings(context).values()]


def _claim(context: Context, first: Setting, second: Setting) -> dict[str, Any]:
    gains, pairs, reasons = [], [], {}
    for seed in context.config.seeds(first.experiment):
        (one, why), (other, why_not) = (runs.history(context, setting, seed) for setting in (first, second))
        if one is None or other is None:
            reasons[why or why_not] = seed
            continue
        pairs.append(loss_at_equal_infeasibility(one, other))
        gains.append(pairs[-1][1] - pairs[-1][0])
    names = [style.look(setting.algorithm).label for setting in (first, second)]
    note = "; ".join(reasons)
    if pairs:
        mean = np.mean(pairs, axis=0)
        measured = f"{names[0]} {mean[0]:.5f}, {names[1]} {mean[1]:.5f} at infeasibility {mean[2]:.1e} or less"
        note = "; ".join(filter(None, [measured, note]))
    statement = f"{names[0]} reaches a lower loss than {names[1]} at equal infeasibility"
    return statements.line(context, first, f"training loss of {names[1]} minus {names[0]}", statement, gains, note)


KINDS = {"convergence": Kind(render, canvas.inline, claims=claims)}
