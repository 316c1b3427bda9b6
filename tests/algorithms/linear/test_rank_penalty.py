"""The penalty on smoothed differences of ranks: its parts by integration and differences, and what fits reach."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.rank_penalty import THRESHOLDS, Point, _Ranks, _rescaled, _taken
from partialfair.estimators import InputError, PartialFairClassifier


def problem_of(n: int = 300, groups: int = 3, seed: int = 0) -> LinearProblem:
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    X = random.normal(size=(n, 4)) + 0.5 * group[:, None]
    y = np.where(X[:, 0] + random.logistic(size=n) > 0.5, 1.0, -1.0)
    return LinearProblem.build(X.astype(np.float32), y, group, n_groups=groups, uses_group=False)


def table(n: int, groups: int, seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    X = random.normal(size=(n, 5)) + 0.6 * group[:, None] * np.array([1, 0, 0, 1, 0]) / groups
    y = (X.sum(axis=1) + random.logistic(size=n) > 0.5).astype(int)
    return X, y, group


def sp(scores: np.ndarray, group: np.ndarray, low: float, high: float) -> float:
    """Kolmogorov-Smirnov distance of the scores with ranks in [low, high) of each group, by scipy."""
    kept = []
    for k in np.unique(group):
        ranked = np.sort(scores[group == k])[::-1]
        kept.append(ranked[int(np.ceil(low * ranked.size)) : int(np.ceil(high * ranked.size))])
    return max(float(ks_2samp(a, b).statistic) for a, b in combinations(kept, 2))


def test_shares_are_means_of_the_smoothed_step_and_its_slopes_their_derivatives() -> None:
    random = np.random.default_rng(1)
    scores = random.normal(3.0, 2.0, 200)
    ranks = _Ranks(problem_of(), ((0.1, 0.4),), thresholds=np.sort(random.normal(3.0, 2.0, 7)), half=0.8)
    u = np.clip((scores[:, None] - ranks.thresholds) / 0.8, -1, 1)
    step = np.where(u < 0, (1 + u) ** 2 / 2, 1 - (1 - u) ** 2 / 2)
    np.testing.assert_allclose(ranks._share(scores), step.mean(axis=0), atol=1e-10)
    weights = random.normal(size=7)
    np.testing.assert_allclose(ranks._slopes(scores, weights), (1 - np.abs(u)) / 0.8 @ weights, atol=1e-9)


def test_the_penalty_has_the_derivative_that_it_says_and_thresholds_lie_in_the_interval() -> None:
    problem = problem_of()
    ranks = _Ranks(problem, ((0.1, 0.3), (0.5, 0.8)))
    scores = np.random.default_rng(2).normal(size=problem.y.size) + problem.design.order % 2
    ranks.set(scores, 0.3, 100.0, 0.01)
    assert ranks.thresholds.size == THRESHOLDS
    for t in ranks.thresholds:
        inside = [low <= np.mean(scores[part] >= t) + 0.02 and np.mean(scores[part] > t) - 0.02 <= high
                  for part in ranks.parts for low, high in ranks.pairs]  # fmt: skip
        assert any(inside)
    value, slope = ranks.penalty(scores)
    assert value > 0
    for row in (0, 50, 120, 299):
        moved = scores.copy()
        moved[row] += 1e-6
        assert (ranks.penalty(moved)[0] - value) / 1e-6 == pytest.approx(slope[row], rel=1e-3, abs=1e-5)


def test_scale_and_shift_are_those_of_least_loss_and_keep_the_order() -> None:
    problem = problem_of()
    params = np.array([[3.0, 0.2, 0.1, 0.0, 0.0]])
    point = _rescaled(problem, params, lambda scores: 0.5)
    before, after = problem.scores(params), problem.scores(point.params)
    assert np.array_equal(np.argsort(before, kind="stable"), np.argsort(after, kind="stable"))
    from sklearn.linear_model import LogisticRegression

    line = LogisticRegression(C=np.inf, tol=1e-10).fit(before[:, None], problem.y)
    np.testing.assert_allclose(after, line.decision_function(before[:, None]), atol=1e-3)
    assert point.gap == 0.5


def test_of_points_within_kappa_the_one_of_least_loss_is_taken_else_the_least_gap_of_a_useful_one() -> None:
    points = [Point(np.zeros(1), gap, loss) for gap, loss in ((0.3, 0.4), (0.09, 0.52), (0.05, 0.6), (0.01, 0.7))]
    assert _taken(points, 0.1, 0.69).loss == 0.52
    assert _taken(points, 0.02, 0.69).gap == 0.05  # the point within kappa is no better than a constant
    assert _taken(points[:1] + points[3:], 0.001, 0.69).gap == 0.3


@pytest.mark.parametrize(("groups", "interval"), [(2, (0.05, 0.3)), (3, (0.4, 0.7))])
def test_blind_fits_meet_kappa_as_measured_anew_and_cost_little_loss(groups: int, interval: Any) -> None:
    X, y, group = table(3000, groups, groups)
    model = PartialFairClassifier(interval=[interval], kappa=0.1, uses_group=False)
    model.fit(X, y, sensitive_features=group)
    scores = model.decision_function(X)
    assert model.solver_ == "penalty" and model.status_ == "ok"
    assert model.train_violation_ == pytest.approx(sp(scores, group, *interval), abs=1e-9)
    free = PartialFairClassifier(constraint=None, uses_group=False).fit(X, y)
    assert sp(free.decision_function(X), group, *interval) > 0.2
    direct = PartialFairClassifier(
        interval=[interval], kappa=0.1, uses_group=False, solver="alm", solver_options={"rounds": 10}
    ).fit(X, y, sensitive_features=group)
    assert model.certificate_.objective <= direct.certificate_.objective + 0.02


def test_on_the_absolute_scale_a_threshold_counts_as_soon_as_one_rank_is_inside() -> None:
    X, y, group = table(2000, 2, 5)
    settings: Any = {"interval": [(0.1, 0.3)], "kappa": 0.03, "kappa_scale": "absolute", "uses_group": False}
    model = PartialFairClassifier(**settings).fit(X, y, sensitive_features=group)
    assert model.status_ == "ok"
    scores = model.decision_function(X)
    shares = np.array([[np.mean(scores[group == k] > t) for t in np.unique(scores)] for k in (0, 1)])
    inside = ((shares >= 0.1) & (shares < 0.3)).any(axis=0)
    assert model.train_violation_ == pytest.approx(np.abs(shares[0] - shares[1])[inside].max(), abs=1e-9)


@pytest.mark.filterwarnings("ignore:the constraint is not satisfied")
def test_a_kappa_below_a_row_of_the_smallest_group_is_named_with_the_gap_that_was_reached() -> None:
    X, y, group = table(300, 2, 7)
    group = np.where(np.arange(300) < 40, "few", "many")
    model = PartialFairClassifier(interval=[(0.2, 0.4)], kappa=0.02, uses_group=False)
    model.fit(X, y, sensitive_features=group)
    assert "group 'few' has 40 rows, one of which is more than kappa allows; raise kappa" in model.status_
    reached = float(model.status_.split("no score was found below ")[1].split(")")[0])
    assert reached == pytest.approx(sp(model.decision_function(X), group, 0.2, 0.4), abs=1e-4)


def test_what_the_penalty_does_not_serve_goes_to_the_direct_solver_or_is_refused() -> None:
    X, y, group = table(400, 2, 3)
    own = PartialFairClassifier(interval=[[(0.1, 0.5)], [(0.2, 0.6)]], kappa=0.5, uses_group=False)
    assert own.fit(X, y, sensitive_features=group).solver_ == "alm"
    optioned = PartialFairClassifier(kappa=0.5, uses_group=False, solver_options={"rounds": 2})
    assert optioned.fit(X, y, sensitive_features=group).solver_ == "alm"
    with pytest.raises(InputError, match="solver 'penalty' serves"):
        PartialFairClassifier(solver="penalty").fit(X, y, sensitive_features=group)
