"""Reading the tidy tables of experiments, with one sentence about a file that is damaged."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from partialfair.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("dataset", "algorithm", "kappa", "seed", "status")
"""Columns that every table of an experiment has."""


def read_table(path: Path, columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return ``runs.parquet`` or ``metrics.parquet`` of an experiment.

    Args:
        path: the file.
        columns: names of the columns to read; by default all.

    Raises:
        DataError: the file cannot be read, or lacks a column, with what brings it back.
    """
    import pandas as pd

    try:
        table = pd.read_parquet(path, columns=None if columns is None else list(columns))
        lacking = [name for name in (NEEDED if columns is None else columns) if name not in table]
        fault = f"it has no column {lacking[0]!r}" if lacking else ""
    except (OSError, KeyError, ValueError) as error:  # those of Arrow are such errors
        fault = f"it cannot be read ({(str(error).splitlines() or [''])[0].rstrip('.')})"
    if fault:
        raise DataError(
            f"{path}: {fault}; `git checkout {path}` brings the committed table back, and `partialfair run "
            f"{path.parent.name}` makes it anew"
        )
    return table
