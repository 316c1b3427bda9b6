"""Convergence: loss and infeasibility against the number of inner iterations, one method against another."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair.reporting import canvas, runs, style
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "named_seed", "inner_steps", "objective", "infeasibility", "note",
)  # fmt: skip
POINTS = 120  # of one line; histories are thinned to them
LINEAR = 1e-3  # infeasibility is on a logarithmic axis above this, and linear below, where it may be negative
TITLES = {"objective": "loss $f_0$", "infeasibility": "infeasibility $\\max_i f_i$"}


class HistoryCurves(Options):
    """Loss and infeasibility of the candidate that each run chose, a column per dataset."""

    source: Literal["history"] = Field("history", description="history: loss and infeasibility along each run")
    algorithms: list[str] = Field(description="two algorithms; the first is said to be ahead", min_length=2)
    kappas: dict[str, float] = Field(description="kappa of each dataset")
    seed: int = Field(0, description="the seed drawn with a strong line")


def settings(context: Context[HistoryCurves]) -> dict[str, list[Setting]]:
    """Settings by dataset, one per algorithm at the dataset's kappa."""
    experiment, shown = context.experiments[0], context.options
    return {
        dataset: [Setting(experiment, dataset, name, float(kappa)) for name in shown.algorithms]
        for dataset, kappa in shown.kappas.items()
    }


def thinned(history: pd.DataFrame, points: int) -> pd.DataFrame:
    """Return about ``points`` rows, dense at the start, where most happens; the first and the last are among them."""
    if len(history) <= points:
        return history
    early = np.geomspace(1, len(history), points // 2)
    even = np.linspace(1, len(history), points // 2)
    return history.iloc[np.unique(np.rint(np.concatenate([early, even])).astype(int)) - 1]


def lines(context: Context[HistoryCurves]) -> Iterator[Line]:
    """What the figure shows, one dictionary of ``COLUMNS`` per point; a run without a history is one with a note."""
    for setting in (one for panel in settings(context).values() for one in panel):
        for seed in context.config.seeds(setting.experiment):
            key = {name: getattr(setting, name) for name in COLUMNS[:3]} | {"seed": seed}
            key["named_seed"] = int(seed == context.options.seed)
            history, reason = runs.history(context, setting, seed)
            if history is None:
                yield key | {"note": reason}
                continue
            for row in thinned(history, POINTS).itertuples():
                yield key | {
                    "inner_steps": int(row.inner_steps), "objective": round(float(row.objective), 7),
                    "infeasibility": round(float(row.max_violation), 7),
                }  # fmt: skip


def draw(context: Context[HistoryCurves], found: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    shown = context.options.kappas
    panels = [
        [
            _panel([p for p in found if p["dataset"] == dataset], name)
            | {"title": "" if row else f"{style.dataset_title(dataset)}, {style.kappa_title(kappa)}"}
            | {"xlabel": "inner iterations" if row else "", "ylabel": "" if column else title}
            for column, (dataset, kappa) in enumerate(shown.items())
        ]
        for row, (name, title) in enumerate(TITLES.items())
    ]
    return canvas.figure(panels, (3.5 * len(shown) + 0.4, 6.0), {"sharex": "col"})


def _panel(points: list[Line], name: str) -> Panel:
    """One quantity: a strong line for the named seed, faint ones for the others, a dot where a run ends."""
    drawn = [p for p in points if "inner_steps" in p]
    curves = []
    for algorithm, seed in dict.fromkeys((p["algorithm"], p["seed"]) for p in drawn):
        look = style.look(algorithm)
        own = [p for p in drawn if (p["algorithm"], p["seed"]) == (algorithm, seed)]
        path = [(p["inner_steps"], p[name]) for p in own]
        if own[0]["named_seed"]:
            strong = {"color": look.colour, "lw": 1.8, "ls": look.dash, "label": look.label, "zorder": 4}
            end = {"marker": look.marker, "ms": 6, "markevery": [len(path) - 1]}
            curves.append(Curve.through(path, strong | end))
        else:
            curves.append(Curve.through(path, {"color": look.colour, "lw": 0.7, "alpha": 0.45, "zorder": 3}))

    def finish(axis: Any) -> None:
        axis.set_xscale("symlog", linthresh=100, linscale=0.3)
        axis.set_xticks([0, 1_000, 10_000], ["0", "1,000", "10,000"])
        axis.set_xticks([], minor=True)
        axis.set_xlim(left=0)
        if name == "infeasibility":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)

    return Panel(curves, {}, points[0]["note"] if points and not drawn else "", finish)


def loss_at_equal_infeasibility(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float, float]:
    """Return the lowest loss of each history at no more than the same infeasibility, and that infeasibility.

    It is the larger of what the two runs end with, so that both have a point that counts. All steps of both count.
    """
    level = max(float(one["max_violation"].iloc[-1]) for one in (first, second))
    losses = [float(one[one["max_violation"] <= level + 1e-12]["objective"].min()) for one in (first, second)]
    return losses[0], losses[1], level


def claims(context: Context[HistoryCurves]) -> list[Line]:
    """Scorecard lines: the first algorithm's loss at equal infeasibility is below the second's."""
    return [_claim(context, *panel[:2]) for panel in settings(context).values()]


def _claim(context: Context[Any], first: Setting, second: Setting) -> Line:
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
