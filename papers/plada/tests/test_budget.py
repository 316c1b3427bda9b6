"""The work that methods for gaps may spend, and which of their candidates is preferred."""

import numpy as np
import pytest

from papers.plada.algorithms.gap_tasks import preferred
from papers.plada.tests.test_gap_baselines import curve
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.data.dataset import Dataset


def test_room_below_the_tolerance_is_no_merit():
    meets, within = curve([3, 0.5], [0, 0]), curve([3, 0.6], [0, -0.3])
    assert preferred({"within": within, "meets": meets}) == "meets"


@pytest.mark.parametrize("name", ["plada", "ssg_gaps", "ipp_ssg", "ipp_conex"])
def test_a_budget_of_work_is_kept_and_nearly_used_up(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)).astype(np.float32), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    data = Dataset(X, y, (np.arange(80) % 2).astype(np.int16), ("a", "b", "c"), ("F", "M"), "small")
    task = Task(data, data, "partial_demographic_parity", [[0.0, 1.0]], 0.05, report=lambda line: None)
    algorithm = plugins.load("algorithms", name).ALGORITHM
    found = algorithm.fit(task, algorithm.settings(work=120))
    spent = found.trace.candidates[found.trace.result][-1].work
    assert 100 <= spent <= 120 * 1.25  # what an outer iteration of the double loops costs on top
