"""What a claim in words is.

The claims of a paper stand beside its published numbers, in ``papers/<paper>/claims.yaml``.
"""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from partialfair.errors import DataError
from partialfair.grid import papers
from partialfair.grid.params import StrictModel


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
