"""The scorecard: every published number, what was measured, and a verdict by a tolerance stated beforehand."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partialfair.errors import ConfigError
from partialfair.grid.config import Config
from partialfair.metrics.uncertainty import Estimate
from partialfair.tables.files import write_csv
from partialfair.verdicts import published
from partialfair.verdicts.evidence import Evidence, Outcome
from partialfair.verdicts.finding import COLUMNS, Line
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import is_estimated

__all__ = ["COLUMNS"]  # and what follows
VERDICTS = ("reproduced", "differs", "not run")
SETTING_VERDICTS = ("as stated", "differs from the paper", "not run")
"""Verdicts of what a paper states of its data and settings, which are listed and not counted."""
Reproduce = Callable[[Any, Published], Outcome]
"""What was reproduced of one published number."""
_ROUNDING = 1e-9  # .8499 - .8399 must not exceed .01 by the last bit


@dataclass(frozen=True)
class Answers:
    """What an exhibit says to the numbers and statements of its paper.

    Attributes:
        evidence: what it draws from.
        reproduce: what was reproduced of one published number; ``None`` if it shows no single numbers.
        claims: lines that have no published number.
    """

    evidence: Evidence
    reproduce: Reproduce | None
    claims: Callable[[Any], list[dict[str, Any]]] | None


def verdict(reproduced: float | None, expected: float, tolerance: float | None) -> str:
    """Return ``reproduced`` if the two numbers differ by at most the tolerance, else ``differs`` or ``not run``."""
    if reproduced is None or math.isnan(reproduced) or tolerance is None:
        return "not run"
    return "reproduced" if abs(reproduced - expected) <= tolerance + _ROUNDING else "differs"


def line(row: Published, outcome: Outcome, tolerance: float | None) -> dict[str, Any]:
    """Return one line of the scorecard.

    The note says where the number comes from, how far off it is, and whether the published value lies within
    the interval over seeds, which is information besides the verdict, not part of it.
    """
    base = Line(**{name: getattr(row, name) for name in COLUMNS[:8]}, published=row.value, tolerance=tolerance)
    estimate = outcome.estimate
    if outcome.kind == "setting":
        here = None if estimate is None else estimate.mean
        note = "; ".join(filter(None, [outcome.source, outcome.note]))
        return replace(
            base, kind="setting", tolerance=None, reproduced=here, verdict=outcome.verdict or "not run", note=note
        ).row()
    if estimate is None or not is_estimated(estimate):
        return replace(base, note=outcome.note or "no run gives this number").row()
    if outcome.band is None:
        found = verdict(estimate.mean, row.value, tolerance)
    else:
        low, high = outcome.band
        tolerance = max(high - row.value, row.value - low)
        found = "reproduced" if low - _ROUNDING <= estimate.mean <= high + _ROUNDING else "differs"
    note = "; ".join(filter(None, _notes(row, outcome, estimate, found, tolerance)))
    measured = replace(base, reproduced=estimate.mean, ci_low=estimate.low, ci_high=estimate.high)
    return replace(measured, tolerance=tolerance, verdict=found, note=note).row()


def _notes(row: Published, outcome: Outcome, estimate: Estimate, found: str, tolerance: float | None) -> Iterator[str]:
    """What the note of a number is made of."""
    yield outcome.source
    if outcome.band is not None:
        yield f"reproduced if within [{outcome.band[0]:.4g}, {outcome.band[1]:.4g}]"
    difference = estimate.mean - row.value
    if row.metric.startswith("n_"):
        yield "" if found == "reproduced" else f"{difference:+.0f}"
    else:
        yield f"difference {difference:+.4f}"
        yield _interval_note(estimate.low, estimate.high, row.value, estimate.n)
    yield outcome.note
    if tolerance is None:
        yield "the exhibit has no tolerance in params.yaml, so there is no verdict"


def _interval_note(low: float, high: float, value: float, n: int) -> str:
    if math.isnan(low):
        return f"{n} seed, no interval"
    return f"published value {'inside' if low <= value <= high else 'outside'} the interval over {n} seeds"


def compare(evidence: Evidence, row: Published, reproduce: Reproduce | None) -> dict[str, Any]:
    """Return the scorecard line of one published number of an exhibit, which ``reproduce`` finds here."""
    if reproduce is None:
        outcome = Outcome(None, f"exhibit {evidence.name} draws no single numbers")
    else:
        outcome = reproduce(evidence, row)
        note = "; ".join(part for part in (outcome.note, evidence.note(row.dataset)) if part)
        outcome = replace(outcome, note=note)
    return line(row, outcome, evidence.tolerance(row.metric, row.dataset))


def build(config: Config, answers: Iterable[Answers], root: Path = Path()) -> list[dict[str, Any]]:
    """Return all lines: published numbers of every paper in the grid in the paper's order, then other claims.

    Of a grid restricted to one experiment, published numbers that its exhibits do not cover are left out.

    Args:
        config: the grid.
        answers: what the exhibits say, in the grid's order.
        root: the project's root, below which the papers' numbers stand.
    """
    every = list(answers)
    # Only kinds that give single numbers stand for a published exhibit.
    by_published = {(one.evidence.paper, one.evidence.published_as): one for one in every if one.reproduce is not None}
    lines = []
    for paper in dict.fromkeys(experiment.paper for experiment in config.experiments.values()):
        for row in published.load(paper, root):
            found = by_published.get((paper, row.exhibit))
            if found is not None:
                lines.append(compare(found.evidence, row, found.reproduce))
            elif config.whole:
                lines.append(line(row, Outcome(None, "no exhibit of params.yaml covers it"), None))
    for one in every:
        lines += one.claims(one.evidence) if one.claims is not None else []
    return lines


def counted(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that count for a paper: its numbers and statements, without what it states of its settings."""
    return [line for line in lines if line["kind"] != "setting"]


def counts(lines: Iterable[dict[str, Any]]) -> Mapping[str, int]:
    """How many of the lines that count have each verdict."""
    found = Counter(line["verdict"] for line in counted(lines))
    return {name: found[name] for name in VERDICTS}


def write(lines: list[dict[str, Any]], target: Path) -> Path:
    """Write ``scorecard.csv``.

    Raises:
        ConfigError: a line has no verdict of its kind.
    """
    for entry in lines:
        valid = SETTING_VERDICTS if entry["kind"] == "setting" else VERDICTS
        if entry["verdict"] not in valid:
            raise ConfigError(f"scorecard: verdict {entry['verdict']!r} is not one of {', '.join(valid)}")
    return write_csv(target, COLUMNS, [_rounded(entry) for entry in lines])


def _rounded(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Six decimals are more than any published number has, and keep the file readable."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in entry.items()}
