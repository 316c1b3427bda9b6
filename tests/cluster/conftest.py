"""A scratch project on the Slurm that ``make test-cluster`` brings up; without it these tests are not collected."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests.workflow.project import LIMIT, ROOT, TINY, Project, make_project, share_kernels

Result = TypeVar("Result")
SLURM = os.environ.get("PARTIALFAIR_SLURM")
SLURM_SH = Path(__file__).with_name("slurm.sh")
collect_ignore_glob = [] if SLURM else ["test_*.py"]

PARTITIONS = """
partitions:
  cpu: {max_runtime: 1440, max_mem_mb: 6000, max_threads: 2}
  gpu: {max_runtime: 1440, max_mem_mb: 6000, max_threads: 2, max_gpu: 1}
"""
GATES = (0, 1, 2)  # seeds
ALGORITHMS = {"alm": [0.2], "gated": ["inf"]}


@dataclass(frozen=True)
class SlurmJob:
    """What Slurm says of a job."""

    fields: dict[str, str]

    def __getattr__(self, name: str) -> str:
        return self.fields[name]

    @property
    def seconds(self) -> tuple[float, float]:
        """Start and end; infinity if it has not ended."""
        start, end = (
            time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) if text != "Unknown" else float("inf")
            for text in (self.StartTime, self.EndTime)
        )
        return start, end


@dataclass(frozen=True)
class Cluster(Project):
    """A scratch project whose jobs go to Slurm.

    Attributes:
        started: the runs that were started.
    """

    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *arguments: str, module: str = "snakemake", profile: str = "slurm") -> subprocess.Popen[str]:
        """Start Snakemake with a shipped profile (or ``partialfair``) in the background."""
        options = ("--workflow-profile", f"workflow/profiles/{profile}") if module == "snakemake" else ()
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
        environment |= {"PYTHONPATH": "src"} if module == "partialfair" else {}
        self.log.touch()
        with self.log.open("a") as log:
            run = subprocess.Popen(
                [sys.executable, "-m", module, *options, *arguments],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self.started.append(run)
        return run

    def finish(self, run: subprocess.Popen[str], limit: float = LIMIT) -> int:
        """Wait for a run to end and return its exit status."""
        return wait_for(lambda: run.poll() is not None and [run.returncode], "the run to end", self.log, limit)[0]

    @property
    def log(self) -> Path:
        """What the runs have printed."""
        return self.folder / "output.log"

    def gate(self, seed: int) -> Path:
        """The gate of a seed, which is closed while this file exists."""
        return self.folder / f"gate/{seed}"

    def jobs(self, *parts: str) -> list[SlurmJob]:
        """Slurm jobs of this project whose comment has all the parts, oldest first."""
        lines = subprocess.run(["scontrol", "show", "job", "--oneliner"], capture_output=True, text=True).stdout
        listed = [SlurmJob(dict(re.findall(r"(\S+?)=(\S*)", line))) for line in lines.splitlines() if "JobId=" in line]
        mine = [job for job in listed if Path(job.WorkDir) == self.folder]
        return [job for job in mine if all(part in job.fields.get("Comment", "") for part in parts)]

    def training(self, seed: int) -> list[SlurmJob]:
        """The jobs that have tried to train the gated run of a seed."""
        return self.jobs("rule_train", f"gated_inf_{seed}")

    def at_the_gate(self, *others: int) -> int:
        """Wait until a gated run of no other seed runs, and return its seed."""

        def found() -> list[int]:
            return [seed for seed in GATES if seed not in others and self._stands(seed)]

        return wait_for(found, "a job to stand at its gate", self.log)[0]

    def _stands(self, seed: int) -> bool:
        """Whether the last job of a seed has said that it runs."""
        log = self.folder / f"logs/train/demo/simulated/gated/kappa=inf/seed={seed}.log"
        running = [job for job in self.training(seed) if job.JobState == "RUNNING"]
        fresh = running and log.exists() and log.stat().st_mtime >= running[-1].seconds[0]
        return bool(fresh) and "CUDA_VISIBLE_DEVICES" in log.read_text()


def wait_for(condition: Callable[[], Result], what: str, log: Path, limit: float = LIMIT) -> Result:
    """Ask until the answer is true."""
    deadline = time.monotonic() + limit
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit:.0f} s for {what}\n{log.read_text()[-6000:]}")
        time.sleep(0.3)
    return answer


def kill_node(node: str, job: str) -> None:
    """Kill all that runs on a node at once: the daemons of its job, its own, the job."""
    daemon = int((Path(str(SLURM)) / f"run/{node}.pid").read_text())
    steps = subprocess.run(["pgrep", "-f", rf"^slurmstepd: \[{job}\."], capture_output=True, text=True).stdout.split()
    assert steps
    for process in (daemon, *map(int, steps)):
        os.kill(process, signal.SIGKILL)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            if f"SLURM_JOB_ID={job}".encode() in environment:
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the demo, shrunk, and an algorithm that claims a GPU."""
    experiment = TINY["experiments"]["demo"] | {
        "runs": {"simulated": {"interval": [[0.1, 0.4]], "algorithms": ALGORITHMS}}
    }
    algorithms = {"alm": TINY["algorithms"]["alm"], "gated": {}}
    params = TINY | {
        "seeds": list(GATES),
        "device": "cuda",
        "algorithms": algorithms,
        "experiments": {"demo": experiment},
    }
    folder = tmp_path_factory.mktemp("cluster") / "template"
    project = make_project(folder)
    shutil.copy(ROOT / "tests/cluster/gated.py", folder / "src/partialfair/algorithms/gated.py")
    (folder / "workflow/profiles/slurm/partitions.yaml").write_text(PARTITIONS)
    project.write_params(params)
    return folder


@pytest.fixture(scope="session")
def local(template: Path) -> Project:
    """The project, run to its end on this machine."""
    folder = template.with_name("local")
    shutil.copytree(template, folder, symlinks=True)
    share_kernels(folder)
    project = Project(folder)
    project.snakemake("demo")
    return project


@pytest.fixture(scope="session")
def cluster(template: Path) -> Iterator[Cluster]:
    """The project for Slurm, with all gates closed; its runs and jobs are ended afterwards."""
    folder = template.with_name("cluster")
    shutil.copytree(template, folder, symlinks=True)
    share_kernels(folder)
    project = Cluster(folder)
    (folder / "gate").mkdir()
    for seed in GATES:
        project.gate(seed).touch()
    yield project
    for run in project.started:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
    subprocess.run(["scancel", "--user", "root"], check=False)
