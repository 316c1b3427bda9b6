"""A chain of results: its links, where it is broken, and what is not here to be looked at."""

import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from partialfair.errors import PartialFairError, ResourceError
from partialfair.tables.files import sha256

Task = TypeVar("Task")

STAGES = {
    "raw": "raw file",
    "table": "table",
    "split": "split",
    "model": "model",
    "metrics": "metrics",
    "card": "model card",
    "retrained": "retrained",
    "collected": "collected table",
    "exhibit": "exhibit",
    "scorecard": "scorecard",
    "params": "params",
    "code": "code",
    "lock": "lock file",
}
"""Stages in the order in which results arise, then what all of them depend on."""

_DIGITS = 12  # of a checksum, where a person reads it


class Fault(StrEnum):
    """How a file departs from what its job would have made."""

    DAMAGED = "damaged"
    """It is not what the job wrote that made it."""
    OUTDATED = "outdated"
    """It is what its job wrote, but settings, source or packages have changed since."""
    MISSING = "missing"
    """What was made together with it is here."""
    FOREIGN = "foreign"
    """No job of the grid makes it."""


@dataclass(frozen=True)
class Link:
    """A verified result.

    Attributes:
        stage: key of ``STAGES``.
        path: file, or what several files have in common.
        checksum: first digits of the SHA-256, or of the hash of code.
        tie: how it is tied to what it was made from.
        count: number of files.
    """

    stage: str
    path: str
    checksum: str
    tie: str
    count: int = 1


@dataclass(frozen=True)
class Break:
    """A result that does not follow from what comes before it."""

    path: str
    fault: Fault
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}: {self.problem}; {self.remedy}"


@dataclass
class Chain:
    """What was found.

    Attributes:
        links: in the order of ``STAGES``.
        breaks: in the order in which results arise.
        absent: results of the grid by stage that are not here, nor anything made together with them.
        unfollowed: results by stage that are here, but not what they were made from.
        elsewhere: files by folder that another grid has made, as it seems; nobody looks at them.
        progress: receives what is looked at next, in a few words.
    """

    links: list[Link] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    absent: Counter[str] = field(default_factory=Counter)
    unfollowed: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    progress: Callable[[str], None] = lambda _: None
    _named: set[str] = field(default_factory=set, init=False, repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is broken."""
        return not self.breaks

    def link(self, stage: str, path: str | Path, tie: str, checksum: str | None = None, count: int = 1) -> None:
        """Add a verified result; its checksum is taken from the file if none is given."""
        digits = (sha256(path) if checksum is None else checksum)[:_DIGITS]
        self.links.append(Link(stage, str(path), digits, tie, count))

    def broken(self, path: str | Path, fault: Fault, problem: str, remedy: str) -> None:
        """Add a break; a file is named once, by what was found first."""
        self._add(Break(str(path), fault, problem, remedy))

    def _add(self, found: Break) -> None:
        if found.path not in self._named:
            self._named.add(found.path)
            self.breaks.append(found)

    def compare(
        self, path: str | Path, wanted: str, source: str, remedy: str | None = None, recorded: str | None = None
    ) -> str | None:
        """Compare a file with the checksum that it should have; return its checksum if they agree.

        Args:
            path: the file.
            wanted: SHA-256 that it should have.
            source: where that is from, as the end of a sentence: "fit.json has it".
            remedy: by default to make the file anew.
            recorded: SHA-256 that it had when it was made: one that still has it is outdated, not damaged.
        """
        try:
            found = sha256(path)
        except OSError as error:
            remedy = f"run `dvc pull` or `snakemake {path}`"
            self.broken(path, Fault.MISSING, f"cannot be read ({error.strerror})", remedy)
            return None
        if found == wanted:
            return found
        fault = Fault.OUTDATED if found == recorded else Fault.DAMAGED
        problem = f"sha256 {found[:_DIGITS]}, not {wanted[:_DIGITS]} as {source}"
        self.broken(path, fault, problem, remedy or f"delete it and run `snakemake {path}`")
        return None

    def is_broken(self, paths: list[str]) -> bool:
        """Whether one of the files is broken."""
        return not self._named.isdisjoint(paths)

    @contextmanager
    def expects(self, path: str | Path, remedy: str) -> Iterator[None]:
        """Turn an error of the package that the block raises into a break of ``path``."""
        try:
            yield
        except PartialFairError as error:
            fault = Fault.DAMAGED if Path(path).exists() else Fault.MISSING
            self.broken(path, fault, str(error).removeprefix(f"{path}: ").rstrip("."), remedy)

    def take(self, other: "Chain") -> None:
        """Add what another chain has found."""
        self.links += other.links
        for found in other.breaks:
            self._add(found)
        self.absent.update(other.absent)
        self.unfollowed.update(other.unfollowed)
        self.elsewhere.update(other.elsewhere)

    def spread(self, check: Callable[["Chain", Task], Any], tasks: Sequence[Task], words: str) -> list[Any]:
        """Run a check on every task in as many processes as there are cores; return what each returned.

        Args:
            check: adds what it finds to the chain it is given, which knows nothing of the other tasks.
            tasks: what it is run on, each with a short ``str``.
            words: what is looked at.

        Raises:
            ResourceError: a process was killed.
        """
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
        global _WORK  # a forked process finds the check and its tasks here: they need not be pickled
        _WORK = (check, tasks)
        found = []
        if cores == 1 or len(tasks) == 1:
            parts: Any = map(_run, range(len(tasks)))
            found = [self._take(part, f"{words} {n} of {len(tasks)}") for n, part in enumerate(parts, 1)]
        elif tasks:
            fork = multiprocessing.get_context("fork")
            with ProcessPoolExecutor(min(cores, len(tasks)), mp_context=fork) as pool:
                try:
                    parts = pool.map(_run, range(len(tasks)))
                    found = [self._take(part, f"{words} {n} of {len(tasks)}") for n, part in enumerate(parts, 1)]
                except BrokenProcessPool:  # where `multiprocessing.Pool` would wait for ever
                    raise ResourceError(
                        f"a process that looked at {words} was killed, as for want of memory; "
                        "free some, or take one process: `taskset -c 0` before the command"
                    ) from None
        return found

    def _take(self, part: tuple["Chain", Any], words: str) -> Any:
        """Take up what one task has found."""
        chain, value = part
        self.take(chain)
        self.progress(words)
        return value

    def lines(self, shown: int = 30) -> list[str]:
        """The chain as text: one line per link, then one for each of the first ``shown`` breaks."""
        width = max(map(len, STAGES.values()))
        out = []
        for stage, title in STAGES.items():
            for number, found in enumerate(link for link in self.links if link.stage == stage):
                files = f" ({found.count} files)" if found.count > 1 else ""
                head = "" if number else title
                out.append(f"{head:<{width}}  {found.checksum:<{_DIGITS}}  {found.path}{files}: {found.tie}")
        out += [f"BROKEN {found}" for found in self.breaks[:shown]]
        rest = len(self.breaks) - shown
        return out if rest <= 0 else [*out, f"BROKEN {rest} more files; repair the first ones and look again"]

    def summary(self) -> str:
        """The last line: whether the chain is whole, and how much of the grid there was to look at."""
        parts = [f"{len(self.links)} links, {len(self.breaks)} break{'s' * (len(self.breaks) != 1)}"]
        if self.absent:
            parts.append(f"not here: {_counted(self.absent)} (`dvc pull` brings them, `make paper` makes them)")
        if self.unfollowed:
            parts.append(f"not followed, as what they were made from is not here: {_counted(self.unfollowed)}")
        if self.elsewhere:
            folders = ", ".join(sorted(self.elsewhere))
            parts.append(f"not of this grid: {folders} (`partialfair verify --config` and their grid looks at them)")
        return f"{'whole' if self.is_whole else 'BROKEN'}: {'; '.join(parts)}"


_WORK: Any = None


def _run(number: int) -> tuple[Chain, Any]:
    check, tasks = _WORK
    chain = Chain()
    value = check(chain, tasks[number])
    return Chain(chain.links, chain.breaks, chain.absent, chain.unfollowed, chain.elsewhere, progress=print), value


def _counted(stages: Counter[str]) -> str:
    """Number of results by stage, in words."""
    of = [(STAGES[stage], stages[stage]) for stage in STAGES if stages[stage]]
    return ", ".join(f"{count:,} {_plural(title) if count > 1 else title}" for title, count in of)


def _plural(title: str) -> str:
    return title if title.endswith("s") else f"{title}s"
