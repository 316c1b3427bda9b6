"""The post-processing regressor: scikit-learn's checks, the constraint on unlabeled rows, streams, and refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from partialfair.estimators import DemographicParityRegressor, InputError
from partialfair.metrics import get

CHECKS = [
    pytest.param(own, check, id=check.func.__name__)
    for own, check in estimator_checks_generator(DemographicParityRegressor())
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def drawn(n: int, seed: int, groups: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    code = random.integers(0, groups, n)
    X = random.standard_normal((n, 3))
    X[:, 0] += 1.5 * code
    return X, X.sum(axis=1) + 0.3 * random.standard_normal(n), np.array(["a", "b", "c"])[code]


def unfairness(model: DemographicParityRegressor, X: np.ndarray, y: np.ndarray, group: np.ndarray) -> float:
    codes = np.unique(group, return_inverse=True)[1]
    return get("ks_unfairness")(model.predict_distribution(X), y, codes, ((0, 1),))


@pytest.mark.parametrize("groups", [2, 3])
def test_predictions_of_groups_agree_without_asking_for_the_group(groups: int) -> None:
    X, y, group = drawn(600, 0, groups)
    unlabeled, _, _ = drawn(900, 1, groups)
    test = drawn(1500, 2, groups)
    loose = DemographicParityRegressor(epsilon=np.inf).fit(X, y, sensitive_features=group, X_unlabeled=unlabeled)
    tight = DemographicParityRegressor(epsilon=0.0).fit(X, y, sensitive_features=group, X_unlabeled=unlabeled)
    assert tight.gradient_mapping_ < 1e-6 and not loose.multipliers_.any()
    before, after = unfairness(loose, *test), unfairness(tight, *test)
    assert before > 0.15 and after < before / 3
    weights = 1 - tight.group_classifier_.predict_proba(unlabeled) / tight.shares_
    gaps = weights.T @ tight.predict_distribution(unlabeled).probabilities / len(unlabeled)
    assert np.abs(gaps).max() < 1e-7
    assert list(tight.groups_) == ["a", "b", "c"][:groups]


def test_any_fitted_models_and_data_frames() -> None:
    X, y, group = drawn(500, 0)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    regressor = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    classifier = LogisticRegression().fit(X, group)
    model = DemographicParityRegressor(regressor, classifier, epsilon=0.001, prefit=True).fit(frame, y)
    assert model.regressor_ is regressor and list(model.feature_names_in_) == ["u", "v", "w"]
    assert unfairness(model, frame, y, group) < 0.12
    assert clone(model).get_params()["epsilon"] == 0.001


def test_a_stream_of_unlabeled_rows_adapts_the_predictor() -> None:
    X, y, group = drawn(500, 0)
    model = DemographicParityRegressor(epsilon=0.002, random_state=0).fit(X, y, sensitive_features=group)
    model.multipliers_ = np.zeros_like(model.multipliers_)
    before = unfairness(model, *drawn(1500, 2))
    for seed in range(10, 14):
        model.partial_fit(drawn(400, seed)[0], steps=20_000)
    assert unfairness(model, *drawn(1500, 2)) < 0.5 * before


def test_kinds_of_prediction_and_tolerances_per_group() -> None:
    X, y, group = drawn(400, 3)
    model = DemographicParityRegressor(epsilon=[0.02, 0.001], random_state=0).fit(X, y, sensitive_features=group)
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(distribution.probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict(X), distribution.probabilities @ model.atoms_)
    for kind in ("mode", "sample"):
        assert np.isin(model.set_params(prediction=kind).predict(X), model.atoms_).all()
    assert model.atoms_[0] == y.min() and model.atoms_[-1] == y.max()


def test_without_groups_it_is_the_regressor_on_a_grid() -> None:
    X, y, _ = drawn(2000, 4)
    model = DemographicParityRegressor(beta=1e4, n_half_atoms=100).fit(X, y)
    inside = (LinearRegression().fit(X, y).predict(X) > y.min()) & (LinearRegression().fit(X, y).predict(X) < y.max())
    np.testing.assert_allclose(model.predict(X)[inside], LinearRegression().fit(X, y).predict(X)[inside], atol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prediction": "median"}, "choose from mean, mode, sample"),
        ({"epsilon": -0.1}, "give 0 or a positive number"),
        ({"epsilon": [0.1, 0.1, 0.1]}, "3 entries for 2 groups"),
        ({"beta": 0.0}, "beta is 0.0"),
        ({"bounds": (1.0, 1.0)}, "smallest and the largest"),
        ({"prefit": True}, "there is no regressor"),
    ],
)
def test_unusable_settings_are_refused(options: dict[str, Any], message: str) -> None:
    X, y, group = drawn(60, 5)
    with pytest.raises(InputError, match=message):
        DemographicParityRegressor(**options).fit(X, y, sensitive_features=group)


def test_unusable_groups_are_refused() -> None:
    X, y, group = drawn(60, 5)
    with pytest.raises(InputError, match="one group per row"):
        DemographicParityRegressor().fit(X, y, sensitive_features=group[:50])
    with pytest.raises(InputError, match="all rows are of one group"):
        DemographicParityRegressor().fit(X, y, sensitive_features=["a"] * 60)
