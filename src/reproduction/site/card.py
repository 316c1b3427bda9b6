"""The scorecard as the site reads it: the one place that knows the columns and the words of the committed files."""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.plugins import names
from reproduction.exhibits import style
from reproduction.verdicts.line import JUDGED, OTHER_WAY, Lead, lead, robust

GOOD, FAIR, BAD, NONE = "good", "fair", "bad", "none"
TONES = {
    "agrees": GOOD, "holds": GOOD, "dominated": GOOD, "as stated": GOOD,
    "near": FAIR, "partly": FAIR, "mixed": FAIR, "depends": FAIR,
    "differs": BAD, "fails": BAD, "differs from the paper": BAD,
    "alike": NONE, "cannot tell": NONE, "not compared": NONE, "by construction": NONE, "no power": NONE,
    "repeated": NONE, "measured": NONE, "not run": NONE,
}  # fmt: skip
"""How a word of a verdict is coloured; their order is that of tables and legends."""

WORDS = {"holds": GOOD, "partly": FAIR, "mixed": FAIR, "depends": FAIR, "does not hold": BAD, "cannot tell": NONE}
"""What can be said of a paper's central claim."""
IDLE = ("by construction", "no power", "repeated", "measured", "not run", "not compared")
"""Words that say by themselves why a line does not count."""
COMPARED = ("claim", "question", "concession")
"""Kinds of lines that compare something, and whose word comes from all readings of what they test."""


@dataclass(frozen=True)
class Entry:
    """One line of the scorecard.

    Attributes:
        row: the line as it stands in the file, by column.
        kind: ``number``, ``claim``, ``setting`` or ``question``.
        outcome: its verdict, of a comparison under all readings; a key of ``TONES``.
        titled: what its paper calls its dataset; by default that is what the dataset's module does.
    """

    row: Mapping[str, str]
    kind: str
    outcome: str
    titled: str = ""

    def __getattr__(self, name: str) -> str:
        """Return a column as text; empty if the file has no such column."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self.row.get(name) or ""

    def number(self, name: str) -> float:
        """Return a column as a number; not a number if it is empty or a word."""
        try:
            return float(self.row.get(name) or "nan")
        except ValueError:
            return math.nan

    @property
    def printed(self) -> str:
        """What the paper prints, or says, in words; a number without digits that say nothing."""
        value = self.number("published")
        if not math.isfinite(value):
            return self.published
        return f"{value:,.0f}" if value == round(value) and abs(value) >= 1000 else f"{value:.6g}"

    @property
    def place(self) -> str:
        """Title of its dataset; empty if it is of none."""
        return self.titled or (style.dataset_title(self.dataset) if self.dataset else "")

    @property
    def what(self) -> str:
        """What was compared, in words: dataset, method, the other side, setting, metric."""
        own = style.look(self.algorithm).label if self.algorithm in names("algorithms") else _plain(self.algorithm)
        against = f"against {_plain(self.against)}" if self.against else ""
        parts = (self.place, own, against, _plain(self.setting))
        return ", ".join(filter(None, (*parts, _plain(self.metric))))

    @property
    def power(self) -> bool:
        """Whether the line counts for its paper: it could have come out otherwise."""
        return self.row["counts"] == "yes"

    @property
    def tone(self) -> str:
        """How its verdict is coloured."""
        return TONES.get(self.outcome, NONE)

    @property
    def aside(self) -> str:
        """Why it does not count for its paper, in two words; empty if it counts, or if its verdict says so."""
        if self.kind == "question":
            return "our question"
        if self.kind in ("setting", "concession"):
            return self.kind
        return "" if self.power or self.outcome in IDLE else "no power"

    @property
    def lead(self) -> Lead:
        """How far the method is ahead."""
        return lead(self.row)

    @property
    def readings(self) -> str:
        """What the word rests on where it is not the same under every reading, in words."""
        parts = [f"depends on {self.depends_on}"] if self.outcome == "depends" else []
        if self.outcome == "cannot tell" and self.depends_on:
            parts.append(self.depends_on)
        if self.grade:
            parts.append("for this dataset, not for a fresh draw of people")
        return "; ".join([*parts, *filter(None, [self.by_option])])

    @property
    def seeds(self) -> str:
        """What an undecided comparison could have seen, and how many seeds would decide it, in words."""
        detectable, needed = self.number("detectable"), self.number("seeds_needed")
        parts = [f"an effect of {detectable:.2g} would have been seen"] if math.isfinite(detectable) else []
        side = "against it" if OTHER_WAY in self.note else "it"
        parts += [f"{needed:.0f} seeds would decide {side}"] if math.isfinite(needed) else []
        return "; ".join(parts)

    @property
    def noise(self) -> float:
        """Standard error that a difference is judged by; not a number if there is none."""
        return self.number("noise") / 1.96  # what 95 of 100 such differences do not exceed


def _plain(name: str) -> str:
    return name.replace("_", " ")


def load(path: Path) -> list[Entry]:
    """Read the lines of ``scorecard.csv``.

    Raises:
        DataError: there is no such file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return [entry(row) for row in csv.DictReader(stream)]
    except FileNotFoundError as error:
        raise DataError(f"{path}: not there; write it: python -m partialfair scorecard") from error


def entry(line: Mapping[str, Any]) -> Entry:
    """Return a line of the scorecard by column, as the file or the program has it, as the site reads it."""
    row = {name: "" if value is None else str(value) for name, value in line.items()}
    if row["kind"] not in COMPARED or row["verdict"] in JUDGED:
        return Entry(row, row["kind"], row["verdict"])
    return Entry(row, row["kind"], robust(row))


ASIDE = {
    "our question": "question of ours", "setting": "setting", "concession": "concession",
    "no power": "true of other models, too",
}  # fmt: skip
"""What lines that do not count for their paper are called where they are counted together."""


def chips(entries: Iterable[Entry]) -> dict[str, int]:
    """Count what an exhibit says of its paper: verdicts of the lines that count, then the others, whatever they say."""
    own = list(entries)
    found = tally(entry for entry in own if not entry.aside)
    others = Counter(ASIDE[entry.aside] for entry in own if entry.aside)
    return found | {name: others[name] for name in ASIDE.values() if others[name]}


def tally(entries: Iterable[Entry]) -> dict[str, int]:
    """Count verdicts, in the order of ``TONES``."""
    found = Counter(entry.outcome for entry in entries)
    return {name: found[name] for name in [*TONES, *(set(found) - set(TONES))] if found[name]}
