"""Which point a calibration takes, and which rows thresholds are set on."""

from types import SimpleNamespace

import numpy as np

from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear import calibrated, group_thresholds
from partialfair.tables.dataset import Dataset


def test_rates_are_kept_on_training_and_validation_rows_together():
    rng = np.random.default_rng(0)
    group = (np.arange(240) % 2).astype(np.int16)
    X = (rng.normal(size=(240, 2)) + group[:, None]).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=240) > 0.5, 1.0, -1.0)
    data = Dataset(X, y, group, ("a", "b"), ("F", "M"), "small")
    parts = data.take(np.arange(120)), data.take(np.arange(120, 240))
    task = Task(*parts, "partial_demographic_parity", [[0.0, 1.0]], 0.01, report=lambda line: None)
    algorithm = group_thresholds.ALGORITHM
    decided = algorithm.fit(task, algorithm.settings()).model.scores(data.X, data.group) > 0
    assert abs(decided[group == 0].mean() - decided[group == 1].mean()) <= 0.01 + 1e-9


def test_of_points_within_kappa_the_lowest_loss_is_taken_else_the_smallest_gap():
    def point(loss, gap):
        return SimpleNamespace(gap=gap, records=[SimpleNamespace(objective=9.0), SimpleNamespace(objective=loss)])

    cheap, fair, outside, far = point(0.4, 0.09), point(0.5, 0.01), point(0.3, 0.2), point(0.1, 0.3)
    assert calibrated._taken([fair, outside, cheap], 0.1) is cheap
    assert calibrated._taken([far, outside], 0.1) is outside
