"""Multipliers of a primal-dual method and its squared residual against iterations: one column per dataset."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from reproduction.exhibits import canvas, run_files, stored_traces, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.exhibits.trace_curves import DASHES, DOTTED, dataset_titles, first_seed_curves, optimum

COLUMNS = ("dataset", "candidate", "iteration", "distance", "lam", "mu", "optimal_multiplier", "relative_distance",
           "relative_lam", "relative_mu", "relative_error", "note")  # fmt: skip
RESIDUAL_COLUMNS = ("dataset", "candidate", "iteration", "average", "last", "rate", "note")
TITLES = {"distance": "$|\\lambda - \\mu|$", "lam": "$\\lambda$", "mu": "$\\mu$"}
ACTIVE = 0.01  # share of the optimum's multiplier that lambda has to exceed for the constraint to have been active
POINTS = 150  # of one curve
_CANDIDATE_STYLES: tuple[dict[str, Any], ...] = (
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


def _shown_iterations(last: int) -> Any:
    """Return the iterations of a curve that are shown, from 1 to ``last``, dense at the start."""
    return np.unique(np.rint(np.geomspace(1, last, POINTS)).astype(int))


def _curves(context: Context[Any], points: list[Line], quantity: str) -> list[PlotCurve]:
    """Return a curve of one quantity per candidate."""
    curves = []
    for position, name in enumerate(dict.fromkeys(point["candidate"] for point in points)):
        coordinates = [(point["iteration"], point[quantity]) for point in points if point["candidate"] == name]
        line_style = _CANDIDATE_STYLES[position % 3] | {"label": context.options.labels.get(name, name)}
        curves.append(PlotCurve.through(coordinates, line_style))
    return curves


# --- multipliers ---------------------------------------------------------------------------------------------------


def _dual_norms(trace: stored_traces.Curves) -> dict[str, Any]:
    """Return distance of lambda and mu, and the sums of their components, by iteration."""
    lam, mu = (np.array([trace[key] for key in sorted(trace) if key.startswith(prefix)]) for prefix in ("lam", "mu"))
    return {"distance": np.linalg.norm(lam - mu, axis=0), "lam": lam.sum(axis=0), "mu": mu.sum(axis=0)}


def csv_lines(context: Context[MultiplierCurves]) -> Iterator[Line]:
    """Yield points of all candidates; a line with a note for a dataset that was not run."""
    for setting in run_files.settings(context, [context.options.algorithm]):
        candidates, reason = first_seed_curves(context, setting)
        optimal_multiplier = round(optimum(context, setting.dataset)[1], 6)
        if not candidates:
            yield {"dataset": setting.dataset, "note": reason}
        for name, trace in candidates.items():
            dual = _dual_norms(trace)
            was_active = optimal_multiplier > 0 and np.abs(dual["lam"][1:]).max() > ACTIVE * optimal_multiplier
            scale = optimal_multiplier if was_active else None
            for index in _shown_iterations(len(dual["lam"]) - 1):
                yield {
                    "dataset": setting.dataset, "candidate": name, "iteration": int(trace["iteration"][index]),
                    "distance": float(f"{dual['distance'][index]:.6g}"), "lam": round(float(dual["lam"][index]), 7),
                    "mu": round(float(dual["mu"][index]), 7), "optimal_multiplier": optimal_multiplier,
                } | _relative_to_optimum(dual, int(index), scale)  # fmt: skip


def _relative_to_optimum(dual: dict[str, Any], index: int, scale: float | None) -> Line:
    """Return the multipliers in units of the optimum's; only a note where the constraint was never active."""
    if scale is None:
        return {"note": "the constraint was never active"}
    values = {
        "relative_distance": dual["distance"][index],
        "relative_lam": dual["lam"][index],
        "relative_mu": dual["mu"][index],
        "relative_error": abs(dual["lam"][index] - scale),
    }
    return {name: float(f"{value / scale:.6g}") for name, value in values.items()}


def draw(context: Context[MultiplierCurves], lines: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    titles = dataset_titles(context)

    def panel(quantity: str, dataset: str) -> PlotPanel:
        points = [point for point in lines if point["dataset"] == dataset and "iteration" in point]

        def finish(axis: Any) -> None:
            axis.set_xscale("log")
            if quantity == "distance":
                axis.set_yscale("log")
            else:
                axis.axhline(points[0]["optimal_multiplier"], color=style.INK, lw=0.9, ls=DOTTED, label="optimum")

        return PlotPanel(_curves(context, points, quantity), {}, finish=finish)

    panels = canvas.panel_grid(TITLES, titles, panel, "iterations")
    return canvas.draw_panels(panels, (3.5 * len(titles) + 0.4, 7.0), {"sharex": "col"}, columns=4)


# --- residuals -----------------------------------------------------------------------------------------------------


def _residual_averages(trace: stored_traces.Curves) -> tuple[np.ndarray, np.ndarray]:
    """Return squared residual of the iterations 1 to T, and its running average, (T,)."""
    squares = np.sum([trace[name] for name in sorted(trace) if name.startswith("residual")], axis=0)[1:]
    return squares, np.cumsum(squares) / np.arange(1, len(squares) + 1)


def residual_lines(context: Context[ResidualCurves]) -> Iterator[Line]:
    """Yield points of all candidates; a line with a note for a dataset that was not run."""
    for setting in run_files.settings(context, [context.options.algorithm]):
        candidates, reason = first_seed_curves(context, setting)
        recorded = {name: trace for name, trace in candidates.items() if "residual0" in trace}
        if not recorded:
            yield {"dataset": setting.dataset, "note": reason or "the run recorded no residual"}
        for name, trace in recorded.items():
            squares, mean = _residual_averages(trace)
            anchor = min(ANCHOR, len(mean))
            scale = mean[anchor - 1] * anchor / np.log(anchor)
            for iteration in _shown_iterations(len(mean)):
                yield {
                    "dataset": setting.dataset, "candidate": name, "iteration": int(iteration),
                    "average": float(f"{mean[iteration - 1]:.6g}"), "last": float(f"{squares[iteration - 1]:.6g}"),
                    "rate": float(f"{scale * np.log(iteration) / iteration:.6g}") if iteration > 1 else None,
                }  # fmt: skip


def draw_residuals(context: Context[ResidualCurves], lines: list[Line]) -> Any:
    """Draw the average squared residual over iterations, a panel per dataset."""
    titles = dataset_titles(context)

    def panel(_: str, dataset: str) -> PlotPanel:
        return _residual_panel(context, [point for point in lines if point["dataset"] == dataset])

    panels = canvas.panel_grid({"": "average squared residual"}, titles, panel, "iterations $T$")
    return canvas.draw_panels(panels, (3.5 * len(titles) + 0.4, 3.6), {}, columns=4)


def _residual_panel(context: Context[ResidualCurves], points: list[Line]) -> PlotPanel:
    averaged = [point for point in points if "average" in point]
    curves = _curves(context, averaged, "average")
    first_candidate = [point for point in averaged if point["candidate"] == averaged[0]["candidate"]]
    rates = [(point["iteration"], point["rate"]) for point in first_candidate if point["iteration"] >= 10]
    line_style = {"color": style.INK, "lw": 0.9, "ls": DOTTED, "label": "log(T)/T"}
    curves[1:1] = [PlotCurve.through(rates, line_style)] if averaged else []

    def finish(axis: Any) -> None:
        axis.set_xscale("log")
        axis.set_yscale("log")

    reason = "; ".join(dict.fromkeys(point["note"] for point in points if point.get("note")))
    return PlotPanel(curves, {}, reason, finish)
