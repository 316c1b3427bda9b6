"""Metrics of the benchmark of stochastic methods: known answers, invariances, undefined cases."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from partialfair.errors import NotEstimableError
from partialfair.metrics import get

SCORES = np.array([2, 1, -1, 0.5, -0.2, -2, 0.1, 3, -0.4, -3])
Y = np.array([1, 1, -1, -1, 1, -1, 1, 1, -1, -1.0])
GROUP = np.repeat([0, 1], 5)
KNOWN = {
    "independence": 0.2,
    "separation": 0.83333333,
    "inaccuracy": 0.2,
    "sufficiency": 0.83333333,
    "wasserstein_histogram": 0.04312712,
    "wasserstein1": 0.21029641,
    "wasserstein2_squared": 0.05102647,
    "log_loss": 0.39071819,
    "loss_difference": 0.22883052,
    "loss_gap": 0.22883052,
}


@pytest.mark.parametrize(("name", "value"), KNOWN.items())
def test_known_answers(name, value):
    assert get(name)(SCORES, Y, GROUP, None) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("name", [*KNOWN, "loss_gap_positive", "loss_gap_odds", "group_auc_mean"])
def test_row_order_does_not_matter(name):
    order = np.random.default_rng(0).permutation(10)
    one, other = get(name)(SCORES, Y, GROUP, None), get(name)(SCORES[order], Y[order], GROUP[order], None)
    assert one == pytest.approx(other, abs=1e-14)


def test_exchanging_the_groups_turns_the_sign_of_the_difference_alone():
    assert get("loss_difference")(SCORES, Y, 1 - GROUP, None) == pytest.approx(-KNOWN["loss_difference"], abs=1e-8)
    for name in ("independence", "separation", "sufficiency", "loss_gap", "wasserstein1"):
        assert get(name)(SCORES, Y, 1 - GROUP, None) == pytest.approx(KNOWN[name], abs=1e-8)


def test_losses_of_one_label():
    losses = np.logaddexp(0, -Y * SCORES)
    gaps = [losses[(GROUP == 0) & (k == Y)].mean() - losses[(GROUP == 1) & (k == Y)].mean() for k in (1, -1)]
    assert get("loss_gap_positive")(SCORES, Y, GROUP, None) == pytest.approx(abs(gaps[0]))
    assert get("loss_gap_odds")(SCORES, Y, GROUP, None) == pytest.approx(abs(gaps[0]) + abs(gaps[1]))


def test_unbinned_distance_equals_the_library():
    rng = np.random.default_rng(1)
    scores, group = rng.normal(size=150), (rng.random(150) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-scores))
    expected = wasserstein_distance(p[group == 0], p[group == 1])
    assert get("wasserstein1")(scores, np.ones(150), group, None) == pytest.approx(expected, abs=1e-12)


def test_what_is_undefined_says_why():
    with pytest.raises(NotEstimableError, match="a positive decision"):
        get("sufficiency")(np.where(GROUP == 0, SCORES, -1.0), Y, GROUP, None)
    with pytest.raises(NotEstimableError, match="histogram"):
        get("wasserstein_histogram")(np.where(GROUP == 0, 1.0, SCORES), Y, GROUP, None)
    with pytest.raises(NotEstimableError, match="only one group"):
        get("independence")(SCORES, Y, np.zeros(10, int), None)


def test_a_threshold_of_zero_is_not_exceeded_by_zero():
    assert get("inaccuracy")(np.zeros(2), np.array([1.0, -1.0]), np.array([0, 1]), None) == 0.5


def test_the_largest_pair_may_be_any():
    scores, group = np.array([1.0, 1, -1, -1, 1, -1]), np.array([0, 0, 1, 1, 2, 2])
    assert get("independence")(scores, np.tile([1.0, -1.0], 3), group, None) == 1.0


def test_a_run_is_worse_than_a_constant_where_its_log_loss_exceeds_log_2():
    constant, wrong, right = np.zeros(10), -3.0 * Y, 3.0 * Y
    values = [get("worse_than_constant")(scores, Y, GROUP, None) for scores in (constant, wrong, right)]
    assert values == [0.0, 1.0, 0.0]
