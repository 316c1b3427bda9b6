"""Compute the audit of scores: check the rows, measure all pairs of groups, apply the gates."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair import __version__
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE, Measured, Measurement, measure
from partialfair.audit.rates import RATIO, GroupLine, group_lines, ratio
from partialfair.audit.result import AuditResult, Curve, Gate
from partialfair.audit.sample import IN_MEMORY, Sample, build_sample, counts_above
from partialfair.audit.sentences import counted
from partialfair.data.intervals import FULL, GroupPairs, for_groups, format_interval
from partialfair.errors import ConfigError, DataError, NotEstimableError, PluginError
from partialfair.metrics.choose_interval import Suggestion, suggest_from_counts
from partialfair.metrics.ranks import Counts
from partialfair.metrics.uncertainty import check_level
from partialfair.plugins import did_you_mean

MIN_GROUP_SIZE = 30  # rows below which a group is not compared
CURVE_COLUMNS = 2000  # points of the rank curve per compared group
MOST_GROUPS = 50
"""Largest number of groups that are compared: 50 groups make 1,225 pairs, and the pairs grow with the square."""
ROUNDING = 1e-12
"""Distance at which a value counts as equal to its limit, since equal numbers may differ in the last bits."""


def audit_scores(
    scores: Any,
    groups: Any,
    labels: Any = None,
    *,
    interval: Any = ((0.0, 1.0),),
    threshold: float | None = None,
    positive: Any = None,
    gates: Mapping[str, float] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
    weights: Any = None,
    confidence_intervals: bool = True,
    level: float = 0.95,
    replicates: int | None = None,
    seed: int | None = None,
    source: str = "scores",
    by: str | None = None,
    owner: str | None = None,
    missing: str = "refuse",
    words: Mapping[str, frozenset[str]] = IN_MEMORY,
) -> AuditResult:
    """Audit scores of any model.

    Groups with fewer than ``min_group_size`` rows are listed but not compared: a gap of two shares of a handful of
    rows says little, and pooling unlike groups would hide what it mixes. Merge such groups beforehand if that
    makes sense for them.

    Args:
        scores: (n,) finite numbers; only their order within and between groups matters, except at the threshold.
        groups: (n,) groups, or several columns (a mapping, a dataframe or a 2-D array): each combination of values
            that occurs is one intersectional group.
        labels: (n,) outcomes with two values, or ``None``: then accuracy, AUC, EOP and EOD are not estimable.
        interval: disjoint pairs of ranks (their union is audited), or one such list per group, in the order of
            the groups' names as texts ("10" before "2"). The whole range [0, 1] is always reported besides.
        threshold: decision threshold; by default 0.5 if all scores lie in [0, 1], else 0. Metrics of decisions are not
            estimable if the threshold is not finite, or if it lies outside the interval in both groups and on the same
            side of it.
        positive: the label that counts as positive; by default the larger of two numbers, or of two texts the later one
            in the alphabet.
        gates: largest allowed violation by metric name, for instance ``{"sp": 0.1}``; under ``selection_ratio`` the
            smallest allowed ratio of selection rates. A gate fails if its metric cannot be estimated for one or more
            of the compared pairs.
        min_group_size: see above; at least 2.
        weights: (n,) weight of each row, at least 0; by default 1 each. A weight counts as that many equal rows in
            every estimate. Confidence intervals use Kish's effective number of rows, (sum w)^2 / sum w^2.
            ``min_group_size`` refers to the unweighted rows.
        confidence_intervals: whether to compute the intervals of the violations and of the quality metrics.
        level: level of the intervals.
        replicates, seed: deprecated, as intervals are no longer from resamples; ``replicates=0`` is
            ``confidence_intervals=False``.
        source: what to call the data in the result.
        by: who runs the audit.
        owner: who answers for the model.
        missing: what to do about rows without a score, a group or a label: "refuse" them, "drop" them, or make a
            "group", called "missing", of those without a group. Rows that are left out are counted in the record.
        words: texts in lower case that stand for a missing value, by what a column is for ("group", "label", "number");
            by default those of :data:`partialfair.data.missing_words.NULL_TEXTS`.

    Raises:
        DataError: rows that cannot be audited; ConfigError or PluginError: settings that cannot be used.
    """
    if replicates is not None or seed is not None:
        warnings.warn(
            "replicates and seed have no effect, as intervals are computed in closed form; for none, pass "
            "confidence_intervals=False",
            DeprecationWarning,
            stacklevel=2,
        )
        confidence_intervals = confidence_intervals and replicates != 0
    check_settings({} if gates is None else gates, min_group_size, level)
    # plain numbers for JSON, also where a limit is a number of NumPy
    gates = {name: float(limit) for name, limit in (gates or {}).items()}
    min_group_size, level = int(min_group_size), float(level)
    if positive is not None and labels is None:
        raise ConfigError(f"positive is {positive!r}, but no labels are given; pass them, or drop it")
    sample = build_sample(scores, groups, labels, threshold, positive, missing, words, weights)
    unions = for_groups(interval, len(sample.names))
    sizes = np.bincount(sample.group, minlength=len(sample.names))
    compared = _compared(sample, sizes, min_group_size)
    lines = group_lines(sample, unions, min_group_size, level)
    pooled = sample.of_groups(compared)
    measured = _measured(pooled, unions, compared, level, confidence_intervals)
    selection_ratio = ratio(lines, level, None if sample.weights is None else sample.effective[:, 2])
    return AuditResult(
        source=source,
        rows=len(sample.scores),
        interval=format_interval(interval),
        default_threshold=threshold is None,
        level=level,
        weighted=sample.weights is not None,
        confidence_intervals=confidence_intervals,
        min_group_size=min_group_size,
        groups=lines,
        measured=measured,
        ratio=selection_ratio,
        gates=[
            _gate(name, limit, selection_ratio if name == RATIO else measured.overall[name], lines)
            for name, limit in gates.items()
        ],
        unions=unions,
        record={"partialfair": __version__, "by": by or None, "owner": owner or None} | left_out(sample, missing),
        **_of_sample(sample, pooled, compared),
    )


def left_out(sample: Sample, missing: str) -> dict[str, str]:
    """Return what the record says of rows with missing values; nothing where they are refused."""
    if missing == "refuse":
        return {}
    lacking = ", ".join(f"{count} without {name}" for name, count in sample.lacking.items())
    return {"missing": missing, "rows left out": f"{sample.left_out}{f' ({lacking})' if lacking else ''}"}


def _measured(
    pooled: Sample, unions: GroupPairs, compared: NDArray[np.int64], level: float, intervals: bool
) -> Measured:
    """Measure the groups that are compared; all others count as one in the quality of all rows."""
    pooled_unions = (*(unions[code] for code in compared), *[FULL] * (len(pooled.names) - len(compared)))
    measured = measure(pooled, pooled_unions, range(len(compared)), level, intervals)

    def named(measurement: Measurement) -> Measurement:
        if measurement.pair is None:
            return measurement
        lower, higher = measurement.pair
        return replace(measurement, pair=(int(compared[lower]), int(compared[higher])))

    pairs = {
        (int(compared[a]), int(compared[b])): {name: named(measurement) for name, measurement in metrics.items()}
        for (a, b), metrics in measured.pairs.items()
    }
    overall = {name: named(measurement) for name, measurement in measured.overall.items()}
    return Measured(measured.quality, pairs, overall)


def _of_sample(sample: Sample, pooled: Sample, compared: NDArray[np.int64]) -> dict[str, Any]:
    """Return the entries of the result that depend on the rows and the compared groups alone; ``pooled`` has these."""
    # lines 2 k and 2 k + 1 of the table are the labels of group k
    tally = pooled.tally.binned(CURVE_COLUMNS * len(compared))
    count = (tally.count[0::2] + tally.count[1::2])[: len(compared)]
    above = np.concatenate([np.zeros((len(count), 1), np.int64), np.cumsum(count, axis=1)], axis=1)
    names, ranks = [sample.names[code] for code in compared], above / above[:, -1:]
    rate = sample.decided
    return {
        "threshold": sample.threshold,
        "positive_label": sample.positive_label,
        "chosen_over": sample.chosen_over,
        "labelled": sample.y is not None,
        "suggestion": _suggestion(counts_above(pooled.tally, len(compared)), rate) if 0 < rate < 1 else None,
        "curve": Curve(names, compared.tolist(), ranks, tally.edges, count),
    }


def _compared(sample: Sample, sizes: NDArray[np.int64], min_group_size: int) -> NDArray[np.int64]:
    """Return the codes of the groups that are large enough.

    Raises:
        DataError: fewer than two are.
    """
    compared = np.flatnonzero(sizes >= min_group_size)
    if compared.size < 2:
        largest = np.argsort(-sizes, kind="stable")[:10]
        group_sizes = ", ".join(f"{sample.names[code]}: {sizes[code]}" for code in sorted(largest.tolist()))
        more = f", ... {len(sizes) - 10} more" if len(sizes) > 10 else ""
        raise DataError(
            f"groups: fewer than two groups have at least {min_group_size} rows ({group_sizes}{more}); add rows, merge "
            "groups, or lower the minimum group size"
        )
    if compared.size > MOST_GROUPS:
        pairs = compared.size * (compared.size - 1) // 2
        raise DataError(
            f"groups: {compared.size} groups have at least {min_group_size} rows, which makes {pairs:,} pairs; an "
            f"audit compares at most {MOST_GROUPS} groups; merge groups, or raise the minimum group size"
        )
    return compared


def check_settings(gates: Mapping[str, float], min_group_size: int, level: float) -> None:
    """Refuse settings that cannot be used.

    Raises:
        PluginError: a gate on an unknown metric; ConfigError: gates without names, or a number out of range.
    """
    metric_names = (*PARTIAL, *WHOLE, RATIO)
    if not isinstance(gates, Mapping):
        raise ConfigError(f"gates: {gates!r} names no metric; pass a limit by metric, for instance {{'sp': 0.1}}")
    numbers: dict[str, Any] = {"level": level, "minimum group size": min_group_size}
    numbers |= {f"gate on {name}": limit for name, limit in gates.items()}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ConfigError(f"{name}: {value!r} is no number")
    if not isinstance(min_group_size, Integral):
        raise ConfigError(f"minimum group size: {min_group_size!r} is no whole number")
    check_level(level)
    for name, limit in gates.items():
        if name not in metric_names:
            if name in QUALITY:
                raise PluginError(f"gate on {name}: it measures quality; a gate is on one of {', '.join(metric_names)}")
            raise PluginError(f"gate on unknown metric {name!r}; {did_you_mean(name, metric_names)}")
        if not 0 <= limit <= 1:
            raise ConfigError(f"gate on {name}: {limit} is no violation; use a number between 0 (parity) and 1")
    if min_group_size < 2:
        raise ConfigError(f"minimum group size: {min_group_size} is too small; use at least 2")


def _gate(name: str, limit: float, measurement: Measurement, lines: list[GroupLine]) -> Gate:
    """Compare a metric with its limit; a metric that is not estimable for some compared pair fails."""
    pair = None if measurement.pair is None else (lines[measurement.pair[0]].name, lines[measurement.pair[1]].name)
    small = [line.name for line in lines if line.reason]
    verb = "is" if len(small) == 1 else "are"
    note = f"{counted(len(small), 'group')} with few rows {verb} not compared: {', '.join(small[:5])}" if small else ""
    if measurement.value is None:
        return Gate(name, limit, None, False, f"not estimable: {measurement.reason}")
    if measurement.left_out:
        why = f"not estimable for {counted(measurement.left_out, 'pair')}: {measurement.reason}"
        return Gate(name, limit, measurement.value, False, why, pair)
    value = limit if abs(measurement.value - limit) <= ROUNDING else measurement.value
    return Gate(name, limit, value, value >= limit if name == RATIO else value <= limit, note, pair)


def _suggestion(counts: Counts, rate: float) -> Suggestion | None:
    """Return a suggested interval; ``None`` if no candidate keeps enough rows of every group."""
    try:
        return suggest_from_counts(counts, rate)
    except NotEstimableError:
        return None
