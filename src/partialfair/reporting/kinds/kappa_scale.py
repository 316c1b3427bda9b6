"""The finding on the scale of kappa: every model in both conventions, beside the published numbers."""

import math
from dataclasses import replace

from pydantic import Field

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.reporting.kinds.pairs import setting_of
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.results import Setting, convention, is_estimated
from partialfair.verdicts.scorecard import line as scorecard_line

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "n_seeds", "accuracy", "accuracy_half_width",
    "absolute_metric", "absolute", "absolute_half_width", "relative_metric", "relative", "relative_half_width",
    "published", "nearer", "note",
)  # fmt: skip


class KappaScale(Options):
    """What an entry takes."""

    compare: list[str] = Field([], description="exhibits whose published fairness is held against the definition")


Shown = Context[KappaScale]


def model_lines(context: Shown) -> list[Line]:
    """One line per trained setting, with 1 - violation by both conventions."""
    known = _published_by_setting(context)
    lines = []
    for setting in context.results.settings():
        shown = convention(context.config.experiment(setting.experiment).constraint)
        accuracy, absolute, relative = (
            context.results.estimate(setting, metric) for metric in ("accuracy", shown.absolute, shown.relative)
        )
        line: Line = setting._asdict() | {"n_seeds": absolute.n, "note": context.results.reason(setting)}
        line |= {"absolute_metric": shown.absolute, "relative_metric": shown.relative, "published": known.get(setting)}
        for name, estimate in (("accuracy", accuracy), ("absolute", absolute), ("relative", relative)):
            line |= {name: estimate.mean, f"{name}_half_width": estimate.half_width}
        lines.append(line | {"nearer": _nearer(line["published"], absolute, relative)})
    return lines


def _published_by_setting(context: Shown) -> dict[Setting, float]:
    """Published fairness of the settings, from the exhibits the option ``compare`` names."""
    found: dict[Setting, float] = {}
    for name in context.options.compare:
        for row in context.published_of(name):
            setting = setting_of(context, row) if row.metric.endswith("_fairness") else None
            if setting is not None:
                found.setdefault(setting, row.value)
    return found


def _nearer(value: float | None, absolute: Estimate, relative: Estimate) -> str:
    if value is None or not (is_estimated(absolute) and is_estimated(relative)):
        return ""
    return "absolute" if abs(absolute.mean - value) <= abs(relative.mean - value) else "relative"


def summary(lines: list[Line]) -> str:
    """Say in one sentence which convention the published numbers are nearer to, and by how much."""
    compared = [line for line in lines if line["nearer"]]
    if not compared:
        return "No published number has a reproduced model to compare with yet."
    count = sum(line["nearer"] == "absolute" for line in compared)
    distance = {
        name: sum(abs(line[name] - line["published"]) for line in compared) / len(compared)
        for name in ("absolute", "relative")
    }
    return (
        f"Of {len(compared)} models with a published fairness, {count} are nearer to it by the absolute convention "
        f"(mean distance {distance['absolute']:.3f}) and {len(compared) - count} by the definition "
        f"(mean distance {distance['relative']:.3f})."
    )


def _table(lines: list[Line]) -> Table:
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for line in lines:
        place = (line["experiment"], line["dataset"])
        if place != previous:
            breaks.add(len(rows))
        kappa = "∞" if math.isinf(line["kappa"]) else f"{line['kappa']:g}"
        cell_row = [
            cells.text(line["experiment"] if place != previous else ""),
            cells.text(style.dataset_title(line["dataset"]) if place != previous else ""),
            cells.text(style.look(line["algorithm"]).label),
            Cell(kappa),
        ]
        for name in ("accuracy", "absolute", "relative"):
            width = line[f"{name}_half_width"]
            estimate = Estimate(line[name], line[name] - width, line[name] + width, width, line["n_seeds"])
            cell = cells.measured(estimate, "", line["note"])
            cell_row.append(replace(cell, kind="near") if line["nearer"] == name else cell)
        rows.append([*cell_row, cells.published(line["published"])])
        previous = place
    columns = ["experiment", "dataset", "algorithm", "κ", "accuracy", "1 − gap", "1 − SP or DP", "published"]
    groups = [("", 5), ("absolute", 1), ("by the definition", 1), ("fairness", 1)]
    return Table(groups, columns, rows, frozenset(breaks))


def table(context: Shown) -> str:
    """The sentence and the table."""
    lines = model_lines(context)
    return f"<p class='finding'>{summary(lines)}</p>" + cells.html(_table(lines))


def claims(context: Shown) -> list[Line]:
    """Scorecard lines that hold the published fairness against the definition, 1 - SP on I.

    They are expected to differ: that is the finding. Tolerances are those of the exhibit.
    """
    lines = []
    for name in context.options.compare:
        for row in context.published_of(name):
            setting = setting_of(context, row) if row.metric.endswith("_fairness") else None
            if setting is None:
                continue
            metric = convention(context.config.experiment(setting.experiment).constraint).relative
            note = "the published numbers follow the absolute convention; see the finding on the scale of kappa"
            outcome = Outcome(context.results.estimate(setting, metric), note, f"1 - {metric} of {setting.experiment}")
            entry = scorecard_line(row, outcome, context.tolerance(row.metric, row.dataset))
            lines.append(
                entry | {"exhibit": context.name, "setting": f"{name}: {row.setting}", "metric": f"1 - {metric}"}
            )
    return lines


KIND = Kind.of(KappaScale, COLUMNS, model_lines, table=table, claims=claims)
