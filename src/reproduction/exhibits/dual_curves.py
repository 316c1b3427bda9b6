"""Multipliers of a primal-dual method and its squared residual against iterations: one column per dataset."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from reproduction.exhibits import canvas, runs, style, traces
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.trace_curves import DASHES, DOTTED, dataset_titles, of_first_seed, optimum

COLUMNS = ("dataset", "candidate", "iteration", "distance", "lam", "mu", "optimal_multiplier", "relative_distance",
           "relative_lam", "relative_mu", "relative_error", "note")  # fmt: skip
RESIDUAL_COLUMNS = ("dataset", "candidate", "iteration", "average", "last", "rate", "note")
TITLES = {"distance": "$|\\lambda - \\mu|$", "lam": "$\\lambda$", "mu": "$\\mu$"}
ACTIVE = 0.01  # share of the optimum's multiplier that lambda has to exceed for the constraint to have been active
POINTS = 150  # of one curve
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "ls": "-", "lw": 3.6, "alpha": 0.7, "zorder": 3},
    {"color": "#c8500a", "ls": DASHES[1], "lw": 1.5, "zorder": 4},
    {"color": "#262626", "ls": (0, (3.5, 2.5)), "lw": 1.2, "zorder": 5},
)
"""The first is wide and pale, so that a later one which lies upon it is seen with it."""
ANCHOR = 100  # iteration at which log(T)/T is drawn through the first curve


class DualCurves(Options):
    """What curves of residuals and of multipliers both need."""

    source: str
    algorithm: str = Field(description="the primal-dual method whose runs are shown")
    labels: dict[str, str] = Field({}, description="what candidates are called")
    dataset_titles: dict[str, str] = Field({}, description="titles of datasets in place of their own")


class MultiplierCurves(DualCurves):
    """Multipliers lambda and mu and their distance against iterations, one column per dataset."""

    source: Literal["multipliers"] = Field(description="multipliers: lambda and mu of a primal-dual method")


class ResidualCurves(DualCurves):
    """Running average of the squared residual of stationarity against iterations, with the line log(T)/T."""

    source: Literal["residuals"] = Field(description="residuals: the squared residual of a primal-dual method")


def _places(last: int) -> Any:
    """Places of a curve that are shown, from 1 to ``last``, dense at the start."""
    return np.unique(np.rint(np.geomspace(1, last, POINTS)).astype(int))


def _curves(context: Context[Any], points: list[Line], quantity: str) -> list[Curve]:
    """One quantity, a curve per candidate."""
    curves = []
    for place, name in enumerate(dict.fromkeys(p["candidate"] for p in points)):
        own = [(p["iteration"], p[quantity]) for p in points if p["candidate"] == name]
        curves.append(Curve.through(own, LOOKS[place % 3] | {"label": context.options.labels.get(name, name)}))
    return curves


# --- multipliers ---------------------------------------------------------------------------------------------------


def duals(trace: traces.Curves) -> dict[str, Any]:
    """Distance of lambda and mu, and the sums of their components, by iteration."""
    lam, mu = (np.array([trace[key] for key in sorted(trace) if key.startswith(name)]) for name in ("lam", "mu"))
    return {"distance": np.linalg.norm(lam - mu, axis=0), "lam": lam.sum(axis=0), "mu": mu.sum(axis=0)}


def lines(context: Context[MultiplierCurves]) -> Iterator[Line]:
    """Points of all candidates; a line with a note for a dataset that was not run."""
    for setting in runs.settings(context, [context.options.algorithm]):
        found, reason = of_first_seed(context, setting)
        best = round(optimum(context, setting.dataset)[1], 6)
        if not found:
            yield {"dataset": setting.dataset, "note": reason}
        for name, trace in found.items():
            dual = duals(trace)
            scale = best if best > 0 and np.abs(dual["lam"][1:]).max() > ACTIVE * best else None
            for at in _places(len(dual["lam"]) - 1):
                yield {
                    "dataset": setting.dataset, "candidate": name, "iteration": int(trace["iteration"][at]),
                    "distance": float(f"{dual['distance'][at]:.6g}"), "lam": round(float(dual["lam"][at]), 7),
                    "mu": round(float(dual["mu"][at]), 7), "optimal_multiplier": best,
                } | _relative(dual, int(at), scale)  # fmt: skip


def _relative(dual: dict[str, Any], at: int, scale: float | None) -> Line:
    """The same in units of the optimum's multiplier; nothing where the constraint was never active: 0 meets 0."""
    if scale is None:
        return {"note": "the constraint was never active"}
    parts = {
        "relative_distance": dual["distance"][at],
        "relative_lam": dual["lam"][at],
        "relative_mu": dual["mu"][at],
        "relative_error": abs(dual["lam"][at] - scale),
    }
    return {name: float(f"{value / scale:.6g}") for name, value in parts.items()}


def draw(context: Context[MultiplierCurves], found: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    shown = dataset_titles(context)

    def panel(quantity: str, dataset: str) -> Panel:
        points = [p for p in found if p["dataset"] == dataset and "iteration" in p]

        def finish(axis: Any) -> None:
            axis.set_xscale("log")
            if quantity == "distance":
                axis.set_yscale("log")
            else:
                axis.axhline(points[0]["optimal_multiplier"], color=style.INK, lw=0.9, ls=DOTTED, label="optimum")

        return Panel(_curves(context, points, quantity), {}, finish=finish)

    panels = canvas.grid(TITLES, shown, panel, "iterations")
    return canvas.figure(panels, (3.5 * len(shown) + 0.4, 7.0), {"sharex": "col"}, columns=4)


# --- residuals -----------------------------------------------------------------------------------------------------


def averages(trace: traces.Curves) -> tuple[np.ndarray, np.ndarray]:
    """Squared residual of the iterations 1 to T, and its running average, (T,)."""
    squares = np.sum([trace[name] for name in sorted(trace) if name.startswith("residual")], axis=0)[1:]
    return squares, np.cumsum(squares) / np.arange(1, len(squares) + 1)


def residual_lines(context: Context[ResidualCurves]) -> Iterator[Line]:
    """Points of all candidates; a line with a note for a dataset that was not run."""
    for setting in runs.settings(context, [context.options.algorithm]):
        found, reason = of_first_seed(context, setting)
        recorded = {name: trace for name, trace in found.items() if "residual0" in trace}
        if not recorded:
            yield {"dataset": setting.dataset, "note": reason or "the run recorded no residual"}
        for name, trace in recorded.items():
            squares, mean = averages(trace)
            anchor = min(ANCHOR, len(mean))
            scale = mean[anchor - 1] * anchor / np.log(anchor)
            for at in _places(len(mean)):
                yield {
                    "dataset": setting.dataset, "candidate": name, "iteration": int(at),
                    "average": float(f"{mean[at - 1]:.6g}"), "last": float(f"{squares[at - 1]:.6g}"),
                    "rate": float(f"{scale * np.log(at) / at:.6g}") if at > 1 else None,
                }  # fmt: skip


def draw_residuals(context: Context[ResidualCurves], found: list[Line]) -> Any:
    """Average squared residual over iterations, a panel per dataset."""
    shown = dataset_titles(context)

    def panel(_: str, dataset: str) -> Panel:
        return _residual_panel(context, [p for p in found if p["dataset"] == dataset])

    panels = canvas.grid({"": "average squared residual"}, shown, panel, "iterations $T$")
    return canvas.figure(panels, (3.5 * len(shown) + 0.4, 3.6), {}, columns=4)


def _residual_panel(context: Context[ResidualCurves], points: list[Line]) -> Panel:
    drawn = [p for p in points if "average" in p]
    curves = _curves(context, drawn, "average")
    first = [p for p in drawn if p["candidate"] == drawn[0]["candidate"] and p["iteration"] >= 10]
    rate = [(p["iteration"], p["rate"]) for p in first]
    look = {"color": style.INK, "lw": 0.9, "ls": DOTTED, "label": "log(T)/T"}
    curves[1:1] = [Curve.through(rate, look)] if drawn else []

    def finish(axis: Any) -> None:
        axis.set_xscale("log")
        axis.set_yscale("log")

    reason = "; ".join(dict.fromkeys(p["note"] for p in points if p.get("note")))
    return Panel(curves, {}, reason, finish)
