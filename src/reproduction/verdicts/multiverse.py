"""Every comparison of some claims under all their readings, corrected within families, with and without each seed.

A reading of a family is one option of every choice for each of its claims: readings of the same place correspond.
Holm's correction is taken per family and reading, for no fewer tests than the family has under its main reading: a
reading under which comparisons drop out decides nothing by that.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reproduction.datasets.named import named_dataset
from reproduction.statistics.effect import Effect, holm, mean_effect
from reproduction.statistics.frontier import COVERED, Points
from reproduction.verdicts import equal_fairness, letters
from reproduction.verdicts.claim import Claim, Equal, Side
from reproduction.verdicts.declared_readings import replaced
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.letters import Word
from reproduction.verdicts.line import AS_ROBUST
from reproduction.verdicts.sample import Place, Sample, name_of

Pairs = Mapping[int, tuple[Points, Points]]
NONE = math.nan
DIRECTION = {"better": 1, "worse": -1}


@dataclass(frozen=True)
class Test:
    """P-values of one reading of one comparison, NaN where nothing can be compared.

    Attributes:
        holds, fails: of the claim, and of its opposite.
        above, below: of a difference beyond the margin that matters, for the claim and against it.
        alike: of a difference within that margin.
    """

    holds: float = NONE
    fails: float = NONE
    above: float = NONE
    below: float = NONE
    alike: float = NONE


@dataclass(frozen=True)
class Comparison:
    """One comparison of a claim with what its readings need.

    Attributes:
        claim, place, side: what is compared, and where; the side is ``None`` of a claim that compares nothing.
        main: what the claim's own entry found.
        decide: p-values of a claim from a sample and the margin.
        sample: the sample of the claim as it stands under another reading.
        single: the answer of deterministic runs, from difference and margin.
    """

    claim: Claim
    place: Place
    side: Side | None
    main: Sample
    decide: Callable[[Sample, float], tuple[float, float]]
    sample: Callable[[Claim, Place], Sample]
    single: Callable[[float, float], bool | None]


@dataclass(frozen=True)
class Said:
    """What one comparison says under all readings: columns of a line of the scorecard, by name."""

    word: Word
    columns: dict[str, Any] = field(default_factory=dict)


class Family:
    """The comparisons that are corrected together, under all readings."""

    def __init__(self, evidence: Evidence[Any], members: Sequence[Comparison], verdicts: Sequence[str]) -> None:
        self.evidence, self.members, self.verdicts = evidence, members, verdicts
        self.alpha = (1 - evidence.results.level) / 2
        self._pairs = [self._paired(one) for one in members]
        self.count = max((len(one.claim.readings.every()) for one in members if one.claim.readings), default=1)

    def said(self) -> list[Said]:
        """What each comparison says."""
        every = self._tests(None)
        spelt = self._letters(every)
        words = self._words(every, spelt)
        seeds = sorted({seed for pairs in self._pairs for seed in pairs})
        read = any(pairs and one.claim.readings for one, pairs in zip(self.members, self._pairs, strict=True))
        without = [self._words(*self._both({*seeds} - {seed})) for seed in seeds] if read and len(seeds) > 2 else []
        fresh = [spelling[0] for spelling in self._letters(self._tests(None, widened=True, main_only=True))]
        outcomes = []
        for k, one in enumerate(self.members):
            alone = [words_without[k] for words_without in without] if self._pairs[k] else []
            said, flips = letters.with_seeds(words[k], alone)
            columns: dict[str, Any] = {"robust": said.word, "depends_on": ", ".join(said.depends_on)}
            if said.leans:
                columns["depends_on"] = f"leans {said.leans}"
            if one.claim.readings is not None and spelt[k][0] != "x":
                names = one.claim.readings.names()
                columns["letters"] = letters.written(spelt[k], len(list(names.values())[-1]))
                columns["by_option"] = letters.by_option(spelt[k], names)
                if alone:
                    columns["seeds_flip"] = f"{flips} of {len(alone)}"
            if said.word in (letters.HOLDS, letters.FAILS) and self._pairs[k] and spelt[k][0] in "HF":
                columns["grade"] = "" if fresh[k] == spelt[k][0] else "*"
            outcomes.append(Said(said, columns | self._lead(k)))
        return self._together(outcomes, spelt)

    def _both(self, seeds: set[int]) -> tuple[list[list[Test]], list[list[str]]]:
        tests = self._tests(seeds)
        return tests, self._letters(tests)

    def _paired(self, one: Comparison) -> Pairs:
        """Models of both sides by seed; none of a claim without readings at equal fairness."""
        if one.claim.at_equal is None or one.side is None or one.main.reason:
            return {}
        return equal_fairness.paired_models(self.evidence, one.claim, one.place, one.side)

    def _tests(self, seeds: set[int] | None, widened: bool = False, main_only: bool = False) -> list[list[Test]]:
        """P-values by comparison and reading; a comparison with fewer readings has its main one in their place."""
        spellings = []
        for k, one in enumerate(self.members):
            every = one.claim.readings.every() if one.claim.readings is not None else [()]
            spelling = [
                self._test(k, replaced(one.claim, reading), seeds, widened)
                for reading in (every[:1] if main_only else every)
            ]
            spellings.append(spelling + [spelling[0]] * ((1 if main_only else self.count) - len(spelling)))
        return spellings

    def _test(self, k: int, claim: Claim, seeds: set[int] | None, widened: bool) -> Test:
        one = self.members[k]
        if one.main.reason:
            return Test()
        if claim.at_equal is not None and one.side is not None and claim.experiments == one.claim.experiments:
            return self._at_equal(k, claim, claim.at_equal, seeds, widened)
        place = one.place
        if claim.experiments != one.claim.experiments and claim.experiments:
            place = Place(claim.experiments[0], place.dataset)
        sample = one.main if claim == one.claim else one.sample(claim, place)
        return self._of_sample(one, claim, sample)

    def _at_equal(self, k: int, claim: Claim, equal: Equal, seeds: set[int] | None, widened: bool) -> Test:
        one = self.members[k]
        pairs = [pair for seed, pair in self._pairs[k].items() if seeds is None or seed in seeds]
        if not pairs:
            return Test()
        _, levels, gains = equal_fairness.advantage(equal, pairs)
        if not len(levels):
            return Test()
        factor = self._widening(one.place.dataset, claim, len(gains)) if widened else 1.0
        columns = [gains[:, j] for j in range(len(levels))] if equal.every else [np.nanmean(gains, axis=1)]
        effects = tuple(replace(e, error=factor * e.error) for e in map(mean_effect, columns))
        incomplete = one.main.incomplete or (seeds is not None and len(pairs) < COVERED * len(seeds))
        return self._of_effects(one, claim, effects, incomplete)

    def _of_sample(self, one: Comparison, claim: Claim, sample: Sample) -> Test:
        if sample.reason or not sample.average.n:
            return Test()
        if claim.pairing == "single":
            margin = claim.margin_of(one.place.dataset)
            answer = one.single(sample.average.mean, margin)
            inside = 0.0 if answer is None and margin else 1.0
            return Test(float(answer is not True), float(answer is not False), 1.0, 1.0, inside)
        if not any(effect.tested for effect in sample.effects) or sample.scores is not None:
            p = one.decide(sample, claim.margin_of(one.place.dataset)) if sample.effects else (NONE, NONE)
            return Test(1.0 if sample.incomplete else p[0], p[1])
        return self._of_effects(one, claim, sample.effects, sample.incomplete)

    def _of_effects(self, one: Comparison, claim: Claim, effects: tuple[Effect, ...], incomplete: bool) -> Test:
        if not any(effect.tested for effect in effects):
            return Test()
        holds, fails = one.decide(Sample(effects), claim.margin_of(one.place.dataset))
        holds = 1.0 if incomplete else holds
        sign, practical = DIRECTION.get(claim.test), claim.practical
        if sign is None or practical is None or not all(effect.tested for effect in effects):
            return Test(holds, fails)
        signed = [replace(effect, mean=sign * effect.mean) for effect in effects]
        m = practical.of(one.place.dataset)
        above = max(effect.p_above(m) for effect in signed)
        below = min(1.0, len(signed) * min(effect.p_below(-m) for effect in signed))
        alike = max(max(effect.p_above(-m), effect.p_below(m)) for effect in signed)
        return Test(holds, fails, above, below, alike)

    def _widening(self, dataset: str, claim: Claim, n: int) -> float:
        """Factor of the standard error for a fresh draw of people (Nadeau and Bengio 2003)."""
        stated = claim.readings.test_per_train if claim.readings is not None else {}
        split = named_dataset(dataset, self.evidence.config.dataset_options(dataset)).spec.split
        share = stated.get(dataset, split.test / split.train)
        return math.sqrt(1 + n * share)

    def _corrected(self, tests: Sequence[Sequence[Test]], name: str, reading: int) -> list[float]:
        raw = [getattr(test[reading], name) for test in tests]
        missing = self._size - sum(not math.isnan(p) for p in raw)
        return holm([*raw, *([1.0] * max(missing, 0))])[: len(raw)]

    @property
    def _size(self) -> int:
        """Tests of the family under its main reading, dominated and empty comparisons left out."""
        return sum(not (one.main.reason or not one.main.average.n) for one in self.members)

    def _letters(self, tests: Sequence[Sequence[Test]]) -> list[list[str]]:
        spelt: list[list[str]] = [[] for _ in tests]
        for reading in range(len(tests[0]) if tests else 0):
            holds, fails = (self._corrected(tests, name, reading) for name in ("holds", "fails"))
            for k, test in enumerate(tests):
                raw = test[reading].holds, test[reading].fails
                spelt[k].append(letters.letter(raw, (holds[k], fails[k]), self.alpha))
        return spelt

    def _words(self, tests: Sequence[Sequence[Test]], spelt: Sequence[Sequence[str]]) -> list[Word]:
        alike = self._corrected(tests, "alike", 0)
        beyond = [
            [self._corrected(tests, name, reading) for name in ("above", "below")] for reading in range(len(tests[0]))
        ]
        words = []
        for k, one in enumerate(self.members):
            readings = one.claim.readings
            if readings is None or one.main.reason:
                words.append(Word(AS_ROBUST[self.verdicts[k]]))
                continue
            names = readings.names()
            choices = {choice: len(options) for choice, options in names.items()}
            number = math.prod(choices.values())
            further = any(p[k] <= self.alpha for reading in beyond[:number] for p in reading)
            said = letters.word(spelt[k][:number], choices, alike[k] <= self.alpha, further)
            awaited = readings.awaited
            if awaited and said.word in (letters.HOLDS, letters.FAILS):
                missing = (f"{choice} ({option.name} awaits {option.awaits})" for choice, option in awaited.items())
                said = Word(letters.CANNOT_TELL, tuple(missing))
            words.append(said)
        return words

    def _lead(self, k: int) -> dict[str, Any]:
        """Mean lead over the levels of the main reading, whether the claim is about each of them or not."""
        one = self.members[k]
        practical = one.claim.practical
        times, unit = (
            (practical.times, practical.unit) if practical is not None else (1.0, name_of(one.claim).replace("_", " "))
        )
        more = {"matters": practical.of(one.place.dataset) * times} if practical is not None else {}
        if not self._pairs[k] or one.claim.at_equal is None:
            effect = one.main.average
            if one.main.reason or not effect.n or one.side is None:
                return {}
            low, high = effect.interval(self.evidence.results.level)
            return {
                "lead": times * effect.mean,
                "lead_low": times * low,
                "lead_high": times * high,
                "unit": unit,
            } | more
        wanted, levels, gains = equal_fairness.advantage(one.claim.at_equal, list(self._pairs[k].values()))
        if not len(levels):
            return {}
        effect = mean_effect(np.nanmean(gains, axis=1))
        low, high = effect.interval(self.evidence.results.level)
        return more | {
            "lead": times * effect.mean, "lead_low": times * low, "lead_high": times * high,
            "least": times * float(np.nanmean(gains, axis=0).min()), "unit": unit,
            "share": f"{len(levels)} of {len(wanted)} levels",
        }  # fmt: skip

    def _together(self, outcomes: list[Said], spelt: Sequence[Sequence[str]]) -> list[Said]:
        """Add the word of each claim at each place, all its comparisons at once."""
        places: dict[tuple[str, str, Place], list[int]] = {}
        for k, one in enumerate(self.members):
            places.setdefault((one.claim.id, one.claim.method, one.place), []).append(k)
        for members in places.values():
            if len(members) < 2:
                continue
            readings = self.members[members[0]].claim.readings
            choices = {c: len(options) for c, options in readings.names().items()} if readings is not None else {}
            number = math.prod(choices.values())
            joint = letters.together(
                [spelt[k][:number] for k in members], choices, [outcomes[k].word.word for k in members]
            )  # fmt: skip
            for k in members:
                outcomes[k] = replace(outcomes[k], columns=outcomes[k].columns | {"together": joint.text})
        return outcomes


def families(key: Callable[[Claim], Any], claims: Iterable[Claim]) -> list[list[int]]:
    """Places of the comparisons that are corrected together."""
    groups: dict[Any, list[int]] = {}
    for place, claim in enumerate(claims):
        groups.setdefault(key(claim), []).append(place)
    return list(groups.values())
