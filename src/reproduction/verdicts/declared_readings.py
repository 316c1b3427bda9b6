"""How a claim can be read: the analysis that it declares, the other ones that are as good, and the margin that matters.

A sentence such as "where the tolerance is not too small" has no single test. Its main reading is the claim's own entry.
Every other reading changes one choice or several of them, and says why a careful analyst may make it. Verdicts under
all readings together are a multiverse analysis (Steegen et al. 2016), or a specification curve (Simonsohn et al. 2020).
"""

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from reproduction.grid.params import StrictModel

Text = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Level = Annotated[float, Field(ge=0, le=1)]
AT_EQUAL = ("levels", "fairer_than", "less_fair_than", "every")
"""Keys of an option that stand for those of ``at_equal``."""


class Option(StrictModel):
    """Another way to make one choice: keys of the claim that it replaces."""

    name: Text = Field(description="what it is called in a sentence")
    because: Text = Field(description="why a careful analyst may choose it")
    levels: Annotated[int, Field(ge=1)] | Annotated[list[Level], Field(min_length=1)] | None = Field(
        None, description="of at_equal"
    )
    fairer_than: Level | None = Field(None, description="of at_equal")
    less_fair_than: Level | None = Field(None, description="of at_equal")
    every: bool | None = Field(None, description="of at_equal")
    inner: Share | None = Field(None, description="of at_equal: leave out this share of the range at either end")
    experiments: list[str] = Field([], description="of the claim: other runs of the same method")
    work: Share | None = Field(None, description="of table: only this share of the work that both sides have done")
    limit: float | None = Field(None, description="of the claim")
    kappa: float | None = Field(None, description="of the claim")
    awaits: str = Field("", description="what has to be run before it can be read so; then no other key")

    @property
    def changes(self) -> dict[str, Any]:
        """Keys that it replaces, with their values."""
        given = self.model_dump(exclude={"name", "because", "awaits"}, exclude_none=True)
        return {key: value for key, value in given.items() if value != []}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        """Refuse an option that changes nothing, or changes something that was not run."""
        if bool(self.changes) == bool(self.awaits):
            raise ValueError(f"option {self.name!r}: give either what it changes or what it awaits")
        return self


class Readings(StrictModel):
    """The choices behind a claim's test, the one that was made first, and the others."""

    main: dict[str, Text] = Field(description="by choice, what the claim's own entry is called")
    because: Text = Field(description="why that is the main reading")
    options: dict[str, Annotated[list[Option], Field(min_length=1)]] = Field(description="by choice, the others")
    added_after: str = Field("", description="what was known when they were declared, if any verdict was")
    test_per_train: dict[str, Annotated[float, Field(gt=0)]] = Field(
        {}, description="test rows per training row, of datasets whose test rows are a published file"
    )

    @model_validator(mode="after")
    def _one_main_each(self) -> Self:
        """Refuse choices without a main option, and options that say the same."""
        if self.main.keys() != self.options.keys():
            raise ValueError(f"main names {sorted(self.main)}, options {sorted(self.options)}; name the same choices")
        for choice, options in self.options.items():
            names = [self.main[choice], *(option.name for option in options)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{choice}: two options are called {name!r}")
            for place, option in enumerate(options):
                if option.changes and option.changes in [other.changes for other in options[:place]]:
                    raise ValueError(f"{choice}: option {option.name!r} is equal to another one")
        return self

    @property
    def awaited(self) -> dict[str, Option]:
        """By choice, the option that has to be run before the choice is settled."""
        return {choice: option for choice, options in self.options.items() for option in options[::-1] if option.awaits}

    def names(self) -> dict[str, list[str]]:
        """By choice, the names of the options that can be read, the main one first."""
        return {
            choice: [self.main[choice], *(option.name for option in options if not option.awaits)]
            for choice, options in self.options.items()
        }

    def every(self) -> list[tuple[Option | None, ...]]:
        """All readings: one option for every choice, ``None`` for the main one, which is first."""
        return list(product(*([None, *(o for o in options if not o.awaits)] for options in self.options.values())))


class Practical(StrictModel):
    """A difference below which nobody would choose a method."""

    margin: Positive | Annotated[dict[str, Positive], Field(min_length=1)] = Field(
        description="of the metric, by dataset if need be"
    )
    unit: Text = Field(description="what the metric is counted in, in a sentence")
    times: Annotated[float, Field(gt=0)] = Field(1.0, description="how many of the unit make 1 of the metric")
    because: Text = Field(description="why less is nothing")

    def of(self, dataset: str) -> float:
        """The margin on a dataset, of which there is one."""
        return self.margin[dataset] if isinstance(self.margin, dict) else self.margin


def replaced(claim: Any, reading: tuple[Option | None, ...]) -> Any:
    """Return a claim as it stands under a reading."""
    changes: dict[str, Any] = {}
    for option in filter(None, reading):
        changes |= option.changes
    update: dict[str, Any] = {key: changes[key] for key in ("experiments", "limit", "kappa") if key in changes}
    equal = {key: changes[key] for key in (*AT_EQUAL, "inner") if key in changes}
    if equal:
        update["at_equal"] = claim.at_equal.model_copy(update=equal)
    if "work" in changes:
        update["table"] = claim.table.model_copy(update={"work": changes["work"]})
    return claim.model_copy(update=update)


def refused(claim: Any) -> str:
    """What is wrong with the readings of a claim, beside what its models refuse; empty if nothing."""
    readings: Readings | None = claim.readings
    for choice, options in readings.options.items() if readings is not None else ():
        for option in options:
            wrong = _misplaced(claim, option.changes)
            if wrong:
                return f"readings.{choice}: option {option.name!r} changes {wrong}, which the claim does not have"
            if option.changes and replaced(claim, (option,)) == claim:
                return f"readings.{choice}: option {option.name!r} is equal to what the claim declares"
    return ""


def _misplaced(claim: Any, changes: Mapping[str, Any]) -> str:
    equal = [key for key in changes if key in (*AT_EQUAL, "inner")]
    if equal and claim.at_equal is None:
        return equal[0]
    if "work" in changes and (claim.table is None or not claim.table.common):
        return "work"
    return "limit" if "limit" in changes and claim.limit is None else ""
