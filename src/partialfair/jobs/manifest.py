"""Checksums of what the workflow built, as one small file: two runs of the same grid can be compared by it."""

import hashlib
from pathlib import Path
from typing import Literal

from partialfair.errors import DataError
from partialfair.grid.config import load_config
from partialfair.grid.workflow import Grid
from partialfair.tables.files import write_json

What = Literal["tables", "models"]


def manifest(config_path: str | Path, what: What, out: str | Path, root: str | Path = ".") -> dict[str, str]:
    """Write the SHA-256 of every prepared table, or of every trained model, by path.

    Args:
        config_path: the configuration whose files are listed.
        what: "tables" or "models".
        out: JSON file to write.
        root: what the paths are relative to.

    Returns:
        What was written.

    Raises:
        DataError: a file is missing.
    """
    grid = Grid(load_config(config_path))
    names = grid.tables() if what == "tables" else grid.runs("model.npz")
    content = {name: _checksum(Path(root) / name) for name in names}
    write_json(out, content)
    return content


def _checksum(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); run the workflow up to it first") from error
