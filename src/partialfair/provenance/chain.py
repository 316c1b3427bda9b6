"""A chain of results: its links, and where it is broken."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from partialfair.errors import PartialFairError
from partialfair.tables.files import sha256

STAGES = {
    "raw": "raw file",
    "table": "table",
    "split": "split",
    "model": "model",
    "metrics": "metrics",
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
    """What is wrong with a file."""

    DAMAGED = "damaged"
    """It is not what the job wrote that made it."""
    OUTDATED = "outdated"
    """It is what its job wrote, but settings, source or packages have changed since."""
    MISSING = "missing"


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
        progress: receives what is looked at next, in a few words.
    """

    links: list[Link] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    progress: Callable[[str], None] = lambda _: None

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
        if str(path) not in {found.path for found in self.breaks}:
            self.breaks.append(Break(str(path), fault, problem, remedy))

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
        return bool({found.path for found in self.breaks} & set(paths))

    @contextmanager
    def expects(self, path: str | Path, remedy: str, fault: Fault = Fault.DAMAGED) -> Iterator[None]:
        """Turn an error of the package that the block raises into a break of ``path``."""
        try:
            yield
        except PartialFairError as error:
            missing = not Path(path).exists()
            text = str(error).removeprefix(f"{path}: ")
            self.broken(path, Fault.MISSING if missing else fault, text.rstrip("."), remedy)

    def lines(self, shown: int = 30) -> list[str]:
        """The chain as text: one line per link, then one for each of the first ``shown`` breaks."""
        width = max((len(title) for title in STAGES.values()), default=0)
        out = []
        for stage, title in STAGES.items():
            for number, found in enumerate(link for link in self.links if link.stage == stage):
                files = f" ({found.count} files)" if found.count > 1 else ""
                head = "" if number else title
                out.append(f"{head:<{width}}  {found.checksum:<{_DIGITS}}  {found.path}{files}: {found.tie}")
        out += [f"BROKEN {found}" for found in self.breaks[:shown]]
        rest = len(self.breaks) - shown
        return out if rest <= 0 else [*out, f"BROKEN {rest} more files; repair the first ones and look again"]
