"""Curves of training that the models keep: methods side by side, and candidates of one run."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from partialfair.metrics.uncertainty import Estimate
from reproduction.exhibits import canvas, runs, style, traces
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid.tidy import USABLE
from reproduction.verdicts.evidence import Outcome
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting

METHOD_COLUMNS = (
    "dataset", "series", "iteration", "work", "cpu_seconds", "loss", "violation", "best_loss", "recent_violation",
    "kkt", "true_violation", "stationarity", "optimal_loss", "note",
)  # fmt: skip
CANDIDATE_COLUMNS = ("dataset", "candidate", "rho", "iteration", "loss", "violation", "kkt", "stationarity", "note")
ALLOWED = 1e-3  # violation up to which an iterate's loss counts
LINEAR = 1e-3  # constraint values up to which the axis is linear; beyond it is logarithmic
FINE = 1e-5  # the same of losses beside the optimum's
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


def best_so_far(trace: traces.Curves) -> np.ndarray:
    """Smallest loss at a violation of at most 1e-3 until every iteration, (K,); infinite before the first."""
    return np.minimum.accumulate(np.where(trace["violation"] <= ALLOWED, trace["loss"], np.inf))


def recent_violation(trace: traces.Curves, at: int) -> float:
    """Largest constraint value over the last tenth of the iterations until place ``at``; one value hides swinging."""
    first = int(np.searchsorted(trace["iteration"], 0.9 * trace["iteration"][at]))
    return float(trace["violation"][first : at + 1].max())


def kept(trace: traces.Curves) -> Iterator[Line]:
    """The iterates of a run that were looked at closely."""
    best, work = best_so_far(trace), trace.get("work")
    place = {int(k): p for p, k in enumerate(trace["iteration"])}
    far = dict(zip(trace.get("stationarity_at", []), trace.get("stationarity", []), strict=True))
    clock = traces.seconds(trace, trace["kept"])
    for number, k in enumerate(trace["kept"]):
        at = place[int(k)]
        yield {
            "iteration": int(k), "work": None if work is None else int(work[at]),
            "cpu_seconds": round(float(clock[number]), 4),
            "best_loss": round(float(best[at]), 7) if np.isfinite(best[at]) else None,
            "recent_violation": round(recent_violation(trace, at), 7),
            "loss": round(float(trace["loss"][at]), 7), "violation": round(float(trace["violation"][at]), 7),
            "kkt": round(float(trace["kkt"][number]), 7),
            "true_violation": round(float(trace["true_violation"][number]), 7),
            "stationarity": round(float(far[k]), 7) if k in far else None,
        }  # fmt: skip


def optimum(context: Context[Any], dataset: str) -> tuple[float, float]:
    """Loss of the exact optimum and the sum of the sizes of its multipliers; NaN if it was not run.

    It is the optimum of the smoothed problem, which the curves are of, whether or not decisions meet the tolerance too.
    """
    table = context.results.runs
    rows = table[(table["algorithm"] == "gap_optimum") & (table["dataset"] == dataset) & table["status"].isin(USABLE)]
    if not len(rows):
        return float("nan"), float("nan")
    multipliers = json.loads(rows["selected"].iloc[0]).get("multipliers", [])
    return float(rows["objective"].iloc[0]), float(np.abs(multipliers).sum())


def dataset_titles(context: Context[Any]) -> dict[str, str]:
    """Titles of the exhibit's datasets, by the option ``dataset_titles`` or their own."""
    own = context.options.dataset_titles
    return {name: own.get(name, style.dataset_title(name)) for name in runs.datasets(context)}


def of_first_seed(context: Context[Any], setting: Setting) -> tuple[dict[str, traces.Curves], str]:
    """Curves of the experiment's first seed by candidate, or none and the reason."""
    return traces.curves(context, setting, context.config.seeds(setting.experiment)[0])


# --- methods side by side ------------------------------------------------------------------------------------------

Found = tuple[TraceSeries, Setting, traces.Curves | None, str]


def methods(context: Context[MethodCurves], dataset: str) -> list[Found]:
    """Entry, setting and curves of every series of a dataset; ``None`` and the reason where it was not run."""
    out: list[Found] = []
    for entry in context.options.series:
        for setting in runs.settings(context, [entry.algorithm]):
            if setting.dataset == dataset:
                found, reason = of_first_seed(context, setting)
                name = entry.candidate or next(iter(found), "")
                out.append((entry, setting, found.get(name), reason or f"no candidate {name}"))
    return out


def method_lines(context: Context[MethodCurves]) -> Iterator[Line]:
    """Points of all series, and a note for series that were not run."""
    for dataset in runs.datasets(context):
        best = optimum(context, dataset)[0]
        for entry, _, trace, reason in methods(context, dataset):
            key = {"dataset": dataset, "series": entry.label, "optimal_loss": round(best, 7)}
            yield from [key | {"note": reason}] if trace is None else [key | line for line in kept(trace)]


def draw_methods(context: Context[MethodCurves], found: list[Line]) -> Any:
    """Draw rows of quantities and columns of datasets."""
    shown, looks = dataset_titles(context), _looks(context.options.series, context.options.shades)

    def panel(name: str, dataset: str) -> Panel:
        return _method_panel([p for p in found if p["dataset"] == dataset], name, looks)

    rows: dict[str, str] = {name: TITLES[name] for name in context.options.rows}
    size = (max(7.6, 3.5 * len(shown) + 0.4), 0.4 + 2.4 * len(rows))
    panels = canvas.grid(rows, shown, panel, "processor time [s]")
    return canvas.figure(panels, size, {"sharex": "col"}, columns=4 if len(shown) > 2 else 3)


def _looks(entries: Sequence[TraceSeries], shades: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Colour and dash of every series: an algorithm has one hue, its candidates shades of it and dashes."""
    out: dict[str, dict[str, Any]] = {}
    names = [entry.algorithm for entry in entries]
    for number, entry in enumerate(entries):
        place, look = names[:number].count(entry.algorithm), style.look(entry.algorithm)
        own = shades.get(entry.algorithm) or [look.colour]
        dash = DASHES[place % 3] if len(own) > 1 or names.count(entry.algorithm) > 1 else look.dash
        out[entry.label] = {"color": own[place % len(own)], "ls": dash}
    return out


def _method_panel(points: list[Line], name: str, looks: Mapping[str, dict[str, Any]]) -> Panel:
    drawn = [p for p in map(_with_excess, points) if p.get(name) is not None and p.get("cpu_seconds", 0) > 0]
    mark = {"marker": "o", "ms": 4} if name == "stationarity" else {}
    curves = []
    for place, (label, look) in enumerate(looks.items()):
        own = [(p["cpu_seconds"], p[name]) for p in drawn if p["series"] == label]
        if own:
            curves.append(Curve.through(own, {"lw": 1.7, "label": label, "zorder": 6 - place} | look | mark))

    def finish(axis: Any) -> None:
        axis.set_xscale("log")
        axis.set_xlim(left=max(0.01, min(p["cpu_seconds"] for p in drawn)))
        best = points[0]["optimal_loss"]
        if name == "loss" and not np.isnan(best):
            axis.axhline(best, color=style.INK, lw=0.9, ls=DOTTED, label="exact optimum")
        elif name == "excess":
            axis.axhline(0.0, color=style.INK, lw=0.9, ls=DOTTED, label="exact optimum")
            axis.set_yscale("symlog", linthresh=FINE, linscale=0.6)
            axis.set_ylim(bottom=min(-FINE, *(1.5 * p[name] for p in drawn)))
        elif name == "violation":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.6)
            canvas.corner(axis, "violated", top=True)
            canvas.corner(axis, "satisfied", top=False)
        elif name != "loss":
            axis.set_yscale("log")

    return Panel(curves, {}, finish=finish)


def _with_excess(point: Line) -> Line:
    """A point with the best loss so far minus that of the exact optimum, where both are known."""
    best, optimal = point.get("best_loss"), point["optimal_loss"]
    return point if best is None or np.isnan(optimal) else point | {"excess": best - optimal}


# --- candidates of one run -----------------------------------------------------------------------------------------


def _run(context: Context[CandidateCurves]) -> tuple[Setting, dict[str, traces.Curves], str]:
    """The exhibit's run: its setting, and curves by candidate."""
    setting = next(runs.settings(context, [context.options.algorithm]))
    return setting, *of_first_seed(context, setting)


def _variants(context: Context[CandidateCurves]) -> dict[str, dict[str, Any]]:
    """Parameters of every candidate as the grid gives them."""
    settings = context.config.algorithm_settings(context.experiments[0], context.options.algorithm)
    return dict(settings["variants"])


DEFAULTS = {"alpha": 10.0, "beta": 0.1}
LOGARITHMIC = ("kkt",)
ALIKE = 0.05, 0.1
"""Lines are said to agree up to this share of their range, or of the value on a logarithmic axis."""


def candidate_lines(context: Context[CandidateCurves]) -> Iterator[Line]:
    """Points of all candidates, or one line with a note."""
    setting, found, reason = _run(context)
    if not found:
        yield {"dataset": setting.dataset, "note": reason}
    for name, trace in found.items():
        entry = DEFAULTS | _variants(context).get(name, {})
        rho = round(entry["alpha"] / (1 + entry["alpha"] * entry["beta"]), 4)
        for line in kept(trace):
            shown = {key: value for key, value in line.items() if key in CANDIDATE_COLUMNS}
            yield {"dataset": setting.dataset, "candidate": name, "rho": rho} | shown


def draw_candidates(context: Context[CandidateCurves], found: list[Line]) -> Any:
    """Draw a panel per quantity. Lines that coincide are seen through each other: the first is wide, the last thin."""
    rho = {p["candidate"]: p["rho"] for p in found if "candidate" in p}
    names = sorted(rho, key=lambda name: rho[name])
    panels = []
    titles = {"loss": TITLES["loss"], "violation": "constraint $|h| - \\epsilon$", "kkt": TITLES["kkt"]}
    for quantity, title in titles.items():
        curves = []
        for place, name in enumerate(names):
            own = [(p["iteration"], p[quantity]) for p in found if p["candidate"] == name and p["iteration"] > 0]
            greek = name.replace("alpha", "$\\alpha$").replace("beta", "$\\beta$")
            look = {"color": COLOURS[place % 6], "lw": 1.2 + 3.2 * (len(names) - 1 - place) / max(len(names) - 1, 1)}
            look |= {"solid_capstyle": "round", "zorder": 3 + place, "label": f"{greek} ($\\rho$ = {rho[name]:.2f})"}
            curves.append(Curve.through(own, look))
        reason = "" if names else found[0]["note"]
        labels = {"title": title, "xlabel": "iterations"}
        panels.append(Panel(curves, labels, reason, _scales_of(quantity, agreement(curves, quantity in LOGARITHMIC))))
    return canvas.figure([panels], (10.6, 3.6), {}, columns=3)


def agreement(curves: Sequence[Curve], logarithmic: bool) -> str:
    """Say by how much curves differ that lie upon each other: a twentieth of their range, or a tenth of the value."""
    by_place: dict[float, list[float]] = {}
    for curve in curves:
        for x, y in zip(curve.x, curve.y, strict=True):
            by_place.setdefault(x, []).append(y)
    shared = [values for values in by_place.values() if len(values) == len(curves)]
    if len(curves) < 2 or not shared:
        return ""
    words = f"the {len(curves)} lines differ by at most"
    if logarithmic:
        ratio = max(max(values) / min(values) if min(values) > 0 else np.inf for values in shared) - 1
        return f"{words} {_up(100 * ratio):g}%" if ratio <= ALIKE[1] else ""
    apart, whole = max(max(values) - min(values) for values in shared), [y for values in shared for y in values]
    return f"{words} {_up(apart):g}" if apart <= ALIKE[0] * (max(whole) - min(whole)) else ""


def _up(value: float) -> float:
    """A number rounded up to one digit."""
    unit = 10.0 ** np.floor(np.log10(value)) if value > 0 else 1.0
    return float(np.ceil(round(value / unit, 9)) * unit)


def _scales_of(quantity: str, alike: str) -> Callable[[Any], None]:
    def finish(axis: Any) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axis.set_xscale("log")
        if quantity == "violation":
            axis.axhline(0.0, color=style.INK, lw=0.8)
            canvas.corner(axis, "violated above 0", top=True)
        if alike:
            canvas.corner(axis, alike, top=True)
        if quantity in LOGARITHMIC:
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())

    return finish


def reproduce_fixed(context: Context[CandidateCurves], row: Published) -> Outcome:
    """The value at which the paper holds the other parameter: that of every candidate of the grid."""
    name = row.metric.removesuffix("_fixed")
    default = DEFAULTS.get(name)
    values = {float(entry.get(name, default or 0.0)) for entry in _variants(context).values()}
    if default is None or len(values) != 1:
        return Outcome(None, f"{name} is not fixed in this experiment: {sorted(values)}", kind="setting")
    value = values.pop()
    verdict = "as stated" if value == row.value else "differs from the paper"
    here = Estimate(value, float("nan"), float("nan"), float("nan"), 1)
    return Outcome(here, source="the grid's own value", kind="setting", verdict=verdict)
