"""Plug-ins: every module of a folder that binds the marker of its kind, found without being imported.

The folders stand in this package and in others that are declared (:mod:`partialfair.extensions`), such as a paper's.

A new dataset, algorithm or constraint is one new file, whose name is the plug-in's name. Names are found
by reading the files as text, so listing them stays cheap however heavy the modules are to import.
(Metrics are single functions and have a registry of their own, :mod:`partialfair.metrics.registry`.)

A constraint module may be a family with an option: it binds ``OPTION``, the option's name, and ``VARIANTS``, which maps
the option's values to variants with a name each (:class:`partialfair.constraints.family.Variant`). Those names are the
plug-ins' names; ``{name: FAMILY, OPTION: value}`` is another way to write one of them, and :func:`resolved` the only
place where it is read.
"""

import ast
import difflib
import errno
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from partialfair.errors import PartialFairError, PluginError, ResourceError
from partialfair.extensions import added

Result = TypeVar("Result")

ROOT = Path(__file__).parent
PACKAGE = "partialfair"

MARKERS = {
    "datasets": "SPEC",
    "algorithms": "ALGORITHM",
    "constraints": "VIOLATION|VARIANTS",
    "constraints/losses": "LOSS",
    "exhibits": "KIND",
}
"""Top-level names, any of which makes a module in a folder, or below it, a plug-in; other modules there are helpers."""

SINGULAR = {
    "datasets": "dataset",
    "algorithms": "algorithm",
    "constraints": "constraint",
    "constraints/losses": "loss",
    "exhibits": "kind",
}
"""What a plug-in of each folder is called."""

CONTRACT = {
    "datasets": ("SPEC.name", "SPEC.files", "SPEC.split", "load"),
    "algorithms": ("ALGORITHM.settings", "ALGORITHM.fit"),
    "constraints": ("VIOLATION", "build"),
}
"""What a plug-in of each folder must offer."""

FAMILY = ("OPTION", "VARIANTS", "build")
"""What a module of a family of constraints must offer."""


@dataclass(frozen=True)
class Member:
    """A member of a family: one of the plug-ins of a module that has an option.

    Attributes:
        family: name of the module.
        option: name of the family's option.
        value: value of the option that chooses the member.
        name: the member's name as a plug-in.
    """

    family: str
    option: str
    value: str
    name: str


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like ``word``, or ``None`` if nothing is alike."""
    names = list(candidates)
    holding = _holding(word, names)
    matches = holding if len(holding) == 1 else difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return matches[0] if matches else None


def _holding(word: str, candidates: Iterable[str]) -> list[str]:
    """Names that hold a word of three letters or more: what was left off is likelier than what was mistyped."""
    return [name for name in candidates if len(word) > 2 and word.lower() in name.lower() and name != word]


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return the tail of an error message: the nearest valid name, else all of them."""
    valid = sorted(candidates)
    if 1 < len(holding := _holding(word, valid)) <= 3:
        return f"did you mean {' or '.join(map(repr, holding))}?"
    match = nearest(word, valid)
    if match is not None:
        return f"did you mean {match!r}?"
    return f"choose from {', '.join(valid)}" if valid else "none is defined"


@cache
def homes() -> tuple[tuple[Path, str], ...]:
    """Return the packages that may hold folders of plug-ins, as their folder and dotted name; this one comes first."""
    return ((ROOT, PACKAGE), *(home for folders in added("plugins") for home in folders()))


def _home(path: Path) -> tuple[Path, str]:
    """Return the package that holds the file of a plug-in."""
    return next((folder, name) for folder, name in homes() if path.is_relative_to(folder))


def _file_label(path: Path) -> str:
    """Return the file of a plug-in as messages name it: without the packages that hold the folders of all plug-ins."""
    folder, name = _home(path)
    return "/".join((*name.split(".")[:-1], *(folder.name,) * ("." in name), *path.relative_to(folder).parts))


@cache
def _files(package: str) -> Mapping[str, Path]:
    """Return the files of the plug-ins in a folder and the folders below it by name, which is scanned once per process.

    Raises:
        PluginError: two files offer the same name.
    """
    marker = re.compile(rf"^({MARKERS[package]})\s*[:=]", re.MULTILINE)
    files: dict[str, Path] = {}
    for path in (path for folder, _ in homes() for path in sorted((folder / package).rglob("[a-z]*.py"))):
        if not marker.search(path.read_text(encoding="utf-8")):
            continue
        for name in [member.name for member in members(path)] or [path.stem]:
            if name in files:
                claims = f"{_file_label(files[name])} and {_file_label(path)}"
                raise PluginError(f"{claims} offer {name!r} twice; rename one of them")
            files[name] = path
    return dict(sorted(files.items()))


@cache
def members(path: Path) -> tuple[Member, ...]:
    """Return the members of the family that a module is, read from its text; empty if it has no option.

    Raises:
        PluginError: the module is not valid Python, or its table of variants cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    if not re.search(r"^VARIANTS\s*[:=]", text, re.MULTILINE):
        return ()
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise PluginError(f"{_file_label(path)}, line {error.lineno}: {error.msg}; correct it") from error
    assigned = [node for node in body if isinstance(node, ast.Assign) and len(node.targets) == 1]
    bound = {getattr(node.targets[0], "id", ""): node.value for node in assigned}
    option, table = _text(bound.get("OPTION")), bound.get("VARIANTS")
    pairs = list(zip(table.keys, table.values, strict=True)) if isinstance(table, ast.Dict) else []
    named = {_text(key): _text(_keyword(entry, "name")) for key, entry in pairs}
    if not option or not named or not all((*named, *named.values())):
        raise PluginError(
            f'{_file_label(path)}: its members cannot be read; write OPTION = "..." and '
            'VARIANTS = {"value": Variant(name="...", ...), ...} with plain texts'
        )
    return tuple(Member(path.stem, option, value, name) for value, name in named.items())


def _keyword(node: ast.expr, name: str) -> ast.expr | None:
    """Return the argument of a call under a keyword."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((keyword.value for keyword in keywords if keyword.arg == name), None)


def _text(node: ast.expr | None) -> str:
    """Return a text constant; empty if a node is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def member(package: str, name: str) -> Member | None:
    """Return the place of a plug-in in its family; ``None`` if its module has no option.

    Raises:
        PluginError: there is no such plug-in; the message names the nearest one.
    """
    return next((entry for entry in members(file_of(package, name)) if entry.name == name), None)


def families(package: str) -> dict[str, tuple[Member, ...]]:
    """Return the members of every family in a folder, by the family's name."""
    files = sorted(set(_files(_short(package)).values()))
    return {path.stem: members(path) for path in files if members(path)}


def resolved(package: str, choice: Any) -> str:
    """Return the name of the plug-in that a choice means: a name, or a family's name with its option.

    Args:
        package: folder of the plug-ins.
        choice: a name, or a mapping with ``name`` and the option of the family of that name.

    Raises:
        PluginError: there is no such family, option or value; the message says which there are.
    """
    name, options = chosen(choice)
    if not options:
        return name
    kind, with_option = SINGULAR[_short(package)], families(package)
    if name not in with_option:
        if name not in names(package):
            raise PluginError(f"unknown {kind} {name!r} with an option; {did_you_mean(name, with_option)}")
        raise PluginError(f"{kind} {name!r} takes no option, but {', '.join(options)} is given; write its name alone")
    option, values = with_option[name][0].option, {entry.value: entry.name for entry in with_option[name]}
    for key in options:
        if key != option:
            raise PluginError(f"unknown option {key!r} of {kind} {name!r}; did you mean {option!r}?")
    value = options[option]
    if not isinstance(value, str) or value not in values:
        raise PluginError(f"{option} of {kind} {name!r} is {value!r}; choose from {', '.join(values)}")
    return values[value]


def names(package: str) -> tuple[str, ...]:
    """Return the plug-in names of a folder of this package (for instance ``"datasets"``), sorted."""
    return tuple(_files(_short(package)))


def file_of(package: str, name: str) -> Path:
    """Return the file that is the plug-in ``name``.

    Raises:
        PluginError: there is no such plug-in; the message names the nearest one.
    """
    files = _files(_short(package))
    if name not in files:
        kind, family = SINGULAR[_short(package)], families(package).get(name)
        if family:
            form = f"{{name: {name}, {family[0].option}: {family[0].value}}}"
            raise PluginError(
                f"{kind} {name!r} is a family and needs its option {family[0].option}; use one of "
                f"{', '.join(entry.name for entry in family)} (in a grid, {form} is another form)"
            )
        raise PluginError(f"unknown {kind} {name!r}; {did_you_mean(name, files)}")
    return files[name]


def module_of(package: str, name: str) -> str:
    """Return the dotted name of the module that is the plug-in ``name``, without importing it.

    Raises:
        PluginError: there is no such plug-in; the message names the nearest one.
    """
    path = file_of(package, name)
    folder, home = _home(path)
    return ".".join((home, *path.relative_to(folder).with_suffix("").parts))


def source_of(package: str, name: str) -> str:
    """Return the module of a plug-in, and after a colon the value of its option: the code that can have a part in it.

    Raises:
        PluginError: there is no such plug-in; the message names the nearest one.
    """
    entry = member(package, name)
    return module_of(package, name) + (f":{entry.value}" if entry else "")


def load(package: str, name: str) -> ModuleType:
    """Import and return the module that is the plug-in ``name``; a member of a family reads as a module without option.

    Raises:
        PluginError: there is no such plug-in, it cannot be imported, or it lacks a part of its contract.
    """
    module = _imported(module_of(package, name), _short(package), file_of(package, name))
    entry = member(package, name)
    return module if entry is None else _of_member(module, entry)


@cache
def _of_member(module: ModuleType, entry: Member) -> ModuleType:
    """Return a family's module with its option chosen: what the variant says, and ``build`` without the option."""
    view, variant = ModuleType(module.__name__, module.__doc__), module.VARIANTS[entry.value]
    view.__dict__.update(vars(module))
    view.__dict__.update(
        TITLE=variant.title, VIOLATION=variant.violation, build=partial(module.build, **{entry.option: entry.value})
    )
    if variant.short:
        view.__dict__["SHORT"] = variant.short
    return view


def chosen(value: Any) -> tuple[str, dict[str, Any]]:
    """Return name and options of a choice given as a name, or as a mapping with ``name`` and its options."""
    if isinstance(value, str):
        return value, {}
    options = dict(value)
    return str(options.pop("name")), options


def is_fused(constraint: str, loss: Any = "logistic", surrogate: Any = "clipped_linear") -> bool:
    """Tell whether the compiled kernels serve a combination, or the general path has to.

    The kernels know the logistic loss, the clipped-linear surrogate, and constraints on hinge means; a constraint
    module of another make binds ``FUSED = False``.

    Raises:
        PluginError: there is no such constraint.
    """
    usual = chosen(loss) == ("logistic", {}) and chosen(surrogate) == ("clipped_linear", {})
    return _has_kernels(file_of("constraints", constraint)) and usual


@cache
def _has_kernels(path: Path) -> bool:
    """Tell whether a module of constraints does not bind ``FUSED = False``."""
    return not re.search(r"^FUSED\s*=\s*False", path.read_text(encoding="utf-8"), re.MULTILINE)


def parameters(package: str, name: str, function: str) -> tuple[str, ...] | None:
    """Return the parameter names of a top-level function of a plug-in, read from its text.

    Returns:
        The names, or ``None`` if the function is absent or takes ``**keywords``.

    Raises:
        PluginError: there is no such plug-in, or its file is not valid Python.
    """
    arguments = _arguments(package, name, function)
    if arguments is None or arguments.kwarg is not None:
        return None
    return tuple(argument.arg for argument in arguments.args + arguments.kwonlyargs)


def required(package: str, name: str, function: str) -> tuple[str, ...]:
    """Return the parameters that a top-level function of a plug-in needs, the first excepted, read from its text.

    Raises:
        PluginError: there is no such plug-in, or its file is not valid Python.
    """
    arguments = _arguments(package, name, function)
    if arguments is None:
        return ()
    positional = arguments.args[1 : len(arguments.args) - len(arguments.defaults)]
    keywords = (a for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None)
    return tuple(argument.arg for argument in (*positional, *keywords))


def annotations(package: str, name: str, function: str) -> dict[str, str]:
    """Return the annotations of the parameters of a top-level function of a plug-in, read from its text.

    Raises:
        PluginError: there is no such plug-in, or its file is not valid Python.
    """
    arguments = _arguments(package, name, function)
    if arguments is None:
        return {}
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return {
        argument.arg: ast.unparse(argument.annotation) for argument in parameters if argument.annotation is not None
    }


def _arguments(package: str, name: str, function: str) -> ast.arguments | None:
    """Return the signature of a top-level function of a plug-in; ``None`` if it has no such function."""
    path = file_of(package, name)
    try:
        return _functions(path.read_text(encoding="utf-8")).get(function)
    except SyntaxError as error:
        raise PluginError(f"{_file_label(path)}, line {error.lineno}: {error.msg}; correct it") from error


@cache
def _functions(source: str) -> dict[str, ast.arguments]:
    """Return the signatures of the top-level functions of a module, given its text."""
    return {node.name: node.args for node in reversed(ast.parse(source).body) if isinstance(node, ast.FunctionDef)}


@cache
def _imported(module: str, package: str, path: Path) -> ModuleType:
    """Import a plug-in and look for what its contract asks."""
    where = _file_label(path)
    try:
        plugin = import_module(module)
    except SyntaxError as error:
        raise PluginError(f"{where}, line {error.lineno}: {error.msg}; correct it") from error
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in {name.partition(".")[0] for _, name in homes()}:
            raise PluginError(f"{where}: there is no module {error.name}; correct the import") from error
        raise PluginError(f"{where} needs the package {error.name!r}, which is not installed; install it") from error
    except (PartialFairError, MemoryError, OSError):
        raise
    except Exception as error:
        if machine_fault(error) is not None:
            raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
        line = f", line {lines[-1]}" if lines else ""
        raise PluginError(f"{where}{line}: importing it gives {type(error).__name__}: {error}; correct it") from error
    for attribute_path in FAMILY if members(path) else CONTRACT.get(package, ()):
        holder: object = plugin
        for attribute in attribute_path.split("."):
            if not hasattr(holder, attribute):
                raise PluginError(
                    f"{where}: there is no {attribute_path}, which every plug-in of this folder has; add it"
                )
            holder = getattr(holder, attribute)
    return plugin


def _short(package: str) -> str:
    """Return the folder of ``package``, given with or without the package that holds it, or by its last part."""
    homes_of = (name for _, name in homes() if package.startswith(f"{name}."))
    folder_name = package.removeprefix(f"{next(homes_of, PACKAGE)}.").replace(".", "/")
    for folder in MARKERS:
        if folder_name in (folder, folder.rpartition("/")[2]):
            return folder
    raise PluginError(f"no plug-in folder {folder_name!r}; {did_you_mean(folder_name, MARKERS)}")


TRACEBACK_VARIABLE = "PARTIALFAIR_TRACEBACK"
"""Environment variable that makes the error of a plug-in show its traceback, for those who write one."""

_LONGEST = 500  # characters of a foreign message
_NO_CACHE = "no locator available"  # what numba says where it finds no folder for compiled kernels
_NO_MEMORY = "failed to map segment"  # what the loader of shared libraries says when memory is short


def run_plugin(
    action: str, source: str | Path | None, function: Callable[..., Result], *args: Any, **options: Any
) -> Result:
    """Call a function of a plug-in.

    Args:
        action: what is called, for the message, for instance ``"algorithm 'idca': fit"``.
        source: file of the plug-in; its deepest line in the traceback is named.
        function, args, options: the call.

    Raises:
        PluginError: the plug-in raised an error that is not this package's. Lack of memory and errors of the
            operating system are not the plug-in's fault and pass through.
        ResourceError: the compiled kernels on disk are damaged, or memory is short.
    """
    try:
        return function(*args, **options)
    except (PartialFairError, MemoryError, OSError):
        raise
    except Exception as error:
        fault = machine_fault(error)
        if fault is not None:
            raise ResourceError(fault) from error
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        text = " ".join(str(error).split())[:_LONGEST]
        raise PluginError(
            f"{action} failed{_where(error, source)}: {type(error).__name__}: {text}; correct the plug-in "
            f"({TRACEBACK_VARIABLE}=1 shows the traceback)"
        ) from error


def machine_fault(error: BaseException) -> str | None:
    """Say what to do about an error that neither a person's input nor the program is to blame for.

    Returns:
        A sentence, or ``None`` if the error is another one.
    """
    for cause in _chain(error):
        text, number = str(cause), getattr(cause, "errno", None)
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or _NO_MEMORY in text:
            return (
                "out of memory; no file was left half-written; give the job more (mem_mb in the rule or the profile), "
                "run fewer at once (--cores), and run the same command again"
            )
        if number in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full ({text}); free space and run the same command again"
        if _NO_CACHE in text or number == errno.EROFS:
            return (
                f"a folder cannot be written to ({text}); make it writable, or, if it is that of the compiled kernels, "
                "set NUMBA_CACHE_DIR to one that is, and run the same command again"
            )
        frames = traceback.extract_tb(cause.__traceback__)
        if any(Path(frame.filename).parts[-3:] == ("numba", "core", "caching.py") for frame in frames):
            folder = os.environ.get("NUMBA_CACHE_DIR", "__pycache__ beside the source")
            return (
                f"the compiled kernels stored in {folder} are damaged ({type(cause).__name__}: {text}); delete that "
                "folder and run the same command again, which compiles them anew"
            )
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those it arose from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _where(error: BaseException, source: str | Path | None) -> str:
    """Return `` at FILE, line N``: the deepest line inside ``source``, else the deepest of all."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if source is not None and Path(frame.filename) == Path(source)]
    chosen = (inside or frames)[-1:]
    return "".join(f" at {Path(frame.filename).name}, line {frame.lineno}" for frame in chosen)
