"""The scored rows of an audit: checked, encoded, and counted per score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics import ranks
from partialfair.metrics.choose_interval import default_threshold
from partialfair.metrics.ranks import blocks
from partialfair.metrics.resampling import Replicates
from partialfair.plugins import did_you_mean
from partialfair.tables import intake
from partialfair.tables.intervals import GroupPairs, require_rows

Counts = NDArray[np.int64]

IN_MEMORY = dict.fromkeys(intake.MISSING_WORDS, intake.NULL_TEXTS)
"""What texts stand for a missing value in columns that are no file's, by what a column is for."""


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
        lacking: rows without a score, a group or a label that were left out, by what they lack.
        left_out: number of rows that were left out.
    """

    scores: NDArray[np.float64]
    y: NDArray[np.float64] | None
    group: NDArray[np.int64]
    names: tuple[str, ...]
    threshold: float
    positive_label: str = ""
    chosen_over: str = ""
    lacking: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0

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
    scores: Any,
    groups: Any,
    labels: Any = None,
    threshold: float | None = None,
    positive: Any = None,
    missing: str = "refuse",
    words: Mapping[str, frozenset[str]] = IN_MEMORY,
) -> Sample:
    """Check and encode the rows.

    Args:
        scores, groups, labels, threshold, positive: see :func:`partialfair.audit.audit_scores`.
        missing: "refuse" rows without a score, group or label, "drop" them, or make a "group" of rows without a group.
        words: texts that stand for a missing value in columns of groups, labels and numbers.

    Raises:
        ConfigError: ``missing`` is none of these.
        DataError: scores that are not finite numbers, missing values, lists as groups, a single group, labels without
            exactly two values, lengths that differ, or indexes in another order; of several faults all are told.
    """
    if missing not in intake.MISSING:
        raise ConfigError(f"missing is {missing!r}; {did_you_mean(str(missing), intake.MISSING)}")
    given = {"scores": scores, "groups": groups} | ({} if labels is None else {"labels": labels})
    faults = intake.Faults()
    with faults.noted():
        intake.in_one_order(**given)
    values = found = outcome = None
    with faults.noted():
        values, absent = intake.numbers(scores, "scores", words["number"])
        if missing != "drop":
            intake.refuse_missing(absent, "scores: column 'scores'", scores, "drop such rows")
    with faults.noted():
        found = intake.groups(groups, "groups", missing, words["group"])
        if len(found.names) == 1:
            raise DataError(f"groups: all rows are of one group, {found.names[0]!r}; an audit compares at least two")
    if labels is not None:
        with faults.noted():
            outcome = intake.labels(
                labels, "labels", positive, None, "drop" if missing == "drop" else "refuse", words["label"],
                "drop such rows or leave the labels out",
            )  # fmt: skip
    for name, size in (
        ("groups", None if found is None else len(found.codes)),
        ("labels", None if outcome is None else len(outcome.y)),
    ):
        if values is not None and size is not None and size != len(values):
            faults.append(f"{name}: {size} rows, scores have {len(values)}; pass equal lengths")
    faults.settle()
    assert values is not None and found is not None
    y, other = (None, "") if outcome is None else (outcome.y, "".join(outcome.negative) if positive is None else "")
    lacking = {"score": np.isnan(values), "group": found.missing} | ({} if y is None else {"label": np.isnan(y)})
    kept = ~np.any(list(lacking.values()), axis=0)
    codes, names = _of_kept(found, kept)
    values, y = values[kept], None if y is None else y[kept]
    threshold = default_threshold(values) if threshold is None else float(threshold)
    left_out = {name: int(rows.sum()) for name, rows in lacking.items() if rows.any()}
    label = "" if outcome is None else outcome.positive
    return Sample(values, y, codes, names, threshold, label, other, left_out, int((~kept).sum()))


def _of_kept(found: intake.Groups, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes of the rows that are kept, and the groups that are left.

    Raises:
        DataError: fewer than two.
    """
    of_kept = found.of(kept)
    if len(of_kept.names) < 2:
        raise DataError("groups: fewer than two groups are left without rows with missing values; fill them in")
    return of_kept.codes, of_kept.names
