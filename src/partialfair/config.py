"""The experiment grid: reads ``params.yaml``, refuses what cannot be run, lists the jobs.

Every refusal is one sentence that names the key, the value and what to write instead.
"""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from partialfair import plugins
from partialfair.config_models import ExperimentModel, ParamsModel
from partialfair.datasets.named import check_entry, module_name
from partialfair.errors import ConfigError, PluginError

_Model = TypeVar("_Model", bound=BaseModel)

RUNS = Path("data/runs")
RESERVED = ("all", "demo", "paper", "benchmark", "scorecard")
"""Workflow targets that an exhibit may not be called (nor an experiment, except ``demo``)."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training run.

    Attributes:
        experiment, dataset, algorithm: names in ``params.yaml``.
        kappa_text: tolerance as it stands in paths, for instance ``0.01`` or ``inf``.
        kappa: the same as a number.
        seed: seed of the split and of the algorithm.
    """

    experiment: str
    dataset: str
    algorithm: str
    kappa_text: str
    kappa: float
    seed: int

    @property
    def path(self) -> Path:
        """Folder of the run's files, relative to the project's root."""
        return RUNS / self.experiment / self.dataset / self.algorithm / f"kappa={self.kappa_text}" / f"seed={self.seed}"


def kappa_text(kappa: float) -> str:
    """Return a tolerance as it stands in paths: the shortest text that reads back as the same number."""
    return repr(float(kappa)).removesuffix(".0")


class Config:
    """A validated ``params.yaml``; ``whole`` unless it is :meth:`restricted`."""

    def __init__(self, params: ParamsModel, source: str = "params.yaml", whole: bool = True) -> None:
        self.params = params
        self.source = source
        self.whole = whole
        self._training: dict[tuple[str, str, str], dict[str, Any]] = {}

    @property
    def experiments(self) -> dict[str, ExperimentModel]:
        """Experiments by name."""
        return self.params.experiments

    @property
    def datasets(self) -> tuple[str, ...]:
        """Datasets that some experiment or exhibit uses, sorted."""
        used = {name for experiment in self.experiments.values() for name in experiment.runs}
        return tuple(sorted(used.union(*(exhibit.datasets for exhibit in self.params.exhibits.values()))))

    def experiment(self, name: str) -> ExperimentModel:
        """Return an experiment.

        Raises:
            ConfigError: there is none of that name.
        """
        if name not in self.experiments:
            hint = plugins.did_you_mean(name, self.experiments)
            raise ConfigError(f"{self.source}: unknown experiment {name!r}; {hint}")
        return self.experiments[name]

    def restricted(self, experiment: str) -> "Config":
        """Return the configuration as if it held one experiment and the exhibits drawn from it alone.

        Raises:
            ConfigError: there is no such experiment.
        """
        only = {experiment: self.experiment(experiment)}
        shown = {name: exhibit for name, exhibit in self.params.exhibits.items() if exhibit.experiments == [experiment]}
        return Config(self.params.model_copy(update={"experiments": only, "exhibits": shown}), self.source, whole=False)

    def seeds(self, experiment: str) -> list[int]:
        """Return the seeds of an experiment."""
        own = self.experiment(experiment).seeds
        return self.params.seeds if own is None else own

    def dataset_options(self, dataset: str) -> dict[str, Any]:
        """Return the options of a dataset module."""
        return self.params.datasets.get(dataset, {})

    def algorithm_settings(self, experiment: str, algorithm: str) -> dict[str, Any]:
        """Return the settings of an algorithm: the common ones, then the experiment's own."""
        own = self.experiment(experiment).algorithms.get(algorithm, {})
        return {**self.params.algorithms.get(algorithm, {}), **own}

    def jobs(self, experiment: str | None = None) -> list[Job]:
        """Return the training runs of one experiment, or of all.

        Raises:
            ConfigError: there is no such experiment.
        """
        if experiment is None:
            return [job for name in self.experiments for job in self._jobs_of[name]]
        self.experiment(experiment)
        return self._jobs_of[experiment]

    def job(self, experiment: str, dataset: str, algorithm: str, kappa: str, seed: int) -> Job:
        """Return one run of the grid.

        Args:
            experiment, dataset, algorithm: names.
            kappa: text or number.
            seed: seed.

        Raises:
            ConfigError: the grid has no such run; the message names the first part that is wrong.
        """
        run = self.experiment(experiment).runs.get(dataset)
        where = f"{self.source}: experiments.{experiment}.runs"
        if run is None:
            raise ConfigError(f"{where}: no dataset {dataset!r}; {plugins.did_you_mean(dataset, self.datasets)}")
        if algorithm not in run.algorithms:
            hint = plugins.did_you_mean(algorithm, run.algorithms)
            raise ConfigError(f"{where}.{dataset}.algorithms: no algorithm {algorithm!r}; {hint}")
        tolerances = {kappa_text(value): value for value in run.algorithms[algorithm]}
        try:
            text = kappa_text(float(kappa))
        except ValueError:
            text = str(kappa)
        if text not in tolerances:
            raise ConfigError(
                f"{where}.{dataset}.algorithms.{algorithm}: no kappa {kappa}; choose from {', '.join(tolerances)}"
            )
        if seed not in self.seeds(experiment):
            valid = ", ".join(map(str, self.seeds(experiment)))
            raise ConfigError(f"{self.source}: experiment {experiment!r} has no seed {seed}; choose from {valid}")
        return Job(experiment, dataset, algorithm, text, tolerances[text], seed)

    @cached_property
    def _jobs_of(self) -> dict[str, list[Job]]:
        return {name: list(self._enumerate(name)) for name in self.experiments}

    def _enumerate(self, experiment: str) -> Iterator[Job]:
        for dataset, run in self.experiments[experiment].runs.items():
            for algorithm, tolerances in run.algorithms.items():
                for kappa in tolerances:
                    for seed in self.seeds(experiment):
                        yield Job(experiment, dataset, algorithm, kappa_text(kappa), kappa, seed)

    def training(self, experiment: str, dataset: str, algorithm: str) -> dict[str, Any]:
        """Return what the runs of one algorithm on one dataset share; see :func:`job_settings`."""
        key = (experiment, dataset, algorithm)
        if key not in self._training:
            model = self.experiment(experiment)
            run = model.runs[dataset]
            self._training[key] = {
                "experiment": experiment,
                "dataset": dataset,
                "algorithm": algorithm,
                "constraint": model.constraint,
                "interval": _lists(run.interval),
                "grid": run.grid or model.grid,
                "kappa_scale": model.kappa_scale,
                "loss": model.loss,
                "surrogate": model.surrogate,
                "settings": self.algorithm_settings(experiment, algorithm),
                "dataset_options": self.dataset_options(dataset),
                "threads": self.params.threads,
                "device": self.params.device,
            }
        return self._training[key]


def job_settings(config: Config, job: Job) -> dict[str, Any]:
    """Return everything in the configuration that determines one training run, ready for JSON.

    A change of any entry reruns the job; a change of anything else in ``params.yaml`` does not. ``kappa``
    is ``None`` where there is no constraint, since JSON has no infinity.
    """
    kappa = None if math.isinf(job.kappa) else job.kappa
    return {**config.training(job.experiment, job.dataset, job.algorithm), "kappa": kappa, "seed": job.seed}


def evaluation_settings(config: Config, experiment: str, dataset: str) -> dict[str, Any]:
    """Return everything in the configuration that determines the evaluation of a trained run."""
    run = config.experiment(experiment).runs[dataset]
    settings = {
        "interval": _lists(run.metric_interval or run.interval),
        "bootstrap": config.params.bootstrap.model_dump(),
    }
    wanted = config.experiment(experiment).metrics
    return settings | {"on_request": wanted} if wanted else settings


def load_config(path: str | Path = "params.yaml", *, check_plugins: bool = False) -> Config:
    """Read and validate a configuration.

    Args:
        path: YAML file.
        check_plugins: also import the algorithms that are used and check their settings. The workflow does
            this once; a single job leaves it out, since its own algorithm checks what it is given.

    Raises:
        ConfigError: the file cannot be read or says something that cannot be run.
    """
    source = Path(path).name
    config = Config(_validated(_with_included(Path(path)), ParamsModel, source, ()), source)
    _check_names(config)
    if check_plugins:
        _check_settings(config)
    return config


INCLUDABLE = ("datasets", "algorithms", "experiments", "exhibits")
"""Blocks that an included file may add entries to."""


def _with_included(path: Path) -> dict[str, Any]:
    """Return the content of a configuration with the entries of the files that it includes.

    An included file can also stand alone (with ``seeds``, ``bootstrap`` and the like of its own, which do not
    count where it is included): each paper's grid is a file that runs by itself.
    """
    whole = _read(path)
    for name in _list(whole.get("include"), path):
        file = path.parent / name
        if not file.is_file():
            raise ConfigError(f"{path.name}: include: there is no file {file}; paths are relative to {path.name}")
        content = _read(file)
        for block in INCLUDABLE:
            _add_entries(whole, block, content.get(block) or {}, file, path)
        _own_values(whole, content)
    return whole


def _list(names: Any, path: Path) -> list[str]:
    """Return the names of the included files."""
    if not isinstance(names or [], list):
        raise ConfigError(f"{path.name}: include is {names!r}: give a list of files")
    return [str(name) for name in names or []]


def _add_entries(whole: dict[str, Any], block: str, entries: Any, file: Path, path: Path) -> None:
    """Add the entries of one block, refusing names that exist with another content."""
    if not isinstance(entries, dict):
        raise ConfigError(f"{file.name}: {block} is {entries!r}: give names and their entries")
    present = whole.setdefault(block, {}) or {}
    for name, entry in entries.items():
        if name in present and present[name] != entry:
            raise ConfigError(f"{file.name}: {block}.{name} also stands, otherwise, in {path.name}; rename one of them")
    whole[block] = {**present, **entries}


def _own_values(whole: dict[str, Any], content: dict[str, Any]) -> None:
    """Give the experiments of an included file the seeds that stand at its top."""
    for name in (content.get("experiments") or {}) if "seeds" in content else ():
        entry = whole["experiments"][name]
        if isinstance(entry, dict):
            whole["experiments"][name] = {"seeds": content["seeds"], **entry}


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml: ten times faster
    """Refuses a mapping that has a key twice, which YAML would settle silently by the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # "<<": keys of its own go before those it brings
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: key {key!r} stands twice; remove one of them")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a params.yaml") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path.name}: holds {type(content).__name__}, not keys and values; see the one shipped")
    return content


def _validated(content: Any, model: type[_Model], source: str, prefix: tuple[str, ...]) -> _Model:
    """Return the block at ``prefix`` as ``model``, or turn the first complaint into one sentence."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_sentence(error, model, prefix)}") from error


def _sentence(error: ValidationError, model: type[BaseModel], prefix: tuple[str, ...]) -> str:
    """Return the first complaint of pydantic as key path, value and remedy."""
    first = error.errors()[0]
    location, value = first["loc"], first.get("input")
    path = ".".join(str(part) for part in (*prefix, *location) if part != "[key]")
    if first["type"] == "extra_forbidden":
        hint = plugins.did_you_mean(str(location[-1]), _fields(model, location[:-1]))
        return f"{path}: unknown key; {hint}"
    if first["type"] == "missing":
        return f"{path}: the key is missing; add it"
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if "[key]" in location:
        return f"{path}: the name must be lower case letters, digits and underscores, beginning with a letter"
    return f"{path} is {value!r}: {message}"


def _fields(model: Any, location: tuple[int | str, ...]) -> list[str]:
    """Return the valid keys at a location inside ``model``."""
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = field.annotation if field else None
        else:
            arguments = get_args(model)
            model = arguments[-1] if arguments else None
    return sorted(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _check_names(config: Config) -> None:
    """Refuse unknown datasets, algorithms, constraints and experiments, and names that clash."""
    params, source = config.params, config.source
    for dataset, options in params.datasets.items():
        check_entry(dataset, options, source)
        _check_option_types(dataset, options, f"{source}: datasets.{dataset}")
    for algorithm in params.algorithms:
        _check_plugin("algorithms", algorithm, f"{source}: algorithms.{algorithm}")
    for name, experiment in params.experiments.items():
        where = f"{source}: experiments.{name}"
        if name in RESERVED and name != "demo":
            raise ConfigError(f"{where}: {name!r} is the name of a workflow target; choose another name")
        _check_plugin("constraints", experiment.constraint, f"{where}.constraint")
        _check_choices(experiment, where)
        for algorithm in experiment.algorithms:
            _check_plugin("algorithms", algorithm, f"{where}.algorithms.{algorithm}")
        for dataset, run in experiment.runs.items():
            _check_known(dataset, config, f"{where}.runs.{dataset}")
            for algorithm in run.algorithms:
                _check_plugin("algorithms", algorithm, f"{where}.runs.{dataset}.algorithms.{algorithm}")
    for name, exhibit in params.exhibits.items():
        where = f"{source}: exhibits.{name}"
        if name in RESERVED or name in params.experiments:
            raise ConfigError(f"{where}: {name!r} is the name of a target or experiment; choose another name")
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

        try:
            registry.modules_on_request(names)
        except PluginError as error:
            raise ConfigError(f"{where}: {error}") from error


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
        from partialfair import surrogates

        try:
            surrogates.make(experiment.surrogate)
        except ConfigError as error:
            raise ConfigError(f"{where}.surrogate: {error}") from error


def _check_known(dataset: str, config: Config, where: str) -> None:
    """Refuse a dataset that is neither a module nor an entry under ``datasets``, and one that lacks options."""
    known = {*plugins.names("datasets"), *config.params.datasets}
    if dataset not in known:
        raise ConfigError(f"{where}: unknown dataset {dataset!r}; {plugins.did_you_mean(dataset, known)}")
    if dataset not in config.params.datasets:
        check_entry(dataset, {}, config.source)


_KINDS = {"int": (int, "a whole number"), "float": (int | float, "a number"), "bool": (bool, "true or false")}
"""Annotations of options of dataset modules that are checked before a module is imported."""


def _check_option_types(dataset: str, options: dict[str, Any], where: str) -> None:
    """Refuse an option of another type than the ``load`` function of the dataset's module says."""
    annotations = plugins.annotations("datasets", module_name(dataset, options), "load")
    for option, value in options.items():
        kind, wanted = _KINDS.get(annotations.get(option, ""), (object, ""))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, int | float)):
            raise ConfigError(f"{where}.{option} is {value!r}: give {wanted}")


def _check_settings(config: Config) -> None:
    """Check metrics on request, the settings of every algorithm by its own model, and which take no tolerance."""
    for algorithm, settings in config.params.algorithms.items():
        _validated(settings, _algorithm(algorithm).settings_model, config.source, ("algorithms", algorithm))
    for name, experiment in config.experiments.items():
        _check_metrics(experiment.metrics, f"{config.source}: experiments.{name}.metrics")
        for algorithm in experiment.algorithms:
            merged, prefix = config.algorithm_settings(name, algorithm), ("experiments", name, "algorithms", algorithm)
            _validated(merged, _algorithm(algorithm).settings_model, config.source, prefix)
        for dataset, run in experiment.runs.items():
            for algorithm, tolerances in run.algorithms.items():
                where = f"{config.source}: experiments.{name}.runs.{dataset}.algorithms.{algorithm}"
                _check_tolerances(_algorithm(algorithm), tolerances, where)


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


def _lists(value: Any) -> Any:
    """Return nested tuples as nested lists."""
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value
