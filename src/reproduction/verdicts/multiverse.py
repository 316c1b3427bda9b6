"""Evaluate all comparisons of a family under all readings, with Holm's correction, and again without each seed.

A reading of a family is one option of every choice for each of its claims: readings of the same number correspond.
Holm's correction is taken per family and reading, for no fewer tests than the family has under its main reading. A
reading therefore gains no decisions from comparisons that drop out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reproduction.datasets.named import named_dataset
from reproduction.statistics.effect import Effect, holm, mean_effect
from reproduction.statistics.frontier import COVERED, Points
from reproduction.verdicts import equal_fairness, letters, look_levels
from reproduction.verdicts.claim import Claim, ComparisonSide, EqualFairness
from reproduction.verdicts.declared_readings import claim_under_reading
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.letters import Word
from reproduction.verdicts.line import AS_ROBUST
from reproduction.verdicts.sample import GridCell, MeasuredEffects, expected_seeds, name_of

_Pairs = Mapping[int, tuple[Points, Points]]
_UNTESTED = math.nan
_DIRECTION = {"better": 1, "worse": -1}


@dataclass(frozen=True)
class PValues:
    """P-values of one reading of one comparison, NaN if nothing can be compared.

    Attributes:
        holds, fails: p-values of the claim, and of its opposite.
        above, below: p-values of a difference beyond the margin that matters, for the claim and against it.
        alike: p-value of a difference within that margin.
    """

    holds: float = _UNTESTED
    fails: float = _UNTESTED
    above: float = _UNTESTED
    below: float = _UNTESTED
    alike: float = _UNTESTED


@dataclass(frozen=True)
class ClaimComparison:
    """One comparison of a claim, with the functions that evaluate its readings.

    Attributes:
        claim, cell, side: the claim, the grid cell, and the other side (``None`` if the claim compares nothing).
        main: effects under the main reading.
        decide: p-values (holds, fails) from effects and margin.
        sample: effects under another reading.
        by_margin: answer for deterministic runs, from difference and margin.
    """

    claim: Claim
    cell: GridCell
    side: ComparisonSide | None
    main: MeasuredEffects
    decide: Callable[[MeasuredEffects, float], tuple[float, float]]
    sample: Callable[[Claim, GridCell], MeasuredEffects]
    by_margin: Callable[[float, float], bool | None]


@dataclass(frozen=True)
class Judgement:
    """The word of one comparison under all readings, with the columns of its line in the scorecard by name."""

    word: Word
    columns: dict[str, Any] = field(default_factory=dict)


class Family:
    """The comparisons that are corrected together, under all readings."""

    def __init__(self, evidence: Evidence[Any], members: Sequence[ClaimComparison], verdicts: Sequence[str]) -> None:
        self.evidence, self.members, self.verdicts = evidence, members, verdicts
        # one-sided error: 2.5% where intervals are of 95%
        self.alpha = (1 - evidence.results.level) / 2
        self._alphas = [look_levels.alpha(evidence, member.claim, member.cell, member.side) for member in members]
        self._pairs = [self._paired(comparison) for comparison in members]
        self._other_pairs: dict[tuple[int, float, str | None], _Pairs] = {}
        self.count = max(
            (len(comparison.claim.readings.combinations()) for comparison in members if comparison.claim.readings),
            default=1,
        )

    def judge(self) -> list[Judgement]:
        """Return the word of each comparison with its columns of the scorecard."""
        # p-values, then letters, then words: comparisons by readings, all seeds
        tests = self._tests(None)
        letters_by_comparison = self._letters(tests)
        comparison_words = self._words(tests, letters_by_comparison)
        seeds = sorted({seed for pairs in self._pairs for seed in pairs})
        has_readings = any(
            pairs and comparison.claim.readings for comparison, pairs in zip(self.members, self._pairs, strict=True)
        )
        left_out = seeds if has_readings and len(seeds) > 2 else []
        words_without_seed = [self._words(*self._tests_and_letters({*seeds} - {seed})) for seed in left_out]
        # main reading with the standard error of a fresh draw of people (Nadeau and Bengio, 2003); a star marks a
        # letter that changes
        fresh = [codes[0] for codes in self._letters(self._tests(None, widened=True, main_only=True))]
        judgements = []
        for k, comparison in enumerate(self.members):
            without_seed = [seed_words[k] for seed_words in words_without_seed] if self._pairs[k] else []
            word, flips = letters.with_seeds(comparison_words[k], without_seed)
            codes = letters_by_comparison[k]
            columns: dict[str, Any] = {"robust": word.word, "depends_on": ", ".join(word.depends_on)}
            if word.leans:
                columns["depends_on"] = f"leans {word.leans}"
            if comparison.claim.readings is not None and codes[0] != "x":
                names = comparison.claim.readings.names()
                codes = codes[: math.prod(map(len, names.values()))]  # others of the family may have more readings
                columns["letters"] = letters.grouped_letters(codes, len(list(names.values())[-1]))
                columns["by_option"] = letters.by_option(codes, names)
                if without_seed:
                    columns["seeds_flip"] = f"{flips} of {len(without_seed)}"
            if word.word in (letters.HOLDS, letters.FAILS) and self._pairs[k] and codes[0] in "HF":
                columns["grade"] = "" if fresh[k] == codes[0] else "*"
            judgements.append(Judgement(word, columns | self._lead(k)))
        return self._together(judgements, letters_by_comparison)

    def _tests_and_letters(self, seeds: set[int]) -> tuple[list[list[PValues]], list[list[str]]]:
        """Return the p-values on some seeds alone and their letters, by comparison and reading."""
        tests = self._tests(seeds)
        # Robustness to one seed is tested at the ordinary level: the stricter level of a first look presumes all seeds.
        return tests, self._letters(tests, [self.alpha] * len(self.members))

    def _paired(self, comparison: ClaimComparison) -> _Pairs:
        """Return the models of both sides by seed; none if the claim is not decided at equal fairness."""
        if comparison.claim.at_equal is None or comparison.side is None or comparison.main.reason:
            return {}
        return equal_fairness.paired_models(self.evidence, comparison.claim, comparison.cell, comparison.side)

    def _pairs_under(self, k: int, claim: Claim) -> _Pairs:
        """Return the models of both sides under a reading, which may need other runs or a share of their work."""
        comparison = self.members[k]
        assert claim.at_equal is not None and comparison.side is not None
        side = comparison.side
        if claim.against != comparison.claim.against:  # other sides are of one experiment, if they were trained there
            name = claim.sides()[0].experiment or ""
            experiment = self.evidence.config.experiments.get(name)
            trained = experiment is not None and any(side.method in run.algorithms for run in experiment.runs.values())
            side = side.model_copy(update={"experiment": name}) if trained else side
        if claim.at_equal.share == 1 and side == comparison.side:
            return self._pairs[k]
        key = (k, claim.at_equal.share, side.experiment)
        if key not in self._other_pairs:
            self._other_pairs[key] = equal_fairness.paired_models(self.evidence, claim, comparison.cell, side)
        return self._other_pairs[key]

    def _tests(self, seeds: set[int] | None, widened: bool = False, main_only: bool = False) -> list[list[PValues]]:
        """Return p-values by comparison and reading; the main reading stands in for readings that a claim lacks.

        Args:
            seeds: the seeds of the comparisons at equal fairness; all of them for ``None``.
            widened: whether errors are those for a fresh draw of people.
            main_only: whether the main reading alone is tested.
        """
        tests_by_comparison = []
        for k, comparison in enumerate(self.members):
            readings = comparison.claim.readings.combinations() if comparison.claim.readings is not None else [()]
            tests = [
                self._test(k, claim_under_reading(comparison.claim, reading), seeds, widened)
                for reading in (readings[:1] if main_only else readings)
            ]
            tests_by_comparison.append(tests + [tests[0]] * ((1 if main_only else self.count) - len(tests)))
        return tests_by_comparison

    def _test(self, k: int, claim: Claim, seeds: set[int] | None, widened: bool) -> PValues:
        comparison = self.members[k]
        if comparison.main.reason:
            return PValues()
        if (
            claim.at_equal is not None
            and comparison.side is not None
            and claim.experiments == comparison.claim.experiments
        ):
            return self._at_equal(k, claim, claim.at_equal, seeds, widened)
        cell = comparison.cell
        if claim.experiments != comparison.claim.experiments and claim.experiments:
            cell = GridCell(claim.experiments[0], cell.dataset)
        sample = comparison.main if claim == comparison.claim else comparison.sample(claim, cell)
        return self._of_sample(comparison, claim, sample)

    def _at_equal(self, k: int, claim: Claim, equal: EqualFairness, seeds: set[int] | None, widened: bool) -> PValues:
        comparison = self.members[k]
        pairs = [pair for seed, pair in self._pairs_under(k, claim).items() if seeds is None or seed in seeds]
        if not pairs:
            return PValues()
        _, levels, gains = equal_fairness.advantage(equal, pairs)
        if not len(levels):
            return PValues()
        factor = self._widening(comparison.cell.dataset, claim, len(gains)) if widened else 1.0
        # one effect per level if the claim has to hold at each, else one of the mean over the levels
        columns = [gains[:, j] for j in range(len(levels))] if equal.every else [np.nanmean(gains, axis=1)]
        effects = tuple(replace(e, error=factor * e.error) for e in map(mean_effect, columns))
        incomplete = comparison.main.incomplete
        if seeds is not None and comparison.side is not None and comparison.cell.experiment:
            expected = expected_seeds(self.evidence, claim, comparison.cell, [comparison.side])
            incomplete |= len(pairs) < COVERED * len(expected & seeds)
        return self._of_effects(comparison, claim, effects, incomplete)

    def _of_sample(self, comparison: ClaimComparison, claim: Claim, sample: MeasuredEffects) -> PValues:
        if sample.reason or not sample.average.n:
            return PValues()
        if claim.pairing == "single":
            margin = claim.margin_on(comparison.cell.dataset)
            answer = comparison.by_margin(sample.average.mean, margin)
            inside = 0.0 if answer is None and margin else 1.0
            return PValues(float(answer is not True), float(answer is not False), 1.0, 1.0, inside)
        if not any(effect.tested for effect in sample.effects) or sample.scores is not None:
            p = (
                comparison.decide(sample, claim.margin_on(comparison.cell.dataset))
                if sample.effects
                else (_UNTESTED, _UNTESTED)
            )
            return PValues(1.0 if sample.incomplete else p[0], p[1])
        return self._of_effects(comparison, claim, sample.effects, sample.incomplete)

    def _of_effects(
        self, comparison: ClaimComparison, claim: Claim, effects: tuple[Effect, ...], incomplete: bool
    ) -> PValues:
        if not any(effect.tested for effect in effects):
            return PValues()
        holds, fails = comparison.decide(MeasuredEffects(effects), claim.margin_on(comparison.cell.dataset))
        holds = 1.0 if incomplete else holds
        sign, practical = _DIRECTION.get(claim.test), claim.practical
        if sign is None or practical is None or not all(effect.tested for effect in effects):
            return PValues(holds, fails)
        signed = [replace(effect, mean=sign * effect.mean) for effect in effects]
        # With the practical margin m and effects d_k signed for the claim: above tests "all d_k > m" and alike tests
        # "all |d_k| < m", both by intersection-union; below tests "some d_k < -m" with Bonferroni's correction.
        m = practical.margin_on(comparison.cell.dataset)
        above = max(effect.p_above(m) for effect in signed)
        below = min(1.0, len(signed) * min(effect.p_below(-m) for effect in signed))
        alike = max(max(effect.p_above(-m), effect.p_below(m)) for effect in signed)
        return PValues(holds, fails, above, below, alike)

    def _widening(self, dataset: str, claim: Claim, n: int) -> float:
        """Return the factor of the standard error for a fresh draw of people, after n seeds."""
        # Nadeau and Bengio (2003), corrected resampled t-test: the variance of the mean over n splits is estimated by
        # (1 / n + n_test / n_train) s^2, which is (1 + n n_test / n_train) times s^2 / n.
        stated = claim.readings.test_per_train if claim.readings is not None else {}
        split = named_dataset(dataset, self.evidence.config.dataset_options(dataset)).spec.split
        share = stated.get(dataset, split.test / split.train)
        return math.sqrt(1 + n * share)

    def _corrected(self, tests: Sequence[Sequence[PValues]], name: str, reading: int) -> list[float]:
        """Return the p-values ``name`` of all comparisons under one reading, corrected by Holm's method."""
        # Tests that drop out under the reading count as p = 1: the family keeps the size of its main reading.
        raw = [getattr(test[reading], name) for test in tests]
        missing = self._size - sum(not math.isnan(p) for p in raw)
        return holm([*raw, *([1.0] * max(missing, 0))])[: len(raw)]

    @property
    def _size(self) -> int:
        """Return the number of tests of the family under its main reading, without comparisons that have no numbers."""
        return sum(not (comparison.main.reason or not comparison.main.average.n) for comparison in self.members)

    def _letters(self, tests: Sequence[Sequence[PValues]], alphas: Sequence[float] = ()) -> list[list[str]]:
        """Return the letter of every comparison and reading (see :mod:`reproduction.verdicts.letters`).

        The levels are ``alphas``, by default those of the comparisons.
        """
        alphas = alphas or self._alphas
        letters_by_comparison: list[list[str]] = [[] for _ in tests]
        for reading in range(len(tests[0]) if tests else 0):
            holds, fails = (self._corrected(tests, name, reading) for name in ("holds", "fails"))
            for k, test in enumerate(tests):
                raw = test[reading].holds, test[reading].fails
                letters_by_comparison[k].append(letters.letter(raw, (holds[k], fails[k]), alphas[k]))
        return letters_by_comparison

    def _words(self, tests: Sequence[Sequence[PValues]], letters_by_comparison: Sequence[Sequence[str]]) -> list[Word]:
        """Return the word of every comparison; it is that of the verdict if the claim has no other readings."""
        alike = self._corrected(tests, "alike", 0)
        beyond = [
            [self._corrected(tests, name, reading) for name in ("above", "below")] for reading in range(len(tests[0]))
        ]
        comparison_words = []
        for k, comparison in enumerate(self.members):
            readings = comparison.claim.readings
            if readings is None or comparison.main.reason:
                comparison_words.append(Word(AS_ROBUST[self.verdicts[k]]))
                continue
            names = readings.names()
            choices = {choice: len(options) for choice, options in names.items()}
            number = math.prod(choices.values())
            is_beyond = any(p[k] <= self.alpha for reading in beyond[:number] for p in reading)
            word = letters.word(letters_by_comparison[k][:number], choices, alike[k] <= self.alpha, is_beyond)
            awaited = readings.awaited
            if awaited and word.word in (letters.HOLDS, letters.FAILS):
                missing = (f"{choice} ({option.name} awaits {option.awaits})" for choice, option in awaited.items())
                word = Word(letters.CANNOT_TELL, tuple(missing))
            comparison_words.append(word)
        return comparison_words

    def _lead(self, k: int) -> dict[str, Any]:
        """Return the columns of the mean lead over the levels of the main reading, in the unit of the claim."""
        comparison = self.members[k]
        practical = comparison.claim.practical
        times, unit = (
            (practical.times, practical.unit)
            if practical is not None
            else (1.0, name_of(comparison.claim).replace("_", " "))
        )
        more = {"matters": practical.margin_on(comparison.cell.dataset) * times} if practical is not None else {}
        if not self._pairs[k] or comparison.claim.at_equal is None:
            effect = comparison.main.average
            if comparison.main.reason or not effect.n or comparison.side is None:
                return {}
            low, high = effect.interval(self.evidence.results.level)
            return {
                "lead": times * effect.mean,
                "lead_low": times * low,
                "lead_high": times * high,
                "unit": unit,
            } | more
        asked_levels, levels, gains = equal_fairness.advantage(comparison.claim.at_equal, list(self._pairs[k].values()))
        if not len(levels):
            return {}
        effect = mean_effect(np.nanmean(gains, axis=1))
        low, high = effect.interval(self.evidence.results.level)
        return more | {
            "lead": times * effect.mean, "lead_low": times * low, "lead_high": times * high,
            "least": times * float(np.nanmean(gains, axis=0).min()), "unit": unit,
            "share": f"{len(levels)} of {len(asked_levels)} levels",
        }  # fmt: skip

    def _together(self, judgements: list[Judgement], letters_by_comparison: Sequence[Sequence[str]]) -> list[Judgement]:
        """Add the word of each claim in each cell of the grid, from all its comparisons there at once."""
        cells: dict[tuple[str, str, GridCell], list[int]] = {}
        for k, comparison in enumerate(self.members):
            cells.setdefault((comparison.claim.id, comparison.claim.method, comparison.cell), []).append(k)
        for members in cells.values():
            if len(members) < 2:
                continue
            readings = self.members[members[0]].claim.readings
            choices = {c: len(options) for c, options in readings.names().items()} if readings is not None else {}
            number = math.prod(choices.values())
            member_letters = [letters_by_comparison[k][:number] for k in members]
            joint = letters.together(member_letters, choices, [judgements[k].word.word for k in members])
            for k in members:
                judgements[k] = replace(judgements[k], columns=judgements[k].columns | {"together": joint.text})
        return judgements
