"""The readings of a claim: the declared analysis, other analyses that are as good, and the margin that matters.

A sentence such as "where the tolerance is not too small" has no single test. Its main reading is the claim's own entry.
Every other reading changes one choice or several of them, and says why a careful analyst may make it. Verdicts under
all readings together are a multiverse analysis (Steegen et al. 2016), or a specification curve (Simonsohn et al. 2020).
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from reproduction.grid.params import StrictModel

_Text = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Positive = Annotated[float, Field(gt=0)]
_Level = Annotated[float, Field(ge=0, le=1)]
_AT_EQUAL = ("levels", "fairer_than", "less_fair_than", "every")
"""Keys of an option that replace those of ``at_equal``."""


class Option(StrictModel):
    """Another option of one choice: the keys of the claim that it replaces."""

    name: _Text = Field(description="name of the option in a sentence")
    because: _Text = Field(description="why a careful analyst may choose it")
    levels: Annotated[int, Field(ge=1)] | Annotated[list[_Level], Field(min_length=1)] | None = Field(
        None, description="of at_equal"
    )
    fairer_than: _Level | None = Field(None, description="of at_equal")
    less_fair_than: _Level | None = Field(None, description="of at_equal")
    every: bool | None = Field(None, description="of at_equal")
    inner: _Share | None = Field(None, description="of at_equal: leave out this share of the range at either end")
    experiments: list[str] = Field([], description="of the claim: other runs of the same method")
    work: _Share | None = Field(None, description="of table: only this share of the work that both sides have done")
    limit: float | None = Field(None, description="of the claim")
    kappa: float | None = Field(None, description="of the claim")
    share: _Share | None = Field(
        None, description="of at_equal: the models that the runs would have returned after this share of their work"
    )
    where: dict[str, str | float | bool] = Field({}, description="of table: other values by column")
    against_experiment: str = Field("", description="of against: where the other sides were trained")
    once_run: bool = Field(False, description="omit the option without notice until its runs exist")
    awaits: str = Field("", description="runs that the option needs; until they exist, the choice is not settled")

    @property
    def changes(self) -> dict[str, Any]:
        """Return the keys of the claim that the option replaces, with their values."""
        values = self.model_dump(exclude={"name", "because", "awaits", "once_run"}, exclude_none=True)
        return {key: value for key, value in values.items() if value not in ([], {}, "")}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        """Refuse an option that changes nothing and awaits nothing."""
        if not self.changes and not self.awaits:
            raise ValueError(f"option {self.name!r}: say what it changes, what it awaits, or both")
        return self

    def settled(self, is_run: bool) -> "Option | None":
        """Return the option without what it awaits if that has been run, otherwise without what it changes."""
        if not (self.changes and self.awaits):
            return self if is_run or not self.once_run else None
        settled = self.changes if is_run else {"awaits": self.awaits}
        return Option.model_validate({"name": self.name, "because": self.because} | settled)


class Readings(StrictModel):
    """The choices behind a claim's test: the main option of each, and its other options."""

    main: dict[str, _Text] = Field(description="by choice, what the claim's own entry is called")
    because: _Text = Field(description="why that is the main reading")
    options: dict[str, Annotated[list[Option], Field(min_length=1)]] = Field(description="by choice, the others")
    added_after: str = Field("", description="what was known when they were declared, if any verdict was")
    test_per_train: dict[str, Annotated[float, Field(gt=0)]] = Field(
        {}, description="test rows per training row, of datasets whose test rows are a published file"
    )

    @model_validator(mode="after")
    def _options_differ(self) -> Self:
        """Refuse choices without a main option, and options that say the same."""
        if self.main.keys() != self.options.keys():
            raise ValueError(f"main names {sorted(self.main)}, options {sorted(self.options)}; name the same choices")
        for choice, options in self.options.items():
            names = [self.main[choice], *(option.name for option in options)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{choice}: two options are called {name!r}")
            for number, option in enumerate(options):
                if option.changes and option.changes in [earlier.changes for earlier in options[:number]]:
                    raise ValueError(f"{choice}: option {option.name!r} is equal to another one")
        return self

    def settled(self, is_run: Callable[[Option], bool]) -> "Readings":
        """Return the readings with every option settled by whether its runs exist."""
        settled = {name: [option.settled(is_run(option)) for option in group] for name, group in self.options.items()}
        options = {name: [option for option in group if option is not None] for name, group in settled.items()}
        options = {name: group for name, group in options.items() if group}
        return self.model_copy(update={"options": options, "main": {name: self.main[name] for name in options}})

    @property
    def awaited(self) -> dict[str, Option]:
        """Return by choice the option whose runs the choice awaits."""
        return {choice: option for choice, options in self.options.items() for option in options[::-1] if option.awaits}

    def names(self) -> dict[str, list[str]]:
        """Return by choice the names of the options that have been run, the main one first."""
        return {
            choice: [self.main[choice], *(option.name for option in options if not option.awaits)]
            for choice, options in self.options.items()
        }

    def combinations(self) -> list[tuple[Option | None, ...]]:
        """Return all readings, the main one first: one option for every choice, ``None`` for its main option."""
        return list(product(*([None, *(o for o in options if not o.awaits)] for options in self.options.values())))


class Practical(StrictModel):
    """The smallest difference that matters for the choice of a method."""

    margin: _Positive | Annotated[dict[str, _Positive], Field(min_length=1)] = Field(
        description="of the metric, by dataset if need be"
    )
    unit: _Text = Field(description="unit of the metric in a sentence")
    times: Annotated[float, Field(gt=0)] = Field(1.0, description="how many of the unit make 1 of the metric")
    because: _Text = Field(description="why a smaller difference does not matter")

    def margin_on(self, dataset: str) -> float:
        """Return the margin on a dataset, in the unit of the metric."""
        return self.margin[dataset] if isinstance(self.margin, dict) else self.margin


def claim_under_reading(claim: Any, reading: tuple[Option | None, ...]) -> Any:
    """Return a claim as it stands under a reading."""
    changes: dict[str, Any] = {}
    for option in filter(None, reading):
        changes |= option.changes
    update: dict[str, Any] = {key: changes[key] for key in ("experiments", "limit", "kappa") if key in changes}
    equal = {key: changes[key] for key in (*_AT_EQUAL, "inner") if key in changes}
    equal |= {"share": changes["share"]} if "share" in changes else {}
    if equal:
        update["at_equal"] = claim.at_equal.model_copy(update=equal)
    table = {"work": changes["work"]} if "work" in changes else {}
    where: dict[str, Any] = {}
    for option in filter(None, reading):  # choices may set different columns
        where |= option.where
    table |= {"where": claim.table.where | where} if where else {}
    if table:
        update["table"] = claim.table.model_copy(update=table)
    if "against_experiment" in changes:
        sides = [side.model_copy(update={"experiment": changes["against_experiment"]}) for side in claim.sides()]
        update["against"] = sides
    return claim.model_copy(update=update)


def fault_of_readings(claim: Any) -> str:
    """Return a fault in the readings of a claim that its models do not refuse; empty if there is none."""
    readings: Readings | None = claim.readings
    for choice, options in readings.options.items() if readings is not None else ():
        for option in options:
            key = _misplaced(claim, option.changes)
            if key:
                return f"readings.{choice}: option {option.name!r} changes {key}, which the claim does not have"
            if option.changes and claim_under_reading(claim, (option,)) == claim:
                return f"readings.{choice}: option {option.name!r} is equal to what the claim declares"
    return ""


def _misplaced(claim: Any, changes: Mapping[str, Any]) -> str:
    """Return a key that an option changes and that the claim does not have; empty if there is none."""
    equal = [key for key in changes if key in (*_AT_EQUAL, "inner", "share")]
    if equal and claim.at_equal is None:
        return equal[0]
    if "work" in changes and (claim.table is None or not claim.table.common):
        return "work"
    if "where" in changes and claim.table is None:
        return "where"
    if "against_experiment" in changes and not claim.against:
        return "against_experiment"
    return "limit" if "limit" in changes and claim.limit is None else ""
