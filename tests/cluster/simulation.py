"""How long the whole grid takes on 1, 10, 100 and 1,000 nodes, simulated from the recorded times of its runs.

    python -m tests.cluster.simulation        # the table of docs/cluster.md

Each run is trained, then evaluated; an experiment is collected when all of its runs are. Snakemake hands out one job
after another, drawn at random from those that are ready, as ``scheduler-subsample`` does. Times are processor seconds
of ``reports/*/runs.parquet``; downloads, tables and exhibits are not in them.
"""

import heapq
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

CORES = 8
NODES = (1, 10, 100, 1000)
EVALUATE = 0.6
"""Seconds of an evaluation, as in reproduction.commands.forecast."""
COLLECT = 3.0
"""Seconds of collecting an experiment."""


@dataclass(frozen=True)
class Way:
    """A way to use a cluster, with measured seconds.

    Attributes:
        at_once: jobs that are in the queue at once at most.
        start: until a node's processes are ready to make jobs.
        dispatch: of Snakemake, for each job that it hands out.
        beside_training, beside_evaluation: that a job costs beside its own time.
    """

    name: str
    at_once: int
    start: float
    dispatch: float
    beside_training: float
    beside_evaluation: float


POOLS = Way("pools (`slurm-pools`)", 10**6, 11.0, 0.010, 0.07, 0.07)
"""Of tests/cluster/test_pools.py, and of 10,000 jobs of no duration (docs/running.md)."""
JOBS = Way("a Slurm job for each run (`slurm`)", 100, 0.0, 0.05, 20.0, 11.0)
"""Of tests/cluster/test_slurm.py; evaluations are in groups of 20: a twentieth of a Slurm job, and ten seconds each."""


def recorded(folder: Path = Path("reports")) -> list[tuple[str, float]]:
    """Experiment and processor seconds of each run."""
    found = []
    for path in sorted(folder.glob("*/runs.parquet")):
        table = parquet.read_table(path, columns=["experiment", "cpu_seconds"])
        found += zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return [(experiment, seconds or 0.0) for experiment, seconds in found]


def simulate(runs: Iterable[tuple[str, float]], cores: int, way: Way) -> tuple[float, float]:
    """Return the seconds until the last experiment is collected, and the share of processor time that jobs used."""
    draw = random.Random(0)
    ready = [("train", experiment, seconds + way.beside_training) for experiment, seconds in runs]
    used = sum(seconds for _, _, seconds in ready) - len(ready) * (way.beside_training - EVALUATE)
    left = Counter(experiment for _, experiment, _ in ready)
    free, now, running = min(cores, way.at_once), way.start, list[tuple[float, str, str]]()
    while ready or running:
        while ready and free:
            place = draw.randrange(len(ready))
            ready[place], ready[-1] = ready[-1], ready[place]
            step, experiment, seconds = ready.pop()
            now += way.dispatch
            free -= 1
            heapq.heappush(running, (now + seconds, step, experiment))
        end, step, experiment = heapq.heappop(running)
        now, free = max(now, end), free + 1
        if step == "train":
            ready.append(("evaluate", experiment, EVALUATE + way.beside_evaluation))
        elif step == "evaluate":
            left[experiment] -= 1
            if not left[experiment]:
                ready.append(("collect", experiment, COLLECT))
    return now, used / (cores * now)


def said(seconds: float) -> str:
    """Return hours and minutes."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


def table(runs: list[tuple[str, float]]) -> list[str]:
    """Return the lines of the table."""
    lines = [f"| nodes of {CORES} processors | {JOBS.name} | {POOLS.name} | processors at work |", "|---|---|---|---|"]
    for nodes in NODES:
        (jobs, _), (pools, share) = (simulate(runs, nodes * CORES, way) for way in (JOBS, POOLS))
        lines.append(f"| {nodes:,} | {said(jobs)} | {said(pools)} | {100 * share:.0f}% |")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(table(recorded())) + "\n")
