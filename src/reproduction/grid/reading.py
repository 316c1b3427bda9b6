"""Reads ``params.yaml`` and the files that it includes into one mapping."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from partialfair.errors import ConfigError
from partialfair.plugins import did_you_mean
from reproduction.grid.params import ParamsModel

INCLUDABLE = ("datasets", "experiments", "exhibits")
"""Blocks that an included file adds entries to. Its seeds and settings of algorithms hold for its experiments alone."""


def with_included(path: Path) -> dict[str, Any]:
    """Return the content of a configuration with the entries of the files that it includes, which come before its own.

    An included file can also stand alone (with ``bootstrap`` and the like of its own, which do not count where it is
    included): each paper's grid is a file that runs by itself, and its runs are the same alone and included.

    Raises:
        ConfigError: a file cannot be read or is not YAML, or two files say different things of one name.
    """
    including = _read_grid(path)
    entries: dict[str, _Entries] = {block: {} for block in INCLUDABLE}
    for name in _included(including.get("include"), path):
        content = _read_grid(path.parent / name)
        _refuse_others(content, name)
        _give_to_experiments(content)
        for block in INCLUDABLE:
            _add_entries(entries[block], block, content.get(block) or {}, name)
    for block in INCLUDABLE:
        _add_entries(entries[block], block, including.get(block) or {}, path.name)
        if entries[block]:
            including[block] = {name: entry for name, (entry, _) in entries[block].items()}
    return including


def files_of(path: Path) -> list[Path]:
    """Return the files that a configuration is read from: its own, and those that it names by include or settings_of.

    Raises:
        ConfigError: one cannot be read, or is not YAML.
    """
    content = _read(path)
    files = [path, *(path.parent / name for name in _named(content.get("settings_of"), "settings_of", path))]
    for name in _included(content.get("include"), path):
        files += files_of(path.parent / name)
    return list(dict.fromkeys(files))


def _read_grid(path: Path) -> dict[str, Any]:
    """Return the content of a file, with the settings of algorithms of the files that ``settings_of`` names."""
    content = _read(path)
    settings: _Entries = {}
    for name in _named(content.pop("settings_of", None), "settings_of", path):
        _add_entries(settings, "algorithms", _read(path.parent / name).get("algorithms") or {}, name)
    if settings:
        _add_entries(settings, "algorithms", content.get("algorithms") or {}, path.name)
        content["algorithms"] = {name: entry for name, (entry, _) in settings.items()}
    return content


def _refuse_others(content: Mapping[str, Any], name: str) -> None:
    """Refuse what an included file cannot say: a misspelt block would be passed over, and all its entries with it.

    Raises:
        ConfigError: naming the key.
    """
    if content.get("include"):
        raise ConfigError(f"{name}: include: the file is itself included; name {content['include']!r} where it is")
    for key in content:
        if key not in ParamsModel.model_fields:
            raise ConfigError(f"{name}: unknown key {key!r}; {did_you_mean(str(key), ParamsModel.model_fields)}")


def _give_to_experiments(content: dict[str, Any]) -> None:
    """Give the experiments of an included file the seeds and the settings of algorithms that stand at its top."""
    experiments, common = content.get("experiments") or {}, content.get("algorithms") or {}
    for name, entry in experiments.items() if isinstance(experiments, dict) and isinstance(common, dict) else ():
        if isinstance(entry, dict):
            completed = {key: content[key] for key in ("seeds",) if key in content} | entry
            experiments[name] = completed | (
                {"algorithms": _settings(common, entry.get("algorithms"))} if common else {}
            )


def _settings(common: dict[str, Any], specific: Any) -> Any:
    """Return settings of algorithms, an experiment's own before common ones; no mapping stays, to be refused."""
    if not isinstance(specific or {}, dict):
        return specific
    merged = {**common, **(specific or {})}
    mixed = (name for name in merged if isinstance(common.get(name), dict) and isinstance(merged[name], dict))
    return merged | {name: {**common[name], **merged[name]} for name in mixed}


def _named(names: Any, key: str, path: Path) -> list[str]:
    """Return the texts of a list under a key; anything else is refused."""
    if not isinstance(names or [], list):
        raise ConfigError(f"{_file_label(path)}: {key} is {names!r}: give a list of files")
    return [str(name) for name in names or []]


def _included(names: Any, path: Path) -> list[str]:
    """Return the included files relative to the folder of ``path``: those named, and those that a pattern finds.

    Files that a pattern finds are sorted; one that is also named stands where it is named.
    """
    named = _named(names, "include", path)
    chosen: dict[str, None] = {}
    for name in named:
        if "*" in name:
            matches = sorted(file.relative_to(path.parent).as_posix() for file in path.parent.glob(name))
            chosen |= dict.fromkeys(match for match in matches if match not in named)
        elif (path.parent / name).resolve() == path.resolve():
            raise ConfigError(f"{path.name}: include: the file names itself; remove {name!r} from the list")
        elif (path.parent / name).is_file():
            chosen[name] = None
        else:
            raise ConfigError(
                f"{path.name}: include: there is no file {path.parent / name}; paths are relative to {path.name}"
            )
    return list(chosen)


_Entries = dict[str, tuple[Any, str]]
"""Entries of one block by name, each with the file that it stands in."""


def _add_entries(present: _Entries, block: str, entries: Any, file: str) -> None:
    """Add the entries of one block, refusing names that exist with another content."""
    if not isinstance(entries, dict):
        raise ConfigError(f"{file}: {block} is {entries!r}: give names and their entries")
    for name, entry in entries.items():
        if name in present and present[name][0] != entry:
            source = present[name][1]
            raise ConfigError(f"{file}: {block}.{name} also stands, otherwise, in {source}; rename one of them")
        present.setdefault(name, (entry, file))


_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml: ten times faster


def parse(text: str) -> Any:
    """Return what a YAML text says.

    Raises:
        yaml.YAMLError: it is not valid YAML.
    """
    return yaml.load(text, Loader=_SafeLoader)  # noqa: S506 (a SafeLoader)


class _UniqueKeyLoader(_SafeLoader):  # type: ignore[misc, valid-type]
    """Refuses a mapping that has a key twice, which YAML would settle silently by the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # "<<": keys of its own go before those it brings
                continue
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if not isinstance(key, Hashable):
                raise yaml.YAMLError(f"line {line}: key {key!r} is a list or mapping; give a name")
            if key in seen:
                raise yaml.YAMLError(f"line {line}: key {key!r} stands twice; remove one of them")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _file_label(path: Path) -> str:
    """Return a file as messages name it: one of a paper with its folder, since each paper has a ``grid.yaml``."""
    tail = path.absolute().parts[-3:]
    return "/".join(tail) if tail[0] == "papers" else path.name


def parse_strictly(text: str) -> Any:
    """Return what a YAML text says, whose mappings must not have a key twice.

    Raises:
        yaml.YAMLError: it is not valid YAML, or a key stands twice.
    """
    return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file."""
    try:
        content = parse_strictly(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a params.yaml") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{_file_label(path)}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(
            f"{_file_label(path)}: holds {type(content).__name__}, not keys and values; see the one shipped"
        )
    return content
