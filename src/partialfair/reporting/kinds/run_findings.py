"""Statements about runs, each decided by them: one line of the scorecard per statement.

A statement holds if a difference over paired runs is on its side with its whole interval; orderings of several methods
hold if every pair does so by its means.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.grid.params import StrictModel
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import run_scores, style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting

COLUMNS = (
    "exhibit", "dataset", "algorithm", "setting", "metric", "statement", "estimate", "ci_low", "ci_high", "verdict",
    "note",
)  # fmt: skip
Values = dict[int, float]


class Statement(StrictModel):
    """A sentence about a metric of runs."""

    statement: str = Field(description="the sentence")
    split: str = Field("train", description="rows that the metric is taken of")


class Compared(Statement):
    """A metric of one method against another's run by run, or against a limit."""

    test: Literal["smaller", "below", "above"] = Field(description="than the other's; than the limit")
    metric: str
    algorithm: str
    experiment: str | None = Field(None, description="where; the exhibit's first by default")
    than_algorithm: str | None = None
    than_experiment: str | None = None
    limit: float = math.nan
    absolute: bool = Field(False, description="take the metric's magnitude")


class Ordered(Statement):
    """Means of a metric ascend from one set of methods to the next."""

    metric: str
    order: list[list[str]]
    experiment: str | None = None


class Agreement(Statement):
    """Two published exhibits give one method the same numbers in some columns and in no other."""

    algorithm: str
    published: list[str]
    agree: list[str]


class RunFindings(Options):
    """What an entry takes."""

    statements: list[Compared | Ordered | Agreement] = Field(description="what is decided, one line each")


Shown = Context[RunFindings]


def setting_of(context: Shown, algorithm: str, experiment: str | None = None) -> Setting:
    """The setting of an algorithm in an experiment, at its first tolerance."""
    name = experiment or context.experiments[0]
    dataset, run = next(iter(context.config.experiment(name).runs.items()))
    return Setting(name, dataset, algorithm, run.algorithms[algorithm][0])


def _measured(context: Shown, setting: Setting, metric: str, split: str, absolute: bool = False) -> Values:
    """A metric, or its magnitude, by seed."""
    found = run_scores.values(context, setting, metric, split)
    return {seed: abs(value) if absolute else value for seed, value in found.items() if not math.isnan(value)}


def compared(context: Shown, entry: Compared) -> Line:
    """The difference is on the statement's side with its whole interval."""
    names = [(entry.algorithm, entry.experiment)]
    if entry.test == "smaller":
        names.append((str(entry.than_algorithm), entry.than_experiment or entry.experiment))
    sides = [setting_of(context, *name) for name in names]
    found = [_measured(context, setting, entry.metric, entry.split, entry.absolute) for setting in sides]
    if entry.test == "smaller":
        values = statements.differences(found[1], found[0])
    else:
        sign = 1 if entry.test == "below" else -1
        values = [sign * (entry.limit - value) for value in found[0].values()]
    named = zip(names, found, strict=True)
    parts = [f"{_label(name)} {np.mean(list(own.values())):.4f}" for name, own in named if own]
    return statements.line(context, sides[0], entry.metric, entry.statement, values, ", ".join(parts))


def _label(name: tuple[str, str | None]) -> str:
    algorithm, experiment = name
    return style.look(algorithm).label + (f" ({experiment})" if experiment else "")


def ordered(context: Shown, entry: Ordered) -> Line:
    """The smallest gap between neighbouring sets of methods is positive."""
    sets = []
    for names in entry.order:
        own = {
            n: _measured(context, setting_of(context, n, entry.experiment), entry.metric, entry.split) for n in names
        }
        sets.append({name: float(np.mean(list(values.values()))) for name, values in own.items() if values})
    setting = setting_of(context, entry.order[0][0], entry.experiment)
    if any(len(found) != len(names) for found, names in zip(sets, entry.order, strict=True)):
        return statements.line(context, setting, entry.metric, entry.statement, [], "not all methods have run")
    gap = min(min(after.values()) - max(before.values()) for before, after in zip(sets, sets[1:], strict=False))
    words = " < ".join("{" + ", ".join(f"{style.look(n).label} {v:.4f}" for n, v in s.items()) + "}" for s in sets)
    line = statements.line(context, setting, entry.metric, entry.statement, [])
    verdict, note = "reproduced" if gap > 0 else "differs", f"means over runs: {words}; smallest gap {gap:+.4f}"
    return line | {"reproduced": gap, "verdict": verdict, "note": note, "algorithm": "all"}


def agreement(context: Shown, entry: Agreement) -> Line:
    """The columns in which two published exhibits agree are those that are named."""
    places = [context.published_of(name) for name in entry.published]
    numbers = [{(r.metric, r.setting): r.value for r in rows if r.algorithm == entry.algorithm} for rows in places]
    shared = sorted(numbers[0].keys() & numbers[1].keys())
    equal = {metric for metric, _ in shared} - {key[0] for key in shared if numbers[0][key] != numbers[1][key]}
    line = statements.line(context, setting_of(context, entry.algorithm), "published numbers", entry.statement, [])
    verdict = "reproduced" if shared and equal == set(entry.agree) else "differs"
    note = f"equal in {', '.join(sorted(equal)) or 'no column'}, of {', '.join(sorted({m for m, _ in shared}))}"
    return line | {"verdict": verdict, "note": note}


TESTS: Mapping[type[Statement], Any] = {Compared: compared, Ordered: ordered, Agreement: agreement}


def claims(context: Shown) -> list[Line]:
    """Lines of the scorecard, one per statement."""
    entries = context.options.statements
    return [TESTS[type(entry)](context, entry) | {"setting": f"{entry.split} rows"} for entry in entries]


def lines(context: Shown) -> list[Line]:
    """One line per statement: ``COLUMNS``."""
    found = claims(context)
    return [{**line, "statement": line["published"], "estimate": line.get("reproduced")} for line in found]


def table(context: Shown) -> Table:
    """One line per statement."""
    words = {"reproduced": "holds", "differs": "does not hold"}
    rows = []
    for line in claims(context):
        verdict = Cell(str(words.get(line["verdict"], line["verdict"])), cells.verdict_kind(line["verdict"]))
        head = [Cell(line["published"], "text wrap"), cells.text(line["setting"]), cells.signed(line)]
        rows.append([*head, verdict, Cell(line["note"], "text wrap")])
    return Table([], ["statement", "where", "margin", "verdict", "measured"], rows)


KIND = Kind.of(RunFindings, COLUMNS, lines, table=table, claims=claims)
