"""How the comparisons of a central claim came out: one row per place, one column per other side."""

from collections.abc import Mapping
from dataclasses import dataclass

from partialfair.plugins import names
from reproduction.exhibits import style
from reproduction.site.exhibits import TestedClaim
from reproduction.site.scorecard_entries import Entry, side_title


@dataclass(frozen=True)
class Outcomes:
    """The comparisons of one claim.

    Attributes:
        claim: the claim.
        columns: what its method is compared with; a single empty one where it is compared with nothing.
        rows: dataset, setting and method in words, and for every column the comparisons of these.
    """

    claim: TestedClaim
    columns: list[str]
    rows: list[tuple[str, list[list[Entry]]]]


def arrange(claim: TestedClaim, titles: Mapping[str, str]) -> Outcomes:
    """Arrange the comparisons of a claim.

    Args:
        claim: with its lines of the scorecard.
        titles: of the experiments, by name.
    """
    entries = list(claim.entries)
    sides = list(dict.fromkeys(entry.against for entry in entries))
    keys = dict.fromkeys(_cell_key(entry) for entry in entries)
    varying = [len(set(values)) > 1 for values in zip(*keys, strict=True)]
    table_rows = []
    for key in keys:
        row_entries = [entry for entry in entries if _cell_key(entry) == key]
        titles_of_key = _key_titles(row_entries[0], titles)
        pairs = zip(titles_of_key, varying, strict=True)
        varying_titles = [title for title, varies in pairs if varies and title] or titles_of_key[:1]
        row_cells = [[entry for entry in row_entries if entry.against == side] for side in sides]
        table_rows.append((", ".join(varying_titles), row_cells))
    return Outcomes(claim, [side_title(side, titles) for side in sides], table_rows)


def _cell_key(entry: Entry) -> tuple[str, str, str]:
    return entry.dataset, entry.setting, entry.algorithm


def _key_titles(entry: Entry, titles: Mapping[str, str]) -> list[str]:
    setting, algorithm = entry.setting, entry.algorithm
    method = style.plot_style(algorithm).label if algorithm in names("algorithms") else algorithm
    return [entry.dataset_title or "all", titles.get(setting, setting.replace("_", " ")), method.replace("_", " ")]
