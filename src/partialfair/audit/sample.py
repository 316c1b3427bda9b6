"""The scored rows of an audit: checked and encoded."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.tally import Tally, tally_of
from partialfair.audit.weights import check_weights, effective_rows, whole_weights
from partialfair.errors import ConfigError, DataError
from partialfair.metrics import ranks
from partialfair.metrics.choose_interval import default_threshold
from partialfair.plugins import did_you_mean
from partialfair.tables import intake

IN_MEMORY = dict.fromkeys(intake.MISSING_WORDS, intake.NULL_TEXTS)
"""What texts stand for a missing value in columns that are no file's, by what a column is for."""


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
        lacking: rows without a score, a group, a label or a weight that were left out, by what they lack.
        left_out: number of rows that were left out.
        weights: (n,) whole numbers, at least 1; ``None`` for one each.
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
    weights: NDArray[np.int64] | None = None

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
        """Rows, or their weights, by group, label and distinct score; one sort."""
        return tally_of(self.scores, self.group, len(self.names), self.y, self.threshold, self.weights)

    @cached_property
    def _stratum(self) -> NDArray[np.int64]:
        """Group and label of each row, (n,): 2 k + l."""
        return np.asarray(2 * self.group + (1 if self.y is None else self.y > 0), np.int64)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows by group and label, (G, 2), whatever their weights."""
        return np.bincount(self._stratum, minlength=2 * len(self.names)).reshape(-1, 2)

    @cached_property
    def effective(self) -> NDArray[np.float64]:
        """Effective rows of each group, (G, 3): with the negative label, with the positive one, and in all."""
        groups = len(self.names)
        by_label = effective_rows(self.weights, self._stratum, 2 * groups).reshape(-1, 2)
        return np.column_stack([by_label, effective_rows(self.weights, self.group, groups)])

    @property
    def effective_of_all(self) -> NDArray[np.float64]:
        """Effective rows with the negative label, with the positive one, and in all, (3,)."""
        everyone = np.zeros(len(self.group), np.int64)
        by_label = effective_rows(self.weights, self._stratum % 2, 2)
        return np.append(by_label, effective_rows(self.weights, everyone, 1))

    @property
    def decided(self) -> float:
        """Share of positive decisions of all rows."""
        return float(np.average(self.scores > self.threshold, weights=self.weights))


EXACT = 1 << 22
"""Groups times distinct scores up to which an interval is suggested from every score."""


def counts_above(tally: Tally, groups: int) -> ranks.Counts:
    """Rows of the first ``groups`` groups above every score, from which an interval is suggested.

    Of very many, neighbouring scores are joined.
    """
    fine = tally.binned(max(1, EXACT // groups))
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
    weights: Any = None,
) -> Sample:
    """Check and encode the rows; a row of weight 0 is left out.

    Args:
        scores, groups, labels, threshold, positive, weights: see :func:`partialfair.audit.audit_scores`.
        missing: "refuse" rows without a score, group, label or weight, "drop" them, or make a "group" of rows that lack
            a group.
        words: texts that stand for a missing value in columns of groups, labels and numbers.

    Raises:
        ConfigError: ``missing`` is none of these.
        DataError: scores that are not finite numbers, missing values, lists as groups, a single group, labels without
            exactly two values, lengths that differ, or indexes in another order; of several faults all are told.
    """
    if missing not in intake.MISSING:
        raise ConfigError(f"missing is {missing!r}; {did_you_mean(str(missing), intake.MISSING)}")
    given = {"scores": scores, "groups": groups, "labels": labels, "weights": weights}
    given = {name: column for name, column in given.items() if column is not None}
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
    weighed = unweighed = None
    if weights is not None:
        with faults.noted():
            weighed, unweighed = intake.numbers(weights, "weights", words["number"], use="weights of rows")
            if missing != "drop":
                intake.refuse_missing(unweighed, "weights: column 'weights'", weights, "drop such rows")
    for name, size in (
        ("groups", None if found is None else len(found.codes)),
        ("labels", None if outcome is None else len(outcome.y)),
        ("weights", None if weighed is None else len(weighed)),
    ):
        if values is not None and size is not None and size != len(values):
            faults.append(f"{name}: {size} rows, scores have {len(values)}; pass equal lengths")
    faults.settle()
    assert values is not None and found is not None
    y, other = (None, "") if outcome is None else (outcome.y, "".join(outcome.negative) if positive is None else "")
    lacking = {"score": np.isnan(values), "group": found.missing} | ({} if y is None else {"label": np.isnan(y)})
    lacking |= {} if unweighed is None else {"weight": unweighed}
    kept = ~np.any(list(lacking.values()), axis=0)
    codes, names = _of_kept(found, kept)
    values, y = values[kept], None if y is None else y[kept]
    threshold = default_threshold(values) if threshold is None else float(threshold)
    left_out = {name: int(rows.sum()) for name, rows in lacking.items() if rows.any()}
    label = "" if outcome is None else outcome.positive
    sample = Sample(values, y, codes, names, threshold, label, other, left_out, int((~kept).sum()))
    return sample if weighed is None else _weighted(sample, check_weights(weighed[kept]))


def _weighted(sample: Sample, weights: NDArray[np.float64]) -> Sample:
    """Give the rows their weights; rows of weight 0, and groups that have no others, are left out.

    Raises:
        DataError: fewer than two groups are left.
    """
    kept = weights > 0
    codes, group = np.unique(sample.group[kept], return_inverse=True)
    if len(codes) < 2:
        raise DataError(
            f"weights: all rows of positive weight are of one group, {sample.names[codes[0]]!r}; an audit compares at "
            "least two"
        )
    return replace(
        sample,
        scores=sample.scores[kept],
        y=None if sample.y is None else sample.y[kept],
        group=group.astype(np.int64),
        names=tuple(sample.names[code] for code in codes),
        weights=whole_weights(weights[kept]),
    )


def _of_kept(found: intake.Groups, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes of the rows that are kept, and the groups that are left.

    Raises:
        DataError: fewer than two.
    """
    of_kept = found.of(kept)
    if len(of_kept.names) < 2:
        raise DataError("groups: fewer than two groups are left without rows with missing values; fill them in")
    return of_kept.codes, of_kept.names
