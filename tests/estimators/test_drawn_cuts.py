"""Thresholds that are drawn for a kappa below one row: optimal by a linear program, true statuses, the cause named."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from partialfair.algorithms.linear.group_thresholds import best_thresholds, group_curve
from partialfair.data.intervals import FULL
from partialfair.estimators import PartialFairClassifier
from partialfair.estimators.randomised_thresholds import best_drawn_cuts
from partialfair.models.stored import load_model

DP, EOP = "partial_demographic_parity", "partial_equal_opportunity"


def curves_of(sizes: tuple[int, ...], seed: int, positives: bool = False) -> list[Any]:
    random = np.random.default_rng(seed)
    curves = []
    for k, size in enumerate(sizes):
        scores = random.normal(k / 2, 1, size).round(1 if seed % 2 else 9)
        y = np.where(random.random(size) < 1 / (1 + np.exp(-2 * scores)), 1.0, -1.0)
        curves.append(group_curve(scores, y, FULL, 1.0, y > 0 if positives else None))
    return curves


@pytest.mark.parametrize("slack", [0.0, 0.004, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_expected_rates_and_correct_rows_are_those_of_the_linear_program(slack: float, seed: int) -> None:
    """Over all distributions of each group's thresholds, by scipy's solver."""
    curves = curves_of((23, 57, 110)[: 2 + seed % 2], seed, positives=seed > 3)
    found = best_drawn_cuts(curves, slack)
    counts = [curve.rates.size for curve in curves]
    n = sum(counts) + 1  # the last variable is the level z
    upper, equal = [], []
    for k, curve in enumerate(curves):
        own = np.zeros(n)
        own[sum(counts[:k]) : sum(counts[: k + 1])] = curve.rates
        own[-1] = -1
        upper += [own, -own]
        chances = np.zeros(n)
        chances[sum(counts[:k]) : sum(counts[: k + 1])] = 1
        equal.append(chances)
    value = linprog(
        np.concatenate([-np.concatenate([curve.correct for curve in curves]), [0]]), A_ub=upper,
        b_ub=[slack, 0.0] * len(curves), A_eq=equal, b_eq=np.ones(len(curves)), bounds=[(0, None)] * n,
    )  # fmt: skip
    assert found.correct == pytest.approx(-value.fun, abs=1e-6)
    assert np.ptp(found.rates) <= slack + 1e-9 and found.shares.sum() == pytest.approx(1)
    for k, curve in enumerate(curves):  # the drawn thresholds have the rates and the correct rows that are said
        place = [int(np.flatnonzero(curve.thresholds == t)[0]) for t in found.thresholds[:, k]]
        assert found.shares @ curve.rates[place] == pytest.approx(found.rates[k], abs=1e-9)
    assert found.correct >= best_thresholds(curves, slack)[1]


def table(seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    group = np.where(np.arange(900) < 53, "few", "many")
    X = random.normal(size=(900, 4)) - 0.8 * (group == "few")[:, None]
    y = (X.sum(axis=1) + random.logistic(size=900) > -1).astype(int)
    return X, y, group


@pytest.mark.filterwarnings("ignore:the constraint is not satisfied")
@pytest.mark.parametrize("constraint", [DP, EOP])
def test_a_kappa_below_one_row_draws_thresholds_in_place_of_accepting_everybody(constraint: str, tmp_path: Any) -> None:
    X, y, group = table()
    model = PartialFairClassifier(constraint, kappa=0.001).fit(X, y, sensitive_features=group)
    labels = model.predict(X, sensitive_features=group)
    counted = y == 1 if constraint == EOP else np.ones(900, bool)
    rates = [labels[counted & (group == k)].mean() for k in ("few", "many")]
    gap = abs(rates[0] - rates[1])
    assert model.train_violation_ == pytest.approx(gap, abs=1e-12)
    assert (model.status_ == "ok") == (gap <= 0.001 + 1e-4)
    assert gap < 1.5 / (counted & (group == "few")).sum() and 0.1 < labels.mean() < 0.95
    assert np.mean(labels == y) > max(y.mean(), 1 - y.mean()) + 0.03
    if model.status_ != "ok":
        assert "group 'few' has " in model.status_ and "one of which moves its rate by" in model.status_
    shuffled = np.random.default_rng(1).permutation(900)
    again = model.predict(X[shuffled], sensitive_features=group[shuffled])
    assert np.array_equal(again, labels[shuffled])
    model.model_.save(tmp_path / "model.npz")
    codes = np.searchsorted(["few", "many"], group)
    assert np.array_equal(load_model(tmp_path / "model.npz").scores(X, codes) > 0, labels == 1)


def test_a_kappa_of_more_than_one_row_is_met_by_thresholds_alone() -> None:
    X, y, group = table()
    model = PartialFairClassifier(DP, kappa=0.02).fit(X, y, sensitive_features=group)
    assert model.status_ == "ok" and "shares" not in model.selected_
