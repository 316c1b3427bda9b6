"""Holds the source to nouns of the field: a room may bind no more pronouns than it does, nor a house double a class.

    python -m tests.style.language [--record | FOLDER ...]

Counted are names that code binds (functions, classes, parameters, targets) and that are in :data:`PRONOUNS`;
:data:`BAR` is the share that a room should stay below. ``language.json`` beside this file has the number of each room
and the class names that a house defines in two files; both may only shrink, and ``--record`` lowers them. Comments per
100 lines of code are printed: solvers and kernels should have eight or more. These counts are thermometers: a rename
that says nothing new, or a comment that repeats its line, lowers a count and helps no reader.
"""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partialfair.data.files import read_json, write_json

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("language.json")
BAR = 0.005
MARKS = ("# noqa", "# type", "# fmt:")
PRONOUNS = frozenset((
    "found", "own", "one", "every", "of", "other", "others", "here", "there", "place", "wanted", "asked", "known",
    "kept", "left", "given", "shown", "words", "say", "said", "each", "two", "first", "second", "part", "parts",
    "what", "by", "at", "many", "few", "rest", "whole", "single", "both", "this", "that", "these", "those", "it",
    "them", "same", "such", "any", "some", "all", "none", "held",
))  # fmt: skip
"""Words that a name must not consist of; ``first_row`` or ``other_group`` are nouns and do not count."""


@dataclass
class Count:
    """What files hold: how often they bind each name, where classes are, lines of code, and comments."""

    bound: Counter[str] = field(default_factory=Counter)
    classes: dict[str, set[Path]] = field(default_factory=lambda: defaultdict(set))
    code: int = 0
    comments: int = 0

    @property
    def pronouns(self) -> Counter[str]:
        """Return how often each pronoun is bound."""
        return Counter({name: times for name, times in self.bound.items() if name.removeprefix("_") in PRONOUNS})


def count_files(files: Iterable[Path]) -> Count:
    """Count files of Python together."""
    total = Count()
    for path in files:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        total.bound.update(_bound(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                total.classes[node.name].add(path)
        comments, code = _lines(text, tree)
        total.comments, total.code = total.comments + comments, total.code + code
    return total


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            yield node.name or ""
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _lines(text: str, tree: ast.AST) -> tuple[int, int]:
    """Return the number of comments and of lines of code; texts that are statements of their own are neither."""
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    prose = {number for node in texts for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    code = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = sum(token.type == tokenize.COMMENT and token.string[:6] not in MARKS for token in tokens)
    return comments, len({*code} - prose)


def rooms(root: Path = ROOT) -> dict[str, list[Path]]:
    """Return the Python files of each room: a folder of a package, or what a paper has besides its tests."""
    grouped: dict[str, list[Path]] = defaultdict(list)
    for path in sorted([*root.glob("src/**/*.py"), *root.glob("papers/*/**/*.py")]):
        folders = path.relative_to(root).parts[:-1]
        if "tests" not in folders:
            grouped["/".join(folders[:3] if folders[0] == "src" else folders[:2])].append(path)
    return grouped


def measured(grouped: dict[str, list[Path]]) -> dict[str, Any]:
    """Return the number of pronouns of each room, and the doubled classes of each house: a package or a paper."""
    houses: dict[str, list[Path]] = defaultdict(list)
    for room, files in grouped.items():
        houses["/".join(room.split("/")[:2])] += files
    pronouns = {room: count_files(files).pronouns.total() for room, files in grouped.items()}
    classes = {house: count_files(files).classes.items() for house, files in houses.items()}
    doubled = {house: sorted(name for name, where in items if len(where) > 1) for house, items in classes.items()}
    return {"pronouns": pronouns, "doubled": doubled}


def excess(now: dict[str, Any], stored: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each room with more pronouns, and each class name doubled, than is stored."""
    for room, times in now["pronouns"].items():
        if times > (limit := stored["pronouns"].get(room, 0)):
            yield f"{room}: {times} names are pronouns, {times - limit} more than it may have; name what they stand for"
    for house, names in now["doubled"].items():
        for name in sorted({*names} - {*stored["doubled"].get(house, ())}):
            yield f"{house}: class {name} is defined in two files; rename one of them"


def lowered(now: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored, lowered to what is so now."""
    pronouns = {room: min(times, stored["pronouns"].get(room, 0)) for room, times in now["pronouns"].items()}
    doubled = {house: sorted({*names} & {*stored["doubled"].get(house, ())}) for house, names in now["doubled"].items()}
    return {"pronouns": pronouns, "doubled": doubled}


def print_table(grouped: dict[str, list[Path]]) -> None:
    """Print lines, share of pronouns, density of comments and commonest pronouns of each room."""
    print(f"{'room':<36}{'code':>8}{'pronouns':>10}{'comments':>10}  commonest pronouns")
    for room, files in grouped.items():
        count = count_files(files)
        share, density = count.pronouns.total() / max(count.bound.total(), 1), 100 * count.comments / max(count.code, 1)
        common = " ".join(f"{word} {times}" for word, times in count.pronouns.most_common(5))
        print(f"{room:<36}{count.code:>8,}{share:>9.2%}{'!' * (share >= BAR):1}{density:>10.1f}  {common}")


def main(arguments: list[str]) -> int:
    """Print the counts of all rooms, or of the folders that are named; return the exit status."""
    if arguments and arguments != ["--record"]:
        print_table({name: sorted(Path(name).resolve().rglob("*.py")) for name in arguments})
        return 0
    now, stored = measured(grouped := rooms()), read_json(STORED)
    if arguments:
        write_json(STORED, lowered(now, stored))
        return 0
    print_table(grouped)
    sys.stderr.writelines(wrong := [f"{sentence}\n" for sentence in excess(now, stored)])
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
