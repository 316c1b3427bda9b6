"""What a fork of the server does: carry out one job as ``python -m MODULE`` would.

Everything is imported before the fork: an import here would be repeated in every job.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import runpy
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def call(name: str) -> object:
    """Call the function PACKAGE.MODULE:FUNCTION."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)()


def run(job: dict[str, Any], server: int, pipe: int) -> NoReturn:
    """Make a job and end this process.

    Args:
        job: what the server was told.
        server: process that shall not be outlived.
        pipe: where the usage of memory goes.
    """
    _die_with(server)
    _begin(job["variables"])
    _write_to(job["log"])
    if job["python"] is not None:
        os.execve(job["python"], ["python", "-m", job["module"], *job["arguments"]], dict(os.environ))  # noqa: S606
    _end(_status(lambda: _run_module(job["module"], job["arguments"])), job["measure"], pipe)


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


def _write_to(log: str) -> None:
    """Send output to a log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o666)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


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
        _write(pipe, {**_memory(), **_traffic()})
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _write(pipe: int, content: dict[str, Any]) -> None:
    """Write a line to the server."""
    text = json.dumps(content).encode() + b"\n"
    while text:
        text = text[os.write(pipe, text) :]


def _memory() -> dict[str, float]:
    """Return, in bytes, the peak of virtual memory, and the memory now: shared by none, and in proportion if shared."""
    memory = dict.fromkeys(("vms", "pss", "uss"), 0.0)
    names = {"VmPeak": "vms", "Pss": "pss", "Private_Clean": "uss", "Private_Dirty": "uss", "Private_Hugetlb": "uss"}
    for path in ("/proc/self/status", "/proc/self/smaps_rollup"):
        for name, value in _fields(path):
            if name in names:
                memory[names[name]] += 1024.0 * float(value.split()[0])
    return memory


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
