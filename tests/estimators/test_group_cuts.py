"""The score that thresholds per group are placed on: costs by their definition, and what the second fit is for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair.algorithms.contract import Task, linear_score
from partialfair.data.dataset import Dataset
from partialfair.data.intervals import FULL
from partialfair.estimators.group_cuts import GroupCuts, best_cuts, costs
from partialfair.estimators.training import Training

DP, EOP = "partial_demographic_parity", "partial_equal_opportunity"


def dataset(X, y, group):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(X, np.where(y, 1.0, -1.0), group, names, ("a", "b"), "made", np.arange(X.shape[1]))


def task_of(rows, constraint=DP, kappa=0.01):
    empty = rows.take(np.zeros(0, np.int64))
    return Task(rows, empty, constraint, FULL, kappa, uses_group=True, report=lambda line: None)


@pytest.mark.parametrize("constraint", [DP, EOP])
@given(log_odds=st.floats(-3.5, 3.5), cut=st.floats(-3.5, 3.5))
def test_with_the_costs_of_a_threshold_it_is_the_point_of_indifference(constraint, log_odds, cut):
    rows = dataset(np.zeros((2, 1)), np.array([True, False]), np.zeros(2, np.int64))
    of_positive, of_negative = costs(task_of(rows, constraint), rows, np.array([cut, 0.0]))
    p = 1 / (1 + np.exp(-log_odds))
    gain = p * of_positive - (1 - p) * of_negative  # of deciding 1 over deciding 0
    assert gain == pytest.approx(0.0, abs=1e-9) or (gain > 0) == (log_odds > cut)


def bent(n, seed):
    """Log odds that bend away from a line; the features of group b lie in the other part."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 2, n)
    X = random.normal(0.0, 1.0, (n, 2))
    X[:, 0] -= 2.0 * group
    logit = np.where(X[:, 0] > 0, 3.0 * X[:, 0] - 3.0 * X[:, 1], X[:, 0] + 3.0 * X[:, 1] - 1.0)
    return dataset(X, random.random(n) < 1 / (1 + np.exp(-logit)), group)


def test_the_second_fit_is_right_where_it_is_cut():
    rows, others = bent(4000, 0), bent(40_000, 1)
    order = np.random.default_rng(2).permutation(4000)
    task, training = task_of(rows), Training(rows, None, 0.0, True, {}, None, 0, lambda: (order[:3000], order[3000:]))
    accuracies = []
    for moved in (training.problem.model.effective(training.free), training.cuts.score(task)):
        moved[:, 0] -= best_cuts(task, rows, linear_score(task, moved))
        accuracies.append(np.mean((linear_score(task, moved).scores(others.X, others.group) > 0) == (others.y > 0)))
    assert accuracies[1] > accuracies[0] + 0.005


def test_the_mean_of_both_scores_gives_way_where_held_out_rows_are_clear():
    rows = bent(4000, 0)
    order = np.random.default_rng(2).permutation(4000)
    one = GroupCuts(Training(rows, None, 0.0, True, {}, None, 0, lambda: (order[:3000], order[3000:])))
    assert one.kind == "per_group" and one.chosen["validation_loss_per_group"] < one.chosen["validation_loss_mean"]
    alike = dataset(rows.X, np.random.default_rng(3).random(4000) < 1 / (1 + np.exp(-rows.X[:, 0])), rows.group)
    parts = [np.random.default_rng(seed).permutation(4000) for seed in range(6)]
    kinds = [
        GroupCuts(replace(one.training, rows=alike, hold_out=lambda o=o: (o[:3000], o[3000:]))).kind for o in parts
    ]
    assert kinds.count("mean") >= 4  # what differs by chance passes two standard errors now and then
    nothing = Training(rows, None, 0.0, True, {}, None, 0, lambda: (np.arange(4000), np.zeros(0, np.int64)))
    assert GroupCuts(nothing).kind == "mean"


def whole(rows, weights=None, penalty=0.0):
    """All rows for the fit, none held out."""
    return Training(rows, weights, penalty, True, {}, None, 0, lambda: (np.arange(rows.n_rows), np.zeros(0, np.int64)))


@pytest.mark.parametrize("constraint", [DP, EOP])
def test_a_weight_counts_like_repeated_rows(constraint):
    rows = replace(
        bent(3000, 0), numeric=np.zeros(0, np.int64)
    )  # columns are standardised by rows, whatever their weights
    times = np.where((rows.y > 0) & (rows.group == 0), 4, np.random.default_rng(1).integers(0, 3, 3000))
    again = rows.take(np.repeat(np.arange(3000), times))
    # At kappa 1 rates bind nothing: these count rows, not weights.
    weighted = whole(rows, times / times.mean(), 0.02).cuts.score(task_of(rows, constraint, 1.0))
    repeated = whole(again, None, 0.02).cuts.score(task_of(again, constraint, 1.0))
    np.testing.assert_allclose(weighted, repeated, atol=0.01)


def test_a_rare_column_gets_no_unbounded_weight_unless_a_penalty_is_stated():
    rows = bent(3000, 0)
    rare = np.flatnonzero(rows.y > 0)[:6]
    rows = replace(
        rows, X=np.column_stack([rows.X, np.isin(np.arange(3000), rare)]), feature_names=("x0", "x1", "rare")
    )
    weights = {
        penalty: float(np.abs(whole(rows, None, penalty).cuts.score(task_of(rows))[:, 3]).max())
        for penalty in (0.0, 1e-6)
    }
    assert weights[0.0] < 2 and weights[1e-6] > 4
