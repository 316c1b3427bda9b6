"""What scores of any model promise about the population, from rows that the model has not seen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from partialfair.audit.sample import IN_MEMORY, build_sample
from partialfair.data.intervals import GroupPairs, decides_nothing, for_groups, require_rows
from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics.held_out_bound import decision_bound, rank_bound
from partialfair.metrics.ranks import count_above
from partialfair.metrics.registry import get
from partialfair.plugins import did_you_mean

LABELS: dict[str, tuple[int | None, ...]] = {"dp": (None,), "dp_gap": (None,), "eop": (1,), "eod": (1, -1)}
"""Labels within which metrics of decisions compare groups."""
SCALES = {"sp": "relative", "rank_gap": "absolute", "dp": "relative", "dp_gap": "absolute", "eop": "relative"}
SCALES["eod"] = "relative"


@dataclass(frozen=True)
class ViolationBound:
    """A one-sided bound on a violation.

    Attributes:
        metric: its name.
        bound: what the violation in the population is at most, with the confidence.
        value: the violation of these rows.
        confidence: of the bound.
        groups: names of the groups; rows: those of each.
    """

    metric: str
    bound: float
    value: float
    confidence: float
    groups: tuple[str, ...]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        """Return the bound in a sentence."""
        return (
            f"with confidence {self.confidence:g}, {self.metric} is at most {self.bound:.4g} in the population "
            f"({self.value:.4g} on these {sum(self.rows):,} rows)"
        )


def violation_bound(
    scores: Any,
    groups: Any,
    interval: Any = ((0.0, 1.0),),
    confidence: float = 0.95,
    *,
    metric: str = "sp",
    labels: Any = None,
    positive: Any = None,
    threshold: float | None = None,
    missing: str = "refuse",
    words: Mapping[str, frozenset[str]] = IN_MEMORY,
) -> ViolationBound:
    """Return the bound the violation of any model in the population, from scores of rows that the model has not seen.

    The bound holds with the confidence if the rows were drawn independently from the population, and if nothing of the
    model, the threshold or the interval was chosen by them. For scores that were mapped on the same rows see
    ``confidence`` of :class:`partialfair.estimators.PartialFairPostProcessor`. Formulas:
    :mod:`partialfair.metrics.held_out_bound`.

    Args:
        scores, groups, labels, positive, threshold, missing, words: as in :func:`partialfair.audit.audit_scores`.
        interval: disjoint pairs of ranks, or one such list per group.
        confidence: from 0.5 to below 1.
        metric: "sp", "rank_gap", "dp", "dp_gap", "eop" or "eod"; the last two need labels.

    Raises:
        DataError: rows that cannot be used; ConfigError: settings that cannot; NotEstimableError: the interval keeps
            fewer than 2 rows of a group, or nothing is decided on it.
    """
    if metric not in SCALES:
        raise ConfigError(f"metric is {metric!r}; {did_you_mean(str(metric), SCALES)}")
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.5 <= confidence < 1:
        raise ConfigError(f"confidence is {confidence!r}; use a number from 0.5 to below 1")
    strata = LABELS.get(metric, ())
    if None not in strata and strata and labels is None:
        raise ConfigError(f"metric {metric!r} compares rows of one label; pass labels")
    sample = build_sample(scores, groups, labels, threshold, positive, missing, words)
    unions = for_groups(interval, len(sample.names))
    if not strata:
        _require_rows(unions, sample)
    tables = [_decisions(sample, label) for label in strata]
    if strata:
        _require_decisions(metric, tables, unions, sample.threshold)
    y = np.ones(len(sample.scores)) if sample.y is None else sample.y
    value = float(get(metric)(sample.scores, y, sample.group, interval, sample.threshold))
    if not strata:
        counts = count_above(sample.scores, sample.group, len(sample.names))
        bound, sizes = rank_bound(counts, unions, SCALES[metric], float(confidence)), counts.sizes
    else:
        hits, rows = (np.array(table, np.int64) for table in zip(*tables, strict=True))
        bound, sizes = decision_bound(hits, rows, unions, SCALES[metric], float(confidence)), rows.sum(axis=0)
    return ViolationBound(
        metric, min(1.0, max(bound, value)), value, float(confidence), sample.names, tuple(map(int, sizes))
    )


def _require_rows(unions: GroupPairs, sample: Any) -> None:
    """Refuse an interval that keeps fewer than 2 rows of a group.

    Raises:
        NotEstimableError: naming the group.
    """
    for name, pairs, size in zip(sample.names, unions, np.bincount(sample.group), strict=True):
        try:
            require_rows((pairs,), [size])
        except NotEstimableError as error:
            raise NotEstimableError(str(error).replace("group 0", f"group {name!r}", 1)) from None


def _decisions(sample: Any, label: int | None) -> tuple[Any, Any]:
    """Positive decisions (G,) and rows (G,) of one label."""
    rows = np.ones(len(sample.scores), np.bool_) if label is None else sample.y == label
    sizes = np.bincount(sample.group[rows], minlength=len(sample.names))
    if not sizes.all():
        lacking = sample.names[int(np.argmin(sizes))]
        raise DataError(f"labels: group {lacking!r} has no rows with one of the labels; leave the group out")
    return np.bincount(sample.group[rows & (sample.scores > sample.threshold)], minlength=len(sample.names)), sizes


def _require_decisions(metric: str, tables: Sequence[tuple[Any, Any]], unions: GroupPairs, threshold: float) -> None:
    """Refuse a bound on decisions that are none.

    Args:
        metric: its name.
        tables: positive decisions (G,) and rows (G,) of each label.
        unions: ranks that are compared, of each group.
        threshold: decision threshold.

    Raises:
        ConfigError: the threshold is no finite number.
        NotEstimableError: every row gets the same decision, or none inside the interval differs.
    """
    if not math.isfinite(threshold):
        raise ConfigError(f"threshold is {threshold}, by which nothing is decided; use a finite number")
    hits, rows = (sum(int(column.sum()) for column in columns) for columns in zip(*tables, strict=True))
    if hits in (0, rows):
        raise NotEstimableError(
            f"metric {metric!r}: every row gets the same decision at the threshold {threshold:g}; pass the threshold "
            "of the model"
        )
    if all(decides_nothing(decided / sizes, unions) for decided, sizes in tables):
        raise NotEstimableError(
            f"metric {metric!r}: the threshold {threshold:g} lies outside the interval, so that no decision inside it "
            "differs; pass an interval around the shares of positive decisions"
        )
