"""What a fork of the server does: carry out one job as ``python -m MODULE`` would, or several by the hook.

Everything is imported before the fork: an import here would be repeated in every job.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def named(name: str) -> Callable[..., object]:
    """Return the function PACKAGE.MODULE:FUNCTION."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def call(name: str) -> object:
    """Call the function PACKAGE.MODULE:FUNCTION."""
    return named(name)()


def run(task: dict[str, Any], indices: list[int], hook: str | None, again: bool, server: int, pipe: int) -> NoReturn:
    """Make jobs of a task and end this process.

    Args:
        task: what the server was told.
        indices: which of its jobs; more than one only with a hook.
        hook: function that makes them together.
        again: another process has begun the jobs before: its output stays in the logs, its files do not.
        server: process that shall not be outlived.
        pipe: where reports go.
    """
    _die_with(server)
    _begin(task["variables"])
    jobs = [task["jobs"][index] for index in indices]
    _write_to(jobs[0]["log"], keep=again)
    if hook is None:
        if again:
            _remove(jobs[0]["outputs"])
        _end(_status(lambda: _run_module(task["module"], jobs[0]["arguments"])), task["measure"], pipe)
    for job in jobs[1:]:
        Path(job["log"]).write_text(f"made together with others, see {jobs[0]['log']}\n", encoding="utf-8")
    report = Report(jobs, indices, pipe, task["measure"])
    sys.argv = [task["module"]]
    _end(_status(lambda: named(hook)([list(job["arguments"]) for job in jobs], report)), False, pipe)


class Report:
    """Tells the server, from a hook, which jobs have been made or have failed."""

    def __init__(self, jobs: list[dict[str, Any]], indices: list[int], pipe: int, measure: bool) -> None:
        self._jobs, self._indices, self._pipe, self._measure = jobs, indices, pipe, measure
        self._before = _counted()

    def __call__(self, which: int | Iterable[int], status: int = 0, message: str = "") -> None:
        """Report jobs by their place in the list; what was used since the last report is theirs in equal shares.

        Args:
            which: place of a job, or of several that were computed at once.
            status: exit status; 0 says that all output files are there and complete.
            message: what is to be read in the logs of these jobs.
        """
        places = [which] if isinstance(which, int) else list(which)
        sys.stdout.flush()
        sys.stderr.flush()
        if message:
            for place in places:
                with open(self._jobs[place]["log"], "a", encoding="utf-8") as stream:
                    stream.write(message.rstrip("\n") + "\n")
        now = _counted()
        usage = {name: (now[name] - self._before[name]) / max(1, len(places)) for name in now}
        self._before = now
        usage["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if self._measure:
            usage.update(_memory())
        told = f"The job failed with status {status}." if status else ""
        indices = [self._indices[place] for place in places]
        _write(self._pipe, {"indices": indices, "status": status, "message": told, "usage": usage})


def _die_with(server: int) -> None:
    """Have the kernel end this process when the server ends, however that may be."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)


def _begin(variables: dict[str, str]) -> None:
    """Put right what a process of its own would not have inherited."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(variables)
    tempfile.tempdir = None
    atexit._clear()
    # Random numbers that nobody has seeded differ from job to job (Python's own do so by themselves).
    if numpy_random := sys.modules.get("numpy.random"):
        numpy_random.seed()


def _write_to(log: str, keep: bool) -> None:
    """Send output to a log."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if keep else os.O_TRUNC)
    descriptor = os.open(log, flags, 0o666)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _remove(outputs: Iterable[str]) -> None:
    """Remove files that a process has left unfinished."""
    for path in outputs:
        with suppress(OSError):
            os.unlink(path)


def _run_module(module: str, arguments: list[str]) -> None:
    """Do what ``python -m`` does."""
    sys.argv = [module, *arguments]  # runpy replaces the first by the module's file
    # A module that was imported before is no surprise here.
    warnings.filterwarnings("ignore", message=".*found in sys.modules after import of package", module="runpy")
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _status(action: Callable[[], object]) -> int:
    """Do something and return the exit status that Python would have."""
    try:
        action()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        return -signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int, measure: bool, pipe: int) -> NoReturn:
    """End as Python does, but leave the memory to the kernel."""
    with suppress(Exception):
        threading._shutdown()  # type: ignore[attr-defined]
        if processes := sys.modules.get("multiprocessing.util"):
            processes._exit_function()
        atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or 120
    if measure:
        _write(pipe, {"usage": {**_memory(), **_traffic()}})
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _write(pipe: int, content: dict[str, Any]) -> None:
    """Write a line to the server."""
    text = json.dumps(content).encode() + b"\n"
    while text:
        text = text[os.write(pipe, text) :]


def _counted() -> dict[str, float]:
    """Return the seconds and CPU seconds of this process so far, and the bytes it has read and written."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
    return {"seconds": time.monotonic(), "cpu": cpu, **_traffic()}


def _memory() -> dict[str, float]:
    """Return, in bytes, the peak of virtual memory, and the memory now: shared by none, and in proportion if shared."""
    found = dict.fromkeys(("vms", "pss", "uss"), 0.0)
    names = {"VmPeak": "vms", "Pss": "pss", "Private_Clean": "uss", "Private_Dirty": "uss", "Private_Hugetlb": "uss"}
    for path in ("/proc/self/status", "/proc/self/smaps_rollup"):
        for name, value in _fields(path):
            if name in names:
                found[names[name]] += 1024.0 * float(value.split()[0])
    return found


def _traffic() -> dict[str, float]:
    """Return the bytes read from disks and written to them so far."""
    names = {"read_bytes": "read", "write_bytes": "written"}
    return {names[name]: float(value) for name, value in _fields("/proc/self/io") if name in names}


def _fields(path: str) -> list[tuple[str, str]]:
    """Return names and values of a file with lines "name: value"; none where the kernel does not tell."""
    try:
        lines = Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    return [(name, value) for name, colon, value in (line.partition(":") for line in lines) if colon]
