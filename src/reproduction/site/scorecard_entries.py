"""The scorecard as the site reads it: the one place that knows the columns and the words of the committed files."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from partialfair.plugins import names
from reproduction.exhibits import style, titles
from reproduction.verdicts.line import JUDGED, Lead, lead, robust

GOOD, FAIR, BAD, NONE = "good", "fair", "bad", "none"
TONES = {
    "agrees": GOOD, "holds": GOOD, "dominated": GOOD, "as stated": GOOD,
    "near": FAIR, "partly": FAIR, "mixed": FAIR, "depends": FAIR,
    "differs": BAD, "fails": BAD, "differs from the paper": BAD,
    "alike": NONE, "cannot tell": NONE, "not compared": NONE, "by construction": NONE, "no power": NONE,
    "repeated": NONE, "measured": NONE, "not run": NONE,
}  # fmt: skip
"""Tone of each word of a verdict, in the order of tables and legends."""

CLAIM_TONES = {"holds": GOOD, "partly": FAIR, "mixed": FAIR, "depends": FAIR, "does not hold": BAD, "cannot tell": NONE}
"""Tone of each word on a paper's central claim."""
_DECLARED_IDLE = ("by construction", "no power", "repeated", "measured", "not run", "not compared")
"""Words that say by themselves why a line does not count."""
_COMPARED_KINDS = ("claim", "question", "concession")
"""Kinds of lines that compare something, and whose word comes from all readings of what they test."""
_ELSEWHERE = re.compile(r" in (\w+)$")
_AT_EQUAL = re.compile(r"^(\w+) at equal 1 - \w+$")
_OF_MEASURE = re.compile(r"^(spread of )?(\w+)( along kappa| over seeds)$")


@dataclass(frozen=True)
class Entry:
    """One line of the scorecard.

    Attributes:
        row: the line as it stands in the file, by column.
        kind: ``number``, ``claim``, ``setting`` or ``question``.
        outcome: its verdict, of a comparison under all readings; a key of ``TONES``.
        paper_title: what its paper calls its dataset; by default that is what the dataset's module does.
        setting_title, against_title: its setting and its other side in words, where an experiment is meant.
    """

    row: Mapping[str, str]
    kind: str
    outcome: str
    paper_title: str = ""
    setting_title: str = ""
    against_title: str = ""

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
        """Return what the paper prints: a number with six digits at most, or a sentence."""
        value = self.number("published")
        if not math.isfinite(value):
            return self.published
        return f"{value:,.0f}" if value == round(value) and abs(value) >= 1000 else f"{value:.6g}"

    @property
    def dataset_title(self) -> str:
        """Return the title of its dataset; empty if it has no dataset."""
        return self.paper_title or (style.dataset_title(self.dataset) if self.dataset else "")

    @property
    def description(self) -> str:
        """Return what was compared, in words: dataset, method against the other side, setting, metric."""
        is_plugin = self.algorithm in names("algorithms")
        method = style.plot_style(self.algorithm).label if is_plugin else _plain(self.algorithm)
        against = f"against {self.against_title or _plain(self.against)}" if self.against else ""
        sides = " ".join(filter(None, (method, against)))
        phrases = (self.dataset_title, sides, self.setting_title or _plain(self.setting), _metric_title(self.metric))
        return ", ".join(filter(None, phrases))

    @property
    def power(self) -> bool:
        """Tell whether the line counts for its paper, since another model could have another outcome."""
        return self.row["counts"] == "yes"

    @property
    def tone(self) -> str:
        """Return the tone of its verdict, a class of colours."""
        return TONES.get(self.outcome, NONE)

    @property
    def exclusion(self) -> str:
        """Return why the line does not count for its paper; empty if it counts, or if its verdict says why."""
        if self.kind == "question":
            return "our question"
        if self.kind in ("setting", "concession"):
            return self.kind
        return "" if self.power or self.outcome in _DECLARED_IDLE else "no power"

    @property
    def lead(self) -> Lead:
        """Return how far the method is ahead."""
        return lead(self.row)

    @property
    def noise(self) -> float:
        """Return the standard error that a difference is judged by; not a number if there is none."""
        return self.number("noise") / 1.96  # what 95 of 100 such differences do not exceed


def _plain(name: str) -> str:
    return name.replace("_", " ").replace(";", ", ")


def _metric_title(metric: str) -> str:
    """Return a metric in words: at equal fairness, along the constraint, spread over seeds, or by its title."""
    if match := _AT_EQUAL.match(metric):
        return f"{titles.measure_title(match[1])} at equal fairness"
    if match := _OF_MEASURE.match(metric):
        return f"{match[1] or ''}{titles.measure_title(match[2])}{match[3].replace('kappa', 'κ')}"
    return titles.measure_title(metric)


def side_title(side: str, experiments: Mapping[str, str]) -> str:
    """Return the other side of a comparison in words, with the title of its experiment where it names one."""
    if side in names("algorithms"):
        return style.plot_style(side).label
    return _ELSEWHERE.sub(lambda match: f": {experiments.get(match[1], match[1])}", side)


def titled(entry: Entry, experiments: Mapping[str, str], paper_title: str = "") -> Entry:
    """Return a line that says its experiments, and its dataset as its paper calls it, in words.

    Args:
        entry: the line.
        experiments: their titles by name.
        paper_title: of the dataset; empty for the title that its module has.
    """
    setting, against = experiments.get(entry.setting, ""), side_title(entry.against, experiments)
    return replace(entry, paper_title=paper_title, setting_title=setting, against_title=against.replace("_", " "))


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
    if row["kind"] not in _COMPARED_KINDS or row["verdict"] in JUDGED:
        return Entry(row, row["kind"], row["verdict"])
    return Entry(row, row["kind"], robust(row))


_EXCLUSION_TITLES = {
    "our question": "question of ours", "setting": "setting", "concession": "concession",
    "no power": "true of other models, too",
}  # fmt: skip
"""What lines that do not count for their paper are called where they are counted together."""


def count_verdicts(entries: Iterable[Entry]) -> dict[str, int]:
    """Count what an exhibit says of its paper: verdicts of the lines that count, then the others, whatever they say."""
    listed = list(entries)
    counts = tally(entry for entry in listed if not entry.exclusion)
    excluded = Counter(_EXCLUSION_TITLES[entry.exclusion] for entry in listed if entry.exclusion)
    return counts | {name: excluded[name] for name in _EXCLUSION_TITLES.values() if excluded[name]}


def tally(entries: Iterable[Entry]) -> dict[str, int]:
    """Count verdicts, in the order of ``TONES``."""
    counts = Counter(entry.outcome for entry in entries)
    return {name: counts[name] for name in [*TONES, *(set(counts) - set(TONES))] if counts[name]}
