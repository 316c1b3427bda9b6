"""Which files of runs, tables and raw data were looked for and are not here.

A checkout has the collected tables, and not the runs that they were collected from. What is drawn from it says "not
run" where a number stands in a run's own file; whoever compares that with what was drawn beside the runs has to know.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_missing: ContextVar[set[Path] | None] = ContextVar("missing", default=None)


def is_here(path: Path) -> bool:
    """Whether there is such a file; if not, :func:`noting_missing` hears of it."""
    found, missing = path.exists(), _missing.get()
    if not found and missing is not None:
        missing.add(path)
    return found


@contextmanager
def noting_missing() -> Iterator[set[Path]]:
    """Collect the files that :func:`is_here` does not find within the block; a block around it hears of them, too."""
    missing: set[Path] = set()
    outer = _missing.get()
    token = _missing.set(missing)
    try:
        yield missing
    finally:
        _missing.reset(token)
        if outer is not None:
            outer |= missing
