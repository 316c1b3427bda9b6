"""Raw files that travel with the project, compressed: ``data/raw/a9a/a9a.xz`` beside the place of ``a9a``."""

import lzma
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from partialfair.data.files import atomic_path, sha256
from partialfair.errors import DataError
from reproduction.datasets.named import named_dataset
from reproduction.datasets.spec import RawFile

SUFFIX = ".xz"


def unpack(
    datasets: Iterable[str], raw_dir: str | Path, options: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[Path, Path]:
    """Unpack the declared raw files of datasets that are absent and have a compressed copy beside their place.

    Args:
        datasets: names.
        raw_dir: the raw root, ``data/raw``.
        options: options per dataset (``datasets`` of ``params.yaml``).

    Returns:
        The compressed copy behind every file that was written.

    Raises:
        PluginError: a name is unknown.
        DataError: a compressed copy is damaged, or its content has another checksum than the declared one.
    """
    written = {}
    for name in datasets:
        spec = named_dataset(name, (options or {}).get(name)).spec
        for file in spec.files:
            target = spec.directory(raw_dir) / file.name
            packed = target.with_name(target.name + SUFFIX)
            if packed.is_file() and not target.exists():
                _write(file, packed, target)
                written[target] = packed
    return written


def _write(file: RawFile, packed: Path, target: Path) -> None:
    remedy = f"restore it with `git checkout -- {packed}`, or delete it to have the file fetched"
    with atomic_path(target) as temporary:
        try:
            with lzma.open(packed) as compressed, temporary.open("wb") as stream:
                shutil.copyfileobj(compressed, stream)
        except (lzma.LZMAError, EOFError) as error:
            raise DataError(f"{packed}: cannot be unpacked ({error}); nothing was written; {remedy}") from error
        if (digest := sha256(temporary)) != file.sha256:
            raise DataError(
                f"{packed}: its content has sha256 {digest}, but {file.name} is declared with {file.sha256}; "
                f"nothing was written; {remedy}"
            )
