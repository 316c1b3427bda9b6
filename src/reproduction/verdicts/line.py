"""Lines of the scorecard, and the words that each kind of line may end with."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from partialfair.errors import ConfigError

Kind = Literal["number", "claim", "question", "setting", "concession"]
NUMBERS = ("agrees", "near", "differs", "by construction", "repeated", "measured", "not run")
CLAIMS = ("holds", "dominated", "fails", "undecided", "not run")
SETTINGS = ("as stated", "by construction", "differs from the paper", "not run")
WORDS: dict[str, tuple[str, ...]] = {
    "number": NUMBERS, "claim": CLAIMS, "question": (*CLAIMS, *NUMBERS[:3]), "setting": SETTINGS,
    "concession": CLAIMS,
}  # fmt: skip
"""Verdicts by kind of line."""
OTHER_WAY = "the measured effect points the other way"
"""In the note of an undecided line whose ``seeds_needed`` would decide the opposite."""
OURS = "a question of this project"
RELEASED = "the paper's published code"
"""Where lines say that they stand if no paper does: their section."""
JUDGED = ("agrees", "near", "differs")
"""Verdicts of numbers that count, if the line has power."""


@dataclass(frozen=True)
class Line:
    """One line of ``scorecard.csv``, column by column; see docs/scorecard.md.

    Attributes:
        section: where the paper says it.
        kind: number and claim count for the paper; question (ours), setting (data, protocol) and concession (what the
            authors grant their rivals) never do.
        claim: short name of a sentence.
        against: what a method is compared with.
        published: a number, or the sentence that stands in its place.
        reproduced, ci_low, ci_high: what was measured, with its interval over n seeds.
        noise: largest difference that noise explains: of two such means, or of a declared source.
        tolerance: of a number, how far off is near; of a claim, the margin. Stated in advance unless the note says so.
        power: yes where null models were tried and did not get the same verdict, no where one did, empty if none was;
            of a claim that compares two methods it stays empty: of two, one alone can be the better one; that they are
            similar, or one at least as good, a difference beyond the margin would have refuted.
        nulls: what null models get.
        test, statistic, p_value: what decided a claim; p of the claim, or of its opposite where that is decided,
            corrected for its family.
        detectable: smallest effect that could have been seen, of an undecided claim; seeds_needed: to see the margin,
            or the effect that was measured.
        robust: what the comparison says under all readings of the claim; under the only one, where it has no others.
        depends_on: choices that turn it; or what has to be run before it can be told.
        by_option: what each option of every choice gives.
        letters: one per reading; see :mod:`reproduction.verdicts.letters`.
        grade: ``*`` where it holds or fails for this dataset, and is open for a fresh draw of people.
        seeds_flip: how many of the runs without one seed have another word, of how many.
        together: the word of all comparisons of the claim at this place at once.
        lead, lead_low, lead_high: mean lead of the method over the levels, in ``unit``; least: the smallest of a level.
        share: levels at which both were trained, of those asked for.
        matters: the margin below which nobody would choose, in ``unit``.
    """

    paper: str
    exhibit: str
    dataset: str = ""
    algorithm: str = ""
    constraint: str = ""
    interval: str = ""
    setting: str = ""
    metric: str = ""
    published: float | str = ""
    kind: Kind = "number"
    section: str = ""
    claim: str = ""
    against: str = ""
    reproduced: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int | None = None
    noise: float | None = None
    tolerance: float | None = None
    verdict: str = "not run"
    power: Literal["", "yes", "no"] = ""
    nulls: str = ""
    test: str = ""
    statistic: float | None = None
    p_value: float | None = None
    detectable: float | None = None
    seeds_needed: int | None = None
    robust: str = ""
    depends_on: str = ""
    by_option: str = ""
    letters: str = ""
    grade: str = ""
    seeds_flip: str = ""
    together: str = ""
    lead: float | None = None
    lead_low: float | None = None
    lead_high: float | None = None
    least: float | None = None
    unit: str = ""
    share: str = ""
    matters: float | None = None
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The line by column; a number that there is none of is left out.

        Raises:
            ConfigError: the verdict is none of its kind.
        """
        check(self.kind, self.verdict)
        return {name: value for name, value in asdict(self).items() if value is not None and value == value}


def check(kind: str, verdict: str) -> None:
    """Refuse a verdict that a kind of line cannot have.

    Raises:
        ConfigError: naming both.
    """
    if verdict not in WORDS[kind]:
        valid = ", ".join(WORDS[kind])
        raise ConfigError(f"scorecard: a {kind} cannot be {verdict!r}; its verdicts are {valid}")


LACKS = "lacks"
"""Of a line on its way to the file, whether it was decided without something that should be here; no column."""
COLUMNS = ("counts", *(field.name for field in fields(Line)))


AS_ROBUST = {
    "holds": "holds", "dominated": "holds", "fails": "fails", "undecided": "cannot tell", "not run": "not compared",
}  # fmt: skip
"""What a comparison says whose claim has one reading."""


def robust(line: Mapping[str, Any]) -> str:
    """What a comparison says under all readings of its claim."""
    return str(line.get("robust") or AS_ROBUST.get(str(line["verdict"]), "not compared"))


@dataclass(frozen=True)
class Lead:
    """How far a method is ahead of the other side: mean with the ends of its interval, NaN where there is none."""

    mean: float
    low: float
    high: float
    unit: str


def lead(line: Mapping[str, Any]) -> Lead:
    """The lead that a comparison measures; of a line without its own, the effect that its test is about."""
    names, unit = ("lead", "lead_low", "lead_high"), str(line.get("unit") or "")
    if line.get("lead") in (None, "") and str(line.get("test", "")).startswith(("better", "worse", "at least")):
        names, unit = ("reproduced", "ci_low", "ci_high"), str(line.get("metric", "")).replace("_", " ")
    found = (line.get(name) for name in names)
    mean, low, high = (math.nan if value in (None, "") else float(value) for value in found)
    return Lead(mean, low, high, unit)


def decides(line: Mapping[str, Any]) -> bool:
    """Whether a comparison says something of its claim or question: a wrong answer could have failed it, or it does.

    That a model which the sentence is not about passes takes nothing from a test that the paper's method does not pass.
    """
    return line["verdict"] in ("fails", "undecided") or line.get("power") != "no"


def counts(line: Mapping[str, Any]) -> bool:
    """Whether a line counts for its paper: a claim that it decides, or a number that a wrong answer could miss.

    A number that differs counts whether or not null models were tried.
    """
    if line["kind"] == "claim":
        return decides(line)
    judged = line["kind"] == "number" and line["verdict"] in JUDGED
    return bool(judged and (line["verdict"] == "differs" or line.get("power") == "yes"))
