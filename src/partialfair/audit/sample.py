"""The scored rows of an audit: checked, encoded, and counted per score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError, NotEstimableError
from partialfair.metrics import ranks
from partialfair.metrics.choose_interval import default_threshold
from partialfair.metrics.ranks import blocks
from partialfair.metrics.resampling import Replicates
from partialfair.tables.groups import check_names, columns_of, group_labels
from partialfair.tables.intervals import GroupPairs, require_rows
from partialfair.tables.masked import refuse_masked

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Resampled(Replicates):
    """Samples drawn within each group, in which the number of rows of a label differs.

    Attributes:
        own_sizes: rows by group and label of every sample, (R, G, 2); ``sizes`` are those of the rows at hand.
    """

    own_sizes: NDArray[np.int64]

    def rates(self, label: int | None = None) -> NDArray[np.float64]:
        """Shares above the threshold, (R, G), of all rows or of one label's (index); 0 where a sample has none."""
        if label is None:
            return super().rates()
        self.require_labels()
        require_rows(self.interval, self.sizes[:, label])
        return np.asarray(self.positive[..., label] / np.maximum(self.own_sizes[..., label], 1))

    def accuracy(self) -> NDArray[np.float64]:
        """Share of right decisions, (R,)."""
        self.require_labels()
        right = self.positive[..., 1] + self.own_sizes[..., 0] - self.positive[..., 0]
        return np.asarray(right.sum(axis=1) / self.sizes.sum())

    def auc(self) -> NDArray[np.float64]:
        """Area under the curve of all rows, (R,); one half in a sample whose rows have one label.

        Raises:
            NotEstimableError: the rows at hand have one label.
        """
        self.require_labels()
        if not self.sizes.sum(axis=0).all():
            raise NotEstimableError("all rows have one label; AUC needs both")
        sizes = self.own_sizes.sum(axis=1)
        negatives, positives = (
            np.diff(self.above_by_label[:, code], axis=1, append=sizes[:, [code]]) for code in (0, 1)
        )
        below_or_tied = sizes[:, [0]] - self.above_by_label[:, 0] - 0.5 * negatives
        pairs = sizes.prod(axis=1)
        return np.where(pairs > 0, (positives * below_or_tied).sum(axis=1) / np.maximum(pairs, 1), 0.5)


@dataclass(frozen=True, eq=False)
class Tally:
    """Rows by stratum and score; the stratum of group k and label index l is 2 k + l.

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

    @cached_property
    def sizes(self) -> Counts:
        """Rows by group and label, (G, 2)."""
        return np.asarray(self.count.sum(axis=1).reshape(-1, 2))

    def replicates(self, count: Counts, interval: GroupPairs) -> Resampled:
        """Counts (R, 2 G, B) of samples with this tally's rows per group, as the metrics read them."""
        above = np.cumsum(count, axis=2)
        above -= count
        rows, strata, columns = above.shape
        positive = above[:, :, self.cut] if self.cut < columns else above[:, :, -1] + count[:, :, -1]
        grouped = above.reshape(rows, strata // 2, 2, columns)
        return Resampled(
            above=grouped.sum(axis=2),
            above_by_label=grouped.sum(axis=1),
            positive=positive.reshape(rows, strata // 2, 2),
            sizes=self.sizes,
            own_sizes=(above[:, :, -1] + count[:, :, -1]).reshape(rows, strata // 2, 2),
            interval=interval,
            labelled=self.labelled,
        )

    def of_groups(self, codes: Sequence[int]) -> "Tally":
        """The rows of some groups, at the scores that one of them has; the cut stays between the same scores."""
        count = self.count[[2 * code + label for code in codes for label in (0, 1)]]
        used: NDArray[np.bool_] = np.asarray(count.any(axis=0))
        return replace(self, count=count[:, used], edges=self.edges[used], cut=int(used[: self.cut].sum()))

    def pooled(self) -> "Tally":
        """All rows as one group."""
        return replace(self, count=np.stack([self.count[0::2].sum(axis=0), self.count[1::2].sum(axis=0)]))

    def starts(self, columns: int) -> NDArray[np.int64]:
        """First of the neighbouring scores that become one when about ``columns`` are left.

        A column then holds about G / columns of each group's rows, or one score: its ends are quantiles of every group.
        No column spans the threshold.
        """
        n_columns = self.count.shape[1]
        if n_columns <= columns:
            return np.arange(n_columns)
        groups = self.count[0::2] + self.count[1::2]
        parts = [np.zeros(1, np.int64), np.array([self.cut])]
        per_group = max(2, columns // len(groups))
        for own in groups:
            total = np.cumsum(own)
            wanted = np.linspace(0, total[-1], per_group, endpoint=False)[1:]
            parts.append(np.searchsorted(total, wanted, side="left") + 1)
        found = np.unique(np.concatenate(parts))
        return found[found < n_columns]

    def joined(self, starts: NDArray[np.int64]) -> "Tally":
        """Join neighbouring scores: a column begins at each of ``starts``."""
        count = np.add.reduceat(self.count, starts, axis=1)
        last = np.append(starts[1:], self.count.shape[1]) - 1
        return replace(self, count=count, edges=self.edges[last], cut=int(np.searchsorted(starts, self.cut)))

    def binned(self, columns: int) -> "Tally":
        """Join neighbouring scores until about ``columns`` are left; see :meth:`starts`."""
        return self if self.count.shape[1] <= columns else self.joined(self.starts(columns))


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of an audit.

    Attributes:
        scores: (n,) float64.
        y: (n,) -1 or +1; ``None`` without labels.
        group: (n,) codes.
        names: names of the groups.
        threshold: rows with a higher score are positive decisions.
        positive_label: text of the label that counts as +1; empty without labels.
        chosen_over: the other label, if nobody said which of the two is positive.
    """

    scores: NDArray[np.float64]
    y: NDArray[np.float64] | None
    group: NDArray[np.int64]
    names: tuple[str, ...]
    threshold: float
    positive_label: str = ""
    chosen_over: str = ""

    @cached_property
    def probabilities(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        return bool(self.scores.min() >= 0 and self.scores.max() <= 1)

    def of_groups(self, codes: NDArray[np.int64]) -> "Sample":
        """The same rows with some groups alone under new codes; all other rows are pooled in one more group."""
        new = np.full(len(self.names), len(codes))
        new[codes] = np.arange(len(codes))
        names = [*(self.names[code] for code in codes), *["others"] * (len(codes) < len(self.names))]
        return replace(self, group=new[self.group], names=tuple(names))

    @cached_property
    def tally(self) -> Tally:
        """Rows by stratum and distinct score; one sort."""
        order, starts = blocks(self.scores)
        column = np.zeros(len(order), np.int64)
        column[starts[1:]] = 1
        np.cumsum(column, out=column)
        stratum = (2 * self.group + (1 if self.y is None else self.y > 0))[order]
        shape = 2 * len(self.names), len(starts)
        count = np.bincount(stratum * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)
        edges = self.scores[order[starts]]
        cut = int(np.count_nonzero(edges > self.threshold))
        return Tally(count, edges, cut, self.y is not None)


EXACT = 1 << 22
"""Groups times distinct scores up to which an interval is suggested from every score."""


def counts_above(tally: Tally, groups: int) -> ranks.Counts:
    """Rows of the first ``groups`` groups above every score, from which an interval is suggested.

    Of very many, neighbouring scores are joined.
    """
    fine = tally if groups * tally.count.shape[1] <= EXACT else tally.binned(max(1, EXACT // groups))
    count = (fine.count[0::2] + fine.count[1::2])[:groups]
    return ranks.Counts(np.cumsum(count, axis=1) - count, count.sum(axis=1))


def build_sample(
    scores: Any, groups: Any, labels: Any = None, threshold: float | None = None, positive: Any = None
) -> Sample:
    """Check and encode the rows.

    Raises:
        DataError: scores that are not finite numbers, missing groups, lists as groups, a single group, labels without
            exactly two values, or lengths that differ.
    """
    values = check_scores(scores)
    codes, names = _encoded(groups, "groups")
    check_names(names)
    if len(codes) != len(values):
        raise DataError(f"groups: {len(codes)} rows, scores have {len(values)}; pass equal lengths")
    if len(names) < 2:
        raise DataError(f"groups: all rows are of one group, {names[0]!r}; an audit compares at least two")
    y, label, other = (None, "", "") if labels is None else check_labels(labels, positive, len(values))
    threshold = default_threshold(values) if threshold is None else float(threshold)
    return Sample(values, y, codes, names, threshold, label, other if positive is None else "")


def check_scores(scores: Any) -> NDArray[np.float64]:
    """Scores as finite float64, (n,).

    Raises:
        DataError: naming the first unsuitable value and its row.
    """
    refuse_masked(scores, "scores")
    array = np.asarray(scores)
    if array.ndim != 1 or not array.size:
        raise DataError(f"scores: shape {array.shape}; pass one score per row, and at least one row")
    if array.dtype.kind in "cmM":  # NumPy turns them into some number or other
        raise DataError(f"scores: values of type {array.dtype} cannot be ranked as scores; pass real numbers")
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        row, value = next((i, v) for i, v in enumerate(array.tolist()) if not _is_number(v))
        raise DataError(f"scores: {value!r} in row {row} is not a number; correct or drop that row") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        value = array[bad[0]].item() if isinstance(array[bad[0]], np.generic) else array[bad[0]]
        raise DataError(
            f"scores: {value!r} in row {bad[0]} is not a finite number ({bad.size} such rows); drop such rows"
        )
    return values


def check_labels(labels: Any, positive: Any, n_rows: int) -> tuple[NDArray[np.float64], str, str]:
    """Labels as -1 and +1, and the texts of the positive and the other one (empty if there is none).

    Raises:
        DataError: naming the values found, or several columns: of one column per class, which is positive is unknown.
    """
    if len(columns := columns_of(labels, "labels")) > 1:
        raise DataError(f"labels: there are {len(columns)} columns ({', '.join(columns)}); pass one label per row")
    try:
        codes, names = _encoded(labels, "labels")
    except DataError as error:
        raise DataError(str(error).replace(" or name them, say 'unknown'", " or leave the labels out")) from None
    if len(codes) != n_rows:
        raise DataError(f"labels: {len(codes)} rows, scores have {n_rows}; pass equal lengths")
    check_names(names, "labels")
    if len(names) > 2 or (len(names) == 1 and positive is None):
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise DataError(
            f"labels: {len(names)} value{'s' * (len(names) > 1)} ({shown}), two are needed; map them to two, or leave "
            "the labels out"
        )
    if positive is None:
        wanted = _later(labels, names)
    else:
        try:
            (wanted,) = group_labels([positive])[1]
        except DataError:  # it names a column and row of groups; there is none
            known = ", ".join(names)
            raise DataError(f"labels: the positive label is {positive!r}, missing; the labels are {known}") from None
    if wanted not in names and all(map(_is_number, (wanted, *names))):  # 1 for 1.0
        wanted = next((name for name in names if float(name) == float(wanted)), wanted)
    if wanted not in names:
        raise DataError(f"labels: the positive label {wanted!r} does not occur; the labels are {', '.join(names)}")
    other = next((name for name in names if name != wanted), "")
    return np.where(codes == names.index(wanted), 1.0, -1.0), wanted, other


def _later(labels: Any, names: Sequence[str]) -> str:
    """The larger label, by value if they are numbers, else by the alphabet.

    Raises:
        DataError: capital letters, or texts that read as numbers, make the order doubtful: a classifier that has
            seen the same texts would take another one for positive.
    """
    (column,) = columns_of(labels, "labels").values()
    texts = isinstance(next(iter(column)), str)
    numbers = all(_is_number(name) for name in names)
    if numbers and not texts:
        return max(names, key=float)
    found = {max(names), max(names, key=str.casefold), *([max(names, key=float)] if numbers else [])}
    if len(found) > 1:
        raise DataError(
            f"labels: which of {' and '.join(map(repr, names))} is positive is doubtful, as texts with capital letters "
            "or numbers sort in two ways; say it (positive, on the command line --positive)"
        )
    return found.pop()


def _encoded(source: Any, what: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes and names of groups or labels; a column of lists or mappings is refused.

    Raises:
        DataError: see :func:`partialfair.tables.groups.group_labels`, or naming the first value that is a collection or
            masked.
    """
    for name, values in columns_of(source, what).items():
        mixed = values if np.asarray(values).dtype.kind == "O" else ()
        row = next((row for row, value in enumerate(mixed) if not _is_hashable(value)), None)
        if row is not None:
            raise DataError(
                f"{what}: column {name!r} has a collection of values in row {row}; write one text or number per row"
            )
    return group_labels(source, what)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
