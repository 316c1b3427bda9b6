"""Whether Slurm takes jobs as the profile would send them, asked before the first one is sent."""

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

COMMANDS = ("sbatch", "scancel")
PATIENCE = 10.0
"""Seconds that a command of Slurm may take to answer."""
LONGEST = 120
"""Minutes that the longest rule asks for."""


def partitions(file: object, named: str = "") -> dict[str, int]:
    """Return the partitions that jobs may go to, each with the minutes that one may ask for there.

    Args:
        file: the profile's file of partitions, if it has one.
        named: the partition of its default resources, if it names one; else Slurm chooses: "".
    """
    if not isinstance(file, str | Path) or not Path(file).is_file():
        return {named: LONGEST}
    content = yaml.safe_load(Path(file).read_text(encoding="utf-8")) or {}
    listed = content.get("partitions") if isinstance(content, Mapping) else None
    limits = listed if isinstance(listed, Mapping) else {}
    return {str(name): _minutes(limit) for name, limit in limits.items()} or {named: LONGEST}


def _minutes(limits: object) -> int:
    longest = limits.get("max_runtime") if isinstance(limits, Mapping) else None
    return min(LONGEST, longest) if isinstance(longest, int) else LONGEST


def faults(partitions: Mapping[str, int], account: str = "", commands: Iterable[str] = ()) -> list[str]:
    """Return a sentence on each command that is missing and each partition that refuses a job.

    Args:
        partitions: names, "" for Slurm's own choice, each with the minutes that a job would ask for.
        account: to which jobs are charged; "" for Slurm's own choice.
        commands: further commands that the workflow calls.
    """
    missing = [name for name in dict.fromkeys((*COMMANDS, *commands)) if shutil.which(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return [
            f"{', '.join(missing)} {verb} not on the PATH; start this where Slurm's commands are, as on a login node, "
            "or leave out the profile"
        ]
    return [fault for name, minutes in partitions.items() if (fault := _refusal(name, minutes, account))]


def _refusal(partition: str, minutes: int, account: str) -> str:
    """Return what Slurm says against a job in a partition; empty if it would take one."""
    command = ["sbatch", "--test-only", f"--time={minutes}", "--wrap=true"]
    command += [f"--partition={partition}"] * bool(partition) + [f"--account={account}"] * bool(account)
    where = f"partition {partition}" if partition else "Slurm"
    remedy = "correct partitions.yaml, account or time limit of the profile; docs/cluster.md says where"
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"{where}: `sbatch --test-only` gave no answer within {PATIENCE:.0f} seconds; is Slurm's controller up?"
    except OSError as error:
        return f"{where}: sbatch cannot be started ({error.strerror}); {remedy}"
    if answer.returncode == 0:
        return ""
    message = " ".join(" ".join((answer.stderr or answer.stdout).split()).split("sbatch: error: ")).strip()
    return f"{where} refuses a job of {minutes} minutes: {message or f'status {answer.returncode}'}; {remedy}"
