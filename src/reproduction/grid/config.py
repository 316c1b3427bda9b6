"""The experiment grid: reads ``params.yaml``, refuses what cannot be run, lists the jobs."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from partialfair import plugins
from partialfair.errors import ConfigError
from reproduction.grid import looks, papers, paths
from reproduction.grid.checks import check_names, validated
from reproduction.grid.params import ExperimentModel, ParamsModel
from reproduction.grid.reading import with_included


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
        """Return the folder of the run's files, relative to the project's root."""
        return Path(
            paths.RUN.format(
                experiment=self.experiment,
                dataset=self.dataset,
                algorithm=self.algorithm,
                kappa=self.kappa_text,
                seed=self.seed,
            )
        )

    @property
    def table(self) -> str:
        """Return the table that the run reads."""
        return paths.table(self.dataset)

    @property
    def split(self) -> str:
        """Return the split that the run reads."""
        return paths.split(self.dataset, self.seed)


def kappa_text(kappa: float) -> str:
    """Return a tolerance as it stands in paths: the shortest text that reads back as the same number."""
    return repr(float(kappa)).removesuffix(".0")


class Config:
    """A validated ``params.yaml``, or the grid of one paper.

    Args:
        params: the content.
        source: the file, for messages.
        name: of a grid that is a part of the whole, whose scorecard and page have a folder of their own; else empty.
        whole: whether everything that its papers print is to be accounted for.
        first_look: whether no cell takes the seeds of a second look, whatever the first one has opened.
    """

    def __init__(
        self,
        params: ParamsModel,
        source: str = "params.yaml",
        name: str = "",
        whole: bool = True,
        first_look: bool = False,
    ) -> None:
        self.params = params
        self.first_look = first_look
        self.source = source
        self.name = name
        self.whole = whole
        self._training: dict[tuple[str, str, str], dict[str, Any]] = {}

    @property
    def experiments(self) -> dict[str, ExperimentModel]:
        """Return the experiments by name."""
        return self.params.experiments

    @property
    def papers(self) -> list[str]:
        """Papers that the experiments belong to, in their order."""
        return list(dict.fromkeys(experiment.paper for experiment in self.experiments.values()))

    @property
    def reports(self) -> Path:
        """Return the folder of the scorecard and the page, relative to the project's root."""
        return paths.summary_folder(self.name)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Return the datasets that some experiment or exhibit uses, sorted."""
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
        exhibits = {
            name: exhibit for name, exhibit in self.params.exhibits.items() if exhibit.experiments == [experiment]
        }
        params = self.params.model_copy(update={"experiments": only, "exhibits": exhibits})
        return Config(params, self.source, experiment, whole=False, first_look=self.first_look)

    def at_first_look(self) -> "Config":
        """Return the configuration without the seeds of second looks."""
        return Config(self.params, self.source, self.name, self.whole, first_look=True)

    def with_between(self, experiments: Iterable[str]) -> list[str]:
        """Return experiments with those whose models lie between theirs (``between``)."""
        names = list(experiments)
        return [
            *names,
            *(
                name
                for name, experiment in self.experiments.items()
                if experiment.between in names and name not in names
            ),
        ]

    def seeds(self, experiment: str, dataset: str = "", algorithm: str = "") -> list[int]:
        """Return the seeds of an experiment: of all its runs, of those on a dataset, or of those of one algorithm."""
        model = self.experiment(experiment)
        first_look = self.params.seeds if model.seeds is None else model.seeds
        more = (
            seed
            for name in ([dataset] if dataset else model.more_seeds)
            for method in ([algorithm] if algorithm else model.runs[name].algorithms)
            if self.is_open(experiment, name, method)
            for seed in model.more_seeds[name]
        )
        return list(dict.fromkeys([*first_look, *more]))

    def is_open(self, experiment: str, dataset: str, algorithm: str) -> bool:
        """Tell whether a cell takes the seeds of a second look."""
        model = self.experiment(experiment)
        if self.first_look or dataset not in model.more_seeds:
            return False
        return (experiment, dataset, algorithm) in looks.open_cells(model.paper)

    def dataset_options(self, dataset: str) -> dict[str, Any]:
        """Return the options of a dataset module."""
        return self.params.datasets.get(dataset, {})

    def determining(self, dataset: str) -> dict[str, Any]:
        """Return the options of a dataset module that its table depends on: a stated checksum only checks the file."""
        return {name: value for name, value in self.dataset_options(dataset).items() if name != "sha256"}

    def algorithm_settings(self, experiment: str, algorithm: str) -> dict[str, Any]:
        """Return the settings of an algorithm: the common ones, then the experiment's own."""
        specific = self.experiment(experiment).algorithms.get(algorithm, {})
        return {**self.params.algorithms.get(algorithm, {}), **specific}

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
        runs = self.experiment(experiment).runs
        run = runs.get(dataset)
        where = f"{self.source}: experiments.{experiment}.runs"
        if run is None:
            raise ConfigError(f"{where}: no dataset {dataset!r}; {plugins.did_you_mean(dataset, runs)}")
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
        seeds = self.seeds(experiment, dataset, algorithm)
        if seed not in seeds:
            valid = ", ".join(map(str, seeds))
            raise ConfigError(f"{self.source}: experiment {experiment!r} has no seed {seed}; choose from {valid}")
        return Job(experiment, dataset, algorithm, text, tolerances[text], seed)

    def job_of(self, wildcards: Any) -> Job:
        """Return the run that a rule of the workflow knows by its wildcards; see :meth:`job`."""
        run = wildcards
        job = self._job_of.get((run.experiment, run.dataset, run.algorithm, run.kappa, str(run.seed)))
        return job or self.job(run.experiment, run.dataset, run.algorithm, run.kappa, seed=int(run.seed))

    @cached_property
    def _job_of(self) -> dict[tuple[str, str, str, str, str], Job]:
        return {(j.experiment, j.dataset, j.algorithm, j.kappa_text, str(j.seed)): j for j in self.jobs()}

    @cached_property
    def _jobs_of(self) -> dict[str, list[Job]]:
        return {name: list(self._enumerate(name)) for name in self.experiments}

    def _enumerate(self, experiment: str) -> Iterator[Job]:
        for dataset, run in self.experiments[experiment].runs.items():
            for algorithm, tolerances in run.algorithms.items():
                seeds = self.seeds(experiment, dataset, algorithm)
                for kappa in tolerances:
                    for seed in seeds:
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
                "interval": run.interval.lists(),
                "grid": run.grid or model.grid,
                "kappa_scale": model.kappa_scale,
                "loss": model.loss,
                "surrogate": model.surrogate,
                "settings": self.algorithm_settings(experiment, algorithm),
                "dataset_options": self.determining(dataset),
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
        "interval": (run.metric_interval or run.interval).lists(),
        "bootstrap": config.params.bootstrap.model_dump(),
    }
    metrics = config.experiment(experiment).metrics
    return settings | {"on_request": metrics} if metrics else settings


def load_config(path: str | Path = "params.yaml") -> Config:
    """Read and validate a configuration, but for what its plug-ins say of it.

    Those are checked once, where the workflow starts (:func:`reproduction.grid.checks.check_settings`), or by the job
    whose own they are.

    Args:
        path: YAML file.

    Raises:
        ConfigError: the file cannot be read or says something that cannot be run.
    """
    name = papers.grid_name(Path(path))
    source = "/".join(Path(path).absolute().parts[-3:]) if Path(path).name == papers.GRID else Path(path).name
    params = validated(with_included(Path(path)), ParamsModel, source, ())
    config = Config(params, source, name, whole=not name or Path(path).name == papers.GRID)
    check_names(config)
    return config
