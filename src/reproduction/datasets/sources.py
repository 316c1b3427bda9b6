"""Obtaining raw files: every byte is checked before a file takes its name.

Sources, in this order: the file itself; the DVC cache of the repository it lies in; the folders named by the
environment variable ``PARTIALFAIR_DATA_MIRROR`` (several are separated as in ``PATH``; each may hold
``<dataset>/<file>`` or DVC's content-addressed ``files/md5/ab/cdef...``); the upstream address. A source that
has the file but with another checksum is an error, not a reason to try the next one.
"""

import configparser
import hashlib
import http.client
import os
import re
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from partialfair.data.files import atomic_path
from partialfair.errors import DataError
from reproduction.datasets.spec import RawFile

MIRROR_VARIABLE = "PARTIALFAIR_DATA_MIRROR"
_CHUNK = 1 << 20
_TIMEOUT = 60.0  # seconds without a byte
_LARGEST_ARCHIVE = 1 << 30


def obtain(file: RawFile, target: Path, offline: bool = False) -> str:
    """Put ``file`` at ``target``, verified.

    Args:
        file: what to obtain.
        target: where it belongs, ``<raw root>/<dataset>/<name>``.
        offline: do not use the network.

    Returns:
        Where the file came from, for the log.

    Raises:
        DataError: ``target`` or a source holds other bytes, or no source has the file.
    """
    if target.exists():
        check(file, target)
        return "already present"
    for origin, source, remedy in _local_sources(file, target):
        if source.is_file():
            with open(source, "rb") as stream:
                _write_verified(file, target, _chunks(stream), origin, remedy)
            return origin
    if file.url is None or offline:
        reason = "it has no download address" if file.url is None else "the network is not to be used"
        raise DataError(
            f"{target}: not in the DVC cache nor in a mirror, and {reason}; set {MIRROR_VARIABLE} to a folder "
            f"that has it, or run `dvc pull`{', ' + file.remedy if file.remedy else ''}"
        )
    _download(file, target, file.url)
    return masked(file.url)


def check(file: RawFile, path: Path) -> None:
    """Verify size and SHA-256 of ``path``.

    Raises:
        DataError: the file is missing or differs; it is left as it is.
    """
    if not path.is_file():
        raise DataError(f"{path}: raw file missing; get it with `partialfair data fetch`")
    digest, size, head = hashlib.sha256(), 0, b""
    with open(path, "rb") as stream:
        for chunk in _chunks(stream):
            head = head or chunk
            digest.update(chunk)
            size += len(chunk)
    if size != file.bytes or digest.hexdigest() != file.sha256:
        remedy = "move the file away or delete it, then fetch it again"
        raise DataError(f"{path}: {_difference(file, digest.hexdigest(), size, head)}; {remedy}")


def mirrors() -> list[Path]:
    """Return the folders named by the environment variable.

    Raises:
        DataError: one of them is not a folder.
    """
    value = os.environ.get(MIRROR_VARIABLE, "")
    if "://" in value:
        raise DataError(f"{MIRROR_VARIABLE}: {masked(value)} is an address; name a folder that holds a copy of it")
    folders = [Path(part) for part in value.split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_dir():
            raise DataError(f"{MIRROR_VARIABLE}: {folder} is not a folder; correct or unset the variable")
    return folders


def masked(text: object) -> str:
    """Text in which the passwords and the keys of addresses are replaced by ``***``."""
    hidden = re.sub(r"(://)[^/@\s]*@", r"\1***@", str(text))
    return re.sub(
        r"(?i)([?&;](?:[a-z_-]*(?:token|key|password|secret|signature|sig|auth))=)[^&#;\s]*", r"\1***", hidden
    )


def _local_sources(file: RawFile, target: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield (origin, path, remedy) of every place on this machine where the file may be."""
    address = (Path("files", "md5", file.md5[:2], file.md5[2:]), Path(file.md5[:2], file.md5[2:]))
    for cache in _dvc_caches(target):
        for place in address:
            yield f"DVC cache {cache}", cache / place, f"delete {cache / place} and run `dvc pull`"
    for mirror in mirrors():
        for place in (Path(target.parent.name, file.name), *address):
            remedy = f"replace {mirror / place}, or point {MIRROR_VARIABLE} elsewhere"
            yield f"mirror {mirror}", mirror / place, remedy


def _dvc_caches(target: Path) -> list[Path]:
    """Return the DVC cache of the repository that ``target`` lies in, if it lies in one."""
    for folder in target.absolute().parents:
        if (folder / ".dvc").is_dir():
            settings = configparser.ConfigParser(interpolation=None, strict=False)
            settings.read([folder / ".dvc" / "config", folder / ".dvc" / "config.local"], encoding="utf-8")
            return [folder / ".dvc" / settings.get("cache", "dir", fallback="cache").strip("\"'")]
    return []


def _write_verified(file: RawFile, target: Path, chunks: Iterable[bytes], origin: str, remedy: str) -> None:
    """Write ``chunks`` to a temporary file, verify, rename. Reading stops once there are too many bytes."""
    digest, size, head = hashlib.sha256(), 0, b""
    with atomic_path(target) as temporary:
        with open(temporary, "wb") as stream:
            for chunk in chunks:
                head = head or chunk
                digest.update(chunk)
                size += len(chunk)
                if size > file.bytes:
                    break
                stream.write(chunk)
        if size != file.bytes or digest.hexdigest() != file.sha256:
            found = _difference(file, digest.hexdigest(), size, head)
            raise DataError(f"{target}: from {origin}: {found}; nothing was written; {remedy}")


def _difference(file: RawFile, sha256: str, size: int, head: bytes) -> str:
    """Say how the bytes read differ from those expected."""
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        kind = "an HTML page instead of the data"
    elif size < file.bytes:
        kind = "a truncated file"
    else:
        kind = "a longer file" if size > file.bytes else "a changed file"
    at_least = "at least " if size > file.bytes else ""
    return (
        f"{kind} (expected {file.bytes:,} bytes with sha256 {file.sha256}, got {at_least}{size:,} bytes with {sha256})"
    )


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _download(file: RawFile, target: Path, url: str) -> None:
    """Download the file, or the archive it is a member of."""
    remedy = f"download it by hand to {target}, or set {MIRROR_VARIABLE} to a folder that has it"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            total = int(answer.headers.get("Content-Length") or 0) or None
            with _progress(file.name, total) as advance:
                received = _counted(_chunks(answer), advance)
                if file.archive_member is None:
                    _write_verified(file, target, received, masked(url), remedy)
                else:
                    _write_member(file, target, received, masked(url), remedy)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise DataError(f"{target}: {masked(url)} could not be read ({masked(error)}); {remedy}") from error


def _write_member(file: RawFile, target: Path, received: Iterable[bytes], url: str, remedy: str) -> None:
    """Write one member of a zip archive.

    The member is read as a stream and written under the name declared for it, so no name inside the archive
    ever becomes a path.
    """
    with tempfile.TemporaryFile() as archive:
        head, size = b"", 0
        for chunk in received:
            head = head or chunk
            size += len(chunk)
            if size > _LARGEST_ARCHIVE:
                raise DataError(f"{target}: {url} is larger than {_LARGEST_ARCHIVE:,} bytes; {remedy}")
            archive.write(chunk)
        try:
            with zipfile.ZipFile(archive) as contents, contents.open(str(file.archive_member)) as member:
                _write_verified(file, target, _chunks(member), f"{url} ({file.archive_member})", remedy)
        except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, EOFError) as error:
            kind = "an HTML page" if head.lstrip()[:1] == b"<" else f"no archive with {file.archive_member} ({error})"
            raise DataError(f"{target}: {url} sent {kind}; nothing was written; {remedy}") from error


def _counted(chunks: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    for chunk in chunks:
        advance(len(chunk))
        yield chunk


@contextmanager
def _progress(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error if that is a terminal; yields what moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda size: bar.advance(task, size)
