"""The shape of ``params.yaml``: one pydantic model per block, unknown keys forbidden."""

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from partialfair import plugins
from partialfair.data.intervals import Interval
from partialfair.errors import ConfigError, PluginError


class StrictModel(BaseModel):
    """A block whose keys are all known and whose values are not coerced from other types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _kappa(value: Any) -> float:
    """Return a tolerance as a float; ``inf`` in YAML is text, and so is ``1e-1``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("give a positive number, or inf for no constraint")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("give a positive number, or inf for no constraint")
    number = float(value)
    if math.isnan(number) or number <= 0:
        raise ValueError("kappa must be greater than 0 (inf for no constraint)")
    return number


_NUMBER = re.compile(r"[.]?inf|[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[.]?nan")


def _interval(value: Any) -> Interval:
    """Return the interval, read."""
    try:
        return Interval.of(value)
    except ConfigError as error:
        raise ValueError(str(error).removeprefix("interval: ")) from error


def _optional_interval(value: Any) -> Interval | None:
    """Return the interval, read, or ``None``."""
    return None if value is None else _interval(value)


def _unique(values: Any) -> Any:
    """Refuse a list that names something twice: it would be two jobs writing one file."""
    if isinstance(values, list):
        twice = [value for position, value in enumerate(values) if value in values[:position]]
        if twice:
            raise ValueError(f"{twice[0]!r} stands twice; remove one of them")
    return values


def _choice(value: Any) -> Any:
    """Return a name, or a name with options, in its shortest form."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError("give a name, or a mapping with the key name and options")
    return value if len(value) > 1 else value["name"]


def _constraint(value: Any) -> Any:
    """Return the name of a constraint that is given by it, or by its family and the family's option."""
    choice = _choice(value)
    try:
        return plugins.resolved("constraints", choice)
    except PluginError as error:
        raise ValueError(str(error)) from error


Seed = Annotated[int, Field(ge=0, lt=2**31)]
Seeds = Annotated[list[Seed], Field(min_length=1), BeforeValidator(_unique)]
# Compared as numbers: 0.1 and 1e-1 are one run folder.
Kappas = Annotated[list[Annotated[float, BeforeValidator(_kappa)]], Field(min_length=1), AfterValidator(_unique)]
# Names become folder names, Snakemake rule names and wildcard values.
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Settings = dict[str, Any]
Choice = Annotated[Any, BeforeValidator(_choice)]


def _none_or_several(replicates: int) -> int:
    if replicates == 1:
        raise ValueError("one resample gives no interval; write 0 for none, or 2 or more")
    return replicates


class Bootstrap(StrictModel):
    """Stratified bootstrap of the metrics of one model."""

    replicates: Annotated[int, Field(ge=0, le=100_000), AfterValidator(_none_or_several)] = Field(
        default=200, description="resamples per model; 0 for none, else 2 or more"
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.95, description="coverage of the intervals")


class RunModel(StrictModel):
    """What an experiment runs on one dataset."""

    interval: Annotated[Interval, BeforeValidator(_interval)] = Field(
        description="score ranks: list of [alpha, beta] pairs, or one such list per group; 0 = highest score"
    )
    algorithms: Annotated[dict[str, Kappas], Field(min_length=1)] = Field(
        description="algorithm -> tolerances kappa (for an algorithm tuned otherwise, that parameter)"
    )
    grid: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="number of ranks, if not the experiment's"
    )
    metric_interval: Annotated[Interval | None, BeforeValidator(_optional_interval)] = Field(
        None, description="interval the metrics are computed on, if not the constraint's"
    )


class ExperimentModel(StrictModel):
    """One constraint, on several datasets, by several algorithms."""

    title: str = Field(description="a few words for tables and pages")
    paper: Name = Field(description="the specification that the experiment belongs to")
    constraint: Annotated[str, BeforeValidator(_constraint)] = Field(
        description="constraint: a name, or a mapping with the name of a family and its option"
    )
    grid: Annotated[int, Field(ge=1, le=10_000)] = Field(
        10, description="number of ranks at which the constraint is imposed"
    )
    kappa_scale: Literal["absolute", "relative"] = Field(
        "relative", description="slack = kappa (absolute) or kappa times the interval's length (relative)"
    )
    loss: Choice = Field("logistic", description="objective: a name, or a mapping with name and options")
    surrogate: Choice = Field(
        "clipped_linear", description="stand-in for the indicator in the constraint: a name, or name and options"
    )
    seeds: Seeds | None = Field(None, description="seeds, if not the common ones")
    more_seeds: dict[str, Seeds] = Field(
        {}, description="by dataset, seeds of a second look, taken where a claim with two looks is open at the first"
    )
    between: str = Field(
        "", description="experiment whose tolerances lie far apart and have these models of ours between them"
    )
    metrics: Annotated[list[str], BeforeValidator(_unique)] = Field(
        [], description="metrics on request (modules of metrics/on_request) that are computed besides the common ones"
    )
    algorithms: dict[str, Settings] = Field({}, description="settings that differ from the common ones")
    runs: Annotated[dict[str, RunModel], Field(min_length=1)] = Field(description="dataset -> what is run on it")


class ExhibitModel(BaseModel):
    """A figure or table; what else it takes is checked by its kind in :mod:`reproduction.exhibits`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    kind: str = Field(description="what draws it")
    title: str = Field("", description="caption")
    experiments: list[str] = Field([], description="experiments whose results it shows")
    datasets: list[str] = Field([], description="datasets that it counts besides those of its experiments")


class ParamsModel(StrictModel):
    """Content of ``params.yaml``, or of a paper's ``grid.yaml``."""

    include: Annotated[list[str], BeforeValidator(_unique)] = Field(
        [], description="further files with blocks datasets, algorithms, experiments and exhibits, beside this one"
    )
    seeds: Seeds = Field(description="seeds of every experiment that does not name its own")
    device: Literal["auto", "cpu", "cuda"] = Field("cpu", description="where algorithms that can use a GPU run")
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(1, description="threads of one training job")
    bootstrap: Bootstrap = Field(default_factory=Bootstrap, description="uncertainty of one model's metrics")
    datasets: dict[Name, Settings] = Field({}, description="options of the dataset modules, or tables of one's own")
    algorithms: dict[str, Settings] = Field({}, description="settings common to all experiments")
    experiments: dict[Name, ExperimentModel] = Field(description="the grids")
    exhibits: dict[Name, ExhibitModel] = Field({}, description="figures and tables")
