"""What a paper's page says of each exhibit: what the paper says, what came out, the verdict, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from reproduction.site import card, differences
from reproduction.site.card import Entry
from reproduction.site.exhibits import CLAIM, measured
from reproduction.site.project import Project, Shown

NOTHING = "No printed numbers, and no claim of its own."


@dataclass(frozen=True)
class Row:
    """One exhibit, its variants included.

    Attributes:
        shown: the exhibit.
        picture: whether there is one.
        variants: the others that show the same in other ways.
        published: what the paper says of it.
        ours: what was measured.
        tally: verdicts of the lines that count, and how many others there are.
        why: the reason where results differ, or what decides nothing.
    """

    shown: Shown
    picture: bool
    variants: Sequence[Shown]
    published: str
    ours: str
    tally: dict[str, int]
    why: str


def of(project: Project, shown: Shown) -> Row:
    """Gather what is said of an exhibit and of its variants."""
    family = project.variants(shown)
    lines = [entry for one in family or [shown] for entry in project.lines(one)]
    names = {one.name for one in family} | {shown.name}
    stated = next((entry for entry in differences.load(project) if entry.exhibit in names), None)
    why = stated.why if stated is not None and stated.paper == shown.paper else _why(lines)
    others = [one for one in family if one.name != shown.name]
    return Row(shown, "png" in shown.files, others, _published(lines), _ours(lines), card.chips(lines), why)


def _claims(lines: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Claims by sentence, in the order of the paper."""
    found: dict[str, list[Entry]] = {}
    for entry in lines:
        if entry.kind == CLAIM:
            found.setdefault(entry.published, []).append(entry)
    return found


def _published(lines: Sequence[Entry]) -> str:
    claims = list(_claims(lines))
    parts = claims[:1] + ([_counted(len(claims) - 1, "more claim")] if len(claims) > 1 else [])
    for kind, word in (
        ("number", "printed number"),
        ("setting", "stated setting"),
        ("question", "question of our own"),
    ):
        count = sum(entry.kind == kind for entry in lines)
        parts += [_counted(count, word)] if count else []
    return " ".join(parts) or NOTHING


def _counted(count: int, word: str) -> str:
    head, _, rest = word.partition(" of ")
    return f"{count} {head}{'s' if count != 1 else ''}{f' of {rest}' if rest else ''}."


def _ours(lines: Sequence[Entry]) -> str:
    claims = list(_claims(lines).values())
    found = [entry for entry in claims[0] if math.isfinite(entry.number("reproduced"))] if claims else []
    parts = []
    if len(found) == 1:
        parts.append(f"The first claim's effect is {measured(found[0])}.")
    elif found:
        values = [entry.number("reproduced") for entry in found]
        span = f"{min(values):+.3g} to {max(values):+.3g} in {len(values)} comparisons"
        parts.append(f"The first claim's effect is {span}.")
    judged = [entry for entry in lines if entry.kind == "number" and entry.outcome in ("agrees", "near", "differs")]
    apart = [value for entry in judged if math.isfinite(value := abs(_apart(entry)))]
    if apart:
        parts.append(f"Judged numbers differ by {median(apart):.2g} in the median, {max(apart):.2g} at most.")
    return " ".join(parts)


def _apart(entry: Entry) -> float:
    return entry.number("reproduced") - entry.number("published")


def _why(lines: Sequence[Entry]) -> str:
    """Where the clearest difference lies, or else how small an effect would have been seen."""
    bad = [entry for entry in lines if entry.tone == card.BAD and entry.kind != "question"]
    if bad:
        worst = max(bad, key=lambda entry: (entry.power, entry.kind == CLAIM, abs(_statistic(entry))))
        against = "" if worst.kind == CLAIM else f": ours {measured(worst)}, printed {worst.printed}"
        if against and worst.noise > 0:  # of the same rows it is far smaller than the interval of ours alone
            against += f"; noise of their difference ±{worst.number('noise'):.2g}"
        return f"Clearest difference: {worst.what}{against}. {_reason(worst)}".strip()
    open_ = [entry for entry in lines if entry.outcome == "cannot tell"]
    seen = [value for entry in open_ if math.isfinite(value := entry.number("detectable"))]
    ends = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (min(seen), max(seen)))) if seen else ""
    return f"Cannot be told: the smallest effect that would have been seen is {ends}." if ends else ""


def _reason(entry: Entry) -> str:
    """The note of a line; of a printed number what follows the difference, since the rest repeats the line."""
    parts = entry.note.split("; ")
    if entry.kind == "number":
        ends = [place for place, part in enumerate(parts, 1) if part.startswith("difference")]
        parts = parts[ends[-1] :] if ends else parts
    return sentence("; ".join(parts))


def _statistic(entry: Entry) -> float:
    """How clear a difference is: its test's statistic, or its distance in units of its noise."""
    value = entry.number("statistic")
    value = value if math.isfinite(value) else _apart(entry) / entry.noise if entry.noise > 0 else 0.0
    return value if math.isfinite(value) else 0.0


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}." if words else ""
