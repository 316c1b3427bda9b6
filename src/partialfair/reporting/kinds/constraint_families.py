"""Every constraint family, loss and surrogate at work: violations, the family's own metric, and accuracy."""

import math
from itertools import groupby
from typing import Any

from partialfair import plugins
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.tables.intervals import format_interval
from partialfair.verdicts.results import Setting

COLUMNS = (
    "experiment", "constraint", "loss", "surrogate", "dataset", "interval", "algorithm", "kappa", "kappa_scale",
    "surrogate_violation", "true_violation", "metric", "violation", "violation_half_width", "accuracy",
    "accuracy_half_width", "auc", "auc_half_width", "n_seeds", "note",
)  # fmt: skip


class ConstraintFamilies(Options):
    """What an entry takes."""


QUALITIES = ("accuracy", "auc")


def family_lines(context: Context[ConstraintFamilies]) -> list[Line]:
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


def _training(context: Context[ConstraintFamilies], setting: Setting) -> dict[str, float]:
    """Violations on the training rows, the largest over seeds; none for unconstrained models."""
    runs = context.results.runs
    if math.isinf(setting.kappa) or runs.empty:
        return {"surrogate_violation": math.nan, "true_violation": math.nan}
    of_setting = (runs[list(Setting._fields)] == list(setting)).all(axis=1)
    found = runs[of_setting]
    return {
        name: float(found[column].max()) if column in found else math.nan
        for name, column in (("surrogate_violation", "max_violation"), ("true_violation", "true_violation"))
    }


def _table(lines: list[Line]) -> Table:
    rows: list[list[Cell]] = []
    breaks = set()
    for _, block in groupby(lines, key=lambda line: (line["experiment"], line["dataset"])):
        breaks.add(len(rows))
        for place, line in enumerate(block):
            rows.append(_row(line, first=place == 0))
    columns = [
        "constraint", "loss", "surrogate", "dataset", "interval", "solver", "κ", "surrogate", "indicator", "metric",
        "violation", "accuracy", "AUC",
    ]  # fmt: skip
    groups = [("", 7), ("excess over κ, training rows", 2), ("test rows", 4)]
    return Table(groups, columns, rows, frozenset(breaks))


def _row(line: Line, first: bool) -> list[Cell]:
    title = str(plugins.load("constraints", line["constraint"]).TITLE)
    what = (title, line["loss"], line["surrogate"], style.dataset_title(line["dataset"]), line["interval"])
    row = [cells.text(text if first else "") for text in what]
    row += [cells.text(style.look(line["algorithm"]).label), Cell(_kappa(line["kappa"]))]
    row += [_excess(line[name]) for name in ("surrogate_violation", "true_violation")]
    row.append(cells.text(line["metric"]))
    return row + [cells.measured(_estimate(line, name), "", line["note"]) for name in ("violation", *QUALITIES)]


def _kappa(kappa: float) -> str:
    return "∞" if math.isinf(kappa) else f"{kappa:g}"


def _excess(value: float) -> Cell:
    return Cell("–", "none") if math.isnan(value) else Cell(f"{value:.4f}")


def _estimate(line: Line, name: str) -> Estimate:
    mean, width = line[name], line[f"{name}_half_width"]
    return Estimate(mean, mean - width, mean + width, width, line["n_seeds"])


def table(context: Context[ConstraintFamilies]) -> Table:
    """All settings."""
    return _table(family_lines(context))


KIND = Kind.of(ConstraintFamilies, COLUMNS, family_lines, table=table)
