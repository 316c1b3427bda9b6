"""Verdicts on what a paper claims in words: one line of the scorecard per claim and comparison, each with its test.

A line counts as reproduced only if its test says so. One that is decided the other way and one that is not decided both
differ; the note says which.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind
from partialfair.tables.intervals import format_interval
from partialfair.verdicts import claim_tests
from partialfair.verdicts.claim import Claim, Finding, load
from partialfair.verdicts.results import convention

COLUMNS = (
    "claim", "exhibit", "dataset", "constraint", "algorithm", "setting", "metric", "statement", "test", "statistic",
    "p_value", "estimate", "ci_low", "ci_high", "verdict", "note",
)  # fmt: skip


def findings(context: Context) -> Iterator[tuple[Claim, Finding]]:
    """Carry out the tests of all claims of the exhibit's paper."""
    for claim in load(context.paper, context.root):
        absent = [name for name in claim.experiments if name not in context.config.experiments]
        if absent:
            reason = f"params.yaml has no experiment {', '.join(absent)}"
            yield claim, Finding("", "", "", "", claim.test.replace("_", " ")).without_answer(reason)
            continue
        for finding in claim_tests.TESTS[claim.test](context, claim):
            yield claim, finding


def verdict(holds: bool | None) -> str:
    """The scorecard's word for a test's answer."""
    return "not run" if holds is None else "reproduced" if holds else "differs"


def scorecard_lines(context: Context) -> list[dict[str, Any]]:
    """Lines of the scorecard, with the statement where a published number would stand."""
    lines = []
    for claim, found in findings(context):
        line: dict[str, Any] = {"paper": context.paper, "exhibit": claim.exhibit, "dataset": found.dataset}
        line |= {"algorithm": claim.algorithm, "setting": found.setting, "metric": found.metric}
        line |= {"constraint": "", "interval": "", "published": claim.statement, "claim": claim.id}
        if found.experiment:
            experiment = context.config.experiment(found.experiment)
            line["constraint"] = experiment.constraint
            if found.dataset in experiment.runs:
                line["interval"] = format_interval(experiment.runs[found.dataset].interval)
        line |= {"reproduced": found.estimate, "ci_low": found.low, "ci_high": found.high}
        line |= {"test": found.test, "statistic": found.statistic, "p_value": found.p}
        lines.append(line | {"tolerance": found.tolerance, "verdict": verdict(found.holds), "note": found.note})
    return lines


def _csv_lines(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "statement": line["published"], "estimate": line["reproduced"]} for line in lines]


def table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """All lines, claim by claim."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for line in lines:
        new = line["claim"] != previous
        if new:
            breaks.add(len(rows))
        kind = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
        title = convention(line["constraint"]).title if line["constraint"] else ""
        rows.append(
            [
                Cell(f"{line['published']} ({line['exhibit']})" if new else "", "text wrap"),
                cells.text(" ".join(filter(None, [line["dataset"].replace("_", " "), title])) or "–"),
                Cell(line["setting"] or "–", "text wrap"),
                Cell(line["metric"] or "–", "text wrap"),
                _interval(line),
                _p_value(line["p_value"]),
                Cell(line["verdict"], kind),
                Cell(line["note"], "text wrap"),
            ]
        )
        previous = line["claim"]
    columns = ["claim", "where", "comparison", "measured", "estimate", "p", "verdict", "note"]
    return Table([], columns, rows, frozenset(breaks))


def _interval(line: Mapping[str, Any]) -> Cell:
    if math.isnan(line["reproduced"]):
        return Cell("–", "none")
    ends = "" if math.isnan(line["ci_low"]) else f" [{line['ci_low']:+.4f}, {line['ci_high']:+.4f}]"
    return Cell(f"{line['reproduced']:+.4f}{ends}", "number", line["test"])


def _p_value(p: float) -> Cell:
    return Cell("–", "none") if math.isnan(p) else Cell("< .0001" if p < 1e-4 else f"{p:.4f}")


def render(context: Context) -> list[Path]:
    """Write the claims as CSV and HTML."""
    lines = scorecard_lines(context)
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(lines)))
    return [cells.write_csv(context.path("csv"), COLUMNS, _csv_lines(lines)), page]


def fragment(context: Context) -> str:
    """Return the table of claims."""
    return cells.html(table(scorecard_lines(context)))


KINDS = {"claims": Kind(render, fragment, claims=scorecard_lines)}
