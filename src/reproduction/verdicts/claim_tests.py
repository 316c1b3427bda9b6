"""The tests that decide claims, in one registry; each claim gives one line of the scorecard per comparison.

Every test is one-sided, at half the error that the level of the intervals leaves (2.5% at 95%), corrected by Holm's
method for the lines of its family. A claim ``holds`` if its test says so, ``fails`` if the opposite is decided by the
same rule, and is ``undecided`` otherwise: then the line says which effect could have been seen.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from partialfair.data.intervals import format_interval
from reproduction.statistics.effect import Effect, holm
from reproduction.statistics.paired import increasing_trend
from reproduction.statistics.power import detectable_inside, detectable_together, seeds_inside, seeds_together
from reproduction.verdicts import look_levels, multiverse, samples
from reproduction.verdicts.claim import Claim, ComparisonSide, KnownNull
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import unreadable
from reproduction.verdicts.line import OTHER_WAY, Kind, Line
from reproduction.verdicts.sample import GridCell, MeasuredEffects, sign_of, weakest

_PValues = tuple[float, float]
"""P-values of the claim and of its opposite."""
_FALLS = 0.1
"""A curve that ends like ``x^-0.1`` or steeper counts as falling: a limit that it has not reached is then open."""


@dataclass(frozen=True)
class ClaimTest:
    """One way to test a claim.

    Attributes:
        title: its name in the scorecard.
        decide: p-values of the claim and of its opposite, from a sample and the margin.
        by_margin: whether a claim on deterministic runs holds, from the difference and the margin.
        compare: the sample of the method and one other side.
        measure: the only sample of a claim that has no other side; ``None`` where there is ``compare``.
    """

    title: str
    decide: Callable[[MeasuredEffects, float], _PValues]
    by_margin: Callable[[float, float], bool | None]
    compare: Callable[[Evidence[Any], Claim, GridCell, ComparisonSide], MeasuredEffects] | None = None
    measure: Callable[[Evidence[Any], Claim, GridCell], MeasuredEffects] | None = None


def _p_of_all(sample: MeasuredEffects, p: Callable[[Effect], float]) -> float:
    """Return the p-value of "not for all effects": 1 if one effect cannot be tested, NaN without effects."""
    # Intersection-union test (Berger 1982): p = max_k p_k, which needs no correction for the number of effects.
    values = [p(effect) for effect in sample.effects]
    return max((1.0 if math.isnan(value) else value for value in values), default=math.nan)


def _p_of_any(sample: MeasuredEffects, p: Callable[[Effect], float]) -> float:
    """Return the p-value of "for no effect"; NaN if none can be tested."""
    # Bonferroni: p = min(1, K min_k p_k) for K effects, those without a test counted.
    values = [value for effect in sample.effects if not math.isnan(value := p(effect))]
    return min(1.0, len(sample.effects) * min(values)) if values else math.nan


def _better(sample: MeasuredEffects, margin: float) -> _PValues:
    """Return the p-values of "every effect is above 0" and of its opposite, "some effect is below 0"."""
    return _p_of_all(sample, lambda e: e.p_above(0.0)), _p_of_any(sample, lambda e: e.p_below(0.0))


def _worse(sample: MeasuredEffects, margin: float) -> _PValues:
    """Return the p-values of "every effect is below 0" and of "some effect is above 0"."""
    return _p_of_all(sample, lambda e: e.p_below(0.0)), _p_of_any(sample, lambda e: e.p_above(0.0))


def _at_least(sample: MeasuredEffects, margin: float) -> _PValues:
    """Return the p-values of "every effect is above -margin" and of "some effect is below -margin"."""
    return _p_of_all(sample, lambda e: e.p_above(-margin)), _p_of_any(sample, lambda e: e.p_below(-margin))


def _similar(sample: MeasuredEffects, margin: float) -> _PValues:
    """Return the p-values of "every effect lies in (-margin, margin)" and of "some effect lies outside"."""
    # Two one-sided tests (Schuirmann 1987): p = max(P(d <= -m), P(d >= m)); the opposite takes twice the smaller tail.
    inside = _p_of_all(sample, lambda e: max(e.p_above(-margin), e.p_below(margin)))
    return inside, _p_of_any(sample, lambda e: min(1.0, 2 * min(e.p_below(-margin), e.p_above(margin))))


def _trend(sample: MeasuredEffects, margin: float) -> _PValues:
    """Return the p-values of a rise and of a fall: Page's test (1963); between two settings the paired t-test."""
    if sample.scores is None or not _is_trend(sample):
        return _better(sample, 0.0)
    return increasing_trend(sample.scores).p, increasing_trend(-sample.scores).p


def _single_better(difference: float, margin: float) -> bool | None:
    """Return whether a difference exceeds the margin; ``None`` if it lies within."""
    return True if difference > margin else False if difference < -margin else None


TESTS: Mapping[str, ClaimTest] = {
    "better": ClaimTest("better: one-sided t", _better, _single_better, samples.compare),
    "worse": ClaimTest("worse: one-sided t", _worse, lambda d, m: _single_better(-d, m), samples.compare),
    "at_least": ClaimTest("at least as good, to the margin", _at_least, lambda d, m: d >= -m, samples.compare),
    "similar": ClaimTest("similar: two one-sided t", _similar, lambda d, m: abs(d) <= m, samples.compare),
    "steadier": ClaimTest("steadier: one-sided t of spreads", _better, _single_better, samples.compare_spreads),
    "ordered": ClaimTest("ordered: one-sided t of every pair", _better, _single_better, measure=samples.compare_order),
    "monotone": ClaimTest("monotone: Page's trend test", _trend, _single_better, measure=samples.measure_trend),
    "bound": ClaimTest(
        "bound: one-sided t against it", _better, lambda d, m: d >= 0, measure=samples.compare_with_limit
    ),
    "rate": ClaimTest(
        "rate: one-sided t of slopes, to the margin", _at_least, lambda d, m: d >= -m, measure=samples.measure_rate
    ),
}


@dataclass(frozen=True)
class _Compared:
    """One comparison before its line is written.

    Attributes:
        claim, cell, side: what is compared, and where; the side is ``None`` of a claim that compares nothing.
        sample: the measured effects.
        p: p-values of the claim and of its opposite.
        nulls: by null model, whether it passes the test.
    """

    claim: Claim
    cell: GridCell
    sample: MeasuredEffects
    p: _PValues = (math.nan, math.nan)
    nulls: Mapping[str, bool] = field(default_factory=dict)
    side: ComparisonSide | None = None


@dataclass(frozen=True)
class DecidedComparison:
    """One comparison of a claim with its verdict under the main reading."""

    claim: Claim
    cell: GridCell
    side: ComparisonSide | None
    verdict: str


def comparisons(evidence: Evidence[Any], claims: Iterable[Claim]) -> Iterator[DecidedComparison]:
    """Yield the comparisons of claims with their verdicts, corrected within families; without their other readings."""
    for comparison, size in _corrected([each for claim in claims for each in _comparisons(evidence, claim)]):
        verdict = _line(evidence, comparison, size).verdict
        yield DecidedComparison(comparison.claim, comparison.cell, comparison.side, verdict)


def _corrected(comparisons: Sequence[_Compared]) -> list[tuple[_Compared, int]]:
    """Return comparisons with p-values corrected within families, each with the size of its family."""
    families: dict[tuple[str, str], list[int]] = {}  # numbers of the comparisons
    for number, comparison in enumerate(comparisons):
        families.setdefault(family_of(comparison.claim), []).append(number)
    corrected = [(comparison, 1) for comparison in comparisons]
    for members in families.values():
        # Holm (1979): the k-th smallest of m p-values is multiplied by m - k + 1, and made at least the one before it.
        sides = [holm([comparisons[k].p[side] for k in members]) for side in (0, 1)]
        tested = sum(not math.isnan(comparisons[k].p[0]) for k in members)
        for k, holds, fails in zip(members, *sides, strict=True):
            corrected[k] = replace(comparisons[k], p=(holds, fails)), max(tested, 1)
    return corrected


def lines(evidence: Evidence[Any], claims: Iterable[Claim]) -> Iterator[Line]:
    """Carry out the tests of claims; yield one line of the scorecard per comparison, corrected within families."""
    comparisons = [comparison for claim in claims for comparison in _comparisons(evidence, claim)]
    families: dict[tuple[str, str], list[int]] = {}  # numbers of the comparisons
    for number, comparison in enumerate(comparisons):
        families.setdefault(family_of(comparison.claim), []).append(number)
    decided = [_line(evidence, comparison, size) for comparison, size in _corrected(comparisons)]
    for members in families.values():
        readings = [_under_readings(evidence, comparisons[k]) for k in members]
        family = multiverse.Family(evidence, readings, [decided[k].verdict for k in members])
        for k, judgement in zip(members, family.judge(), strict=True):
            decided[k] = replace(decided[k], **judgement.columns)
    yield from decided


def _under_readings(evidence: Evidence[Any], comparison: _Compared) -> multiverse.ClaimComparison:
    """Return a comparison with the functions that test it under other readings of its claim."""
    test = TESTS[comparison.claim.test]

    def sample(claim: Claim, cell: GridCell) -> MeasuredEffects:
        if absent := _absent(evidence, claim):  # of a reading, on the page of an experiment alone
            return MeasuredEffects(reason=absent)
        if test.measure is not None:
            return test.measure(evidence, claim, cell)
        assert test.compare is not None and comparison.side is not None
        return test.compare(evidence, claim, cell, comparison.side)

    return multiverse.ClaimComparison(
        comparison.claim, comparison.cell, comparison.side, comparison.sample, test.decide, sample, test.by_margin
    )


def family_of(claim: Claim) -> tuple[str, str]:
    """Return the key of a claim's family: the claims with equal keys are corrected together."""
    return claim.kind, claim.family or claim.id


def _comparisons(evidence: Evidence[Any], claim: Claim) -> Iterator[_Compared]:
    """Yield the comparisons of a claim with uncorrected p-values; one without numbers where it cannot be decided."""
    no_cell = GridCell("", "")
    reason = (
        claim.absent
        or _absent(evidence, claim)
        or (unreadable(evidence.root, claim.table) if claim.table is not None else "")
    )
    if reason:
        yield _Compared(claim, no_cell, MeasuredEffects(reason=reason))
        return
    test, cells = TESTS[claim.test], list(samples.cells_of(evidence, claim))
    if not cells:
        yield _Compared(claim, no_cell, MeasuredEffects(reason="there are no results yet"))
    for cell in cells:
        compared = [(side, test.compare(evidence, claim, cell, side)) for side in claim.sides()] if test.compare else []
        for side, sample in [*compared, *([(None, test.measure(evidence, claim, cell))] if test.measure else [])]:
            stand_in = _stand_in(evidence, claim, cell)
            sample = replace(sample, reason=stand_in, dominance=0) if stand_in else sample
            decided = any(effect.tested for effect in sample.effects) and not sample.reason
            p = test.decide(sample, claim.margin_on(cell.dataset)) if decided else (math.nan, math.nan)
            p = (1.0, p[1]) if decided and sample.incomplete else p
            nulls = _nulls(evidence, claim, cell, test) if decided or _is_single_run(claim, sample) else {}
            yield _Compared(claim, cell, sample, p, nulls, side)


def _absent(evidence: Evidence[Any], claim: Claim) -> str:
    """Return which experiments of a claim the grid has not; empty if it has all."""
    absent = [name for name in claim.experiments if name not in evidence.config.experiments]
    return f"the grid has no experiment {', '.join(absent)}" if absent else ""


def _is_single_run(claim: Claim, sample: MeasuredEffects) -> bool:
    """Whether the margin decides, since each side is one deterministic run."""
    return claim.pairing == "single" and sample.average.n == 1 and not sample.reason


def _nulls(evidence: Evidence[Any], claim: Claim, cell: GridCell, test: ClaimTest) -> dict[str, bool]:
    """Return by null model whether it passes the claim's test, without correction; null models not run are left out."""
    passes: dict[str, bool] = {}
    alpha, margin = (1 - evidence.results.level) / 2, claim.margin_on(cell.dataset)
    if test.measure is None:
        return passes
    for null in claim.nulls:
        if isinstance(null, KnownNull):
            passes[null.name] = claim.limit is not None and sign_of(claim) * (null.value - claim.limit) >= 0
            continue
        side = ComparisonSide(method=null) if isinstance(null, str) else null
        method, kappa = side.method or claim.method, claim.kappa if side.kappa is None else side.kappa
        null_cell = GridCell(side.experiment or cell.experiment, cell.dataset)
        sample = test.measure(evidence, claim.model_copy(update={"method": method, "kappa": kappa}), null_cell)
        name = evidence.label(method) + (f" in {side.experiment}" if side.experiment else "")
        if _is_single_run(claim, sample):
            passes[name] = test.by_margin(sample.average.mean, margin) is True
        if sample.reason or not sample.average.tested:
            continue
        passes[name] = test.decide(sample, margin)[0] <= alpha
    return passes


def _stand_in(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> str:
    """Return why a claim is not decided on generated files in place of restricted data; empty if it is decided."""
    if claim.kind == "question" or claim.generated or not evidence.is_generated(cell.dataset):
        return ""
    return f"{cell.dataset} is generated here in place of the paper's data, and decides nothing"


def _line(evidence: Evidence[Any], comparison: _Compared, family_size: int) -> Line:
    """Return the line of a comparison whose p-values are corrected for a family of ``family_size`` tests."""
    claim, cell, sample, test = comparison.claim, comparison.cell, comparison.sample, TESTS[comparison.claim.test]
    margin, alpha = claim.margin_on(cell.dataset), (1 - evidence.results.level) / 2
    experiment = evidence.config.experiments.get(cell.experiment)
    run = experiment.runs.get(cell.dataset) if experiment is not None else None
    kind: Kind = "concession" if claim.concession else claim.kind
    head = Line(
        evidence.paper, claim.exhibit, cell.dataset, claim.method,
        experiment.constraint if experiment is not None else "",
        format_interval(run.interval) if run is not None else "",
        cell.experiment, sample.metric, claim.sentence, kind, claim.section, claim.id, sample.against,
        tolerance=margin or None, test=test.title, note=_note(claim, sample),
        power="" if not comparison.nulls else "no" if any(comparison.nulls.values()) else "yes",
        nulls="; ".join(f"{name} {'passes' if passes else 'fails'}" for name, passes in comparison.nulls.items()),
    )  # fmt: skip
    average = sample.average
    if sample.reason or not average.n:
        return _by_dominance(head, claim, sample)
    low, high = average.interval(evidence.results.level)
    measured = replace(head, reproduced=average.mean, ci_low=low, ci_high=high, n=average.n)
    if _is_single_run(claim, sample):
        holds = test.by_margin(average.mean, margin)
        if holds is False and sample.power < -_FALLS:
            holds = None
            horizon = f"still falls like {claim.table.x if claim.table else 'x'}^{sample.power:.2g} at its end"
            measured = replace(
                measured, note="; ".join(filter(None, [f"undecided at this horizon: it {horizon}", measured.note]))
            )
        title = f"{claim.test.replace('_', ' ')}: one deterministic run{', by the margin' if margin else ''}"
        verdict = {True: "holds", False: "fails", None: "undecided"}[holds]
        return replace(measured, verdict=verdict, test=title, detectable=margin if holds is None else None)
    if not average.tested:
        note = "; ".join(filter(None, ["one seed gives no test", measured.note]))
        return replace(measured, verdict="undecided", note=note)
    decisive = look_levels.alpha(evidence, claim, cell, comparison.side)
    verdict = "holds" if comparison.p[0] <= decisive else "fails" if comparison.p[1] <= decisive else "undecided"
    p_value = comparison.p[1] if verdict == "fails" else comparison.p[0]
    decided = replace(measured, verdict=verdict, statistic=_statistic(claim, sample, margin), p_value=p_value)
    return decided if verdict != "undecided" else _undecided(decided, claim, sample, margin, alpha / family_size)


def _by_dominance(head: Line, claim: Claim, sample: MeasuredEffects) -> Line:
    """Return the line of a comparison without numbers: decided if one side dominates the other, else not run."""
    direction = {"better": 1, "at_least": 1, "worse": -1}.get(claim.test, 0) * sample.dominance
    if direction == 0:
        return head
    power: Literal["", "no"] = "no" if sample.beaten_by else ""
    nulls = f"{sample.beaten_by} passes" if sample.beaten_by else ""
    return replace(head, verdict="dominated" if direction > 0 else "fails", power=power, nulls=nulls)


def _statistic(claim: Claim, sample: MeasuredEffects, margin: float) -> float | None:
    """Return the statistic behind the p-value: Page's L, or Student's t of the weakest effect against its bound."""
    if claim.test == "monotone" and _is_trend(sample):
        return increasing_trend(sample.scores).statistic if sample.scores is not None else None
    if claim.test == "similar":
        return min(min(e.statistic(-margin), -e.statistic(margin)) for e in sample.effects)
    sign = -1 if claim.test == "worse" else 1
    return weakest(sample.effects, sign).statistic(-margin if claim.test in ("at_least", "rate") else 0.0)


def _undecided(line: Line, claim: Claim, sample: MeasuredEffects, margin: float, alpha: float) -> Line:
    """Return the line with the smallest effect that could have been seen, and the seeds that a decision would take."""
    if claim.test == "monotone" and _is_trend(sample):
        return line
    if claim.test == "similar":
        largest = max(sample.effects, key=lambda effect: abs(effect.mean))
        seeds, detectable = seeds_inside(largest, margin, alpha), detectable_inside(largest, alpha)
        opposite = (
            None
            if seeds
            else replace(largest, mean=abs(largest.mean) - margin).seeds_for(abs(largest.mean) - margin, alpha / 2)
        )
    else:
        sign, shift = -1 if claim.test == "worse" else 1, margin if claim.test in ("at_least", "rate") else 0.0
        effects = [replace(effect, mean=sign * effect.mean + shift) for effect in sample.effects]
        seeds, detectable = (
            seeds_together(effects, sample.values, alpha),
            detectable_together(effects, sample.values, alpha),
        )
        weakest_effect = weakest(effects)
        opposite = None if seeds else weakest_effect.seeds_for(-weakest_effect.mean, alpha / len(effects))
    measured = replace(line, detectable=None if math.isnan(detectable) else detectable)
    if sample.incomplete:
        return replace(
            measured, note=f"{measured.note}; seeds alone cannot make it hold: some of its values are missing"
        )
    if seeds is None and opposite is not None:
        return replace(measured, seeds_needed=opposite, note=f"{measured.note}; {OTHER_WAY}")
    return replace(measured, seeds_needed=seeds)


def _is_trend(sample: MeasuredEffects) -> bool:
    """Whether Page's test decides: it needs at least two seeds and three settings."""
    return sample.scores is not None and sample.scores.shape[1] >= 3 and len(sample.scores) >= 2


def _note(claim: Claim, sample: MeasuredEffects) -> str:
    later = f"margin set after a first look at results: {claim.margin_later}" if claim.margin_later else ""
    return "; ".join(filter(None, [sample.reason, sample.note, claim.note, later]))
