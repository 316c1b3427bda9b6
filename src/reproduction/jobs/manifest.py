"""Checksums of what the workflow built, as one small file: two runs of the same grid can be compared by it."""

from pathlib import Path
from typing import Literal

from partialfair.data.files import sha256, write_json
from partialfair.errors import DataError
from reproduction.grid import paths
from reproduction.grid.config import Config

What = Literal["tables", "models"]


def manifest(config: Config, kind: What, out: str | Path, root: str | Path = ".") -> dict[str, str]:
    """Write the SHA-256 of every prepared table, or of every trained model, by path.

    Args:
        config: the configuration whose files are listed.
        kind: "tables" or "models".
        out: JSON file to write.
        root: what the paths are relative to.

    Returns:
        What was written.

    Raises:
        DataError: a file is missing.
    """
    tables, models = map(paths.table, config.datasets), (f"{job.path}/model.npz" for job in config.jobs())
    names = tables if kind == "tables" else models
    content = {name: _checksum(Path(root) / name) for name in names}
    write_json(out, content)
    return content


def _checksum(path: Path) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); run the workflow up to it first") from error
