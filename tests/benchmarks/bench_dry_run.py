"""What the workflow costs beyond its jobs' own work: per job, and for a dry run of 100 to 20,000 jobs.

Both run in a scratch copy of the project with generated grids on simulated data.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from reproduction.grid.config import load_config
from tests.benchmarks.bench_paper_grid import evaluation_seconds
from tests.benchmarks.common import ROOT, Result, exponent, result

KAPPAS = [0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2]
JOBS = (100, 1_000, 5_000, 20_000)
SEEDS = (2, 8)  # of the small and the large grid that are run


def grid(seeds: int, algorithms: dict[str, list[Any]], rows: int = 400) -> dict[str, Any]:
    """A grid of one experiment on simulated data."""
    return {
        "seeds": list(range(seeds)),
        "device": "cpu",
        "threads": 1,
        "bootstrap": {"replicates": 20, "level": 0.9},
        "datasets": {"simulated": {"rows": rows}},
        "algorithms": {name: {} for name in algorithms},
        "experiments": {
            "demo": {
                "title": "Many jobs",
                "paper": "partial_fairness",
                "constraint": "partial_statistical_parity",
                "kappa_scale": "absolute",
                "runs": {"simulated": {"interval": [[0.1, 0.4]], "algorithms": algorithms}},
            }
        },
        "exhibits": {},
    }


class Scratch:
    """A folder of its own in which this checkout's workflow runs, with its source and its compiled kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kernels = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
        self.environment = {**os.environ, "NUMBA_CACHE_DIR": kernels, "OMP_NUM_THREADS": "1"}
        for name in ("PYTHONPATH", "PARTIALFAIR_PARAMS"):
            self.environment.pop(name, None)

    def snakemake(self, content: dict[str, Any], *arguments: str) -> tuple[float, float]:
        """Wall and processor seconds of one command on a grid."""
        (self.folder / "params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        places = ["--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", str(ROOT / "workflow/profiles/default")]
        command = [sys.executable, "-m", "snakemake", "--quiet", "all", *places, *arguments]
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return time.perf_counter() - start, processor

    def evaluation(self) -> float:
        """Processor seconds of evaluating one of the runs in a process that has done so before."""
        config = load_config(self.folder / "params.yaml")
        job = config.jobs("demo")[0]
        return [evaluation_seconds(self.folder, config, job) for _ in range(2)][-1]

    def runs(self) -> list[dict[str, Any]]:
        """What every training run recorded."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("data/runs/**/fit.json"))]


def dry_runs(folder: Path) -> Result:
    """Seconds of ``snakemake -n`` by the number of jobs."""
    scratch = Scratch(folder)
    per_seed = 1 + 2 * len(KAPPAS)  # a split, and for every tolerance a training and an evaluation
    points, processor = [], 0.0
    for jobs in JOBS:
        seeds = -(-jobs // per_seed)
        spent, processor = scratch.snakemake(grid(seeds, {"alm": KAPPAS}), "-n", "--cores", "2", "evaluation")
        points.append((float(seeds * per_seed), spent))
    how = (
        f"snakemake -n on generated grids of {', '.join(f'{jobs:,.0f}' for jobs, _ in points)} jobs (splits, "
        f"trainings, "
        f"evaluations; nothing built): {', '.join(f'{spent:.1f}' for _, spent in points)} s of wall time, the last "
        f"{processor:.1f} s of processor time; slope of log time against log jobs {exponent(points[1:]):.2f} from "
        f"{points[1][0]:,.0f} on"
    )
    return result("dry_run_20000_seconds", points[-1][1], "s", "<= 40", how, points, "jobs")


def job_overhead(folder: Path) -> Result:
    """Wall seconds per job on one core, start of Snakemake excluded, less training and evaluating."""
    walls, processors, counts, own = [], [], [], []
    for seeds in SEEDS:
        (folder / str(seeds)).mkdir()
        scratch = Scratch(folder / str(seeds))
        wall, processor = scratch.snakemake(grid(seeds, {"unconstrained": ["inf"]}), "--cores", "1", "evaluation")
        walls.append(wall)
        processors.append(processor)
        counts.append(3 * seeds)
        own.append(sum(run["time"]["wall_seconds"] for run in scratch.runs()) + seeds * scratch.evaluation())
    more = counts[1] - counts[0]
    spent = ((walls[1] - walls[0]) - (own[1] - own[0])) / more
    how = (
        f"snakemake on one core, {counts[0]} and {counts[1]} jobs (split, training and evaluation of 400 simulated "
        f"rows): "
        f"{walls[0]:.1f} and {walls[1]:.1f} s of wall time, less {own[0]:.2f} and {own[1]:.2f} s of training and "
        f"evaluating; "
        f"their difference per job (all in all {(processors[1] - processors[0]) / more:.2f} s of processor time a "
        f"job): "
        "start of Python, imports, Snakemake's own work, reading and writing"
    )
    return result("job_overhead_seconds", spent, "s", "<= 0.3", how)


def run() -> list[Result]:
    """Both."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        return [job_overhead(Path(one)), dry_runs(Path(other))]
