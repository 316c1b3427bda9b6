"""Statements about AUC frontiers, each decided by a test over seeds; they stand in the exhibit's entry.

A statement names experiments, datasets, an algorithm and what it is compared with, and one of these tests:

- ``ahead``, ``behind``: the mean difference of AUC at given test gaps is above, below 0 (t-interval over seeds).
- ``equivalent``: that interval lies within ``margin`` of 0.
- ``trades``: the model of the smallest tolerance has a smaller AUC than the unconstrained one (t-interval).
- ``unreachable``: at the smallest tolerance no candidate is within it on validation rows, at any seed.

A line is "reproduced" only if its test says so; an undecided one and one decided the other way both differ, and the
note says which.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from partialfair.errors import ConfigError
from partialfair.grid.params import StrictModel
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import auc_points, style
from partialfair.reporting.auc_points import START
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts.results import Setting

COLUMNS = (
    "statement", "source", "experiment", "dataset", "algorithm", "against", "test", "estimate", "ci_low", "ci_high",
    "n_seeds", "verdict", "note",
)  # fmt: skip


class Statement(StrictModel):
    """A sentence and what decides it."""

    id: str = Field(description="short name")
    source: str = Field(description="who says it: the paper, or this project")
    statement: str = Field(description="the sentence")
    test: Literal["ahead", "behind", "equivalent", "trades", "unreachable"]
    algorithm: str = Field(description="what it is said of")
    against: list[str] = Field([], description="what that is compared with")
    experiments: list[str] = Field(description="where")
    datasets: list[str] = Field(description="where")
    gaps: list[float] = Field([], description="test gaps at which AUCs are compared")
    margin: float = Field(math.nan, description="of equivalence")


def statements(context: Context) -> list[Statement]:
    """The statements of an exhibit.

    Raises:
        ConfigError: an entry is not a statement.
    """
    try:
        return TypeAdapter(list[Statement]).validate_python(context.options.get("statements") or [])
    except ValidationError as error:
        raise ConfigError(f"exhibits.{context.name}.statements: {error}; correct the entry") from error


def lines(context: Context) -> Iterator[dict[str, Any]]:
    """One line of ``COLUMNS`` per statement, place and comparison."""
    for statement in statements(context):
        for experiment in statement.experiments:
            for dataset in statement.datasets:
                for other in statement.against or [""]:
                    line = {"id": statement.id, "statement": statement.statement, "source": statement.source}
                    line |= {"experiment": experiment, "dataset": dataset, "algorithm": statement.algorithm}
                    line |= {"against": other, "test": statement.test}
                    yield line | _decided(context, statement, experiment, dataset, other)


def _decided(context: Context, statement: Statement, experiment: str, dataset: str, other: str) -> dict[str, Any]:
    if statement.test == "unreachable":
        return _unreachable(context, statement, experiment, dataset)
    if statement.test == "trades":
        differences, note = _cost(context, statement, experiment, dataset), "unconstrained minus smallest tolerance"
    else:
        differences, note = _at_gaps(context, statement, experiment, dataset, other)
    found = t_interval(differences)
    if not found.n:
        return _answer(found, None, note)
    if found.n < 2:
        return _answer(found, None, f"{note}; one seed, no interval")
    if statement.test == "behind":
        holds, opposite = found.high < 0, found.low > 0
    elif statement.test == "equivalent":
        holds, opposite = max(abs(found.low), abs(found.high)) <= statement.margin, False
    else:
        holds, opposite = found.low > 0, found.high < 0
    return _answer(found, holds, note + ("" if holds else "; decided the other way" if opposite else "; not decided"))


def _answer(found: Estimate, holds: bool | None, note: str) -> dict[str, Any]:
    verdict = "not run" if holds is None else "reproduced" if holds else "differs"
    values = {"estimate": found.mean, "ci_low": found.low, "ci_high": found.high, "n_seeds": found.n}
    return values | {"verdict": verdict, "note": note}


def _at_gaps(
    context: Context, statement: Statement, experiment: str, dataset: str, other: str
) -> tuple[NDArray[np.float64], str]:
    """Mean difference of AUC by seed over the gaps that both frontiers reach at that seed."""
    gaps = np.array(statement.gaps)
    one, two = (
        auc_points.auc_at(context, experiment, dataset, name, gaps) if _has(context, experiment, dataset, name) else {}
        for name in (statement.algorithm, other)
    )
    both = sorted(set(one) & set(two))
    if not both:
        return np.zeros(0), f"no runs of {statement.algorithm} and {other} on {dataset} at the same seeds"
    apart = np.array([one[seed] - two[seed] for seed in both])
    usable = np.isfinite(apart).all(axis=0)
    if not usable.any():
        return np.zeros(0), f"at no seed do both reach a gap of {gaps.max():g}"
    shown = ", ".join(f"{gap:g}" for gap in gaps[usable])
    return apart[:, usable].mean(axis=1), f"AUC at |Δ| = {shown}"


def _has(context: Context, experiment: str, dataset: str, algorithm: str) -> bool:
    found = auc_points.points(context, experiment, dataset)
    return any(entry.setting.algorithm == algorithm and entry.auc.size for entry in found)


def _smallest(context: Context, experiment: str, dataset: str, algorithm: str) -> float | None:
    settings = context.results.settings(experiment)
    return min((s.kappa for s in settings if (s.dataset, s.algorithm) == (dataset, algorithm)), default=None)


def _cost(context: Context, statement: Statement, experiment: str, dataset: str) -> NDArray[np.float64]:
    """AUC of the unconstrained model minus that of the smallest tolerance, by seed."""
    kappa = _smallest(context, experiment, dataset, statement.algorithm)
    if kappa is None:
        return np.zeros(0)
    tight, start = (
        auc_points.point(context, Setting(experiment, dataset, name, at))
        for name, at in ((statement.algorithm, kappa), (START, math.inf))
    )
    both = sorted(set(tight.seeds.tolist()) & set(start.seeds.tolist()))
    auc = [dict(zip(entry.seeds.tolist(), entry.auc.tolist(), strict=True)) for entry in (start, tight)]
    return np.array([auc[0][seed] - auc[1][seed] for seed in both])


def _unreachable(context: Context, statement: Statement, experiment: str, dataset: str) -> dict[str, Any]:
    kappa = _smallest(context, experiment, dataset, statement.algorithm)
    if kappa is None:
        return _answer(t_interval([]), None, f"no runs of {statement.algorithm} on {dataset}")
    entry = auc_points.point(context, Setting(experiment, dataset, statement.algorithm, kappa))
    if not entry.auc.size:
        return _answer(t_interval([]), None, entry.reason)
    note = f"kappa {kappa:g}: no candidate within it on validation rows at {entry.outside} of {entry.auc.size} seeds"
    return _answer(t_interval(entry.gap), entry.outside == entry.auc.size, f"{note}; estimate: test gap")


def scorecard_lines(context: Context) -> list[dict[str, Any]]:
    """Lines of the scorecard, with the statement where a published number would stand."""
    found = []
    for line in lines(context):
        constraint = context.config.experiment(line["experiment"]).constraint
        setting = f"{line['algorithm']} against {line['against']}" if line["against"] else line["algorithm"]
        entry: dict[str, Any] = {"paper": context.paper, "exhibit": context.name, "dataset": line["dataset"]}
        entry |= {"algorithm": line["algorithm"], "constraint": constraint, "interval": "", "setting": setting}
        entry |= {"metric": "auc", "published": line["statement"], "claim": line["id"], "test": line["test"]}
        entry |= {"reproduced": line["estimate"], "ci_low": line["ci_low"], "ci_high": line["ci_high"]}
        found.append(entry | {"tolerance": None, "verdict": line["verdict"], "note": line["note"]})
    return found


def table(context: Context) -> Table:
    """All lines, statement by statement."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for line in lines(context):
        new = line["id"] != previous
        if new:
            breaks.add(len(rows))
        previous = line["id"]
        rows.append(_row(context, line, new))
    columns = ["statement", "said by", "where", "comparison", "difference or gap", "verdict", "note"]
    return Table([], columns, rows, frozenset(breaks))


def _row(context: Context, line: Mapping[str, Any], new: bool) -> list[Cell]:
    title = context.config.experiment(line["experiment"]).title
    kind = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
    label = style.look(line["algorithm"]).label
    against = f" − {style.look(line['against']).label}" if line["against"] else ""
    return [
        Cell(line["statement"] if new else "", "text wrap"),
        cells.text(line["source"] if new else ""),
        Cell(f"{style.dataset_title(line['dataset'])}; {title}", "text wrap"),
        Cell(f"{label}{against}", "text wrap"),
        _interval(line),
        Cell(line["verdict"], kind),
        Cell(line["note"], "text wrap"),
    ]


def _interval(line: Mapping[str, Any]) -> Cell:
    if math.isnan(line["estimate"]):
        return Cell("–", "none")
    ends = "" if math.isnan(line["ci_low"]) else f" [{line['ci_low']:+.4f}, {line['ci_high']:+.4f}]"
    return Cell(f"{line['estimate']:+.4f}{ends}", "number")


def render(context: Context) -> list[Path]:
    """Write the statements as CSV and HTML."""
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(context)))
    return [cells.write_csv(context.path("csv"), COLUMNS, list(lines(context))), page]


def fragment(context: Context) -> str:
    """Return the statements as a table."""
    return cells.html(table(context))


KINDS = {"auc_findings": Kind(render, fragment, claims=scorecard_lines)}
