"""Code of a plug-in, run so that its mistakes are told in a sentence that names file and line."""

import errno
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from partialfair.errors import PartialFairError, PluginError, ResourceError

Result = TypeVar("Result")

TRACEBACK_VARIABLE = "PARTIALFAIR_TRACEBACK"
"""Environment variable that makes the error of a plug-in show its traceback, for those who write one."""

_LONGEST = 500  # characters of a foreign message
_NO_CACHE = "no locator available"  # what numba says where it finds no folder for compiled kernels
_NO_MEMORY = "failed to map segment"  # what the loader of shared libraries says when memory is short


def run_plugin(
    what: str, source: str | Path | None, function: Callable[..., Result], *args: Any, **options: Any
) -> Result:
    """Call a function of a plug-in.

    Args:
        what: what is called, for the message, for instance ``"algorithm 'idca': fit"``.
        source: file of the plug-in; its deepest line in the traceback is named.
        function, args, options: the call.

    Raises:
        PluginError: the plug-in raised an error that is not this package's. Lack of memory and errors of the
            operating system are not the plug-in's fault and pass through.
        ResourceError: the compiled kernels on disk are damaged, or memory is short.
    """
    try:
        return function(*args, **options)
    except (PartialFairError, MemoryError, OSError):
        raise
    except Exception as error:
        fault = machine_fault(error)
        if fault is not None:
            raise ResourceError(fault) from error
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        text = " ".join(str(error).split())[:_LONGEST]
        raise PluginError(
            f"{what} failed{_where(error, source)}: {type(error).__name__}: {text}; correct the plug-in "
            f"({TRACEBACK_VARIABLE}=1 shows the traceback)"
        ) from error


def machine_fault(error: BaseException) -> str | None:
    """Say what to do about an error that neither a person's input nor the program is to blame for.

    Returns:
        A sentence, or ``None`` if the error is another one.
    """
    for cause in _chain(error):
        text, number = str(cause), getattr(cause, "errno", None)
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or _NO_MEMORY in text:
            return (
                "out of memory; no file was left half-written; give the job more (mem_mb in the rule or the profile), "
                "run fewer at once (--cores), and run the same command again"
            )
        if number in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full ({text}); free space and run the same command again"
        if _NO_CACHE in text or number == errno.EROFS:
            return (
                f"a folder cannot be written to ({text}); make it writable, or, if it is that of the compiled kernels, "
                "set NUMBA_CACHE_DIR to one that is, and run the same command again"
            )
        frames = traceback.extract_tb(cause.__traceback__)
        if any(Path(frame.filename).parts[-3:] == ("numba", "core", "caching.py") for frame in frames):
            folder = os.environ.get("NUMBA_CACHE_DIR", "__pycache__ beside the source")
            return (
                f"the compiled kernels stored in {folder} are damaged ({type(cause).__name__}: {text}); delete that "
                "folder and run the same command again, which compiles them anew"
            )
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those it arose from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _where(error: BaseException, source: str | Path | None) -> str:
    """Return `` at FILE, line N``: the deepest line inside ``source``, else the deepest of all."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if source is not None and Path(frame.filename) == Path(source)]
    chosen = (inside or frames)[-1:]
    return "".join(f" at {Path(frame.filename).name}, line {frame.lineno}" for frame in chosen)
