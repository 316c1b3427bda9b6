"""Partial fairness metrics: statistical parity and its relatives on an interval of score ranks.

Definitions: "Enforcing Fair Predicted Scores on Intervals of Percentiles by Difference-of-Convex
Constraints", section 4 and appendix A. Every value is a violation in [0, 1]: 0 is parity. With more than two
groups it is the largest over pairs of groups. Arguments of all functions: scores (n,), labels -1/+1 (n,),
group codes (n,), an interval (see ``partialfair.data.intervals``), and the decision threshold.

All raise NotEstimableError if the interval keeps fewer than 2 rows of a group.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import GroupPairs, Interval, require_rows
from partialfair.errors import NotEstimableError
from partialfair.metrics import ranks
from partialfair.metrics.registry import Metric, require_binary
from partialfair.metrics.resampling import Replicates


@guards.of_rows
def sp(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """SP^I: Kolmogorov-Smirnov distance between the kept scores of two groups."""
    counts, unions = ranked(scores, group, interval)
    return float(ranks.kept_set_distance(counts.above, counts.sizes, unions))


@guards.of_rows
def rank_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Largest |F_k(theta) - F_k'(theta)| over observed theta with either rank in I; not divided by its length."""
    counts, unions = ranked(scores, group, interval)
    return float(ranks.rank_distance(counts.above, counts.sizes, unions))


@guards.of_rows
def dp(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """DP^I: difference of the shares of kept rows above the threshold, by the identity on empirical rates."""
    return _parity(scores, group, Interval.of(interval), threshold, normalise=True)


@guards.of_rows
def dp_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """|r_k - r_k'| with r = min(F(threshold), beta) - min(F(threshold), alpha); not divided by the length of I."""
    return _parity(scores, group, Interval.of(interval), threshold, normalise=False)


@guards.of_rows
def eop(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """EOP^I: DP^I among the rows with label +1."""
    return parity_of_label(scores, y, group, interval, threshold, label=1)


@guards.of_rows
def eod(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """EOD^I: the larger of DP^I among the rows with label +1 and among those with label -1."""
    return max(parity_of_label(scores, y, group, interval, threshold, label) for label in (1, -1))


def ranked(scores: NDArray, group: NDArray, interval: Any, rows_with: str = "") -> tuple[ranks.Counts, GroupPairs]:
    """Return the count rows above every score and give each group its checked interval."""
    unions = ranks.unions_of(group, interval)
    counts = ranks.count_above(scores, group, len(unions))
    require_rows(unions, counts.sizes, rows_with)
    return counts, unions


def _parity(
    scores: NDArray, group: NDArray, interval: Interval, threshold: float, normalise: bool, rows_with: str = ""
) -> float:
    ranks.check_scores(scores, group)
    unions = ranks.unions_of(group, interval)
    sizes = np.bincount(group, minlength=len(unions))
    ranks.check_groups(sizes, rows_with)
    require_rows(unions, sizes, rows_with)
    rates = np.bincount(group, weights=scores > threshold, minlength=len(unions)) / sizes
    return float(ranks.rate_distance(rates, unions, normalise))


@guards.of_rows
def parity_of_label(
    scores: NDArray,
    y: NDArray,
    group: NDArray,
    interval: Any,
    threshold: float,
    label: int,
    normalise: bool = True,
) -> float:
    """DP^I among the rows with a label, or the gap that is not divided by the interval's length."""
    ranks.check_scores(scores, y, group)
    require_binary(y)
    rows = y == label
    # The whole sample, not the subset, says which groups exist.
    unions = ranks.unions_of(group, interval)
    if not rows.any():
        raise NotEstimableError(f"no row has label {label:+d}; equal opportunity and odds need rows of each label")
    rows_with = f" with label {label:+d}"
    return _parity(scores[rows], group[rows], Interval(unions, True), threshold, normalise, rows_with)


def _replicate_parity(sample: Replicates, interval: GroupPairs, *labels: int | None) -> NDArray:
    """DP of each resample; the largest over the labels given (``None`` = all rows)."""
    return ranks.largest([ranks.rate_distance(sample.rates(label), interval, True) for label in labels])


METRICS = {
    "sp": Metric(
        sp,
        "partial statistical parity, SP^I",
        replicate=lambda s: ranks.kept_set_distance(s.above, s.group_sizes, s.interval),
    ),
    "rank_gap": Metric(
        rank_gap,
        "largest rank difference on I, absolute scale",
        replicate=lambda s: ranks.rank_distance(s.above, s.group_sizes, s.interval),
    ),
    "dp": Metric(
        dp,
        "partial demographic parity, DP^I",
        replicate=lambda s: _replicate_parity(s, s.interval, None),
    ),
    "dp_gap": Metric(
        dp_gap,
        "demographic parity gap within I, absolute scale",
        replicate=lambda s: ranks.rate_distance(s.rates(), s.interval, False),
    ),
    "eop": Metric(
        eop,
        "partial equal opportunity, EOP^I",
        replicate=lambda s: _replicate_parity(s, s.interval, 1),
    ),
    "eod": Metric(
        eod,
        "partial equalised odds, EOD^I",
        replicate=lambda s: _replicate_parity(s, s.interval, 0, 1),
    ),
}
