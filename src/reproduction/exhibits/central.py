"""The comparisons that a paper's verdict rests on, with their words: what forests and matrices of a paper show."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partialfair.pages.palette import TONES
from partialfair.plugins import names
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, Line
from reproduction.grid.papers import PrintedDataset, paper
from reproduction.verdicts import letters, scorecard, standing
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.line import Lead, decides, lead, robust
from reproduction.verdicts.lookups import is_here

COLOURS = {
    letters.HOLDS: TONES["blue"].light, letters.FAILS: TONES["vermilion"].light, letters.DEPENDS: TONES["olive"].light,
    letters.ALIKE: TONES["ink"].light, letters.CANNOT_TELL: TONES["grey"].light,
    letters.NOT_COMPARED: TONES["grey"].light,
}  # fmt: skip
"""How a comparison is marked, by its word."""
INKS = COLOURS | dict.fromkeys((letters.CANNOT_TELL, letters.NOT_COMPARED), TONES["ink"].light)
"""In what a word is written: grey has too little contrast for letters."""
_ELSEWHERE = re.compile(r" in (\w+)$")


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        claim: what it tests.
        line: its line of the scorecard.
        place: where, in words: what the rows of a group have in common.
        other: what the method is compared with, in words.
    """

    claim: Claim
    line: Line
    place: str
    other: str

    @property
    def word(self) -> str:
        """What it says under all readings."""
        return robust(self.line)

    @property
    def lead(self) -> Lead:
        """How far the method is ahead."""
        return lead(self.line)

    @property
    def said(self) -> str:
        """The word with what it depends on, short enough to stand beside a mark."""
        depends = str(self.line.get("depends_on", ""))
        if not decides(self.line):
            return "true, no evidence"
        if self.word == letters.DEPENDS:
            return f"depends: {depends.replace(letters.SEEDS, 'seeds')}"
        if self.word == letters.CANNOT_TELL and depends.startswith("leans"):
            return f"{self.word}, {depends}"
        if self.line["verdict"] == "dominated":
            return "holds: every model beaten"
        return f"{self.word}{' ' if self.line.get('grade') else ''}{self.line.get('grade', '')}"


COLUMNS = (
    "claim", "setting", "dataset", "algorithm", "against", "verdict", "robust", "depends_on", "by_option", "letters",
    "grade", "seeds_flip", "together", "lead", "lead_low", "lead_high", "least", "unit", "share", "matters", "n",
)  # fmt: skip


def lines(context: Context[Any]) -> list[Line]:
    """The lines of the paper's central claims; those that lack their runs here as the table of all its claims has them.

    Only where it is asked to keep them.
    """
    central = {claim.id for claim in load(context.paper, context.root) if claim.central}
    comparisons = scorecard.of_claims(context.config, context.paper, context.root, Context)
    table = _table(context)
    if context.keep and table is not None and is_here(table):
        comparisons = standing.keep(comparisons, standing.load(table))
    return [_whole(line) for line in comparisons if line["claim"] in central and line["kind"] == "claim"]


def _whole(line: Line) -> Line:
    """A line with its word and its lead, also where it has none of its own."""
    measured = lead(line)
    numbers = {"lead": measured.mean, "lead_low": measured.low, "lead_high": measured.high, "unit": measured.unit}
    return line | {"robust": robust(line)} | (numbers if math.isfinite(measured.mean) else {})


def _table(context: Context[Any]) -> Path | None:
    """The CSV of all lines of the paper's claims, of which there is one exhibit."""
    for name, entry in context.config.params.exhibits.items():
        lone = entry.kind == context.options.kind and not (entry.model_extra or {}).get("source")
        if lone and context.config.experiment(entry.experiments[0]).paper == context.paper:
            return context.root / "reports" / name / f"{name}.csv"
    return None


def rows(context: Context[Any], comparisons: list[Line]) -> Iterator[Row]:
    """Lines with what they are called in a picture."""
    claims = {(claim.id, claim.method): claim for claim in load(context.paper, context.root)}
    titles = {name: experiment.title for name, experiment in context.config.experiments.items()}
    named, about = scorecard.dataset_titles(context.config, context.paper), paper(context.paper, context.root)
    for line in comparisons:
        claim = claims[line["claim"], line["algorithm"]]
        dataset = named.get(line["dataset"]) or _dataset(line["dataset"], about.datasets)
        said = claim.short or _plain(str(titles.get(line["setting"], line["setting"])))
        several = claim.table is None and sum(name == claim.id for name, _ in claims) > 1
        method = style.look(line["algorithm"]).label if several else ""
        place = ", ".join(filter(None, [method, said, dataset]))
        first = place[:1].upper() if place[1:2].islower() else place[:1]  # pSP stays pSP
        yield Row(claim, line, f"{first}{place[1:]}", _other(claim, line, titles))


def _dataset(name: str, printed: Mapping[str, PrintedDataset]) -> str:
    """A dataset as its paper or its module calls it; empty if there is none."""
    titles = (one.title for key, one in printed.items() if name == key or name.startswith(one.here))
    return next(titles, style.dataset_title(name)) if name else ""


def _plain(title: str) -> str:
    return re.sub(r" \([^)]*\)$", "", title.replace("_", " "))


def _other(claim: Claim, line: Line, titles: Mapping[str, str]) -> str:
    against = str(line["against"])
    for side in claim.sides():
        if side.short and side.experiment and against.endswith(f" in {side.experiment}"):
            return side.short
    if against in names("algorithms"):
        return style.look(against).label
    elsewhere = _ELSEWHERE.search(against)
    if elsewhere is None:
        return against or "by itself"
    return f"{against[: elsewhere.start()]}: {_plain(titles.get(elsewhere[1]) or elsewhere[1])}"


def counted(comparisons: list[Line]) -> str:
    """How many comparisons come to each word."""
    said = {"holds": "hold", "alike": "alike", "depends": "depend", "cannot tell": "cannot be told", "fails": "fail"}
    decisive = [line for line in comparisons if decides(line)]
    parts = [f"{sum(robust(line) == word for line in decisive)} {text}" for word, text in said.items()]
    idle = sum(robust(line) == letters.NOT_COMPARED for line in decisive)
    parts += [f"{idle} not compared"] if idle else []
    true = len(comparisons) - len(decisive)
    parts += [f"{true} more true of another model, too"] if true else []
    return ", ".join(parts)
