"""How the comparisons of a central claim came out: one row per place, one column per other side."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from partialfair.plugins import names
from reproduction.exhibits import style
from reproduction.site.card import Entry
from reproduction.site.exhibits import Claim

_ELSEWHERE = re.compile(r" in (\w+)$")


@dataclass(frozen=True)
class Outcomes:
    """The comparisons of one claim.

    Attributes:
        claim: the claim.
        columns: what its method is compared with; a single empty one where it is compared with nothing.
        rows: a place, and for every column the comparisons that were made there.
    """

    claim: Claim
    columns: list[str]
    rows: list[tuple[str, list[list[Entry]]]]


def arranged(claim: Claim, titles: Mapping[str, str]) -> Outcomes:
    """Arrange the comparisons of a claim.

    Args:
        claim: with its lines of the scorecard.
        titles: of the experiments, by name.
    """
    entries = list(claim.entries)
    sides = list(dict.fromkeys(entry.against for entry in entries))
    places = dict.fromkeys(_place(entry) for entry in entries)
    several = [len(set(parts)) > 1 for parts in zip(*places, strict=True)]
    rows = []
    for place in places:
        own = [entry for entry in entries if _place(entry) == place]
        shown = _words(own[0], titles)
        words = [word for word, differs in zip(shown, several, strict=True) if differs and word] or shown[:1]
        rows.append((", ".join(words), [[one for one in own if one.against == side] for side in sides]))
    return Outcomes(claim, [_side(side, titles) for side in sides], rows)


def _place(entry: Entry) -> tuple[str, str, str]:
    return entry.dataset, entry.setting, entry.algorithm


def _words(entry: Entry, titles: Mapping[str, str]) -> list[str]:
    setting, algorithm = entry.setting, entry.algorithm
    method = style.look(algorithm).label if algorithm in names("algorithms") else algorithm
    return [entry.place or "all", titles.get(setting, setting.replace("_", " ")), method.replace("_", " ")]


def _side(side: str, titles: Mapping[str, str]) -> str:
    """The other side, with the title of its experiment where it has one of its own."""
    return _ELSEWHERE.sub(lambda found: f": {titles.get(found[1], found[1])}", side)
