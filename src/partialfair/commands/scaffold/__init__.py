"""Skeletons of new plug-ins: a documented module that works, and its test."""

import re
from dataclasses import dataclass
from pathlib import Path

from partialfair import plugins
from partialfair.errors import ConfigError
from partialfair.tables.files import atomic_path

TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True)
class Kind:
    """Where the files of a kind of plug-in stand, and what to do once they are there."""

    folder: str
    next_steps: tuple[str, ...]


KINDS = {
    "dataset": Kind(
        "datasets",
        (
            "put the raw file at data/raw/{name}/{name}.csv and describe it in {module}",
            "add `{name}: {{}}` under datasets in params.yaml, and under the runs of an experiment",
        ),
    ),
    "algorithm": Kind(
        "algorithms",
        (
            "replace the solver in {module} by your own",
            "add `{name}: [0.1, 0.05]` under the algorithms of an experiment in params.yaml",
        ),
    ),
    "metric": Kind("metrics", ("replace the formula in {module}; the evaluation reports it without further ado",)),
}


@dataclass(frozen=True)
class Created:
    """The files of a skeleton, relative to the project, and what to do next."""

    module: Path
    test: Path
    next_steps: tuple[str, ...]


def create(kind: str, name: str, project: str | Path = ".") -> Created:
    """Write a skeleton into the source tree.

    Args:
        kind: ``"dataset"``, ``"algorithm"`` or ``"metric"``.
        name: the plug-in's name: lower case letters, digits and underscores.
        project: root of the source tree, which has ``src/partialfair`` and ``tests``.

    Raises:
        ConfigError: another kind, a name that cannot be one, a file that exists, or no source tree.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}; {plugins.did_you_mean(kind, KINDS)}")
    if not NAME.fullmatch(name):
        raise ConfigError(f"name {name!r}: use lower case letters, digits and underscores, beginning with a letter")
    root = Path(project)
    if not (root / "src" / "partialfair").is_dir() or not (root / "tests").is_dir():
        raise ConfigError(
            f"{root.resolve()} has no src/partialfair and tests; run this in a checkout of the project, or name it "
            "with --project"
        )
    folder = KINDS[kind].folder
    module = Path("src", "partialfair", folder, f"{name}.py")
    test = Path("tests", folder, f"test_{name}.py")
    for path in (module, test):
        if (root / path).exists():
            raise ConfigError(f"{path} exists already; choose another name, or move the file away")
    _write(root / module, f"{kind}.txt", name)
    _write(root / test, f"{kind}_test.txt", name)
    return Created(module, test, tuple(step.format(name=name, module=module) for step in KINDS[kind].next_steps))


def _write(target: Path, template: str, name: str) -> None:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    text = text.replace("__NAME__", name).replace("__TITLE__", name.replace("_", " "))
    text = text.replace("__CLASS__", "".join(part.capitalize() for part in name.split("_")))
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
