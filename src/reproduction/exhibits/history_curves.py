"""Convergence: loss and infeasibility against the number of inner iterations, one method against another."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from partialfair import plugins
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts.results import Setting

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "named_seed", "protocol", "inner_steps", "objective", "infeasibility",
    "note",
)  # fmt: skip
POINTS = 120  # of one line; histories are thinned to them
_LINEAR = 1e-3  # infeasibility is on a logarithmic axis above this, and linear below, where it may be negative
TITLES = {
    "objective": "loss $f_0$",
    "infeasibility": f"infeasibility $\\max_i f_i$\n(linear within ±{_LINEAR:g})",
}


class Protocol(BaseModel):
    """Further runs that the CSV has and the figure does not show: another protocol, or other tolerances."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(description="what the column protocol calls it")
    experiments: dict[str, str] = Field(description="by algorithm, the experiment of its runs")
    kappas: dict[str, list[float]] = Field(description="tolerances by dataset")


class HistoryCurves(Options):
    """Loss and infeasibility of the candidate that each run chose, a column per dataset."""

    source: Literal["history"] = Field("history", description="history: loss and infeasibility along each run")
    algorithms: list[str] = Field(description="two algorithms; the first is said to be ahead", min_length=2)
    kappas: dict[str, float] = Field(description="kappa of each dataset")
    seed: int = Field(0, description="the seed drawn with a bold line")
    protocol: str = Field("printed", description="what the column protocol calls the runs of the figure")
    protocols: list[Protocol] = Field([], description="further runs, for claims to read")


def settings(context: Context[HistoryCurves]) -> dict[str, list[Setting]]:
    """Return settings by dataset, one per algorithm at the dataset's kappa."""
    experiment, options = context.experiments[0], context.options
    return {
        dataset: [Setting(experiment, dataset, name, float(kappa)) for name in options.algorithms]
        for dataset, kappa in options.kappas.items()
    }


def thinned(history: pd.DataFrame, points: int) -> pd.DataFrame:
    """Return about ``points`` rows, dense at the start, where most happens; the first and the last are among them."""
    if len(history) <= points:
        return history
    early = np.geomspace(1, len(history), points // 2)
    even = np.linspace(1, len(history), points // 2)
    return history.iloc[np.unique(np.rint(np.concatenate([early, even])).astype(int)) - 1]


def csv_lines(context: Context[HistoryCurves]) -> Iterator[Line]:
    """Yield one line of ``COLUMNS`` per point; a run without a history has a line with a note."""
    protocol_settings = [
        (context.options.protocol, setting) for group in settings(context).values() for setting in group
    ]
    for protocol, setting in [*protocol_settings, *_further(context)]:
        for seed in context.config.seeds(setting.experiment, setting.dataset, setting.algorithm):
            key = {name: getattr(setting, name) for name in COLUMNS[:3]} | {"seed": seed}
            key |= {"named_seed": int(seed == context.options.seed), "protocol": protocol}
            history, reason = run_files.history(context, setting, seed)
            if history is None:
                yield key | {"note": reason}
                continue
            for row in thinned(history, POINTS).itertuples():
                yield key | {
                    "inner_steps": int(row.inner_steps), "objective": round(float(row.objective), 7),
                    "infeasibility": round(float(row.max_violation), 7),
                }  # fmt: skip


def _further(context: Context[HistoryCurves]) -> Iterator[tuple[str, Setting]]:
    """Yield the settings of the further protocols that the grid has."""
    for protocol in context.options.protocols:
        for algorithm, experiment in protocol.experiments.items():
            for dataset, kappas in protocol.kappas.items():
                run = context.config.experiment(experiment).runs.get(dataset)
                offered = run.algorithms.get(algorithm, []) if run is not None else []
                for kappa in kappas:
                    if kappa in offered:
                        yield protocol.name, Setting(experiment, dataset, algorithm, float(kappa))


def draw(context: Context[HistoryCurves], lines: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    figure = {(name, kappa) for name, kappa in context.options.kappas.items()}
    lines = [
        line
        for line in lines
        if line["protocol"] == context.options.protocol and (line["dataset"], line["kappa"]) in figure
    ]
    constraint = context.convention(context.experiments[0]).title
    titles = {
        name: f"{style.dataset_title(name)}, {constraint} at {style.kappa_title(kappa)}"
        for name, kappa in context.options.kappas.items()
    }

    def panel(name: str, dataset: str) -> PlotPanel:
        return _panel([line for line in lines if line["dataset"] == dataset], name, _allowed(context))

    panels = canvas.panel_grid(TITLES, titles, panel, "inner iterations")
    note = f"Bold: seed {context.options.seed}; thin: the other seeds. The horizontal axis is linear up to 100."
    return canvas.draw_panels(panels, (3.5 * len(titles) + 0.4, 6.2), {"sharex": "col"}, width=3.2, note=note)


def _algorithm_of(points: list[Line]) -> str:
    """Return the first algorithm of a panel, which is said to be ahead."""
    return str(points[0]["algorithm"])


def _allowed(context: Context[HistoryCurves]) -> float:
    """Return the largest violation that the first algorithm's tuning accepts; 0 if it states none."""
    name = context.options.algorithms[0]
    options = context.config.algorithm_settings(context.experiments[0], name)
    settings = plugins.load("algorithms", name).ALGORITHM.settings(**options)
    return max(map(float, getattr(settings, "tolerances", [0.0])))


def _panel(points: list[Line], name: str, allowed: float = 0.0) -> PlotPanel:
    """Return the panel of a quantity: a bold line for the named seed, thin ones for others, a dot where a run ends."""
    points_of_runs = [point for point in points if "inner_steps" in point]
    curves = []
    for algorithm, seed in dict.fromkeys((point["algorithm"], point["seed"]) for point in points_of_runs):
        method_style = style.plot_style(algorithm)
        run_points = [point for point in points_of_runs if (point["algorithm"], point["seed"]) == (algorithm, seed)]
        path = [(point["inner_steps"], point[name]) for point in run_points]
        if run_points[0]["named_seed"]:
            line_style = {
                "color": method_style.colour,
                "lw": 1.8,
                "ls": method_style.dash,
                "label": method_style.label,
                "zorder": 4,
            }
            end_style = {"marker": method_style.marker, "ms": 6, "markevery": [len(path) - 1]}
            curves.append(PlotCurve.through(path, line_style | end_style))
        else:
            thin_style = {"color": method_style.colour, "lw": 0.6, "zorder": 3}
            curves.append(PlotCurve.through(path, thin_style | {"alpha": style.faint(method_style.colour)}))

    def finish(axis: Any) -> None:
        axis.set_xscale("symlog", linthresh=100, linscale=0.3)
        axis.set_xticks([0, 100, 1_000, 10_000], ["0", "100", "1,000", "10,000"])
        axis.set_xticks([], minor=True)
        axis.set_xlim(left=0)
        if name == "infeasibility":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            if allowed:
                label = f"allowed to {style.plot_style(_algorithm_of(points)).label}: at most {allowed:g}"
                axis.axhspan(0.0, allowed, color=style.GRID, alpha=0.55, lw=0, zorder=0, label=label)
            axis.set_yscale("symlog", linthresh=_LINEAR, linscale=0.5)

    return PlotPanel(curves, {}, points[0]["note"] if points and not points_of_runs else "", finish)
