"""Answers that depend on this package's source and what is installed beside it, kept from one command to the next.

Every start of Snakemake would parse some hundred modules for the fingerprints, and import the algorithms of the grid to
check their settings: half of the four seconds that it takes with the whole grid. The answers stay in the folder that
Snakemake has for itself, under a hash of every file of the package and of the versions of all others; no date is
trusted. The workflow writes them, jobs and other commands only read them, and verification does not.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from reproduction import plugin_folders

SNAKEMAKE = Path(".snakemake")
FOLDER = SNAKEMAKE / "partialfair"
SOURCE = Path(__file__).parents[2]
HOUSES = (SOURCE / "partialfair", SOURCE / "reproduction", plugin_folders.project() / "papers")
"""Folders whose files count."""
_keeps, _reads = False, True


def keep() -> None:
    """Let this process write its answers down."""
    global _keeps
    _keeps = True


def distrust() -> None:
    """Have this process work all answers out: who checks results does not take the workflow's word."""
    global _reads
    _reads = False
    _answers_of.cache_clear()


def answer(question: str, compute: Callable[[], str]) -> str:
    """Return what ``compute`` returns, or what it has returned before for this question and this source.

    Args:
        question: says all that the answer depends on besides the source.
        compute: asked if the answer is not known; what it raises is passed on and not kept.
    """
    answers = _answers_of(str(FOLDER.absolute()))
    if question not in answers:
        answers[question] = compute()
        if _keeps:
            _keep(answers)
    return answers[question]


@cache
def _answers_of(folder: str) -> dict[str, str]:
    """Return the answers that a project has of the present source."""
    if not _reads:
        return {}
    try:
        content = json.loads(Path(folder, _name()).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or a disk was full
        return {}
    return {str(question): str(text) for question, text in content.items()} if isinstance(content, dict) else {}


def _keep(answers: dict[str, str]) -> None:
    """Write the answers, in place of those of any other source; where that cannot be, they are worked out again."""
    if not SNAKEMAKE.is_dir():
        return
    written = FOLDER / f"{_name()}.{os.getpid()}"
    try:
        FOLDER.mkdir(exist_ok=True)
        written.write_text(json.dumps(answers), encoding="utf-8")
        for stale in FOLDER.iterdir():
            if not stale.name.startswith(_name()):
                stale.unlink(missing_ok=True)
        written.replace(FOLDER / _name())
    except OSError:
        return


def _name() -> str:
    """Return the name of the file of answers."""
    return f"{source_and_packages()}.json"


@cache
def source_and_packages() -> str:
    """Return a hash of every file of the three houses and of the versions of the packages beside it."""
    digest = hashlib.sha256("\0".join([sys.version, *_installed()]).encode())
    for house in filter(Path.is_dir, HOUSES):
        for path in _files(str(house)):
            content = Path(path).read_bytes()
            digest.update(f"{house.name}{path.removeprefix(str(house))}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:32]


def _installed() -> list[str]:
    """Return the packages installed, each with its version: an algorithm may need one that is gone."""
    folders = [folder for folder in sys.path if os.path.isdir(folder)]
    return sorted({name for folder in folders for name in os.listdir(folder) if name.endswith(".dist-info")})


def _files(folder: str) -> Iterator[str]:
    """Yield the files in a folder and below it, in a fixed order, but for compiled code."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif not entry.name.endswith((".nbi", ".nbc")):
            yield entry.path
