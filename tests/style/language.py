"""How far the source speaks in nouns of the field: counts of names and comments, printed per house and folder.

    python -m tests.style.language [FOLDER ...]

Counted are names that code binds: functions, classes, parameters, and targets of assignments, loops, comprehensions,
``with`` and ``except``. A name counts as a pronoun if it is in :data:`PRONOUNS`, a list of words that stand for
something else. Comments are counted per 100 lines of code, without docstrings and blank lines. These counts are
thermometers: a rename that says nothing new, or a comment that repeats its line, lowers a count and helps no reader.
"""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

PRONOUNS = frozenset(
    [
        "found",
        "own",
        "one",
        "every",
        "of",
        "other",
        "others",
        "here",
        "there",
        "place",
        "wanted",
        "asked",
        "known",
        "kept",
        "left",
        "given",
        "shown",
        "words",
        "say",
        "said",
        "each",
        "two",
        "first",
        "second",
        "part",
        "parts",
        "what",
        "by",
        "at",
        "many",
        "few",
        "rest",
        "whole",
        "single",
        "both",
        "this",
        "that",
        "these",
        "those",
        "it",
        "them",
        "same",
        "such",
        "any",
        "some",
        "all",
        "none",
        "held",
    ]
)
"""Words that a name must not consist of; ``first_row`` or ``other_group`` are nouns and do not count."""


@dataclass
class Count:
    """What one or more files hold.

    Attributes:
        bound: how often each name is bound.
        classes: files in which each class name is defined.
        public: names of public functions, classes and constants at the top of modules.
        code: lines of code.
        comments: comments.
        lines: all lines.
    """

    bound: Counter[str] = field(default_factory=Counter)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    public: list[str] = field(default_factory=list)
    code: int = 0
    comments: int = 0
    lines: int = 0

    def add(self, other: "Count") -> None:
        """Add what another count holds."""
        self.bound.update(other.bound)
        for name, files in other.classes.items():
            self.classes[name].extend(files)
        self.public += other.public
        self.code += other.code
        self.comments += other.comments
        self.lines += other.lines

    @property
    def pronouns(self) -> Counter[str]:
        """Return how often each pronoun is bound."""
        return Counter({name: times for name, times in self.bound.items() if name.removeprefix("_") in PRONOUNS})

    @property
    def share(self) -> float:
        """Return the share of pronouns among bound names."""
        return self.pronouns.total() / max(self.bound.total(), 1)

    @property
    def doubled(self) -> dict[str, list[str]]:
        """Return the names of classes that are defined in more than one file, with the files."""
        return {name: files for name, files in self.classes.items() if len(files) > 1}


def count_file(path: Path) -> Count:
    """Count one file of Python."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    count = Count(lines=text.count("\n"))
    count.bound.update(_bound(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            count.classes[node.name].append(path.relative_to(ROOT).as_posix())
    count.public = [name for name in _top(tree) if not name.startswith("_")]
    count.comments, count.code = _lines(text, tree)
    return count


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _top(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _lines(text: str, tree: ast.AST) -> tuple[int, int]:
    """Return the number of comments and of lines of code; texts that are statements of their own are neither."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    comments, code = 0, set[int]()
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += not token.string.startswith(("# noqa", "# type:", "# fmt:"))
        elif token.type not in layout:
            code.update(range(token.start[0], token.end[0] + 1))
    return comments, len(code - prose)


def count_files(files: Iterable[Path]) -> Count:
    """Count several files together."""
    total = Count()
    for path in files:
        total.add(count_file(path))
    return total


def folders(root: Path = SOURCE) -> dict[str, list[Path]]:
    """Return the Python files below a folder by their package and the folder inside it."""
    grouped: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        grouped["/".join(path.relative_to(root).parts[:-1][:2])].append(path)
    return grouped


def main(arguments: list[str]) -> None:
    """Print the counts of the folders below ``src``, or of the folders given, with their commonest pronouns."""
    grouped = {name: sorted(Path(name).resolve().rglob("*.py")) for name in arguments} if arguments else folders(SOURCE)
    total = Count()
    row = "{:42s} {:>7s} {:>8s} {:>9s} {:>8s} {:>7s}  {}"
    print(row.format("folder", "lines", "pronouns", "comments", "public", "classes", "commonest pronouns"))
    print(row.format("", "", "% names", "/100 code", "names", "doubled", ""))
    for name, files in [*grouped.items(), ("total", [])]:
        count = count_files(files) if files else total
        common = " ".join(f"{word} {times}" for word, times in count.pronouns.most_common(5))
        cells = (f"{count.lines:,}", f"{100 * count.share:.1f}", f"{100 * count.comments / max(count.code, 1):.1f}")
        print(row.format(name, *cells, str(len(count.public)), str(len(count.doubled)), common))
        if count is not total:
            total.add(count)


if __name__ == "__main__":
    main(sys.argv[1:])
