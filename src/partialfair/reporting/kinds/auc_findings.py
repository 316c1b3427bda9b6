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
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.grid.params import StrictModel
from partialfair.metrics.statistics.paired import Difference, paired_difference
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import auc_points, style
from partialfair.reporting.auc_points import START
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.verdicts.finding import SEED_TESTS, Finding
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


class AucFindings(Options):
    """What an entry takes."""

    statements: list[Statement] = Field(description="what is decided")


Shown = Context[AucFindings]


def findings(context: Shown) -> Iterator[tuple[Statement, str, Finding]]:
    """Statement, what it compares with and what was found, for every place and comparison."""
    for statement in context.options.statements:
        for experiment in statement.experiments:
            for dataset in statement.datasets:
                for other in statement.against or [""]:
                    words = f"{statement.algorithm} against {other}" if other else statement.algorithm
                    head = Finding(experiment, dataset, words, "auc", statement.test)
                    yield statement, other, _decided(context, statement, other, head)


def _decided(context: Shown, statement: Statement, other: str, head: Finding) -> Finding:
    if statement.test == "unreachable":
        return _unreachable(context, statement, head)
    if statement.test == "trades":
        differences, note = _cost(context, statement, head), "unconstrained minus smallest tolerance"
    else:
        differences, note = _at_gaps(context, statement, head, other)
    found = paired_difference(differences, np.zeros(len(differences)))
    if not found.tested:
        note += "; one seed, no interval" if found.n else ""
        return replace(head, estimate=found.mean, n=found.n, note=note)
    test = SEED_TESTS["ahead" if statement.test == "trades" else statement.test]
    holds, opposite = test(found, statement.margin)
    note += "" if holds else "; decided the other way" if opposite else "; not decided"
    return replace(head.decided(holds, math.nan, found, note), statistic=math.nan)


def _at_gaps(context: Shown, statement: Statement, head: Finding, other: str) -> tuple[NDArray[np.float64], str]:
    """Mean difference of AUC by seed over the gaps that both frontiers reach at that seed."""
    gaps, place = np.array(statement.gaps), (head.experiment, head.dataset)
    one, two = (
        auc_points.auc_at(context, *place, name, gaps) if _has(context, *place, name) else {}
        for name in (statement.algorithm, other)
    )
    both = sorted(set(one) & set(two))
    if not both:
        return np.zeros(0), f"no runs of {statement.algorithm} and {other} on {head.dataset} at the same seeds"
    apart = np.array([one[seed] - two[seed] for seed in both])
    usable = np.isfinite(apart).all(axis=0)
    if not usable.any():
        return np.zeros(0), f"at no seed do both reach a gap of {gaps.max():g}"
    shown = ", ".join(f"{gap:g}" for gap in gaps[usable])
    return apart[:, usable].mean(axis=1), f"AUC at |Δ| = {shown}"


def _has(context: Shown, experiment: str, dataset: str, algorithm: str) -> bool:
    found = auc_points.points(context, experiment, dataset)
    return any(entry.setting.algorithm == algorithm and entry.auc.size for entry in found)


def _smallest(context: Shown, statement: Statement, head: Finding) -> float | None:
    settings = context.results.settings(head.experiment)
    wanted = (head.dataset, statement.algorithm)
    return min((s.kappa for s in settings if (s.dataset, s.algorithm) == wanted), default=None)


def _cost(context: Shown, statement: Statement, head: Finding) -> NDArray[np.float64]:
    """AUC of the unconstrained model minus that of the smallest tolerance, by seed."""
    kappa = _smallest(context, statement, head)
    if kappa is None:
        return np.zeros(0)
    tight, start = (
        auc_points.point(context, Setting(head.experiment, head.dataset, name, at))
        for name, at in ((statement.algorithm, kappa), (START, math.inf))
    )
    both = sorted(set(tight.seeds.tolist()) & set(start.seeds.tolist()))
    auc = [dict(zip(entry.seeds.tolist(), entry.auc.tolist(), strict=True)) for entry in (start, tight)]
    return np.array([auc[0][seed] - auc[1][seed] for seed in both])


def _unreachable(context: Shown, statement: Statement, head: Finding) -> Finding:
    kappa = _smallest(context, statement, head)
    if kappa is None:
        return head.without_answer(f"no runs of {statement.algorithm} on {head.dataset}")
    entry = auc_points.point(context, Setting(head.experiment, head.dataset, statement.algorithm, kappa))
    if not entry.auc.size:
        return head.without_answer(entry.reason)
    note = f"kappa {kappa:g}: no candidate within it on validation rows at {entry.outside} of {entry.auc.size} seeds"
    gap = paired_difference(entry.gap, np.zeros(len(entry.gap)))
    shown = Difference(gap.mean, gap.low, gap.high, math.nan, math.nan, gap.n)
    return head.decided(entry.outside == entry.auc.size, math.nan, shown, f"{note}; estimate: test gap")


def lines(context: Shown) -> Iterator[Line]:
    """One line of ``COLUMNS`` per statement, place and comparison."""
    for statement, other, found in findings(context):
        line: Line = statement.model_dump(include={"id", "statement", "source", "algorithm", "test"})
        line |= {"experiment": found.experiment, "dataset": found.dataset, "against": other, "n_seeds": found.n}
        line |= {"estimate": found.estimate, "ci_low": found.low, "ci_high": found.high}
        yield line | {"verdict": found.verdict, "note": found.note}


def scorecard_lines(context: Shown) -> list[Line]:
    """Lines of the scorecard, with the statement where a published number would stand."""
    return [
        found.line(context, statement.statement, statement.algorithm, statement.id).row() | {"interval": ""}
        for statement, _, found in findings(context)
    ]


def table(context: Shown) -> Table:
    """All lines, statement by statement."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for line in lines(context):
        new = line["id"] != previous
        if new:
            breaks.add(len(rows))
        previous = line["id"]
        title = context.config.experiment(line["experiment"]).title
        against = f" − {style.look(line['against']).label}" if line["against"] else ""
        rows.append(
            [
                Cell(line["statement"] if new else "", "text wrap"),
                cells.text(line["source"] if new else ""),
                Cell(f"{style.dataset_title(line['dataset'])}; {title}", "text wrap"),
                Cell(f"{style.look(line['algorithm']).label}{against}", "text wrap"),
                cells.signed(line | {"reproduced": line["estimate"]}),
                Cell(line["verdict"], cells.verdict_kind(line["verdict"])),
                Cell(line["note"], "text wrap"),
            ]
        )
    columns = ["statement", "said by", "where", "comparison", "difference or gap", "verdict", "note"]
    return Table([], columns, rows, frozenset(breaks))


KIND = Kind.of(AucFindings, COLUMNS, lines, table=table, claims=scorecard_lines)
