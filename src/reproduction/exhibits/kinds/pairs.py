"""Published pairs of accuracy and fairness beside reproduced ones, in two blocks side by side."""

import math
from typing import Any, Literal

from pydantic import Field

from partialfair.data.intervals import format_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts import null_models, scorecard, setting_parts
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting

COLUMNS = (
    "dataset", "setting", "experiment", "algorithm", "interval", "kappa", "metric", "published",
    "reproduced", "half_width", "n_seeds", "relative_scale", "relative_half_width", "tolerance", "verdict", "note",
)  # fmt: skip


KEYS = ("row", "kappa", "grid")
"""What the setting of a published number may state."""
ACCURACY, TEST = "accuracy", "test"


class Pairs(Options):
    """Published pairs of accuracy and fairness beside ours, in two blocks."""

    sides: Literal["range", "grid"] = Field(
        description="range: constrained on [0, 1] beside on the interval, by level; grid: sizes of the grid, by kappa"
    )


def stated(row: Published) -> tuple[int | None, int | None, float | None]:
    """Return grid size, level and tolerance in a number's setting: ``row=2``, or ``kappa=0.1;grid=20``.

    Raises:
        DataError: the setting says something else, or a constrained model has not one of place and tolerance.
    """
    parts = setting_parts.key_values(row, KEYS)
    grid, level = (setting_parts.whole_number(row, parts, key) for key in ("grid", "row"))
    kappa = setting_parts.kappa(row, parts)
    if not row.unconstrained and (level is None) == (kappa is None):
        missing = "neither row nor kappa is given" if kappa is None else "row and kappa are given"
        raise setting_parts.refused(row, f"{missing}; write row=1 for the loosest tolerance, or kappa=0.1")
    return grid, level, kappa


def setting_of(context: Context[Any], row: Published) -> Setting | None:
    """Return the run that stands for a published number; ``None`` if no experiment has it.

    The experiment is the one whose constraint interval (and grid size, where the setting names it) is that of the
    number. ``row=i`` is the i-th kappa of the grid from the loosest on, ``kappa=x`` that kappa. The unconstrained
    model is one and the same for every interval, so any experiment's will do.
    """
    return _setting_or_reason(context, row)[0]


def _setting_or_reason(context: Context[Any], row: Published) -> tuple[Setting | None, str]:
    grid, level, kappa = stated(row)
    for name in context.experiments:
        experiment = context.config.experiment(name)
        run = experiment.runs.get(row.dataset)
        if run is None or row.algorithm not in run.algorithms:
            continue
        if row.unconstrained:
            return Setting(name, row.dataset, row.algorithm, math.inf), ""
        if format_interval(run.interval) != row.interval or (grid and grid != (run.grid or experiment.grid)):
            continue
        kappas = sorted(run.algorithms[row.algorithm], reverse=True)
        if level is not None:
            kappa = kappas[level - 1] if level <= len(kappas) else None
        if kappa in kappas:
            return Setting(name, row.dataset, row.algorithm, kappa), ""
        kappas_text = ", ".join(f"{k:g}" for k in kappas)
        return None, f"{name} runs {row.algorithm} on {row.dataset} at kappa {kappas_text}, which is no {row.setting}"
    interval_text = f"I = {row.interval}" + (f" and {grid} ranks" if grid else "")
    return None, f"no run of {row.algorithm} on {row.dataset} with {interval_text} in {', '.join(context.experiments)}"


def reproduce(context: Context[Any], row: Published) -> ReproducedNumber:
    """Return accuracy, or fairness in the absolute convention, of the run that stands for a published number."""
    setting, reason = _setting_or_reason(context, row)
    return ReproducedNumber(None, reason) if setting is None else outcome_of(context, row, setting)


def not_in_pair(context: Context[Any], row: Published, setting: Setting | None) -> str:
    """Say why a number is no part of a pair of accuracy and fairness on test rows; empty if it is one."""
    if row.split not in ("", TEST):
        return f"pairs are of {TEST} rows, and this number is of {row.split} rows"
    experiments = context.experiments if setting is None else [setting.experiment]
    violations = {convention.fairness: convention.absolute for convention in map(context.convention, experiments)}
    if row.metric == ACCURACY or row.metric in violations:
        return ""
    names = ", ".join(f"{name} (1 - {violation})" for name, violation in violations.items())
    return f"{row.metric} is not compared here: pairs are of {ACCURACY} and {names}"


def outcome_of(context: Context[Any], row: Published, setting: Setting) -> ReproducedNumber:
    """Return accuracy, or fairness in the absolute convention, of a run."""
    reason = not_in_pair(context, row, setting)
    if reason:
        return ReproducedNumber(None, reason)
    metric = _compared_metric(context, row, setting)
    label = ACCURACY if metric == ACCURACY else f"1 - {metric}"
    kappa_text = "" if math.isinf(setting.kappa) else f", kappa {setting.kappa:g}"
    source, null_values = (
        f"{label} of {setting.experiment}{kappa_text}",
        null_models.null_values(context, setting, metric),
    )
    estimate = context.results.estimate(setting, metric)
    return ReproducedNumber(estimate, context.results.reason(setting, metric), source, nulls=null_values)


def _compared_metric(context: Context[Any], row: Published, setting: Setting) -> str:
    return ACCURACY if row.metric == ACCURACY else context.convention(setting.experiment).absolute


def pair_line(context: Context[Any], row: Published, setting: Setting | None, reproduce: scorecard.Reproduce) -> Line:
    """Return ``COLUMNS`` of a published number, with the relative convention beside the absolute one.

    ``in_pair`` says whether the table shows it: a number that is no part of a pair has a line, with the reason.

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
        "in_pair": not not_in_pair(context, row, setting),
    }
    if setting is None or not line["in_pair"]:
        return line
    metric = _compared_metric(context, row, setting)
    estimate = context.results.estimate(setting, metric)
    line |= {"experiment": setting.experiment, "kappa": setting.kappa}
    line |= {"half_width": estimate.half_width, "n_seeds": estimate.n}
    if metric != "accuracy":
        relative = context.results.estimate(setting, context.convention(setting.experiment).relative)
        line |= {"relative_scale": relative.mean, "relative_half_width": relative.half_width}
    return line


def _pair_table(lines: list[Line], sides: list[tuple[str, str]], show_kappa: bool = True) -> Table:
    """Lay pairs out with one block of columns per side.

    Args:
        lines: of :func:`pair_line`, each with a ``side`` and a ``label`` (what the two sides share).
        sides: (key, title) of the blocks.
        show_kappa: whether each block begins with its kappa.
    """
    lines = [line for line in lines if line["in_pair"]]
    line_of = {(e["dataset"], e["label"], e["side"], e["metric"]): e for e in lines}
    labels = list(dict.fromkeys((e["dataset"], e["label"]) for e in lines))
    fairness = next((e["metric"] for e in lines if e["metric"] != "accuracy"), "psp_fairness")
    rows = []
    for dataset, label in labels:
        row_cells = [cells.text(label)]
        for side, _ in sides:
            fairness_line, accuracy_line = (
                line_of.get((dataset, label, side, metric)) for metric in (fairness, "accuracy")
            )
            row_cells += side_cells(fairness_line, accuracy_line)[0 if show_kappa else 1 :]
        rows.append(([cells.text(style.dataset_title(dataset))], row_cells))
    inner = ["κ"] if show_kappa else []
    inner += ["fairness published", "fairness ours", "accuracy published", "accuracy ours"]
    groups = [("", 2), *((title, len(inner)) for _, title in sides)]
    return cells.blocks(groups, ["dataset", "setting", *inner * len(sides)], rows)


def side_cells(fairness_line: Line | None, accuracy_line: Line | None) -> list[Cell]:
    """Return cells of one block: kappa, then fairness and accuracy, published and ours."""
    numbers = [
        (cells.published(line["published"]), _reproduced(line)) if line else (Cell("–", "none"),) * 2
        for line in (fairness_line, accuracy_line)
    ]
    any_line = fairness_line or accuracy_line
    return [Cell(style.kappa_symbol(any_line["kappa"]) if any_line else "–"), *numbers[0], *numbers[1]]


def _reproduced(line: Line) -> Cell:
    return cells.mean(line, "reproduced", "half_width", line["verdict"])


def csv_lines(context: Context[Pairs]) -> list[Line]:
    """Return lines with their ``side`` and ``label``, in the table's order."""
    lines, order = [], {}
    datasets = list(dict.fromkeys(row.dataset for row in context.published))
    for row in context.published:
        setting = setting_of(context, row)
        side, label = _side_and_label(context.options.sides, row)
        lines.append(pair_line(context, row, setting, reproduce) | {"side": side, "label": label})
        order[row.dataset, row.setting] = (datasets.index(row.dataset), -(stated(row)[2] or math.inf))
    if context.options.sides == "range":
        return lines
    return sorted(lines, key=lambda line: order[line["dataset"], line["setting"]])


def _side_and_label(sides: str, row: Published) -> tuple[str, str]:
    """Return the block that a number stands in, and what it has in common with the number beside it.

    Raises:
        DataError: the setting does not say it.
    """
    if sides == "range":
        return "full" if row.interval == "0-1" else "partial", row.setting.replace("row=", "level ")
    grid, _, kappa = stated(row)
    if grid is None or (kappa is None and not row.unconstrained):
        missing = "grid" if grid is None else "kappa"
        raise setting_parts.refused(row, f"{missing} is missing; write kappa=0.1;grid=20, as `sides: grid` needs")
    return str(grid), "unconstrained" if row.unconstrained else f"κ = {setting_parts.key_values(row, KEYS)['kappa']}"


def table(context: Context[Pairs], lines: list[Line]) -> Table:
    """Return one block of columns per range, or per size of the grid."""
    if context.options.sides == "range":
        return _pair_table(lines, [("full", "constraint on [0, 1]"), ("partial", "constraint on I")])
    sizes = sorted({line["side"] for line in lines}, key=int)
    return _pair_table(lines, [(size, f"grid of {size} ranks") for size in sizes], show_kappa=False)


def refuse(evidence: Evidence[Pairs], row: Published) -> None:
    """Refuse a number whose setting names no run, or no block of the table.

    Raises:
        DataError: see :func:`stated`.
    """
    stated(row)
    _side_and_label(evidence.options.sides, row)


FROM_TABLES = True
KIND = ExhibitKind.from_lines(Pairs, COLUMNS, csv_lines, table=table, reproduce=reproduce, refuse=refuse)
