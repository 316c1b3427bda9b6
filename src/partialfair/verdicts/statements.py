"""Statements of a paper that a figure is meant to show, each with a test over the seeds.

The published value of such a line of the scorecard is the statement, the reproduced one a number that is positive
where the statement holds. It counts as reproduced if the whole interval over seeds is positive.
"""

import math
from collections.abc import Mapping
from typing import Any

from partialfair.metrics.statistics.paired import Difference, paired_difference
from partialfair.tables.intervals import format_interval
from partialfair.verdicts.evidence import Evidence
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
    experiment = evidence.config.experiment(setting.experiment)
    run = experiment.runs.get(setting.dataset)
    kappa = "unconstrained" if math.isinf(setting.kappa) else f"kappa={setting.kappa:g}"
    content: dict[str, Any] = {
        "paper": evidence.paper,
        "exhibit": evidence.name,
        "dataset": setting.dataset,
        "algorithm": setting.algorithm,
        "constraint": experiment.constraint,
        "interval": format_interval(run.interval) if run is not None else "",
        "setting": label or kappa,
        "metric": metric,
        "published": statement,
    }
    found = paired_difference(values, [0.0] * len(values), evidence.results.level)
    if not found.tested:
        why = note or "no run gives this number"
        if found.n == 1:
            why = f"one seed gives no interval ({found.mean:+.4f}); {note}".removesuffix("; ")
        return content | {"verdict": "not run", "note": why}
    words = f"{_outcome(found)} over {found.n} seeds"
    return content | {
        "reproduced": found.mean,
        "ci_low": found.low,
        "ci_high": found.high,
        "verdict": "reproduced" if found.ahead else "differs",
        "test": TEST,
        "statistic": found.statistic,
        "p_value": found.p_greater,
        "note": f"{words}; {note}" if note else words,
    }


def _outcome(found: Difference) -> str:
    """What the interval says of a number that should be positive, in words."""
    if found.ahead:
        return "the interval is above 0"
    return "the mean is above 0, the interval is not" if found.mean > 0 else "the mean is not above 0"
