"""Lines of the scorecard, and the outcomes of tests that most of them are made of."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from partialfair.metrics.statistics.paired import Difference
from partialfair.tables.intervals import format_interval
from partialfair.verdicts.evidence import Evidence


@dataclass(frozen=True)
class Line:
    """One line of ``scorecard.csv``, column by column; see docs/scorecard.md.

    Attributes:
        published: a number, or the statement that stands in its place.
        reproduced, ci_low, ci_high: what was measured, with its interval over seeds.
        tolerance: up to which difference a number counts as reproduced, or the margin of a test of equivalence.
        kind: whether a number, a statement or a setting is compared.
        claim: short name of a claim in words.
        test, statistic, p_value: what decided a statement.
    """

    paper: str
    exhibit: str
    dataset: str = ""
    algorithm: str = ""
    constraint: str = ""
    interval: str = ""
    setting: str = ""
    metric: str = ""
    published: float | str = ""
    reproduced: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    tolerance: float | None = None
    kind: Literal["number", "claim", "setting"] = "number"
    verdict: str = "not run"
    claim: str = ""
    test: str = ""
    statistic: float | None = None
    p_value: float | None = None
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The line by column; a number that there is none of is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None and value == value}


COLUMNS = tuple(field.name for field in fields(Line))


@dataclass(frozen=True)
class Finding:
    """The outcome of one test.

    Attributes:
        experiment, dataset: where; ``dataset`` is ``all`` for a test over datasets.
        setting: the comparison in words.
        metric: what ``estimate`` is.
        test: the deciding test in words.
        holds: its answer; ``None`` if it could not be carried out.
        note: where the statement holds and where not, or why there is no answer.
        estimate, low, high: with its interval over ``n`` seeds.
        statistic, p: of the deciding test.
        tolerance: the margin of a test of equivalence.
    """

    experiment: str
    dataset: str
    setting: str
    metric: str
    test: str
    holds: bool | None = None
    note: str = ""
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    statistic: float = math.nan
    p: float = math.nan
    tolerance: float | None = None
    n: int = 0

    @property
    def verdict(self) -> str:
        """The scorecard's word for the answer."""
        return "not run" if self.holds is None else "reproduced" if self.holds else "differs"

    def without_answer(self, reason: str) -> "Finding":
        """The test could not be carried out."""
        return replace(self, note=reason)

    def decided(self, holds: bool, p: float, difference: Difference, note: str) -> "Finding":
        """The test was carried out; ``difference`` is what is shown of it."""
        answer = replace(self, holds=holds, p=p, statistic=difference.statistic, note=note, n=difference.n)
        return replace(answer, estimate=difference.mean, low=difference.low, high=difference.high)

    def line(self, evidence: Evidence[Any], statement: str, algorithm: str, claim: str = "", exhibit: str = "") -> Line:
        """The line of the scorecard, with the statement where a published number would stand."""
        experiment = evidence.config.experiments.get(self.experiment)
        run = experiment.runs.get(self.dataset) if experiment is not None else None
        return Line(
            evidence.paper, exhibit or evidence.name, self.dataset, algorithm,
            experiment.constraint if experiment is not None else "",
            format_interval(run.interval) if run is not None else "",
            self.setting, self.metric, statement, self.estimate, self.low, self.high, self.tolerance, "claim",
            self.verdict, claim, self.test, self.statistic, self.p, self.note,
        )  # fmt: skip


SEED_TESTS: Mapping[str, Callable[[Difference, float], tuple[bool, bool]]] = {
    "ahead": lambda found, _: (found.ahead, found.behind),
    "behind": lambda found, _: (found.behind, found.ahead),
    "equivalent": lambda found, margin: (max(abs(found.low), abs(found.high)) <= margin, False),
}
"""Tests of a mean difference over seeds by its interval, with a margin: (whether it holds, whether its opposite does).

Tests that compare frontiers are in :mod:`partialfair.verdicts.claim_tests`.
"""
