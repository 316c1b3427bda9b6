"""A page per paper: its central claim and verdict, all its numbers in a picture, its claims, its exhibits."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reproduction.exhibits import document
from reproduction.grid.papers import Paper
from reproduction.site import comparisons, difference_plot, exhibit_rows, scorecard_entries, sentences
from reproduction.site.exhibits import CLAIM, TestedClaim, figure, tested_claims
from reproduction.site.project import OWN_WORK, Project, SiteExhibit, experiment_titles
from reproduction.verdicts.verdict import LABELS, VERBS, magnitudes, sentence_of_claims, sentence_of_numbers

_NOT_YET = "Not yet in reports/verdicts.json; `partialfair scorecard --keep` adds it."


@dataclass(frozen=True)
class Verdict:
    """What came of a paper, as ``verdicts.json`` has it.

    Attributes:
        name: its folder.
        short: what it is called in tables.
        paper: what its folder says of it.
        word: of its central claim, a key of ``card.CLAIM_TONES``.
        because: the reason, in a sentence.
        claims: how many there are by outcome, and ``total``.
        numbers: how many numbers that could have failed there are by outcome, and ``counted`` for all of them.
        comparisons: how those of the central claim came out.
        effects: smallest and largest lead of those that hold, and of those that fail.
    """

    name: str
    short: str
    paper: Paper
    word: str
    because: str
    claims: Mapping[str, int]
    numbers: Mapping[str, int]
    comparisons: Mapping[str, int] = field(default_factory=dict)
    effects: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of_paper(cls, project: Project, name: str) -> "Verdict":
        """Gather the verdict of a paper; it is undecided as long as the paper is not in that file."""
        about, entry = project.papers[name], project.verdicts.get(name)
        short = project.short(name)
        if entry is None:
            return cls(name, short, about, "cannot tell", _NOT_YET, {"total": 0}, {"counted": 0})
        counted_sentence = sentences.sentence(entry["because"])
        because = f"{entry['explanation']} {counted_sentence}" if entry["explanation"] else counted_sentence
        central = entry.get("central_comparisons", {})
        effects = entry.get("effects", [])
        return cls(name, short, about, entry["verdict"], because, entry["claims"], entry["numbers"], central, effects)

    @property
    def bar(self) -> list[tuple[str, str, int, float]]:
        """Return (tone, words, comparisons, per cent of all) of the central claim's outcomes, in favour first."""
        outcomes = [
            (scorecard_entries.TONES[word], phrases[self.comparisons.get(word, 0) != 1], self.comparisons.get(word, 0))
            for word, phrases in VERBS.items()
        ]
        total = sum(count for _, _, count in outcomes)
        return [(tone, phrase, count, 100 * count / total) for tone, phrase, count in outcomes if count]

    @property
    def label(self) -> str:
        """Return the verdict in four words at most."""
        return LABELS.get(self.word, self.word)

    @property
    def tone(self) -> str:
        """Return the tone of its verdict, a class of colours."""
        return scorecard_entries.CLAIM_TONES[self.word]

    @property
    def central(self) -> str:
        """Return the central claim without the sections of the paper, which stand in brackets at its end."""
        return re.sub(r"\s*\([^()]*\)\.?$", "", self.paper.central_claim).rstrip(".") + "."

    @property
    def counts(self) -> tuple[str, str]:
        """Return two phrases that count the words of the paper's sentences and of its numbers."""
        if not self.claims["total"] and not self.numbers["counted"]:
            return "nothing judged yet", ""
        phrases = sentence_of_claims(self.claims), sentence_of_numbers(self.numbers)
        sentences_phrase, numbers_phrase = phrases
        return sentences_phrase[:1].upper() + sentences_phrase[1:], numbers_phrase

    @property
    def compared(self) -> str:
        """Count the comparisons of the central claim by word: words that occur, and failures in any case."""
        phrases = {**VERBS, "true of another model": ("true but no evidence",) * 2}
        counts = {word: self.comparisons.get(word, 0) for word in phrases}
        return ", ".join(
            f"{count} {phrases[word][count != 1]}" for word, count in counts.items() if count or word == "fails"
        )

    @property
    def sentences(self) -> str:
        """Count the paper's sentences by word: those that hold, and every other word that occurs."""
        phrases = {"partly": "in part", "mixed": "in places", **{word: VERBS[word][1] for word in _OTHER_WORDS}}
        counted_words = [f"{self.claims[word]} {text}" for word, text in phrases.items() if self.claims[word]]
        return ", ".join([f"{self.claims['holds']} of {self.claims['total']} sentences hold", *counted_words])

    @property
    def size(self) -> str:
        """Say how far the method is ahead where the central claim holds, and behind where it fails."""
        sides = (("ahead", "holds"), ("behind", "fails"))
        return "; ".join(f"{side} {size}" for side, word in sides if (size := magnitudes(self.effects, word)))


_OTHER_WORDS = ("alike", "depends", "cannot tell", "fails")
COLUMNS = ("paper", "central claim", "by how much", "comparisons", "printed numbers")


def markdown(project: Project) -> str:
    """Return the table of all papers that the README shows.

    Every word that occurs is counted, and how many comparisons fail in any case.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name in project.papers:
        verdict = Verdict.of_paper(project, name)
        counts = {word: verdict.numbers.get(word, 0) for word in ("agrees", "near", "differs")}
        plurals = {"agrees": "agree", "differs": "differ"}
        numbers = [f"{count} {plurals.get(word, word)}" for word, count in counts.items()]
        cells_of = [
            f"[{verdict.short}](papers/{name}/README.md)",
            f"**{verdict.label}**",
            verdict.size,
            verdict.compared,
            ", ".join(numbers) if verdict.numbers.get("counted") else "none counted",
        ]
        lines.append(f"| {' | '.join(cells_of)} |")
    return "\n".join(lines) + "\n"


def html(project: Project, name: str, root: str = "../") -> str:
    """Return the body of a paper's page, below its title.

    Args:
        project: the checkout.
        name: the paper's folder.
        root: relative address of the site's first page.
    """
    entries = project.entries_of_paper(name)
    verdict = Verdict.of_paper(project, name)
    numbers = [entry for entry in entries if entry.kind == "number"]
    paper_claims = claims(project, name)
    titles = experiment_titles(project.config)
    template = document.environment().get_template("site/paper.html.j2")
    return str(
        template.render(
            root=root, name=name, verdict=verdict, forest=forest(project, name), paper=verdict.paper,
            strip=difference_plot.plot(numbers, f"strip-{name}", f"{verdict.short}: every printed number against ours"),
            beside=sum(math.isnan(difference_plot.difference(entry)) for entry in numbers),
            tally=scorecard_entries.tally(numbers), tones=scorecard_entries.TONES,
            claims=paper_claims, measured=sentences.effect, reasons=sentences.reasons,
            outcomes=[comparisons.arrange(claim, titles) for claim in paper_claims if claim.central],
            questions=tested_claims([entry for entry in entries if entry.kind == "question"]),
            conceded=tested_claims([entry for entry in entries if entry.kind == "concession"]),
            words=VERBS, data=project.data_facts(_experiments(project, name)),
            rows=[exhibit_rows.exhibit_row(project, exhibit) for exhibit in _exhibits_of_paper(project, name)],
            settings=scorecard_entries.tally(e for e in entries if e.kind == "setting"),
        )
    )  # fmt: skip


def _experiments(project: Project, name: str) -> list[str]:
    return [key for key, experiment in project.config.experiments.items() if experiment.paper == name]


def forest(project: Project, name: str) -> str:
    """Return the picture of all comparisons that a paper's verdict rests on; empty if it has not been drawn."""
    for exhibit in project.exhibits.values():
        source = (project.config.params.exhibits[exhibit.name].model_extra or {}).get("source")
        if exhibit.paper == name and source == "forest" and {"svg", "csv"} <= exhibit.files.keys():
            return figure(project, exhibit)
    return ""


def claims(project: Project, name: str) -> list[TestedClaim]:
    """Return the claims of a paper in its own order, each with its verdict and its comparisons."""
    stated = tested_claims([entry for entry in project.entries_of_paper(name) if entry.kind == CLAIM])
    entries_by_claim = {entry["id"]: entry for entry in project.verdicts.get(name, {}).get("claim_list", [])}
    positions = {claim_id: position for position, claim_id in enumerate(entries_by_claim)}
    judged = []
    for sentence in stated:
        entry = entries_by_claim.get(sentence.entries[0].claim, {})
        judged.append(replace(sentence, verdict=entry.get("verdict", ""), central=bool(entry.get("central"))))
    return sorted(judged, key=lambda claim: positions.get(claim.entries[0].claim, len(positions)))


def exhibits(project: Project, name: str) -> list[dict[str, Any]]:
    """Return the exhibits of a paper as the gallery has them; see :func:`_exhibits_of_paper`."""
    return [_gallery_card(project, exhibit) for exhibit in _exhibits_of_paper(project, name)]


def _exhibits_of_paper(project: Project, name: str) -> list[SiteExhibit]:
    """Return the exhibits of a paper, those with variants once; settings as printed come last."""
    paper_exhibits = [
        exhibit
        for exhibit in project.exhibits.values()
        if exhibit.paper == name and project.base(exhibit.name) == exhibit.name
    ]
    return sorted(paper_exhibits, key=lambda exhibit: exhibit.kind == "settings")


def beyond(project: Project) -> list[dict[str, Any]]:
    """Return what belongs to no paper: what this project asked by itself."""
    own_exhibits = [exhibit for exhibit in project.exhibits.values() if exhibit.paper == OWN_WORK]
    return [_gallery_card(project, exhibit) for exhibit in own_exhibits]


def _gallery_card(project: Project, exhibit: SiteExhibit) -> dict[str, Any]:
    family = project.variants(exhibit)
    lines = [entry for variant in family or [exhibit] for entry in project.lines(variant)]
    return {
        "exhibit": exhibit,
        "picture": "svg" in exhibit.files,
        "tally": scorecard_entries.count_verdicts(lines),
        "variants": len(family),
        "table": exhibit.file("html").is_file(),
    }
