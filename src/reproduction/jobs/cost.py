"""What a grid costs on this machine, by what its runs took when the committed results were made."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from partialfair.data.files import read_json
from reproduction.grid import paths
from reproduction.grid.config import Config, Job, kappa_text
from reproduction.grid.table_files import read_table

if TYPE_CHECKING:
    import numpy as np

EVALUATION, STEP, START = 0.35, 1.0, 30.0
"""Processor seconds of an evaluation, of another step that trains nothing, and of Snakemake, drawing and the page."""
REFERENCE = Path(__file__).with_name("reference_speed.json")
"""Rounds per processor second of :func:`rounds_per_second` on a processor as fast as that of the committed runs."""


@dataclass(frozen=True)
class Cost:
    """Steps of a grid and what they take.

    Attributes:
        steps: numbers of steps by rule.
        seconds: processor seconds on the machine of the committed runs.
        speed: how many times as fast this machine is.
        unknown: trainings of which no time is recorded; they count as the mean of the others.
    """

    steps: Counter[str]
    seconds: float
    speed: float
    unknown: int

    def minutes(self, cores: int) -> float:
        """Return the minutes on so many cores of this machine."""
        return self.seconds / self.speed / cores / 60


def cost(config: Config, committed: Path, done: Path, speed: float) -> Cost:
    """Return what the runs of a grid cost that are not done yet.

    Args:
        config: the grid.
        committed: folder whose ``reports`` have recorded times.
        done: folder that has the finished runs.
        speed: see :func:`speed`.
    """
    jobs = [job for job in config.jobs() if not (done / job.path / paths.METRICS).is_file()]
    recorded = {name: _seconds(committed, name) for name in config.experiments}
    times = [recorded[job.experiment].get(_key(job)) for job in jobs]
    recorded_seconds = [seconds for seconds in times if seconds is not None]
    unknown = len(times) - len(recorded_seconds)
    training = sum(recorded_seconds) + unknown * (fmean(recorded_seconds) if recorded_seconds else STEP)
    tables = {job.dataset for job in jobs}
    steps = Counter({"train": len(jobs), "evaluate": len(jobs), "prepare": len(tables)})
    steps["split"] = len({(job.dataset, job.seed) for job in jobs})
    steps["collect"] = len(config.experiments)
    data_steps = steps["prepare"] + steps["split"] + steps["collect"]
    seconds = training + EVALUATION * len(jobs) + STEP * data_steps + START
    return Cost(steps, seconds, speed, unknown)


def _key(job: Job) -> tuple[str, str, str, int]:
    return job.dataset, job.algorithm, job.kappa_text, job.seed


def _seconds(root: Path, experiment: str) -> dict[tuple[str, str, str, int], float]:
    """Return the recorded processor seconds of the runs of an experiment."""
    path = root / paths.COLLECTED.format(experiment=experiment, table="runs")
    if not path.is_file():
        return {}
    table = read_table(path, ["dataset", "algorithm", "kappa", "seed", "cpu_seconds"]).dropna()
    rows = table.itertuples(index=False)
    return {(row.dataset, row.algorithm, kappa_text(row.kappa), int(row.seed)): float(row.cpu_seconds) for row in rows}


def speed(seconds: float = 2.0) -> float:
    """Return how many times as fast this machine is as that of the committed runs, measured for some seconds."""
    return rounds_per_second(seconds) / float(read_json(REFERENCE)["rounds_per_second"])


def rounds_per_second(seconds: float) -> float:
    """Return how many rounds of products and sorting a processor second of this machine makes.

    One thread on data of the size of a processor's own cache, so that neither other jobs nor the threads of a
    linear-algebra library change the rate.
    """
    import numpy as np
    from threadpoolctl import threadpool_limits

    draws = np.random.default_rng(0)
    matrix, weights, scores = draws.normal(size=(1_000, 100)), draws.normal(size=100), draws.normal(size=20_000)
    with threadpool_limits(1):
        rounds, start = 0, time.process_time()
        while (spent := time.process_time() - start) < seconds:
            weights = _round(matrix, weights)
            np.sort(scores * weights[rounds % 100], kind="stable")
            rounds += 1
    return rounds / spent


def _round(matrix: "np.ndarray", weights: "np.ndarray") -> "np.ndarray":
    import numpy as np

    for _ in range(20):
        probabilities = 1 / (1 + np.exp(-(matrix @ weights)))
        weights = weights / np.linalg.norm(weights) - matrix.T @ probabilities / len(matrix)
    return weights
