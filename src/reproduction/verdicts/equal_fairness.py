"""Two methods at equal fairness, seed by seed, at the levels around which both were trained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.effect import mean_effect
from reproduction.statistics.frontier import FAR, Points, common_range, covered
from reproduction.verdicts import frontiers
from reproduction.verdicts.claim import Claim, Equal, Side
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.sample import Place, Sample, lacking, metric_values, name_of, sign_of, weakest

NARROW = 0.01
"""Levels of fairness that all lie within this say nothing of a range, and a line with such levels says so."""


def at_equal(evidence: Evidence[Any], claim: Claim, place: Place, side: Side, label: str) -> Sample:
    """Advantage at levels of fairness inside the range in which both sides were trained."""
    equal = claim.at_equal
    assert equal is not None
    violation = _violation(evidence, claim, place)
    name = f"{name_of(claim)} at equal 1 - {violation}"
    one, two = _both(evidence, claim, place, side)
    pairs = pairs_of(one, two)
    seeds = list(pairs)
    if not seeds:
        sides = [
            frontiers.Side(which.experiment or place.experiment, which.method or claim.method)
            for which in (Side(method=claim.method), side)
        ]
        absent = [name for name, points in zip(sides, (one, two), strict=True) if not points]
        reasons = [frontiers.missing(evidence, name, place.dataset) for name in absent]
        return Sample(against=label, metric=name, reason="; ".join(reasons) or "no seed has models of both")
    wanted, levels, gains = advantage(equal, list(pairs.values()))
    words = f"trained at {_range_words(one, seeds)} and at {_range_words(two, seeds)}"
    if not len(wanted):
        empty = Sample(against=label, metric=name, note=words)
        return _without_levels(evidence, claim, place, side, seeds, list(pairs.values()), empty)
    if not len(levels):
        span = f"from {wanted[0]:.3f} to {wanted[-1]:.3f}"
        reason = f"at no level {span} are there models of both, {FAR:g} apart at most, on either side"
        return Sample(against=label, metric=name, reason=f"{reason}: {words}")
    effects = tuple(mean_effect(gains[:, k]) for k in range(len(levels)))
    average = mean_effect(np.nanmean(gains, axis=1))
    note = f"{_levels_words(levels, len(wanted))}; {words}"
    if not equal.every or len(levels) == 1:
        found = Sample((average,) if not equal.every else effects, average, label, name, note)
        return lacking(evidence, claim, place, [side], found, len(seeds))
    sign = -1 if claim.test == "worse" else 1
    place_of = [*effects].index(weakest(effects, sign))
    note = f"at the weakest level, {levels[place_of]:.3f}; mean over all {average.mean:+.4f}; {note}"
    found = Sample(effects, effects[place_of], label, name, note, values=gains)
    return lacking(evidence, claim, place, [side], found, len(seeds))


def _both(
    evidence: Evidence[Any], claim: Claim, place: Place, side: Side
) -> tuple[dict[int, Points], dict[int, Points]]:
    """Models of the claim's method and of the other side, by seed."""
    violation = _violation(evidence, claim, place)
    one, two = (_points(evidence, claim, place, which, violation) for which in (Side(method=claim.method), side))
    return one, two


def pairs_of(one: Mapping[int, Points], two: Mapping[int, Points]) -> dict[int, tuple[Points, Points]]:
    """Models of both sides at the seeds that both have."""
    return {seed: (one[seed], two[seed]) for seed in sorted(one.keys() & two.keys())}


def paired_models(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> dict[int, tuple[Points, Points]]:
    """Models of the claim's method and of the other side as points of fairness and number, at the seeds of both."""
    return pairs_of(*_both(evidence, claim, place, side))


def advantage(
    equal: Equal, pairs: Sequence[tuple[Points, Points]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Levels that are asked for, (m,), those around which both were trained, (k,), and the lead there, (seeds, k)."""
    wanted = _levels(equal, *common_range(pairs))
    if not len(wanted):
        return wanted, wanted, np.empty((len(pairs), 0))
    return (wanted, *covered(wanted, pairs))


def _levels_words(levels: NDArray[np.float64], wanted: int) -> str:
    """Which levels of fairness were compared, of how many."""
    span = f" from {levels[0]:.3f} to {levels[-1]:.3f}" if len(levels) > 1 else f", {levels[0]:.3f}"
    left_out = f", of {wanted}; around the others models lie more than {FAR:g} apart" if len(levels) < wanted else ""
    narrow = ", which is one place rather than a range" if len(levels) > 1 and levels[-1] - levels[0] < NARROW else ""
    return f"{len(levels)} level{'s' * (len(levels) > 1)} of fairness{span}{narrow}{left_out}"


def _without_levels(
    evidence: Evidence[Any],
    claim: Claim,
    place: Place,
    side: Side,
    seeds: Sequence[int],
    pairs: Sequence[tuple[Points, Points]],
    empty: Sample,
) -> Sample:
    """A comparison without a level: where the methods share no range of fairness, one may dominate the other.

    It has to at every seed, and at so many that a coin would not: 2^-n is below the error of the other tests.
    """
    words = empty.note
    low, high = common_range(pairs)
    apart, chance = low > high, 2.0 ** -len(pairs)
    empty = lacking(evidence, claim, place, [side], empty, len(pairs))
    if apart and (empty.incomplete or chance > (1 - evidence.results.level) / 2):
        few = f"no level of fairness at which both were trained, and too few seeds to tell which is ahead: {len(pairs)}"
        return replace(empty, reason=f"{few}; {empty.note}", note="")
    if apart and all(_beaten(two, one) for one, two in pairs):
        start = _points(evidence, claim, place, Side(method=claim.start), _violation(evidence, claim, place))
        by = [start[seed] for seed in seeds if seed in start]
        trivial = len(by) == len(pairs) and all(_beaten(two, one) for one, (_, two) in zip(by, pairs, strict=True))
        null = evidence.label(claim.start) if trivial else ""
        return replace(empty, reason=f"every model is beaten; {words}", note="", dominance=1, beaten_by=null)
    if apart and all(_beaten(one, two) for one, two in pairs):
        return replace(empty, reason=f"every model of the method is beaten; {words}", note="", dominance=-1)
    where = f"no level of fairness {_cut(claim)}at which both were trained"
    return replace(empty, reason=f"{where}: {words}", note="")


def _cut(claim: Claim) -> str:
    """The part of the fairness axis that a claim speaks of, in words; empty if it is all of it."""
    equal = claim.at_equal
    assert equal is not None
    parts = [f"of {equal.fairer_than:g} or more"] if equal.fairer_than > 0 else []
    parts += [f"below {equal.less_fair_than:g}"] if equal.less_fair_than < 1 else []
    return "".join(f"{part} " for part in parts)


def _points(evidence: Evidence[Any], claim: Claim, place: Place, side: Side, violation: str) -> dict[int, Points]:
    """(1 - violation, signed number) of a side's models by seed."""
    pair = frontiers.Side(side.experiment or place.experiment, side.method or claim.method)
    models: dict[int, list[tuple[float, float]]] = {}
    for setting in frontiers.trained(evidence, pair, place.dataset):
        number = metric_values(evidence, claim, setting)
        for seed, gap in evidence.values(setting, violation, claim.rows).items():
            if not math.isnan(gap) and seed in number:
                models.setdefault(seed, []).append((1 - gap, sign_of(claim) * number[seed]))
    return {seed: (np.array(own)[:, 0], np.array(own)[:, 1]) for seed, own in models.items()}


def _range_words(points: Mapping[int, Points], seeds: list[int]) -> str:
    """Range of fairness of a side's models, median over seeds."""
    low, high = (float(np.median([pick(points[s][0]) for s in seeds])) for pick in (np.min, np.max))
    return f"{low:.3f} to {high:.3f}"


def _levels(equal: Equal, low: float, high: float) -> NDArray[np.float64]:
    """Levels of fairness inside a range."""
    low, high = max(low, equal.fairer_than), min(high, equal.less_fair_than)
    low, high = low + equal.inner * (high - low), high - equal.inner * (high - low)
    if isinstance(equal.levels, int):
        return np.linspace(low, high, equal.levels) if low < high else np.empty(0)
    wanted = np.sort(1 - np.array(equal.levels, np.float64))
    return wanted[(wanted >= low - 1e-12) & (wanted <= high + 1e-12)]


def _beaten(points: Points, by: Points) -> bool:
    """Whether each point is reached in both respects, and surpassed in one, by some point of the others."""
    fair, good = by
    return all(
        bool(np.any((fair >= f) & (good >= g) & ((fair > f) | (good > g)))) for f, g in zip(*points, strict=True)
    )


def _violation(evidence: Evidence[Any], claim: Claim, place: Place) -> str:
    """The violation that is held equal."""
    assert claim.at_equal is not None
    return claim.at_equal.metric or frontiers.metric_of(evidence, place.experiment)
