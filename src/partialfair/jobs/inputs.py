"""What a training job reads, looked at before it starts."""

from pathlib import Path

from partialfair.errors import DataError
from partialfair.tables.dataset import Split


def require_parts(path: str | Path) -> None:
    """Refuse a split one of whose parts is empty; a missing or damaged file is left to the job.

    Raises:
        DataError: naming the file and the part.
    """
    try:
        found = Split.load(path)
    except DataError:
        return
    for part in ("train", "validation", "test"):
        if not getattr(found, part).size:
            raise DataError(f"{path}: the {part} part has no rows; delete the file and split again")
