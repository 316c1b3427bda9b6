"""The audit itself: rows in, result out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.measures import Measurement, measure
from partialfair.audit.result import AuditResult, Curve, Gate, GroupLine
from partialfair.audit.sample import Sample, build_sample
from partialfair.errors import ConfigError, DataError, NotEstimableError, PluginError
from partialfair.metrics.choose_interval import Suggestion, suggest_from_counts
from partialfair.metrics.ranks import Counts
from partialfair.metrics.uncertainty import check_level
from partialfair.plugins import did_you_mean
from partialfair.seeding import generator
from partialfair.tables.intervals import GroupPairs, bounds, for_groups, format_interval

MIN_GROUP_SIZE = 30
REPLICATES = 200
CURVE_COLUMNS = 2000


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
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
    source: str = "scores",
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
        interval: disjoint pairs of ranks (their union is audited), or one such list per group in sorted order of
            the groups. The whole range [0, 1] is always reported besides.
        threshold: decision threshold; by default 0.5 if all scores lie in [0, 1], else 0.
        positive: the label that counts as positive; by default the larger of the two.
        gates: largest allowed violation by metric name, for instance ``{"sp": 0.1}``.
        min_group_size: see above; at least 2.
        replicates: bootstrap resamples; 0 for no intervals.
        level: level of the intervals.
        seed: names the random stream of the bootstrap.
        source: what to call the data in the result.

    Raises:
        DataError: rows that cannot be audited; ConfigError or PluginError: settings that cannot be used.
    """
    check_settings(gates or {}, min_group_size, replicates, level)
    sample = build_sample(scores, groups, labels, threshold, positive)
    unions = for_groups(interval, len(sample.names))
    sizes = np.bincount(sample.group, minlength=len(sample.names))
    compared = _compared(sample, sizes, min_group_size)
    measured = measure(sample, unions, compared.tolist(), generator("audit", seed), replicates, level)
    return AuditResult(
        source=source,
        rows=len(sample.scores),
        interval=format_interval(interval),
        default_threshold=threshold is None,
        level=level,
        replicates=replicates,
        min_group_size=min_group_size,
        groups=_group_lines(sample, unions, sizes, min_group_size, measured.rates),
        measured=measured,
        gates=[_gate(name, limit, measured.overall[name]) for name, limit in (gates or {}).items()],
        unions=unions,
        **_of_sample(sample, compared),
    )


def _of_sample(sample: Sample, compared: NDArray[np.int64]) -> dict[str, Any]:
    """Entries of the result that depend on the rows and the groups compared alone."""
    return {
        "threshold": sample.threshold,
        "positive_label": sample.positive_label,
        "labelled": sample.y is not None,
        "suggestion": _suggestion(sample, compared),
        "curve": _curve(sample, compared),
    }


def _compared(sample: Sample, sizes: NDArray[np.int64], min_group_size: int) -> NDArray[np.int64]:
    """Return the codes of the groups that are large enough.

    Raises:
        DataError: fewer than two are.
    """
    compared = np.flatnonzero(sizes >= min_group_size)
    if compared.size < 2:
        found = ", ".join(f"{name}: {size}" for name, size in zip(sample.names, sizes, strict=True))
        raise DataError(
            f"groups: fewer than two have at least {min_group_size} rows ({found}); add rows, merge groups, or lower "
            "the minimum group size"
        )
    return compared


def check_settings(gates: Mapping[str, float], min_group_size: int, replicates: int, level: float) -> None:
    """Refuse settings that cannot be used.

    Raises:
        PluginError: a gate on an unknown metric; ConfigError: a number out of range.
    """
    from partialfair.audit.measures import PARTIAL, WHOLE

    check_level(level)
    for name, limit in gates.items():
        if name not in (*PARTIAL, *WHOLE):
            raise PluginError(f"gate on unknown metric {name!r}; {did_you_mean(name, (*PARTIAL, *WHOLE))}")
        if not 0 <= limit <= 1:
            raise ConfigError(f"gate on {name}: {limit} is no violation; use a number between 0 (parity) and 1")
    if min_group_size < 2:
        raise ConfigError(f"minimum group size: {min_group_size} is too small; use at least 2")
    if replicates == 1 or replicates < 0:
        raise ConfigError(
            f"bootstrap replicates: {replicates} is too few; use 0 for none, or at least 2 (200 is usual)"
        )


def _gate(name: str, limit: float, found: Measurement) -> Gate:
    """A gate holds if its metric is estimable and does not exceed the limit."""
    if found.value is None:
        return Gate(name, limit, None, False, f"not estimable: {found.reason}")
    return Gate(name, limit, found.value, found.value <= limit, found.reason)


def _group_lines(sample: Sample, unions: GroupPairs, sizes: Any, min_group_size: int, rates: Any) -> list[GroupLine]:
    """What there is to say of every group by itself."""
    lines = []
    right = None if sample.y is None else (sample.scores > sample.threshold) == (sample.y > 0)
    for code, name in enumerate(sample.names):
        member = sample.group == code
        size = int(sizes[code])
        reason = "" if size >= min_group_size else f"not compared: fewer than {min_group_size} rows"
        lines.append(
            GroupLine(
                name=name,
                rows=size,
                kept=int(np.diff(bounds(unions[code], size)).sum()),
                reason=reason,
                median_score=float(np.median(sample.scores[member])),
                positive_rate=rates[code],
                base_rate=None if sample.y is None else float(np.mean(sample.y[member] > 0)),
                accuracy=None if right is None else float(np.mean(right[member])),
            )
        )
    return lines


def _suggestion(sample: Sample, compared: Any) -> Suggestion | None:
    """A suggested interval; ``None`` if no candidate keeps enough rows of every group."""
    tally = sample.tally.binned(CURVE_COLUMNS * len(sample.names))
    count = (tally.count[0::2] + tally.count[1::2])[compared]
    above = np.cumsum(count, axis=1) - count
    rate = float(np.mean(sample.scores > sample.threshold))
    try:
        return suggest_from_counts(Counts(above, count.sum(axis=1)), rate)
    except NotEstimableError:
        return None


def _curve(sample: Sample, compared: Any) -> Curve:
    """Ranks and counts of every compared group at thinned scores, for the figures."""
    tally = sample.tally.binned(CURVE_COLUMNS * len(sample.names))
    count = (tally.count[0::2] + tally.count[1::2])[compared]
    above = np.concatenate([np.zeros((len(count), 1), np.int64), np.cumsum(count, axis=1)], axis=1)
    ranks = above / above[:, -1:]
    return Curve([sample.names[code] for code in compared], compared.tolist(), ranks, tally.edges, count)
