"""Continue a run of the workflow that was killed, without two jobs ever writing the same file.

Snakemake that ends in order, Ctrl-C included, leaves nothing behind. If it is killed (SIGKILL, a power cut, a closed
login node), its lock stays and its jobs go on; a new run would submit them a second time. So the orphans go first:
those on a batch system are cancelled, those on this machine are waited for. What has not been seen to finish is made
anew.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from partialfair.data.files import read_json, write_json
from partialfair.errors import PartialFairError
from reproduction.jobs.orphaned_jobs import (
    PROCESSES,
    cancel_batch_jobs,
    cancel_slurm_jobs,
    command_line,
    is_alive,
    is_snakemake_here,
    wait_for_local_jobs,
)

RECORD = Path(".snakemake/partialfair-run.json")
LOCKS = Path(".snakemake/locks")
THEN = "PARTIALFAIR_THEN"
"""Environment variable: as JSON, the arguments of the Snakemake that is to follow the one that is started with it."""


def record_run(arguments: Sequence[str]) -> None:
    """Note who runs the workflow in this folder, and how; called by the Snakefile when a run begins.

    Args:
        arguments: the command line of Snakemake, without its name.
    """
    then = json.loads(os.environ.get(THEN, "null"))
    write_json(RECORD, {"host": platform.node(), "pid": os.getpid(), "arguments": list(arguments), "then": then})


def read_record() -> dict[str, Any] | None:
    """Return what :func:`record_run` noted last in this folder; ``None`` if it never did.

    Raises:
        PartialFairError: the record cannot be read.
    """
    try:
        record = read_json(RECORD)
        return {key: record[key] for key in ("host", "pid", "arguments")} | {"then": record.get("then")}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise PartialFairError(
            f"{RECORD}: not what a run of the workflow writes, as after a power cut; delete it, unlock the folder with "
            "`snakemake --unlock`, and repeat the command of that run"
        ) from None


@contextmanager
def followed_by(arguments: Sequence[str]) -> Iterator[None]:
    """Have the run that is started in this block record what is to follow it: :func:`resume` goes on to that.

    Args:
        arguments: the command line of Snakemake, without its name.
    """
    os.environ[THEN] = json.dumps(list(arguments))
    try:
        yield
    finally:
        del os.environ[THEN]


def _run(command: Sequence[str]) -> int:
    return subprocess.run(command, check=False).returncode


def resume(
    extra: Sequence[str] = (),
    ended: bool = False,
    report: Callable[[str], None] = print,
    start: Callable[[Sequence[str]], int] = _run,
    alone: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> int:
    """Clear away what a killed run left in this folder, and repeat its command; return Snakemake's exit status.

    If the run was to be followed by another, as that of outdated tables is, so is this one.

    Args:
        extra: further arguments of Snakemake.
        ended: the caller knows that the recorded run and its jobs have ended, although it cannot be seen from here.
        report: receives one line of progress at a time.
        start: runs the command and returns its exit status.
        alone: keeps other runs away while the folder is unlocked and the command runs.

    Raises:
        PartialFairError: no run is recorded, it is still under way or may be, or its jobs cannot be cancelled.
    """
    record = read_record()
    if record is None:
        raise PartialFairError(
            f"{RECORD}: no run of the workflow is recorded in {Path.cwd()}; start `snakemake` itself"
        )
    if not ended:
        _refuse_if_running(record["host"], record["pid"])
        cancel_slurm_jobs(report)
        cancel_batch_jobs(record["arguments"], RECORD.stat().st_mtime, report)
    wait_for_local_jobs(report)
    command = _with_options(record["arguments"], extra)
    with alone():
        if LOCKS.exists() and any(LOCKS.iterdir()):
            report("removing the lock of the killed run")
            unlocking = _with_options(record["arguments"], [*extra, "--unlock"])
            if status := _run(unlocking):
                raise PartialFairError(f"`{' '.join(unlocking[2:])}` failed with status {status}; {LOCKS} is as it was")
        report(f"snakemake {' '.join(command[3:])}")
        if record["then"] is None:
            return start(command)
        with followed_by(record["then"]):
            status = start(command)
        then = _with_options(record["then"], extra)
        if not status:
            report(f"snakemake {' '.join(then[3:])}")
        return status or start(then)


def _with_options(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Snakemake's command with further options, which stand before ``--``, since what follows it is a target."""
    targets = arguments.index("--") if "--" in arguments else len(arguments)
    return [sys.executable, "-m", "snakemake", *arguments[:targets], *options, *arguments[targets:]]


def stopping(pid: int) -> str:
    """How to have a Snakemake that still runs end: it may have lost its terminal."""
    return (
        f"wait for it, or stop it: Ctrl-C in its terminal, `kill {pid}` to let running jobs finish, "
        f"`kill -INT {pid}` to end them"
    )


def _refuse_if_running(host: str, pid: int) -> None:
    """Raise an error if the recorded run or a job of it goes on here, or may do so where it cannot be seen."""
    if host != platform.node():
        raise PartialFairError(
            f"the last run here was started on {host} as process {pid}, which cannot be seen from {platform.node()}; "
            "resume there, or with --ended if it and its jobs have ended"
        )
    if pid != os.getpid() and is_alive(pid):
        command = command_line(pid)
        if command is None:
            raise PartialFairError(
                f"the last run here was process {pid}, a process of this number is alive, and its command cannot be "
                f"read; look with `ps -p {pid}`, and resume with --ended if it is no Snakemake and no job is left"
            )
        if is_snakemake_here(pid):
            raise PartialFairError(f"Snakemake still runs here as process {pid}; {stopping(pid)}")
    if command_line(os.getpid()) is None:
        raise PartialFairError(
            f"the run of process {pid} has ended, but its jobs cannot be seen, because this system has no {PROCESSES}; "
            "look with `ps -ax | grep partialfair`, and resume with --ended if none is left"
        )
