"""The scored rows of an audit: checked and encoded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.tally import Tally, tally_of
from partialfair.audit.weights import check_weights, effective_rows, whole_weights
from partialfair.errors import DataError
from partialfair.metrics import ranks
from partialfair.metrics.choose_interval import default_threshold
from partialfair.tables.groups import check_names, columns_of, group_labels
from partialfair.tables.masked import refuse_masked


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
        weights: (n,) whole numbers, at least 1; ``None`` for one each.
    """

    scores: NDArray[np.float64]
    y: NDArray[np.float64] | None
    group: NDArray[np.int64]
    names: tuple[str, ...]
    threshold: float
    positive_label: str = ""
    chosen_over: str = ""
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
    weights: Any = None,
) -> Sample:
    """Check and encode the rows; a row of weight 0 is left out.

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
    sample = Sample(values, y, codes, names, threshold, label, other if positive is None else "")
    return sample if weights is None else _weighted(sample, check_weights(weights, len(values)))


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
