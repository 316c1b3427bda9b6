"""How much work a run of the workflow is, by what its trainings took when the committed results were made."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import TYPE_CHECKING

from reproduction.grid import paths

if TYPE_CHECKING:
    from reproduction.grid.config import Config

TRAIN = "train"
OTHER = 0.6
"""Processor seconds of a step other than training: mostly those of an evaluation, with Snakemake's share."""


@dataclass(frozen=True)
class Forecast:
    """Expected processor seconds of steps.

    Attributes:
        trainings: of runs, by their folder.
        missing: folders of runs that were not here when the forecast was made.
    """

    trainings: Mapping[str, float]
    missing: frozenset[str] = frozenset()

    def step(self, rule: str, wildcards: Mapping[str, str]) -> float:
        """Return the seconds of one step; a run of which nothing is recorded counts as the mean of the nearest ones."""
        return self._training(paths.RUN.format(**wildcards)) if rule == TRAIN else OTHER

    def total(self, counts: Mapping[str, int]) -> float:
        """Return the seconds of as many steps of each rule; what is trained is taken to be what was missing."""
        untrained = sum(count for rule, count in counts.items() if rule != TRAIN)
        return OTHER * untrained + self._planned * counts.get(TRAIN, 0)

    def _training(self, run: str) -> float:
        folders = (str(folder) for folder in PurePosixPath(run).parents)
        nearest = next((folder for folder in folders if folder in self._means), ".")
        return self.trainings.get(run, self._means[nearest])

    @cached_property
    def _planned(self) -> float:
        """Mean seconds of the runs that are to be trained."""
        return fmean(self._training(run) for run in self.missing or self.trainings)

    @cached_property
    def _means(self) -> dict[str, float]:
        """Mean seconds of the runs below each folder: other seeds first, then other tolerances, other methods."""
        below: dict[str, list[float]] = {}
        for run, spent in self.trainings.items():
            for folder in PurePosixPath(run).parents:
                below.setdefault(str(folder), []).append(spent)
        return {folder: fmean(spent) for folder, spent in below.items()}


def recorded(config: "Config", targets: Iterable[str]) -> Forecast | None:
    """Return what the runs behind some targets took before; ``None`` if that is nowhere recorded.

    Args:
        config: the experiment grid.
        targets: experiments and exhibits; anything else is taken for the whole grid.
    """
    trainings: dict[str, float] = {}
    missing = set()
    for experiment in experiments_of(config, list(targets)):
        for job in config.jobs(experiment):
            if not (job.path / paths.FIT).exists():
                missing.add(str(job.path))
        trainings |= _seconds_of_runs(experiment)
    return Forecast(trainings, frozenset(missing)) if trainings else None


def experiments_of(config: "Config", targets: list[str]) -> list[str]:
    """Return the experiments behind some targets; all where one is neither an experiment nor an exhibit."""
    named: list[str] = []
    for target in targets:
        if target in config.experiments:
            named.append(target)
        elif target in config.params.exhibits:
            named += config.params.exhibits[target].experiments
        else:
            return list(config.experiments)
    return list(dict.fromkeys(named)) or list(config.experiments)


def _seconds_of_runs(experiment: str) -> dict[str, float]:
    """Seconds of an experiment's runs, from its collected table."""
    path = Path(paths.COLLECTED.format(experiment=experiment, table="runs"))
    if not path.is_file():
        return {}
    from pyarrow import ArrowException, parquet

    from reproduction.grid.config import kappa_text

    try:
        table = parquet.read_table(path, columns=["dataset", "algorithm", "kappa", "seed", "cpu_seconds"])
        columns = [table.column(name).to_pylist() for name in ("dataset", "algorithm", "kappa", "seed", "cpu_seconds")]
    except (ArrowException, KeyError, OSError):  # older or damaged: the workflow's own checks say so
        return {}
    return {
        paths.RUN.format(
            experiment=experiment, dataset=dataset, algorithm=algorithm, kappa=kappa_text(kappa), seed=seed
        ): float(seconds)
        for dataset, algorithm, kappa, seed, seconds in zip(*columns, strict=True)
        if seconds is not None and not math.isnan(seconds)
    }
