"""What git says of the checkout."""

import subprocess
from pathlib import Path

LIMIT = 60.0
"""Seconds that a command may take."""


def git(*arguments: str, folder: Path | None = None) -> bytes | None:
    """Return what a git command prints; ``None`` without git, outside a repository, or if it fails.

    Args:
        arguments: the command without ``git``.
        folder: where it runs; by default the working directory.
    """
    command = ["git", "-c", "core.quotePath=false", *arguments]
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=LIMIT).stdout
    except (OSError, subprocess.SubprocessError):
        return None
