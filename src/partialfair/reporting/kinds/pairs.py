"""Published pairs of accuracy and fairness beside reproduced ones, in two blocks side by side."""

import math
from typing import Any, Literal

from pydantic import Field

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.tables.intervals import format_interval
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting, convention

COLUMNS = (
    "dataset", "setting", "experiment", "algorithm", "interval", "kappa", "metric", "published",
    "reproduced", "half_width", "n_seeds", "relative_scale", "relative_half_width", "tolerance", "verdict", "note",
)  # fmt: skip


class Pairs(Options):
    """What an entry takes."""

    sides: Literal["range", "grid"] = Field(
        description="range: constrained on [0, 1] beside on the interval, by level; grid: sizes of the grid, by kappa"
    )


def setting_of(context: Context[Any], row: Published) -> Setting | None:
    """Return the run that stands for a published number; ``None`` if no experiment has it.

    The experiment is the one whose constraint interval (and grid size, where the setting names it) is that of the
    number. ``row=i`` is the i-th kappa of the grid from the loosest on, ``kappa=x`` that kappa. The unconstrained
    model is one and the same for every interval, so any experiment's will do.
    """
    for name in context.experiments:
        experiment = context.config.experiment(name)
        run = experiment.runs.get(row.dataset)
        if run is None or row.algorithm not in run.algorithms:
            continue
        if row.unconstrained:
            return Setting(name, row.dataset, row.algorithm, math.inf)
        grid = row.options.get("grid")
        if format_interval(run.interval) != row.interval or (grid and int(grid) != (run.grid or experiment.grid)):
            continue
        kappas = sorted(run.algorithms[row.algorithm], reverse=True)
        if "row" in row.options:
            place = int(row.options["row"]) - 1
            return Setting(name, row.dataset, row.algorithm, kappas[place]) if place < len(kappas) else None
        kappa = float(row.options["kappa"])
        return Setting(name, row.dataset, row.algorithm, kappa) if kappa in kappas else None
    return None


def reproduce(context: Context[Any], row: Published) -> Outcome:
    """Accuracy, or fairness in the absolute convention, of the run that stands for a published number."""
    setting = setting_of(context, row)
    if setting is None:
        size = row.options.get("grid")
        where = f"I = {row.interval}" + (f" and {size} ranks" if size else "")
        return Outcome(
            None, f"no run of {row.algorithm} on {row.dataset} with {where} in {', '.join(context.experiments)}"
        )
    shown = convention(context.config.experiment(setting.experiment).constraint)
    metric = "accuracy" if row.metric == "accuracy" else shown.absolute
    estimate = context.results.estimate(setting, metric)
    label = "accuracy" if metric == "accuracy" else f"1 - {metric}"
    at = "" if math.isinf(setting.kappa) else f", kappa {setting.kappa:g}"
    return Outcome(estimate, context.results.reason(setting, metric), f"{label} of {setting.experiment}{at}")


def pair_lines(context: Context[Any]) -> list[Line]:
    """One line per published number; see :func:`pair_line`."""
    return [pair_line(context, row, setting_of(context, row), reproduce) for row in context.published]


def pair_line(context: Context[Any], row: Published, setting: Setting | None, reproduce: scorecard.Reproduce) -> Line:
    """Return ``PAIR_COLUMNS`` of a published number, with the relative convention beside the absolute one.

    Args:
        context: of the exhibit.
        row: the published number.
        setting: the run that stands for it.
        reproduce: what was reproduced of it.
    """
    line = scorecard.compare(context, row, reproduce) | {
        "half_width": math.nan,
        "relative_scale": math.nan,
        "kappa": math.nan,
    }
    if setting is None:
        return line
    shown = convention(context.config.experiment(setting.experiment).constraint)
    metric = "accuracy" if row.metric == "accuracy" else shown.absolute
    estimate = context.results.estimate(setting, metric)
    line |= {"experiment": setting.experiment, "kappa": setting.kappa}
    line |= {"half_width": estimate.half_width, "n_seeds": estimate.n}
    if metric != "accuracy":
        relative = context.results.estimate(setting, shown.relative)
        line |= {"relative_scale": relative.mean, "relative_half_width": relative.half_width}
    return line


def pair_table(lines: list[Line], sides: list[tuple[str, str]], show_kappa: bool = True) -> Table:
    """Lay pairs out with one block of columns per side.

    Args:
        lines: of :func:`pair_lines`, each with a ``side`` and a ``label`` (what the two sides share).
        sides: (key, title) of the blocks.
        show_kappa: whether each block begins with its kappa.
    """
    found = {(e["dataset"], e["label"], e["side"], e["metric"]): e for e in lines}
    labels = list(dict.fromkeys((e["dataset"], e["label"]) for e in lines))
    fairness = next((e["metric"] for e in lines if e["metric"] != "accuracy"), "psp_fairness")
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for dataset, label in labels:
        if dataset != previous:
            breaks.add(len(rows))
        cell_row = [cells.text(style.dataset_title(dataset) if dataset != previous else ""), cells.text(label)]
        for side, _ in sides:
            fair, right = (found.get((dataset, label, side, metric)) for metric in (fairness, "accuracy"))
            cell_row += side_cells(fair, right)[0 if show_kappa else 1 :]
        rows.append(cell_row)
        previous = dataset
    inner = ["κ"] if show_kappa else []
    inner += ["fairness published", "reproduced", "by the definition", "accuracy published", "reproduced"]
    groups = [("", 2), *((title, len(inner)) for _, title in sides)]
    return Table(groups, ["dataset", "setting", *inner * len(sides)], rows, frozenset(breaks))


def side_cells(fair: Line | None, right: Line | None) -> list[Cell]:
    """Cells of one block: kappa, fairness (published, absolute, relative), accuracy (published, reproduced)."""
    if fair is None or right is None:
        return [Cell("–", "none")] * 6
    kappa = fair["kappa"]
    shown = "–" if math.isnan(kappa) else "∞" if math.isinf(kappa) else f"{kappa:g}"
    return [
        Cell(shown),
        cells.published(fair["published"]),
        cells.measured(_estimate(fair, "reproduced", "half_width"), fair["verdict"], fair["note"]),
        cells.measured(_estimate(fair, "relative_scale", "relative_half_width"), "", "1 - SP on I, the definition"),
        cells.published(right["published"]),
        cells.measured(_estimate(right, "reproduced", "half_width"), right["verdict"], right["note"]),
    ]


def _estimate(line: Line, mean: str, half: str) -> Estimate | None:
    value = line.get(mean)
    if value is None or math.isnan(value):
        return None
    width = line.get(half, math.nan)
    return Estimate(value, value - width, value + width, width, int(line.get("n_seeds", 1)))


def lines(context: Context[Pairs]) -> list[Line]:
    """Lines with their ``side`` and ``label``, in the table's order."""
    found = pair_lines(context)
    if context.options.sides == "range":
        for line in found:
            line["side"] = "full" if line["interval"] == "0-1" else "partial"
            line["label"] = line["setting"].replace("row=", "level ")
        return found
    order = {}
    datasets = list(dict.fromkeys(row.dataset for row in context.published))
    for line, row in zip(found, context.published, strict=True):
        kappa = row.options.get("kappa")
        line["side"], line["label"] = row.options["grid"], f"κ = {kappa}" if kappa else "unconstrained"
        order[row.dataset, line["label"]] = (datasets.index(row.dataset), -float(kappa or math.inf))
    return sorted(found, key=lambda line: order[line["dataset"], line["label"]])


def table(context: Context[Pairs]) -> Table:
    """One block of columns per range, or per size of the grid."""
    found = lines(context)
    if context.options.sides == "range":
        return pair_table(found, [("full", "constraint on [0, 1]"), ("partial", "constraint on I")])
    sizes = sorted({line["side"] for line in found}, key=int)
    return pair_table(found, [(size, f"grid of {size} ranks") for size in sizes], show_kappa=False)


KIND = Kind.of(Pairs, COLUMNS, lines, table=table, reproduce=reproduce)
