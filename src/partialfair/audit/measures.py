"""Metrics of an audit for every pair of groups, with bootstrap intervals, from one sort of the rows."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.sample import Sample, Tally
from partialfair.errors import NotEstimableError
from partialfair.metrics import get
from partialfair.metrics.resampling import Replicates
from partialfair.tables.intervals import GroupPairs, require_rows

PARTIAL = ("sp", "rank_gap", "dp", "dp_gap", "gauc", "eop", "eod")
WHOLE = ("sp_full", "dp_full", "gauc_full", "eop_full", "eod_full")
QUALITY = ("accuracy", "auc", "positive_rate")
LABELLED = frozenset({"eop", "eod", "eop_full", "eod_full", "accuracy", "auc"})
COLUMNS = 4096  # score columns of the bootstrap; see bootstrap_counts
_BLOCK = 1 << 21  # numbers of one block of replicates

Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Measurement:
    """One number, its interval, or why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """All numbers of an audit.

    Attributes:
        quality: metrics of all rows.
        pairs: violations by pair of codes.
        overall: the largest violation over the pairs where it is estimable.
        rates: rate of positive decisions of each group.
    """

    quality: Mapping[str, Measurement]
    pairs: Mapping[tuple[int, int], Mapping[str, Measurement]]
    overall: Mapping[str, Measurement]
    rates: Sequence[Measurement]


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
    exact = _evaluate(sample.tally.replicates(sample.tally.count[None], unions), pairs, sample.names, reasons)
    draws: dict[tuple, Values] = {}
    if replicates:
        tally = sample.tally.binned(COLUMNS)
        coarse = _evaluate(tally.replicates(tally.count[None], unions), pairs, sample.names, {})
        parts = [
            _evaluate(tally.replicates(count, unions), pairs, sample.names, {})
            for count in bootstrap_counts(tally, rng, replicates)
        ]
        # Joined columns move a metric by less than a column's share; what they moved is put back.
        draws = {
            key: {
                name: np.concatenate([part[key][name] for part in parts]) + (exact[key][name] - value)
                for name, value in values.items()
            }
            for key, values in coarse.items()
        }
    return _summary(sample, exact, draws, reasons, pairs, level)


def bootstrap_counts(tally: Tally, rng: np.random.Generator, replicates: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (R, 2 G, B) of counts of samples drawn with replacement within each (group, label) stratum.

    Drawing n rows of a stratum with replacement and counting them per score is one multinomial draw, so the cost
    grows with the number of scores and not of rows. Exact where every distinct score is a column; where columns
    were joined, the resample is that of scores rounded within their column.
    """
    strata, columns = tally.count.shape
    sizes = tally.count.sum(axis=1)
    per_block = max(1, _BLOCK // tally.count.size)
    for first in range(0, replicates, per_block):
        rows = min(per_block, replicates - first)
        out = np.zeros((rows, strata, columns), np.int64)
        for code in np.flatnonzero(sizes):
            used = np.flatnonzero(tally.count[code])
            out[:, code, used] = rng.multinomial(sizes[code], tally.count[code, used] / sizes[code], size=rows)
        yield out


def _evaluate(
    sample: Replicates,
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
    reasons: dict[tuple, dict[str, str]],
) -> dict[tuple, Values]:
    """Values (R,) of every metric by pair of groups, by group (k,) and of all rows (); notes why one is missing."""
    out: dict[tuple, Values] = {(): {}}
    for name in QUALITY:
        _attempt(lambda n=name: _replicate(n, sample), name, (), names, out, reasons)  # type: ignore[misc]
    rates = sample.rates()
    for code in range(len(names)):
        out[(code,)] = {"positive_rate": rates[:, code]}
    for a, b in pairs:
        two = _restricted(sample, (a, b))
        whole = replace(two, interval=two.whole)
        out[a, b] = {}
        for name in (*PARTIAL, *WHOLE):
            part, kernel = (whole, name.removesuffix("_full")) if name in WHOLE else (two, name)
            _attempt(lambda k=kernel, p=part: _of_pair(k, p), name, (a, b), names, out, reasons)  # type: ignore[misc]
    return out


def _attempt(
    compute: Callable[[], NDArray],
    name: str,
    key: tuple[int, ...],
    names: Sequence[str],
    out: dict[tuple, Values],
    reasons: dict[tuple, dict[str, str]],
) -> None:
    """Store a value, or the reason why it is not estimable with names in place of codes."""
    try:
        out[key][name] = np.asarray(compute(), np.float64)
    except NotEstimableError as error:
        own = [names[code] for code in key]
        text = re.sub(r"\bgroup (\d+):", lambda match: f"group {own[int(match[1])]!r}:", str(error))
        reasons.setdefault(key, {})[name] = text


def _of_pair(kernel: str, sample: Replicates) -> NDArray:
    _needs_labels(kernel, sample)
    require_rows(sample.interval, sample.group_sizes)
    return _replicate(kernel, sample)


def _replicate(name: str, sample: Replicates) -> NDArray:
    _needs_labels(name, sample)
    kernel = get(name).replicate
    assert kernel is not None, name
    return kernel(sample)


def _needs_labels(name: str, sample: Replicates) -> None:
    if name in LABELLED and not sample.labelled:
        raise NotEstimableError("no labels were given")
    if name in ("eop", "eod"):
        for index in (1,) if name == "eop" else (1, 0):
            what = " with the positive label" if index else " with the negative label"
            require_rows(sample.interval, sample.sizes[:, index], what)


def _restricted(sample: Replicates, pair: tuple[int, int]) -> Replicates:
    """The same replicates with two groups only."""
    codes = list(pair)
    return replace(
        sample,
        above=sample.above[:, codes],
        positive=sample.positive[:, codes],
        sizes=sample.sizes[codes],
        interval=tuple(sample.interval[code] for code in codes),
    )


def _summary(
    sample: Sample,
    exact: dict[tuple, Values],
    draws: dict[tuple, Values],
    reasons: dict[tuple, dict[str, str]],
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> Measured:
    """Estimates with intervals, and the largest violation over pairs."""

    def one(key: tuple[int, ...], name: str) -> Measurement:
        if name not in exact[key]:
            return Measurement(None, reason=reasons[key][name])
        return _with_interval(float(exact[key][name][0]), draws.get(key, {}).get(name), name, level)

    by_pair = {pair: {name: one(pair, name) for name in (*PARTIAL, *WHOLE)} for pair in pairs}
    overall = {}
    for name in (*PARTIAL, *WHOLE):
        usable = [pair for pair in pairs if name in exact[pair]]
        left_out = [pair for pair in pairs if name not in exact[pair]]
        note = "; ".join(dict.fromkeys(reasons[pair][name] for pair in left_out))
        if not usable:
            overall[name] = Measurement(None, reason=note)
            continue
        value = max(float(exact[pair][name][0]) for pair in usable)
        drawn = np.maximum.reduce([draws[pair][name] for pair in usable]) if draws else None
        overall[name] = replace(_with_interval(value, drawn, name, level), reason=note)
    return Measured(
        quality={name: one((), name) for name in QUALITY},
        pairs=by_pair,
        overall=overall,
        rates=[one((code,), "positive_rate") for code in range(len(sample.names))],
    )


def _with_interval(value: float, drawn: NDArray | None, name: str, level: float) -> Measurement:
    """Percentile interval; for a violation its envelope with the reflection, as in ``metrics.uncertainty``."""
    if drawn is None:
        return Measurement(value)
    low, high = (float(end) for end in np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2)))
    if get(name).direction == "violation":
        low, high = min(low, 2 * value - high), max(high, 2 * value - low)
    return Measurement(value, min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))
