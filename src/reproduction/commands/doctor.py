"""Checks of an installation: what is there, what is missing, and what to do about it.

A check that fails makes the exit status 1; one that warns concerns a part that can be done without.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Literal

from partialfair.errors import PartialFairError
from partialfair.kernels import processor
from reproduction.commands import slurm
from reproduction.grid import machine

if TYPE_CHECKING:
    from reproduction.grid.config import Config

State = Literal["ok", "warning", "missing"]

NEEDED_DISK = 2 << 30  # bytes: the paper's runs take some hundred MB, an environment more
IMPORTED = (
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "numba",
    "sklearn",
    "threadpoolctl",
    "pydantic",
    "yaml",
    "typer",
    "matplotlib",
    "jinja2",
)
WORKFLOW = ("snakemake", "dvc")
PRODUCT = "import numpy as np; a = np.ones((2000, 101)); a.T @ a"
"""A product of matrices on which OpenBLAS 0.3.34 ends the process if told to compute as on a Haswell."""


@dataclass(frozen=True)
class Check:
    """What one check found.

    Attributes:
        name: what was checked.
        state: ``ok``, ``warning`` (something optional) or ``missing``.
        finding: what is there.
        remedy: what to do, empty if nothing.
    """

    name: str
    state: State
    finding: str
    remedy: str = ""


def examine(project: str | Path = ".", params: str | Path = "params.yaml") -> list[Check]:
    """Run all checks.

    Args:
        project: folder of the checkout, or any folder for an installed package.
        params: the experiment grid, relative to the project.
    """
    root = Path(project)
    checks = [*_python(), *_packages(), *_lock(root / "requirements.lock"), *_workflow(root)]
    grid = _read(root / params)
    config = None if isinstance(grid, Check) else grid
    checks.append(grid if isinstance(grid, Check) else _counted(grid))
    return [*checks, *_data(root, config), *_linear_algebra(), *_kernels(), *_gpu(config), *_disk(root)]


def failed(checks: list[Check]) -> bool:
    """Tell whether something is missing that cannot be done without."""
    return any(check.state == "missing" for check in checks)


def _python() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield Check("Python", "ok" if good else "missing", f"{version}, {sys.executable}", "" if good else _PYTHON)


_PYTHON = "install Python 3.11, 3.12 or 3.13 and run `make clean demo`"


def _packages() -> Iterator[Check]:
    broken = []
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a damaged package raises
            broken.append(f"{name} ({error})")
    if broken:
        yield Check(
            "packages", "missing", f"cannot be imported: {', '.join(broken)}", "delete .venv and run `make demo`"
        )
    else:
        yield Check("packages", "ok", f"{len(IMPORTED)} import")


def _lock(lock: Path) -> Iterator[Check]:
    if not lock.is_file():
        yield Check("versions", "warning", f"no {lock.name} here to compare with", "run this in a checkout")
        return
    pins = dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    installed = {
        _canonical(distribution.name): distribution.version
        for distribution in metadata.distributions()
        if distribution.name
    }
    mismatched = [
        f"{name} {installed[name]} (lock: {pin})"
        for name, pin in sorted(pins.items())
        if name in installed and installed[name] != pin
    ]
    absent = sorted(name for name in pins if name not in installed)
    state: State = "warning" if mismatched or absent else "ok"
    findings = [f"{len(pins) - len(mismatched) - len(absent)} of {len(pins)} as in the lock"]
    findings += [f"other versions: {', '.join(mismatched[:5])}"] if mismatched else []
    findings += [f"not installed: {', '.join(absent[:5])}"] if absent else []
    yield Check(
        "versions",
        state,
        "; ".join(findings),
        "" if state == "ok" else "run `make test` or `make demo`, which install it",
    )


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _workflow(root: Path) -> Iterator[Check]:
    for name in WORKFLOW:
        try:
            yield Check(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Check(
                name,
                "warning",
                "not installed",
                "pip install 'partialfair-reproduction[workflow]', or `make demo` in a checkout",
            )
    profiles = sorted(path.parent.name for path in (root / "workflow" / "profiles").glob("*/config.yaml"))
    if not (root / "Snakefile").is_file():
        yield Check(
            "workflow", "warning", f"no Snakefile in {root.resolve()}", "run this in a checkout to use the workflow"
        )
    elif "default" not in profiles:
        yield Check("workflow", "missing", "no default profile", "restore workflow/profiles from the repository")
    else:
        yield Check("workflow", "ok", f"profiles {', '.join(profiles)}")
        yield from _machine()
        yield from _cluster(root / "workflow" / "profiles" / "slurm" / "partitions.yaml")


def _machine() -> Iterator[Check]:
    """Say what jobs may use here together."""
    limits = machine.machine_limits("auto")
    gpus = "one job at a time on the GPU" if "gpu" in limits else "no GPU"
    yield Check("limits", "ok", f"{machine.core_limit()} cores, {limits['mem_mb']:,} MB of memory, {gpus}")
    if profile := os.environ.get("SNAKEMAKE_PROFILE"):
        yield Check("SNAKEMAKE_PROFILE", "ok", f"{profile} counts in every run; one with an executor is refused")


def _cluster(partitions: Path) -> Iterator[Check]:
    """Check the profile for Slurm where Slurm is: its commands, and its partitions by a job that is not sent."""
    if shutil.which("sbatch") is None:
        yield Check("Slurm", "ok", "not here, so that the profile slurm cannot be used")
        return
    faults = slurm.faults(slurm.partitions(partitions))
    for fault in faults:
        yield Check("Slurm", "warning", fault, "edit workflow/profiles/slurm; see docs/cluster.md")
    if not faults:
        yield Check("Slurm", "ok", "takes jobs in every partition of the profile slurm")


def _read(params: Path) -> "Config | Check":
    """The grid, or what is wrong with it."""
    from reproduction.grid.config import load_config

    if not params.is_file():
        return Check("grid", "warning", f"no {params.name}", "run this in a checkout, or name the grid with --config")
    try:
        return load_config(params)
    except PartialFairError as error:
        return Check("grid", "missing", str(error), "correct that entry")


def _counted(config: "Config") -> Check:
    return Check("grid", "ok", f"{len(config.experiments)} experiments, {len(config.jobs())} jobs")


def _data(root: Path, config: "Config | None") -> Iterator[Check]:
    """Check the raw files of the datasets that the grid uses: there, and with the right bytes."""
    from reproduction.jobs.prepare import verify

    if config is None:
        return  # said by the check of the grid
    absent: list[str] = []
    verified: list[str] = []
    without: list[str] = []
    for name in config.datasets:
        try:
            (verified if verify([name], root / "data" / "raw", config.params.datasets) else without).append(name)
        except PartialFairError as error:
            lines = str(error).splitlines()
            if all("raw file missing" in line for line in lines):
                absent.append(name)
            else:
                yield Check(f"data {name}", "missing", lines[0], "follow that advice, then fetch again")
    if verified or without:
        yield Check("data", "ok", f"{len(verified)} datasets verified, {len(without)} need no raw file")
    if absent:
        text = f"no raw files of {', '.join(absent)}; only their experiments need them"
        yield Check("data", "warning", text, f"partialfair data fetch {' '.join(absent)}")
    for folder in filter(None, os.environ.get("PARTIALFAIR_DATA_MIRROR", "").split(os.pathsep)):
        if not Path(folder).is_dir():
            yield Check("mirror", "missing", f"{folder} is no folder", "correct or unset PARTIALFAIR_DATA_MIRROR")


def _linear_algebra(program: str = PRODUCT) -> Iterator[Check]:
    """Check that NumPy survives the settings of every command; in a process of its own, which may crash."""
    with TemporaryFile() as output:
        ended = subprocess.run([sys.executable, "-c", program], stdout=output, stderr=output, check=False).returncode
    if ended == 0:
        yield Check("linear algebra", "ok", f"NumPy {metadata.version('numpy')}")
        return
    chosen = ", ".join(f"{name}={os.environ[name]}" for name in processor.SETTINGS if name in os.environ)
    yield Check(
        "linear algebra",
        "missing",
        f"NumPy {metadata.version('numpy')} ends with status {ended} in a product of matrices, under {chosen}",
        "install one with another OpenBLAS than 0.3.34: pip install 'numpy>=2.4,<2.5.2'",
    )


def _kernels() -> Iterator[Check]:
    """Check that a small fit works, which needs the compiled kernels."""
    try:
        import numpy as np

        from partialfair.estimators import PartialFairClassifier
        from reproduction.datasets import simulated

        data = simulated.load(rows=500)
        model = PartialFairClassifier(interval=[(0.1, 0.4)], kappa=0.3)
        model.fit(data.X, data.y, sensitive_features=data.group)
        if not np.isfinite(model.decision_function(data.X, sensitive_features=data.group)).all():
            raise ArithmeticError("scores are not finite")
    except Exception as error:  # whatever a damaged installation raises
        yield Check(
            "a small fit",
            "missing",
            f"{type(error).__name__}: {error}",
            "delete .cache/numba and .venv, run `make demo`",
        )
        return
    yield Check("a small fit", "ok", model.status_)


def _gpu(config: "Config | None") -> Iterator[Check]:
    """Check PyTorch, which only jobs on a GPU and the comparison with peers use."""
    required = config is not None and config.params.device == "cuda"
    remedy = "`make torch`, or `make torch GPU=1` for CUDA"
    try:
        torch: Any = importlib.import_module("torch")
    except Exception as error:
        state: State = "missing" if required else "warning"
        reason = "not installed" if isinstance(error, ModuleNotFoundError) else f"cannot be imported ({error})"
        yield Check("PyTorch", state, f"{reason}; only networks, jobs on a GPU and the extra peers need it", remedy)
        return
    if torch.cuda.is_available():
        yield Check("PyTorch", "ok", f"{torch.__version__}, GPU {torch.cuda.get_device_name(0)}")
    elif required:
        yield Check(
            "PyTorch", "missing", f"{torch.__version__}, no GPU, but params.yaml says device: cuda", "set device: auto"
        )
    else:
        yield Check("PyTorch", "ok", f"{torch.__version__}, no GPU")


def _disk(root: Path) -> Iterator[Check]:
    free = shutil.disk_usage(root).free
    good = free >= NEEDED_DISK
    remedy = "" if good else f"free some: {NEEDED_DISK >> 30} GiB are enough for the paper's runs"
    yield Check("disk", "ok" if good else "missing", f"{free / 2**30:.1f} GiB free", remedy)
    if not os.access(root, os.W_OK):
        yield Check("folder", "missing", f"{root.resolve()} cannot be written", "run this in a folder of your own")
