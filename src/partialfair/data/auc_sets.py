"""The AUC-based fairness metric of four subsets, and its named examples.

For four sets of rows the metric is ``|Delta|`` with ``Delta = AUC(G1, G1') - AUC(G2, G2')``, where ``AUC(A, B)`` is the
probability that a row of A scores above one of B, ties one half (AUC fairness paper, section 3). Every example of the
paper tells rows apart by label and membership of one group only, so a set is a union of four cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import ConfigError, NotEstimableError

CELLS = ("other, negative", "other, positive", "protected, negative", "protected, positive")
"""Meaning of the cell codes 0 to 3."""

_ALL, _POSITIVE, _NEGATIVE = (0, 1, 2, 3), (1, 3), (0, 2)
_OTHER, _PROTECTED = (0, 1), (2, 3)
_OTHER_NEGATIVE, _OTHER_POSITIVE, _PROTECTED_NEGATIVE, _PROTECTED_POSITIVE = (0,), (1,), (2,), (3,)

Cells = tuple[int, ...]


@dataclass(frozen=True)
class FourSets:
    """The sets G1, G1', G2, G2' of one metric, each a tuple of cell codes.

    Attributes:
        name: short name.
        title: a few words for tables and axes.
        sets: G1, G1', G2, G2'.
    """

    name: str
    title: str
    sets: tuple[Cells, Cells, Cells, Cells]

    def __post_init__(self) -> None:
        for label, cells in zip(("G1", "G1'", "G2", "G2'"), self.sets, strict=True):
            if not cells or len(set(cells)) < len(cells) or not set(cells) <= {0, 1, 2, 3}:
                raise ConfigError(f"{self.name}: {label} is {cells}; name different cells among 0, 1, 2, 3")

    @property
    def table(self) -> NDArray[np.bool_]:
        """Return which cells belong to D+, D-, G1, G1', G2, G2'; shape (6, 4)."""
        out = np.zeros((6, 4), np.bool_)
        for row, cells in enumerate((_POSITIVE, _NEGATIVE, *self.sets)):
            out[row, list(cells)] = True
        return out

    def require(self, counts: NDArray[np.integer]) -> None:
        """Refuse rows among which one of the sets is empty.

        Args:
            counts: (4,) rows in each cell.

        Raises:
            NotEstimableError: naming the set.
        """
        for label, cells in zip(("D+", "D-", "G1", "G1'", "G2", "G2'"), self.table, strict=True):
            if not counts[cells].sum():
                members = " and ".join(f"({CELLS[cell]})" for cell in np.flatnonzero(cells))
                raise NotEstimableError(f"{self.name}: the set {label} = {members} has no rows; give rows of that kind")


PRESETS: Mapping[str, FourSets] = {
    entry.name: entry
    for entry in (
        FourSets("group", "group AUC gap", (_PROTECTED, _OTHER, _ALL, _ALL)),
        FourSets(
            "inter_group",
            "inter-group pairwise AUC gap",
            (_PROTECTED_POSITIVE, _OTHER_NEGATIVE, _OTHER_POSITIVE, _PROTECTED_NEGATIVE),
        ),
        FourSets(
            "intra_group",
            "intra-group pairwise AUC gap",
            (_PROTECTED_POSITIVE, _PROTECTED_NEGATIVE, _OTHER_POSITIVE, _OTHER_NEGATIVE),
        ),
        FourSets("positive_average", "positive average equality gap", (_PROTECTED_POSITIVE, _POSITIVE, _ALL, _ALL)),
        FourSets("negative_average", "negative average equality gap", (_PROTECTED_NEGATIVE, _NEGATIVE, _ALL, _ALL)),
        FourSets("bpsn_bnsp", "BPSN-BNSP gap", (_POSITIVE, _PROTECTED_NEGATIVE, _PROTECTED_POSITIVE, _NEGATIVE)),
    )
}
"""Examples 1 to 5 of the AUC fairness paper; Example 4 has two parts."""


def preset(name: str) -> FourSets:
    """Return a named example; the prefix ``auc_gap_`` of constraint and metric names may be left out.

    Raises:
        ConfigError: there is none of that name.
    """
    from partialfair.plugins import did_you_mean

    short = name.removeprefix("auc_gap_")
    if short not in PRESETS:
        raise ConfigError(f"unknown AUC gap {name!r}; {did_you_mean(short, PRESETS)}")
    return PRESETS[short]


def cells_of(y: NDArray[np.floating], group: NDArray[np.integer], protected: int = 0) -> NDArray[np.int64]:
    """Return the cell code (n,) of every row: ``2 [group is protected] + [label is positive]``."""
    return 2 * (np.asarray(group) == protected).astype(np.int64) + (np.asarray(y) > 0)


def cell_counts(cells: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the rows in each of the four cells."""
    return np.bincount(cells, minlength=4).astype(np.int64)
