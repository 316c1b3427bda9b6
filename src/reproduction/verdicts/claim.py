"""What a paper claims in words, and the test that decides each sentence: ``papers/<paper>/claims.yaml``."""

import csv
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, model_validator

from partialfair.errors import ConfigError, PluginError
from partialfair.metrics import get
from reproduction.grid import papers
from reproduction.grid.checks import validated
from reproduction.grid.params import StrictModel
from reproduction.grid.reading import parse_strictly
from reproduction.grid.tidy import at_share
from reproduction.verdicts.declared_readings import (
    Option,
    Practical,
    Readings,
    claim_under_reading,
    fault_of_readings,
)

TestName = Literal["better", "worse", "at_least", "similar", "steadier", "ordered", "monotone", "bound", "rate"]
_Difference = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Margin = _Difference | dict[str, _Difference]
_Level = Annotated[float, Field(ge=0, le=1)]
LARGER = ("accuracy", "auc", "group_auc_mean")
"""Metrics that are better the larger they are; a claim about another metric has to state its direction."""


class ComparisonSide(StrictModel):
    """One side of a comparison: runs that the name of a method alone does not identify."""

    method: str | None = Field(None, description="algorithm, or value of the table's column; that of the claim")
    experiment: str | None = Field(None, description="where it was trained, if not where the claim looks")
    kappa: float | None = Field(None, description="tolerance, if not the claim's")
    short: str = Field("", description="what pictures call it")


class KnownNull(StrictModel):
    """A null model whose metric is known without a run, such as that of a network whose weights do not move."""

    name: str = Field(min_length=1, description="what it is, in words")
    value: float = Field(description="what the metric is of it")


class EqualFairness(StrictModel):
    """The levels of fairness at which two methods are compared, inside the range in which both were trained."""

    metric: str | None = Field(None, description="violation that is held equal; the experiment's own by default")
    levels: Annotated[int, Field(ge=1)] | Annotated[list[_Level], Field(min_length=1)] = Field(
        10, description="number of equally spaced levels, or violations"
    )
    fairer_than: _Level = Field(0.0, description="only levels of at least this fairness (1 - violation)")
    less_fair_than: _Level = Field(1.0, description="only levels up to this fairness")
    every: bool = Field(True, description="at every level; otherwise on average over them")
    inner: Annotated[float, Field(ge=0, lt=0.5)] = Field(
        0.0, description="leave out this share of the range at either end, where few models lie"
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="share of the work of the runs after which their models are compared"
    )

    @model_validator(mode="after")
    def _some_levels(self) -> Self:
        """Refuse a range of the fairness axis that is empty."""
        if self.fairer_than >= self.less_fair_than:
            raise ValueError(
                f"fairer_than ({self.fairer_than:g}) is not below less_fair_than ({self.less_fair_than:g})"
            )
        return self


class FromTable(StrictModel):
    """The numbers of an exhibit's CSV that a claim compares, in place of a metric of runs."""

    exhibit: str = Field(description="its table reports/NAME/NAME.csv is read")
    value: str = Field(description="column of the number")
    method: str = Field("algorithm", description="column that names the methods")
    seed: str | None = Field("seed", description="column of the seed; null where there is a single run")
    where: dict[str, str | float | bool] = Field({}, description="only rows with these values, by column")
    x: str | None = Field(None, description="column along which a curve runs: steps, work, seconds")
    after: float = Field(0.0, description="leave out this share of the curve's length at its beginning")
    each: str | None = Field(
        None,
        description="column whose values are compared one by one: the claim holds if it does for every one of them",
    )
    values: int = Field(0, description="how many values that column should have; with fewer the claim cannot hold")
    across: str | None = Field(
        None, description="of spread: column over which it is; with fewer than ``values`` of its values it cannot hold"
    )
    pair: str | None = Field(
        None, description="column that names the other method where rows are of one comparison; only its own count"
    )
    common: bool = Field(False, description="compare curves up to the end of the shorter one: equal work")
    work: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="of common: up to this share of that end")
    reduce: Literal["mean", "last", "min", "max", "spread"] = Field("mean", description="what is taken of the rows")
    beyond: float = Field(0.0, description="subtracted from every number: what exceeds a tolerance")
    first: Literal["positive", "magnitude"] | None = Field(None, description="part of every number that is taken first")
    ends: str | None = Field(
        None, description="column in which only rows count that are at most what the two runs of a seed end with"
    )

    @property
    def columns(self) -> list[str]:
        """Return the columns of the table that the claim reads."""
        used = [self.value, self.seed, self.x, self.ends, self.each, self.across, self.pair, self.method, *self.where]
        return [name for name in used if name]


class Claim(StrictModel):
    """A sentence of a paper, and what decides it."""

    id: str = Field(description="short name, unique in its paper")
    section: str = Field(min_length=1, description="where the paper says it")
    sentence: str = Field(min_length=1, description="what it says, paraphrased")
    kind: Literal["claim", "question"] = Field(
        "claim", description="a question is ours, and never counts for the paper"
    )
    central: bool = Field(False, description="whether the paper's verdict rests on it")
    second_look: bool = Field(
        False, description="whether it takes a second look where it is open, as a central claim does"
    )
    exhibit: str = Field("", description="exhibit that shows it")
    test: TestName = Field(description="what decides it")
    method: str = Field("", description="what the sentence is about")
    methods: list[str] = Field([], description="several that a sentence is about, each with lines of its own")
    against: list[str | ComparisonSide] = Field([], description="what that is compared with, one line each")
    nulls: list[str | ComparisonSide | KnownNull] = Field(
        [],
        description="methods that the sentence is not about; of bound, also runs of another experiment, and numbers "
        "that are known without a run: where one passes the same test, the line has no power",
    )
    without_nulls: str = Field("", description="why no other method can take the test of a claim that compares nothing")
    order: list[list[str]] = Field([], description="of ordered: sets of methods, best first")
    experiments: list[str] = Field([], description="where; one line each")
    datasets: list[str] = Field([], description="where; all datasets of the experiments by default")
    metric: str = Field("", description="metric of runs, or column of the table of runs, such as cpu_seconds")
    better: Literal["larger", "smaller"] | None = Field(None, description="which is better, if not as the metric says")
    rows: Literal["train", "validation", "test", "trained"] = Field(
        "test", description="rows that the metric is of; trained: all that the run was fitted to"
    )
    kappa: float | None = Field(None, description="tolerance; needed where an experiment has several")
    at_equal: EqualFairness | None = Field(None, description="compare at equal fairness instead of at one tolerance")
    start: str = Field("unconstrained", description="method without the constraint, of comparisons at equal fairness")
    table: FromTable | None = Field(None, description="take the numbers of an exhibit instead of a metric")
    over: Literal["seeds", "experiments", "kappa"] = Field(
        "seeds",
        description="of steadier: over what a metric varies little; of monotone: kappa or experiments, in order",
    )
    trend: Literal["rises", "falls"] | None = Field(None, description="of monotone: as the tolerance is tightened")
    limit: float | None = Field(None, description="of bound: the metric stays on its better side; of rate: the power")
    margin: _Margin = Field(
        0.0, description="largest difference that counts as none, by dataset if need be; stated before the run"
    )
    margin_later: str = Field("", description="why, if the margin was set after a first look at results")
    pairing: Literal["seed", "none", "single"] = Field(
        "seed",
        description="seed: same seed, same split; none: independent; single: deterministic runs, decided by margin",
    )
    family: str = Field("", description="claims corrected together for their number (Holm); by default each by itself")
    short: str = Field("", description="what pictures call it, where the title of its experiment does not say enough")
    part_of: str = Field("", description="the sentence that it is a part of: parts of one sentence are counted once")
    concession: bool = Field(
        False, description="whether the authors concede something: it never counts against them, however it turns out"
    )
    readings: Readings | None = Field(None, description="how else the sentence can be read; the claim is the main one")
    practical: Practical | None = Field(None, description="of better and worse: a difference that matters to nobody")
    limit_of_curve: bool = Field(
        False, description="of bound: the paper speaks of the limit; a curve that still falls at its end is undecided"
    )
    generated: bool = Field(False, description="the paper's own data are generated; else generated data decide nothing")
    absent: str = Field("", description="why nothing here decides it: the claim is listed as not run")
    note: str = Field("", description="what a reader should know beside the verdict")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Refuse a claim that its test cannot decide."""
        needed = () if self.absent else self._needed()
        missing = [f"{name} ({why})" for name, why, value in needed if not value]
        if missing:
            raise ValueError(f"test {self.test} needs {', '.join(missing)}")
        if self.central and self.kind == "question":
            raise ValueError("a question is ours and cannot be central to the paper")
        if self.second_look and self.table is not None:
            raise ValueError("a claim about the numbers of an exhibit takes no second_look")
        if self.central and self.concession:
            raise ValueError("a concession is no claim, and cannot be central to the paper")
        if fault := fault_of_readings(self):
            raise ValueError(fault)
        return self

    def _needed(self) -> list[tuple[str, str, Any]]:
        """Return (key, why, value) of what the test needs; an empty value is a missing key."""
        needed: list[tuple[str, str, Any]] = [
            ("metric or table", "what is compared", self.metric or self.table),
            ("experiments", "where", self.experiments or self.table),
        ]
        if self.test != "ordered":
            needed.append(("method", "what the sentence is about", self.method or self.methods))
        by_test: dict[str, list[tuple[str, str, Any]]] = {
            "ordered": [("order", "of two sets or more", len(self.order) > 1)],
            "monotone": [
                ("trend", "rises or falls", self.trend),
                ("over", "kappa or experiments", self.over != "seeds"),
            ],
            "bound": [("limit", "the number it stays below or above", self.limit is not None)],
            "rate": [("limit", "the power of x", self.limit is not None), ("table.x", "", self.table and self.table.x)],
        }
        needed += by_test.get(self.test, [("against", "what it is compared with", self.against)])
        if self.test in ("similar", "at_least") or (self.pairing == "single" and self.test != "bound"):
            margins = self.margin.values() if isinstance(self.margin, dict) else [self.margin]
            needed.append(("margin", "above 0, stated before the run", margins and all(margins)))
        if self.test in ("bound", "monotone", "rate") and self.kind == "claim":
            why = "methods that take the test too; or without_nulls, why there are none"
            needed.append(("nulls", why, self.nulls or self.without_nulls))
        if self.test != "bound" and not all(isinstance(null, str) for null in self.nulls):
            needed.append(("nulls by name", "only a bound takes runs of another experiment and known numbers", False))
        return needed

    @property
    def sentence_id(self) -> str:
        """Return the id of the sentence with which the claim is counted: its own, or that of ``part_of``."""
        return self.part_of or self.id

    @property
    def is_sequential(self) -> bool:
        """Whether a comparison takes more seeds where its first ones leave it open, at the levels of two looks."""
        return self.central or self.second_look

    @property
    def needs_readings(self) -> bool:
        """Whether the claim is decided at equal fairness, where its words allow more than one test."""
        return self.at_equal is not None and self.kind == "claim" and not self.absent

    @model_validator(mode="after")
    def _margin_is_used(self) -> Self:
        """Refuse a margin that the test does not use: its line would print the margin all the same."""
        used = self.test in ("similar", "at_least", "rate") or (self.pairing == "single" and self.test != "bound")
        if self.margin and not used:
            raise ValueError(f"test {self.test} looks at no margin (given: {self.margin}); leave it out")
        return self

    def margin_on(self, dataset: str) -> float:
        """Return the margin on a dataset, in the unit of the metric; 0 if the claim states none."""
        if isinstance(self.margin, dict):
            return self.margin.get(dataset, self.margin.get("default", 0.0))
        return self.margin

    def by_method(self) -> list["Claim"]:
        """Return one copy of the claim for every method that it is about."""
        return [self.model_copy(update={"method": name, "methods": []}) for name in self.methods] or [self]

    def sides(self) -> list[ComparisonSide]:
        """Return the other sides of the comparisons, one for each entry of ``against``."""
        return [side if isinstance(side, ComparisonSide) else ComparisonSide(method=side) for side in self.against]

    def null_sides(self) -> list[ComparisonSide]:
        """Return the null models that are runs, or rows of a table; numbers known without a run are left out."""
        runs = [null for null in self.nulls if not isinstance(null, KnownNull)]
        return [null if isinstance(null, ComparisonSide) else ComparisonSide(method=null) for null in runs]


def load(paper: str, root: Path = Path()) -> tuple[Claim, ...]:
    """Return the claims of a paper below the project's ``root``; none if it has no such file.

    Raises:
        ConfigError: an entry is not a claim, or two have one name; the sentence names file, key and remedy.
    """
    path = papers.file(paper, papers.CLAIMS, root)
    claims = _read(path, path.stat().st_mtime_ns) if path.is_file() else ()
    return tuple(_settled(claim, root / "reports") for claim in claims)


def _settled(claim: Claim, reports: Path) -> Claim:
    """Return a claim whose readings await nothing that has been run."""
    options = chain(*claim.readings.options.values()) if claim.readings is not None else ()
    if claim.readings is None or not any(option.awaits or option.once_run for option in options):
        return claim
    return claim.model_copy(update={"readings": claim.readings.settled(lambda option: _is_run(option, claim, reports))})


def _is_run(option: Option, claim: Claim, reports: Path) -> bool:
    """Whether everything that an option changes to is among the results: its experiments, and rows of its table."""
    if not (option.awaits or option.once_run):
        return True
    changed = claim_under_reading(claim, (option,)) if option.changes else claim
    names = [*option.experiments, *([option.against_experiment] if option.against_experiment else [])]
    if changed.at_equal is not None and changed.at_equal.share < 1:
        metric = f"{claim.metric}{at_share(changed.at_equal.share)}"
        if not all(_has_metric(reports / name, metric, claim.method) for name in changed.experiments):
            return False
    table = changed.table
    if table is not None and option.where and not _has_rows(reports / table.exhibit / f"{table.exhibit}.csv", table):
        return False
    return all((reports / name / "metrics.parquet").is_file() for name in names)


def _has_rows(path: Path, table: FromTable) -> bool:
    """Whether the table of an exhibit has rows with all the values that are asked for."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if all(_same_cell(row.get(column), value) for column, value in table.where.items()):
                return True
    return False


def _same_cell(cell: str | None, value: str | float | bool) -> bool:
    """Whether a cell of a CSV file holds a value."""
    if isinstance(value, str | bool) or not cell:
        return cell == str(value)
    try:
        return float(cell) == value
    except ValueError:
        return False


def _has_metric(folder: Path, metric: str, method: str) -> bool:
    """Whether the collected metrics of an experiment have a metric of a method."""
    path = folder / "metrics.parquet"
    if not path.is_file():
        return False
    from pyarrow import parquet

    return bool(parquet.read_table(path, filters=[("metric", "=", metric), ("algorithm", "=", method)]).num_rows)


@cache
def _read(path: Path, changed: int) -> tuple[Claim, ...]:  # ``changed`` makes a rewritten file a new entry
    try:
        content = parse_strictly(path.read_text(encoding="utf-8")) or []
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not readable as YAML ({' '.join(str(error).split())}); correct it") from error
    if not isinstance(content, list):
        raise ConfigError(f"{path}: holds {type(content).__name__}, not a list; begin each claim with `- id:`")
    claims = [_claim(entry, number, path) for number, entry in enumerate(content)]
    twice = sorted(name for name, count in Counter(claim.id for claim in claims).items() if count > 1)
    if twice:
        raise ConfigError(f"{path}: {', '.join(twice)}: two claims have this id; rename one")
    return tuple(chain.from_iterable(claim.by_method() for claim in claims))


def _claim(entry: Any, number: int, path: Path) -> Claim:
    """Return an entry of the file as a claim; an error names its id, or its number where it has no id."""
    name = entry.get("id") if isinstance(entry, dict) else None
    return validated(entry, Claim, str(path), (str(name) if name else f"claims.{number}",))


def needs_direction(claim: Claim) -> bool:
    """Whether a claim has to say which is better because its metric does not."""
    if claim.better is not None or claim.test in ("monotone", "rate", "steadier"):
        return False
    if claim.table is not None:
        return True
    try:
        return get(claim.metric).direction != "violation" and claim.metric not in LARGER
    except PluginError:  # a column of the table of runs, which says nothing of the kind
        return True
