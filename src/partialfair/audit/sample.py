"""The scored rows of an audit: checked and encoded."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.group_counts import GroupCounts, count_groups
from partialfair.data import intake, missing_words
from partialfair.data.faults import Faults
from partialfair.data.weights import check_weights, effective_rows, whole_weights
from partialfair.errors import ConfigError, DataError
from partialfair.metrics import ranks
from partialfair.metrics.choose_interval import default_threshold
from partialfair.plugins import did_you_mean

IN_MEMORY = {
    **dict.fromkeys(missing_words.MISSING_WORDS, missing_words.NULL_TEXTS),
    "label": missing_words.MISSING_WORDS["label"],
}
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
        """Tell whether all scores lie in [0, 1]."""
        return bool(self.scores.min() >= 0 and self.scores.max() <= 1)

    def of_groups(self, codes: NDArray[np.int64]) -> "Sample":
        """Return the same rows with some groups alone under new codes; all other rows are pooled in one more group."""
        new = np.full(len(self.names), len(codes))
        new[codes] = np.arange(len(codes))
        names = [*(self.names[code] for code in codes), *["others"] * (len(codes) < len(self.names))]
        return replace(self, group=new[self.group], names=tuple(names))

    @cached_property
    def tally(self) -> GroupCounts:
        """Return the rows, or their weights, by group, label and distinct score; one sort."""
        return count_groups(self.scores, self.group, len(self.names), self.y, self.threshold, self.weights)

    @cached_property
    def _stratum(self) -> NDArray[np.int64]:
        """Return the group and label of each row, (n,): 2 k + l."""
        return np.asarray(2 * self.group + (1 if self.y is None else self.y > 0), np.int64)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows by group and label, (G, 2), whatever their weights."""
        return np.bincount(self._stratum, minlength=2 * len(self.names)).reshape(-1, 2)

    @cached_property
    def effective(self) -> NDArray[np.float64]:
        """Effective rows of each group, (G, 3): with the negative label, with the positive one, and in all."""
        groups = len(self.names)
        by_label = effective_rows(self.weights, self._stratum, 2 * groups).reshape(-1, 2)
        return np.column_stack([by_label, effective_rows(self.weights, self.group, groups)])

    @property
    def effective_of_all(self) -> NDArray[np.float64]:
        """Return the effective rows with the negative label, with the positive one, and in all, (3,)."""
        everyone = np.zeros(len(self.group), np.int64)
        by_label = effective_rows(self.weights, self._stratum % 2, 2)
        return np.append(by_label, effective_rows(self.weights, everyone, 1))

    @property
    def decided(self) -> float:
        """Return the share of positive decisions of all rows."""
        return float(np.average(self.scores > self.threshold, weights=self.weights))


EXACT = 1 << 22
"""Groups times distinct scores up to which an interval is suggested from every score."""


def counts_above(tally: GroupCounts, groups: int) -> ranks.Counts:
    """Return the rows of the first ``groups`` groups above every score, from which an interval is suggested.

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
    null_texts: Mapping[str, frozenset[str]] = IN_MEMORY,
    weights: Any = None,
) -> Sample:
    """Check and encode the rows; a row of weight 0 is left out.

    Args:
        scores, groups, labels, threshold, positive, weights: see :func:`partialfair.audit.audit_scores`.
        missing: "refuse" rows without a score, group, label or weight, "drop" them, or make a "group" of rows that lack
            a group.
        null_texts: texts that stand for a missing value in columns of groups, labels and numbers.

    Raises:
        ConfigError: ``missing`` is none of these.
        DataError: scores that are not finite numbers, missing values, lists as groups, a single group, labels without
            exactly two values, lengths that differ, or indexes in another order; of several faults all are told.
    """
    columns = _checked(scores, groups, labels, positive, missing, null_texts, weights)
    complete = ~np.any(list(columns.missing.values()), axis=0)
    codes, names = _of_rows(columns.groups, complete)
    values, outcome = columns.scores[complete], columns.labels
    sample = Sample(
        values,
        None if outcome is None else outcome.y[complete],
        codes,
        names,
        default_threshold(values) if threshold is None else _number(threshold),
        "" if outcome is None else outcome.positive,
        "" if outcome is None or positive is not None else "".join(outcome.negative),
        {name: int(rows.sum()) for name, rows in columns.missing.items() if rows.any()},
        int((~complete).sum()),
    )
    return sample if columns.weights is None else _weighted(sample, check_weights(columns.weights[complete]))


def _number(threshold: Any) -> float:
    """Return a decision threshold as a number.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise ConfigError(f"threshold: {threshold!r} is no number; rows with a higher score are positive decisions")
    return float(threshold)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of an audit, checked and of one length n; NaN, or no group, where a value is missing.

    Attributes:
        scores: (n,).
        groups: codes and names.
        labels: -1 and +1 with their texts; ``None`` without labels.
        weights: (n,); ``None`` without weights.
        missing: (n,) which rows have no value, by what they lack.
    """

    scores: NDArray[np.float64]
    groups: intake.Groups
    labels: intake.Labels | None
    weights: NDArray[np.float64] | None
    missing: dict[str, NDArray[np.bool_]]


def _checked(
    scores: Any,
    groups: Any,
    labels: Any,
    positive: Any,
    missing: str,
    null_texts: Mapping[str, frozenset[str]],
    weights: Any,
) -> _Columns:
    """Check the columns; see :func:`build_sample` for arguments and errors."""
    if missing not in missing_words.MISSING:
        raise ConfigError(f"missing is {missing!r}; {did_you_mean(str(missing), missing_words.MISSING)}")
    if scores is None:
        raise DataError("scores are None; pass one number per row")
    columns = {"scores": scores, "groups": groups, "labels": labels, "weights": weights}
    columns = {name: column for name, column in columns.items() if column is not None}
    faults = Faults()
    with faults.noted():
        intake.in_one_order(**columns)
    numbers: dict[str, NDArray[np.float64]] = {}
    lacking: dict[str, NDArray[np.bool_]] = {}
    encoded = outcome = None
    for name, use in (("scores", "ranked as scores"), ("weights", "weights of rows")):
        with faults.noted():
            if name in columns:
                numbers[name], lacking[name.removesuffix("s")] = intake.numbers(
                    columns[name], name, null_texts["number"], use=use,
                    infinite=intake.BEYOND_ALL if name == "scores" else "pass finite numbers",
                )  # fmt: skip
                if missing != "drop":
                    absent = lacking[name.removesuffix("s")]
                    missing_words.refuse_missing(absent, f"{name}: column {name!r}", columns[name], "drop such rows")
    if "weights" in numbers:
        with faults.noted():
            check_weights(np.where(lacking["weight"], 0.0, numbers["weights"]))
    with faults.noted():
        encoded = intake.groups(groups, "groups", missing, null_texts["group"])
        if len(encoded.names) == 1:
            raise DataError(f"groups: all rows are of one group, {encoded.names[0]!r}; an audit compares at least two")
    if labels is not None:
        with faults.noted():
            outcome = intake.labels(
                labels, "labels", positive, None, "drop" if missing == "drop" else "refuse", null_texts["label"],
                "drop such rows or leave the labels out",
            )  # fmt: skip
    sizes = {"groups": encoded and len(encoded.codes), "labels": outcome and len(outcome.y)}
    sizes |= {name: len(column) for name, column in numbers.items()}
    for name, size in sizes.items():
        if "scores" in numbers and size is not None and size != len(numbers["scores"]):
            faults.append(f"{name}: {size} rows, scores have {len(numbers['scores'])}; pass equal lengths")
    faults.settle()
    assert encoded is not None
    lacking |= {"group": encoded.missing} | ({} if outcome is None else {"label": np.isnan(outcome.y)})
    order = [name for name in ("score", "group", "label", "weight") if name in lacking]
    return _Columns(
        numbers["scores"], encoded, outcome, numbers.get("weights"), {name: lacking[name] for name in order}
    )


def _weighted(sample: Sample, weights: NDArray[np.float64]) -> Sample:
    """Give the rows their weights; rows of weight 0, and groups that have no others, are left out.

    Raises:
        DataError: fewer than two groups are left.
    """
    positive = weights > 0
    codes, group = np.unique(sample.group[positive], return_inverse=True)
    if len(codes) < 2:
        raise DataError(
            f"weights: all rows of positive weight are of one group, {sample.names[codes[0]]!r}; an audit compares at "
            "least two"
        )
    return replace(
        sample,
        scores=sample.scores[positive],
        y=None if sample.y is None else sample.y[positive],
        group=group.astype(np.int64),
        names=tuple(sample.names[code] for code in codes),
        weights=whole_weights(weights[positive]),
    )


def _of_rows(groups: intake.Groups, rows: NDArray[np.bool_]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the codes of some rows, and the groups that are left.

    Raises:
        DataError: fewer than two.
    """
    remaining = groups.of(rows)
    if len(remaining.names) < 2:
        raise DataError("groups: fewer than two groups are left without rows with missing values; fill them in")
    return remaining.codes, remaining.names
