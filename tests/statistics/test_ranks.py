"""Rank tests against scipy and a normal approximation written out."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.statistics.ranks import rank_test


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return pd.DataFrame(rng.normal(size=(6, 4)) + np.array([2.0, 0, 0.5, 0]), columns=["idca", "a", "b", "c"])


def holm(p):
    """Step-down by hand."""
    order, found, largest = np.argsort(p), np.empty(len(p)), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - place) * p[index]))
        found[index] = largest
    return found


def test_friedman_and_post_hoc(table):
    found = rank_test(table, "idca")
    expected = stats.friedmanchisquare(*table.to_numpy().T)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    ranks = stats.rankdata(-table.to_numpy(), axis=1).mean(axis=0)
    assert list(found.mean_ranks.values()) == pytest.approx(list(ranks))
    z = np.abs(ranks[0] - ranks[1:]) / math.sqrt(4 * 5 / (6 * 6))
    assert list(found.post_hoc.values()) == pytest.approx(list(holm(2 * stats.norm.sf(z))))
    assert list(found.post_hoc) == ["a", "b", "c"] and found.blocks == 6


def test_invariant_under_increasing_maps_of_a_problem(table):
    other = table.copy()
    other.loc[2] = np.exp(3 * other.loc[2])
    assert rank_test(other, "idca") == rank_test(table, "idca")


def test_incomplete_algorithms_are_left_out_and_said(table):
    table.loc[1, "b"] = np.nan
    found = rank_test(table, "idca")
    assert found.left_out == ["b"] and set(found.post_hoc) == {"a", "c"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t[["idca", "a"]], "Friedman's test needs 3"),
        (lambda t: t.iloc[:1], "Friedman's test needs 3"),
        (lambda t: t.assign(idca=np.nan), "idca has no value"),
        (lambda t: t * 0, "all algorithms are equal"),
    ],
)
def test_reasons(table, change, reason):
    found = rank_test(change(table), "idca")
    assert reason in found.reason and math.isnan(found.p)


def test_the_control_may_be_any_column():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(6, 4)) + np.array([2.0, 0, 0.5, 0]), columns=["idca", "a", "b", "c"])
    assert rank_test(table, "b").post_hoc == pytest.approx(rank_test(table[["b", "idca", "a", "c"]], "b").post_hoc)
