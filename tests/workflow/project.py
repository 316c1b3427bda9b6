"""A scratch copy of the project with a tiny grid, and what Snakemake says of it."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numba
import yaml

from partialfair.kernels import compiled

ROOT = Path(__file__).parents[2]
COPIED = (
    "Snakefile",
    "workflow",
    "src",
    "profiles",
    "papers",
    "dvc.yaml",
    ".dvcignore",
    ".gitignore",
    "requirements.lock",
)
# Seconds for one command; a busy machine needs many times what an idle one does.
LIMIT = float(os.environ.get("PARTIALFAIR_TEST_LIMIT", "900"))

TINY: dict[str, Any] = {
    "seeds": [0, 1],
    "device": "cpu",
    "threads": 1,
    "bootstrap": {"replicates": 20, "level": 0.9},
    "datasets": {"simulated": {"rows": 600}},
    "algorithms": {
        "unconstrained": {},
        "idca": {"inner_steps": [20], "tolerances": [0.005], "tuning_rounds": 1, "rounds": [2]},
        "alm": {"tolerance": 0.001},
    },
    "experiments": {
        "demo": {
            "title": "Tiny",
            "paper": "partial_fairness",
            "constraint": "partial_statistical_parity",
            "grid": 4,
            "kappa_scale": "absolute",
            "runs": {
                "simulated": {
                    "interval": [[0.1, 0.4]],
                    "algorithms": {"unconstrained": ["inf"], "idca": [0.2], "alm": [0.2]},
                }
            },
        }
    },
    "exhibits": {
        "tradeoff": {
            "kind": "scatter",
            "title": "Trade-off",
            "experiments": ["demo"],
            "caption": "Trade-off with rank_gap, |differences| and stars*",
        }
    },
}


@dataclass(frozen=True)
class Project:
    """A folder with the workflow in it."""

    folder: Path

    def write_params(self, content: dict[str, Any]) -> None:
        """Replace params.yaml."""
        (self.folder / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """The environment of the tests without the project's own variables, with their interpreter first."""
        mine = ("PYTHONPATH", "PARTIALFAIR_PARAMS", "NUMBA_CACHE_DIR", "COV_CORE_SOURCE")
        environment = {key: value for key, value in os.environ.items() if key not in mine}
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
        return environment | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "DVC_NO_ANALYTICS": "1"}

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command in the folder as the leader of a process group of its own; its output is one stream."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder to its end."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=LIMIT, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return done

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `make` of this checkout with the environment of these tests in place of one of its own."""
        shutil.copy(ROOT / "Makefile", self.folder)
        environment = Path(sys.executable).parents[1]
        there = [word for name in (".ready", ".torch") for word in ("-o", f"{environment}/{name}")]
        return self.run("make", f"VENV={environment}", *there, *arguments, check=False)

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run Snakemake on two cores."""
        return self.run(sys.executable, "-m", "snakemake", "--cores", "2", *arguments, check=check)

    def planned(self, *targets: str) -> Counter[str]:
        """Return how often each rule that makes something would run."""
        done = self.snakemake("--dry-run", *(targets or ("all",)))
        table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", done.stdout + done.stderr, re.MULTILINE | re.DOTALL)
        rows = [line.split() for line in table.group(1).splitlines()] if table else []
        return Counter({rule: int(count) for rule, count in rows if rule not in (*targets, "all")})

    def planned_training(self) -> set[str]:
        """Return the run folders that would be trained anew, without ``data/runs/demo/simulated/``."""
        done = self.snakemake("--dry-run", "all")
        blocks = re.findall(r"^rule train:\n(?:    .*\n)+", done.stdout + done.stderr, re.MULTILINE)
        return {re.search(r"output: data/runs/demo/simulated/(\S+)/model\.npz", block).group(1) for block in blocks}  # type: ignore[union-attr]


def make_project(folder: Path, params: dict[str, Any] = TINY) -> Project:
    """Copy what the workflow consists of into ``folder``, with the grid ``params``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    share_kernels(folder)
    project = Project(folder)
    project.write_params(params)
    return project


def share_kernels(folder: Path) -> None:
    """Give a copy of the project the byte code and compiled kernels of this checkout, so that it need not compile.

    Python and Numba use them if the time and size of the source are the same; Numba files them by its folder.
    """
    _compile_commonest()
    cache = compiled.CACHE  # of the present sources
    for source in {path.parent for path in (ROOT / "src").rglob("*.py")}:
        copied = folder / source.relative_to(ROOT)
        if not copied.is_dir():
            continue
        for module in source.glob("*.py"):
            twin = copied / module.name
            if twin.exists() and twin.read_bytes() == module.read_bytes():  # a clone has times of its own
                os.utime(twin, ns=(module.stat().st_atime_ns, module.stat().st_mtime_ns))
        if (source / "__pycache__").is_dir():
            written_now = shutil.ignore_patterns("*.pyc.*")
            shutil.copytree(source / "__pycache__", copied / "__pycache__", ignore=written_now, dirs_exist_ok=True)
        objects = cache / _numba_name(source)
        if objects.is_dir():
            kernels = folder / ".cache" / "numba" / cache.name / _numba_name(copied)
            shutil.copytree(objects, kernels, dirs_exist_ok=True)
    shutil.copy(_rehearsed(cache), folder / ".cache" / "numba" / cache.name)


@cache
def _compile_commonest() -> None:
    """Compile what most runs call, unless this checkout has it: once, and not again for every copy of the project."""
    compiled.CACHE.mkdir(parents=True, exist_ok=True)
    with (compiled.CACHE / "claimed").open("w") as claimed:
        fcntl.flock(claimed, fcntl.LOCK_EX)  # other workers wait
        # The mark may have come with a cache of another folder, whose kernels are none of this one.
        folder = compiled.CACHE / _numba_name(ROOT / "src" / "partialfair" / "models")
        if _rehearsed(compiled.CACHE).exists() and any(folder.glob("*.nbc")):
            return
        subprocess.run(
            [sys.executable, "-c", "from reproduction.commands.warm import rehearse; rehearse()"],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(compiled.CACHE.parent)},
            check=True,
            timeout=LIMIT,
        )


def _rehearsed(cache: Path) -> Path:
    """The file by which a warm process knows that the kernels are there."""
    return cache / f"rehearsed-{numba.__version__}"


def _numba_name(source: Path) -> str:
    return f"{source.name}_{hashlib.sha1(str(source).encode()).hexdigest()}"


def edit(path: Path, old: str, new: str) -> None:
    """Replace the one occurrence of ``old`` in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")
