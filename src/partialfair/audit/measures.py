"""Metrics of an audit for every pair of groups, with their confidence intervals, from one sort of the rows.

Pairs are counted and measured one after the other. The memory is that of the rows and of one pair, and the time grows
with the number of groups.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from partialfair.audit import confidence_limits
from partialfair.audit.group_counts import full_ranges
from partialfair.audit.interval_ends import LEAST_KEPT, thinned, violation_ends
from partialfair.audit.sample import Sample
from partialfair.data.intervals import FULL, GroupPairs, decides_nothing, part_above, require_rows
from partialfair.errors import NotEstimableError
from partialfair.metrics import get
from partialfair.metrics.ranks import compared_ranks
from partialfair.metrics.resampling import Replicates

PARTIAL = ("sp", "rank_gap", "dp", "dp_gap", "gauc", "eop", "eod")
WHOLE = ("sp_full", "dp_full", "gauc_full", "eop_full", "eod_full")
QUALITY = ("accuracy", "auc", "positive_rate")
LABELLED = frozenset({"eop", "eod", "eop_full", "eod_full", "accuracy", "auc"})
DECIDED = frozenset({"dp", "dp_gap", "eop", "eod", "dp_full", "eop_full", "eod_full", "accuracy", "positive_rate"})
"""Metrics of decisions, which depend on the threshold."""
TOO_FEW = f"no interval: too few, the ranks keep fewer than {LEAST_KEPT} rows of a group"
_ROUNDING = 1e-12

Pair = tuple[int, int]


@dataclass(frozen=True)
class Measurement:
    """One number with its interval, or the reason why it is missing.

    Attributes:
        value: a violation, at least 0, or a rate.
        low, high: ends of its interval.
        reason: why there is no value, or what the value leaves out.
        left_out: number of pairs of groups that a largest violation leaves out.
        pair: codes of the two groups of a violation, the group with the lower scores or rates first.
        no_interval: why a value has no interval, although the audit computes intervals.
        shares: for ``rank_gap``, shares of these two groups above the threshold at which they differ most.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    left_out: int = 0
    pair: tuple[int, int] | None = None
    shares: tuple[float, float] | None = None
    no_interval: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """All numbers of an audit.

    Attributes:
        quality: metrics of all rows.
        pairs: violations by pair of codes.
        overall: the largest violation over the pairs where it is estimable.
    """

    quality: Mapping[str, Measurement]
    pairs: Mapping[Pair, Mapping[str, Measurement]]
    overall: Mapping[str, Measurement]


def measure(
    sample: Sample, unions: GroupPairs, compared: Sequence[int], level: float = 0.95, intervals: bool = True
) -> Measured:
    """Compute all metrics of a sample and their intervals.

    The interval of a largest violation over m pairs reaches from the largest lower end of a pair, each at ``tail / m``,
    to the largest upper end, each at ``tail``. Upper ends need no correction: that of the pair with the largest
    population violation misses it with probability ``tail`` at most, and the maximum is no smaller.

    Args:
        sample: the rows.
        unions: interval of each group.
        compared: codes of the groups to compare.
        level: level of the intervals.
        intervals: whether to compute intervals.
    """
    codes = list(combinations(compared, 2))
    pairs: dict[Pair, dict[str, Measurement]] = {}
    corrected: dict[Pair, dict[str, float]] = {}
    for pair in codes:
        pairs[pair], corrected[pair] = _of_pair(sample, unions, pair, level, len(codes), intervals)
    overall = {name: _largest(name, pairs, corrected) for name in (*PARTIAL, *WHOLE)}
    return Measured(_quality(sample, level, intervals), pairs, overall)


def _largest(
    name: str, pairs: Mapping[Pair, Mapping[str, Measurement]], corrected: Mapping[Pair, Mapping[str, float]]
) -> Measurement:
    """Return the largest violation over the pairs where it is estimable; its reason names what other pairs lack."""
    usable = {pair: violations[name] for pair, violations in pairs.items() if violations[name].value is not None}
    left_out = [violations[name].reason for pair, violations in pairs.items() if pair not in usable]
    note = joined(left_out)
    if not usable:
        return Measurement(None, reason=note, left_out=len(left_out))
    worst = max(usable.values(), key=lambda violation: violation.value or 0.0)
    worst = replace(worst, reason=note, left_out=len(left_out))
    missing_interval = next((violation.no_interval for violation in usable.values() if violation.no_interval), "")
    if worst.low is None or missing_interval:
        return replace(worst, low=None, high=None, no_interval=missing_interval)
    low = max(corrected[pair][name] for pair in usable)
    return replace(worst, low=low, high=max(violation.high or 0.0 for violation in usable.values()))


def _of_pair(
    sample: Sample, unions: GroupPairs, pair: Pair, level: float, comparisons: int, intervals: bool
) -> tuple[dict[str, Measurement], dict[str, float]]:
    """Return the violations of two groups, and their lower ends corrected for the number of pairs."""
    names = [sample.names[code] for code in pair]
    pair_unions = (unions[pair[0]], unions[pair[1]])
    pair_counts = sample.tally.of_groups(pair).counted(pair_unions)
    unrestricted = replace(pair_counts, interval=full_ranges(2))
    rows, effective = sample.rows[list(pair)], sample.effective[list(pair)]
    shares = _shares_at_largest_gap(pair_counts)
    lower_first = _lower_first(pair_counts, pair, shares)
    measurements: dict[str, Measurement] = {}
    corrected: dict[str, float] = {}
    for name in (*PARTIAL, *WHOLE):
        base_name, compared = (name.removesuffix("_full"), unrestricted) if name in WHOLE else (name, pair_counts)
        try:
            _require(base_name, compared, rows)
            value = _value(base_name, compared)
        except NotEstimableError as error:
            text = re.sub(r"\bgroup (\d+):", lambda match: f"group {names[int(match[1])]!r}:", str(error))
            measurements[name] = Measurement(None, reason=text)
            continue
        if name in DECIDED and (why := _no_decision(name, pair_counts, sample.threshold)):
            measurements[name] = Measurement(None, reason=why)
            continue
        measurement = Measurement(value, pair=lower_first[name])
        if intervals:
            ends = violation_ends(base_name, compared, np.array([value]), effective, (1 - level) / 2, comparisons)
            low, high, corrected[name] = (float(end[0]) for end in ends)
            if math.isnan(low):
                measurement = replace(measurement, no_interval=TOO_FEW)
            else:
                measurement = replace(measurement, low=low, high=high)
        if name == "rank_gap" and measurement.pair is not None:
            measurement = replace(measurement, shares=shares if measurement.pair == pair else shares[::-1])
        measurements[name] = measurement
    return measurements, corrected


def _value(name: str, sample: Replicates) -> float:
    estimate = get(name).replicate
    assert estimate is not None, name
    return float(estimate(sample)[0])


def _require(name: str, sample: Replicates, rows: NDArray[np.int64]) -> None:
    """Refuse a metric that lacks rows or labels.

    Args:
        name: name of the metric.
        sample: the rows, or their weights.
        rows: (G, 2) unweighted rows by group and label.
    """
    if name in LABELLED and not sample.labelled:
        raise NotEstimableError("no labels were given")
    if name in ("eop", "eod"):
        for index in (1,) if name == "eop" else (1, 0):
            rows_with = " with the positive label" if index else " with the negative label"
            require_rows(sample.interval, rows[:, index], rows_with)
    require_rows(sample.interval, rows.sum(axis=1))


def _quality(sample: Sample, level: float, intervals: bool) -> dict[str, Measurement]:
    """Return the accuracy, area under the curve and rate of positive decisions of all rows."""
    pooled = sample.tally.pooled().counted(full_ranges(1))
    effective, tail = sample.effective_of_all, (1 - level) / 2
    measurements: dict[str, Measurement] = {}
    for name in QUALITY:
        if name in LABELLED and not pooled.labelled:
            measurements[name] = Measurement(None, reason="no labels were given")
            continue
        if name in DECIDED and (why := _no_threshold(sample.threshold)):
            measurements[name] = Measurement(None, reason=why)
            continue
        try:
            value = _value(name, pooled)
        except NotEstimableError as error:
            measurements[name] = Measurement(None, reason=str(error))
            continue
        ends: tuple[float | None, float | None] = (None, None)
        if intervals and name == "auc":
            ranks = thinned(pooled.above_by_label[0] / pooled.sizes[0][:, None])
            low, high = confidence_limits.area_limits(ranks, effective[:2], full_ranges(2), tail)
            ends = min(float(low), value), max(float(high), value)
        elif intervals:
            low, high = confidence_limits.share_limits(value, effective[2], tail)
            ends = float(low), float(high)
        measurements[name] = Measurement(value, *ends)
    return measurements


def _no_threshold(threshold: float) -> str | None:
    """Return why a threshold decides nothing; ``None`` if it is finite."""
    if math.isfinite(threshold):
        return None
    return f"the decision threshold {threshold:g} is not a finite number, so that nothing is decided"


def _no_decision(name: str, pair_counts: Replicates, threshold: float) -> str | None:
    """Return why a metric of decisions is not estimable for a pair of groups; ``None`` if it is.

    On an interval see :func:`partialfair.data.intervals.decides_nothing`; on the whole range every row gets the same
    decision.
    """
    if why := _no_threshold(threshold):
        return why
    if name in WHOLE or pair_counts.interval == pair_counts.whole:
        decided = int(pair_counts.positive.sum())
        if 0 < decided < int(pair_counts.sizes.sum()):
            return None
        return f"every row gets the same decision at the threshold {threshold:g}"
    for label in {"eop": (1,), "eod": (1, 0)}.get(name, (None,)):
        rates = pair_counts.rates(label)[0]
        if decides_nothing(rates, pair_counts.interval):
            sign = {1: "positive", 0: "negative"}
            stratum = "" if label is None else f" of the rows with the {sign[label]} label"
            shares = " and ".join(f"{rate:.3f}" for rate in rates)
            return (
                f"the decision threshold {threshold:g} lies outside the interval: shares above it{stratum} are "
                f"{shares}, so that no decision inside the interval differs"
            )
    return None


def _lower_first(pair_counts: Replicates, pair: Pair, shares: tuple[float, float]) -> dict[str, Pair | None]:
    """Return for each metric the two group codes, the group with the lower scores or rates first; None for a tie."""

    def ordered(difference: float) -> Pair | None:
        """Order the groups by the difference of the first group's scores or rates to the second's."""
        return None if abs(difference) < _ROUNDING else pair if difference < 0 else (pair[1], pair[0])

    lower_first = {"rank_gap": ordered(shares[0] - shares[1])}
    for ending, union in (("", pair_counts.interval), ("_full", pair_counts.whole)):
        ranks = [pair_counts.above[0, k] / size for k, size in enumerate(pair_counts.group_sizes)]
        whole_range = all(pairs == FULL for pairs in union)
        kept_shares = ranks
        if not whole_range:
            kept_shares = [part_above(rank, pairs) for rank, pairs in zip(ranks, union, strict=True)]
        gaps = kept_shares[0] - kept_shares[1]
        lower_first[f"sp{ending}"] = ordered(float(gaps[np.abs(gaps).argmax()]))
        mass = [np.diff(share, append=1.0) for share in kept_shares]
        lower_first[f"gauc{ending}"] = ordered(0.5 - float(mass[0] @ (kept_shares[1] + 0.5 * mass[1])))
        by_label = {label: _decided(pair_counts, label, union) for label in (None, 1, 0)}
        lower_first[f"dp{ending}"] = lower_first[f"dp_gap{ending}"] = ordered(by_label[None])
        lower_first[f"eop{ending}"] = ordered(by_label[1])
        lower_first[f"eod{ending}"] = ordered(max(by_label[1], by_label[0], key=abs))
    return lower_first


def _shares_at_largest_gap(pair_counts: Replicates) -> tuple[float, float]:
    """Return the shares of two groups above the threshold at which ``rank_gap`` is measured."""
    ranks = compared_ranks(pair_counts.above[0], pair_counts.group_sizes, pair_counts.interval)
    first_share, second_share = ranks[:, np.abs(ranks[0] - ranks[1]).argmax()]
    return float(first_share), float(second_share)


def _decided(pair_counts: Replicates, label: int | None, union: GroupPairs) -> float:
    """Return the kept share of positive decisions of the first group minus that of the second; 0 without such rows."""
    positive = pair_counts.positive[0].sum(axis=1) if label is None else pair_counts.positive[0, :, label]
    sizes = pair_counts.group_sizes if label is None else pair_counts.sizes[:, label]
    if not sizes.all():
        return 0.0
    minuend, subtrahend = (part_above(r, pairs) for r, pairs in zip(positive / sizes, union, strict=True))
    return float(minuend - subtrahend)


def joined(reasons: Iterable[str]) -> str:
    """Return reasons as one text; reasons with the same beginning, up to a colon, become one with a count."""
    alike: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        alike.setdefault(reason.partition(":")[0], []).append(reason)
    counts = {texts[0]: len(texts) - 1 for texts in alike.values()}
    return "; ".join(text + (f" (and alike for {count} more)" if count else "") for text, count in counts.items())
