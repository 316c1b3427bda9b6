"""Reads ``params.yaml`` and the files that it includes into one mapping."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from partialfair.errors import ConfigError

INCLUDABLE = ("datasets", "algorithms", "experiments", "exhibits")
"""Blocks that an included file may add entries to."""


def with_included(path: Path) -> dict[str, Any]:
    """Return the content of a configuration with the entries of the files that it includes.

    An included file can also stand alone (with ``seeds``, ``bootstrap`` and the like of its own, which do not
    count where it is included): each paper's grid is a file that runs by itself.

    Raises:
        ConfigError: a file cannot be read or is not YAML, or two files say different things of one name.
    """
    whole = _read(path)
    for name in _list(whole.get("include"), path):
        file = path.parent / name
        if not file.is_file():
            raise ConfigError(f"{path.name}: include: there is no file {file}; paths are relative to {path.name}")
        content = _read(file)
        for block in INCLUDABLE:
            _add_entries(whole, block, content.get(block) or {}, file, path)
        _own_values(whole, content)
    return whole


def _list(names: Any, path: Path) -> list[str]:
    """Return the names of the included files."""
    if not isinstance(names or [], list):
        raise ConfigError(f"{path.name}: include is {names!r}: give a list of files")
    return [str(name) for name in names or []]


def _add_entries(whole: dict[str, Any], block: str, entries: Any, file: Path, path: Path) -> None:
    """Add the entries of one block, refusing names that exist with another content."""
    if not isinstance(entries, dict):
        raise ConfigError(f"{file.name}: {block} is {entries!r}: give names and their entries")
    present = whole.setdefault(block, {}) or {}
    for name, entry in entries.items():
        if name in present and present[name] != entry:
            raise ConfigError(f"{file.name}: {block}.{name} also stands, otherwise, in {path.name}; rename one of them")
    whole[block] = {**present, **entries}


def _own_values(whole: dict[str, Any], content: dict[str, Any]) -> None:
    """Give the experiments of an included file the seeds that stand at its top."""
    for name in (content.get("experiments") or {}) if "seeds" in content else ():
        entry = whole["experiments"][name]
        if isinstance(entry, dict):
            whole["experiments"][name] = {"seeds": content["seeds"], **entry}


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml: ten times faster
    """Refuses a mapping that has a key twice, which YAML would settle silently by the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # "<<": keys of its own go before those it brings
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: key {key!r} stands twice; remove one of them")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a params.yaml") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path.name}: holds {type(content).__name__}, not keys and values; see the one shipped")
    return content
