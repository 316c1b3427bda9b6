"""A page per exhibit: the figure or table, its verdicts, where it comes from, and its files."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from partialfair import plugins
from reproduction.exhibits import canvas, document, titles
from reproduction.grid.table_files import read_table
from reproduction.site import scorecard_entries, sentences
from reproduction.site.project import Project, SiteExhibit
from reproduction.site.scorecard_entries import Entry
from reproduction.verdicts.line import RELEASED, Kind

CLAIM = "claim"
WORST_FIRST = (scorecard_entries.BAD, scorecard_entries.FAIR, scorecard_entries.GOOD, scorecard_entries.NONE)
LONGEST = 60  # lines of a group that a page shows; the explorer has the rest
STATUS_WORDS = {
    "tolerance missed": "exceed their tolerance on the training rows",
    "not stationary": "are less stationary than their method promises",
    "infeasible": "found no model",
    "failed": "failed",
}
_BODY = re.compile(r'<p class="caption">.*?</p>\n(.*?)</main>', re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")


@dataclass(frozen=True)
class TestedClaim:
    """One statement of a paper with the comparisons that test it.

    Attributes:
        text: the sentence.
        entries: one line of the scorecard per comparison.
        verdict: what the comparisons say together; empty if that is not judged.
        central: whether the paper's verdict rests on it.
    """

    text: str
    entries: Sequence[Entry]
    verdict: str = ""
    central: bool = False

    @property
    def tally(self) -> dict[str, int]:
        """Return the number of its comparisons by outcome."""
        return scorecard_entries.tally(self.entries)

    @property
    def section(self) -> str:
        """Return the section of the paper that states it."""
        return self.entries[0].section


def tested_claims(entries: Sequence[Entry]) -> list[TestedClaim]:
    """Return sentences with the lines that test them, in the order of the lines."""
    entries_by_claim: dict[str, list[Entry]] = {}
    for entry in entries:
        entries_by_claim.setdefault(entry.claim or question_of(entry), []).append(entry)
    return [TestedClaim(question_of(claim_entries[0]), claim_entries) for claim_entries in entries_by_claim.values()]


def question_of(entry: Entry) -> str:
    """Return the sentence that a line is about, or else a question about the exhibit whose numbers are compared."""
    if math.isnan(entry.number("published")):
        return entry.published
    exhibit = entry.exhibit.replace("_", " ").capitalize()
    if entry.section == RELEASED:
        return f"{exhibit}: do the numbers of the published code that the paper does not show agree with ours?"
    return f"{exhibit}: do the numbers agree with the expected ones?"


def _source(kind: str) -> str:
    """Return the file of a kind of exhibit, relative to the checkout."""
    parts = plugins.module_of("exhibits", kind).split(".")
    return "/".join(parts if parts[0] == "papers" else ("src", *parts)) + ".py"


def html(project: Project, name: str, root: str = "../") -> str:
    """Return the body of an exhibit's page, below its title.

    Args:
        project: the checkout.
        name: of the exhibit.
        root: relative address of the site's first page.
    """
    exhibit = project.exhibits[name]
    entries = project.lines(exhibit)
    entries.sort(
        key=lambda entry: (bool(entry.exclusion), WORST_FIRST.index(entry.tone))
    )  # lines that count come first
    summary, remainder = caption(exhibit.caption)
    template = document.environment().get_template("site/exhibit.html.j2")
    return str(
        template.render(
            root=root, exhibit=exhibit, first=summary, rest=remainder, variants=project.variants(exhibit),
            tally=scorecard_entries.count_verdicts(entries), tones=scorecard_entries.TONES, groups=_groups(entries),
            longest=LONGEST, data=project.data_facts(exhibit.experiments),
            paper=project.papers.get(exhibit.paper),
            figure=figure(project, exhibit) if {"svg", "csv"} <= exhibit.files.keys() else "",
            table=table(exhibit.file("html")), provenance=provenance(project, exhibit), measured=sentences.effect,
            reasons=sentences.reasons,
            source=_source(exhibit.kind),
        )
    )  # fmt: skip


def _groups(entries: Sequence[Entry]) -> list[TestedClaim]:
    """Return the lines of an exhibit as they are read: sentences with their comparisons, numbers, settings."""
    by_kind = {kind: [entry for entry in entries if entry.kind == kind] for kind in get_args(Kind)}
    compared = [claim for kind in ("claim", "question", "concession") for claim in tested_claims(by_kind[kind])]
    named = {"Printed numbers": by_kind["number"], "Settings that the paper states": by_kind["setting"]}
    return [*compared, *(TestedClaim(text, lines) for text, lines in named.items() if lines)]


def figure(project: Project, exhibit: SiteExhibit) -> str:
    """Return the figure of an exhibit, with a description in words."""
    options = project.config.params.exhibits[exhibit.name].model_extra or {}
    return canvas.figure_html(exhibit.file("svg"), exhibit.title, titles.title_function(project.config, options.get))


def caption(text: str) -> tuple[str, str]:
    """Return the first two sentences of a caption, and the rest."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    return " ".join(sentences[:2]), " ".join(sentences[2:])


def table(path: Path) -> str:
    """Return the tables of an exhibit's own page; empty if it has none."""
    if not path.is_file():
        return ""
    match = _BODY.search(path.read_text(encoding="utf-8"))
    return match[1].strip() if match else ""


def provenance(project: Project, exhibit: SiteExhibit) -> list[tuple[str, str]]:
    """Return where an exhibit's numbers come from: (name, value) pairs."""
    paths = [project.root / "reports" / name / "runs.parquet" for name in exhibit.experiments]
    frames = [read_table(path) for path in paths if path.is_file()]
    if not frames:
        return []
    runs = pd.concat(frames, ignore_index=True)
    finished_runs = runs[runs["status"] != "not_run"]
    facts = [
        ("experiments", ", ".join(exhibit.experiments[:6]) + (", …" if len(exhibit.experiments) > 6 else "")),
        ("runs", _counted(finished_runs)),
        ("seeds", span(sorted(finished_runs["seed"].unique()))),
        ("training", _spent(float(finished_runs["cpu_seconds"].sum()))),
        ("made by commit", ", ".join(value[:12] for value in _distinct(finished_runs, "git_revision"))),
        ("tables (SHA-256)", ", ".join(_tables(finished_runs))),
    ]
    return [(name, value) for name, value in facts if value]


def _counted(finished_runs: pd.DataFrame) -> str:
    """Say how many runs were trained, and how many of them failed in which way."""
    counts = finished_runs["status"].value_counts()
    inapplicable = counts.get(
        "not_applicable", 0
    )  # the method does not apply to the constraint or the data: nothing was run
    failures = [f"{counts[status]:,} {failure}" for status, failure in STATUS_WORDS.items() if status in counts]
    return "; ".join([f"{len(finished_runs) - inapplicable:,} trained", *failures])


def _spent(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes of one core" if seconds >= 60 else f"{seconds:.1f} s of one core"


def _tables(runs: pd.DataFrame) -> list[str]:
    if "table_sha256" not in runs:
        return []
    pairs = runs[["dataset", "table_sha256"]].dropna().drop_duplicates("dataset")
    return [f"{row.dataset} {row.table_sha256[:12]}" for row in pairs.itertuples()]


def _distinct(runs: pd.DataFrame, column: str) -> list[str]:
    return [str(value) for value in runs[column].dropna().unique()] if column in runs else []


def span(seeds: Sequence[int]) -> str:
    """Return ascending seeds in words: a range without gaps by its ends."""
    numbers = [int(seed) for seed in seeds]
    is_range = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if is_range else ", ".join(map(str, numbers))


def as_json(value: Any) -> str:
    """Return JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
