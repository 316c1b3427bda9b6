"""Accuracy, the rate of positive decisions, and the fairness metrics on the whole score range."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import FULL, Interval
from partialfair.metrics import pairwise, partial
from partialfair.metrics.ranks import check_scores, kept_set_distance, rate_distance
from partialfair.metrics.registry import Metric, require_binary
from partialfair.metrics.resampling import Replicates


@guards.of_rows
def accuracy(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the share of rows whose label is the decision: +1 where the score exceeds the threshold, else -1."""
    check_scores(scores, y)
    require_binary(y)
    return float(np.mean((scores > threshold) == (y > 0)))


@guards.of_rows
def positive_rate(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the share of rows whose score exceeds the threshold."""
    check_scores(scores)
    return float(np.mean(scores > threshold))


@guards.of_rows
def sp_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """SP on [0, 1]: the two-sample Kolmogorov-Smirnov distance."""
    return partial.sp(scores, y, group, whole_range(interval), threshold)


@guards.of_rows
def rank_gap_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Equal to :func:`sp_full` by definition; kept so that both conventions have both ranges."""
    return partial.rank_gap(scores, y, group, whole_range(interval), threshold)


@guards.of_rows
def dp_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Difference of the rates of positive decisions."""
    return partial.dp(scores, y, group, whole_range(interval), threshold)


@guards.of_rows
def eop_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Difference of the true positive rates."""
    return partial.eop(scores, y, group, whole_range(interval), threshold)


@guards.of_rows
def eod_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the larger of the differences of true and of false positive rates."""
    return partial.eod(scores, y, group, whole_range(interval), threshold)


@guards.of_rows
def gauc_full(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """|Pr(score of group k exceeds that of group k') - 1/2|."""
    return pairwise.gauc(scores, y, group, whole_range(interval), threshold)


def whole_range(interval: Any) -> Interval:
    """[0, 1] for as many groups as the interval names, so that a missing group is still noticed."""
    return Interval.of(interval).whole


def _replicate_accuracy(sample: Replicates) -> NDArray:
    sample.require_labels()
    right = sample.positive[..., 1] + sample.sizes[:, 0] - sample.positive[..., 0]
    return np.asarray(right.sum(axis=1) / sample.sizes.sum())


def _replicate_positive_rate(sample: Replicates) -> NDArray:
    return np.asarray(sample.positive.sum(axis=(1, 2)) / sample.sizes.sum())


METRICS = {
    "accuracy": Metric(accuracy, "accuracy", "quality", _replicate_accuracy),
    "positive_rate": Metric(positive_rate, "rate of positive decisions", "quality", _replicate_positive_rate),
    "sp_full": Metric(
        sp_full,
        "statistical parity, whole range",
        replicate=lambda s: kept_set_distance(s.above, s.group_sizes, s.whole),
    ),
    "rank_gap_full": Metric(rank_gap_full, "largest rank difference, whole range"),
    "dp_full": Metric(
        dp_full,
        "demographic parity, whole range",
        replicate=lambda s: rate_distance(s.rates(), s.whole, True),
    ),
    "eop_full": Metric(eop_full, "equal opportunity, whole range"),
    "eod_full": Metric(eod_full, "equalised odds, whole range"),
    "gauc_full": Metric(gauc_full, "group AUC, whole range"),
}
