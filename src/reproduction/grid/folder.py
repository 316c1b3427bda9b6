"""Whether the workflow can work where it is started, told before its first job rather than by its last."""

import logging
import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

from partialfair.errors import StorageError

SHARED = (".snakemake", ".snakemake/*", "logs", "data", "data/*", "reports")
"""Folders, as patterns, that the next user of the working directory has to be able to write to."""
ROOM = 8 << 20
"""Bytes that must be free: less than this holds the records of a few jobs only."""


def require_room() -> None:
    """Refuse a working directory that is read-only or on a full disk.

    Raises:
        StorageError: naming the folder, what is wrong with it, and what to do.
    """
    path = Path.cwd()
    if os.statvfs(path).f_flag & os.ST_RDONLY or not os.access(path, os.W_OK | os.X_OK):
        raise StorageError(
            f"{path}: the folder cannot be written to; make it writable, or work in a copy of the project elsewhere, "
            "and run the same command again"
        )
    free = shutil.disk_usage(path).free
    if free < ROOM:
        logging.raiseExceptions = False  # a logger that cannot write its file would bury the sentence
        raise StorageError(
            f"{path}: the disk is full ({free / 2**20:.1f} MiB free, at least {ROOM / 2**20:.0f} are needed); free "
            "space there and run the same command again, which goes on where the last one stopped"
        )


def share_with_group() -> None:
    """Let others of the group go on here, where the working directory is one that its group may write to.

    What this process and its jobs make can then be written by the group, whatever the user's ``umask``; so can the
    folders of Snakemake that it made before. A folder that its group may not write to stays private.

    Raises:
        StorageError: another user has left a folder here that only they can write to.
    """
    folder = os.stat(".")
    if not folder.st_mode & stat.S_IWGRP:
        return
    os.umask(os.umask(0) & ~stat.S_IRWXG)
    for path in (path for pattern in SHARED for path in sorted(Path().glob(pattern)) if path.is_dir()):
        about = path.stat()
        if about.st_uid == os.geteuid() and not about.st_mode & stat.S_IWGRP:
            path.chmod(about.st_mode | stat.S_IRWXG)
        elif not os.access(path, os.W_OK | os.X_OK):
            raise StorageError(
                f"{path}: made by {path.owner()}, and nobody else can write to it; have them run `chmod -R g+rwX .` in "
                f"{Path.cwd()}, and run the same command again"
            )


def settle_times() -> None:
    """Set the times of data files that are in the future to now; their content stays as it is.

    After a clock has gone back, Snakemake refuses every result that is older than what it was made from. Nothing is
    lost by this, as results are told to be outdated by content (see the profile), not by time. Their number is printed.
    """
    now, count = time.time(), 0
    seen: set[str] = set()  # a link may lead back to a folder above it
    for parent, folders, names in (step for root in ("data", "reports") for step in os.walk(root, followlinks=True)):
        if (real := os.path.realpath(parent)) in seen:
            folders.clear()
            continue
        seen.add(real)
        for name in names:
            path = os.path.join(parent, name)
            # A link into a cache of DVC that lacks the file; or the file is another user's, who shares the folder.
            with suppress(FileNotFoundError, PermissionError):
                if os.path.getmtime(path) > now:
                    os.utime(path, (now, now))
                    count += 1
    if count:
        print(f"{count} files whose times are in the future (the clock went back?) now bear the time of today")
