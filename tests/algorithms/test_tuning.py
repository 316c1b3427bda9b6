"""The choice among candidates: order, ties, limits, and what is not finite."""

from types import SimpleNamespace

import numpy as np
import pytest

from partialfair.algorithms import tuning
from partialfair.algorithms.tuning import ACCURATE_WITHIN, AUC_WITHIN, VALIDATION_ACCURACY, Choice, Rule, select
from partialfair.errors import NotEstimableError


def test_the_first_quality_decides_then_the_next_then_the_place():
    qualities = {"validation_accuracy": [0.8, 0.9, 0.9, 0.9], "violation": [0.0, 0.3, 0.1, 0.1]}
    assert select(qualities, VALIDATION_ACCURACY) == Choice(2, True)


def test_candidates_within_the_limit_come_first_and_else_the_smallest_excess():
    qualities = {"auc": [0.9, 0.8, 0.7], "gap": [0.5, 0.2, 0.1]}
    assert select(qualities, AUC_WITHIN, limit=0.2) == Choice(1, True)
    assert select(qualities, AUC_WITHIN, limit=0.05) == Choice(2, False)
    assert select(qualities, AUC_WITHIN, limit=0.2, allowed=[True, False, True]) == Choice(2, True)


def test_beyond_the_limit_the_rule_has_an_order_of_its_own():
    qualities = {"validation_accuracy": [0.7, 0.9, 0.8], "violation": [0.3, 0.2, 0.2]}
    assert select(qualities, ACCURATE_WITHIN, limit=0.1) == Choice(1, False)


def test_what_is_not_finite_is_not_chosen():
    rule = Rule(("loss",))
    assert select({"loss": [np.nan, -np.inf, 2.0, 1.0]}, rule).index == 3
    with pytest.raises(NotEstimableError, match="no candidate"):
        select({"loss": [np.nan]}, rule)


def test_it_orders_as_sorting_tuples_does():
    rng = np.random.default_rng(0)
    accuracy, violation = rng.integers(0, 4, 200) / 4, rng.integers(0, 3, 200) / 3
    for n in range(1, 200, 7):
        wanted = min((-a, v, i) for i, (a, v) in enumerate(zip(accuracy[:n], violation[:n], strict=True)))[2]
        found = select({"validation_accuracy": accuracy[:n], "violation": violation[:n]}, VALIDATION_ACCURACY)
        assert found.index == wanted


def test_a_candidate_needs_all_its_qualities_to_be_finite():
    qualities = {"validation_accuracy": [0.9, 0.8], "violation": [np.nan, 0.0]}
    assert tuning.select(qualities, tuning.VALIDATION_ACCURACY).index == 1


def test_beyond_the_limit_equal_excess_gives_way_to_the_more_accurate():
    qualities = {"validation_accuracy": [0.7, 0.8, 0.9], "violation": [0.2, 0.2, 0.3]}
    assert tuning.select(qualities, tuning.ACCURATE_WITHIN, limit=0.1) == tuning.Choice(1, False)


def test_a_score_of_zero_is_a_negative_decision():
    class Given:
        def scores(self, X, group):
            return np.array([0.0, 0.0, 1e-9, -1e-9])

    rows = SimpleNamespace(X=None, group=None, y=np.array([-1.0, -1.0, 1.0, 1.0]))
    assert tuning.accuracy(Given(), rows) == 0.75
