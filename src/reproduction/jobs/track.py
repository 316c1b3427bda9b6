"""Put a raw file under DVC: a small ``.dvc`` text file with checksums and origin; the data stay out of git."""

import hashlib
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import yaml

from partialfair.data.files import atomic_path
from partialfair.errors import DataError
from reproduction.datasets.spec import RawFile


def describe(
    path: str | Path, url: str | None = None, archive_member: str | None = None, needed: bool = True
) -> RawFile:
    """Return the declaration of a raw file, to be pasted into a dataset module.

    Args:
        path: the file.
        url, archive_member, needed: see :class:`RawFile`.

    Raises:
        DataError: the file is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file; put the raw file there first")
    content = path.read_bytes()
    return RawFile(
        name=path.name,
        sha256=hashlib.sha256(content).hexdigest(),
        md5=hashlib.md5(content, usedforsecurity=False).hexdigest(),
        bytes=len(content),
        url=url,
        archive_member=archive_member,
        needed=needed,
    )


def declaration(file: RawFile) -> str:
    """Return the argument ``files`` of a dataset's ``SPEC`` for one file, laid out as the module has it."""
    values = [(field.name, getattr(file, field.name)) for field in fields(file)]
    defaults = {field.name: field.default for field in fields(file)}
    lines = [
        f"            {name}={json.dumps(value) if isinstance(value, str) else repr(value)},"
        for name, value in values
        if value != defaults[name]
    ]
    return "\n".join(["    files=(", "        RawFile(", *lines, "        ),", "    ),"])


def write_dvc(file: RawFile, folder: str | Path) -> Path:
    """Write ``<folder>/<name>.dvc`` for a declared file, whether or not the file is there.

    DVC knows the file by its md5; the upstream address and the SHA-256 stand under ``meta``, which DVC keeps
    and ignores. ``dvc pull`` then gets the file from any remote that holds it, and ``partialfair data fetch``
    from the address too. The file itself is added to the folder's ``.gitignore``.

    Returns:
        The path written.
    """
    import yaml

    meta = {"sha256": file.sha256, "url": file.url, "archive_member": file.archive_member}
    content = {
        "outs": [{"md5": file.md5, "size": file.bytes, "hash": "md5", "path": file.name}],
        "meta": {key: value for key, value in meta.items() if value is not None},
    }
    target = Path(folder) / f"{file.name}.dvc"
    with atomic_path(target) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    ignored = Path(folder) / ".gitignore"
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.exists() else []
    pattern = "/" + re.sub(r"([\\*?\[#!]| $)", r"\\\1", file.name)
    if pattern not in lines:
        with atomic_path(ignored) as temporary:
            temporary.write_text("\n".join([*lines, pattern]) + "\n", encoding="utf-8")
    return target


def name_in_stages(path: str | Path) -> bool:
    """Return the name a raw file among the inputs of the stage ``data`` in ``dvc.yaml``, in alphabetical order.

    All other lines stay as they are.

    Returns:
        Whether the file is named there now: not where there are no such inputs, or the file lies elsewhere.
    """
    stages, root = Path("dvc.yaml"), Path.cwd()
    lines = stages.read_text(encoding="utf-8").splitlines() if stages.exists() else []
    entries = ((number, line) for number, line in enumerate(lines) if re.match(r"\s*- \"?data/raw/", line))
    named = {number: yaml.safe_load(line)[0] for number, line in entries}
    if not named or not Path(path).absolute().is_relative_to(root / "data" / "raw"):
        return False
    name = Path(path).absolute().relative_to(root).as_posix()
    if name not in named.values():
        last = max(named)
        position = next((number for number, entry_name in named.items() if entry_name > name), last + 1)
        plain = yaml.safe_load(f"- {name}") == [name]
        entry = name if plain else json.dumps(name, ensure_ascii=False)
        lines.insert(position, f"{lines[last].partition('-')[0]}- {entry}")
        with atomic_path(stages) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return True


def track(
    path: str | Path, url: str | None = None, archive_member: str | None = None, needed: bool = True
) -> tuple[Path, RawFile]:
    """Track a raw file: :func:`describe`, then :func:`write_dvc` beside it.

    The address and the place in an archive that an earlier ``.dvc`` file has are kept where none is given.

    Returns:
        The ``.dvc`` file, and the declaration for the dataset module.

    Raises:
        DataError: the file is missing, or is another one than an earlier ``.dvc`` file has.
    """
    file = describe(path, url, archive_member, needed)
    target = Path(f"{path}.dvc")
    if target.is_file():
        earlier = yaml.safe_load(target.read_text(encoding="utf-8")) or {}
        if earlier.get("outs", [{}])[0].get("md5", file.md5) != file.md5:
            raise DataError(
                f"{path}: {target} has the checksum of another file; bring that file back (`dvc checkout {target}`), "
                f"or delete {target} if this one takes its place"
            )
        meta = earlier.get("meta", {})
        file = replace(
            file, url=file.url or meta.get("url"), archive_member=file.archive_member or meta.get("archive_member")
        )
    return write_dvc(file, Path(path).parent), file
