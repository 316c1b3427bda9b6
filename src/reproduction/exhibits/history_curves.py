"""Convergence: loss and infeasibility against the number of inner iterations, one method against another."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair import plugins
from reproduction.exhibits import canvas, runs, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts.results import Setting

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "named_seed", "inner_steps", "objective", "infeasibility", "note",
)  # fmt: skip
POINTS = 120  # of one line; histories are thinned to them
LINEAR = 1e-3  # infeasibility is on a logarithmic axis above this, and linear below, where it may be negative
TITLES = {
    "objective": "loss $f_0$",
    "infeasibility": f"infeasibility $\\max_i f_i$\n(linear within ±{LINEAR:g})",
}


class HistoryCurves(Options):
    """Loss and infeasibility of the candidate that each run chose, a column per dataset."""

    source: Literal["history"] = Field("history", description="history: loss and infeasibility along each run")
    algorithms: list[str] = Field(description="two algorithms; the first is said to be ahead", min_length=2)
    kappas: dict[str, float] = Field(description="kappa of each dataset")
    seed: int = Field(0, description="the seed drawn with a bold line")


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
    constraint = context.convention(context.experiments[0]).title
    shown = {
        name: f"{style.dataset_title(name)}, {constraint} at {style.kappa_title(kappa)}"
        for name, kappa in context.options.kappas.items()
    }

    def panel(name: str, dataset: str) -> Panel:
        return _panel([p for p in found if p["dataset"] == dataset], name, _allowed(context))

    panels = canvas.grid(TITLES, shown, panel, "inner iterations")
    note = f"Bold: seed {context.options.seed}; thin: the other seeds. The horizontal axis is linear up to 100."
    return canvas.figure(panels, (3.5 * len(shown) + 0.4, 6.2), {"sharex": "col"}, width=3.2, note=note)


def algorithm_of(points: list[Line]) -> str:
    """The first algorithm of a panel, which is said to be ahead."""
    return str(points[0]["algorithm"])


def _allowed(context: Context[HistoryCurves]) -> float:
    """The largest violation that the first algorithm's tuning accepts; 0 if it states none."""
    name = context.options.algorithms[0]
    given = context.config.algorithm_settings(context.experiments[0], name)
    settings = plugins.load("algorithms", name).ALGORITHM.settings(**given)
    return max(map(float, getattr(settings, "tolerances", [0.0])))


def _panel(points: list[Line], name: str, allowed: float = 0.0) -> Panel:
    """One quantity: a bold line for the named seed, thin ones for the others, a dot where a run ends."""
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
            thin = {"color": look.colour, "lw": 0.6, "zorder": 3}
            curves.append(Curve.through(path, thin | {"alpha": style.faint(look.colour)}))

    def finish(axis: Any) -> None:
        axis.set_xscale("symlog", linthresh=100, linscale=0.3)
        axis.set_xticks([0, 100, 1_000, 10_000], ["0", "100", "1,000", "10,000"])
        axis.set_xticks([], minor=True)
        axis.set_xlim(left=0)
        if name == "infeasibility":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            if allowed:
                words = f"allowed to {style.look(algorithm_of(points)).label}: at most {allowed:g}"
                axis.axhspan(0.0, allowed, color=style.GRID, alpha=0.55, lw=0, zorder=0, label=words)
            axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)

    return Panel(curves, {}, points[0]["note"] if points and not drawn else "", finish)
