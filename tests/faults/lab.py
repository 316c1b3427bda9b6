"""A small real workflow in a folder of its own, run by the source of this checkout.

The compiled kernels are those of the checkout too, so that a run takes seconds of processor time.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import partialfair

ROOT = Path(__file__).parents[2]
SOURCE = Path(partialfair.__file__).parents[1]
"""The source that is tested; not that of this checkout where a deliberate fault was put into a copy."""
LIMIT = 1500.0  # seconds for one command; a busy machine needs many times what an idle one does
KILLS = int(os.environ.get("PARTIALFAIR_KILLS", "2"))
KERNELS = Path(os.environ.get("NUMBA_CACHE_DIR", ROOT / ".cache" / "numba")).absolute()

RUN = "data/runs/demo/loans/alm/kappa=0.2/seed=0"
TABLE = "data/processed/loans/table.npz"
SPLIT = "data/processed/loans/splits/seed=0.npz"
RAW = "loans.csv"
JOB = ("--experiment", "demo", "--dataset", "loans", "--algorithm", "alm", "--kappa", "0.2", "--seed", "0")


def loans(rows: int = 400) -> str:
    """A drawn table of two groups as CSV."""
    rng = np.random.default_rng(7)
    sex, job = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    income, debt = rng.normal(sex * 0.5, 1.0), rng.normal(0, 1, rows)
    paid = rng.random(rows) < 1 / (1 + np.exp(-(income - debt + 0.3 * job)))
    lines = [
        f"{i},{income[i]:.4f},{debt[i]:.4f},{'abc'[job[i]]},{'fm'[sex[i]]},{'yes' if paid[i] else 'no'}"
        for i in range(rows)
    ]
    return "\n".join(["id,income,debt,job,sex,paid", *lines]) + "\n"


def params(text: str = "") -> dict[str, Any]:
    """A grid of two runs on that table, with one exhibit."""
    entry = {"module": "csv_table", "file": RAW, "label": "paid", "positive": "yes", "groups": "sex", "drop": ["id"]}
    return {
        "seeds": [0],
        "device": "cpu",
        "threads": 1,
        "bootstrap": {"replicates": 20, "level": 0.9},
        "datasets": {"loans": {**entry, "sha256": hashlib.sha256((text or loans()).encode()).hexdigest()}},
        "algorithms": {"unconstrained": {}, "alm": {"tolerance": 0.001}},
        "experiments": {
            "demo": {
                "title": "Loans",
                "paper": "partial_fairness",
                "constraint": "partial_statistical_parity",
                "grid": 4,
                "kappa_scale": "absolute",
                "runs": {
                    "loans": {"interval": [[0.1, 0.4]], "algorithms": {"unconstrained": ["inf"], "alm": [0.2]}},
                },
            }
        },
        "exhibits": {"tradeoff": {"kind": "scatter", "title": "Trade-off", "experiments": ["demo"]}},
    }


@dataclass(frozen=True)
class Lab:
    """A folder in which the workflow runs."""

    folder: Path

    def write_params(self, content: dict[str, Any]) -> None:
        """Replace params.yaml."""
        (self.folder / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def path(self, name: str) -> Path:
        """A file of the folder."""
        return self.folder / name

    def environment(self, **changes: str) -> dict[str, str]:
        """The environment of a job: this source, these kernels, this interpreter first."""
        mine = ("PARTIALFAIR_PARAMS", "COV_CORE_SOURCE", "PARTIALFAIR_TRACEBACK")
        environment = {key: value for key, value in os.environ.items() if key not in mine}
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
        return environment | {"PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(KERNELS)} | changes

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command as the leader of a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; standard error is part of ``stdout``."""
        process = self.start(*command, **environment)
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        return subprocess.CompletedProcess(command, process.returncode, output)

    def cli(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a verb of the command line."""
        return self.run(sys.executable, "-m", "partialfair", *arguments, **environment)

    def train(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the constrained training job by itself."""
        return self.cli("train", *JOB, **environment)

    def workflow(self, *arguments: str) -> tuple[str, ...]:
        """The command that runs the workflow of this checkout here."""
        profile = str(ROOT / "workflow" / "profiles" / "default")
        fixed = ("-s", str(ROOT / "Snakefile"), "--workflow-profile", profile, "--cores", "2")
        return (sys.executable, "-m", "snakemake", *fixed, *(arguments or ("demo",)))

    def snakemake(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the workflow to its end."""
        return self.run(*self.workflow(*arguments), **environment)

    def results(self) -> dict[str, bytes]:
        """What two runs must have in common: models, scores, metrics and every file of the exhibits."""
        names = ("model.npz", "scores.parquet", "metrics.json", "table.npz", "seed=0.npz", "metrics.parquet")
        found = [path for name in names for path in self.folder.rglob(name)]
        found += [path for path in (self.folder / "reports").rglob("*.*") if path.suffix in (".csv", ".svg")]
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    def leftovers(self) -> list[str]:
        """Temporary files that no job owns any more."""
        return [path.relative_to(self.folder).as_posix() for path in self.folder.rglob(".*.partial*")]


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a command and everything it started, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def make_lab(folder: Path) -> Lab:
    """Write table, grid and lock file into a new folder."""
    folder.mkdir(parents=True)
    lab = Lab(folder)
    (folder / RAW).write_text(loans(), encoding="utf-8")
    lab.write_params(params())
    shutil.copy(ROOT / "requirements.lock", folder)
    return lab
