"""Curves of training that the models keep: methods side by side, and candidates of one run."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from partialfair.metrics.uncertainty import Estimate
from reproduction.exhibits import canvas, run_files, stored_traces, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid.tidy import USABLE
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting

METHOD_COLUMNS = (
    "dataset", "series", "iteration", "work", "cpu_seconds", "loss", "violation", "best_loss", "recent_violation",
    "kkt", "true_violation", "stationarity", "optimal_loss", "note",
)  # fmt: skip
CANDIDATE_COLUMNS = ("dataset", "candidate", "rho", "iteration", "loss", "violation", "kkt", "stationarity", "note")
_ALLOWED_VIOLATION = 1e-3  # violation up to which an iterate's loss counts
_LINEAR_VIOLATION = 1e-3  # constraint values up to which the axis is linear; beyond it is logarithmic
_LINEAR_EXCESS = 1e-5  # excess losses up to which the axis is linear; beyond it is logarithmic
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.5, 1)))
DOTTED: Any = (0, (1, 1.5))
COLOURS = ("#d0619f", "#ad8100", "#008f68", "#7b4fb8", "#0072b2", "#262626")
TITLES = {
    "loss": "loss $F$",
    "excess": "best loss $F$ so far with\n$\\max_j |h_j| - \\epsilon \\leq 10^{-3}$,\nminus the optimum's",
    "violation": "constraint $\\max_j |h_j| - \\epsilon$\n(linear within $\\pm 10^{-3}$)",
    "stationarity": "near-stationarity $S$",
    "kkt": "KKT residual",
}


Colour = Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]


class TraceSeries(BaseModel):
    """One line: an algorithm, or a candidate of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    algorithm: str = Field(description="whose runs")
    candidate: str | None = Field(None, description="which of the curves that a run keeps; the first by default")
    label: str = Field(description="what the line is called")


class MethodCurves(Options):
    """Quantities of several methods against processor time: a row each, a column per dataset."""

    source: Literal["methods"] = Field(description="methods: curves of several methods against processor time")
    series: list[TraceSeries] = Field(description="lines of every panel")
    rows: list[Literal["loss", "excess", "violation", "stationarity", "kkt"]] = Field(
        ["loss", "violation", "stationarity"], description="quantities shown, a row of panels each"
    )
    dataset_titles: dict[str, str] = Field({}, description="titles of datasets in place of their own")
    shades: dict[str, list[Colour]] = Field(
        {}, description="algorithm -> colours of its lines in turn, in place of its own for all"
    )


class CandidateCurves(Options):
    """Loss, constraint and KKT residual of every candidate of one run, against iterations."""

    source: Literal["candidates"] = Field(description="candidates: one method under several values of a parameter")
    algorithm: str = Field(description="whose run")
    parameter: Literal["alpha", "beta"] = Field(description="what the candidates differ in")


def _best_so_far(trace: stored_traces.Curves) -> np.ndarray:
    """Return smallest loss at a violation of at most 1e-3 until every iteration, (K,); infinite before the first."""
    return np.minimum.accumulate(np.where(trace["violation"] <= _ALLOWED_VIOLATION, trace["loss"], np.inf))


def recent_violation(trace: stored_traces.Curves, index: int) -> float:
    """Return the largest constraint value over the last tenth of the iterations up to ``index``, as it may swing."""
    first_index = int(np.searchsorted(trace["iteration"], 0.9 * trace["iteration"][index]))
    return float(trace["violation"][first_index : index + 1].max())


def _inspected_iterates(trace: stored_traces.Curves) -> Iterator[Line]:
    """Yield the iterates of a run whose residuals were computed."""
    best_losses, work = _best_so_far(trace), trace.get("work")
    index_of = {int(k): index for index, k in enumerate(trace["iteration"])}
    stationarity = dict(zip(trace.get("stationarity_at", []), trace.get("stationarity", []), strict=True))
    clock = stored_traces.seconds(trace, trace["kept"])
    for number, k in enumerate(trace["kept"]):
        index = index_of[int(k)]
        yield {
            "iteration": int(k), "work": None if work is None else int(work[index]),
            "cpu_seconds": round(float(clock[number]), 4),
            "best_loss": round(float(best_losses[index]), 7) if np.isfinite(best_losses[index]) else None,
            "recent_violation": round(recent_violation(trace, index), 7),
            "loss": round(float(trace["loss"][index]), 7), "violation": round(float(trace["violation"][index]), 7),
            "kkt": round(float(trace["kkt"][number]), 7),
            "true_violation": round(float(trace["true_violation"][number]), 7),
            "stationarity": round(float(stationarity[k]), 7) if k in stationarity else None,
        }  # fmt: skip


def optimum(context: Context[Any], dataset: str) -> tuple[float, float]:
    """Return loss of the exact optimum and the sum of the sizes of its multipliers; NaN if it was not run.

    It is the optimum of the smoothed problem, which the curves are of, whether or not decisions meet the tolerance too.
    """
    table = context.results.runs
    rows = table[(table["algorithm"] == "gap_optimum") & (table["dataset"] == dataset) & table["status"].isin(USABLE)]
    if not len(rows):
        return float("nan"), float("nan")
    multipliers = json.loads(rows["selected"].iloc[0]).get("multipliers", [])
    return float(rows["objective"].iloc[0]), float(np.abs(multipliers).sum())


def dataset_titles(context: Context[Any]) -> dict[str, str]:
    """Return titles of the exhibit's datasets, by the option ``dataset_titles`` or their own."""
    titles = context.options.dataset_titles
    return {name: titles.get(name, style.dataset_title(name)) for name in run_files.datasets(context)}


def first_seed_curves(context: Context[Any], setting: Setting) -> tuple[dict[str, stored_traces.Curves], str]:
    """Return curves of the experiment's first seed by candidate, or none and the reason."""
    return stored_traces.curves(context, setting, context.config.seeds(setting.experiment)[0])


# --- methods side by side ------------------------------------------------------------------------------------------

MethodRun = tuple[TraceSeries, Setting, stored_traces.Curves | None, str]


def _method_runs(context: Context[MethodCurves], dataset: str) -> list[MethodRun]:
    """Return entry, setting and curves of every series of a dataset; ``None`` and the reason if it was not run."""
    runs_of_series: list[MethodRun] = []
    for entry in context.options.series:
        for setting in run_files.settings(context, [entry.algorithm]):
            if setting.dataset == dataset:
                candidates, reason = first_seed_curves(context, setting)
                name = entry.candidate or next(iter(candidates), "")
                runs_of_series.append((entry, setting, candidates.get(name), reason or f"no candidate {name}"))
    return runs_of_series


def method_lines(context: Context[MethodCurves]) -> Iterator[Line]:
    """Yield points of all series, and a note for series that were not run."""
    for dataset in run_files.datasets(context):
        optimal_loss = optimum(context, dataset)[0]
        for entry, _, trace, reason in _method_runs(context, dataset):
            key = {"dataset": dataset, "series": entry.label, "optimal_loss": round(optimal_loss, 7)}
            yield from (
                [key | {"note": reason}] if trace is None else [key | line for line in _inspected_iterates(trace)]
            )


def draw_methods(context: Context[MethodCurves], lines: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    titles, series_styles = dataset_titles(context), _series_styles(context.options.series, context.options.shades)

    def panel(name: str, dataset: str) -> PlotPanel:
        return _method_panel([line for line in lines if line["dataset"] == dataset], name, series_styles)

    rows: dict[str, str] = {name: TITLES[name] for name in context.options.rows}
    size = (max(7.6, 3.5 * len(titles) + 0.4), 0.4 + 2.4 * len(rows))
    panels = canvas.panel_grid(rows, titles, panel, "processor time [s]")
    return canvas.draw_panels(panels, size, {"sharex": "col"}, columns=4 if len(titles) > 2 else 3)


def _series_styles(entries: Sequence[TraceSeries], shades: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Return colour and dash of every series: an algorithm has one hue, its candidates shades of it and dashes."""
    series_styles: dict[str, dict[str, Any]] = {}
    names = [entry.algorithm for entry in entries]
    for number, entry in enumerate(entries):
        position, method_style = names[:number].count(entry.algorithm), style.plot_style(entry.algorithm)
        colours = shades.get(entry.algorithm) or [method_style.colour]
        dash = DASHES[position % 3] if len(colours) > 1 or names.count(entry.algorithm) > 1 else method_style.dash
        series_styles[entry.label] = {"color": colours[position % len(colours)], "ls": dash}
    return series_styles


def _method_panel(points: list[Line], name: str, series_styles: Mapping[str, dict[str, Any]]) -> PlotPanel:
    timed = (point for point in map(_with_excess, points) if point.get("cpu_seconds", 0) > 0)
    estimated = [point for point in timed if point.get(name) is not None]
    mark_style = {"marker": "o", "ms": 4} if name == "stationarity" else {}
    curves = []
    for position, (label, series_style) in enumerate(series_styles.items()):
        coordinates = [(point["cpu_seconds"], point[name]) for point in estimated if point["series"] == label]
        if coordinates:
            line_style = {"lw": 1.7, "label": label, "zorder": 6 - position} | series_style | mark_style
            curves.append(PlotCurve.through(coordinates, line_style))

    def finish(axis: Any) -> None:
        axis.set_xscale("log")
        axis.set_xlim(left=max(0.01, min(point["cpu_seconds"] for point in estimated)))
        optimal_loss = points[0]["optimal_loss"]
        if name == "loss" and not np.isnan(optimal_loss):
            axis.axhline(optimal_loss, color=style.INK, lw=0.9, ls=DOTTED, label="exact optimum")
        elif name == "excess":
            axis.axhline(0.0, color=style.INK, lw=0.9, ls=DOTTED, label="exact optimum")
            axis.set_yscale("symlog", linthresh=_LINEAR_EXCESS, linscale=0.6)
            axis.set_ylim(bottom=min(-_LINEAR_EXCESS, *(1.5 * point[name] for point in estimated)))
        elif name == "violation":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            axis.set_yscale("symlog", linthresh=_LINEAR_VIOLATION, linscale=0.6)
            canvas.write_in_corner(axis, "violated", top=True)
            canvas.write_in_corner(axis, "satisfied", top=False)
        elif name != "loss":
            axis.set_yscale("log")

    return PlotPanel(curves, {}, finish=finish)


def _with_excess(point: Line) -> Line:
    """Return a point with the best loss so far minus that of the exact optimum, where both are known."""
    best_loss, optimal_loss = point.get("best_loss"), point["optimal_loss"]
    return point if best_loss is None or np.isnan(optimal_loss) else point | {"excess": best_loss - optimal_loss}


# --- candidates of one run -----------------------------------------------------------------------------------------


def _candidate_run(context: Context[CandidateCurves]) -> tuple[Setting, dict[str, stored_traces.Curves], str]:
    """Return the exhibit's run: its setting, and curves by candidate."""
    setting = next(run_files.settings(context, [context.options.algorithm]))
    return setting, *first_seed_curves(context, setting)


def _variants(context: Context[CandidateCurves]) -> dict[str, dict[str, Any]]:
    """Return parameters of every candidate as the grid gives them."""
    settings = context.config.algorithm_settings(context.experiments[0], context.options.algorithm)
    return dict(settings["variants"])


DEFAULTS = {"alpha": 10.0, "beta": 0.1}
LOGARITHMIC = ("kkt",)
AGREEMENT = 0.05, 0.1
"""Lines are said to agree up to this share of their range, or of the value on a logarithmic axis."""


def candidate_lines(context: Context[CandidateCurves]) -> Iterator[Line]:
    """Yield points of all candidates, or one line with a note."""
    setting, candidates, reason = _candidate_run(context)
    if not candidates:
        yield {"dataset": setting.dataset, "note": reason}
    for name, trace in candidates.items():
        entry = DEFAULTS | _variants(context).get(name, {})
        rho = round(entry["alpha"] / (1 + entry["alpha"] * entry["beta"]), 4)
        for line in _inspected_iterates(trace):
            columns = {key: value for key, value in line.items() if key in CANDIDATE_COLUMNS}
            yield {"dataset": setting.dataset, "candidate": name, "rho": rho} | columns


def draw_candidates(context: Context[CandidateCurves], lines: list[Line]) -> Any:
    """Draw a panel per quantity. Lines that coincide are seen through each other: the first is wide, the last thin."""
    rho = {line["candidate"]: line["rho"] for line in lines if "candidate" in line}
    names = sorted(rho, key=lambda name: rho[name])
    panels = []
    titles = {"loss": TITLES["loss"], "violation": "constraint $|h| - \\epsilon$", "kkt": TITLES["kkt"]}
    for quantity, title in titles.items():
        curves = []
        for position, name in enumerate(names):
            points = (line for line in lines if line["candidate"] == name and line["iteration"] > 0)
            label = name.replace("alpha", "$\\alpha$").replace("beta", "$\\beta$")
            width = 1.2 + 3.2 * (len(names) - 1 - position) / max(len(names) - 1, 1)
            line_style = {"color": COLOURS[position % 6], "lw": width, "solid_capstyle": "round"}
            line_style |= {"zorder": 3 + position, "label": f"{label} ($\\rho$ = {rho[name]:.2f})"}
            curves.append(PlotCurve.through(((p["iteration"], p[quantity]) for p in points), line_style))
        reason = "" if names else lines[0]["note"]
        labels = {"title": title, "xlabel": "iterations"}
        scales = _axis_scales(quantity, agreement(curves, quantity in LOGARITHMIC))
        panels.append(PlotPanel(curves, labels, reason, scales))
    return canvas.draw_panels([panels], (10.6, 3.6), {}, columns=3)


def agreement(curves: Sequence[PlotCurve], logarithmic: bool) -> str:
    """Say by how much curves differ that nearly coincide: by a twentieth of their range, or a tenth of the value."""
    by_x: dict[float, list[float]] = {}
    for curve in curves:
        for x, y in zip(curve.x, curve.y, strict=True):
            by_x.setdefault(x, []).append(y)
    shared = [values for values in by_x.values() if len(values) == len(curves)]
    if len(curves) < 2 or not shared:
        return ""
    text = f"the {len(curves)} lines differ by at most"
    if logarithmic:
        ratio = max(max(values) / min(values) if min(values) > 0 else np.inf for values in shared) - 1
        return f"{text} {_round_up(100 * ratio):g}%" if ratio <= AGREEMENT[1] else ""
    largest = max(max(values) - min(values) for values in shared)
    span = max(map(max, shared)) - min(map(min, shared))
    return f"{text} {_round_up(largest):g}" if largest <= AGREEMENT[0] * span else ""


def _round_up(value: float) -> float:
    """Round a number up to one digit."""
    unit = 10.0 ** np.floor(np.log10(value)) if value > 0 else 1.0
    return float(np.ceil(round(value / unit, 9)) * unit)


def _axis_scales(quantity: str, agreement: str) -> Callable[[Any], None]:
    def finish(axis: Any) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axis.set_xscale("log")
        if quantity == "violation":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            canvas.write_in_corner(axis, "violated above 0", top=True)
        if agreement:
            canvas.write_in_corner(axis, agreement, top=True)
        if quantity in LOGARITHMIC:
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())

    return finish


def reproduce_fixed(context: Context[CandidateCurves], row: Published) -> ReproducedNumber:
    """Return the value at which every candidate of the grid holds the other parameter, as the paper does."""
    name = row.metric.removesuffix("_fixed")
    default = DEFAULTS.get(name)
    values = {float(entry.get(name, default or 0.0)) for entry in _variants(context).values()}
    if default is None or len(values) != 1:
        return ReproducedNumber(None, f"{name} is not fixed in this experiment: {sorted(values)}", kind="setting")
    value = values.pop()
    verdict = "as stated" if value == row.value else "differs from the paper"
    estimate = Estimate(value, float("nan"), float("nan"), float("nan"), 1)
    return ReproducedNumber(estimate, source="the grid's own value", kind="setting", verdict=verdict)
