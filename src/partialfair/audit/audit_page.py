"""The page of an audit: sentences, tables and pictures in one self-contained HTML file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.audit import pictures, sentences
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE
from partialfair.audit.rates import RATES, RATIO
from partialfair.pages import cells

if TYPE_CHECKING:
    from partialfair.audit.measures import Measurement
    from partialfair.audit.result import AuditResult, Gate

TEMPLATES = Path(__file__).parent / "templates"
MOST_PAIRS = 30  # of the table of pairs; all of them are in the JSON file
RATE_TITLES = {
    "positive_rate": "selection rate",
    "calibration": "mean score minus base rate",
}
RATE_MEANINGS = (
    "The selection rate is the share of positive decisions, the base rate that of positive labels. The true (false) "
    "positive rate is the selection rate among rows with the positive (negative) label; precision is the share of "
    "positive labels among positive decisions."
)


@dataclass(frozen=True)
class Item:
    """One cell.

    Attributes:
        text: what it says.
        small: lines below it in small print: a code, a note, which break anywhere if they have to.
        kind: class names: ``text``, ``number``, ``none``, ``good``, ``bad``.
        ends: numbers below it in small print, none of which a line break parts.
    """

    text: str
    small: Sequence[str] = ()
    kind: str = "number"
    ends: str = ""


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        caption: what it shows, for whoever does not see the heading.
        columns: titles, each with a code in small print or nothing.
        rows: cells; the first of each row names it.
    """

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Item]]


@cache
def environment(*folders: Path) -> Any:
    """Return the templates of audits before those of all pages, and those of further folders before both."""
    import jinja2

    common = cells.environment()
    loaders = [jinja2.FileSystemLoader(folder) for folder in (*folders, TEMPLATES)]
    return common.overlay(loader=jinja2.ChoiceLoader([*loaders, common.loader]))


def page(result: "AuditResult") -> str:
    """Return the page as HTML text."""
    notes: list[str] = []
    return str(
        environment()
        .get_template("audit.html.j2")
        .render(
            result=result,
            byline=byline(result),
            gate_sentence=sentences.gate_sentence(result.gates),
            headline=sentences.headline(result),
            where=sentences.ranks_text(result),
            whole=sentences.is_whole(result),
            gates=_gate_table(result),
            remedies=sentences.remedies(result),
            groups=_group_table(result),
            rate_meanings=RATE_MEANINGS,
            group_notes=_group_notes(result),
            metrics=_metric_table(result, notes),
            quality=_quality_table(result, notes),
            notes=notes,
            pairs=_pair_table(result) if len(result.curve.names) > 2 else None,
            pairs_left_out=max(0, len(result.measured.pairs) - MOST_PAIRS),
            figures=pictures.all_of(result),
            drawn_gap=pictures.shows_gap(result),
            left_out=len(result.curve.names) - len(pictures.largest(result.curve)),
            out_of_scope=sentences.out_of_scope(result),
            chosen_by=sentences.chosen_by(result.suggestion, "statistical parity violation")
            if result.suggestion
            else "",
            not_suggested=_not_suggested(result),
            facts=_facts(result),
        )
    )


def summary(result: "AuditResult") -> str:
    """Return sentences, gates, groups and violations as a part of a page, for a notebook."""
    notes: list[str] = []
    return str(
        environment()
        .get_template("summary.html.j2")
        .render(
            result=result,
            gate_sentence=sentences.gate_sentence(result.gates),
            headline=sentences.headline(result),
            tables=[table for table in (_gate_table(result), _group_table(result)) if table],
            metrics=_metric_table(result, notes),
            notes=notes,
        )
    )


def _not_suggested(result: "AuditResult") -> str:
    """Return why no interval is suggested, where none is."""
    if not math.isfinite(result.threshold):
        return "None: the decision threshold is not a finite number."
    if {line.positive_rate.value for line in result.groups} in ({0.0}, {1.0}):
        return "None: every row gets the same decision, so that no interval is where decisions are made."
    return "None: no interval around the rate of positive decisions keeps enough rows of every group."


def byline(result: "AuditResult") -> str:
    """Return who made the audit, when, and who answers for the model."""
    auditor, owner, date = (result.record.get(name) for name in ("by", "owner", "date"))
    when = f" on {datetime.fromisoformat(str(date)):%-d %B %Y, %H:%M} UTC" if date else ""
    made = (
        f"Audit made by {auditor}{when}."
        if auditor
        else f"Audit made{when or ' at a time that is not stated'}; by whom is not stated."
    )
    return f"{made} Who answers for the model: {owner or sentences.NOT_STATED}."


def _facts(result: "AuditResult") -> list[tuple[str, str]]:
    """Return who, when, what and how."""
    record = result.record
    default = ""
    if result.default_threshold:
        why = "all scores lie in [0, 1]" if result.threshold else "some scores lie outside [0, 1]"
        default = f" (not given; the default where {why})"
    over = f" (not given; the default, rather than {result.chosen_over})" if result.chosen_over else ""
    intervals = "none were computed"
    if result.confidence_intervals:
        intervals = f"{result.level:.0%}, in closed form: exact ones of rates, those of gaps made of them"
    facts = [
        ("Audit made by", record.get("by") or sentences.NOT_STATED),
        ("Date", record.get("date") or sentences.NOT_STATED),
        ("Who answers for the model", record.get("owner") or sentences.NOT_STATED),
        ("Command that makes it again", record.get("command") or "none: it was made in Python"),
        ("File of scores", result.source),
        ("SHA-256 of the file", record.get("file_sha256") or "none: the scores were given in Python"),
        ("Rows", f"{result.rows:,}{', weighted' if result.weighted else ''}"),
        ("Groups", f"{len(result.groups)}, of which {len(result.curve.names)} are compared"),
        ("Interval I", f"{result.interval} (ranks; 0 is the highest score of a group)"),
        ("Decision threshold", f"{result.threshold:g}{default}"),
        ("Positive label", (result.positive_label or "no labels were given") + over),
        ("Confidence intervals", intervals),
        ("Version", f"partialfair {record.get('partialfair')}"),
    ]
    return [(name, str(text)) for name, text in facts]


def _measurements(result: "AuditResult") -> "dict[str, Measurement]":
    return {**result.measured.quality, **result.measured.overall, RATIO: result.ratio}


def _gate_table(result: "AuditResult") -> Grid | None:
    """Limit, measurement and outcome of every gate."""
    if not result.gates:
        return None
    measurements = _measurements(result)
    percent = f"{result.level:.0%} confidence interval"
    columns = [("what is limited", ""), ("limit", ""), ("measured", percent), ("outcome", "")]
    return Grid("Gates", columns, [_gate_row(gate, measurements[gate.metric]) for gate in result.gates])


def _gate_row(gate: "Gate", measurement: "Measurement") -> list[Item]:
    notes = [f"{gate.groups[0]!r} lower than {gate.groups[1]!r}"] if gate.groups else []
    notes += [text for text in (gate.reason, sentences.near_limit(gate, measurement)) if text]
    measured = Item("not measured", (), "none")
    if gate.value is not None:
        measured = Item(sentences.beside(gate.value, gate.limit), ends=sentences.interval_text(measurement))
    return [
        Item(sentences.title(gate.metric), (gate.metric,), "text"),
        Item(f"{'at least' if gate.metric == RATIO else 'at most'} {gate.limit:g}"),
        measured,
        Item("passed" if gate.passed else "failed", notes, f"text verdict {'good' if gate.passed else 'bad'}"),
    ]


def _lines(*texts: str) -> list[str]:
    return [text for text in texts if text]


def _item(measurement: "Measurement", notes: list[str], between: str = "") -> Item:
    """A number with its interval and the groups that it is between, or the number of the note that says why not."""
    if measurement.value is None:
        return Item("not measured", (_note(measurement.reason, notes),), "none")
    left_out = ""
    if measurement.left_out:
        left_out = f"leaves out {sentences.counted(measurement.left_out, 'pair')}, {_note(measurement.reason, notes)}"
    return Item(
        sentences.fixed(measurement.value), _lines(between, left_out), ends=sentences.interval_text(measurement)
    )


def _note(reason: str, notes: list[str]) -> str:
    if reason not in notes:
        notes.append(reason)
    return f"note {notes.index(reason) + 1}"


def _number_item(measurement: "Measurement") -> Item:
    """Return a number with its interval, or a dash where there is none."""
    if measurement.value is None:
        return Item("–", (), "none")
    return Item(sentences.fixed(measurement.value), ends=sentences.interval_text(measurement))


def _metric_table(result: "AuditResult", notes: list[str]) -> Grid:
    """Return the metrics on I and on all ranks, or on all ranks alone where I is all of them."""
    measurements, all_ranks = _measurements(result), sentences.is_whole(result)

    def item(name: str) -> Item:
        return _item(measurements[name], notes, result.between(measurements[name]).removeprefix("; "))

    rows = []
    for name in PARTIAL:
        full = f"{name}_full"
        if all_ranks and full not in WHOLE:
            continue  # on all ranks it is the line above
        codes = (name,) if all_ranks or full not in WHOLE else (f"{name}, on all ranks {full}",)
        heading = sentences.title(full if all_ranks else name).removesuffix(", whole range")
        on_all = [] if all_ranks else [item(full) if full in WHOLE else Item("as above", (), "none")]
        rows.append(
            [Item(heading, codes, "text"), Item(sentences.meaning(name, all_ranks), (), "text"), item(name), *on_all]
        )
    rows.append(
        [
            Item(sentences.title(RATIO), (RATIO,), "text"),
            Item(sentences.MEANINGS[RATIO], (), "text"),
            *([] if all_ranks else [Item("–", (), "none")]),
            item(RATIO),
        ]
    )
    places = [("on all ranks", "")] if all_ranks else [(sentences.ranks_text(result), ""), ("on all ranks", "")]
    return Grid("Violations", [("measure", ""), ("what 0 means", ""), *places], rows)


def _quality_table(result: "AuditResult", notes: list[str]) -> Grid:
    measurements = result.measured.quality
    columns = [("of all rows together", "")] + [(sentences.title(name), name) for name in QUALITY]
    return Grid(
        "Quality", columns, [[Item("all rows", (), "text"), *(_item(measurements[name], notes) for name in QUALITY)]]
    )


def _measured_rates(result: "AuditResult") -> list[str]:
    return [name for name in RATES if any(getattr(line, name).value is not None for line in result.groups)]


def _group_table(result: "AuditResult") -> Grid:
    """Return the rows and rates of every group; rates that no group has are left to the notes."""
    rates, all_ranks = _measured_rates(result), sentences.is_whole(result)
    rows = []
    for line in result.groups:
        rows_in_interval = "" if all_ranks else f"{line.kept:,}\N{NO-BREAK SPACE}in\N{NO-BREAK SPACE}I"
        row = [Item(line.name, _lines(line.reason), "text"), Item(f"{line.rows:,}", ends=rows_in_interval)]
        row.append(Item(f"{line.median_score:.3g}"))
        rows.append(row + [_number_item(getattr(line, name)) for name in rates])
    named = [(RATE_TITLES.get(name, name.replace("_", " ")), "") for name in rates]
    return Grid("Groups", [("group", ""), ("rows", ""), ("median score", ""), *named], rows)


def _group_notes(result: "AuditResult") -> list[str]:
    """Return why some rates are not in the table, each reason once with the rates that it holds for."""
    reasons: dict[str, list[str]] = {}
    for name in (name for name in RATES if name not in _measured_rates(result)):
        title = RATE_TITLES.get(name, name.replace("_", " "))
        reasons.setdefault(getattr(result.groups[0], name).reason, []).append(title)
    return [f"Not measured: {', '.join(names)} ({reason})." for reason, names in reasons.items()]


def _pair_table(result: "AuditResult") -> Grid:
    """One line per pair of groups, worst SP first."""

    def worst(item: Any) -> float:
        value = item[1]["sp"].value
        return math.inf if value is None else -value

    rows = []
    by_pair = result.measured.pairs.values()
    metrics = [name for name in PARTIAL if any(numbers[name].value is not None for numbers in by_pair)]
    if sentences.is_whole(result):
        metrics = [name for name in metrics if f"{name}_full" in WHOLE]
    for (a, b), measurements in sorted(result.measured.pairs.items(), key=worst)[:MOST_PAIRS]:
        pair = Item(f"{result.groups[a].name}, {result.groups[b].name}", (), "text")
        rows.append([pair, *(_number_item(measurements[name]) for name in metrics)])
    return Grid("Pairs of groups", [("pair of groups", ""), *((sentences.title(name), name) for name in metrics)], rows)
