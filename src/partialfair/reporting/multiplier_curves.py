"""Multipliers of a primal-dual method against iterations: lambda, mu and their distance, one column per dataset."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.reporting import canvas, runs, style, traces
from partialfair.reporting.canvas import Curve, Panel
from partialfair.reporting.exhibit import Context, Line, Options
from partialfair.reporting.trace_curves import DASHES, DOTTED, dataset_title, of_first_seed, optimum

COLUMNS = ("dataset", "candidate", "iteration", "distance", "lam", "mu", "optimal_multiplier", "note")
SETTLED, NEAR = 1e-2, 0.03  # distances of multipliers that count as met, and as near the optimum's
POINTS = 150  # of one curve


class MultiplierCurves(Options):
    """Multipliers lambda and mu and their distance against iterations, one column per dataset."""

    source: Literal["multipliers"] = Field(description="multipliers: lambda and mu of a primal-dual method")
    algorithm: str = Field("plada", description="whose runs")
    labels: dict[str, str] = Field({}, description="what candidates are called")
    dataset_titles: dict[str, str] = Field({}, description="titles of datasets in place of their own")


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
            for at in np.unique(np.rint(np.geomspace(1, len(dual["lam"]) - 1, POINTS)).astype(int)):
                yield {
                    "dataset": setting.dataset, "candidate": name, "iteration": int(trace["iteration"][at]),
                    "distance": float(f"{dual['distance'][at]:.6g}"), "lam": round(float(dual["lam"][at]), 7),
                    "mu": round(float(dual["mu"][at]), 7), "optimal_multiplier": best,
                }  # fmt: skip


def draw(context: Context[MultiplierCurves], found: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    shown = runs.datasets(context)
    titles = {"distance": "$|\\lambda - \\mu|$", "lam": "$\\lambda$", "mu": "$\\mu$"}
    panels = [
        [
            _panel(context, [p for p in found if p["dataset"] == dataset and "iteration" in p], quantity)
            | {
                "title": dataset_title(context, dataset) if quantity == "distance" else "",
                "ylabel": "" if column else title,
            }
            | ({"xlabel": "iterations"} if quantity == "mu" else {})
            for column, dataset in enumerate(shown)
        ]
        for quantity, title in titles.items()
    ]
    return canvas.figure(panels, (3.5 * len(shown) + 0.4, 7.0), {"sharex": "col"}, columns=4)


def _panel(context: Context[MultiplierCurves], points: list[Line], quantity: str) -> Panel:
    curves = []
    for place, name in enumerate(dict.fromkeys(p["candidate"] for p in points)):
        own = [(p["iteration"], p[quantity]) for p in points if p["candidate"] == name]
        colour = ("#0072B2", "#D55E00", "#009E73")[place % 3]
        label = context.options.labels.get(name, name)
        curves.append(Curve.through(own, {"color": colour, "ls": DASHES[place % 3], "label": label}))

    def finish(axis: Any) -> None:
        axis.set_xscale("log")
        if quantity == "distance":
            axis.set_yscale("log")
        else:
            axis.axhline(points[0]["optimal_multiplier"], color=style.INK, lw=0.9, ls=DOTTED, label="optimum")

    return Panel(curves, {}, finish=finish)


def claims(context: Context[MultiplierCurves]) -> list[Line]:
    """Scorecard lines: lambda and mu meet, and they meet at the multiplier of the exact optimum."""
    found_lines: list[Line] = []
    for setting in runs.settings(context, [context.options.algorithm]):
        found, reason = of_first_seed(context, setting)
        best = optimum(context, setting.dataset)[1]
        for name in list(found) if found else [""]:
            value = near = None
            note = other = reason
            if found:
                dual = duals(found[name])
                distance, lam = float(dual["distance"][-1]), float(dual["lam"][-1])
                value, near = SETTLED - distance, NEAR - abs(lam - best)
                note = f"|lambda - mu| {distance:.1e} after {len(dual['lam']) - 1} iterations"
                other = f"lambda {lam:.4f}, optimum {best:.4f}"
            found_lines += [
                traces.finding(context, setting, "Lambda and mu meet (Theorem 2)", f"{SETTLED} minus the last distance",
                               value, note, name),
                traces.finding(context, setting, "Lambda converges to the multiplier of the constrained optimum",
                               f"{NEAR} minus the distance to the exact optimum's", near, other, name),
            ]  # fmt: skip
    return found_lines
