"""Every constraint family, loss and surrogate at work: violations, the family's own metric, and accuracy."""

import math
from typing import Any

from partialfair import plugins
from partialfair.data.intervals import format_interval
from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts.results import Setting

COLUMNS = (
    "experiment", "constraint", "loss", "surrogate", "dataset", "interval", "algorithm", "kappa", "kappa_scale",
    "surrogate_violation", "true_violation", "metric", "violation", "violation_half_width", "accuracy",
    "accuracy_half_width", "auc", "auc_half_width", "n_seeds", "note",
)  # fmt: skip


QUALITIES = ("accuracy", "auc")


def csv_lines(context: Context[Options]) -> list[Line]:
    """Return one line per trained setting: ``COLUMNS``.

    Violations on the training rows, excess over the tolerance and so at most 0 where the constraint holds, are the
    largest over seeds; metrics of the test rows are means over seeds.
    """
    lines = []
    for setting in context.results.settings():
        experiment = context.config.experiment(setting.experiment)
        run = experiment.runs[setting.dataset]
        metric = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
        values = context.results.rows(setting, metric)["value"].to_numpy(float)
        line: Line = setting._asdict() | {
            "constraint": experiment.constraint,
            "loss": _choice_text(experiment.loss),
            "surrogate": _choice_text(experiment.surrogate),
            "interval": format_interval(run.interval),
            "kappa_scale": experiment.kappa_scale,
            "metric": metric,
            "note": context.results.reason(setting, metric),
        }
        violation = t_interval(values, context.results.level)
        line |= {"violation": violation.mean, "violation_half_width": violation.half_width, "n_seeds": violation.n}
        for name in QUALITIES:
            estimate = context.results.estimate(setting, name)
            line |= {name: estimate.mean, f"{name}_half_width": estimate.half_width}
        lines.append(line | _training_violations(context, setting))
    return lines


def _choice_text(choice: Any) -> str:
    """Return a loss or surrogate in words: its name, and the options in brackets."""
    name, options = plugins.chosen(choice)
    options_text = ", ".join(f"{key} {value}" for key, value in options.items())
    return f"{name} ({options_text})" if options_text else name


def _training_violations(context: Context[Options], setting: Setting) -> dict[str, float]:
    """Return violations on the training rows, the largest over seeds; none for unconstrained models."""
    runs = context.results.runs_of(setting)
    return {
        name: math.nan if math.isinf(setting.kappa) or column not in runs else float(runs[column].max())
        for name, column in (("surrogate_violation", "max_violation"), ("true_violation", "true_violation"))
    }


def table(_: Context[Options], lines: list[Line]) -> Table:
    """Return one row per setting: excess over kappa on training rows, metrics on test rows."""
    columns = [
        "constraint", "loss", "surrogate", "dataset", "interval", "solver", "κ", "surrogate", "indicator", "metric",
        "violation", "accuracy", "AUC",
    ]  # fmt: skip
    groups = [("", 7), ("excess over κ, training rows", 2), ("test rows", 4)]
    return cells.blocks(groups, columns, map(_row, lines))


def _row(line: Line) -> tuple[list[Cell], list[Cell]]:
    title = str(plugins.load("constraints", line["constraint"]).TITLE)
    head = (title, line["loss"], line["surrogate"], style.dataset_title(line["dataset"]), line["interval"])
    row_cells = [cells.text(style.plot_style(line["algorithm"]).label), Cell(style.kappa_symbol(line["kappa"]))]
    row_cells += [_excess(line[name]) for name in ("surrogate_violation", "true_violation")]
    row_cells.append(cells.text(line["metric"]))
    return [cells.text(text) for text in head], row_cells + [
        cells.mean(line, name) for name in ("violation", *QUALITIES)
    ]


def _excess(value: float) -> Cell:
    return Cell("–", "none") if math.isnan(value) else Cell(f"{value:.4f}")


FROM_TABLES = True
KIND = ExhibitKind.from_lines(Options, COLUMNS, csv_lines, table=table)
