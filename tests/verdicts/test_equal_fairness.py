"""Two methods at equal fairness: the levels that are compared, and what dominance says where there is none."""

import numpy as np
import pytest
import synthetic

from reproduction.grid.config import Config
from reproduction.verdicts import equal_fairness
from tests.verdicts.planted import BASELINES, context, decided, entry, gain, words

EQUAL = {"levels": 10}
CLAIM = entry(against=BASELINES, at_equal=EQUAL)


def test_the_unconstrained_model_is_no_end_of_the_compared_range(config):
    low = context(config, kept=lambda job: job.algorithm != "group_auc" or job.kappa < 0.09)
    (line,) = (one for one in decided(low, CLAIM) if (one.dataset, one.against) == ("a9a", "Group AUC"))
    assert "levels of fairness from 0.83" in line.note  # where the least fair model of Group AUC was trained


def test_without_a_common_range_dominance_decides_in_either_direction(six):
    def apart(**shift):
        fairer = {"idca": lambda k: k < 0.15, "group_auc": lambda k: k > 0.15}
        return context(
            six, lambda job, _: shift.get(job.algorithm, 0.0),
            lambda job: fairer.get(job.algorithm, lambda k: True)(job.kappa) and job.dataset == "a9a",
        )  # fmt: skip

    claimed = entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"])
    mirrored = entry(method="group_auc", against=["idca"], at_equal=EQUAL, datasets=["a9a"])
    opposite = {"test": "worse"}
    assert words(apart(), claimed) == words(apart(), mirrored) == {"not run"}
    for found in (apart(group_auc=-0.03), apart(group_auc=-0.1)):
        assert words(found, claimed) == words(found, mirrored.model_copy(update=opposite)) == {"dominated"}
        assert words(found, mirrored) == words(found, claimed.model_copy(update=opposite)) == {"fails"}
        assert words(found, claimed.model_copy(update={"test": "similar"})) == {"not run"}, "dominance is no similarity"


def apart(config, kept=lambda job: True):
    """Group AUC behind, and without a range of fairness that IDCA was trained in, too."""
    ranges = {"idca": lambda k: k < 0.15, "group_auc": lambda k: k > 0.15}
    return context(
        config, lambda job, _: -0.1 * (job.algorithm == "group_auc"),
        lambda job: ranges.get(job.algorithm, lambda k: True)(job.kappa) and kept(job),
    )  # fmt: skip


def test_dominance_at_fewer_seeds_than_a_coin_would_need_decides_nothing(config, six):
    claimed = entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"])
    (line,) = decided(apart(config), claimed)
    assert line.verdict == "not run" and "too few seeds to tell which is ahead: 5" in line.note
    assert words(apart(six), claimed) == {"dominated"}
    (line,) = decided(apart(six, lambda job: job.seed or job.algorithm != "idca"), claimed)
    assert line.verdict == "not run" and "1 of 6 seeds lack a value" in line.note


@pytest.mark.parametrize(("lost", "verdict"), [(0, "holds"), (1, "holds"), (2, "undecided")])
def test_seeds_without_a_model_are_named_and_with_too_many_of_them_nothing_holds(config, lost, verdict):
    ahead = context(config, gain(0.05, algorithm="idca"), lambda job: job.algorithm != "group_auc" or job.seed >= lost)
    for claimed in (
        entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"]),
        entry(against=["group_auc"], kappa=0.1, datasets=["a9a"]),
        entry("ordered", order=[["idca"], ["group_auc"]], kappa=0.1, datasets=["a9a"]),
    ):
        (line,) = decided(ahead, claimed)
        assert (line.verdict, line.n) == (verdict, 5 - lost)
        assert (f"{lost} of 5 seeds lack a value" in line.note) == bool(lost)


def test_two_sides_without_a_common_seed_say_so(config):
    torn = context(config, kept=lambda job: (job.algorithm == "idca") == (job.seed < 2))
    (line,) = decided(torn, entry(against=["group_auc"], kappa=0.1, datasets=["a9a"]))
    assert line.verdict == "not run" and line.note.startswith("no seed has values of both")


def test_what_the_unconstrained_model_beats_as_well_has_no_power(six):
    """It does not help the method to beat anything, either."""

    def apart(shift):
        return context(
            six, lambda job, _: shift * (job.algorithm == "group_auc"),
            lambda job: {"idca": job.kappa < 0.15, "group_auc": job.kappa > 0.15}.get(job.algorithm, True),
            start=0.9,
        )  # fmt: skip

    claimed = entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"])
    (line,) = decided(apart(-0.1), claimed)
    assert (line.verdict, line.power, line.nulls) == ("dominated", "no", "Unconstrained passes")
    (line,) = decided(apart(0.0), claimed)
    assert line.verdict == "not run" and line.power == ""


def test_models_between_the_tolerances_close_a_gap(config):
    """Those of an experiment of ours count with the experiment's own, in claims and where a lead is drawn."""
    (first, *_, last) = synthetic.KAPPAS["a9a"]

    def ends(job):
        return job.algorithm != "group_auc" or job.experiment != "psp" or job.kappa in (first, last)

    claimed = entry(against=["group_auc"], at_equal={"levels": [0.2, 0.25]}, datasets=["a9a"])
    (line,) = decided(context(config, gain(0.01, algorithm="idca"), ends), claimed)
    assert line.verdict == "not run"
    experiments = dict(config.params.experiments)
    experiments["ours"] = experiments["psp"].model_copy(update={"between": "psp"})
    joined = Config(config.params.model_copy(update={"experiments": experiments}), config.source)
    assert joined.with_between(["psp"]) == ["psp", "ours"] and joined.with_between(["pdp"]) == ["pdp"]
    (line,) = decided(context(joined, gain(0.01, algorithm="idca"), ends), claimed)
    assert line.verdict == "holds" and "2 levels of fairness" in line.note


def test_levels_far_from_any_model_are_not_compared(config):
    """Group AUC has models at fairness .65 and .89 alone, the method at .65, .71, ...; or at these two as well."""
    (first, *_, last) = synthetic.KAPPAS["a9a"]
    gap = context(
        config, gain(0.01, algorithm="idca"), lambda job: job.algorithm != "group_auc" or job.kappa in (first, last)
    )
    (line,) = decided(gap, entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"]))
    assert line.verdict == "holds" and "2 levels of fairness from 0.650 to 0.890, of 10; around" in line.note
    between = {"levels": [0.2, 0.25], "every": False}
    (line,) = decided(gap, entry(against=["group_auc"], at_equal=between, datasets=["a9a"]))
    assert line.verdict == "not run" and "are there models of both, 0.1 apart at most, on either side" in line.note


def test_levels_stay_within_the_stated_part_of_the_fairness_axis(config):
    """Both methods have models from .65 to .89."""
    cut = EQUAL | {"fairer_than": 0.7, "less_fair_than": 0.8}
    (line,) = decided(context(config), entry(against=["group_auc"], at_equal=cut, datasets=["a9a"]))
    assert "10 levels of fairness from 0.700 to 0.800" in line.note
    listed = {"levels": [0.15, 0.22, 0.28], "less_fair_than": 0.8}
    (line,) = decided(context(config), entry(against=["group_auc"], at_equal=listed, datasets=["a9a"]))
    assert "2 levels of fairness from 0.720 to 0.780" in line.note


@pytest.mark.parametrize(("last", "narrow"), [(0.709, True), (0.72, False)])
def test_levels_that_are_one_place_say_so(last, narrow):
    words = equal_fairness._levels_words(np.linspace(0.7, last, 5), 5)
    assert words.endswith(f"to {last:.3f}" + ", which is one place rather than a range" * narrow)
