"""The tests that decide claims, in one registry; each claim gives one line of the scorecard per comparison.

Every test is one-sided, at half the error that the level of the intervals leaves (2.5% at 95%), corrected by Holm's
method for the lines of its family. A claim ``holds`` if its test says so, ``fails`` if the opposite is decided by the
same rule, and is ``undecided`` otherwise: then the line says which effect could have been seen.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from partialfair.tables.intervals import format_interval
from reproduction.statistics.effect import Effect, holm
from reproduction.statistics.paired import increasing_trend
from reproduction.statistics.power import detectable_inside, detectable_together, seeds_inside, seeds_together
from reproduction.verdicts import multiverse, samples
from reproduction.verdicts.claim import Claim, Known, Side
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import unreadable
from reproduction.verdicts.line import OTHER_WAY, Kind, Line
from reproduction.verdicts.sample import Place, Sample, sign_of, weakest

P = tuple[float, float]
"""P-values of the claim and of its opposite."""
FALLS = 0.1
"""Power of x from which on a curve counts as falling at its end: a limit that it has not reached is then open."""


@dataclass(frozen=True)
class Test:
    """How one test looks at a claim.

    Attributes:
        words: what the scorecard calls it.
        decide: p-values of the claim and of its opposite, from a sample and the margin.
        single: whether a claim on deterministic runs holds, from the difference and the margin.
        pairs: the sample of each other side; else ``whole`` gives the only one.
    """

    words: str
    decide: Callable[[Sample, float], P]
    single: Callable[[float, float], bool | None]
    pairs: Callable[[Evidence[Any], Claim, Place, Side], Sample] | None = None
    whole: Callable[[Evidence[Any], Claim, Place], Sample] | None = None


def _all(sample: Sample, p: Callable[[Effect], float]) -> float:
    """P-value of "not for all": the largest, an intersection-union test (Berger 1982); 1 if one cannot be tested."""
    found = [p(effect) for effect in sample.effects]
    return max((1.0 if math.isnan(value) else value for value in found), default=math.nan)


def _any(sample: Sample, p: Callable[[Effect], float]) -> float:
    """P-value of "for none": the smallest, corrected for their number (Bonferroni)."""
    found = [value for effect in sample.effects if not math.isnan(value := p(effect))]
    return min(1.0, len(sample.effects) * min(found)) if found else math.nan


def _better(sample: Sample, margin: float) -> P:
    """Above 0 everywhere; the opposite is that some effect is below it."""
    return _all(sample, lambda e: e.p_above(0.0)), _any(sample, lambda e: e.p_below(0.0))


def _worse(sample: Sample, margin: float) -> P:
    """Below 0 everywhere, and the opposite."""
    return _all(sample, lambda e: e.p_below(0.0)), _any(sample, lambda e: e.p_above(0.0))


def _at_least(sample: Sample, margin: float) -> P:
    """Above minus the margin everywhere."""
    return _all(sample, lambda e: e.p_above(-margin)), _any(sample, lambda e: e.p_below(-margin))


def _similar(sample: Sample, margin: float) -> P:
    """Within the margin on both sides (two one-sided tests, Schuirmann 1987)."""
    inside = _all(sample, lambda e: max(e.p_above(-margin), e.p_below(margin)))
    return inside, _any(sample, lambda e: min(1.0, 2 * min(e.p_below(-margin), e.p_above(margin))))


def _trend(sample: Sample, margin: float) -> P:
    """Page's test over seeds; of two settings, the paired difference."""
    if sample.scores is None or not _is_trend(sample):
        return _better(sample, 0.0)
    return increasing_trend(sample.scores).p, increasing_trend(-sample.scores).p


def _single_better(difference: float, margin: float) -> bool | None:
    return True if difference > margin else False if difference < -margin else None


TESTS: Mapping[str, Test] = {
    "better": Test("better: one-sided t", _better, _single_better, samples.compared),
    "worse": Test("worse: one-sided t", _worse, lambda d, m: _single_better(-d, m), samples.compared),
    "at_least": Test("at least as good, to the margin", _at_least, lambda d, m: d >= -m, samples.compared),
    "similar": Test("similar: two one-sided t", _similar, lambda d, m: abs(d) <= m, samples.compared),
    "steadier": Test("steadier: one-sided t of spreads", _better, _single_better, samples.steadiness),
    "ordered": Test("ordered: one-sided t of every pair", _better, _single_better, whole=samples.ordered),
    "monotone": Test("monotone: Page's trend test", _trend, _single_better, whole=samples.trend),
    "bound": Test("bound: one-sided t against it", _better, lambda d, m: d >= 0, whole=samples.bounded),
    "rate": Test("rate: one-sided t of slopes, to the margin", _at_least, lambda d, m: d >= -m, whole=samples.rate),
}


@dataclass(frozen=True)
class _Compared:
    """One comparison on its way to a line: where, what was found, its two p-values, and which nulls pass the test."""

    claim: Claim
    place: Place
    sample: Sample
    p: P = (math.nan, math.nan)
    nulls: Mapping[str, bool] = field(default_factory=dict)
    side: Side | None = None


def lines(evidence: Evidence[Any], claims: Iterable[Claim]) -> Iterator[Line]:
    """Carry out the tests of claims: one line of the scorecard per comparison, corrected within families."""
    found = [one for claim in claims for one in _comparisons(evidence, claim)]
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(found):
        families.setdefault(family_of(one.claim), []).append(place)
    corrected, size = list(found), [1] * len(found)
    for members in families.values():
        sides = [holm([found[k].p[side] for k in members]) for side in (0, 1)]
        tested = sum(not math.isnan(found[k].p[0]) for k in members)
        for k, holds, fails in zip(members, *sides, strict=True):
            corrected[k], size[k] = replace(found[k], p=(holds, fails)), max(tested, 1)
    decided = [_line(evidence, one, m) for one, m in zip(corrected, size, strict=True)]
    for members in families.values():
        same = [_under_readings(evidence, found[k]) for k in members]
        for k, said in zip(
            members, multiverse.Family(evidence, same, [decided[k].verdict for k in members]).said(), strict=True
        ):
            decided[k] = replace(decided[k], **said.columns)
    yield from decided


def _under_readings(evidence: Evidence[Any], one: _Compared) -> multiverse.Comparison:
    test = TESTS[one.claim.test]

    def sample(claim: Claim, place: Place) -> Sample:
        if test.whole is not None:
            return test.whole(evidence, claim, place)
        assert test.pairs is not None and one.side is not None
        return test.pairs(evidence, claim, place, one.side)

    return multiverse.Comparison(one.claim, one.place, one.side, one.sample, test.decide, sample, test.single)


def family_of(claim: Claim) -> tuple[str, str]:
    """What the claims that are corrected together have in common."""
    return claim.kind, claim.family or claim.id


def _comparisons(evidence: Evidence[Any], claim: Claim) -> Iterator[_Compared]:
    nowhere = Place("", "")
    absent = [name for name in claim.experiments if name not in evidence.config.experiments]
    missing = f"the grid has no experiment {', '.join(absent)}" if absent else ""
    reason = claim.absent or missing or (unreadable(evidence.root, claim.table) if claim.table is not None else "")
    if reason:
        yield _Compared(claim, nowhere, Sample(reason=reason))
        return
    test, where = TESTS[claim.test], list(samples.places(evidence, claim))
    if not where:
        yield _Compared(claim, nowhere, Sample(reason="there are no results yet"))
    for place in where:
        own = [(side, test.pairs(evidence, claim, place, side)) for side in claim.sides()] if test.pairs else []
        for side, sample in [*own, *([(None, test.whole(evidence, claim, place))] if test.whole else [])]:
            refused = _stand_in(evidence, claim, place)
            sample = replace(sample, reason=refused, dominance=0) if refused else sample
            decided = any(effect.tested for effect in sample.effects) and not sample.reason
            p = test.decide(sample, claim.margin_of(place.dataset)) if decided else (math.nan, math.nan)
            p = (1.0, p[1]) if decided and sample.incomplete else p
            nulls = _nulls(evidence, claim, place, test) if decided or _by_margin(claim, sample) else {}
            yield _Compared(claim, place, sample, p, nulls, side)


def _by_margin(claim: Claim, sample: Sample) -> bool:
    """Whether one deterministic run decides."""
    return claim.pairing == "single" and sample.average.n == 1 and not sample.reason


def _nulls(evidence: Evidence[Any], claim: Claim, place: Place, test: Test) -> dict[str, bool]:
    """Whether what a claim is not about passes its test, uncorrected."""
    found: dict[str, bool] = {}
    alpha, margin = (1 - evidence.results.level) / 2, claim.margin_of(place.dataset)
    if test.whole is None:
        return found
    for null in claim.nulls:
        if isinstance(null, Known):
            found[null.name] = claim.limit is not None and sign_of(claim) * (null.value - claim.limit) >= 0
            continue
        side = Side(method=null) if isinstance(null, str) else null
        method, kappa = side.method or claim.method, claim.kappa if side.kappa is None else side.kappa
        there = Place(side.experiment or place.experiment, place.dataset)
        sample = test.whole(evidence, claim.model_copy(update={"method": method, "kappa": kappa}), there)
        name = evidence.label(method) + (f" in {side.experiment}" if side.experiment else "")
        if _by_margin(claim, sample):
            found[name] = test.single(sample.average.mean, margin) is True
        if sample.reason or not sample.average.tested:
            continue
        found[name] = test.decide(sample, margin)[0] <= alpha
    return found


def _stand_in(evidence: Evidence[Any], claim: Claim, place: Place) -> str:
    """Why a claim is not decided on generated files that stand for data which may not be redistributed."""
    if claim.kind == "question" or claim.generated or not evidence.is_generated(place.dataset):
        return ""
    return f"{place.dataset} is generated here in place of the paper's data, and decides nothing"


def _line(evidence: Evidence[Any], one: _Compared, family: int) -> Line:
    claim, place, sample, test = one.claim, one.place, one.sample, TESTS[one.claim.test]
    margin, alpha = claim.margin_of(place.dataset), (1 - evidence.results.level) / 2
    experiment = evidence.config.experiments.get(place.experiment)
    run = experiment.runs.get(place.dataset) if experiment is not None else None
    kind: Kind = "concession" if claim.concession else claim.kind
    head = Line(
        evidence.paper, claim.exhibit, place.dataset, claim.method,
        experiment.constraint if experiment is not None else "",
        format_interval(run.interval) if run is not None else "",
        place.experiment, sample.metric, claim.sentence, kind, claim.section, claim.id, sample.against,
        tolerance=margin or None, test=test.words, note=_note(claim, sample),
        power="" if not one.nulls else "no" if any(one.nulls.values()) else "yes",
        nulls="; ".join(f"{name} {'passes' if passes else 'fails'}" for name, passes in one.nulls.items()),
    )  # fmt: skip
    shown = sample.average
    if sample.reason or not shown.n:
        return _by_dominance(head, claim, sample)
    low, high = shown.interval(evidence.results.level)
    measured = replace(head, reproduced=shown.mean, ci_low=low, ci_high=high, n=shown.n)
    if _by_margin(claim, sample):
        holds = test.single(shown.mean, margin)
        if holds is False and sample.power < -FALLS:
            holds = None
            horizon = f"still falls like {claim.table.x if claim.table else 'x'}^{sample.power:.2g} at its end"
            measured = replace(
                measured, note="; ".join(filter(None, [f"undecided at this horizon: it {horizon}", measured.note]))
            )
        words = f"{claim.test.replace('_', ' ')}: one deterministic run{', by the margin' if margin else ''}"
        verdict = {True: "holds", False: "fails", None: "undecided"}[holds]
        return replace(measured, verdict=verdict, test=words, detectable=margin if holds is None else None)
    if not shown.tested:
        note = "; ".join(filter(None, ["one seed gives no test", measured.note]))
        return replace(measured, verdict="undecided", note=note)
    verdict = "holds" if one.p[0] <= alpha else "fails" if one.p[1] <= alpha else "undecided"
    p_value = one.p[1] if verdict == "fails" else one.p[0]
    decided = replace(measured, verdict=verdict, statistic=_statistic(claim, sample, margin), p_value=p_value)
    return decided if verdict != "undecided" else _undecided(decided, claim, sample, margin, alpha / family)


def _by_dominance(head: Line, claim: Claim, sample: Sample) -> Line:
    """A comparison without numbers: decided if one side's models beat all of the other's, and not run otherwise."""
    direction = {"better": 1, "at_least": 1, "worse": -1}.get(claim.test, 0) * sample.dominance
    if direction == 0:
        return head
    power: Literal["", "no"] = "no" if sample.beaten_by else ""
    nulls = f"{sample.beaten_by} passes" if sample.beaten_by else ""
    return replace(head, verdict="dominated" if direction > 0 else "fails", power=power, nulls=nulls)


def _statistic(claim: Claim, sample: Sample, margin: float) -> float | None:
    """The statistic behind the p-value: Page's L, or Student's t of the weakest effect against what it has to pass."""
    if claim.test == "monotone" and _is_trend(sample):
        return increasing_trend(sample.scores).statistic if sample.scores is not None else None
    if claim.test == "similar":
        return min(min(e.statistic(-margin), -e.statistic(margin)) for e in sample.effects)
    sign = -1 if claim.test == "worse" else 1
    return weakest(sample.effects, sign).statistic(-margin if claim.test in ("at_least", "rate") else 0.0)


def _undecided(line: Line, claim: Claim, sample: Sample, margin: float, alpha: float) -> Line:
    """The line with what could have been seen, and the number of seeds that a decision would take."""
    if claim.test == "monotone" and _is_trend(sample):
        return line
    if claim.test == "similar":
        most = max(sample.effects, key=lambda effect: abs(effect.mean))
        seeds, known = seeds_inside(most, margin, alpha), detectable_inside(most, alpha)
        opposite = (
            None if seeds else replace(most, mean=abs(most.mean) - margin).seeds_for(abs(most.mean) - margin, alpha / 2)
        )
    else:
        sign, shift = -1 if claim.test == "worse" else 1, margin if claim.test in ("at_least", "rate") else 0.0
        effects = [replace(effect, mean=sign * effect.mean + shift) for effect in sample.effects]
        seeds, known = seeds_together(effects, sample.values, alpha), detectable_together(effects, sample.values, alpha)
        least = weakest(effects)
        opposite = None if seeds else least.seeds_for(-least.mean, alpha / len(effects))
    found = replace(line, detectable=None if math.isnan(known) else known)
    if sample.incomplete:
        return replace(found, note=f"{found.note}; seeds alone cannot make it hold: some of its values are missing")
    if seeds is None and opposite is not None:
        return replace(found, seeds_needed=opposite, note=f"{found.note}; {OTHER_WAY}")
    return replace(found, seeds_needed=seeds)


def _is_trend(sample: Sample) -> bool:
    """Whether Page's test decides: it needs two seeds and three settings."""
    return sample.scores is not None and sample.scores.shape[1] >= 3 and len(sample.scores) >= 2


def _note(claim: Claim, sample: Sample) -> str:
    later = f"margin set after a first look at results: {claim.margin_later}" if claim.margin_later else ""
    return "; ".join(filter(None, [sample.reason, sample.note, claim.note, later]))
