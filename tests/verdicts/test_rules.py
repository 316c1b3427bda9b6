"""The rules behind a line, one by one: p-values of each test, what nulls are, where two methods are compared."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from partialfair.metrics.uncertainty import Estimate, t_interval
from reproduction.statistics.effect import mean_effect
from reproduction.verdicts import equal_fairness, null_models, numbers, samples
from reproduction.verdicts.claim_tests import TESTS
from reproduction.verdicts.numbers import Constructed, noise_of, word
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting
from reproduction.verdicts.sample import MeasuredEffects, weakest

ONE = [0.012, 0.018, 0.025, 0.009, 0.02]
TWO = [-0.004, 0.011, 0.003, 0.007, 0.001]
MARGIN = 0.01


def above(values, centre):
    return stats.ttest_1samp(values, centre, alternative="greater").pvalue


def below(values, centre):
    return stats.ttest_1samp(values, centre, alternative="less").pvalue


def either(*p):
    """Some of several, corrected for their number."""
    return min(1.0, len(p) * min(p))


@pytest.mark.parametrize("effects", [[ONE], [TWO], [ONE, TWO]])
@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        ("better", lambda v: above(v, 0), lambda v: below(v, 0)),
        ("worse", lambda v: below(v, 0), lambda v: above(v, 0)),
        ("at_least", lambda v: above(v, -MARGIN), lambda v: below(v, -MARGIN)),
        (
            "similar",
            lambda v: max(above(v, -MARGIN), below(v, MARGIN)),
            lambda v: min(1.0, 2 * min(below(v, -MARGIN), above(v, MARGIN))),
        ),
        ("bound", lambda v: above(v, 0), lambda v: below(v, 0)),
        ("rate", lambda v: above(v, -MARGIN), lambda v: below(v, -MARGIN)),
    ],
)
def test_p_values_of_a_claim_and_of_its_opposite(test, holds, fails, effects):
    found = TESTS[test].decide(MeasuredEffects(tuple(mean_effect(one) for one in effects)), MARGIN)
    expected = max(map(holds, effects)), either(*map(fails, effects))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_effect_that_cannot_be_tested_makes_no_claim_hold_whatever_the_order(order):
    effects = [mean_effect(ONE), mean_effect([-8.0])]
    sample = MeasuredEffects(tuple(effects[k] for k in order))
    for test in ("better", "at_least"):
        holds, fails = TESTS[test].decide(sample, MARGIN)
        assert holds == 1.0 and fails > 0.5
    assert weakest(sample.effects) is effects[1] and weakest(sample.effects, -1) is effects[1]
    assert all(math.isnan(p) for p in TESTS["better"].decide(MeasuredEffects((effects[1],)), MARGIN)[1:])


@pytest.mark.parametrize(
    ("test", "difference", "holds"),
    [
        ("better", 0.02, True), ("better", 0.005, None), ("better", -0.005, None), ("better", -0.02, False),
        ("worse", -0.02, True), ("worse", 0.005, None), ("worse", 0.02, False),
        ("at_least", -0.005, True), ("at_least", -0.02, False), ("at_least", 0.02, True),
        ("similar", 0.005, True), ("similar", -0.02, False), ("similar", 0.02, False),
        ("bound", 0.005, True), ("bound", -0.001, False),
    ],
)  # fmt: skip
def test_deterministic_runs_by_the_margin(test, difference, holds):
    assert TESTS[test].by_margin(difference, MARGIN) is holds


def test_a_trend_is_that_of_page_over_seeds():
    rng = np.random.default_rng(0)
    scores = np.arange(4) * 0.3 + rng.normal(size=(6, 4))
    found = TESTS["monotone"].decide(MeasuredEffects(scores=scores), 0.0)
    assert found == pytest.approx([stats.page_trend_test(s).pvalue for s in (scores, -scores)])
    two = MeasuredEffects((mean_effect(ONE),), scores=scores[:, :2])
    assert TESTS["monotone"].decide(two, 0.0) == TESTS["better"].decide(two, 0.0)


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "noise", "tolerance", "expected"),
        [
            (0.85, math.nan, None, "agrees"),
            (0.8501, math.nan, None, "differs"),
            (0.8499, math.nan, 0.001, "near"),
            (0.86, 0.01, 0.02, "agrees"),
            (0.84, 0.01, 0.02, "agrees"),
            (0.865, 0.01, 0.02, "near"),
            (0.835, 0.01, 0.02, "near"),
            (0.8701, 0.01, 0.02, "differs"),
            (0.8299, 0.01, 0.02, "differs"),
            (0.865, 0.01, None, "differs"),
            (0.8, 0.01, None, "differs"),
        ],
    )
    def test_words(self, value, noise, tolerance, expected):
        assert word(value, 0.85, noise, tolerance) == expected

    def test_noise_is_that_of_two_means(self):
        ours = t_interval([0.80, 0.82, 0.81, 0.85])

        def row(**spread):
            return Published("p", "e", "a9a", "idca", "", "", "", "accuracy", 0.81, "", **spread)

        assert noise_of(row(), ours) == pytest.approx(math.sqrt(2) * ours.half_width)
        deviation = np.std([0.80, 0.82, 0.81, 0.85], ddof=1)
        twice = row(spread=2 * deviation, spread_kind="std")
        assert noise_of(twice, ours) == pytest.approx(math.sqrt(5) * ours.half_width)
        assert math.isnan(noise_of(row(), Estimate(0.8, math.nan, math.nan, math.nan, 1)))
        once = row(seeds=1)  # has our deviation, with our degrees of freedom
        assert noise_of(once, ours) == pytest.approx(math.sqrt(1 + ours.n) * ours.half_width)

    def test_more_seeds_here_do_not_sharpen_what_the_paper_measured(self):
        many = t_interval(np.tile([0.80, 0.82, 0.81, 0.85], 5))
        few = Published("p", "e", "a9a", "idca", "", "", "", "accuracy", 0.81, seeds=3)
        theirs = stats.t.ppf(0.975, 2) * np.std(np.tile([0.80, 0.82, 0.81, 0.85], 5), ddof=1) / math.sqrt(3)
        assert noise_of(few, many) == pytest.approx(math.hypot(many.half_width, theirs))
        wide = t_interval(np.tile([0.80, 0.82, 0.81, 0.85], 5), level=0.8)
        printed = Published("p", "e", "a9a", "idca", "", "", "", "accuracy", 0.81, "", 0.02, "std", seeds=3)
        theirs = stats.t.ppf(0.9, 2) * 0.02 / math.sqrt(3)
        assert noise_of(printed, wide, level=0.8) == pytest.approx(math.hypot(wide.half_width, theirs))

    def test_noise_that_is_stated_by_dataset_is_that_of_the_dataset(self):
        noise = numbers.Noise(source="six optimiser seeds", of={"accuracy": {"a9a": 0.004, "bank": 0.02}}, times=2)
        found = [noise.half_width("accuracy", name) for name in ("a9a", "bank", "law_school")]
        assert found == [pytest.approx(0.008), pytest.approx(0.04), None]

    @pytest.mark.parametrize(
        ("entry", "meets"),
        [
            ({}, True), ({"dataset": "a9a"}, True), ({"dataset": "bank"}, False), ({"algorithm": "alm"}, False),
            ({"metric": "accuracy"}, False), ({"metric": "psp_fairness"}, True), ({"metric": "fairness"}, True),
            ({"metric": "ness"}, False), ({"interval": "0.1-0.2"}, True), ({"interval": "0.1-0.3"}, False),
            ({"dataset": "a9a", "metric": "accuracy"}, False), ({"dataset": "bank", "metric": "fairness"}, False),
        ],
    )  # fmt: skip
    def test_what_a_setting_was_chosen_to_meet(self, entry, meets):
        row = Published("p", "e", "a9a", "idca", "", "0.1-0.2", "", "psp_fairness", 0.9, "")
        assert Constructed(why="kappa was picked", **entry).meets(row) is meets

    @pytest.mark.parametrize(
        ("verdict", "null", "as_good"),
        [
            ("agrees", "agrees", True), ("agrees", "near", False), ("agrees", "differs", False),
            ("near", "agrees", True), ("near", "near", True), ("near", "differs", False),
            ("differs", "agrees", False), ("differs", "differs", False),
        ],
    )  # fmt: skip
    def test_a_null_model_that_does_as_well_takes_the_power(self, verdict, null, as_good):
        assert numbers._as_good(verdict, ["differs", null]) is as_good


class TestNulls:
    def evidence(self, *settings):
        results = SimpleNamespace(settings=lambda experiment: [Setting("psp", *one) for one in settings])
        return SimpleNamespace(results=results, label=str.upper)

    def test_neighbours_of_a_tolerance(self):
        beside = [("a9a", "idca", k) for k in (0.4, 0.1, 0.02, 0.2)]
        beside += [("a9a", "unconstrained", math.inf), ("a9a", "alm", 0.15), ("bank", "idca", 0.12)]
        found = null_models.neighbours(self.evidence(*beside), Setting("psp", "a9a", "idca", 0.1))
        assert {name: (one.algorithm, one.kappa) for name, one in found.items()} == {
            "tolerance 0.02": ("idca", 0.02), "tolerance 0.2": ("idca", 0.2),
            "unconstrained": ("unconstrained", math.inf),
        }  # fmt: skip

    def test_of_the_unconstrained_model_the_tightest_of_every_method(self):
        beside = [("a9a", "idca", k) for k in (0.4, 0.1, 0.2)] + [("a9a", "alm", 0.3), ("bank", "idca", 0.05)]
        beside += [("a9a", "unconstrained", math.inf)]
        found = null_models.neighbours(self.evidence(*beside), Setting("psp", "a9a", "unconstrained", math.inf))
        assert set(found) == {"IDCA at 0.1", "ALM at 0.3"}

    @pytest.mark.parametrize("positive", [3, 7])
    def test_a_constant(self, tmp_path, positive):
        path = tmp_path / "data/processed/small"
        path.mkdir(parents=True)
        np.savez(path / "table.npz", y=np.where(np.arange(10) < positive, 1.0, -1.0))
        assert null_models._constant(tmp_path, "small", "accuracy") == pytest.approx(0.7)
        assert math.isnan(null_models._constant(tmp_path, "other", "accuracy"))
        assert null_models._constant(tmp_path, "small", "auc") == 0.5
        assert null_models._constant(tmp_path, "small", "rank_gap") == 1.0
        assert math.isnan(null_models._constant(tmp_path, "small", "positive_rate"))


class TestCompared:
    @pytest.mark.parametrize(
        ("fair", "good", "beaten"),
        [(0.8, 0.7, False), (0.79, 0.7, True), (0.8, 0.69, True), (0.81, 0.6, False), (0.7, 0.71, False)],
    )
    def test_beaten_is_reached_in_both_and_surpassed_in_one(self, fair, good, beaten):
        by = np.array([0.8]), np.array([0.7])
        assert equal_fairness._beaten((np.array([fair]), np.array([good])), by) is beaten

    @pytest.mark.parametrize(
        ("better", "metric", "sign"),
        [
            (None, "accuracy", 1),
            (None, "auc", 1),
            (None, "rank_gap", -1),
            ("larger", "loss", 1),
            ("smaller", "auc", -1),
        ],
    )
    def test_which_is_better(self, better, metric, sign):
        assert samples.sign_of(SimpleNamespace(better=better, metric=metric)) == sign

    def test_seeds_are_paired_by_their_number(self):
        claim = SimpleNamespace(better="larger", metric="", pairing="seed")
        one, two = {0: 0.5, 1: 0.9, 2: 0.7}, {2: 0.45, 1: 0.85, 0: 0.48, 7: 9.0}
        found = samples._effect(claim, one, two)
        assert (found.mean, found.error) == (
            pytest.approx(np.mean([0.02, 0.05, 0.25])), pytest.approx(stats.sem([0.02, 0.05, 0.25])),
        )  # fmt: skip
        claim.pairing = "none"
        apart = samples._effect(claim, one, two)
        assert apart.mean == pytest.approx(np.mean(list(one.values())) - np.mean(list(two.values())))
