"""Published pairs of accuracy and fairness beside reproduced ones, in two blocks side by side."""

import math
from typing import Any, Literal

from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.tables.intervals import format_interval
from partialfair.verdicts import nulls, scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting

COLUMNS = (
    "dataset", "setting", "experiment", "algorithm", "interval", "kappa", "metric", "published",
    "reproduced", "half_width", "n_seeds", "relative_scale", "relative_half_width", "tolerance", "verdict", "note",
)  # fmt: skip


class Pairs(Options):
    """Published pairs of accuracy and fairness beside ours, in two blocks."""

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
    return outcome_of(context, row, setting)


def outcome_of(context: Context[Any], row: Published, setting: Setting) -> Outcome:
    """Accuracy, or fairness in the absolute convention, of a run."""
    metric = _metric(context, row, setting)
    label = "accuracy" if metric == "accuracy" else f"1 - {metric}"
    at = "" if math.isinf(setting.kappa) else f", kappa {setting.kappa:g}"
    source, found = f"{label} of {setting.experiment}{at}", nulls.of_setting(context, setting, metric)
    estimate = context.results.estimate(setting, metric)
    return Outcome(estimate, context.results.reason(setting, metric), source, nulls=found)


def _metric(context: Context[Any], row: Published, setting: Setting) -> str:
    return "accuracy" if row.metric == "accuracy" else context.convention(setting.experiment).absolute


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
    metric = _metric(context, row, setting)
    estimate = context.results.estimate(setting, metric)
    line |= {"experiment": setting.experiment, "kappa": setting.kappa}
    line |= {"half_width": estimate.half_width, "n_seeds": estimate.n}
    if metric != "accuracy":
        relative = context.results.estimate(setting, context.convention(setting.experiment).relative)
        line |= {"relative_scale": relative.mean, "relative_half_width": relative.half_width}
    return line


def pair_table(lines: list[Line], sides: list[tuple[str, str]], show_kappa: bool = True) -> Table:
    """Lay pairs out with one block of columns per side.

    Args:
        lines: of :func:`pair_line`, each with a ``side`` and a ``label`` (what the two sides share).
        sides: (key, title) of the blocks.
        show_kappa: whether each block begins with its kappa.
    """
    found = {(e["dataset"], e["label"], e["side"], e["metric"]): e for e in lines}
    labels = list(dict.fromkeys((e["dataset"], e["label"]) for e in lines))
    fairness = next((e["metric"] for e in lines if e["metric"] != "accuracy"), "psp_fairness")
    rows = []
    for dataset, label in labels:
        own = [cells.text(label)]
        for side, _ in sides:
            fair, right = (found.get((dataset, label, side, metric)) for metric in (fairness, "accuracy"))
            own += side_cells(fair, right)[0 if show_kappa else 1 :]
        rows.append(([cells.text(style.dataset_title(dataset))], own))
    inner = ["κ"] if show_kappa else []
    inner += ["fairness published", "ours", "accuracy published", "ours"]
    groups = [("", 2), *((title, len(inner)) for _, title in sides)]
    return cells.blocks(groups, ["dataset", "setting", *inner * len(sides)], rows)


def side_cells(fair: Line | None, right: Line | None) -> list[Cell]:
    """Cells of one block: kappa, then fairness and accuracy, published and ours."""
    if fair is None or right is None:
        return [Cell("–", "none")] * 5
    numbers = [(cells.published(one["published"]), _reproduced(one)) for one in (fair, right)]
    return [Cell(style.kappa_symbol(fair["kappa"])), *numbers[0], *numbers[1]]


def _reproduced(line: Line) -> Cell:
    return cells.mean(line, "reproduced", "half_width", line["verdict"])


def lines(context: Context[Pairs]) -> list[Line]:
    """Lines with their ``side`` and ``label``, in the table's order."""
    found = [pair_line(context, row, setting_of(context, row), reproduce) for row in context.published]
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


def table(context: Context[Pairs], found: list[Line]) -> Table:
    """One block of columns per range, or per size of the grid."""
    if context.options.sides == "range":
        return pair_table(found, [("full", "constraint on [0, 1]"), ("partial", "constraint on I")])
    sizes = sorted({line["side"] for line in found}, key=int)
    return pair_table(found, [(size, f"grid of {size} ranks") for size in sizes], show_kappa=False)


KIND = Kind.of(Pairs, COLUMNS, lines, table=table, reproduce=reproduce)
