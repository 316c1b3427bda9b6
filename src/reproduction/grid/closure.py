"""Fingerprints of source: what changes if code that a job can execute changes, and only then.

They are taken from the syntax trees of a module and of everything of this project that it imports, without docstrings:
comments, blank lines, layout and documentation do not change them, and any change of code does. Modules count by
content, not by name or place: an import stands for the text of what it imports, so moving or renaming a module outdates
nothing. Of a family with an option, named ``module:value``, the other values' variants do not count.

Imports are found here rather than by grimp, which ``make lint`` uses: the trees are read for their content in any case,
in which imports have to be replaced, so that nothing would be saved, and every job would need grimp and the tenth of a
second that its graph takes.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from partialfair.errors import PluginError
from reproduction import plugin_folders
from reproduction.grid import answer_cache

SOURCE = Path(__file__).parents[2]
LIBRARY, WORKBENCH, PAPERS = "partialfair", "reproduction", "papers"
HOUSES = {LIBRARY: SOURCE, WORKBENCH: SOURCE, PAPERS: plugin_folders.project()}
"""The packages whose modules count, each with the folder that holds it."""

PLUMBING = frozenset(
    {
        "partialfair.commands.cli",
        "partialfair.plugins",
        "reproduction.grid.checks",
        "reproduction.grid.closure",
        "reproduction.grid.config",
        "reproduction.grid.fingerprint",
        "reproduction.grid.answer_cache",
        "reproduction.grid.params",
        "reproduction.grid.paths",
        "reproduction.grid.reading",
    }
)
"""Modules left out: all they can do to a job's result is to hand it its settings and its plug-ins, and both
are tracked by themselves (the settings as another ``params:`` entry, the plug-ins as further roots)."""

GUARDS = frozenset(("partialfair.data.guards",))
"""Modules whose decorators are left out, with what they import: a guard hands on what a job passes as it is, which its
tests hold it to, and what it does to arguments of people changes no job's result."""

LOOKS = frozenset(("label", "look", "paper"))
"""Attributes of an algorithm (a class derived from ``Algorithm[...]`` or the like) that say how exhibits show it."""


def closure(*modules: str) -> tuple[str, ...]:
    """Return the dotted names of ``modules`` and of all package modules they import, sorted.

    Imports inside functions count; those under ``if TYPE_CHECKING:`` do not, since they never run. The
    packages that hold a module are part of its closure, as importing it runs their ``__init__``.

    Raises:
        PluginError: a module does not exist or is not valid Python.
    """
    for module in modules:
        if _file(module) is None:
            raise PluginError(f"no module {module}; it is not part of this package")
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module in reached or module in PLUMBING:
            continue
        reached.add(module)
        waiting.extend(_read(module)[1])
    return tuple(sorted(reached))


@cache
def closure_hash(*modules: str) -> str:
    """Return 16 hexadecimal digits that change if code in the closure of ``modules`` changes.

    Raises:
        PluginError: see :func:`closure`.
    """
    return answer_cache.answer(f"closure {' '.join(sorted(set(modules)))}", lambda: _hash(modules))


def _hash(modules: tuple[str, ...]) -> str:
    # a set of contents, sorted: neither names of modules nor their order count
    contents = {_read(module)[0] for module in closure(*modules)}
    return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()[:16]


@cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """Return the hash of one module's own code and the package modules it imports.

    An import of this package stands in the hash for the text of the module that it names.
    """
    code, resources, imported = _parsed(module)
    # one level of imports stands for its text here; deeper ones count because closure_hash takes every module reached
    text = _IMPORTS.sub(lambda imports: _content(imports[1]), code)
    digest = hashlib.sha256(text.encode())
    for path in resources:
        digest.update(path.read_bytes())
    return digest.hexdigest(), imported


@cache
def _text_hash(module: str) -> str:
    """Return the hash of a module's code without what its imports stand for; plumbing counts as nothing."""
    if module in PLUMBING:
        return "plumbing"
    return hashlib.sha256(_IMPORTS.sub("", _parsed(module)[0]).encode()).hexdigest()


_IMPORTS = re.compile("\x02([^\x03]*)\x03")
"""In the text of a tree: a list of what is imported, each as words, a tab and a module of this package."""


def _content(imports: str) -> str:
    """Return what a list of imports stands for; its order follows the names of modules, which count for nothing."""
    rows = (line.partition("\t") for line in imports.split("\n"))
    return ",".join(sorted(f"{clause}{_text_hash(module)}" for clause, _, module in rows))


@cache
def _parsed(module: str) -> tuple[str, tuple[Path, ...], frozenset[str]]:
    """Return the text of a module's tree, the data files that count with it, and the package modules it imports.

    Raises:
        PluginError: the module does not exist or is not valid Python.
    """
    path = _file(module)
    if path is None:  # only reached for names found by _file
        raise PluginError(f"no module {module}")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        where = path.relative_to(HOUSES[module.partition(".")[0]])
        raise PluginError(f"{where}, line {error.lineno}: {error.msg}; correct it") from error
    module, _, value = module.partition(":")
    if value:
        _keep_variant(tree, value)
    text = _Text(module if path.name == "__init__.py" else module.rpartition(".")[0])
    code = text.of(tree)
    named = {name for target in (module, *text.imported) for name in _with_parents(target)} - {module}
    modules = {name for name in named if _file(name) is not None}  # a folder of a paper need not be a package
    return code, tuple(_resources(text.words, path.parent)), frozenset(modules)


class _Text:
    """Syntax trees of a module as text that is the same under all Python versions and wherever other modules stand.

    ``ast.dump`` is not: later versions add fields (type parameters) and leave out empty ones.

    Args:
        package: from which relative imports start.

    Attributes:
        imported: modules of this package that the trees so far import.
        words: text constants of the trees so far.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.imported: set[str] = set()
        self.words: set[str] = set()
        self._modules: dict[str, str] = {}
        self._guards: set[str] = set()

    def of(self, node: Any) -> str:
        """Return a tree, or a list of them, as text; docstrings and the version number are left out."""
        if isinstance(node, list):
            return self._of_list([item for item in node if not (_is_text(item) or _is_version(item))])
        kind = type(node)
        if not issubclass(kind, ast.AST):
            return repr(node)
        if kind is ast.Name and node.id in self._modules:
            return f"Name(\x02module \t{self._modules[node.id]}\x03)"
        if kind is ast.If and _is_for_types(node.test):
            node.body = []  # never runs
        if kind is ast.ClassDef and any(isinstance(base, ast.Subscript) for base in node.bases):
            node.body = [statement for statement in node.body if not _is_look(statement)]
        if kind is ast.FunctionDef and self._guards:
            node.decorator_list = [mark for mark in node.decorator_list if not self._is_guard(mark)]
        if kind is ast.Constant and isinstance(node.value, str):
            self.words.add(node.value)
        fields = []
        for name in node._fields:
            value = None if name == "ctx" else getattr(node, name, None)
            if value is not None and value != []:
                fields.append(f"{name}={self.of(value)}")
        return f"{kind.__name__}({','.join(fields)})"

    def _of_list(self, nodes: list[object]) -> str:
        """Return statements as text, what they import of this package first."""
        nodes = [node for node in nodes if not self._imports_guards(node)]
        imports = {number: self._imports(node) for number, node in enumerate(nodes)}
        import_texts = [clause for clauses in imports.values() for clause in clauses]
        texts = [self.of(node) for number, node in enumerate(nodes) if not imports[number]]
        return "[" + ",".join(["\x02" + "\n".join(import_texts) + "\x03"] * bool(import_texts) + texts) + "]"

    def _imports_guards(self, node: object) -> bool:
        """Tell ``from ...tables import guards``, and note the name that guards have in this module."""
        if not isinstance(node, ast.ImportFrom) or len(node.names) != 1:
            return False
        (alias,) = node.names
        is_guards = f"{_base(node, self.package)}.{alias.name}" in GUARDS
        self._guards |= {alias.asname or alias.name} if is_guards else set()
        return is_guards

    def _is_guard(self, mark: ast.expr) -> bool:
        """Tell the decorator ``@guards.name``."""
        return isinstance(mark, ast.Attribute) and isinstance(mark.value, ast.Name) and mark.value.id in self._guards

    def _imports(self, node: object) -> list[str]:
        """Return what a statement imports of this package, as words, a tab and a module; nothing for other statements.

        A module's own name in the file that imports it counts for nothing.
        """
        if not isinstance(node, ast.Import | ast.ImportFrom):
            return []
        base = _base(node, self.package) if isinstance(node, ast.ImportFrom) else ""
        clauses = []
        for alias in node.names:
            target = f"{base}.{alias.name}" if base else alias.name
            if _file(target) is not None:
                self._modules[alias.asname or alias.name] = target
                clauses.append(("", target))
            elif _file(base) is not None:
                clauses.append((f"{alias.name} as {alias.asname or alias.name} of ", base))
        self.imported |= {module for _, module in clauses} | ({base} if clauses and base else set())
        return [f"{clause}\t{module}" for clause, module in clauses]


def _is_text(node: object) -> bool:
    """Tell a bare text: a docstring, or a note under an assignment."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_version(node: object) -> bool:
    """Tell ``__version__ = ...``."""
    return isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__version__"]


def _is_look(node: object) -> bool:
    """Tell what a plug-in declares for exhibits alone: they count it by value, and no run depends on it."""
    names = [getattr(target, "id", "") for target in node.targets] if isinstance(node, ast.Assign) else []
    return len(names) == 1 and names[0] in LOOKS


def _is_for_types(test: ast.expr) -> bool:
    """Tell the condition of ``if TYPE_CHECKING:``."""
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _base(node: ast.ImportFrom, package: str) -> str:
    """Return the module that a ``from`` import names, in absolute form."""
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _resources(texts: Iterable[str], folder: Path) -> Iterator[Path]:
    """Yield the data files that text constants of a module name: files beside it, and those of folders beside it."""
    for word in sorted(texts):
        if not word or len(word) > 200 or "\n" in word or "\0" in word or word.strip("./") != word or word[0] == "_":
            continue
        path = folder / word
        if "." in word and path.suffix != ".py" and path.is_file():
            yield path
        elif path.is_dir() and not any(path.glob("*.py")):
            yield from sorted(inside for inside in path.rglob("*") if inside.is_file())


def _keep_variant(tree: ast.Module, value: str) -> None:
    """Leave out of a family's table ``VARIANTS`` the variants of other values than one."""
    for node in tree.body:
        names = [getattr(target, "id", "") for target in node.targets] if isinstance(node, ast.Assign) else []
        table = getattr(node, "value", None)
        if names == ["VARIANTS"] and isinstance(table, ast.Dict):
            position = [getattr(key, "value", None) for key in table.keys].index(value)
            table.keys, table.values = [table.keys[position]], [table.values[position]]


def _with_parents(module: str) -> Iterator[str]:
    """Yield a module and the packages that hold it."""
    names = module.split(".")
    for length in range(1, len(names) + 1):
        yield ".".join(names[:length])


@cache
def _file(module: str) -> Path | None:
    """Return the file of a module of the three houses, or ``None`` if it is none."""
    module = module.partition(":")[0]
    house = module.partition(".")[0]
    if house not in HOUSES:
        return None
    path = HOUSES[house].joinpath(*module.split("."))
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)
