"""Every constraint family, loss and surrogate at work: violations, the family's own metric, and accuracy."""

import math
from typing import Any

from partialfair import plugins
from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.tables.intervals import format_interval
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts.results import Setting

COLUMNS = (
    "experiment", "constraint", "loss", "surrogate", "dataset", "interval", "algorithm", "kappa", "kappa_scale",
    "surrogate_violation", "true_violation", "metric", "violation", "violation_half_width", "accuracy",
    "accuracy_half_width", "auc", "auc_half_width", "n_seeds", "note",
)  # fmt: skip


QUALITIES = ("accuracy", "auc")


def family_lines(context: Context[Options]) -> list[Line]:
    """One line per trained setting: ``COLUMNS``.

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
            "loss": _words(experiment.loss),
            "surrogate": _words(experiment.surrogate),
            "interval": format_interval(run.interval),
            "kappa_scale": experiment.kappa_scale,
            "metric": metric,
            "note": context.results.reason(setting, metric),
        }
        violation = t_interval(values, context.results.level)
        line |= {"violation": violation.mean, "violation_half_width": violation.half_width, "n_seeds": violation.n}
        for name in QUALITIES:
            found = context.results.estimate(setting, name)
            line |= {name: found.mean, f"{name}_half_width": found.half_width}
        lines.append(line | _training(context, setting))
    return lines


def _words(choice: Any) -> str:
    """A loss or surrogate in words: its name, and the options in brackets."""
    name, options = plugins.chosen(choice)
    inside = ", ".join(f"{key} {value}" for key, value in options.items())
    return f"{name} ({inside})" if inside else name


def _training(context: Context[Options], setting: Setting) -> dict[str, float]:
    """Violations on the training rows, the largest over seeds; none for unconstrained models."""
    found = context.results.runs_of(setting)
    return {
        name: math.nan if math.isinf(setting.kappa) or column not in found else float(found[column].max())
        for name, column in (("surrogate_violation", "max_violation"), ("true_violation", "true_violation"))
    }


def table(_: Context[Options], lines: list[Line]) -> Table:
    """One row per setting: excess over kappa on training rows, metrics on test rows."""
    columns = [
        "constraint", "loss", "surrogate", "dataset", "interval", "solver", "κ", "surrogate", "indicator", "metric",
        "violation", "accuracy", "AUC",
    ]  # fmt: skip
    groups = [("", 7), ("excess over κ, training rows", 2), ("test rows", 4)]
    return cells.blocks(groups, columns, map(_row, lines))


def _row(line: Line) -> tuple[list[Cell], list[Cell]]:
    title = str(plugins.load("constraints", line["constraint"]).TITLE)
    what = (title, line["loss"], line["surrogate"], style.dataset_title(line["dataset"]), line["interval"])
    own = [cells.text(style.look(line["algorithm"]).label), Cell(style.kappa_symbol(line["kappa"]))]
    own += [_excess(line[name]) for name in ("surrogate_violation", "true_violation")]
    own.append(cells.text(line["metric"]))
    return [cells.text(text) for text in what], own + [cells.mean(line, name) for name in ("violation", *QUALITIES)]


def _excess(value: float) -> Cell:
    return Cell("–", "none") if math.isnan(value) else Cell(f"{value:.4f}")


KIND = Kind.of(Options, COLUMNS, family_lines, table=table)
