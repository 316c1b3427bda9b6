"""A page per paper: its central claim and verdict, all its numbers in a picture, its claims, its exhibits."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reproduction.exhibits import document
from reproduction.grid.papers import Paper
from reproduction.site import card, comparisons, rows, strip
from reproduction.site.card import Entry
from reproduction.site.exhibits import CLAIM, Claim, figure, measured
from reproduction.site.project import OWN, Project, Shown
from reproduction.verdicts.line import RELEASED
from reproduction.verdicts.verdict import COUNTED, LABELS, magnitudes, of_numbers, of_sentences

NOT_YET = "Not yet in reports/verdicts.json; `partialfair scorecard --keep` adds it."


@dataclass(frozen=True)
class Verdict:
    """What came of a paper, as ``verdicts.json`` has it.

    Attributes:
        name: its folder.
        short: what it is called in tables.
        paper: what its folder says of it.
        word: of its central claim, a key of ``card.WORDS``.
        because: the reason, in a sentence.
        claims: how many there are by outcome, and ``total``.
        numbers: the same of numbers that could have failed, with ``counted`` for all of them.
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
    def of(cls, project: Project, name: str) -> "Verdict":
        """Gather it; undecided as long as the paper is not in that file."""
        about, found = project.papers[name], project.verdicts.get(name)
        short = project.short(name)
        if found is None:
            return cls(name, short, about, "cannot tell", NOT_YET, {"total": 0}, {"counted": 0})
        counted = rows.sentence(found["because"])
        because = f"{found['explanation']} {counted}" if found["explanation"] else counted
        central = found.get("central_comparisons", {})
        effects = found.get("effects", [])
        return cls(name, short, about, found["verdict"], because, found["claims"], found["numbers"], central, effects)

    @property
    def bar(self) -> list[tuple[str, str, int, float]]:
        """(tone, words, comparisons, per cent of all) of the central claim's outcomes, in favour first."""
        found = [
            (card.TONES[word], said[self.comparisons.get(word, 0) != 1], self.comparisons.get(word, 0))
            for word, said in COUNTED.items()
        ]
        total = sum(count for _, _, count in found)
        return [(tone, words, count, 100 * count / total) for tone, words, count in found if count]

    @property
    def label(self) -> str:
        """The verdict in four words at most."""
        return LABELS.get(self.word, self.word)

    @property
    def tone(self) -> str:
        """How its verdict is coloured."""
        return card.WORDS[self.word]

    @property
    def central(self) -> str:
        """The central claim without its places in the paper, which stand in brackets at its end."""
        return re.sub(r"\s*\([^()]*\)\.?$", "", self.paper.central_claim).rstrip(".") + "."

    @property
    def counts(self) -> tuple[str, str]:
        """How the paper's sentences and numbers came out, every word counted, each as a phrase."""
        if not self.claims["total"] and not self.numbers["counted"]:
            return "nothing judged yet", ""
        phrases = of_sentences(self.claims), of_numbers(self.numbers)
        first, second = (phrase[:1].upper() + phrase[1:] for phrase in phrases)
        return first, second

    @property
    def compared(self) -> str:
        """Comparisons of the central claim by word: those that occur, and how many fail in any case."""
        words = {**COUNTED, "true of another model": ("true but no evidence",) * 2}
        counts = {word: self.comparisons.get(word, 0) for word in words}
        return ", ".join(f"{n} {words[word][n != 1]}" for word, n in counts.items() if n or word == "fails")

    @property
    def sentences(self) -> str:
        """How the paper's sentences came out: those that hold, and every other word that occurs."""
        said = {"partly": "in part", "mixed": "in places", **{word: COUNTED[word][1] for word in MORE}}
        others = [f"{self.claims[word]} {text}" for word, text in said.items() if self.claims[word]]
        return ", ".join([f"{self.claims['holds']} of {self.claims['total']} sentences hold", *others])

    @property
    def size(self) -> str:
        """How far the method is ahead where the central claim holds, and behind where it fails."""
        ways = (("ahead", "holds"), ("behind", "fails"))
        return "; ".join(f"{way} {size}" for way, word in ways if (size := magnitudes(self.effects, word)))


MORE = ("alike", "depends", "cannot tell", "fails")
HEAD = ("paper", "central claim", "by how much", "comparisons", "printed numbers")


def markdown(project: Project) -> str:
    """Return the table of all papers that the README shows.

    Every word that occurs is counted, and how many comparisons fail in any case.
    """
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for name in project.papers:
        one = Verdict.of(project, name)
        judged = {said: one.numbers.get(said, 0) for said in ("agrees", "near", "differs")}
        plural = {"agrees": "agree", "differs": "differ"}
        numbers = [f"{count} {plural.get(said, said)}" for said, count in judged.items()]
        cells_of = [
            f"[{one.short}](papers/{name}/README.md)",
            f"**{one.label}**",
            one.size,
            one.compared,
            ", ".join(numbers) if one.numbers.get("counted") else "none counted",
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
    entries = project.of_paper(name)
    verdict = Verdict.of(project, name)
    numbers = [entry for entry in entries if entry.kind == "number"]
    stated, titles = claims(project, name), {key: own.title for key, own in project.config.experiments.items()}
    template = document.environment().get_template("site/paper.html.j2")
    return str(
        template.render(
            root=root, name=name, verdict=verdict, forest=forest(project, name), paper=verdict.paper,
            strip=strip.plot(numbers, f"strip-{name}", f"{verdict.short}: every printed number against ours"),
            beside=sum(math.isnan(strip.difference(entry)) for entry in numbers),
            tally=card.tally(numbers), tones=card.TONES, claims=stated, measured=measured,
            outcomes=[comparisons.arranged(claim, titles) for claim in stated if claim.central],
            questions=grouped([entry for entry in entries if entry.kind == "question"]),
            conceded=grouped([entry for entry in entries if entry.kind == "concession"]),
            words=COUNTED,
            rows=[rows.of(project, shown) for shown in _shown(project, name)],
            settings=card.tally(e for e in entries if e.kind == "setting"),
        )
    )  # fmt: skip


def forest(project: Project, name: str) -> str:
    """Return the picture of all comparisons that a paper's verdict rests on; empty if it has not been drawn."""
    for shown in project.exhibits.values():
        source = (project.config.params.exhibits[shown.name].model_extra or {}).get("source")
        if shown.paper == name and source == "forest" and {"svg", "csv"} <= shown.files.keys():
            return figure(project, shown)
    return ""


def claims(project: Project, name: str) -> list[Claim]:
    """Return the claims of a paper in its own order, each with its verdict and its comparisons."""
    own = grouped([entry for entry in project.of_paper(name) if entry.kind == CLAIM])
    listed = {entry["id"]: entry for entry in project.verdicts.get(name, {}).get("claim_list", [])}
    found = [replace(one, **_said(listed.get(one.entries[0].claim, {}))) for one in own]
    order = list(listed)
    return sorted(
        found, key=lambda one: order.index(one.entries[0].claim) if one.entries[0].claim in listed else len(order)
    )


def _said(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": entry.get("verdict", ""), "central": bool(entry.get("central"))}


def grouped(entries: Sequence[Entry]) -> list[Claim]:
    """Return sentences with the lines that test them, in the order of the lines."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.claim or asked(entry), []).append(entry)
    return [Claim(asked(members[0]), members) for members in found.values()]


def asked(entry: Entry) -> str:
    """What a line is about: the sentence in place of a number, or else the exhibit whose numbers are compared."""
    if math.isnan(entry.number("published")):
        return entry.published
    exhibit = entry.exhibit.replace("_", " ").capitalize()
    if entry.section == RELEASED:
        return f"{exhibit}: do the numbers of the published code that the paper does not show agree with ours?"
    return f"{exhibit}: do the numbers agree with the expected ones?"


def exhibits(project: Project, name: str) -> list[dict[str, Any]]:
    """Return the exhibits of a paper as the gallery has them; see :func:`_shown`."""
    return [_exhibit(project, shown) for shown in _shown(project, name)]


def _shown(project: Project, name: str) -> list[Shown]:
    """Return the exhibits of a paper, those with variants once; settings as printed come last."""
    own = [
        shown for shown in project.exhibits.values() if shown.paper == name and project.base(shown.name) == shown.name
    ]
    return sorted(own, key=lambda shown: shown.kind == "settings")


def beyond(project: Project) -> list[dict[str, Any]]:
    """Return what belongs to no paper: what this project asked by itself."""
    own = [shown for shown in project.exhibits.values() if shown.paper == OWN]
    return [_exhibit(project, shown) for shown in own]


def _exhibit(project: Project, shown: Shown) -> dict[str, Any]:
    family = project.variants(shown)
    lines = [entry for one in family or [shown] for entry in project.lines(one)]
    return {
        "shown": shown,
        "picture": "png" in shown.files,
        "tally": card.chips(lines),
        "variants": len(family),
        "table": shown.file("html").is_file(),
    }
