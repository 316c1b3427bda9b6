"""The list of mutants: deliberate faults in the core, each with the tests that must notice it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "mutants"


class MutantError(Exception):
    """An entry that cannot be applied."""


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        name: ``room/what is wrong``, unique.
        file: relative to the project.
        old, new: a text that the file has exactly once, and what stands in its place.
        tests: files, or tests in them as pytest names them, that must notice it.
        survives: why no test can or need notice it; empty for all others.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    def applied(self, source: str) -> str:
        """The file with the fault.

        Raises:
            MutantError: the old text is not there exactly once.
        """
        found = source.count(self.old)
        if found != 1:
            raise MutantError(f"{self.name}: its old text is {found} times in {self.file}; correct the entry")
        return source.replace(self.old, self.new)


def mutants(folder: Path = FOLDER) -> list[Mutant]:
    """Every mutant, in the order of the files and entries."""
    return [mutant for path in sorted(folder.glob("*.yaml")) for mutant in _of_file(path)]


def _of_file(path: Path) -> Iterator[Mutant]:
    for part in yaml.safe_load(path.read_text(encoding="utf-8")):
        for entry in part["mutants"]:
            yield _mutant(path.stem, part, entry)


def _mutant(room: str, part: dict[str, Any], entry: dict[str, Any]) -> Mutant:
    tests = entry.get("tests", part["tests"])
    name = f"{room}/{entry['name']}"
    return Mutant(name, part["file"], entry["old"], entry["new"], tuple(tests), entry.get("survives", ""))
