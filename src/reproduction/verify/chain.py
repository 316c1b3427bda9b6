"""The chain from raw files to the scorecard: its links, its breaks, and the results that are missing."""

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

from partialfair.data.files import sha256
from partialfair.errors import PartialFairError, ResourceError

_Item = TypeVar("_Item")

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
"""Stages in the order in which results arise, then the files on which all stages depend."""

_DIGITS = 12  # of a checksum, where a person reads it


class Fault(StrEnum):
    """How a file departs from what its job would have made."""

    DAMAGED = "damaged"
    """Its content is not what its job wrote."""
    OUTDATED = "outdated"
    """Its content is what its job wrote, but settings, source or packages have changed since."""
    MISSING = "missing"
    """It is absent, but the files that were made together with it are here."""
    FOREIGN = "foreign"
    """No job of the grid makes it."""


@dataclass(frozen=True)
class Link:
    """A verified result.

    Attributes:
        stage: key of ``STAGES``.
        path: the file, or the pattern of several files.
        checksum: first digits of the SHA-256, or of the hash of code.
        tie: how the result is tied to its inputs.
        count: number of files.
    """

    stage: str
    path: str
    checksum: str
    tie: str
    count: int = 1


@dataclass(frozen=True)
class Break:
    """A result that does not follow from the results before it."""

    path: str
    fault: Fault
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}: {self.problem}; {self.remedy}"


@dataclass
class Chain:
    """The outcome of checks: verified results, broken ones, and counts of those that could not be checked.

    Attributes:
        links: in the order of ``STAGES``.
        breaks: in the order in which results arise.
        absent: results of the grid by stage that are not here, nor any file made together with them.
        unfollowed: results by stage that are here without their inputs.
        elsewhere: files by folder that another grid seems to have made; they are not checked.
        progress: receives the name of the next check, in a few words.
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
        """Add a break; a file is named once, by its first break."""
        self._add(Break(str(path), fault, problem, remedy))

    def _add(self, broken: Break) -> None:
        if broken.path not in self._named:
            self._named.add(broken.path)
            self.breaks.append(broken)

    def compare(
        self, path: str | Path, expected: str, source: str, remedy: str | None = None, recorded: str | None = None
    ) -> str | None:
        """Compare a file with the checksum that it should have; return its checksum if they agree.

        Args:
            path: the file.
            expected: SHA-256 that the file should have.
            source: where the checksum is from, as the end of a sentence: "fit.json has it".
            remedy: by default to make the file anew.
            recorded: SHA-256 of the file when it was made: a file that still has it is outdated, not damaged.
        """
        try:
            digest = sha256(path)
        except OSError as error:
            remedy = f"run `dvc pull` or `snakemake {path}`"
            self.broken(path, Fault.MISSING, f"cannot be read ({error.strerror})", remedy)
            return None
        if digest == expected:
            return digest
        fault = Fault.OUTDATED if digest == recorded else Fault.DAMAGED
        problem = f"sha256 {digest[:_DIGITS]}, not {expected[:_DIGITS]} as {source}"
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

    def take(self, further: "Chain") -> None:
        """Add the links, the breaks and the counts of another chain."""
        self.links += further.links
        for broken in further.breaks:
            self._add(broken)
        self.absent.update(further.absent)
        self.unfollowed.update(further.unfollowed)
        self.elsewhere.update(further.elsewhere)

    def check_all(self, check: Callable[["Chain", _Item], Any], tasks: Sequence[_Item], subject: str) -> list[Any]:
        """Run a check on every task in as many processes as there are cores; return what each returned.

        Args:
            check: adds its findings to a chain of its own, which holds nothing of the other tasks.
            tasks: arguments of the check, one for each run of it.
            subject: what is checked, for messages.

        Raises:
            ResourceError: a process was killed.
        """
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
        global _WORK  # a forked process finds the check and its tasks here: they need not be pickled
        _WORK = (check, tasks)
        values = []
        if cores == 1 or len(tasks) == 1:
            outcomes: Any = map(_run, range(len(tasks)))
            values = [self._take(outcome, f"{subject} {n} of {len(tasks)}") for n, outcome in enumerate(outcomes, 1)]
        elif tasks:
            fork = multiprocessing.get_context("fork")
            with ProcessPoolExecutor(min(cores, len(tasks)), mp_context=fork) as pool:
                try:
                    outcomes = pool.map(_run, range(len(tasks)))
                    values = [
                        self._take(outcome, f"{subject} {n} of {len(tasks)}") for n, outcome in enumerate(outcomes, 1)
                    ]
                except BrokenProcessPool:  # where `multiprocessing.Pool` would wait for ever
                    raise ResourceError(
                        f"a process that looked at {subject} was killed, as for want of memory; "
                        "free some, or take one process: `taskset -c 0` before the command"
                    ) from None
        return values

    def _take(self, outcome: tuple["Chain", Any], progress: str) -> Any:
        """Add the chain that one task returned, and return the task's value."""
        chain, value = outcome
        self.take(chain)
        self.progress(progress)
        return value

    def lines(self, limit: int = 30) -> list[str]:
        """Return the chain as text: one line per link, then one for each of the first ``limit`` breaks."""
        width = max(map(len, STAGES.values()))
        out = []
        for stage, title in STAGES.items():
            for number, link in enumerate(result for result in self.links if result.stage == stage):
                files = f" ({link.count} files)" if link.count > 1 else ""
                head = "" if number else title
                out.append(f"{head:<{width}}  {link.checksum:<{_DIGITS}}  {link.path}{files}: {link.tie}")
        out += [f"BROKEN {broken}" for broken in self.breaks[:limit]]
        n_more = len(self.breaks) - limit
        return out if n_more <= 0 else [*out, f"BROKEN {n_more} more files; repair the first ones and look again"]

    def summary(self) -> str:
        """Return the last line: whether the chain is whole, and how much of the grid could be checked."""
        clauses = [f"{len(self.links)} links, {len(self.breaks)} break{'s' * (len(self.breaks) != 1)}"]
        if self.absent:
            clauses.append(f"not here: {_counted(self.absent)} (`dvc pull` brings them, `make paper` makes them)")
        if self.unfollowed:
            clauses.append(f"not followed, as what they were made from is not here: {_counted(self.unfollowed)}")
        if self.elsewhere:
            folders = ", ".join(sorted(self.elsewhere))
            clauses.append(f"not of this grid: {folders} (`partialfair verify --config` and their grid looks at them)")
        return f"{'whole' if self.is_whole else 'BROKEN'}: {'; '.join(clauses)}"


_WORK: Any = None


def _run(number: int) -> tuple[Chain, Any]:
    check, tasks = _WORK
    chain = Chain()
    value = check(chain, tasks[number])
    return Chain(chain.links, chain.breaks, chain.absent, chain.unfollowed, chain.elsewhere, progress=print), value


def _counted(stages: Counter[str]) -> str:
    """Return the number of results by stage, in words."""
    counts = [(STAGES[stage], stages[stage]) for stage in STAGES if stages[stage]]
    return ", ".join(f"{count:,} {_plural(title) if count > 1 else title}" for title, count in counts)


def _plural(title: str) -> str:
    return title if title.endswith("s") else f"{title}s"
