"""Atomic writes: a file is either the old one, whole, or the new one, whole."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it onto ``target`` if the block succeeds.

    The temporary name keeps the target's suffix, because writers such as ``numpy.savez`` and pandas
    choose a format by it. On any error the temporary file is removed and ``target`` is untouched.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.partial{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(target: str | Path, content: Any) -> None:
    """Write ``content`` as sorted, indented JSON, atomically."""
    with atomic_path(target) as path:
        path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_json(source: str | Path) -> Any:
    """Read a JSON file."""
    return json.loads(Path(source).read_text(encoding="utf-8"))
