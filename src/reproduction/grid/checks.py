"""What is refused in a configuration that has been read: one sentence that names the key, the value and the remedy."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from partialfair import plugins
from partialfair.errors import ConfigError, PartialFairError, PluginError
from reproduction.datasets.named import check_entry, module_name
from reproduction.grid import answer_cache
from reproduction.grid.params import ExperimentModel

if TYPE_CHECKING:
    from reproduction.grid.config import Config

_Model = TypeVar("_Model", bound=BaseModel)

_WHOLE = ("all", "demo", "paper", "benchmark", "scorecard")
_STAGES = ("raw", "data", "splits", "runs", "evaluation", "report", "pages", "demo_pages")
TARGETS = (*_WHOLE, *_STAGES)
"""What the workflow can be asked for besides experiments, exhibits and files."""
_OF_FILES = ("fetch", "prepare", "split", "manifest", "train", "evaluate", "collect", "exhibit", "exhibit_page")
RESERVED = (*TARGETS, *_OF_FILES, "experiment_scorecard")
"""Names of the workflow's rules, which an exhibit may not bear (nor an experiment, except ``demo``)."""


MOST_ROWS = 100_000_000
"""Rows of a table that is drawn: more would not fit into memory."""


def validated(content: Any, model: type[_Model], source: str, prefix: tuple[str, ...] = ()) -> _Model:
    """Return the block at ``prefix`` as ``model``, or turn every complaint into a sentence."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        sentences = _sentences(error, model, content, prefix)
        raise ConfigError("\n".join(f"{source}: {sentence}" for sentence in sentences)) from error


MOST_FAULTS = 10
"""Faults that are said at once."""


def all_faults(checks: Iterable[Callable[[], object]]) -> None:
    """Make all checks, and raise what any of them raises: more than one fault as an error with a line for each.

    Raises:
        PartialFairError: of the kind of the first fault.
    """
    faults: list[PartialFairError] = []
    for check in checks:
        try:
            check()
        except PartialFairError as error:
            faults.append(error)
    if not faults:
        return
    lines = list(dict.fromkeys(line for error in faults for line in str(error).splitlines()))
    more = [f"and {len(lines) - MOST_FAULTS} more faults"] if len(lines) > MOST_FAULTS else []
    raise type(faults[0])("\n".join([*lines[:MOST_FAULTS], *more])) from faults[0]


_REMEDIES = {
    "string_type": "write text, in quotes where it looks like a number",
    "list_type": "write a list, as in [a, b]",
    "dict_type": "write keys with their values",
    "model_type": "write keys with their values",
    "float_type": "write a number",
    "int_type": "write a whole number",
    "bool_type": "write true or false",
    "finite_number": "write a finite number",
}
"""What to do about a value of another type, by pydantic's name of the complaint."""


def _sentences(error: ValidationError, model: type[BaseModel], content: Any, prefix: tuple[str, ...]) -> Iterable[str]:
    """Return a sentence per key that pydantic complains of; a key that is missing beside a misspelt one is that one."""
    complaints = error.errors()
    misspelt = [complaint["loc"][:-1] for complaint in complaints if complaint["type"] == "extra_forbidden"]
    complaints.sort(key=lambda complaint: complaint["type"] != "extra_forbidden")
    sentences: dict[tuple[int | str, ...], str] = {}
    for complaint in complaints:
        if complaint["type"] != "missing" or complaint["loc"][:-1] not in misspelt:
            missing = complaint["loc"][-1:] if complaint["type"] == "missing" else ()
            key = (*_keys(content, complaint["loc"]), *missing)  # several where pydantic tried several types
            sentences.setdefault(key, _sentence({**complaint}, model, content, prefix))
    return sentences.values()


def _sentence(complaint: Mapping[str, Any], model: type[BaseModel], content: Any, prefix: tuple[str, ...]) -> str:
    """Return a complaint of pydantic as key path, value and remedy."""
    location, value = complaint["loc"], complaint.get("input")
    path = ".".join(str(key) for key in (*prefix, *_keys(content, location))) or "the file"
    if complaint["type"] == "extra_forbidden":
        hint = plugins.did_you_mean(str(location[-1]), _fields(model, location[:-1]))
        return f"{path}: unknown key; {hint}"
    if complaint["type"] == "missing":
        return f"{path}.{location[-1]}: the key is missing; add it".removeprefix("the file.")
    message = complaint["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if complaint["type"] == "too_short":
        message = f"give at least {complaint['ctx']['min_length']}"
    message = _REMEDIES.get(complaint["type"], message)
    if not location and complaint["type"] == "value_error":  # of the block as a whole, which is too long to print
        return f"{path}: {message}"
    if "[key]" in location:
        quotes = "" if isinstance(value, str) else ", in quotes if YAML reads it as true, false or a number"
        return f"{path}: the name must be lower case letters, digits and underscores, beginning with a letter{quotes}"
    return f"{path} is {value!r}: {message}"


def _keys(content: Any, location: tuple[int | str, ...]) -> list[int | str]:
    """Return the parts of a location that stand in the file; pydantic also names which type of several it tried."""
    keys: list[int | str] = []
    for key in location:
        inside = isinstance(content, dict) and key in content
        if inside or (isinstance(content, list) and isinstance(key, int) and key < len(content)):
            keys.append(key)
            content = content[key]
    return keys


def _fields(model: Any, location: tuple[int | str, ...]) -> list[str]:
    """Return the valid keys at a location inside ``model``."""
    for key in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(key))
            model = _block(field.annotation) if field else None
        else:
            arguments = get_args(model)
            model = _block(arguments[-1]) if arguments else None
    return sorted(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _block(annotation: Any) -> Any:
    """Return what an annotation allows besides ``None``; itself if that is more than one thing."""
    types = [annotated for annotated in get_args(annotation) if annotated is not NoneType]
    return types[0] if NoneType in get_args(annotation) and len(types) == 1 else annotation


def check_names(config: "Config") -> None:
    """Refuse unknown datasets, algorithms, constraints and experiments, and names that clash: all that there are."""
    params, source = config.params, config.source
    checks: list[Callable[[], object]] = [partial(_check_dataset, config, name) for name in params.datasets]
    checks += [
        partial(_check_plugin, "algorithms", algorithm, f"{source}: algorithms.{algorithm}")
        for algorithm in params.algorithms
    ]
    checks += [partial(_check_experiment, config, name) for name in params.experiments]
    checks += [partial(_check_exhibit, config, name) for name in params.exhibits]
    all_faults(checks)


def _check_dataset(config: "Config", name: str) -> None:
    """Refuse an entry of a dataset that cannot be used."""
    options = config.params.datasets[name]
    check_entry(name, options, config.source)
    _check_option_types(name, options, f"{config.source}: datasets.{name}")


def _check_experiment(config: "Config", name: str) -> None:
    """Refuse an experiment that names something unknown, or has a name that it cannot have."""
    params, experiment, where = config.params, config.params.experiments[name], f"{config.source}: experiments.{name}"
    if name == config.name or name in {declared.paper for declared in params.experiments.values()}:
        raise ConfigError(f"{where}: {name!r} is the folder of a report; choose another name")
    if name in RESERVED and name != "demo":
        raise ConfigError(f"{where}: {name!r} is the name of a rule of the workflow; choose another name")
    if experiment.between and experiment.between not in params.experiments:
        hint = plugins.did_you_mean(experiment.between, params.experiments)
        raise ConfigError(f"{where}.between: unknown experiment {experiment.between!r}; {hint}")
    for dataset in experiment.more_seeds:
        if dataset not in experiment.runs:
            hint = plugins.did_you_mean(dataset, experiment.runs)
            raise ConfigError(f"{where}.more_seeds: the experiment has no dataset {dataset!r}; {hint}")
    checks: list[Callable[[], object]] = [
        partial(_check_plugin, "constraints", experiment.constraint, f"{where}.constraint"),
        partial(_check_choices, experiment, where),
    ]
    checks += [
        partial(_check_plugin, "algorithms", algorithm, f"{where}.algorithms.{algorithm}")
        for algorithm in experiment.algorithms
    ]
    for dataset, run in experiment.runs.items():
        checks.append(partial(_check_known, dataset, config, f"{where}.runs.{dataset}"))
        for algorithm in run.algorithms:
            key_path = f"{where}.runs.{dataset}.algorithms.{algorithm}"
            checks.append(partial(_check_plugin, "algorithms", algorithm, key_path))
    all_faults(checks)


def _check_exhibit(config: "Config", name: str) -> None:
    """Refuse an exhibit that names something unknown, or has a name that it cannot have."""
    params, exhibit, where = config.params, config.params.exhibits[name], f"{config.source}: exhibits.{name}"
    if name in RESERVED or name in params.experiments:
        namesake = "a rule of the workflow" if name in RESERVED else "an experiment"
        raise ConfigError(f"{where}: {name!r} is the name of {namesake}; choose another name")
    for used in exhibit.experiments:
        if used not in params.experiments:
            hint = plugins.did_you_mean(used, params.experiments)
            raise ConfigError(f"{where}.experiments: unknown experiment {used!r}; {hint}")
    for dataset in exhibit.datasets:
        _check_known(dataset, config, f"{where}.datasets")


def _check_plugin(package: str, name: str, where: str) -> None:
    """Refuse a name that is no plug-in."""
    try:
        plugins.module_of(package, name)
    except PluginError as error:
        raise ConfigError(f"{where}: {error}") from error


def _check_metrics(names: list[str], where: str) -> None:
    """Refuse metrics that no module offers on request."""
    if names:
        from partialfair.metrics import registry

        for name in names:
            if name not in registry.on_request():
                hint = plugins.did_you_mean(name, registry.on_request())
                raise ConfigError(f"{where}: unknown metric on request {name!r}; {hint}")


def _check_choices(experiment: ExperimentModel, where: str) -> None:
    """Refuse an unknown loss or surrogate, and options that they do not take."""
    loss, options = plugins.chosen(experiment.loss)
    _check_plugin("losses", loss, f"{where}.loss")
    accepted = plugins.parameters("losses", loss, "build") or ()
    for option in options:
        if option not in accepted[1:]:
            hint = plugins.did_you_mean(option, accepted[1:]) if len(accepted) > 1 else "this loss takes none"
            raise ConfigError(f"{where}.loss.{option}: unknown option; {hint}")
    if experiment.surrogate != "clipped_linear":
        answer_cache.answer(
            f"surrogate {experiment.surrogate!r}", lambda: _check_surrogate(experiment.surrogate, where)
        )


def _check_surrogate(surrogate: Any, where: str) -> str:
    """Refuse a surrogate that is none, or has an option that it does not take."""
    from partialfair.constraints import surrogates

    try:
        surrogates.make(surrogate)
    except ConfigError as error:
        raise ConfigError(f"{where}.surrogate: {error}") from error
    return "made"


def _check_known(dataset: str, config: "Config", where: str) -> None:
    """Refuse a dataset that is neither a module nor an entry under ``datasets``, and one that lacks options."""
    dataset_names = {*plugins.names("datasets"), *config.params.datasets}
    if dataset not in dataset_names:
        raise ConfigError(f"{where}: unknown dataset {dataset!r}; {plugins.did_you_mean(dataset, dataset_names)}")
    if dataset not in config.params.datasets:
        check_entry(dataset, {}, config.source)


_NAMES = "a column, or a list of columns"
_KINDS = {
    "int": (int, "a whole number"), "float": (int | float, "a number"), "bool": (bool, "true or false"),
    "Names": (str | list, _NAMES), "Names | None": (str | list | None, _NAMES),
}  # fmt: skip
"""Annotations of options of dataset modules that are checked before a module is imported."""


def _check_option_types(dataset: str, options: dict[str, Any], where: str) -> None:
    """Refuse an option of another type than the ``load`` function of the dataset's module says."""
    annotations = plugins.annotations("datasets", module_name(dataset, options), "load")
    for option, value in options.items():
        kind, advice = _KINDS.get(annotations.get(option, ""), (object, ""))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, int | float)):
            raise ConfigError(f"{where}.{option} is {value!r}: give {advice}")
        if option == "rows" and isinstance(value, int) and not 0 < value <= MOST_ROWS:
            raise ConfigError(f"{where}.rows is {value}: give a number of rows from 1 to {MOST_ROWS:,}")


RANKS = "partial_"
"""Names of the constraints on shares of ranks begin so: their violations are at most 1."""


def _check_bound(algorithm: Any, tolerances: list[float], where: str) -> None:
    """Refuse a tolerance that every model satisfies."""
    for kappa in tolerances:
        if getattr(algorithm, "kappa", "") == "tolerance" and 1 <= kappa < math.inf:
            raise ConfigError(
                f"{where} is {kappa:g}: on the absolute scale no violation exceeds 1, so every model satisfies it; "
                "give a number below 1, or use 'unconstrained'"
            )


def check_settings(config: "Config") -> None:
    """Check metrics on request, the settings of every algorithm by its own model, and which take no tolerance."""
    checks: list[Callable[[], object]] = []
    for algorithm, settings in config.params.algorithms.items():
        prefix: tuple[str, ...] = ("algorithms", algorithm)
        checks.append(partial(validated, settings, _algorithm(algorithm).settings, config.source, prefix))
    for name, experiment in config.experiments.items():
        checks.append(partial(_check_metrics, experiment.metrics, f"{config.source}: experiments.{name}.metrics"))
        for algorithm in experiment.algorithms:
            merged, prefix = config.algorithm_settings(name, algorithm), ("experiments", name, "algorithms", algorithm)
            checks.append(partial(validated, merged, _algorithm(algorithm).settings, config.source, prefix))
        for dataset, run in experiment.runs.items():
            for algorithm, tolerances in run.algorithms.items():
                where = f"{config.source}: experiments.{name}.runs.{dataset}.algorithms.{algorithm}"
                checks.append(partial(_check_tolerances, _algorithm(algorithm), tolerances, where))
                if experiment.kappa_scale == "absolute" and experiment.constraint.startswith(RANKS):
                    checks.append(partial(_check_bound, _algorithm(algorithm), tolerances, where))
    all_faults(checks)


def check_files(config: "Config") -> None:
    """Refuse tables of one's own whose file is not there or lacks a column that the entry names.

    Raises:
        DataError: naming the file and the column.
    """
    from reproduction.datasets import csv_table

    tables = {
        dataset: options
        for dataset, options in config.params.datasets.items()
        if dataset in config.datasets and module_name(dataset, options) == "csv_table"
    }
    all_faults(partial(csv_table.check_columns, config.source, *entry) for entry in tables.items())


def _algorithm(name: str) -> Any:
    """Return the plug-in object of an algorithm."""
    return plugins.load("algorithms", name).ALGORITHM


def _check_tolerances(algorithm: Any, tolerances: list[float], where: str) -> None:
    """Refuse infinity for an algorithm that constrains, and a finite tolerance for one that does not."""
    for kappa in tolerances:
        if getattr(algorithm, "constrained", True) and math.isinf(kappa):
            raise ConfigError(f"{where} is inf: this algorithm needs a finite kappa; use 'unconstrained' for inf")
        if not getattr(algorithm, "constrained", True) and not math.isinf(kappa):
            raise ConfigError(f"{where} is {kappa:g}: this algorithm has no constraint; write [inf]")
