"""What a person waits for beside the training: start of a command and of a job, dry run, a run with nothing to do,
verification, drawing. In wall seconds, on as many cores as the command takes by itself: run it on an idle machine. The
processor seconds, children included, stand beside them.
"""

import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.common import ROOT, Result, result

FIRST_STEP = """
import time
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.problem import linear_problem
from reproduction.grid.config import job_settings, load_config
from partialfair.data.dataset import Dataset, Split
import reproduction.jobs.train
config = load_config("params.yaml")
settings = job_settings(config, config.job("psp", "a9a", "idca", "0.1", 0))
data, split = Dataset.load("data/processed/a9a/table.npz"), Split.load("data/processed/a9a/splits/seed=0.npz")
task = Task(data.take(split.train), data.take(split.validation), settings["constraint"], settings["interval"], 0.1)
problem = linear_problem(task)
problem.loss(problem.state(*problem.start()))
"""


# As the workflow draws them: forks of a process that has imported everything, one for each core.
DRAW = """
import multiprocessing
import tempfile
from functools import partial
from pathlib import Path
import reproduction.commands.warm
import reproduction.jobs.report
from reproduction.grid.config import load_config
from reproduction.jobs.report import render_exhibit
from reproduction.jobs.scorecard import write_all

def draw(folder, name):
    render_exhibit(config, name, Path(folder, name))

config = load_config("params.yaml")
with tempfile.TemporaryDirectory() as folder:
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        pool.map(partial(draw, folder), config.params.exhibits, chunksize=1)
    write_all(config, folder)
print(len(config.params.exhibits))
"""
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all")


def run() -> list[Result]:
    """All of them; what needs results that are not here is not measured."""
    return [cli_start(), job_start(), dry_run(), verification(), drawing()]


def cli_start() -> Result:
    """Start of the command line."""
    spent = [timed([sys.executable, "-m", "partialfair", "--version"]).wall for _ in range(6)]
    return result("cli_start_seconds", median(spent[1:]), "s", "<= 0.3", "partialfair --version; median of 5")


def job_start() -> Result:
    """From the start of a job's process to its first evaluation; for information."""
    command = [sys.executable, "-c", FIRST_STEP]
    spent = [timed(command).wall for _ in range(6)]
    how = "a9a: start of the process to the first loss and gradient, table and split loaded; median of 5"
    return result("job_fixed_cost_seconds", median(spent[1:]), "s", None, how)


def dry_run() -> Result:
    """Everything would have to be made."""
    spent = timed([*SNAKEMAKE, "-n", "--forceall", "all"])
    return spent.result("dry_run_seconds", "<= 8", "snakemake -n --forceall on the whole grid of params.yaml")


def verification() -> Result:
    """`partialfair verify` of everything."""
    spent = timed([sys.executable, "-m", "partialfair", "verify", "--complete"], check=False)
    id_, target, told = "verify_seconds", "<= 60", spent.printed.strip().rpartition("\n")[2]
    if spent.status:
        return result(id_, math.nan, "s", target, f"skipped, the results here are not whole: {told}")
    return spent.result(id_, target, f"partialfair verify --complete: {told}")


def drawing() -> Result:
    """Every exhibit and the page, from the collected tables."""
    spent = timed([sys.executable, "-c", DRAW])
    how = f"{spent.printed.strip()} exhibits of all papers, scorecard and page, drawn from the collected tables"
    return spent.result("draw_all_seconds", "<= 120", how)


@dataclass(frozen=True)
class Spent:
    """What a command took, processor seconds with those of its children, and what it printed."""

    wall: float
    processor: float
    status: int
    printed: str

    def result(self, id_: str, target: str, how: str) -> Result:
        """The wall time as a result."""
        cores = len(os.sched_getaffinity(0))
        return result(id_, self.wall, "s", target, f"{how}; {cores} cores, {self.processor:.1f} processor seconds")


def timed(command: list[str], check: bool = True) -> Spent:
    """Run a command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(wall, processor, done.returncode, done.stdout)
