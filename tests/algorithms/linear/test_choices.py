"""Which point a calibration takes, and which rows thresholds are set on."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from partialfair.algorithms.contract import Record, Task
from partialfair.algorithms.linear import calibrated, group_thresholds
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings
from partialfair.data.dataset import Dataset


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
        return SimpleNamespace(gap=gap, loss=loss)

    cheap, fair, outside, far = point(0.4, 0.09), point(0.5, 0.01), point(0.3, 0.2), point(0.1, 0.3)
    assert calibrated._taken([fair, outside, cheap], 0.1) is cheap
    assert calibrated._taken([far, outside], 0.1) is outside


class Rows:
    """A problem of which a calibration asks scores and loss: those of a point are its first two numbers."""

    n_aux, program = 0, None
    design = SimpleNamespace(order=np.arange(1))

    def scores(self, params):
        return params[:1]

    def state(self, params, aux):
        return params

    def loss(self, state):
        return float(state[1]), None


def calibrate(monkeypatch, solutions, kappa=0.05):
    """A calibration whose solves end, one after another, at points (gap, loss) with others on the way."""
    asked, given = [], iter(solutions)

    def solve(at, settings, start):
        on_the_way, end = next(given)
        points = [(np.array(point), np.zeros(0)) for point in (*on_the_way, end)]
        return SimpleNamespace(
            params=points[-1][0], aux=points[-1][1], records=[Record(0, 0, 0, 0, 0, p) for p in points]
        )

    monkeypatch.setattr(calibrated, "solve", solve)
    monkeypatch.setattr(calibrated, "constraints", lambda task, scale: scale)
    monkeypatch.setattr(calibrated, "_narrowed", lambda scale, width: asked.append((round(scale, 9), width)))
    monkeypatch.setattr(calibrated, "_start", lambda *of: None)
    monkeypatch.setattr(
        calibrated, "replace", lambda of, **new: of if isinstance(of, Rows) else dataclasses.replace(of, **new)
    )
    monkeypatch.setattr(calibrated, "matching_thresholds", lambda problem, params: np.zeros(0))
    task = SimpleNamespace(kappa=kappa, constraint=calibrated.PSP)
    free = np.array([0.5, 0.1])
    return calibrated.solve_calibrated(task, Rows(), ALMSettings(), lambda s: float(s[0]), free=free), asked


def test_smoothing_is_halved_each_time_and_some_slack_stays(monkeypatch):
    far = ((), (0.14, 0.4))
    found, asked = calibrate(monkeypatch, [far] * 11)
    assert [width for _, width in asked[:6]] == [1, 0.5, 0.25, 0.125, 0.0625, 0.03125]
    assert [scale for scale, _ in asked[:6]] == pytest.approx([1, 0.7, 0.49, 0.4, 0.4, 0.4])
    assert found.gap == 0.14 and len(found.records) == 11


def test_where_that_ends_outside_kappa_slack_goes_as_far_as_it_takes(monkeypatch):
    found, asked = calibrate(monkeypatch, [((), (0.14, 0.4))] * 7 + [((), (0.05, 0.5))])
    assert [width for _, width in asked[6:]] == [0.5, 0.5]
    assert [scale for scale, _ in asked[6:]] == pytest.approx([0.35, 0.1225])
    assert (found.gap, found.loss) == (0.05, 0.5)
    found, asked = calibrate(monkeypatch, [(((0.04, 0.6),), (0.14, 0.4))] + [((), (0.14, 0.4))] * 5)
    assert found.gap == 0.04 and len(asked) == 6, "nothing further is tried where a point on the way is within kappa"


def test_a_point_on_the_way_is_taken_where_no_solution_is_within_kappa(monkeypatch):
    found, _ = calibrate(
        monkeypatch, [(((0.2, 0.2), (0.04, 0.35), (0.03, 0.45)), (0.09, 0.3))] + [((), (0.06, 0.2))] * 5
    )
    assert (found.gap, found.loss) == (0.04, 0.35)
    many = [((0.04, 0.3), *[(0.2, 0.2)] * calibrated.ON_THE_WAY), (0.09, 0.3)]
    found, _ = calibrate(monkeypatch, [many] + [((), (0.06, 0.2))] * 10)
    assert found.gap == 0.06, "points long before the solution are not measured"
