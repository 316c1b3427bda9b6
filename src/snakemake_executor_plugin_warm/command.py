"""Shell commands that a warm process can carry out itself: ``[NAME=VALUE ...] python -m MODULE ARGS > LOG 2>&1``."""

import re
import shlex
from collections.abc import Container
from dataclasses import dataclass

# What the shell takes as it stands: plain characters, '...', and "..." without anything that is replaced inside.
_WORD = r"""(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")+"""
_COMMAND = re.compile(
    rf"(?P<variables>(?:[A-Za-z_]\w*={_WORD}[ \t]+)*)"
    r"(?P<python>[\w./-]*python[0-9.]*)[ \t]+-m[ \t]+(?P<module>[\w.]+)"
    rf"(?P<arguments>(?:[ \t]+{_WORD})*)"
    # A space before ">" tells it from the redirection of another stream, as in "2>".
    rf"[ \t]+>[ \t]*(?P<log>{_WORD})[ \t]+2>&1"
)
# Variables that Python or the loader reads when a process starts, which a fork does not.
_AT_START = re.compile(r"PATH|PYTHON.*|LD_.*|DYLD_.*|MALLOC_.*|GLIBC_.*")


@dataclass(frozen=True)
class Command:
    """A job's command: the interpreter, the module and its arguments, the log, variables set for it alone."""

    python: str
    module: str
    arguments: tuple[str, ...]
    log: str
    variables: tuple[tuple[str, str], ...]


def parse(text: str, modules: Container[str]) -> Command | None:
    """Return the command of a job if a warm process can carry it out, else ``None``.

    Args:
        text: the job's shell command.
        modules: modules that run warm.
    """
    match = _COMMAND.fullmatch(text.strip())
    if match is None or match["module"] not in modules:
        return None
    variables = tuple(_assignment(word) for word in shlex.split(match["variables"]))
    if any(_AT_START.fullmatch(name) for name, _ in variables):
        return None
    (log,) = shlex.split(match["log"])
    return Command(match["python"], match["module"], tuple(shlex.split(match["arguments"])), log, variables)


def _assignment(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value
