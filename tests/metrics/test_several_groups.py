"""What metrics make of several groups, of ties with the threshold, and of the threshold itself."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from partialfair.metrics import get
from tests.metrics.test_loss_parity_metrics import GROUP, SCORES, Y


def test_of_several_groups_the_largest_difference_counts():
    scores, group = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0]), np.array([0, 0, 1, 1, 2, 2])
    assert get("independence")(scores, np.tile([1.0, -1.0], 3), group, None) == 1.0


def test_the_mean_of_areas_is_over_groups():
    areas = [roc_auc_score(Y[k == GROUP] > 0, SCORES[k == GROUP]) for k in (0, 1)]
    assert areas[0] != areas[1]
    assert get("group_auc_mean")(SCORES, Y, GROUP, None) == pytest.approx(np.mean(areas))


def test_a_score_at_the_threshold_is_an_error():
    scores, y, group = np.array([0.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, -1.0]), np.array([0, 0, 1, 1])
    assert get("group_error_excess")(scores[[0, 1, 1]], y[[0, 1, 1]], group[[0, 0, 2]], None) == pytest.approx(
        0.25 - 1 / 3
    )


def test_a_violation_is_reflected_at_its_value_for_the_threshold():
    from partialfair.metrics.uncertainty import bootstrap, bootstrap_replicates

    rng = np.random.default_rng(0)
    scores, group = rng.normal(size=400) + np.repeat([0.0, 0.8], 200), np.repeat([0, 1], 200)
    y, interval = np.where(rng.random(400) < 0.5, 1.0, -1.0), [(0.0, 1.0)]
    shared = {"replicates": 50, "threshold": 1.5, "only": ("dp",)}
    drawn = bootstrap_replicates(scores, y, group, interval, np.random.default_rng(1), **shared)["dp"]
    low, high = np.quantile(drawn, (0.025, 0.975))
    value = get("dp")(scores, y, group, interval, 1.5)
    found = bootstrap(scores, y, group, interval, np.random.default_rng(1), **shared)["dp"]
    assert found == pytest.approx((max(0.0, min(low, 2 * value - high)), min(1.0, max(high, 2 * value - low))))
