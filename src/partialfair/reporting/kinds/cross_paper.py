"""Algorithms of all papers on the same splits under one constraint: accuracy, violation, certificate and time.

One line per dataset and algorithm. An algorithm whose parameter is the constraint's tolerance is shown at the option
``kappa``. One whose parameter is something else (a weight, the slack of a constraint of its own) is shown at the
parameter that the validation rows choose: the most accurate of those within the tolerance there, else the one nearest
to it.
"""

import math
from collections.abc import Iterator
from html import escape

import numpy as np
from pydantic import Field

from partialfair import plugins
from partialfair.algorithms import tuning
from partialfair.errors import NotEstimableError
from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.verdicts.results import Setting

COLUMNS = (
    "experiment", "constraint", "dataset", "algorithm", "paper", "kappa", "chosen_by", "accuracy", "violation",
    "train_violation", "kkt_residual", "cpu_seconds", "n_seeds", "status", "reason",
)  # fmt: skip


class CrossPaper(Options):
    """What an entry takes."""

    kappa: float = Field(description="tolerance of the constraint that all are held to")
    papers: dict[str, list[str]] = Field({}, description="algorithms by the short name of their paper")


Shown = Context[CrossPaper]
MEASURES = ("max_violation", "kkt_residual", "cpu_seconds")


def lines(context: Shown) -> list[Line]:
    """One line per experiment, dataset and algorithm: ``COLUMNS``."""
    return [line for name in context.experiments for line in _of_experiment(context, name)]


def _of_experiment(context: Shown, name: str) -> Iterator[Line]:
    experiment = context.config.experiment(name)
    metric = plugins.load("constraints", experiment.constraint).VIOLATION[experiment.kappa_scale]
    for dataset, run in experiment.runs.items():
        for algorithm, kappas in run.algorithms.items():
            settings = [Setting(name, dataset, algorithm, kappa) for kappa in kappas]
            setting, how = chosen(context, settings, metric)
            line: Line = {
                "experiment": name, "constraint": experiment.constraint, "dataset": dataset, "algorithm": algorithm,
                "paper": paper_of(context, algorithm), "kappa": setting.kappa, "chosen_by": how,
            }  # fmt: skip
            yield line | outcome(context, setting, metric)


def paper_of(context: Shown, algorithm: str) -> str:
    """Short name of the paper an algorithm comes from, by the option ``papers``."""
    for title, names in context.options.papers.items():
        if algorithm in names:
            return title
    return ""


def chosen(context: Shown, settings: list[Setting], metric: str) -> tuple[Setting, str]:
    """The setting that is shown, and what decided."""
    if len(settings) == 1:
        return settings[0], "given"
    rates = [[_mean(context, one, name, "validation") for one in settings] for name in (metric, "accuracy")]
    qualities = {"violation": rates[0], "validation_accuracy": rates[1]}
    try:
        choice = tuning.select(qualities, tuning.ACCURATE_WITHIN, limit=context.options.kappa)
    except NotEstimableError:
        return settings[0], "given"
    return settings[choice.index], "validation rows"


def _mean(context: Shown, setting: Setting, metric: str, split: str = "test") -> float:
    values = context.results.rows(setting, metric, split)["value"].to_numpy(float)
    return float(values.mean()) if values.size else math.nan


def outcome(context: Shown, setting: Setting, metric: str) -> Line:
    """What the runs of a setting gave: test metrics, certificate, time; or why there is nothing."""
    runs = context.results.runs
    own = runs[(runs[list(Setting._fields)] == list(setting)).all(axis=1)] if len(runs) else runs
    if own.empty:
        return {"status": "not run", "reason": "no run", "n_seeds": 0}
    good = own[own["status"] == "ok"]
    bad = own[own["status"] != "ok"]
    status = "ok" if bad.empty else str(bad["status"].iloc[0]).replace("_", " ")
    reasons = dict.fromkeys(str(reason) for reason in bad["reason"].dropna())
    line: Line = {"status": status, "reason": "; ".join(reasons), "n_seeds": len(good)}
    if len(own) == len(bad) and status == "not applicable":
        return line
    shown = good if len(good) else own
    line |= {name: float(np.nanmax(shown[name])) if shown[name].notna().any() else math.nan for name in MEASURES}
    line["train_violation"] = line.pop("max_violation")
    level = context.results.level
    for name, key in (("accuracy", "accuracy"), (metric, "violation")):
        estimate = t_interval(context.results.rows(setting, name)["value"].to_numpy(float), level)
        line |= {key: estimate.mean, f"{key}_half_width": estimate.half_width}
    return line


def tables(context: Shown) -> list[Table]:
    """One table per experiment, of the algorithms that apply."""
    found = lines(context)
    return [_table(context, [line for line in found if line["experiment"] == name]) for name in context.experiments]


def not_applicable(context: Shown) -> dict[str, list[str]]:
    """Names and papers of the algorithms that do not apply, by the reason that their runs give."""
    found: dict[str, dict[str, None]] = {}
    for line in lines(context):
        if line["status"] == "not applicable":
            found.setdefault(line["reason"], {})[f"{style.look(line['algorithm']).label} ({line['paper']})"] = None
    return {reason: list(names) for reason, names in found.items()}


def _table(context: Shown, own: list[Line]) -> Table:
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    tolerance = context.options.kappa
    for line in (line for line in own if line["status"] != "not applicable"):
        if line["dataset"] != previous:
            breaks.add(len(rows))
        first = style.dataset_title(line["dataset"]) if line["dataset"] != previous else ""
        previous = line["dataset"]
        head = [cells.text(first), cells.text(style.look(line["algorithm"]).label), cells.text(line["paper"])]
        rows.append([*head, *_numbers(line, tolerance)])
    columns = [
        "dataset",
        "algorithm",
        "paper",
        "parameter",
        "accuracy",
        "violation",
        "excess, training",
        "KKT residual",
    ]
    title = str(plugins.load("constraints", own[0]["constraint"]).TITLE) if own else ""
    groups = [("", 4), (f"test rows; {title} within {tolerance:g}", 2), ("certificate", 2), ("", 2)]
    return Table(groups, [*columns, "CPU s", "note"], rows, frozenset(breaks))


def _numbers(line: Line, tolerance: float) -> list[Cell]:
    if line["status"] == "not run":
        return [*[Cell("–", "none")] * 6, Cell(f"not run: {line['reason']}", "text wrap")]
    parameter = "–" if math.isinf(line["kappa"]) else f"{line['kappa']:g}"
    kind = "good" if line["violation"] <= tolerance else "bad"
    note = " ".join(filter(None, ["" if line["status"] == "ok" else line["status"] + ":", line["reason"]]))
    return [
        Cell(parameter, "number", f"chosen by: {line['chosen_by']}"),
        Cell(_with_width(line, "accuracy")), Cell(_with_width(line, "violation"), kind),
        Cell(_scientific(line["train_violation"])), Cell(_scientific(line["kkt_residual"])),
        Cell(f"{line['cpu_seconds']:.1f}"), Cell(note, "text wrap"),
    ]  # fmt: skip


def _with_width(line: Line, key: str) -> str:
    width = line[f"{key}_half_width"]
    return f"{line[key]:.4f}" + ("" if math.isnan(width) else f" ± {width:.4f}")


def _scientific(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1e}"


def body(context: Shown) -> str:
    """All tables as HTML, and below them which algorithms do not apply and why."""
    parts = [cells.html(table) for table in tables(context)]
    for reason, names in not_applicable(context).items():
        parts.append(f"<p class='finding'>Does not apply: {escape(', '.join(names))} – {escape(reason)}.</p>")
    return "\n".join(parts)


KIND = Kind.of(CrossPaper, COLUMNS, lines, table=body)
