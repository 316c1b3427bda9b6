"""Parts of what the workflow costs: start of a training job, and dry run of the shipped grid. For information."""

import os
import subprocess
import sys
import time
from statistics import median

from tests.benchmarks.common import ROOT, Result, result

FIRST_STEP = """
import time
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.problem import linear_problem
from partialfair.grid.config import job_settings, load_config
from partialfair.tables.dataset import Dataset, Split
import partialfair.jobs.train
config = load_config("params.yaml")
settings = job_settings(config, config.job("psp", "a9a", "idca", "0.1", 0))
data, split = Dataset.load("data/processed/a9a/table.npz"), Split.load("data/processed/a9a/splits/seed=0.npz")
task = Task(data.take(split.train), data.take(split.validation), settings["constraint"], settings["interval"], 0.1)
problem = linear_problem(task)
problem.loss(problem.state(*problem.start()))
"""


def run() -> list[Result]:
    """Seconds from the start of a job's process to its first evaluation, and of ``snakemake -n`` on the grid."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
    subprocess.run([sys.executable, "-c", FIRST_STEP], cwd=ROOT, env=environment, check=True)
    starts = [_wall([sys.executable, "-c", FIRST_STEP], environment) for _ in range(5)]
    dry = _wall([sys.executable, "-m", "snakemake", "-n", "--quiet", "all", "--forceall", "all"], environment)
    return [
        result(
            "job_fixed_cost_seconds", median(starts), "s", None,
            "a9a: start of the process to the first loss and gradient, table and split loaded; median of 5",
        ),
        result("dry_run_grid_seconds", dry, "s", None, "snakemake -n --forceall on the whole grid of params.yaml"),
    ]  # fmt: skip


def _wall(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start
