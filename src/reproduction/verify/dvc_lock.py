"""The list of locks that a killed DVC leaves half-written, at which every later `dvc repro` stops.

Tried with DVC 3.67.1: a torn list stops `dvc add`, `commit` and `gc`, also with `core.hardlink_lock`, and the message
names no command that repairs it. The list holds the locks of living processes alone, so that it may be removed.
"""

import json
import time
from pathlib import Path

RWLOCK = Path(".dvc/tmp/rwlock")
_PATIENCE = 1.0  # seconds in which a living DVC has written it


def remove_torn_lock(root: Path = Path()) -> Path | None:
    """Remove DVC's list of locks if it cannot be read, as a DVC that was killed while it wrote leaves it.

    Args:
        root: the project's root.

    Returns:
        The file, or ``None`` if there is none or it can be read.
    """
    path = root / RWLOCK
    for attempt in range(2):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            if attempt == 0:
                time.sleep(_PATIENCE)
            continue
        return None
    path.unlink(missing_ok=True)
    return path
