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
from reproduction.verdicts import baseline_scorecard, letters, scorecard
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.line import Lead, decides, lead, robust
from reproduction.verdicts.missing_files import is_here

COLOURS = {
    letters.HOLDS: TONES["blue"].light, letters.FAILS: TONES["vermilion"].light, letters.DEPENDS: TONES["olive"].light,
    letters.ALIKE: TONES["ink"].light, letters.CANNOT_TELL: TONES["grey"].light,
    letters.NOT_COMPARED: TONES["grey"].light,
}  # fmt: skip
"""Colour of a comparison's mark, by its word."""
INKS = COLOURS | dict.fromkeys((letters.CANNOT_TELL, letters.NOT_COMPARED), TONES["ink"].light)
"""Colour in which a word is written: grey has too little contrast for letters."""
_ELSEWHERE = re.compile(r" in (\w+)$")


@dataclass(frozen=True)
class CentralComparison:
    """One comparison that a central claim of a paper makes.

    Attributes:
        claim: the claim that the comparison tests.
        line: the comparison's line of the scorecard.
        location: method, instance and dataset in words, which the rows of a group have in common.
        compared_with: what the method is compared with, in words.
    """

    claim: Claim
    line: Line
    location: str
    compared_with: str

    @property
    def word(self) -> str:
        """Return the word of the comparison under all readings."""
        return robust(self.line)

    @property
    def lead(self) -> Lead:
        """Return how far the method is ahead."""
        return lead(self.line)

    @property
    def label(self) -> str:
        """Return the word with what it depends on, short enough to stand beside a mark."""
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


def csv_lines(context: Context[Any]) -> list[Line]:
    """Return the lines of the paper's central claims.

    Where the context says ``keep``, lines whose runs are missing are those of the table of all claims of the paper.
    """
    central = {claim.id for claim in load(context.paper, context.root) if claim.central}
    comparisons = scorecard.claim_lines(context.config, context.paper, context.root, Context)
    table_path = _claims_table(context)
    if context.keep and table_path is not None and is_here(table_path):
        comparisons = baseline_scorecard.keep(comparisons, baseline_scorecard.load(table_path))
    return [_with_lead(line) for line in comparisons if line["claim"] in central and line["kind"] == "claim"]


def _with_lead(line: Line) -> Line:
    """Add its word under all readings and its lead to a line."""
    line_lead = lead(line)
    numbers = {"lead": line_lead.mean, "lead_low": line_lead.low, "lead_high": line_lead.high, "unit": line_lead.unit}
    return line | {"robust": robust(line)} | (numbers if math.isfinite(line_lead.mean) else {})


def _claims_table(context: Context[Any]) -> Path | None:
    """Return the path of the CSV with all lines of the paper's claims; one exhibit of each paper writes it."""
    for name, entry in context.config.params.exhibits.items():
        is_table = entry.kind == context.options.kind and not (entry.model_extra or {}).get("source")
        if is_table and context.config.experiment(entry.experiments[0]).paper == context.paper:
            return context.root / "reports" / name / f"{name}.csv"
    return None


def rows(context: Context[Any], comparisons: list[Line]) -> Iterator[CentralComparison]:
    """Yield the comparisons of lines with the words that a figure writes beside them."""
    claims = {(claim.id, claim.method): claim for claim in load(context.paper, context.root)}
    titles = {name: experiment.title for name, experiment in context.config.experiments.items()}
    printed_titles = scorecard.dataset_titles(context.config, context.paper)
    about_paper = paper(context.paper, context.root)
    for line in comparisons:
        claim = claims[line["claim"], line["algorithm"]]
        dataset = printed_titles.get(line["dataset"]) or _dataset_title(line["dataset"], about_paper.datasets)
        instance = claim.short or _plain_title(str(titles.get(line["setting"], line["setting"])))
        is_repeated = claim.table is None and sum(name == claim.id for name, _ in claims) > 1
        method = style.plot_style(line["algorithm"]).label if is_repeated else ""
        location = ", ".join(filter(None, [method, instance, dataset]))
        initial = location[:1].upper() if location[1:2].islower() else location[:1]  # pSP stays pSP
        yield CentralComparison(claim, line, f"{initial}{location[1:]}", _compared_with(claim, line, titles))


def _dataset_title(name: str, printed: Mapping[str, PrintedDataset]) -> str:
    """Return the title that a paper or else its module gives a dataset; empty for the empty name."""
    titles = (entry.title for key, entry in printed.items() if name == key or name.startswith(entry.here))
    return next(titles, style.dataset_title(name)) if name else ""


def _plain_title(title: str) -> str:
    return re.sub(r" \([^)]*\)$", "", title.replace("_", " "))


def _compared_with(claim: Claim, line: Line, titles: Mapping[str, str]) -> str:
    against = str(line["against"])
    for side in claim.sides():
        if side.short and side.experiment and against.endswith(f" in {side.experiment}"):
            return side.short
    if against in names("algorithms"):
        return style.plot_style(against).label
    suffix = _ELSEWHERE.search(against)
    if suffix is None:
        return against or "by itself"
    return f"{against[: suffix.start()]}: {_plain_title(titles.get(suffix[1]) or suffix[1])}"


def count_by_word(comparisons: list[Line]) -> str:
    """Say how many comparisons come to each word."""
    plural = {"holds": "hold", "alike": "alike", "depends": "depend", "cannot tell": "cannot be told", "fails": "fail"}
    decisive = [line for line in comparisons if decides(line)]
    counts = [f"{sum(robust(line) == word for line in decisive)} {text}" for word, text in plural.items()]
    uncompared = sum(robust(line) == letters.NOT_COMPARED for line in decisive)
    counts += [f"{uncompared} not compared"] if uncompared else []
    without_evidence = len(comparisons) - len(decisive)
    counts += [f"{without_evidence} more true of another model, too"] if without_evidence else []
    return ", ".join(counts)
