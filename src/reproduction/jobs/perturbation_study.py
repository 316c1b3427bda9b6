"""How much of a result is rounding: a run trained again on the same rows with their columns in other orders.

The problem is the same, sums over columns are added up in another order, and the first step already differs in its last
digits. What becomes of that is the run's numerical spread: by as much may the run differ where a library's code paths
or versions do, and a smaller difference between two runs means nothing.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.seeding import generator
from reproduction.grid import fingerprint, paths
from reproduction.grid.config import Config, Job
from reproduction.jobs.evaluate import evaluate
from reproduction.jobs.train import Files, train


@dataclass(frozen=True)
class Spread:
    """What repetitions of a run came to.

    Attributes:
        values: of the run itself, its metrics on test rows by name.
        moves: by metric, the absolute differences of the repetitions from it.
        chosen: what tuning chose, of the run itself and of each repetition.
    """

    values: dict[str, float]
    moves: dict[str, list[float]]
    chosen: list[str]


def spread(config: Config, job: Job, repeats: int, report: Callable[[str], None] = print) -> Spread:
    """Train and evaluate a run of the grid, then ``repeats`` times with columns in other orders; nothing is kept.

    Args:
        config: the grid.
        job: the run; its table and split have to be here.
        repeats: how often.
        report: is told of each repetition.

    Raises:
        ConfigError: the rows are images, whose columns have places.
        DataError, PluginError: as in :func:`reproduction.jobs.train.train`.
    """
    data = Dataset.load(job.table)
    if data.image_shape is not None:
        raise ConfigError(f"{data.name}: its rows are images, whose pixels have an order; choose a dataset of columns")
    stream = generator("columns", data.name, job.seed)
    values, chosen = _once(config, job, Path(job.table))
    moves: dict[str, list[float]] = {name: [] for name in values}
    choices = [chosen]
    for repeat in range(1, repeats + 1):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "table.npz")
            with_columns(data, stream.permutation(data.n_features)).save(table)
            again, chosen = _once(config, job, table)
        choices.append(chosen)
        for name, value in values.items():
            moves[name].append(abs(again.get(name, np.inf) - value))
        report(f"{job.path}: repetition {repeat} of {repeats}, {chosen or 'nothing to choose'}")
    return Spread(values, moves, choices)


def with_columns(data: Dataset, order: Any) -> Dataset:
    """Return the same rows with their columns in this order, (d,)."""
    fields = {name: getattr(data, name) for name in ("y", "group", "group_names", "name", "partition", "task")}
    names = tuple(data.feature_names[column] for column in order)
    numeric = np.flatnonzero(np.isin(order, data.numeric)).astype(np.int64)
    return Dataset(X=data.X[:, order], feature_names=names, numeric=numeric, **fields)


def _once(config: Config, job: Job, table: Path) -> tuple[dict[str, float], str]:
    """Train and evaluate in a temporary folder; return the metrics on test rows, and what tuning chose."""
    settings = dict(fingerprint.evaluation(config, job).settings) | {"bootstrap": {"replicates": 0, "level": 0.95}}
    with tempfile.TemporaryDirectory() as folder:
        fit = train(config, job, Files(table, job.split, folder))
        files = (Path(folder, paths.MODEL), Path(folder, paths.FIT), table, job.split, folder)
        metrics = evaluate(*files, settings)["splits"].get("test", {})
    return {name: value for name, value in metrics.items() if value is not None}, str(fit.get("chosen") or "")
