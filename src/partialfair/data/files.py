"""Atomic writes: a file is either the old one, whole, or the new one, whole."""

import csv
import errno
import hashlib
import json
import math
import os
import platform
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any
from zipfile import BadZipFile

from partialfair.errors import StorageError

UNREADABLE = (
    OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, RuntimeError, TypeError, AttributeError,
    MemoryError,
)  # fmt: skip
"""What NumPy raises on ``.npz`` files that are damaged, or are something else."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_BARRED = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it onto ``target`` if the block succeeds.

    The temporary name keeps the target's suffix, because writers such as ``numpy.savez`` and pandas
    choose a format by it. On any error the temporary file is removed and ``target`` is untouched. What a
    killed process of this machine has left beside ``target`` is removed first.

    Raises:
        StorageError: the disk is full, or the folder cannot be written to.
    """
    target = Path(target)
    temporary = target.with_name(f"{_stem(target)}{os.getpid()}-{get_ident()}.partial{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        yield temporary
        os.replace(temporary, target)
    except Exception as error:
        reason = _storage_fault(error, target)
        if reason is None:
            raise
        raise StorageError(f"{target}: {reason}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def sha256(path: str | Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_json(target: str | Path, content: Any) -> None:
    """Write ``content`` as sorted, indented JSON, atomically; numbers and arrays of NumPy become plain ones."""
    with atomic_path(target) as path:
        text = json.dumps(content, indent=1, sort_keys=True, default=_of_numpy)
        path.write_text(text + "\n", encoding="utf-8")


def read_json(source: str | Path) -> Any:
    """Read a JSON file."""
    return json.loads(Path(source).read_text(encoding="utf-8"))


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``content`` with its own checksum under ``seal``, so that a later edit by hand is noticed."""
    return {**content, "seal": _seal(content)}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Tell whether ``content`` is as :func:`sealed` left it."""
    return content.get("seal") == _seal(content)


def _seal(content: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in content.items() if key != "seal"}
    text = json.dumps(plain, sort_keys=True, default=_of_numpy)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_numpy(value: Any) -> Any:
    """Return the plain numbers of a scalar or array of NumPy, which a plug-in may well give."""
    if hasattr(value, "tolist"):  # told so, because commands that only look at files need not import NumPy
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}, which has no form in JSON")


def _stem(target: Path) -> str:
    """What the temporary names of a target begin with on this machine, up to the numbers of process and thread."""
    return f".{target.stem}.{platform.node()}-"


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of processes of this machine that no longer exist."""
    begin, end = _stem(target), f".partial{target.suffix}"
    for name in os.listdir(target.parent):
        writer = name[len(begin) : -len(end)] if name.startswith(begin) and name.endswith(end) else ""
        process = writer.partition("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            with suppress(OSError):
                target.with_name(name).unlink()


def _is_alive(process: int) -> bool:
    """Tell whether a process of that number exists; another user's does, too."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _storage_fault(error: BaseException, target: Path) -> str | None:
    """Say what is wrong with the place of ``target`` and what to do; ``None`` if the error is another one.

    Writers hide the first error behind others (a zip file that cannot be closed), so the chain is searched.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            if cause.errno in _FULL:
                return (
                    f"the disk is full ({cause.strerror}); the file was not written, one that was there before is "
                    "unchanged; free space there and run the same command again"
                )
            # A file that is read inside the block can be barred as well; that is for its reader to report.
            is_target = (
                cause.errno == errno.EROFS
                or Path(str(cause.filename)) in (*target.parents, target)
                or (Path(str(cause.filename)).parent == target.parent)
            )
            if cause.errno in _BARRED and is_target:
                return (
                    f"its folder cannot be written to ({cause.strerror}); nothing was changed; make the folder "
                    "writable, or work in a copy of the project elsewhere, and run the same command again"
                )
            if cause.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR) and is_target:
                return f"{cause.filename} stands in the way ({cause.strerror}); move it away and run again"
        cause = cause.__cause__ or cause.__context__
    return None


def write_csv(target: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as CSV; a missing value or NaN is empty."""
    with atomic_path(target) as path, path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, restval="")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: "" if _missing(row.get(key)) else row[key] for key in columns if key in row})
    return target


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
