"""Jobs that a killed run of the workflow left behind, on Slurm, on another batch system, or on this machine.

They have to go before the workflow is started again: it does not know them, and would start them a second time.
Snakemake's own means were tried on a real Slurm (tests/cluster/test_slurm.py): the jobs of a Snakemake that was killed
run on; it refuses to start before `--unlock`, and neither that nor `--rerun-incomplete` ends a job. `scancel --name`
with the name that it has printed is left to the user. Pools (profiles/slurm-pools) leave no job behind.
"""

import argparse
import getpass
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from partialfair.errors import PartialFairError

LOGS = Path(".snakemake/log")
PROCESSES = Path("/proc")
"""A folder per process, with its command line; macOS has none."""
RUN_ID = re.compile(r"SLURM run ID: (\S+)")
SUBMITTED = re.compile(r"^Submitted (?:job (\d+)|.*) with external jobid '([^'\n]+)'", re.MULTILINE)
FINISHED = re.compile(r"^Finished jobid: (\d+)", re.MULTILINE)
GENERIC = "cluster-generic"
KEYS = tuple(f"{GENERIC}-{what}-cmd" for what in ("status", "cancel"))
DEFAULTS = ("profiles/default", "workflow/profiles/default")
"""Where Snakemake looks for a profile of the workflow if none is named."""
VERBS = ("collect", "data", "evaluate", "manifest", "report", "scorecard", "train")
"""Verbs of the command line that jobs of the workflow use."""
PATIENCE = 120.0
"""Seconds that cancelled jobs may take to disappear from their queue."""

Say = Callable[[str], None]


def cancel_slurm_jobs(report: Say = print) -> None:
    """Cancel the Slurm jobs that runs in this folder have submitted, and wait until none is left.

    Raises:
        PartialFairError: Slurm's commands are missing or fail, or the jobs do not end.
    """
    if names := run_ids():
        _cancel("Slurm jobs", lambda: _queued(names), lambda jobs: _slurm("scancel", *jobs), report)


def cancel_batch_jobs(arguments: Sequence[str], since: float, report: Say = print) -> None:
    """Cancel the jobs of a run on another batch system by the commands of its profile, and wait until none is left.

    Args:
        arguments: the command line of Snakemake, which names the profile.
        since: seconds since 1970; jobs in older logs are not asked for.
        report: receives one line of progress at a time.

    Raises:
        PartialFairError: the profile cannot be read, its commands fail, or the jobs do not end.
    """
    running = sorted({name for text in _logs(since) for name in _unfinished(text)})
    if not running:
        return
    source, content = batch_commands(arguments)
    if not all(isinstance(content.get(key), str) for key in KEYS):
        raise PartialFairError(
            f"{source}: has no {' and '.join(KEYS)}, so the jobs of the killed run cannot be found; "
            "add them, or end the jobs and resume with --ended"
        )
    status, cancel = (content[key] for key in KEYS)

    def still_running() -> list[str]:
        """Those that ran when they were asked for last, and still do."""
        running[:] = [name for name in running if _shell(f"{status} '{name}'", source) == "running"]
        return list(running)

    _cancel("jobs", still_running, lambda jobs: _shell(f"{cancel} {' '.join(jobs)}", source), report)


def _unfinished(log: str) -> Iterator[str]:
    """Yield the names of the jobs that a log has seen submitted and not finished; of groups, all."""
    finished = {*FINISHED.findall(log)}
    yield from (name for job, name in SUBMITTED.findall(log) if job not in finished)


def wait_for_local_jobs(report: Say = print) -> None:
    """Wait for jobs on this machine that outlived their Snakemake."""
    announced: set[int] = set()
    while jobs := local_jobs():
        if set(jobs) - announced:
            report(f"waiting for jobs of the killed run, processes {' '.join(map(str, jobs))} (or end them: kill)")
            announced |= set(jobs)
        time.sleep(1.0)


def local_jobs() -> list[int]:
    """Processes on this machine that work in this folder on a job of the workflow; none where there is no /proc."""
    folder, processes = Path.cwd(), []
    for process in PROCESSES.glob("[0-9]*"):
        try:
            working = Path(os.readlink(process / "cwd")) == folder
        except OSError:  # it has ended, or belongs to another user
            continue
        if working and re.search(rf"-m\0partialfair\0(?:{'|'.join(VERBS)})\0", command_line(int(process.name)) or ""):
            processes.append(int(process.name))
    return sorted(processes)


def is_alive(pid: int) -> bool:
    """Tell whether there is a process of this number, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def is_snakemake_here(pid: int) -> bool:
    """Tell whether a process is a Snakemake in this folder, as far as can be seen."""
    if not is_alive(pid) or "snakemake" not in (command_line(pid) or ""):
        return False
    try:
        return Path(os.readlink(PROCESSES / str(pid) / "cwd")) == Path.cwd()
    except OSError:  # another user's: it may be
        return True


def command_line(pid: int) -> str | None:
    """The command line of a process, its parts separated by NUL; ``None`` if it cannot be read here or has ended."""
    try:
        return (PROCESSES / str(pid) / "cmdline").read_text(errors="replace")
    except OSError:
        return None


def run_ids() -> list[str]:
    """Return the names under which the runs of this folder have submitted Slurm jobs, from Snakemake's logs."""
    return sorted({name for text in _logs() for name in RUN_ID.findall(text)})


def batch_commands(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return where a command line of Snakemake has its batch system from, and the settings that it gives to it.

    Raises:
        PartialFairError: a profile that it names cannot be read any more.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", nargs="+", default=os.environ.get("SNAKEMAKE_PROFILE", "none").split())
    parser.add_argument("--workflow-profile")
    for key in KEYS:
        parser.add_argument(f"--{key}", dest=key)
    options = vars(parser.parse_known_args([*arguments])[0])
    named = [name for name in [*options["profile"], options["workflow_profile"]] if name not in (None, "none")]
    if options["workflow_profile"] is None:
        named += [name for name in DEFAULTS if Path(name).is_dir()][:1]
    source, content = "the command line of the killed run", dict[str, Any]()
    for name in named:
        profile = _profile(name)
        if any(key.startswith(GENERIC) for key in profile):
            source = name
        content |= profile
    return source, content | {key: options[key] for key in KEYS if options[key] is not None}


def _profile(name: str) -> dict[str, Any]:
    """Return what a profile says, which may stand in a folder of the user's."""
    from snakemake.cli import get_profile_dir

    try:
        profile = get_profile_dir(name)
        content = yaml.safe_load(Path(profile[1]).read_text(encoding="utf-8")) if profile else None
    except (OSError, yaml.YAMLError) as error:
        profile, content = None, error
    if not profile:
        why = f" ({content})" if content else ""
        raise PartialFairError(
            f"{name}: the profile of the killed run cannot be read{why}; restore it, or resume with --ended"
        )
    return content if isinstance(content, dict) else {}


def _logs(since: float = 0.0) -> Iterator[str]:
    """Yield what the runs of this folder have logged."""
    for log in sorted(LOGS.glob("*.log")):
        if log.stat().st_mtime >= since:
            yield log.read_text(errors="replace")


def _cancel(kind: str, unfinished: Callable[[], list[str]], end: Callable[[list[str]], object], report: Say) -> None:
    """End the jobs that are left, and wait until there are none."""
    if not (jobs := unfinished()):
        return
    report(f"cancelling {len(jobs)} {kind} of the killed run: {' '.join(jobs)}")
    end(jobs)
    deadline = time.monotonic() + PATIENCE
    while jobs := unfinished():
        if time.monotonic() > deadline:
            raise PartialFairError(f"{kind} {' '.join(jobs)} do not end; try again when the queue lists them no more")
        time.sleep(1.0)


def _queued(names: Sequence[str]) -> list[str]:
    """Return the jobs of the user with these names that are pending, running or completing."""
    listed = _slurm("squeue", "--noheader", f"--user={getpass.getuser()}", f"--name={','.join(names)}", "--format=%i")
    return sorted(set(listed.split()))


def _slurm(*command: str) -> str:
    """Return what a Slurm command prints."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except FileNotFoundError:
        raise PartialFairError(
            f"earlier runs here submitted Slurm jobs, and {command[0]} is not on the PATH of {platform.node()}; "
            "resume on a login node, or with --ended if none of them is left"
        ) from None
    except subprocess.SubprocessError as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip()
        raise PartialFairError(f"{command[0]}: {reason}; resume when Slurm answers") from None


def _shell(command: str, source: str) -> str:
    """Return what a command of a profile prints; a shell reads it, as Snakemake has it read."""
    try:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=60)  # noqa: S602
    except subprocess.SubprocessError as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip()
        raise PartialFairError(f"{source}: {command}: {reason}; resume when the batch system answers") from None
    return done.stdout.strip()
