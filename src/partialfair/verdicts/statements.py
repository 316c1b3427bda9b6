"""Statements of a paper that a figure is meant to show, each with a test over the seeds.

The published value of such a line of the scorecard is the statement, the reproduced one a number that is positive
where the statement holds. It counts as reproduced if the whole interval over seeds is positive.
"""

import math
from collections.abc import Mapping
from typing import Any

from partialfair.metrics.statistics.paired import Difference, paired_difference
from partialfair.verdicts.evidence import Evidence
from partialfair.verdicts.finding import SEED_TESTS, Finding, Line
from partialfair.verdicts.results import Results, Setting

TEST = "Student's paired t over seeds, one-sided"


def by_seed(results: Results, setting: Setting, metric: str, split: str = "test") -> dict[int, float]:
    """Values of a metric by seed; seeds without a value are left out."""
    rows = results.rows(setting, metric, split)
    return {int(seed): float(value) for seed, value in zip(rows["seed"], rows["value"], strict=True) if value == value}


def differences(first: Mapping[int, float], second: Mapping[int, float]) -> list[float]:
    """``first - second`` of the seeds that both have."""
    return [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]


def line(
    evidence: Evidence,
    setting: Setting,
    metric: str,
    statement: str,
    values: list[float],
    note: str = "",
    label: str = "",
) -> dict[str, Any]:
    """Return a line of the scorecard that holds a statement against values over seeds.

    Args:
        evidence: of the exhibit.
        setting: the runs that the statement is about.
        metric: what the values are, in words.
        statement: what the paper's figure shows, as a sentence.
        values: one per seed, positive where the statement holds.
        note: the measured numbers, or why there are no values.
        label: in place of ``kappa=...``.
    """
    found = paired_difference(values, [0.0] * len(values), evidence.results.level)
    head = _head(setting, metric, label, TEST if found.tested else "")
    if found.tested:
        words = f"{_outcome(found)} over {found.n} seeds"
        holds, _ = SEED_TESTS["ahead"](found, math.nan)
        head = head.decided(holds, found.p_greater, found, f"{words}; {note}" if note else words)
    else:
        why = note or "no run gives this number"
        if found.n == 1:
            why = f"one seed gives no interval ({found.mean:+.4f}); {note}".removesuffix("; ")
        head = head.without_answer(why)
    return head.line(evidence, statement, setting.algorithm).row()


def single(
    evidence: Evidence, setting: Setting, statement: str, metric: str, value: float | None, note: str, label: str = ""
) -> dict[str, Any]:
    """Return a line of the scorecard on a deterministic run: the statement holds if the value is positive.

    Args:
        evidence: of the exhibit.
        setting: the run that the statement is about.
        statement: what the paper's figure shows.
        metric: what the value is.
        value: positive where the statement holds; ``None`` if it was not measured.
        note: the measured numbers, or why there is none.
        label: which setting of the algorithm.
    """
    head = _head(setting, metric, label, "")
    if value is None or math.isnan(value):
        head = head.without_answer(note or "not run")
    else:
        shown = Difference(float(value), math.nan, math.nan, math.nan, math.nan, 1)
        head = head.decided(value > 0, math.nan, shown, f"{note}; a deterministic run, so no interval")
    return head.line(evidence, statement, setting.algorithm).row() | {"interval": ""}


def fact(evidence: Evidence, dataset: str, algorithm: str, setting: str, metric: str, **more: Any) -> dict[str, Any]:
    """Return a line of the scorecard on what is measured beside the runs of one setting; ``more`` as in ``Line``."""
    return Line(
        evidence.paper, evidence.name, dataset, algorithm, setting=setting, metric=metric, **({"kind": "claim"} | more)
    ).row()


def _head(setting: Setting, metric: str, label: str, test: str) -> Finding:
    kappa = "unconstrained" if math.isinf(setting.kappa) else f"kappa={setting.kappa:g}"
    return Finding(setting.experiment, setting.dataset, label or kappa, metric, test)


def _outcome(found: Difference) -> str:
    """What the interval says of a number that should be positive, in words."""
    if found.ahead:
        return "the interval is above 0"
    return "the mean is above 0, the interval is not" if found.mean > 0 else "the mean is not above 0"
