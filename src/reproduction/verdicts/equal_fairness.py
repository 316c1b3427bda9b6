"""Comparison of two methods at equal fairness, seed by seed, at the levels around which both were trained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.grid.tidy import at_share
from reproduction.statistics.effect import mean_effect
from reproduction.statistics.frontier import FAR, Points, common_range, covered
from reproduction.verdicts import frontiers
from reproduction.verdicts.claim import Claim, ComparisonSide, EqualFairness
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.sample import (
    GridCell,
    MeasuredEffects,
    metric_values,
    name_of,
    note_missing_seeds,
    sign_of,
    weakest,
)

_NARROW = 0.01
"""Levels of fairness that all lie within this width say nothing of a range, and a line with such levels says so."""


def at_equal(
    evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide, label: str
) -> MeasuredEffects:
    """Measure the advantage at levels of fairness inside the range in which both sides were trained."""
    equal = claim.at_equal
    assert equal is not None
    violation = _violation(evidence, claim, cell)
    name = f"{name_of(claim)} at equal 1 - {violation}"
    method_points, side_points = _models(evidence, claim, cell, side)
    pairs = _pairs_of(method_points, side_points)
    seeds = list(pairs)
    if not seeds:
        sides = [
            frontiers.TrainedMethod(compared_side.experiment or cell.experiment, compared_side.method or claim.method)
            for compared_side in (ComparisonSide(method=claim.method), side)
        ]
        absent = [name for name, points in zip(sides, (method_points, side_points), strict=True) if not points]
        reasons = [frontiers.missing(evidence, name, cell.dataset) for name in absent]
        return MeasuredEffects(against=label, metric=name, reason="; ".join(reasons) or "no seed has models of both")
    asked_levels, levels, gains = advantage(equal, list(pairs.values()))
    ends = [_range_words(points, seeds) for points in (method_points, side_points)]
    ranges = f"trained at a fairness of {ends[0]}, the other side {ends[1]}"
    if not len(asked_levels):
        empty = MeasuredEffects(against=label, metric=name, note=ranges)
        return _without_levels(evidence, claim, cell, side, seeds, list(pairs.values()), empty)
    if not len(levels):
        span = f"from {asked_levels[0]:.3f} to {asked_levels[-1]:.3f}"
        reason = f"at no level {span} are there models of both, {FAR:g} apart at most, on either side"
        return MeasuredEffects(against=label, metric=name, reason=f"{reason}: {ranges}")
    effects = tuple(mean_effect(gains[:, k]) for k in range(len(levels)))
    average = mean_effect(np.nanmean(gains, axis=1))
    note = f"{_levels_words(levels, len(asked_levels))}; {ranges}"
    if not equal.every or len(levels) == 1:
        measured = MeasuredEffects((average,) if not equal.every else effects, average, label, name, note)
        return note_missing_seeds(evidence, claim, cell, [side], measured, len(seeds))
    sign = -1 if claim.test == "worse" else 1
    weakest_level = [*effects].index(weakest(effects, sign))
    note = f"weakest at a fairness of {levels[weakest_level]:.3f}; mean over all levels {average.mean:+.4f}; {note}"
    measured = MeasuredEffects(effects, effects[weakest_level], label, name, note, values=gains)
    return note_missing_seeds(evidence, claim, cell, [side], measured, len(seeds))


def _models(
    evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide
) -> tuple[dict[int, Points], dict[int, Points]]:
    """Return the models of the claim's method and of the other side, by seed."""
    violation = _violation(evidence, claim, cell)
    method_points, side_points = (
        _points(evidence, claim, cell, compared_side, violation)
        for compared_side in (ComparisonSide(method=claim.method), side)
    )
    return method_points, side_points


def _pairs_of(
    method_points: Mapping[int, Points], side_points: Mapping[int, Points]
) -> dict[int, tuple[Points, Points]]:
    """Return the models of both sides at the seeds that both have."""
    return {
        seed: (method_points[seed], side_points[seed]) for seed in sorted(method_points.keys() & side_points.keys())
    }


def paired_models(
    evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide
) -> dict[int, tuple[Points, Points]]:
    """Return the models of both sides as points (fairness, number) by seed, at the seeds that both have."""
    return _pairs_of(*_models(evidence, claim, cell, side))


def advantage(
    equal: EqualFairness, pairs: Sequence[tuple[Points, Points]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the levels asked for (m,), those around which both were trained (k,), and the lead there (seeds, k)."""
    asked_levels = _levels(equal, *common_range(pairs))
    if not len(asked_levels):
        return asked_levels, asked_levels, np.empty((len(pairs), 0))
    return (asked_levels, *covered(asked_levels, pairs))


def _levels_words(levels: NDArray[np.float64], n_asked: int) -> str:
    """Return in words which levels of fairness were compared, of how many that were asked for."""
    span = f" from {levels[0]:.3f} to {levels[-1]:.3f}" if len(levels) > 1 else f", {levels[0]:.3f}"
    left_out = (
        f", of {n_asked}; around the other levels, models lie more than {FAR:g} apart" if len(levels) < n_asked else ""
    )
    narrow = ", which is one place rather than a range" if len(levels) > 1 and levels[-1] - levels[0] < _NARROW else ""
    return f"compared at {len(levels)} level{'s' * (len(levels) > 1)} of fairness{span}{narrow}{left_out}"


def _without_levels(
    evidence: Evidence[Any],
    claim: Claim,
    cell: GridCell,
    side: ComparisonSide,
    seeds: Sequence[int],
    pairs: Sequence[tuple[Points, Points]],
    empty: MeasuredEffects,
) -> MeasuredEffects:
    """Return a comparison without a level: where the methods share no range of fairness, one may dominate the other.

    It has to dominate at each of n seeds, and n has to be so large that the sign test's p-value 2^-n does not exceed
    the error of the other tests.
    """
    ranges = empty.note
    low, high = common_range(pairs)
    apart, chance = low > high, 2.0 ** -len(pairs)
    empty = note_missing_seeds(evidence, claim, cell, [side], empty, len(pairs))
    if apart and (empty.incomplete or chance > (1 - evidence.results.level) / 2):
        reason = (
            f"no level of fairness at which both were trained, and too few seeds to tell which is ahead: {len(pairs)}"
        )
        return replace(empty, reason=f"{reason}; {empty.note}", note="")
    if apart and all(_beaten(side_points, method_points) for method_points, side_points in pairs):
        start = _points(evidence, claim, cell, ComparisonSide(method=claim.start), _violation(evidence, claim, cell))
        start_points = [start[seed] for seed in seeds if seed in start]
        trivial = len(start_points) == len(pairs) and all(
            _beaten(side_points, start_model) for start_model, (_, side_points) in zip(start_points, pairs, strict=True)
        )
        null = evidence.label(claim.start) if trivial else ""
        return replace(empty, reason=f"every model is beaten; {ranges}", note="", dominance=1, beaten_by=null)
    if apart and all(_beaten(method_points, side_points) for method_points, side_points in pairs):
        return replace(empty, reason=f"every model of the method is beaten; {ranges}", note="", dominance=-1)
    where = f"no level of fairness {_cut(claim)}at which both were trained"
    return replace(empty, reason=f"{where}: {ranges}", note="")


def _cut(claim: Claim) -> str:
    """Return in words the range of the fairness axis that a claim is about; empty if it is the whole axis."""
    equal = claim.at_equal
    assert equal is not None
    bounds = [f"of {equal.fairer_than:g} or more"] if equal.fairer_than > 0 else []
    bounds += [f"below {equal.less_fair_than:g}"] if equal.less_fair_than < 1 else []
    return "".join(f"{bound} " for bound in bounds)


def _points(
    evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide, violation: str
) -> dict[int, Points]:
    """Return (1 - violation, signed number) of a side's models by seed, as two vectors."""
    assert claim.at_equal is not None
    pair = frontiers.TrainedMethod(side.experiment or cell.experiment, side.method or claim.method)
    ending = at_share(claim.at_equal.share) if claim.at_equal.share < 1 else ""
    partial = claim.model_copy(update={"metric": f"{claim.metric}{ending}"})
    models: dict[int, list[tuple[float, float]]] = {}
    for setting in frontiers.trained(evidence, pair, cell.dataset):
        # A method without steps has no model after a share of its work, and is compared as it is.
        gaps = evidence.values(setting, f"{violation}{ending}", claim.rows)
        is_whole_run = ending and all(math.isnan(gap) for gap in gaps.values())
        number = metric_values(evidence, claim if is_whole_run else partial, setting)
        for seed, gap in (evidence.values(setting, violation, claim.rows) if is_whole_run else gaps).items():
            if not math.isnan(gap) and seed in number:
                models.setdefault(seed, []).append((1 - gap, sign_of(claim) * number[seed]))
    return {seed: (np.array(points)[:, 0], np.array(points)[:, 1]) for seed, points in models.items()}


def _range_words(points: Mapping[int, Points], seeds: list[int]) -> str:
    """Return in words the range of fairness of a side's models, each end the median over seeds."""
    low, high = (float(np.median([pick(points[s][0]) for s in seeds])) for pick in (np.min, np.max))
    return f"{low:.3f} to {high:.3f}"


def _levels(equal: EqualFairness, low: float, high: float) -> NDArray[np.float64]:
    """Return the levels of fairness that a claim asks for inside a range."""
    low, high = max(low, equal.fairer_than), min(high, equal.less_fair_than)
    low, high = low + equal.inner * (high - low), high - equal.inner * (high - low)
    if isinstance(equal.levels, int):
        return np.linspace(low, high, equal.levels) if low < high else np.empty(0)
    levels = np.sort(1 - np.array(equal.levels, np.float64))
    return levels[(levels >= low - 1e-12) & (levels <= high + 1e-12)]


def _beaten(points: Points, rivals: Points) -> bool:
    """Whether every point is dominated by some rival: at least as good in both respects, and better in one."""
    fair, good = rivals
    return all(
        bool(np.any((fair >= f) & (good >= g) & ((fair > f) | (good > g)))) for f, g in zip(*points, strict=True)
    )


def _violation(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> str:
    """Return the name of the violation that is held equal."""
    assert claim.at_equal is not None
    return claim.at_equal.metric or frontiers.metric_of(evidence, cell.experiment)
