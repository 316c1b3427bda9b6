"""What a person waits for beside the training: start of a command and of a job, dry run, a run with nothing to do,
verification, drawing. In processor seconds, children included, since other programs may run beside it.
"""

import math
import os
import resource
import subprocess
import sys
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


DRAW = """
import tempfile
from pathlib import Path
from partialfair.grid.config import load_config
from partialfair.jobs.report import render_exhibit
from partialfair.jobs.scorecard import write_all
config = load_config("params.yaml")
with tempfile.TemporaryDirectory() as folder:
    for name in config.params.exhibits:
        render_exhibit(config, name, Path(folder, name))
    write_all(config, folder)
print(len(config.params.exhibits))
"""
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all")


def run() -> list[Result]:
    """All of them; what needs results that are not here is not measured."""
    return [cli_start(), job_start(), dry_run(), noop_paper(), verification(), drawing()]


def cli_start() -> Result:
    """Start of the command line."""
    spent = [processor_seconds([sys.executable, "-m", "partialfair", "--version"])[0] for _ in range(6)]
    return result("cli_start_seconds", median(spent[1:]), "s", "<= 0.3", "partialfair --version; median of 5")


def job_start() -> Result:
    """From the start of a job's process to its first evaluation; for information."""
    command = [sys.executable, "-c", FIRST_STEP]
    spent = [processor_seconds(command)[0] for _ in range(6)]
    how = "a9a: start of the process to the first loss and gradient, table and split loaded; median of 5"
    return result("job_fixed_cost_seconds", median(spent[1:]), "s", None, how)


def dry_run() -> Result:
    """Everything would have to be made."""
    spent, _ = processor_seconds([*SNAKEMAKE, "-n", "--forceall", "all"])
    return result("dry_run_seconds", spent, "s", "<= 8", "snakemake -n --forceall on the whole grid of params.yaml")


def noop_paper() -> Result:
    """`make paper` where all results are up to date."""
    id_, target = "noop_paper_seconds", "<= 20"
    planned = subprocess.run([*SNAKEMAKE[:-2], "-n", "all"], cwd=ROOT, capture_output=True, text=True, check=True)
    if "Nothing to be done" not in planned.stdout + planned.stderr:
        return result(id_, math.nan, "s", target, "skipped: results of the whole grid are not here or not up to date")
    spent, _ = processor_seconds(["make", "paper"])
    return result(id_, spent, "s", target, "make paper, where all results are up to date")


def verification() -> Result:
    """`partialfair verify` of everything."""
    spent, done = processor_seconds([sys.executable, "-m", "partialfair", "verify", "--complete"], check=False)
    id_, target, told = "verify_seconds", "<= 60", done.stdout.strip().rpartition("\n")[2]
    if done.returncode:
        return result(id_, math.nan, "s", target, f"skipped, the results here are not whole: {told}")
    return result(id_, spent, "s", target, f"partialfair verify --complete: {told}")


def drawing() -> Result:
    """Every exhibit and the page, from the collected tables."""
    spent, done = processor_seconds([sys.executable, "-c", DRAW])
    how = f"{done.stdout.strip()} exhibits of all papers, scorecard and page, drawn from the collected tables"
    return result("draw_all_seconds", spent, "s", "<= 120", how)


def processor_seconds(command: list[str], check: bool = True) -> tuple[float, "subprocess.CompletedProcess[str]"]:
    """Processor seconds of a command with all that it starts, and what became of it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done
