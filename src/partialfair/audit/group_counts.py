"""Rows of an audit counted by group, label and score: of every group at its own scores alone.

A table of all groups at all scores would grow with their product. Here a pair of groups is laid out when it is
compared, and costs as much as the rows of the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import FULL, GroupPairs
from partialfair.metrics.ranks import blocks
from partialfair.metrics.resampling import Replicates

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of some groups at the scores that one of them has; the stratum of group k and label index l is 2 k + l.

    Attributes:
        count: (2 G, B) rows of each stratum at each of B scores, from the highest score down.
        edges: (B,) the lowest score of each column.
        cut: number of columns that lie above the decision threshold.
        labelled: whether there are labels; without them all rows have label index 1.
    """

    count: Counts
    edges: NDArray[np.float64]
    cut: int
    labelled: bool

    def counted(self, interval: GroupPairs) -> Replicates:
        """Return the rows as the metrics read them: one sample, so that the leading axis has length 1."""
        above = np.cumsum(self.count, axis=1)
        sizes = above[:, -1].copy().reshape(-1, 2)
        positive = (above[:, self.cut - 1].copy() if self.cut else np.zeros(len(above), np.int64)).reshape(-1, 2)
        above -= self.count
        grouped = above.reshape(len(sizes), 2, -1)
        return Replicates(
            above=grouped.sum(axis=1)[None],
            above_by_label=grouped.sum(axis=0)[None],
            positive=positive[None],
            sizes=sizes,
            interval=interval,
            labelled=self.labelled,
        )


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Rows by group, label and distinct score.

    Attributes:
        edges: (B,) distinct scores, descending.
        cut: number of them above the decision threshold.
        columns: for each group, the places in ``edges`` of the scores that its rows have.
        counts: for each group, (2, m) its rows there by label; of weighted rows, their weights.
        labelled: whether there are labels; without them all rows have label index 1.
    """

    edges: NDArray[np.float64]
    cut: int
    columns: Sequence[NDArray[np.int64]]
    counts: Sequence[Counts]
    labelled: bool

    @cached_property
    def sizes(self) -> Counts:
        """Return the rows by group and label, (G, 2)."""
        return np.array([count.sum(axis=1) for count in self.counts]).reshape(-1, 2)

    def of_groups(self, codes: Sequence[int]) -> Table:
        """Lay out the rows of some groups at the scores that one of them has."""
        used = _merged([self.columns[code] for code in codes])
        count = np.zeros((2 * len(codes), len(used)), np.int64)
        for line, code in enumerate(codes):
            count[2 * line : 2 * line + 2, np.searchsorted(used, self.columns[code])] = self.counts[code]
        return Table(count, self.edges[used], int(np.searchsorted(used, self.cut)), self.labelled)

    def pooled(self) -> Table:
        """All rows as one group."""
        count = np.zeros((2, len(self.edges)), np.int64)
        for columns, count_of_group in zip(self.columns, self.counts, strict=True):
            count[:, columns] += count_of_group
        return Table(count, self.edges, self.cut, self.labelled)

    def binned(self, columns: int) -> Table:
        """Lay out all groups with neighbouring scores joined until about ``columns`` are left.

        A column then holds about G / columns of each group's rows, or one score: its ends are quantiles of every group.
        No column spans the threshold.
        """
        n_scores, starts = len(self.edges), np.arange(len(self.edges))
        if n_scores > columns:
            boundaries = [np.zeros(1, np.int64), np.array([self.cut])]
            per_group = max(2, columns // len(self.columns))
            for used, count in zip(self.columns, self.counts, strict=True):
                total = np.cumsum(count.sum(axis=0))
                quantiles = np.linspace(0, total[-1], per_group, endpoint=False)[1:]
                boundaries.append(used[np.searchsorted(total, quantiles, side="left")] + 1)
            starts = np.unique(np.concatenate(boundaries))
            starts = starts[starts < n_scores]
        count = np.zeros((2 * len(self.columns), len(starts)), np.int64)
        for code, (used, group_count) in enumerate(zip(self.columns, self.counts, strict=True)):
            column = np.searchsorted(starts, used, side="right") - 1
            run_starts = np.flatnonzero(np.diff(column, prepend=-1))
            count[2 * code : 2 * code + 2, column[run_starts]] = np.add.reduceat(group_count, run_starts, axis=1)
        last = np.append(starts[1:], n_scores) - 1
        return Table(count, self.edges[last], int(np.searchsorted(starts, self.cut)), self.labelled)


def _merged(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the distinct entries of sorted lists, in order; a stable sort merges them in linear time."""
    joined = np.concatenate(columns)
    joined.sort(kind="stable")
    new = np.ones(len(joined), bool)
    new[1:] = joined[1:] != joined[:-1]
    return joined[new]


def count_groups(
    scores: NDArray[np.float64],
    group: NDArray[np.int64],
    n_groups: int,
    y: NDArray[np.float64] | None,
    threshold: float,
    weights: Counts | None = None,
) -> GroupCounts:
    """Return the count rows, or sum their weights, by group, label and score; one sort of all rows.

    Args:
        scores: (n,) finite.
        group: (n,) codes, every one of 0..n_groups-1 with a row.
        n_groups: number of groups.
        y: (n,) labels -1/+1, or ``None``.
        threshold: decision threshold.
        weights: (n,) whole numbers, at least 1, or ``None`` for one each.
    """
    order, starts = blocks(scores)
    column = np.zeros(len(order), np.int64)
    column[starts[1:]] = 1
    np.cumsum(column, out=column)
    edges = scores[order[starts]]
    ranked = group[order]
    by_group = np.argsort(ranked, kind="stable")
    ends = np.searchsorted(ranked[by_group], np.arange(n_groups + 1))
    columns, counts = [], []
    for code in range(n_groups):
        rows = by_group[ends[code] : ends[code + 1]]
        group_columns = column[rows]
        run_starts = np.flatnonzero(np.diff(group_columns, prepend=-1))
        weight = np.ones(len(rows), np.int64) if weights is None else weights[order[rows]]
        positive = np.ones(len(rows), bool) if y is None else y[order[rows]] > 0
        by_label = np.stack([np.where(positive, 0, weight), np.where(positive, weight, 0)])
        columns.append(group_columns[run_starts])
        counts.append(np.add.reduceat(by_label, run_starts, axis=1) if len(rows) else np.zeros((2, 0), np.int64))
    return GroupCounts(edges, int(np.count_nonzero(edges > threshold)), columns, counts, y is not None)


def full_ranges(n_groups: int) -> GroupPairs:
    """[0, 1] for every group."""
    return (FULL,) * n_groups
