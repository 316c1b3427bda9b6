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
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.grid.tidy import CERTIFICATES
from reproduction.verdicts import benchmark
from reproduction.verdicts.benchmark import BenchmarkedMethod

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


CrossPaperContext = Context[CrossPaper]


def paper_of(context: CrossPaperContext, algorithm: str) -> str:
    """Return the short name of an algorithm's paper, by the option ``papers``; empty if it has none."""
    for title, names in context.options.papers.items():
        if algorithm in names:
            return title
    return ""


def methods(context: CrossPaperContext, experiment: str, tolerance: float) -> dict[str, dict[str, BenchmarkedMethod]]:
    """Return all methods by dataset and algorithm."""
    return {
        dataset: {a: benchmark.method(context, experiment, dataset, a, tolerance) for a in run.algorithms}
        for dataset, run in context.config.experiment(experiment).runs.items()
    }


def csv_lines(context: CrossPaperContext) -> list[Line]:
    """Return one line of ``COLUMNS`` per experiment, tolerance, dataset and algorithm; first those for all datasets."""
    return [
        line
        for experiment in context.experiments
        for tolerance in context.options.tolerances
        for line in _lines_of_tolerance(context, experiment, tolerance)
    ]


def _lines_of_tolerance(context: CrossPaperContext, experiment: str, tolerance: float) -> Iterator[Line]:
    methods_by_dataset = methods(context, experiment, tolerance)
    constraint = context.config.experiment(experiment).constraint
    key: Line = {"experiment": experiment, "constraint": constraint, "tolerance": tolerance}
    ranked = benchmark.ranks(methods_by_dataset, context.options.same_rows)
    for algorithm, (_, mean) in ranked.items():
        rank_methods = [methods_by_dataset[dataset][algorithm] for dataset in methods_by_dataset]
        yield key | {
            "dataset": ALL, "algorithm": algorithm, "paper": paper_of(context, algorithm),
            "rank": mean.mean, "rank_low": mean.low, "rank_high": mean.high,
            "exceeds": sum(picked.exceeds for method in rank_methods for picked in method.picked.values()),
            "n_seeds": sum(len(method.picked) for method in rank_methods),
            "cpu_seconds": float(np.mean([method.cpu_seconds for method in rank_methods])),
        }  # fmt: skip
    for dataset, dataset_methods in methods_by_dataset.items():
        for algorithm, method in dataset_methods.items():
            line = key | {"dataset": dataset, "algorithm": algorithm, "paper": paper_of(context, algorithm)}
            rank = ranked[algorithm][0][dataset] if algorithm in ranked else math.nan
            yield line | {"rank": rank} | _outcome(context, method)


def _outcome(context: CrossPaperContext, method: BenchmarkedMethod) -> Line:
    """Return the test metrics, certificates and time of a method on a dataset, or the reason why it has none."""
    if not method.applies:
        return {"status": "not run" if method.why_not == "not run" else "not applicable", "reason": method.why_not}
    picked_models = list(method.picked.values())
    level = context.results.level
    accuracy, violation = (
        t_interval([getattr(model, name) for model in picked_models], level) for name in ("accuracy", "violation")
    )
    reasons = dict.fromkeys(str(reason) for reason in method.runs["reason"].dropna())
    return {
        "parameters": ", ".join(f"{model.setting.kappa:g}" for model in picked_models),
        "accuracy": accuracy.mean, "accuracy_half_width": accuracy.half_width,
        "violation": violation.mean, "violation_half_width": violation.half_width,
        "exceeds": sum(model.exceeds for model in picked_models), "n_seeds": len(picked_models),
        **method.certificates(), "cpu_seconds": method.cpu_seconds,
        "status": method.statuses() or "no model", "reason": "; ".join(reasons),
    }  # fmt: skip


# --- figure --------------------------------------------------------------------------------------------------------


def draw(context: CrossPaperContext, lines: list[Line]) -> Any:
    """Draw mean ranks with their intervals, a row of panels per constraint and a column per tolerance."""
    rows = []
    for experiment in context.experiments:
        overall_lines = [line for line in lines if line["experiment"] == experiment and line["dataset"] == ALL]
        names = order(overall_lines)
        row = [
            _panel(context, [line for line in overall_lines if line["tolerance"] == tolerance], names)
            | {"title": f"{context.convention(experiment).title} within {tolerance:g}"}
            | {"xlabel": f"mean rank of {len(names)} (1 is best)"}
            for tolerance in context.options.tolerances
        ]
        rows.append(row)
    most_curves = max((len(panel.curves) for row in rows for panel in row), default=0)
    size = (3.4 * len(context.options.tolerances) + 1.2, (0.21 * most_curves + 0.75) * len(rows) + 0.9)
    note = (
        "Bars: 95% t-intervals over datasets, cut at the first and the last rank. Hollow: on some dataset and seed the "
        "violation exceeds the tolerance by more than the sampling of test rows explains."
    )
    legend = {paper: _handle(colour) for paper, colour in colours(context, lines).items()}
    share = {"sharey": "row", "sharex": "row"}
    return canvas.draw_panels(rows, size, share, note=note, width=1.9, extra_entries=legend)


def colours(context: CrossPaperContext, lines: list[Line]) -> dict[str, str]:
    """Return colours of the papers that have a point."""
    names = {line["paper"] for line in lines if line["dataset"] == ALL}
    pairs = zip(context.options.papers, itertools.cycle(style.PAPERS), strict=False)
    return {paper: colour for paper, colour in pairs if paper in names}


def _handle(colour: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, marker="o", ms=4.5, ls="")


def order(lines: list[Line]) -> list[str]:
    """Return algorithms by their mean rank over all tolerances, the best first."""
    names = dict.fromkeys(line["algorithm"] for line in lines)
    return sorted(
        names, key=lambda name: float(np.mean([entry["rank"] for entry in lines if entry["algorithm"] == name]))
    )


def _panel(context: CrossPaperContext, lines: list[Line], names: list[str]) -> PlotPanel:
    labels = {"ylim": (len(names) - 0.4, -0.6), "xlim": (0.5, len(names) + 0.5)} if names else {}
    paper_colours = colours(context, lines)

    def finish(axis: Any) -> None:
        axis.set_yticks(range(len(names)), [style.plot_style(name).label for name in names])
        axis.tick_params(axis="y", length=0)
        axis.xaxis.get_major_locator().set_params(integer=True)

    curves = [
        _rank_point(
            _cut_interval(line, len(names)), names.index(line["algorithm"]), paper_colours.get(line["paper"], style.INK)
        )
        for line in lines
    ]
    return PlotPanel(curves, labels, "not run", finish)


def _cut_interval(line: Line, last: int) -> Line:
    """Cut the interval of a line at the first and the last rank: t-intervals of ranks reach beyond both."""
    return line | {"rank_low": max(line["rank_low"], 1.0), "rank_high": min(line["rank_high"], float(last))}


def _rank_point(line: Line, position: int, colour: str) -> PlotCurve:
    mark_style = {
        "color": colour, "marker": "o", "ls": "", "ms": 4.5, "zorder": 3,
        "mfc": "white" if line["exceeds"] else colour, "elinewidth": 1.1,
    }  # fmt: skip
    return PlotCurve([line["rank"]], [position], mark_style, {"xerr": canvas.bar_lengths(line, "rank")})


# --- tables --------------------------------------------------------------------------------------------------------


def overview(context: CrossPaperContext, experiment: str, lines: list[Line]) -> Table:
    """Return a row per method: at each tolerance its rank, how often it exceeds it, the accuracy that it gives up."""
    experiment_lines = [line for line in lines if line["experiment"] == experiment]
    overall_lines = [line for line in experiment_lines if line["dataset"] == ALL]
    rows = []
    names = order(overall_lines)
    for name in names:
        row = [cells.text(style.plot_style(name).label), cells.text(paper_of(context, name))]
        for tolerance in context.options.tolerances:
            tolerance_lines = [line for line in experiment_lines if line["tolerance"] == tolerance]
            line = next(
                (entry for entry in tolerance_lines if (entry["dataset"], entry["algorithm"]) == (ALL, name)), None
            )
            if line is None:
                row += [Cell("–", "none")] * 3
            else:
                row += _rank_cells(_cut_interval(line, len(names)), given_up(tolerance_lines, name))
        rows.append(
            [*row, Cell(f"{next(entry for entry in overall_lines if entry['algorithm'] == name)['cpu_seconds']:.1f}")]
        )
    groups = [("", 2), *((f"within {tolerance:g}", 3) for tolerance in context.options.tolerances), ("", 1)]
    inner = ["mean rank", "exceeds", "accuracy given up"] * len(context.options.tolerances)
    return Table(groups, ["method", "paper", *inner, "CPU s"], rows)


def given_up(lines: list[Line], name: str) -> float:
    """Return the accuracy that a method gives up to the unconstrained model, mean over datasets; NaN without both."""
    accuracies = {(line["dataset"], line["algorithm"]): line.get("accuracy", math.nan) for line in lines}
    datasets = [dataset for dataset, algorithm in accuracies if algorithm == name and dataset != ALL]
    return float(np.mean([accuracies.get((d, "unconstrained"), math.nan) - accuracies[d, name] for d in datasets]))


def _rank_cells(line: Line, accuracy_loss: float) -> list[Cell]:
    share = f"{line['exceeds']} of {line['n_seeds']}"
    ends = "" if math.isnan(line["rank_low"]) else f" [{line['rank_low']:.1f}, {line['rank_high']:.1f}]"
    return [
        Cell(f"{line['rank']:.1f}{ends}"),
        Cell(share, "bad" if line["exceeds"] else "good", "pairs of dataset and seed"),
        Cell("–", "none") if math.isnan(accuracy_loss) else Cell(f"{accuracy_loss:.4f}"),
    ]


def detail(lines: list[Line]) -> Table:
    """Return one row per dataset and method at one tolerance; a column for every kind of certificate that there is."""
    certificates = [kind for kind in CERTIFICATES if any(not math.isnan(line.get(kind, math.nan)) for line in lines)]
    rows = [
        (
            [cells.text(style.dataset_title(line["dataset"]))],
            [cells.text(style.plot_style(line["algorithm"]).label), *_numbers(line, certificates)],
        )
        for line in lines
        if line["dataset"] != ALL and line["status"] != "not applicable"
    ]
    columns = ["dataset", "method", "parameters", "rank", "accuracy", "violation", "exceeds"]
    groups = [("", 4), ("test rows", 3), *([("certificate", len(certificates))] if certificates else []), ("", 3)]
    return cells.blocks(groups, [*columns, *(CERTIFICATES[k] for k in certificates), "CPU s", "status", "note"], rows)


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


def losses(context: CrossPaperContext) -> Table:
    """Return our best method against the best of all others, dataset by dataset; test rows pick both."""
    rows: list[list[Cell]] = []
    breaks = set()
    for experiment in context.experiments:
        for tolerance in context.options.tolerances:
            breaks.add(len(rows))
            for dataset, methods_of_dataset in methods(context, experiment, tolerance).items():
                comparison = _against(context, methods_of_dataset)
                if comparison:
                    title = f"{context.convention(experiment).title} within {tolerance:g}"
                    rows.append([cells.text(title), cells.text(style.dataset_title(dataset)), *comparison])
    columns = ["constraint", "dataset", "best of ours", "best other", "accuracy, ours minus other"]
    return Table([("", len(columns))], columns, rows, frozenset(breaks))


def _against(context: CrossPaperContext, methods: Mapping[str, BenchmarkedMethod]) -> list[Cell]:
    """Return names, and the difference of their accuracies; where only one exceeds the tolerance, that decides."""
    own_names = context.options.own
    other_names = [name for name in methods if name not in own_names]
    sides = [benchmark.best(methods, own_names), benchmark.best(methods, other_names)]
    if None in sides:
        return []
    best_methods = [methods[str(name)] for name in sides]
    names = [cells.text(style.plot_style(str(name)).label) for name in sides]
    exceeds = [any(model.exceeds for model in method.picked.values()) for method in best_methods]
    if exceeds[0] != exceeds[1]:
        if exceeds[0]:
            return [*names, Cell("ours exceeds the tolerance", "bad")]
        return [*names, Cell("the other exceeds the tolerance", "good")]
    gap = benchmark.gap(best_methods[0], best_methods[1], context.results.level)
    half_width = "" if math.isnan(gap.low) else f" ± {(gap.high - gap.low) / 2:.4f}"
    kind = "good" if gap.ahead else "bad" if gap.behind else "number"
    return [*names, Cell(f"{gap.mean:+.4f}{half_width}", kind, f"{gap.n} seeds")]


def answer(experiment_lines: list[Line], title: str, tolerance: float) -> str:
    """Say which method has the smallest mean rank, and which methods have an interval that reaches it."""
    ranked = sorted((line for line in experiment_lines if line["dataset"] == ALL), key=lambda line: float(line["rank"]))
    if not ranked:
        return f"{title} within {tolerance:g}: not run."
    best, others = ranked[0], ranked[1:]
    reaching = [line for line in others if not line["rank_low"] > best["rank"]]
    name = style.plot_style(best["algorithm"]).label
    text = f"{title} within {tolerance:g}: {name} has the smallest mean rank, {best['rank']:.1f}"
    labels = ", ".join(style.plot_style(line["algorithm"]).label for line in reaching)
    if not reaching:
        return f"{text}; the 95% intervals of all others lie above it."
    return f"{text}; the 95% intervals of these reach down to it: {labels}."


def not_applicable(lines: list[Line]) -> dict[str, list[str]]:
    """Return names and papers of the algorithms that do not apply, by the reason that their runs give."""
    reasons: dict[str, dict[str, None]] = {}
    for line in lines:
        if line.get("status") == "not applicable":
            name = f"{style.plot_style(line['algorithm']).label} ({line['paper']})"
            reasons.setdefault(line["reason"], {})[name] = None
    return {reason: list(names) for reason, names in reasons.items()}


def answers(context: CrossPaperContext, lines: list[Line]) -> str:
    """Return the answer per constraint and tolerance."""
    sentences = []
    for experiment in context.experiments:
        title = context.convention(experiment).title
        for tolerance in context.options.tolerances:
            sentence = answer(_at(lines, experiment, tolerance), title, tolerance)
            sentences.append(f"<p class='finding'>{escape(sentence)}</p>")
    return "\n".join(sentences)


def _at(lines: list[Line], experiment: str, tolerance: float) -> list[Line]:
    return [line for line in lines if (line["experiment"], line["tolerance"]) == (experiment, tolerance)]


def body(context: CrossPaperContext, lines: list[Line]) -> str:
    """Return the answers and all tables as HTML."""
    return f"{answers(context, lines)}\n{tables(context, lines)}"


def fragment(context: CrossPaperContext) -> str:
    """Return the answers, the figure and the tables as HTML."""
    lines = csv_lines(context)
    return f"{answers(context, lines)}\n{canvas.inline_figure(context)}\n{tables(context, lines)}"


def tables(context: CrossPaperContext, lines: list[Line]) -> str:
    """Return as HTML an overview per constraint, our losses, details, and methods that do not apply with reasons."""
    blocks = [cells.html(overview(context, experiment, lines)) for experiment in context.experiments]
    blocks += ["<h3>Our own methods against the best of the others</h3>", cells.html(losses(context))]
    for experiment in context.experiments:
        for tolerance in context.options.tolerances:
            table = cells.html(detail(_at(lines, experiment, tolerance)))
            title = f"{context.convention(experiment).title} within {tolerance:g}, dataset by dataset"
            blocks.append(f"<details><summary>{escape(title)}</summary>{table}</details>")
    for reason, names in not_applicable(lines).items():
        blocks.append(f"<p class='finding'>Does not apply: {escape(', '.join(names))} – {escape(reason)}.</p>")
    return "\n".join(blocks)


FROM_TABLES = True
KIND = replace(ExhibitKind.from_lines(CrossPaper, COLUMNS, csv_lines, draw=draw, table=body), fragment=fragment)
