"""Register of the files of runs, tables and raw data that were looked for and are missing.

A checkout has the collected tables, but not the runs from which they were collected. An exhibit drawn from a checkout
says "not run" where a number stands in a run's file; a comparison with the exhibit drawn beside the runs needs to know.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_missing: ContextVar[set[Path] | None] = ContextVar("missing", default=None)


def is_here(path: Path) -> bool:
    """Whether a file exists; a missing file is added to the set of :func:`noting_missing`."""
    exists, missing = path.exists(), _missing.get()
    if not exists and missing is not None:
        missing.add(path)
    return exists


@contextmanager
def noting_missing() -> Iterator[set[Path]]:
    """Collect the files that :func:`is_here` misses within the block, also for a block around it."""
    missing: set[Path] = set()
    outer = _missing.get()
    token = _missing.set(missing)
    try:
        yield missing
    finally:
        _missing.reset(token)
        if outer is not None:
            outer |= missing
