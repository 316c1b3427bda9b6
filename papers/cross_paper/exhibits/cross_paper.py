"""Which method should I use? Methods of all papers under one constraint: ranks, costs, and where our own lose.

The figure has a panel per constraint and tolerance; the tables have the numbers behind it, dataset by dataset. What is
compared, and how, stands in :mod:`reproduction.verdicts.benchmark`.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import canvas, style
from reproduction.exhibits.canvas import Curve, Panel
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.grid.tidy import CERTIFICATES
from reproduction.verdicts import benchmark
from reproduction.verdicts.benchmark import Method

ALL = "all datasets"
COLUMNS = (
    "experiment", "constraint", "tolerance", "dataset", "algorithm", "paper", "parameters", "rank", "rank_low",
    "rank_high", "accuracy", "accuracy_half_width", "violation", "violation_half_width", "exceeds", "n_seeds",
    *CERTIFICATES, "cpu_seconds", "status", "reason",
)  # fmt: skip


class CrossPaper(Options):
    """Algorithms of several papers under one constraint, ranked at each tolerance."""

    tolerances: list[float] = Field(description="tolerances of the constraint that all are held to")
    papers: dict[str, list[str]] = Field({}, description="algorithms by the short name of their paper")
    own: list[str] = Field([], description="algorithms whose losses are listed")
    same_rows: dict[str, str] = Field({}, description="datasets that hold the rows of another one, and count as it")


Shown = Context[CrossPaper]


def paper_of(context: Shown, algorithm: str) -> str:
    """Short name of the paper an algorithm comes from, by the option ``papers``."""
    for title, names in context.options.papers.items():
        if algorithm in names:
            return title
    return ""


def methods(context: Shown, experiment: str, tolerance: float) -> dict[str, dict[str, Method]]:
    """All methods by dataset and algorithm."""
    return {
        dataset: {a: benchmark.method(context, experiment, dataset, a, tolerance) for a in run.algorithms}
        for dataset, run in context.config.experiment(experiment).runs.items()
    }


def lines(context: Shown) -> list[Line]:
    """One line per experiment, tolerance, dataset and algorithm, and before them one for all datasets: ``COLUMNS``."""
    return [
        line
        for experiment in context.experiments
        for tolerance in context.options.tolerances
        for line in _of_tolerance(context, experiment, tolerance)
    ]


def _of_tolerance(context: Shown, experiment: str, tolerance: float) -> Iterator[Line]:
    found = methods(context, experiment, tolerance)
    constraint = context.config.experiment(experiment).constraint
    head: Line = {"experiment": experiment, "constraint": constraint, "tolerance": tolerance}
    ranked = benchmark.ranks(found, context.options.same_rows)
    for algorithm, (_, mean) in ranked.items():
        every = [found[dataset][algorithm] for dataset in found]
        yield head | {
            "dataset": ALL, "algorithm": algorithm, "paper": paper_of(context, algorithm),
            "rank": mean.mean, "rank_low": mean.low, "rank_high": mean.high,
            "exceeds": sum(one.exceeds for of in every for one in of.picked.values()),
            "n_seeds": sum(len(of.picked) for of in every),
            "cpu_seconds": float(np.mean([of.cpu_seconds for of in every])),
        }  # fmt: skip
    for dataset, of in found.items():
        for algorithm, one in of.items():
            line = head | {"dataset": dataset, "algorithm": algorithm, "paper": paper_of(context, algorithm)}
            rank = ranked[algorithm][0][dataset] if algorithm in ranked else math.nan
            yield line | {"rank": rank} | _outcome(context, one)


def _outcome(context: Shown, one: Method) -> Line:
    """What came of a method on a dataset: test metrics, certificates, time; or why there is nothing."""
    if not one.applies:
        return {"status": "not run" if one.why_not == "not run" else "not applicable", "reason": one.why_not}
    seeds = list(one.picked.values())
    level = context.results.level
    accuracy, violation = (t_interval([getattr(p, name) for p in seeds], level) for name in ("accuracy", "violation"))
    reasons = dict.fromkeys(str(reason) for reason in one.runs["reason"].dropna())
    return {
        "parameters": ", ".join(f"{p.setting.kappa:g}" for p in seeds),
        "accuracy": accuracy.mean, "accuracy_half_width": accuracy.half_width,
        "violation": violation.mean, "violation_half_width": violation.half_width,
        "exceeds": sum(p.exceeds for p in seeds), "n_seeds": len(seeds),
        **one.certificates(), "cpu_seconds": one.cpu_seconds,
        "status": one.statuses() or "no model", "reason": "; ".join(reasons),
    }  # fmt: skip


# --- figure --------------------------------------------------------------------------------------------------------


def draw(context: Shown, found: list[Line]) -> Any:
    """Mean ranks with their intervals, a row of panels per constraint and a column per tolerance."""
    rows = []
    for experiment in context.experiments:
        every = [line for line in found if line["experiment"] == experiment and line["dataset"] == ALL]
        names = order(every)
        row = [
            _panel(context, [line for line in every if line["tolerance"] == tolerance], names)
            | {"title": f"{context.convention(experiment).title} within {tolerance:g}"}
            | {"xlabel": f"mean rank of {len(names)} (1 is best)"}
            for tolerance in context.options.tolerances
        ]
        rows.append(row)
    longest = max((len(panel.curves) for row in rows for panel in row), default=0)
    size = (3.4 * len(context.options.tolerances) + 1.2, (0.21 * longest + 0.75) * len(rows) + 0.9)
    note = (
        "Bars: 95% t-intervals over datasets, cut at the first and the last rank. Hollow: on some dataset and seed the "
        "violation exceeds the tolerance by more than the sampling of test rows explains."
    )
    legend = {paper: _handle(colour) for paper, colour in colours(context, found).items()}
    return canvas.figure(rows, size, {"sharey": "row", "sharex": "row"}, note=note, width=1.9, more=legend)


def colours(context: Shown, found: list[Line]) -> dict[str, str]:
    """Colours of the papers that have a point."""
    names = {line["paper"] for line in found if line["dataset"] == ALL}
    both = zip(context.options.papers, itertools.cycle(style.PAPERS), strict=False)
    return {paper: colour for paper, colour in both if paper in names}


def _handle(colour: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, marker="o", ms=4.5, ls="")


def order(every: list[Line]) -> list[str]:
    """Algorithms by their mean rank over all tolerances, the best first."""
    names = dict.fromkeys(line["algorithm"] for line in every)
    return sorted(names, key=lambda name: float(np.mean([e["rank"] for e in every if e["algorithm"] == name])))


def _panel(context: Shown, found: list[Line], names: list[str]) -> Panel:
    labels = {"ylim": (len(names) - 0.4, -0.6), "xlim": (0.5, len(names) + 0.5)} if names else {}
    shown = colours(context, found)

    def finish(axis: Any) -> None:
        axis.set_yticks(range(len(names)), [style.look(name).label for name in names])
        axis.tick_params(axis="y", length=0)
        axis.xaxis.get_major_locator().set_params(integer=True)

    curves = [
        _point(_inside(line, len(names)), names.index(line["algorithm"]), shown.get(line["paper"], style.INK))
        for line in found
    ]
    return Panel(curves, labels, "not run", finish)


def _inside(line: Line, last: int) -> Line:
    """A line whose interval ends at the first and the last rank: t-intervals of ranks reach beyond both."""
    return line | {"rank_low": max(line["rank_low"], 1.0), "rank_high": min(line["rank_high"], float(last))}


def _point(line: Line, place: int, colour: str) -> Curve:
    look = {
        "color": colour, "marker": "o", "ls": "", "ms": 4.5, "zorder": 3,
        "mfc": "white" if line["exceeds"] else colour, "elinewidth": 1.1,
    }  # fmt: skip
    return Curve([line["rank"]], [place], look, {"xerr": canvas.lengths(line, "rank")})


# --- tables --------------------------------------------------------------------------------------------------------


def overview(context: Shown, experiment: str, found: list[Line]) -> Table:
    """One row per method: at each tolerance its rank, how often it exceeds it, and the accuracy that it gives up."""
    own = [line for line in found if line["experiment"] == experiment]
    every = [line for line in own if line["dataset"] == ALL]
    rows = []
    methods = order(every)
    for name in methods:
        row = [cells.text(style.look(name).label), cells.text(paper_of(context, name))]
        for tolerance in context.options.tolerances:
            at = [line for line in own if line["tolerance"] == tolerance]
            line = next((e for e in at if (e["dataset"], e["algorithm"]) == (ALL, name)), None)
            row += [Cell("–", "none")] * 3 if line is None else _three(_inside(line, len(methods)), given_up(at, name))
        rows.append([*row, Cell(f"{next(e for e in every if e['algorithm'] == name)['cpu_seconds']:.1f}")])
    groups = [("", 2), *((f"within {tolerance:g}", 3) for tolerance in context.options.tolerances), ("", 1)]
    inner = ["mean rank", "exceeds", "accuracy given up"] * len(context.options.tolerances)
    return Table(groups, ["method", "paper", *inner, "CPU s"], rows)


def given_up(at: list[Line], name: str) -> float:
    """Accuracy of the unconstrained model minus that of a method, mean over datasets; NaN where either is missing."""
    known = {(line["dataset"], line["algorithm"]): line.get("accuracy", math.nan) for line in at}
    datasets = [dataset for dataset, algorithm in known if algorithm == name and dataset != ALL]
    return float(np.mean([known.get((d, "unconstrained"), math.nan) - known[d, name] for d in datasets]))


def _three(line: Line, lost: float) -> list[Cell]:
    share = f"{line['exceeds']} of {line['n_seeds']}"
    ends = "" if math.isnan(line["rank_low"]) else f" [{line['rank_low']:.1f}, {line['rank_high']:.1f}]"
    return [
        Cell(f"{line['rank']:.1f}{ends}"),
        Cell(share, "bad" if line["exceeds"] else "good", "pairs of dataset and seed"),
        Cell("–", "none") if math.isnan(lost) else Cell(f"{lost:.4f}"),
    ]


def detail(found: list[Line]) -> Table:
    """One row per dataset and method at one tolerance; a column for every kind of certificate that there is."""
    kinds = [kind for kind in CERTIFICATES if any(not math.isnan(line.get(kind, math.nan)) for line in found)]
    rows = [
        (
            [cells.text(style.dataset_title(line["dataset"]))],
            [cells.text(style.look(line["algorithm"]).label), *_numbers(line, kinds)],
        )
        for line in found
        if line["dataset"] != ALL and line["status"] != "not applicable"
    ]
    columns = ["dataset", "method", "parameters", "rank", "accuracy", "violation", "exceeds"]
    groups = [("", 4), ("test rows", 3), *([("certificate", len(kinds))] if kinds else []), ("", 3)]
    return cells.blocks(groups, [*columns, *(CERTIFICATES[k] for k in kinds), "CPU s", "status", "note"], rows)


def _numbers(line: Line, kinds: list[str]) -> list[Cell]:
    if not line.get("n_seeds"):
        return [*[Cell("–", "none")] * (6 + len(kinds)), cells.text(line["status"]), Cell(line["reason"], "text wrap")]
    parameters = "–" if "inf" in line["parameters"] else line["parameters"]
    values = [line[kind] for kind in kinds]
    return [
        Cell(parameters), Cell("–" if math.isnan(line["rank"]) else f"{line['rank']:.1f}"),
        Cell(_with_width(line, "accuracy")), Cell(_with_width(line, "violation")),
        Cell(f"{line['exceeds']} of {line['n_seeds']}", "bad" if line["exceeds"] else "good"),
        *(Cell("–", "none") if math.isnan(value) else Cell(f"{value:.1e}") for value in values),
        Cell(f"{line['cpu_seconds']:.1f}"), cells.text(line["status"]), Cell(line["reason"], "text wrap"),
    ]  # fmt: skip


def _with_width(line: Line, key: str) -> str:
    width = line[f"{key}_half_width"]
    return f"{line[key]:.4f}" + ("" if math.isnan(width) else f" ± {width:.4f}")


def losses(context: Shown) -> Table:
    """The best of our own methods against the best of all others, dataset by dataset; both are picked on test rows."""
    rows: list[list[Cell]] = []
    breaks = set()
    for experiment in context.experiments:
        for tolerance in context.options.tolerances:
            breaks.add(len(rows))
            for dataset, of in methods(context, experiment, tolerance).items():
                row = _against(context, of)
                if row:
                    title = f"{context.convention(experiment).title} within {tolerance:g}"
                    rows.append([cells.text(title), cells.text(style.dataset_title(dataset)), *row])
    columns = ["constraint", "dataset", "best of ours", "best other", "accuracy, ours minus other"]
    return Table([("", len(columns))], columns, rows, frozenset(breaks))


def _against(context: Shown, of: Mapping[str, Method]) -> list[Cell]:
    """Names, and the difference of their accuracies; where only one exceeds the tolerance, that decides."""
    own = context.options.own
    sides = [benchmark.best(of, own), benchmark.best(of, [name for name in of if name not in own])]
    if None in sides:
        return []
    pair = [of[str(name)] for name in sides]
    names = [cells.text(style.look(str(name)).label) for name in sides]
    exceeds = [any(p.exceeds for p in one.picked.values()) for one in pair]
    if exceeds[0] != exceeds[1]:
        who, kind = ("ours exceeds the tolerance", "bad") if exceeds[0] else ("the other exceeds the tolerance", "good")
        return [*names, Cell(who, kind)]
    gap = benchmark.gap(pair[0], pair[1], context.results.level)
    half = "" if math.isnan(gap.low) else f" ± {(gap.high - gap.low) / 2:.4f}"
    kind = "good" if gap.ahead else "bad" if gap.behind else "number"
    return [*names, Cell(f"{gap.mean:+.4f}{half}", kind, f"{gap.n} seeds")]


def answer(experiment_lines: list[Line], title: str, tolerance: float) -> str:
    """One sentence: the smallest mean rank, and which methods have an interval that reaches it."""
    every = sorted((e for e in experiment_lines if e["dataset"] == ALL), key=lambda e: float(e["rank"]))
    if not every:
        return f"{title} within {tolerance:g}: not run."
    first, rest = every[0], every[1:]
    near = [e for e in rest if not e["rank_low"] > first["rank"]]
    name = style.look(first["algorithm"]).label
    text = f"{title} within {tolerance:g}: {name} has the smallest mean rank, {first['rank']:.1f}"
    labels = ", ".join(style.look(e["algorithm"]).label for e in near)
    if not near:
        return f"{text}; the 95% intervals of all others lie above it."
    return f"{text}; the 95% intervals of these reach down to it: {labels}."


def not_applicable(found: list[Line]) -> dict[str, list[str]]:
    """Names and papers of the algorithms that do not apply, by the reason that their runs give."""
    reasons: dict[str, dict[str, None]] = {}
    for line in found:
        if line.get("status") == "not applicable":
            name = f"{style.look(line['algorithm']).label} ({line['paper']})"
            reasons.setdefault(line["reason"], {})[name] = None
    return {reason: list(names) for reason, names in reasons.items()}


def answers(context: Shown, found: list[Line]) -> str:
    """The answer per constraint and tolerance."""
    parts = []
    for experiment in context.experiments:
        title, own = context.convention(experiment).title, [e for e in found if e["experiment"] == experiment]
        by = {t: [e for e in own if e["tolerance"] == t] for t in context.options.tolerances}
        parts += [f"<p class='finding'>{escape(answer(of, title, t))}</p>" for t, of in by.items()]
    return "\n".join(parts)


def body(context: Shown, found: list[Line]) -> str:
    """The answers, and all tables."""
    return f"{answers(context, found)}\n{tables(context, found)}"


def fragment(context: Shown) -> str:
    """The answers before the figure, the tables after it."""
    found = lines(context)
    return f"{answers(context, found)}\n{canvas.inline(context)}\n{tables(context, found)}"


def tables(context: Shown, found: list[Line]) -> str:
    """The overview per constraint, our losses, the details, and which algorithms do not apply and why."""
    parts = [cells.html(overview(context, experiment, found)) for experiment in context.experiments]
    parts += ["<h3>Our own methods against the best of the others</h3>", cells.html(losses(context))]
    for experiment in context.experiments:
        for tolerance in context.options.tolerances:
            own = [e for e in found if (e["experiment"], e["tolerance"]) == (experiment, tolerance)]
            title = f"{context.convention(experiment).title} within {tolerance:g}, dataset by dataset"
            parts.append(f"<details><summary>{escape(title)}</summary>{cells.html(detail(own))}</details>")
    for reason, names in not_applicable(found).items():
        parts.append(f"<p class='finding'>Does not apply: {escape(', '.join(names))} – {escape(reason)}.</p>")
    return "\n".join(parts)


KIND = replace(Kind.of(CrossPaper, COLUMNS, lines, draw=draw, table=body), fragment=fragment)
