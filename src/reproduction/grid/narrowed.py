"""A small part of a grid: the experiments behind one target, with some of their seeds, datasets and methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from partialfair import plugins
from partialfair.data.intervals import Interval
from partialfair.errors import ConfigError
from reproduction.grid.config import Config
from reproduction.grid.params import ExhibitModel, ExperimentModel, ParamsModel

ALL = "all"
"""The target that stands for every experiment of a grid."""


@dataclass(frozen=True)
class Selection:
    """Which part of a grid is run.

    Attributes:
        target: key in ``exhibits`` or ``experiments``, or ``"all"``.
        seeds: how many of the seeds of each experiment, from the first on; 0 for all.
        datasets: names; none for all.
        methods: names of algorithms; none for all.
    """

    target: str
    seeds: int = 1
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Return the command-line options that state this selection."""
        chosen = {"--datasets": ",".join(self.datasets), "--methods": ",".join(self.methods)}
        return ["--seeds", str(self.seeds), *(word for pair in chosen.items() if pair[1] for word in pair)]

    def command(self, config: Config) -> list[str]:
        """Return the command that makes this selection of a grid."""
        verb = "reproduce" if self.target in config.params.exhibits else "run"
        grid = [] if config.source == "params.yaml" else ["--config", config.source]
        return ["partialfair", verb, self.target, *self.options(), *grid]


def narrowed(config: Config, selection: Selection) -> Config:
    """Return the grid of one target and of a selection of its runs.

    The exhibits of an experiment are those drawn from it alone. Experiments whose models only lie between those of
    another (``between``) are left out: they sharpen comparisons and draw no point.

    Raises:
        ConfigError: there is no such target, dataset or method, or the selection leaves nothing to run.
    """
    exhibits, targeted = _targeted(config, selection.target)
    _require(
        selection.datasets,
        {name for experiment in targeted.values() for name in experiment.runs},
        "dataset",
        selection.target,
    )
    methods = {name for experiment in targeted.values() for run in experiment.runs.values() for name in run.algorithms}
    _require(selection.methods, methods, "method", selection.target)
    experiments = {
        name: selected
        for name, experiment in targeted.items()
        if (selected := _selected_runs(config, name, experiment, selection)).runs
    }
    if not experiments:
        chosen = f"{', '.join(selection.methods)} on {', '.join(selection.datasets)}"
        raise ConfigError(f"{selection.target} has no run of {chosen}; leave one of the two options out")
    params = config.params.model_copy(update={"experiments": experiments, "exhibits": exhibits, "include": []})
    return Config(params, config.source, whole=False)


def _targeted(config: Config, target: str) -> tuple[dict[str, ExhibitModel], dict[str, ExperimentModel]]:
    """Return the exhibits and the experiments behind a target.

    Raises:
        ConfigError: there is no such target.
    """
    exhibits, experiments = config.params.exhibits, config.experiments
    if target in exhibits:
        names = exhibits[target].experiments or list(experiments)
        return {target: exhibits[target]}, {name: config.experiment(name) for name in names}
    if target in experiments:
        return dict(config.restricted(target).params.exhibits), {target: config.experiment(target)}
    if target == ALL:
        return {}, {name: config.experiment(name) for name in experiments if not config.experiment(name).between}
    hint = plugins.did_you_mean(target, {**exhibits, **experiments})
    raise ConfigError(f"{config.source}: no figure, table or experiment {target!r}; {hint}")


def _require(chosen: Sequence[str], names: set[str], kind: str, target: str) -> None:
    for name in chosen:
        if name not in names:
            raise ConfigError(f"{target} has no {kind} {name!r}; {plugins.did_you_mean(name, sorted(names))}")


def _selected_runs(config: Config, name: str, experiment: ExperimentModel, selection: Selection) -> ExperimentModel:
    """Return an experiment with the chosen seeds, datasets and methods alone."""
    runs = {}
    for dataset, run in experiment.runs.items():
        algorithms = {
            algorithm: kappas
            for algorithm, kappas in run.algorithms.items()
            if algorithm in (selection.methods or run.algorithms)
        }
        if algorithms and dataset in (selection.datasets or experiment.runs):
            runs[dataset] = run.model_copy(update={"algorithms": algorithms})
    seeds = config.seeds(name)[: selection.seeds or None]
    return experiment.model_copy(update={"runs": runs, "seeds": seeds, "more_seeds": {}, "between": ""})


def as_yaml(params: ParamsModel) -> str:
    """Return a grid as the text of a ``params.yaml``."""
    import yaml

    return yaml.safe_dump(_plain(params), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    """Return settings in the types that YAML knows; of a model, those that were stated."""
    if isinstance(value, BaseModel):
        stated = (*type(value).model_fields, *(value.model_extra or {}))
        return {name: _plain(getattr(value, name)) for name in stated if name in value.model_fields_set}
    if isinstance(value, Interval):
        return value.lists()
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
