"""What a claim in words is, and what a test finds of it.

The claims of a paper stand beside its published numbers, in ``papers/<paper>/claims.yaml``.
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from partialfair.errors import DataError
from partialfair.grid import papers
from partialfair.grid.params import StrictModel
from partialfair.metrics.statistics.paired import Difference


class Claim(StrictModel):
    """A sentence of a paper, and what decides it."""

    id: str = Field(description="short name")
    exhibit: str = Field(description="where the paper shows it")
    statement: str = Field(description="the sentence")
    test: Literal["everywhere", "best_ranked", "on_average", "equivalent", "falls_with_length"] = Field(
        description="a function of claim_tests"
    )
    algorithm: str = Field(description="what it is said of")
    stand_in: str | None = Field(None, description="whose runs are looked at where the experiment has none of that")
    against: list[str] = Field([], description="what that is compared with")
    experiments: list[str] = Field(description="where the test looks, in the order it expects")


@dataclass(frozen=True)
class Finding:
    """The outcome of one test.

    Attributes:
        experiment, dataset: where; ``dataset`` is ``all`` for a test over datasets.
        setting: the comparison in words.
        metric: what ``estimate`` is.
        test: the deciding test in words.
        holds: its answer; ``None`` if it could not be carried out.
        note: where the claim holds and where not, or why there is no answer.
        estimate, low, high: with its interval over seeds.
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

    def without_answer(self, reason: str) -> "Finding":
        """The test could not be carried out."""
        return replace(self, note=reason)

    def decided(self, holds: bool, p: float, difference: Difference, note: str) -> "Finding":
        """The test was carried out; ``difference`` is what is shown of it."""
        answer = replace(self, holds=holds, p=p, statistic=difference.statistic, note=note)
        return replace(answer, estimate=difference.mean, low=difference.low, high=difference.high)


def load(paper: str, root: Path = Path()) -> tuple[Claim, ...]:
    """Return the claims of a paper below the project's ``root``; none if it has no such file.

    Raises:
        DataError: an entry is not a claim.
    """
    path = papers.file(paper, papers.CLAIMS, root)
    return _read(path) if path.is_file() else ()


@cache
def _read(path: Path) -> tuple[Claim, ...]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return tuple(TypeAdapter(list[Claim]).validate_python(content))
    except (yaml.YAMLError, ValidationError) as error:
        raise DataError(f"{path}: {error}; correct the entry") from error
