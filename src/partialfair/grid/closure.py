"""Fingerprints of source: what changes if code that a job can execute changes, and only then.

They are taken from the syntax trees of a module and of everything of this package that it imports, without docstrings:
comments, blank lines, layout and documentation do not change them, and any change of code does. Modules count by
content, not by name or place: an import stands for the text of what it imports, so moving or renaming a module outdates
nothing.


any case, which leaves MEASURE
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from partialfair.errors import PluginError

SOURCE = Path(__file__).parents[2]
PACKAGE = __name__.partition(".")[0]

_PLUMBING = (
    "commands.cli",
    "grid.checks",
    "grid.closure",
    "grid.config",
    "grid.fingerprint",
    "grid.params",
    "grid.paths",
    "grid.reading",
    "plugins",
)
PLUMBING = frozenset(f"{PACKAGE}.{name}" for name in _PLUMBING)
"""Modules left out: all they can do to a job's result is to hand it its settings and its plug-ins, and both
are tracked by themselves (the settings as another ``params:`` entry, the plug-ins as further roots)."""


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
    contents = {_read(module)[0] for module in closure(*modules)}
    return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()[:16]


def modules_of(package: str) -> list[str]:
    """Return every module of a folder of this package."""
    return [
        f"{PACKAGE}.{package}.{path.stem}"
        for path in sorted(SOURCE.joinpath(PACKAGE, *package.split(".")).glob("[a-z]*.py"))
    ]


@cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """Return the hash of one module's own code and the package modules it imports.

    An import of this package stands in the hash for the text of the module that it names.
    """
    tree, folder, package = _parsed(module)
    nodes = _stripped(tree)
    idle = _only_typed(nodes)
    targets = {node: [] if node in idle else _targets(node, package) for node in nodes if _is_import(node)}
    found = set(_parents(module)).union(
        *targets.values(), *(_parents(name) for many in targets.values() for name in many)
    )
    digest = hashlib.sha256(_dump(tree, _Names(package, idle)).encode())
    for resource in _resources(nodes, folder):
        digest.update(resource.read_bytes())
    return digest.hexdigest(), frozenset(found)


@cache
def _text_hash(module: str) -> str:
    """Return the hash of a module's code with the imports of this package left out; plumbing counts as nothing."""
    if module in PLUMBING:
        return "plumbing"
    tree, _, package = _parsed(module)
    nodes = _stripped(tree)
    return hashlib.sha256(_dump(tree, _Names(package, set(nodes))).encode()).hexdigest()


def _parsed(module: str) -> tuple[ast.Module, Path, str]:
    """Return the syntax tree of a module, its folder, and the package that relative imports start from.

    Raises:
        PluginError: the module does not exist or is not valid Python.
    """
    path = _file(module)
    if path is None:  # only reached for names found by _file
        raise PluginError(f"no module {module}")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise PluginError(f"{path.name}, line {error.lineno}: {error.msg}; correct it") from error
    return tree, path.parent, module if path.name == "__init__.py" else module.rpartition(".")[0]


def _stripped(tree: ast.Module) -> list[ast.AST]:
    """Remove docstrings and the version number, which no result depends on; return the nodes that are left."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # which grows
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                statement for statement in body if not (_is_text(statement) or _is_version(statement))
            ]
        nodes.extend(ast.iter_child_nodes(node))
    return nodes


def _is_text(statement: ast.AST) -> bool:
    """Tell a bare text: a docstring, or a note under an assignment."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_version(statement: ast.AST) -> bool:
    """Tell ``__version__ = ...``."""
    return isinstance(statement, ast.Assign) and [getattr(t, "id", "") for t in statement.targets] == ["__version__"]


class _Names:
    """What the imports of a module stand for in its hash.

    Args:
        package: from which relative imports start.
        idle: import statements that never run; they stand for nothing.
    """

    def __init__(self, package: str, idle: set[ast.AST]) -> None:
        self.package, self.idle = package, idle
        self.modules: dict[str, str] = {}

    def of_import(self, node: ast.Import | ast.ImportFrom) -> str | None:
        """Return what stands for an import statement; ``None`` for one of another package, which stays as it is."""
        base = _base(node, self.package)
        if isinstance(node, ast.Import) and not any(_file(alias.name) for alias in node.names):
            return None
        if isinstance(node, ast.ImportFrom) and (base is None or _file(base) is None):
            return None
        parts = []
        for alias in node.names:
            whole = alias.name if base is None else f"{base}.{alias.name}"
            if _file(whole) is not None:  # a module: its name in this file counts for nothing
                text = "" if node in self.idle else _text_hash(whole)
                self.modules[alias.asname or alias.name] = f"module {text}"
                parts.append(text)
            else:
                text = "" if node in self.idle or base is None else _text_hash(base)
                parts.append(f"{alias.name} as {alias.asname or alias.name} of {text}")
        return f"Import({','.join(sorted(parts))})"


def _dump(node: object, names: _Names) -> str:
    """Return a syntax tree as text that is the same under all Python versions and wherever imported modules stand.

    ``ast.dump`` is not: later versions add fields (type parameters) and leave out empty ones.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        stands_for = names.of_import(node)
        if stands_for is not None:
            return stands_for
    if isinstance(node, ast.Name) and node.id in names.modules:
        return f"Name({names.modules[node.id]})"
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields if name != "ctx")
        inside = ",".join(
            f"{name}={_dump(value, names)}" for name, value in fields if value is not None and value != []
        )
        return f"{type(node).__name__}({inside})"
    if isinstance(node, list):
        if any(_is_import(item) for item in node):  # the order of imports follows the names of modules
            imports = sorted(_dump(item, names) for item in node if _is_import(item))
            node = [item for item in node if not _is_import(item)]
            return "[" + ",".join([*imports, *(_dump(item, names) for item in node)]) + "]"
        return "[" + ",".join(_dump(item, names) for item in node) + "]"
    return repr(node)


def _is_import(node: object) -> bool:
    """Tell an import statement."""
    return isinstance(node, ast.Import | ast.ImportFrom)


def _base(node: ast.AST, package: str) -> str | None:
    """Return the module that a ``from`` import names, in absolute form; ``None`` for other statements."""
    if not isinstance(node, ast.ImportFrom):
        return None
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, base] if base else above)
    return base


def _targets(node: ast.AST, package: str) -> list[str]:
    """Return the modules of this package that an import statement may import."""
    base = _base(node, package)
    names = [alias.name if base is None else f"{base}.{alias.name}" for alias in getattr(node, "names", [])]
    return [name for name in ([] if base is None else [base]) + names if _file(name) is not None]


def _only_typed(nodes: list[ast.AST]) -> set[ast.AST]:
    """Return the nodes under ``if TYPE_CHECKING:``, which are never executed."""
    return {
        inside
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in node.body
        for inside in ast.walk(statement)
    }


def _resources(nodes: list[ast.AST], folder: Path) -> Iterable[Path]:
    """Return the data files beside a module that a text constant of it names."""
    texts = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value[1:]
    }
    named = (folder / text for text in sorted(texts) if len(text) < 200 and "\n" not in text and "\0" not in text)
    return [path for path in named if path.suffix != ".py" and path.is_file()]


def _parents(module: str) -> Iterator[str]:
    """Yield the packages that hold a module."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        yield ".".join(parts[:length])


@cache
def _file(module: str) -> Path | None:
    """Return the file of a module of this package, or ``None`` if it is none."""
    if module.split(".")[0] != PACKAGE:
        return None
    path = SOURCE.joinpath(*module.split("."))
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)
