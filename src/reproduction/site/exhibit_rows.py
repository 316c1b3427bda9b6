"""What a paper's page says of each exhibit: what the paper says, what came out, the verdict, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from reproduction.site import differences, scorecard_entries
from reproduction.site.exhibits import CLAIM
from reproduction.site.project import Project, SiteExhibit
from reproduction.site.scorecard_entries import Entry
from reproduction.site.sentences import effect, sentence

NOTHING = "No printed numbers, and no claim of its own."


@dataclass(frozen=True)
class ExhibitRow:
    """One exhibit, its variants included.

    Attributes:
        exhibit: the exhibit.
        picture: whether there is one.
        variants: the others that show the same in other ways.
        published: what the paper says of it.
        ours: what was measured.
        tally: verdicts of the lines that count, and how many others there are.
        why: the reason where results differ, or what decides nothing.
    """

    exhibit: SiteExhibit
    picture: bool
    variants: Sequence[SiteExhibit]
    published: str
    ours: str
    tally: dict[str, int]
    why: str


def exhibit_row(project: Project, exhibit: SiteExhibit) -> ExhibitRow:
    """Gather what is said of an exhibit and of its variants."""
    family = project.variants(exhibit)
    lines = [entry for variant in family or [exhibit] for entry in project.lines(variant)]
    names = {variant.name for variant in family} | {exhibit.name}
    difference = next((entry for entry in differences.load(project) if entry.exhibit in names), None)
    why = difference.why if difference is not None and difference.paper == exhibit.paper else _why(lines)
    other_variants = [variant for variant in family if variant.name != exhibit.name]
    tally, picture = scorecard_entries.count_verdicts(lines), "svg" in exhibit.files
    return ExhibitRow(exhibit, picture, other_variants, _published(lines), _ours(lines), tally, why)


def _claims(lines: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the lines of claims by sentence, in the order of the paper."""
    entries_by_sentence: dict[str, list[Entry]] = {}
    for entry in lines:
        if entry.kind == CLAIM:
            entries_by_sentence.setdefault(entry.published, []).append(entry)
    return entries_by_sentence


def _published(lines: Sequence[Entry]) -> str:
    claims = list(_claims(lines))
    sentences = claims[:1] + ([_counted(len(claims) - 1, "more claim")] if len(claims) > 1 else [])
    for kind, word in (
        ("number", "printed number"),
        ("setting", "stated setting"),
        ("question", "question of our own"),
    ):
        count = sum(entry.kind == kind for entry in lines)
        sentences += [_counted(count, word)] if count else []
    return " ".join(sentences) or NOTHING


def _counted(count: int, word: str) -> str:
    noun, _, qualifier = word.partition(" of ")
    return f"{count} {noun}{'s' if count != 1 else ''}{f' of {qualifier}' if qualifier else ''}."


def _ours(lines: Sequence[Entry]) -> str:
    claims = list(_claims(lines).values())
    effects = [entry for entry in claims[0] if math.isfinite(entry.number("reproduced"))] if claims else []
    sentences = []
    if len(effects) == 1:
        sentences.append(f"The first claim's effect is {effect(effects[0])}.")
    elif effects:
        values = [entry.number("reproduced") for entry in effects]
        span = f"{min(values):+.3g} to {max(values):+.3g} in {len(values)} comparisons"
        sentences.append(f"The first claim's effect is {span}.")
    judged = [entry for entry in lines if entry.kind == "number" and entry.outcome in ("agrees", "near", "differs")]
    distances = [value for entry in judged if math.isfinite(value := abs(_apart(entry)))]
    if distances:
        sentences.append(
            f"Judged numbers differ by {median(distances):.2g} in the median, {max(distances):.2g} at most."
        )
    return " ".join(sentences)


def _apart(entry: Entry) -> float:
    return entry.number("reproduced") - entry.number("published")


def _why(lines: Sequence[Entry]) -> str:
    """Say where the clearest difference lies, or else how small an effect would have been seen."""
    differing = [entry for entry in lines if entry.tone == scorecard_entries.BAD and entry.kind != "question"]
    if differing:
        clearest = max(differing, key=lambda entry: (entry.power, entry.kind == CLAIM, abs(_statistic(entry))))
        against = "" if clearest.kind == CLAIM else f": ours {effect(clearest)}, printed {clearest.printed}"
        if against and clearest.noise > 0:  # of the same rows it is far smaller than the interval of ours alone
            against += f"; noise of their difference ±{clearest.number('noise'):.2g}"
        return f"Clearest difference: {clearest.description}{against}. {_reason(clearest)}".strip()
    undecided = [entry for entry in lines if entry.outcome == "cannot tell"]
    detectable = [value for entry in undecided if math.isfinite(value := entry.number("detectable"))]
    ends = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (min(detectable), max(detectable)))) if detectable else ""
    return f"Cannot be told: the smallest effect that would have been seen is {ends}." if ends else ""


def _reason(entry: Entry) -> str:
    """Return the note of a line; of a printed number the part after the difference, as the rest repeats the line."""
    notes = entry.note.split("; ")
    if entry.kind == "number":
        last_differences = [index for index, note in enumerate(notes, 1) if note.startswith("difference")]
        notes = notes[last_differences[-1] :] if last_differences else notes
    return sentence("; ".join(notes))


def _statistic(entry: Entry) -> float:
    """Return how clear a difference is: the statistic of its test, or else its distance in standard errors."""
    value = entry.number("statistic")
    value = value if math.isfinite(value) else _apart(entry) / entry.noise if entry.noise > 0 else 0.0
    return value if math.isfinite(value) else 0.0
