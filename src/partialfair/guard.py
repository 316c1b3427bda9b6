"""Code of a plug-in, run so that its mistakes are told in a sentence that names file and line."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from partialfair.errors import PartialFairError, PluginError

Result = TypeVar("Result")

TRACEBACK_VARIABLE = "PARTIALFAIR_TRACEBACK"
"""Environment variable that makes the error of a plug-in show its traceback, for those who write one."""

_MARGIN = 1024


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
    """
    try:
        return function(*args, **options)
    except (PartialFairError, MemoryError, OSError):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        text = " ".join(str(error).split())[:_MARGIN]
        raise PluginError(
            f"{what} failed{_where(error, source)}: {type(error).__name__}: {text}; correct the plug-in "
            f"({TRACEBACK_VARIABLE}=1 shows the traceback)"
        ) from error


def _where(error: BaseException, source: str | Path | None) -> str:
    """Return `` at FILE, line N``: the deepest line inside ``source``, else the deepest of all."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if source is not None and Path(frame.filename) == Path(source)]
    chosen = (inside or frames)[-1:]
    return "".join(f" at {Path(frame.filename).name}, line {frame.lineno}" for frame in chosen)
