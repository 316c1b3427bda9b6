"""The verbs that start other programs: Snakemake, and the benchmarks of a checkout."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from partialfair.errors import ConfigError

BENCHMARKS = Path("tests/benchmarks/run.py")


def run_workflow(
    targets: Sequence[str], config: Path, cores: str = "all", dry_run: bool = False, profile: str | None = None
) -> int:
    """Run Snakemake in the current folder, its output as it comes.

    Args:
        targets: experiments, exhibits or files; none for all.
        config: the experiment grid.
        cores: a number, or ``"all"``.
        dry_run: only say what would run.
        profile: name of a folder of ``workflow/profiles``.

    Returns:
        Snakemake's exit status.

    Raises:
        ConfigError: there is no workflow here, no such profile, or ``cores`` is no number.
    """
    if not Path("Snakefile").is_file():
        raise ConfigError(f"{Path.cwd()}: no Snakefile; run this in a checkout of the project")
    if cores != "all" and not (cores.isdecimal() and int(cores) > 0):
        raise ConfigError(f"--cores is {cores!r}; give a number of cores, or all")
    command = [sys.executable, "-m", "snakemake", "--cores", cores, "--config", f"params={config}"]
    if dry_run:
        command.append("--dry-run")
    if profile is not None:
        folder = Path("workflow", "profiles", profile)
        if not (folder / "config.yaml").is_file():
            known = ", ".join(sorted(path.parent.name for path in folder.parent.glob("*/config.yaml")))
            raise ConfigError(f"--profile {profile!r}: no {folder}/config.yaml; choose from {known}")
        command += ["--workflow-profile", str(folder)]
    return subprocess.run([*command, "--", *(targets or ["all"])], check=False).returncode


def run_benchmarks() -> int:
    """Run the benchmarks of a checkout.

    Raises:
        ConfigError: they are not here.
    """
    if not BENCHMARKS.is_file():
        raise ConfigError(f"{Path.cwd()}: no {BENCHMARKS}; run this in a checkout of the project")
    return subprocess.run([sys.executable, str(BENCHMARKS)], check=False).returncode
