"""The peers' comparison judges the classifier by what it predicts."""

from dataclasses import replace

import numpy as np
import pytest

from partialfair.estimators import PartialFairClassifier
from reproduction.datasets import simulated
from tests.benchmarks.bench_tight_parity import decision


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_decisions_are_those_of_predict_whatever_the_order_of_the_groups(names):
    rows = replace(simulated.load(rows=600, seed=1), group_names=names)
    group = np.array(names)[rows.group]
    model = PartialFairClassifier("partial_demographic_parity", kappa=0.02, solver="thresholds")
    model.fit(rows.X, rows.y, sensitive_features=group)
    assert np.array_equal(decision(model, rows), model.predict(rows.X, sensitive_features=group) > 0)
