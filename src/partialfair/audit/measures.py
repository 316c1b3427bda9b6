"""Metrics of an audit for every pair of groups, with bootstrap intervals, from one sort of the rows."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.chance import critical_gap, lower_end
from partialfair.audit.sample import Resampled, Sample, Tally
from partialfair.errors import NotEstimableError
from partialfair.metrics import get
from partialfair.metrics.ranks import compared_ranks
from partialfair.tables.intervals import FULL, GroupPairs, decides_nothing, part_above, require_rows

PARTIAL = ("sp", "rank_gap", "dp", "dp_gap", "gauc", "eop", "eod")
WHOLE = ("sp_full", "dp_full", "gauc_full", "eop_full", "eod_full")
QUALITY = ("accuracy", "auc", "positive_rate")
LABELLED = frozenset({"eop", "eod", "eop_full", "eod_full", "accuracy", "auc"})
DECIDED = frozenset({"dp", "dp_gap", "eop", "eod", "dp_full", "eop_full", "eod_full", "accuracy", "positive_rate"})
"""Metrics of decisions, which the threshold makes."""
COLUMNS = 4096  # score columns of the bootstrap; see bootstrap_counts
LEAST_COLUMNS = 256  # of a pair among many groups
_ROUNDING = 1e-12

Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Measurement:
    """One number, its interval, or why there is none.

    Attributes:
        value: a violation, at least 0, or a rate.
        low, high: ends of its interval.
        reason: why there is no value, or what it leaves out.
        left_out: number of pairs of groups that a largest violation leaves out.
        pair: codes of the two groups that a violation is between, the one with the lower scores or rates first.
        shares: of ``rank_gap``, shares of these two groups above the threshold at which they differ most.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    left_out: int = 0
    pair: tuple[int, int] | None = None
    shares: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """All numbers of an audit.

    Attributes:
        quality: metrics of all rows.
        pairs: violations by pair of codes.
        overall: the largest violation over the pairs where it is estimable.
    """

    quality: Mapping[str, Measurement]
    pairs: Mapping[tuple[int, int], Mapping[str, Measurement]]
    overall: Mapping[str, Measurement]


def measure(
    sample: Sample, unions: GroupPairs, compared: Sequence[int], rng: np.random.Generator, replicates: int, level: float
) -> Measured:
    """Compute all metrics of a sample and their intervals.

    Args:
        sample: the rows.
        unions: interval of each group.
        compared: codes of the groups to compare.
        rng: source of the resampling.
        replicates: number of resamples; 0 for no intervals.
        level: level of the intervals.
    """
    pairs = list(combinations(compared, 2))
    reasons: dict[tuple, dict[str, str]] = {}
    exact: dict[tuple, Values] = {}
    draws: dict[tuple, Values] = {}
    lower, widest = {}, {}
    two: dict[tuple[int, int], Resampled] = {}
    whole = sample.tally.pooled()
    for key in ((), *pairs):
        tally = sample.tally.of_groups(key) if key else whole
        counted = tally.replicates(tally.count[None], _unions(unions, key))
        exact[key] = _evaluate(counted, key, sample.names, reasons)
        _refuse_conventions(exact, reasons, counted, key, sample.threshold)
        if key:
            widest[key[0], key[1]] = _widest(counted)
            lower[key[0], key[1]] = _lower(counted, (key[0], key[1]), widest[key[0], key[1]])
            two[key[0], key[1]] = counted
    if replicates:
        draws = dict(_drawn(sample.tally, unions, exact, sample.names, rng, replicates))
    return _summary(exact, draws, reasons, lower, widest, two, level)


def _drawn(
    tally: Tally,
    unions: GroupPairs,
    exact: Mapping[tuple, Values],
    names: Sequence[str],
    rng: np.random.Generator,
    replicates: int,
) -> Iterator[tuple[tuple, Values]]:
    """Yield the values (R,) of resamples by pair of groups and of all rows; all see the same resamples."""
    fine = tally.binned(COLUMNS)
    strata = bootstrap_counts(fine, rng, replicates)
    columns = max(LEAST_COLUMNS, 2 * COLUMNS // max(2, len(fine.count) // 2))
    for key, values in exact.items():
        own = [2 * code + label for code in key for label in (0, 1)] if key else range(len(fine.count))
        part = fine.of_groups(key) if key else fine.pooled()
        kept = np.flatnonzero(fine.count[own].any(axis=0))
        starts = part.starts(columns if key else COLUMNS)
        coarse = part.joined(starts)
        count = np.zeros((replicates, len(coarse.count), len(starts)), np.int64)
        for number, code in enumerate(own):
            used, drawn = strata[code]
            place = np.searchsorted(kept[starts], used, side="right") - 1
            first = np.flatnonzero(np.diff(place, prepend=-1))
            if len(first):
                count[:, number if key else code % 2, place[first]] += np.add.reduceat(drawn, first, axis=1)
        # Joined columns move a metric by less than a column's share; what they moved is put back.
        before = _evaluate(coarse.replicates(coarse.count[None], _unions(unions, key)), key, names, {})
        found = _evaluate(coarse.replicates(count, _unions(unions, key)), key, names, {})
        yield key, {name: found[name] + (values[name] - before[name]) for name in values}


def bootstrap_counts(
    tally: Tally, rng: np.random.Generator, replicates: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Draw samples with replacement within each group, labels included.

    Not within (group, label): where scores tell the labels apart, the number of positive labels is what makes the
    share of positive decisions vary. Of a perfect classifier that share would have an interval of no width.

    Drawing n rows of a group with replacement and counting them per label and score is one multinomial draw, so the
    cost grows with the number of scores and not of rows. Exact where every distinct score is a column; where columns
    were joined, the resample is that of scores rounded within their column.

    Returns:
        By stratum, the columns in which it has rows, and the counts there of every sample, (R, columns).
    """
    found = []
    for by_label in tally.count.reshape(-1, 2, tally.count.shape[1]):
        label, used = np.nonzero(by_label)
        size = by_label.sum()
        shares = by_label[label, used] / max(size, 1)
        drawn = rng.multinomial(size, shares, size=replicates) if size else np.zeros((replicates, 0))
        found += [(used[label == code], drawn[:, label == code].astype(np.int32)) for code in (0, 1)]
    return found


def _unions(unions: GroupPairs, key: tuple[int, ...]) -> GroupPairs:
    """Intervals of the groups of a pair; of all rows as one group, all ranks."""
    return tuple(unions[code] for code in key) if key else (FULL,)


def _evaluate(
    sample: Resampled, key: tuple[int, ...], names: Sequence[str], reasons: dict[tuple, dict[str, str]]
) -> Values:
    """Values (R,) of every metric of a pair of groups, or of all rows; notes why one is missing."""
    out: Values = {}
    if not key:
        for name in QUALITY:
            _attempt(lambda n=name: _replicate(n, sample), name, key, names, out, reasons)  # type: ignore[misc]
        return out
    whole = replace(sample, interval=sample.whole)
    for name in (*PARTIAL, *WHOLE):
        part, kernel = (whole, name.removesuffix("_full")) if name in WHOLE else (sample, name)
        _attempt(lambda k=kernel, p=part: _of_pair(k, p), name, key, names, out, reasons)  # type: ignore[misc]
    return out


def _attempt(
    compute: Callable[[], NDArray],
    name: str,
    key: tuple[int, ...],
    names: Sequence[str],
    out: Values,
    reasons: dict[tuple, dict[str, str]],
) -> None:
    """Store a value, or the reason why it is not estimable with names in place of codes."""
    try:
        out[name] = np.asarray(compute(), np.float64)
    except NotEstimableError as error:
        own = [names[code] for code in key]
        text = re.sub(r"\bgroup (\d+):", lambda match: f"group {own[int(match[1])]!r}:", str(error))
        reasons.setdefault(key, {})[name] = text


def _of_pair(kernel: str, sample: Resampled) -> NDArray:
    _needs_labels(kernel, sample)
    require_rows(sample.interval, sample.group_sizes)
    return _replicate(kernel, sample)


def _replicate(name: str, sample: Resampled) -> NDArray:
    _needs_labels(name, sample)
    if name in ("accuracy", "auc"):  # the kernels of the evaluation take one number of rows per label for all samples
        return sample.accuracy() if name == "accuracy" else sample.auc()
    kernel = get(name).replicate
    assert kernel is not None, name
    return kernel(sample)


def _needs_labels(name: str, sample: Resampled) -> None:
    if name in LABELLED and not sample.labelled:
        raise NotEstimableError("no labels were given")
    if name in ("eop", "eod"):
        for index in (1,) if name == "eop" else (1, 0):
            what = " with the positive label" if index else " with the negative label"
            require_rows(sample.interval, sample.sizes[:, index], what)


def _refuse_conventions(
    exact: dict[tuple, Values],
    reasons: dict[tuple, dict[str, str]],
    sample: Resampled,
    key: tuple[int, ...],
    threshold: float,
) -> None:
    """Take out what is 0 because no decision was measured: it says nothing of the groups."""
    for name in sorted(DECIDED & exact[key].keys()):
        if not math.isfinite(threshold):
            why: str | None = f"the decision threshold {threshold:g} is not a finite number, so that nothing is decided"
        else:
            why = _unmeasured(name, sample, threshold) if key else None
        if why:
            del exact[key][name]
            reasons.setdefault(key, {})[name] = why


def _unmeasured(name: str, two: Resampled, threshold: float) -> str | None:
    """Why a metric of decisions says nothing of a pair of groups; ``None`` if it does.

    On an interval see :func:`partialfair.tables.intervals.decides_nothing`; on the whole range every row gets the same
    decision.
    """
    if name in WHOLE or all(union == FULL for union in two.interval):
        decided = int(two.positive.sum())
        if 0 < decided < int(two.sizes.sum()):
            return None
        return f"every row gets the same decision at the threshold {threshold:g}"
    for label in {"eop": (1,), "eod": (1, 0)}.get(name, (None,)):
        rates = two.rates(label)[0]
        if decides_nothing(rates, two.interval):
            of = {None: "", 1: " of the rows with the positive label", 0: " of the rows with the negative label"}[label]
            shown = " and ".join(f"{rate:.3f}" for rate in rates)
            return (
                f"the decision threshold {threshold:g} lies outside the interval: shares above it{of} are {shown}, so "
                "that no decision inside the interval differs"
            )
    return None


def _lower(two: Resampled, pair: tuple[int, int], widest: tuple[float, float]) -> dict[str, tuple[int, int] | None]:
    """By metric, the two codes with the group first whose scores or rates are lower where the violation is measured."""

    def ordered(difference: float) -> tuple[int, int] | None:
        """Of the first group's scores or rates to the second's."""
        return None if abs(difference) < _ROUNDING else pair if difference < 0 else (pair[1], pair[0])

    found = {"rank_gap": ordered(widest[0] - widest[1])}
    for ending, union in (("", two.interval), ("_full", two.whole)):
        ranks = [two.above[0, k] / size for k, size in enumerate(two.group_sizes)]
        kept = [part_above(rank, pairs) for rank, pairs in zip(ranks, union, strict=True)]
        gaps = kept[0] - kept[1]
        found[f"sp{ending}"] = ordered(float(gaps[np.abs(gaps).argmax()]))
        mass = [np.diff(share, append=1.0) for share in kept]
        found[f"gauc{ending}"] = ordered(0.5 - float(mass[0] @ (kept[1] + 0.5 * mass[1])))
        by_label = {label: _decided(two, label, union) for label in (None, 1, 0)}
        found[f"dp{ending}"] = found[f"dp_gap{ending}"] = ordered(by_label[None])
        found[f"eop{ending}"] = ordered(by_label[1])
        found[f"eod{ending}"] = ordered(max(by_label[1], by_label[0], key=abs))
    return found


def _widest(two: Resampled) -> tuple[float, float]:
    """Shares of two groups above the threshold at which ``rank_gap`` is measured."""
    ranks = compared_ranks(two.above[0], two.group_sizes, two.interval)
    first, second = ranks[:, np.abs(ranks[0] - ranks[1]).argmax()]
    return float(first), float(second)


def _decided(two: Resampled, label: int | None, union: GroupPairs) -> float:
    """Kept share of positive decisions of the first group minus that of the second; 0 without such rows."""
    positive = two.positive[0].sum(axis=1) if label is None else two.positive[0, :, label]
    sizes = two.group_sizes if label is None else two.sizes[:, label]
    if not sizes.all():
        return 0.0
    first, second = (part_above(r, pairs) for r, pairs in zip(positive / sizes, union, strict=True))
    return float(first - second)


def _by_chance(name: str, two: Resampled, level: float, comparisons: int) -> float | None:
    """Value that chance explains of a largest difference over thresholds; ``None`` for other metrics."""
    if name not in ("sp", "rank_gap", "sp_full"):
        return None
    length = min(sum(high - low for low, high in pairs) for pairs in two.interval) if name == "sp" else 1.0
    return critical_gap(map(float, two.group_sizes), level, comparisons) / length


def _summary(
    exact: dict[tuple, Values],
    draws: dict[tuple, Values],
    reasons: dict[tuple, dict[str, str]],
    lower: Mapping[tuple[int, int], Mapping[str, tuple[int, int] | None]],
    widest: Mapping[tuple[int, int], tuple[float, float]],
    two: Mapping[tuple[int, int], Resampled],
    level: float,
) -> Measured:
    """Estimates with intervals, and the largest violation over pairs."""

    def least(name: str, pairs: Sequence[tuple[int, int]]) -> float:
        """Lower end for the largest violation of some pairs: the largest of theirs, all at once."""
        ends = []
        for pair in pairs:
            value, spread = float(exact[pair][name][0]), float(draws[pair][name].std(ddof=1))
            ends.append(lower_end(value, spread, level, len(pairs), _by_chance(name, two[pair], level, len(pairs))))
        return max(ends)

    def placed(found: Measurement, key: tuple[int, int], name: str) -> Measurement:
        """A violation with its groups, the lower one first."""
        pair = lower[key][name]
        if pair is None or name != "rank_gap":
            return replace(found, pair=pair)
        first, second = widest[key]
        return replace(found, pair=pair, shares=(first, second) if pair == key else (second, first))

    def one(key: tuple[int, ...], name: str) -> Measurement:
        if name not in exact[key]:
            return Measurement(None, reason=reasons[key][name])
        found = _with_interval(float(exact[key][name][0]), draws.get(key, {}).get(name), name, level)
        if len(key) != 2:
            return found
        if found.low is not None:
            found = replace(found, low=min(found.low, least(name, [(key[0], key[1])])))
        return placed(found, (key[0], key[1]), name)

    by_pair = {pair: {name: one(pair, name) for name in (*PARTIAL, *WHOLE)} for pair in lower}
    overall = {}
    for name in (*PARTIAL, *WHOLE):
        usable = [pair for pair in lower if name in exact[pair]]
        left_out = [pair for pair in lower if name not in exact[pair]]
        note = joined(reasons[pair][name] for pair in left_out)
        if not usable:
            overall[name] = Measurement(None, reason=note, left_out=len(left_out))
            continue
        worst = max(usable, key=lambda pair, name=name: float(exact[pair][name][0]))  # type: ignore[misc]
        drawn = np.maximum.reduce([draws[pair][name] for pair in usable]) if draws else None
        found = _with_interval(float(exact[worst][name][0]), drawn, name, level)
        if found.low is not None:
            found = replace(found, low=min(found.low, least(name, usable)))
        overall[name] = placed(replace(found, reason=note, left_out=len(left_out)), worst, name)
    return Measured({name: one((), name) for name in QUALITY}, by_pair, overall)


def joined(reasons: Iterable[str]) -> str:
    """Return reasons as one text; those that begin alike, up to a colon, are one with a count."""
    found: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        found.setdefault(reason.partition(":")[0], []).append(reason)
    parts = [own[0] + (f" (and alike for {len(own) - 1} more)" if len(own) > 1 else "") for own in found.values()]
    return "; ".join(parts)


def _with_interval(value: float, drawn: NDArray | None, name: str, level: float) -> Measurement:
    """Percentile interval; for a violation its envelope with the reflection, as in ``metrics.uncertainty``.

    The lower end of a violation is moved further down where chance explains more, see :mod:`partialfair.audit.chance`.
    """
    if drawn is None:
        return Measurement(value)
    low, high = (float(end) for end in np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2)))
    if get(name).direction == "violation":
        low, high = min(low, 2 * value - high), max(high, 2 * value - low)
    return Measurement(value, min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))
