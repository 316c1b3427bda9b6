"""Numbers of an audit against the metric functions, scipy, and the row-wise bootstrap."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from partialfair.audit import audit_scores
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE
from partialfair.audit.sample import build_sample
from partialfair.errors import ConfigError, DataError, PluginError
from partialfair.metrics import get

I = [(0.05, 0.3), (0.5, 0.6)]  # noqa: E741


def columns(frame: pd.DataFrame, group: Any = "sex") -> tuple[Any, Any, Any]:
    return frame["s"], frame[group], frame["y"]


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_the_metric_functions(frame: pd.DataFrame, ties: bool) -> None:
    scores, group, labels = columns(frame)
    scores = scores.round(1) if ties else scores
    result = audit_scores(scores, group, labels, interval=I, confidence_intervals=False)
    codes, y = (group == "M").to_numpy().astype(int), np.where(labels > 0, 1.0, -1.0)
    for name in (*PARTIAL, *WHOLE, *QUALITY):
        expected = get(name)(scores.to_numpy(), y, codes, I, 0.0)
        assert result.metric(name) == pytest.approx(expected, abs=1e-12), name


def test_full_range_is_the_kolmogorov_smirnov_statistic_and_the_area_is_that_of_scikit_learn(
    frame: pd.DataFrame,
) -> None:
    scores, group, labels = columns(frame)
    result = audit_scores(scores, group, labels, confidence_intervals=False)
    expected = ks_2samp(scores[group == "F"], scores[group == "M"]).statistic
    assert result.metric("sp") == pytest.approx(expected, abs=1e-12)
    assert result.metric("sp_full") == pytest.approx(expected, abs=1e-12)
    assert result.metric("auc") == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_pairs_of_intersectional_groups_are_audits_of_two_groups_and_the_largest_is_reported(
    frame: pd.DataFrame,
) -> None:
    result = audit_scores(frame["s"], frame[["sex", "race"]], frame["y"], interval=I, confidence_intervals=False)
    names = [line.name for line in result.groups]
    assert names == ["F & A", "F & B", "F & C", "M & A", "M & B", "M & C"]
    compared = [line.name for line in result.groups if not line.reason]
    assert compared == ["F & A", "F & B", "M & A", "M & B"]
    joined = frame["sex"] + " & " + frame["race"]
    for a, b in itertools.combinations(compared, 2):
        part = joined.isin([a, b])
        alone = audit_scores(
            frame["s"][part], joined[part], frame["y"][part], interval=I, confidence_intervals=False, threshold=0.0
        )
        found = result.measured.pairs[names.index(a), names.index(b)]
        for name in (*PARTIAL, *WHOLE):
            assert found[name].value == pytest.approx(alone.metric(name), abs=1e-12), (a, b, name)
    assert result.metric("sp") == max(found["sp"].value for found in result.measured.pairs.values())


def test_joined_columns_keep_counts_threshold_and_nearly_the_spread(frame: pd.DataFrame) -> None:
    sample = build_sample(*columns(frame), threshold=0.3)
    coarse = sample.tally.binned(400)
    assert 300 < coarse.count.shape[1] < 500
    assert np.array_equal(coarse.count.sum(axis=1), sample.tally.sizes.ravel())
    for table in (sample.tally.of_groups([0, 1]), sample.tally.pooled(), coarse):
        assert table.count[:, : table.cut].sum() == np.sum(frame["s"] > 0.3)
    share = coarse.count.reshape(2, 2, -1).sum(axis=1) / sample.tally.sizes.sum(axis=1)[:, None]
    assert share.max() < 0.01


def test_the_level_is_that_of_the_quantiles(frame: pd.DataFrame) -> None:
    """Accuracy has the percentile interval, so that a lower level is inside a higher one by what the draws say."""
    results = {level: audit_scores(*columns(frame), interval=I, level=level) for level in (0.5, 0.95)}
    half, most = (results[level].measured.quality["accuracy"] for level in (0.5, 0.95))
    assert most.low < half.low < half.value < half.high < most.high
    half, most = (results[level].measured.overall["sp"] for level in (0.5, 0.95))
    assert most.low < half.low <= half.value <= half.high < most.high


def test_an_interval_over_pairs_is_not_that_of_the_first() -> None:
    """The first pair is alike, so that its resamples lie far below."""
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c", "d"], 600)
    scores = random.normal(size=2400) + np.repeat([0.0, 0.0, 0.8, 1.0], 600)
    measured = audit_scores(scores, group, interval=I).measured
    found, widest = measured.overall["sp"], max(own["sp"].high - own["sp"].low for own in measured.pairs.values())
    assert found.value == max(own["sp"].value for own in measured.pairs.values())
    assert found.value - widest < found.low < found.value < found.high < found.value + widest


def test_parity_where_one_groups_decision_lies_inside_is_measured() -> None:
    """Above the threshold are half of a's interval and one of b's two, in the gap between: equal by no convention."""
    group = np.repeat(["a", "b"], 100)
    scores = np.where(np.r_[np.arange(100) < 10, np.arange(100) < 15], 1.0, -1.0) + np.tile(np.arange(100) / 1e3, 2)
    intervals = [[(0.0, 0.2)], [(0.0, 0.1), (0.2, 0.3)]]
    found = audit_scores(
        scores, group, interval=intervals, threshold=0.0, confidence_intervals=False, gates={"dp": 0.05}
    )
    assert found.metric("dp") == pytest.approx(0, abs=1e-12) and found.passed


def test_intervals_stay_with_their_groups_where_the_first_is_too_small() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [10, 300, 300])
    scores = random.normal(size=610) + 0.5 * (group == "c")
    labels = random.integers(0, 2, 610)
    intervals, large = [[(0.8, 1.0)], [(0.0, 0.4)], [(0.3, 0.6)]], group != "a"
    whole = audit_scores(scores, group, labels, interval=intervals, threshold=0.0, confidence_intervals=False)
    alone = audit_scores(
        scores[large], group[large], labels[large], interval=intervals[1:], threshold=0.0, confidence_intervals=False
    )
    assert whole.metric("sp") is not None and whole.groups[0].reason
    for name in (*PARTIAL, *WHOLE):
        assert whole.metric(name) == alone.metric(name), name


def test_without_labels_only_label_free_metrics_are_estimable(frame: pd.DataFrame) -> None:
    result = audit_scores(frame["s"], frame["sex"], interval=I)
    with_labels = audit_scores(*columns(frame), interval=I, confidence_intervals=False)
    for name in ("accuracy", "auc", "eop", "eod", "eop_full", "eod_full"):
        assert result.metric(name) is None
    for name in ("sp", "rank_gap", "dp", "dp_gap", "gauc", "positive_rate"):
        assert result.metric(name) == with_labels.metric(name)
    assert result.to_dict()["overall"]["eop"] == {"value": None, "not_estimable": "no labels were given"}


def test_a_pair_that_is_not_estimable_has_a_reason_and_fails_its_gate() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["big", "small"], [1000, 30])
    scores = random.normal(size=1030)
    labels = np.where((group == "small") | (random.random(1030) < 0.5), 0, 1)
    result = audit_scores(
        scores, group, labels, interval=[(0, 0.05)], gates={"eop": 0.5, "sp": 1.0}, confidence_intervals=False
    )
    assert result.metric("eop") is None
    reason = result.measured.overall["eop"].reason
    assert "group 'small': interval 0-0.05 keeps 0 of its 0 rows with the positive label" in reason
    verdicts = {gate.metric: gate.passed for gate in result.gates}
    assert verdicts == {"eop": False, "sp": True} and not result.passed


@pytest.mark.parametrize(
    ("change", "error", "parts"),
    [
        ({"interval": [(0.3, 0.05)]}, ConfigError, ["[0.3, 0.05]", "alpha < beta"]),
        ({"gates": {"spp": 0.1}}, PluginError, ["'spp'", "did you mean 'sp'"]),
        ({"gates": {"sp": 2}}, ConfigError, ["gate on sp: 2"]),
        ({"min_group_size": 1}, ConfigError, ["at least 2"]),
        ({"min_group_size": 3000}, DataError, ["at least 3000 rows", "F:"]),
        ({"level": 95}, ConfigError, ["level: 95"]),
        ({"positive": "2"}, DataError, ["'2' does not occur", "'0', '1'"]),
        ({"positive": float("nan")}, DataError, ["labels: the label nan is a missing value"]),
    ],
)
def test_unsuitable_settings_are_refused(frame: pd.DataFrame, change: Any, error: type, parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        audit_scores(*columns(frame), **change)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_labels_of_any_two_values_and_a_chosen_positive_one(frame: pd.DataFrame) -> None:
    text = frame["y"].map({0: "no", 1: "yes"})
    default = audit_scores(frame["s"], frame["sex"], text, confidence_intervals=False)
    turned = audit_scores(frame["s"], frame["sex"], text, positive="no", confidence_intervals=False)
    assert (default.positive_label, turned.positive_label) == ("yes", "no")
    assert default.metric("accuracy") == pytest.approx(1 - turned.metric("accuracy"))
    ten = audit_scores(frame["s"], frame["sex"], frame["y"].map({0: 9, 1: 10}), confidence_intervals=False)
    assert ten.positive_label == "10" and ten.metric("auc") == default.metric("auc")


def test_default_threshold_follows_the_range_of_the_scores(frame: pd.DataFrame) -> None:
    logistic = 1 / (1 + np.exp(-frame["s"]))
    a = audit_scores(frame["s"], frame["sex"], frame["y"], confidence_intervals=False)
    b = audit_scores(logistic, frame["sex"], frame["y"], confidence_intervals=False)
    assert (a.threshold, b.threshold) == (0.0, 0.5)
    assert a.metric("dp_full") == b.metric("dp_full")


def test_on_the_whole_range_a_rate_of_one_is_a_rate_like_any_other() -> None:
    """True positive rates of 1 in both groups, false positive rates of .1 and .4."""
    group, y = np.repeat([0, 1], 400), np.tile(np.repeat([1, 0], 200), 2)
    scores = np.where(y == 1, 1.0, -1.0)
    scores[200:220] = scores[600:680] = 1.0
    found = audit_scores(
        scores, group, y, confidence_intervals=False, gates={"eop": 0.1, "eod": 0.35, "eod_full": 0.35}
    )
    assert found.metric("eod") == found.metric("eod_full") == pytest.approx(0.3)
    assert found.metric("eop") == 0 and found.passed


def test_intervals_hold_the_true_rate_where_scores_tell_the_labels_apart() -> None:
    """Resampled within labels, the rate of positive decisions of a perfect classifier would not vary at all."""
    random, held, runs = np.random.default_rng(0), {"positive_rate": 0, "dp_full": 0}, 80
    for _ in range(runs):
        group = np.arange(400) % 2
        y = (random.random(400) < np.where(group == 1, 0.5, 0.3)).astype(int)
        scores = np.where(y == 1, 1.0, -1.0) + 0.1 * random.normal(size=400)
        found = audit_scores(scores, group, y).measured
        for name, truth, measured in (
            ("positive_rate", 0.4, found.quality["positive_rate"]), ("dp_full", 0.2, found.overall["dp_full"])
        ):  # fmt: skip
            assert measured.low is not None and measured.high is not None
            held[name] += measured.low <= truth <= measured.high
    assert min(held.values()) >= 0.9 * runs, held


def test_the_pair_is_named_where_a_small_group_comes_first():
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [10, 300, 300])
    scores = random.normal(size=610) + 0.5 * (group == "c")
    found = audit_scores(scores, group, confidence_intervals=False, gates={"sp": 0.5})
    assert [found.groups[code].name for code in found.measured.overall["sp"].pair] == ["b", "c"]
    assert found.gates[0].groups == ("b", "c")
