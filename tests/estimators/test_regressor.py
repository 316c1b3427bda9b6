"""The parity regressor: scikit-learn's checks, the tolerance with the group and without, streams, and refusals."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from partialfair.algorithms.measure import OK
from partialfair.estimators import DemographicParityRegressor, InputError, UnconstrainedWarning
from partialfair.estimators.parity_status import Asked, deviation_band, deviations
from partialfair.metrics import get

CHECKS = [
    pytest.param(own, check, id=f"{'aware' if own.uses_group else 'blind'}-{check.func.__name__}")
    for uses_group in (False, True)
    for own, check in estimator_checks_generator(DemographicParityRegressor(uses_group=uses_group))
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
    tight = DemographicParityRegressor(epsilon=0.0, tolerance="atom").fit(
        X, y, sensitive_features=group, X_unlabeled=unlabeled
    )
    assert tight.gradient_mapping_ < 1e-6 and not loose.multipliers_.any()
    before, after = unfairness(loose, *test), unfairness(tight, *test)
    assert before > 0.15 and after < before / 3
    weights = 1 - tight.group_classifier_.predict_proba(unlabeled) / tight.shares_
    gaps = weights.T @ tight.predict_distribution(unlabeled).probabilities / len(unlabeled)
    assert np.abs(gaps).max() < 1e-7
    assert list(tight.groups_) == ["a", "b", "c"][:groups]


def distance(values: np.ndarray, group: np.ndarray) -> float:
    return max(ks_2samp(values[group == a], values[group == b]).statistic for a, b in combinations(np.unique(group), 2))


@pytest.mark.parametrize(("n", "groups"), [(700, 2), (700, 3), (12_000, 2)])
def test_epsilon_is_the_distance_between_groups_and_predictions_keep_to_it(n: int, groups: int) -> None:
    X, y, group = drawn(n, 0, groups)
    model = DemographicParityRegressor(epsilon=0.06).fit(X, y, sensitive_features=group)
    assert 0.05 < model.ks_ <= 0.06 + 1e-6 < 0.25 < model.base_ks_ and model.multipliers_.any()
    assert model.atoms_.size <= 101 and model.status_ == "ok"
    probabilities = model.group_classifier_.predict_proba(X)
    shares = probabilities.T @ model.predict_distribution(X).probabilities / probabilities.sum(axis=0)[:, None]
    assert model.ks_ == pytest.approx(np.ptp(np.cumsum(shares, axis=1), axis=0).max(), abs=1e-12)
    predicted, free = model.predict(X), LinearRegression().fit(X, y).predict(X)
    assert model.train_ks_ == pytest.approx(distance(predicted, group), abs=1e-12)
    assert model.train_ks_ < 0.06 + model.sampling_band_ < distance(free, group)
    assert np.array_equal(model.predict(X), predicted)  # draws repeat themselves, in any order of the rows
    order = np.random.default_rng(0).permutation(n)
    assert np.array_equal(model.predict(X[order]), predicted[order])
    spread = np.abs(predicted - model.predict(X, lots=np.random.default_rng(0).random(n)))
    assert 0 < np.quantile(spread, 0.9) < 0.15 * np.ptp(free)  # the lots move a prediction by few atoms


def test_other_seeds_and_lots_give_other_draws_and_unusable_lots_are_refused() -> None:
    X, y, group = drawn(600, 0)
    one, other = (DemographicParityRegressor(random_state=k).fit(X, y, sensitive_features=group) for k in (1, 2))
    assert not np.array_equal(one.predict(X), other.predict(X))
    lots = np.full(600, 0.5)
    np.testing.assert_allclose(one.predict(X, lots=lots), other.predict(X, lots=lots))
    for wrong in (lots[:5], lots + 0.5):
        with pytest.raises(InputError, match="600 numbers from 0 to below 1"):
            one.predict(X, lots=wrong)


@pytest.mark.parametrize("groups", [2, 3])
def test_with_the_group_predictions_keep_to_epsilon_at_less_risk(groups: int) -> None:
    X, y, group = drawn(3000, 0, groups)
    test = drawn(3000, 1, groups)
    risks = []
    for epsilon in (0.0, 0.06, 0.15):
        model = DemographicParityRegressor(epsilon=epsilon, uses_group=True).fit(X, y, sensitive_features=group)
        assert model.train_ks_ == model.ks_ <= epsilon + 2e-3 < 0.25 < model.base_ks_ and model.status_ == "ok"
        predicted = model.predict(test[0], sensitive_features=test[2])
        assert distance(predicted, test[2]) < epsilon + 1.5 * model.sampling_band_
        assert np.array_equal(model.predict(test[0], sensitive_features=test[2]), predicted)
        risks.append(np.mean((predicted - test[1]) ** 2))
    assert risks[0] > 1.2 * risks[1] > 1.2**2 * risks[2]
    blind = DemographicParityRegressor(epsilon=0.06).fit(X, y, sensitive_features=group)
    assert risks[1] < 0.7 * np.mean((blind.predict(test[0]) - test[1]) ** 2)
    assert model.score(*test[:2], sensitive_features=test[2]) == pytest.approx(1 - risks[2] / test[1].var())
    with pytest.raises(InputError, match="pass the groups"):
        model.predict(test[0])
    with pytest.raises(InputError, match="'z' in row 0"):
        model.predict(test[0][:1], sensitive_features=["z"])


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_group_of_a_few_rows_is_not_said_to_be_within_epsilon(rows: int) -> None:
    X, y, group = drawn(1000, 0)
    group = group.astype("U1")
    group[:rows] = "z"
    with (
        pytest.warns(ConvergenceWarning, match="a group has few rows: merge it"),
        pytest.warns(UserWarning, match=f"a group has {rows} labeled rows, which may lie"),
    ):
        model = DemographicParityRegressor(epsilon=0.05, uses_group=True).fit(X, y, sensitive_features=group)
    assert model.ks_ > 0.15 and model.status_.startswith("tolerance missed") and 0.7 < model.sampling_band_ <= 1


def test_what_is_returned_is_what_the_status_speaks_of() -> None:
    X, y, group = drawn(3000, 0)
    with pytest.warns(ConvergenceWarning, match="use prediction='sample'"):
        means = DemographicParityRegressor(prediction="mean", beta=1.0, n_half_atoms=15).fit(
            X, y, sensitive_features=group
        )
    assert means.ks_ < 0.05 + 1e-6 and means.train_ks_ > 0.15 and means.status_.startswith("tolerance missed")
    two = np.random.default_rng(0).random((3000, 1)) < np.where(group == "b", 0.7, 0.3)[:, None]  # rows of two kinds
    two = two.astype(float)
    with pytest.warns(ConvergenceWarning, match="rows may repeat: pass lots"):
        same = DemographicParityRegressor(uses_group=True).fit(two, two.ravel(), sensitive_features=group)
    assert same.train_ks_ > 0.15
    lots = np.random.default_rng(1).random(3000)
    assert distance(same.predict(two, sensitive_features=group, lots=lots), group) < 0.08


def by_atom(values: np.ndarray, weights: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Largest deviation of each group's share of an atom from the overall share, written down independently."""
    nearest = np.abs(values[:, None] - atoms).argmin(axis=1)
    shares = np.array([[(w * (nearest == j)).sum() / w.sum() for j in range(atoms.size)] for w in weights.T])
    return np.abs(shares - np.bincount(nearest, minlength=atoms.size) / len(values)).max(axis=1)


def test_the_status_of_the_papers_tolerance_is_measured_on_the_atoms() -> None:
    X, y, group = drawn(3000, 0, 3)
    asked: dict[str, Any] = {"epsilon": [0.01, 0.002, 0.005], "tolerance": "atom", "n_half_atoms": 10}
    drawer = DemographicParityRegressor(**asked).fit(X, y, sensitive_features=group)
    tau = drawer.group_classifier_.predict_proba(X)
    probabilities = drawer.predict_distribution(X).probabilities
    gaps = np.abs((tau.T @ probabilities) / tau.sum(axis=0)[:, None] - probabilities.mean(axis=0)).max(axis=1)
    np.testing.assert_allclose(drawer.deviations_, gaps, atol=1e-12)
    assert drawer.status_ == "ok" and (gaps <= np.array(asked["epsilon"]) + 1e-6).all() and gaps.max() > 0.002
    members = (group[:, None] == drawer.groups_).astype(float)
    assert by_atom(drawer.predict(X), members, drawer.atoms_).max() < 0.05
    for kind in ("mean", "mode"):
        model = DemographicParityRegressor(**asked, prediction=kind, beta=1.0)
        with pytest.warns(ConvergenceWarning, match="an atom in group .* asks for .*; use prediction='sample'"):
            model.fit(X, y, sensitive_features=group)
        np.testing.assert_allclose(model.deviations_, by_atom(model.predict(X), tau, model.atoms_), atol=1e-12)
        assert model.status_.startswith("tolerance missed") and (model.deviations_ > asked["epsilon"]).any()


def test_shares_of_atoms_are_measured_by_the_groups_that_were_passed_too() -> None:
    X, y, group = drawn(3000, 0)
    model = DemographicParityRegressor(None, DummyClassifier(), epsilon=0.01, tolerance="atom", n_half_atoms=5)
    with pytest.warns(ConvergenceWarning, match="from that of the labeled rows, .* samples of these sizes explain"):
        model.fit(X, y, sensitive_features=group)
    assert model.deviations_.max() < 1e-9
    members = (group[:, None] == model.groups_).astype(float)
    assert f"lies {by_atom(model.predict(X), members, model.atoms_).max():.3g} from" in model.status_


def test_groups_of_one_distribution_lie_beyond_the_band_in_one_sample_of_twenty_at_most() -> None:
    """The band is of all atoms and groups at once: beyond that of one atom of one group most of these samples lie."""
    samples = np.random.default_rng(0).multinomial(400, np.full(8, 1 / 8), size=(1000, 6)).astype(float)
    beyond = np.mean([deviations(sums).max() > deviation_band(sums) for sums in samples])
    assert 0.005 < beyond <= 0.05


def test_shares_of_atoms_on_further_rows_enter_the_status() -> None:
    X, y, group = drawn(1000, 0)
    model = DemographicParityRegressor(epsilon=0.01, tolerance="atom").fit(X, y, sensitive_features=group)
    more = drawn(1000, 1)[0]
    assert model.partial_fit(more).status_ == "ok"
    both = np.concatenate([X, more])
    tau, probabilities = model.group_classifier_.predict_proba(both), model.predict_distribution(both).probabilities
    gaps = (tau.T @ probabilities) / tau.sum(axis=0)[:, None] - probabilities.mean(axis=0)
    np.testing.assert_allclose(model.deviations_, np.abs(gaps).max(axis=1), atol=1e-12)


@pytest.mark.parametrize("kind", ["mean", "mode"])
def test_means_and_modes_are_measured_where_no_groups_are_passed(kind: Any) -> None:
    X, y, group = drawn(3000, 0)
    models = LinearRegression().fit(X, y), LogisticRegression().fit(X, group)
    model = DemographicParityRegressor(*models, prefit=True, prediction=kind, beta=1.0, n_half_atoms=15)
    with pytest.warns(ConvergenceWarning, match=f"the {kind}s of .* predictions lie .* use prediction='sample'"):
        model.fit(X, y)
    assert model.ks_ < 0.05 + 1e-6 and model.train_ks_ is None and model.status_.startswith("tolerance missed")


def test_a_tolerance_that_allows_everything_is_said_to() -> None:
    X, y, group = drawn(400, 0)
    with pytest.warns(UserWarning, match="nothing is constrained.*0.[4-9]"):
        DemographicParityRegressor(epsilon=0.9).fit(X, y, sensitive_features=group)


def test_any_fitted_models_and_data_frames() -> None:
    X, y, group = drawn(500, 0)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    regressor = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    classifier = LogisticRegression().fit(X, group)
    model = DemographicParityRegressor(regressor, classifier, epsilon=0.02, prefit=True).fit(frame, y)
    assert model.regressor_ is regressor and list(model.feature_names_in_) == ["u", "v", "w"]
    assert unfairness(model, frame, y, group) < 0.12
    assert clone(model).get_params()["epsilon"] == 0.02


@pytest.mark.parametrize("uses_group", [True, False])
def test_ensembles_that_are_not_fitted_yet(uses_group: bool) -> None:
    """They have a length, and asking for it raises an error."""
    X, y, group = drawn(300, 0)
    forests = (RandomForestRegressor(5, random_state=0), RandomForestClassifier(5, random_state=0))
    model = DemographicParityRegressor(*forests, uses_group=uses_group, epsilon=0.1)
    model.fit(X, y, sensitive_features=group)
    assert isinstance(model.regressor_, RandomForestRegressor) and len(model.regressor_) == 5
    assert uses_group or isinstance(model.group_classifier_, RandomForestClassifier)


def test_missing_values_are_for_the_regressor_to_take() -> None:
    X, y, group = drawn(400, 0)
    X[::7, 1] = np.nan
    model = DemographicParityRegressor(HistGradientBoostingRegressor(max_iter=10), uses_group=True, epsilon=0.1)
    assert np.isfinite(model.fit(X, y, sensitive_features=group).predict(X, sensitive_features=group)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        DemographicParityRegressor(epsilon=0.1).fit(X, y, sensitive_features=group)


def test_missing_values_are_for_a_pipeline_to_take() -> None:
    X, y, group = drawn(400, 0)
    missing = X.copy()
    missing[::7, 1] = np.nan
    imputed = make_pipeline(SimpleImputer(), LinearRegression())
    model = DemographicParityRegressor(imputed, uses_group=True, epsilon=0.1)
    assert np.isfinite(model.fit(missing, y, sensitive_features=group).predict(missing, sensitive_features=group)).all()
    blind = DemographicParityRegressor(imputed, make_pipeline(SimpleImputer(), LogisticRegression()), epsilon=0.1)
    assert np.isfinite(blind.fit(missing, y, sensitive_features=group).predict(missing)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        DemographicParityRegressor(LinearRegression(), uses_group=True).fit(missing, y, sensitive_features=group)
    with pytest.raises(InputError, match="the regressor predicts nan in row 0; use one"):
        DemographicParityRegressor(FirstButOne(), prefit=True, uses_group=True).fit(
            missing, y, sensitive_features=group
        )


class FirstButOne:
    """A fitted regressor that predicts a column."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 1]


@pytest.mark.parametrize(
    ("regressor", "takes"),
    [
        (None, False),
        (LinearRegression(), False),
        (HistGradientBoostingRegressor(), True),
        (make_pipeline(SimpleImputer(), LinearRegression()), True),
        (make_pipeline(StandardScaler(), LinearRegression()), False),
        (make_pipeline(StandardScaler(), "passthrough", HistGradientBoostingRegressor()), True),
        (FirstButOne(), False),
    ],
)
def test_the_tag_of_missing_values_is_the_regressors(regressor: Any, takes: bool) -> None:
    assert get_tags(DemographicParityRegressor(regressor)).input_tags.allow_nan is takes


def test_with_fitted_models_the_range_of_the_labels_is_used_and_groups_are_not_asked_for() -> None:
    X, y, group = drawn(500, 0)
    models = LinearRegression().fit(X, y), LogisticRegression().fit(X, group)
    found = [
        DemographicParityRegressor(*models, prefit=True).fit(X, labels).predict(X)
        for labels in (y, np.linspace(y.min(), y.max(), 500))
    ]
    assert np.array_equal(*found)


def test_a_stream_of_unlabeled_rows_adapts_the_predictor() -> None:
    X, y, group = drawn(500, 0)
    model = DemographicParityRegressor(random_state=0).fit(X, y, sensitive_features=group)
    moved = [
        X_ + np.array([1.0, 0.0, 0.0]) * (group_ == "b")[:, None] for X_, _, group_ in (drawn(4000, 2), drawn(4000, 3))
    ]
    before = distance(model.predict(moved[1]), drawn(4000, 3)[2])
    for rows in np.array_split(moved[0], 4):
        model.partial_fit(rows)
    assert distance(model.predict(moved[1]), drawn(4000, 3)[2]) < before - 0.05
    kept = model._grid.representatives
    assert len(kept[0]) == 4500  # the rows of fit are among them


def test_a_stream_with_groups_makes_nearly_the_maps_of_all_rows() -> None:
    X, y, group = drawn(6000, 0)
    regressor = LinearRegression().fit(X, y)
    settings: dict[str, Any] = {"regressor": regressor, "prefit": True, "uses_group": True}
    whole = DemographicParityRegressor(**settings).fit(X, y, sensitive_features=group)
    stream = DemographicParityRegressor(**settings)
    for part in np.array_split(np.arange(6000), 3):
        stream.partial_fit(X[part], y[part], sensitive_features=group[part])
    gap = whole.predict(X, sensitive_features=group) - stream.predict(X, sensitive_features=group)
    assert np.abs(gap).mean() < 0.02 * y.std()
    assert stream.shares_ == pytest.approx(whole.shares_)


@pytest.mark.filterwarnings("ignore:a group has")
def test_a_call_that_lacks_a_group_is_not_measured() -> None:
    X, y, group = drawn(400, 0)
    model = DemographicParityRegressor(uses_group=True).fit(X, y, sensitive_features=group)
    with pytest.warns(ConvergenceWarning, match="not measured: a group has no row in this call"):
        model.partial_fit(X[group == "a"], sensitive_features=group[group == "a"])
    assert model.status_.startswith("not measured") and np.isnan(model.ks_)


@pytest.mark.parametrize("uses_group", [True, False])
@pytest.mark.parametrize("weight", [0.1, 1e-3, 2.0**40])
@pytest.mark.filterwarnings("ignore:nothing is constrained")
def test_equal_weights_are_no_weights(uses_group: bool, weight: float) -> None:
    X, y, group = drawn(300, 0)
    plain, weighted = (
        DemographicParityRegressor(epsilon=0.1, uses_group=uses_group).fit(X, y, sensitive_features=group, **options)
        for options in ({}, {"sample_weight": np.full(300, weight)})
    )
    assert weighted.status_ == OK
    assert (weighted.ks_, weighted.sampling_band_) == pytest.approx((plain.ks_, plain.sampling_band_))


def test_weights_miss_no_tolerance_by_their_unit_and_a_group_of_none_is_named() -> None:
    X, y, group = drawn(300, 0)
    weights = np.random.default_rng(0).random(300) + 0.1
    for unit in (1.0, 1e-6, 1e12):
        model = DemographicParityRegressor(epsilon=0.1, uses_group=True)
        assert model.fit(X, y, sensitive_features=group, sample_weight=unit * weights).status_ == OK
    with pytest.raises(InputError, match="sample_weight: group 'a' has a share of .* too little to be counted"):
        model.fit(X, y, sensitive_features=group, sample_weight=np.where(group == "a", 1e-7, 1.0))
    with pytest.raises(InputError, match="sample_weight: -1 in row 0 is no weight"):
        model.score(X, y, -np.ones(300), sensitive_features=group)


def test_kinds_of_prediction_and_tolerances_per_group() -> None:
    X, y, group = drawn(400, 3)
    model = DemographicParityRegressor(epsilon=[0.02, 0.001], tolerance="atom", prediction="mean", random_state=0)
    model.fit(X, y, sensitive_features=group)
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(distribution.probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict(X), distribution.probabilities @ model.atoms_)
    for kind in ("mode", "sample"):
        assert np.isin(model.set_params(prediction=kind).predict(X), model.atoms_).all()
    assert model.atoms_[0] == y.min() and model.atoms_[-1] == y.max()


@pytest.mark.parametrize("uses_group", [False, True])
def test_where_nothing_is_constrained_it_is_the_regressor(uses_group: bool) -> None:
    X, y, group = drawn(400, 4)
    free = LinearRegression().fit(X, y).predict(X)
    with pytest.warns(UnconstrainedWarning, match="pass the groups"):
        model = DemographicParityRegressor(uses_group=uses_group).fit(X, y)
    assert np.array_equal(model.predict(X), free)
    with pytest.warns(UserWarning, match="nothing is constrained"):
        model = DemographicParityRegressor(epsilon=0.9, uses_group=uses_group).fit(X, y, sensitive_features=group)
    found = model.predict(X, sensitive_features=group)
    base = LinearRegression().fit(np.column_stack([X, group == "b"]), y).predict(np.column_stack([X, group == "b"]))
    np.testing.assert_allclose(found, base if uses_group else free)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prediction": "median"}, "choose from sample, mean, mode"),
        ({"tolerance": "rank"}, "choose from ks, atom"),
        ({"epsilon": [0.1, 0.1]}, "which only tolerance='atom' takes"),
        ({"epsilon": -0.1}, "use 0 or a positive number"),
        ({"epsilon": [0.1, 0.1, 0.1], "tolerance": "atom"}, "3 entries for 2 groups"),
        ({"epsilon": 10**400}, "epsilon is a number beyond double precision; use 0 or a positive number"),
        ({"epsilon": "a"}, "epsilon is 'a'; use 0 or a positive number"),
        ({"beta": 0.0}, "beta is 0.0"),
        ({"beta": "a"}, "beta is 'a'; use a positive number"),
        ({"n_half_atoms": 3.5}, "n_half_atoms is 3.5; use a whole number of at least 1"),
        ({"bounds": (1.0, 1.0)}, "smallest and the largest"),
        ({"bounds": (1,)}, r"bounds are \(1,\); use the smallest and the largest"),
        ({"bounds": ("a", 1)}, r"bounds are \('a', 1\); use the smallest and the largest"),
        ({"prefit": True}, "there is no regressor"),
        ({"uses_group": True, "tolerance": "atom"}, "use tolerance='ks' with uses_group"),
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
    lists = np.empty(60, object)
    lists[:] = [[one] for one in group]
    with pytest.raises(InputError, match="has a collection of values in row 0"):
        DemographicParityRegressor().fit(X, y, sensitive_features=lists)


def test_groups_of_a_fitted_classifier_keep_its_order() -> None:
    """Numbers sort otherwise as numbers than as text."""
    X, y, group = drawn(3000, 0)
    number = np.where(group == np.unique(group)[0], 2, 10)
    fitted = [LinearRegression().fit(X, y), LogisticRegression(max_iter=1000).fit(X, number)]
    text = LogisticRegression(max_iter=1000).fit(X, np.where(number == 2, "a", "b"))
    found = []
    for classifier, groups in ((fitted[1], number), (text, np.where(number == 2, "a", "b"))):
        model = DemographicParityRegressor(
            fitted[0], classifier, prefit=True, tolerance="atom", epsilon=[0.001, 0.5], random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(model.fit(X, y, sensitive_features=groups))
    assert found[0].status_ == found[1].status_.replace("'a'", "'2'").replace("'b'", "'10'")
    np.testing.assert_array_equal(found[0]._codes(3000, number), (number == 10).astype(int))
    fitted[1].classes_ = fitted[1].classes_.astype(float)  # a group's name is "2" all the same
    np.testing.assert_array_equal(found[0]._codes(3000, number.astype(float)), (number == 10).astype(int))


@pytest.mark.parametrize("uses_group", [False, True])
def test_columns_keep_their_names(uses_group: bool) -> None:
    """A fitted regressor would take columns in another order for its own; a pipeline may choose columns by name."""
    values, y, group = drawn(600, 0)
    X = pd.DataFrame(values * [1, 10, 100], columns=["a", "b", "c"])
    free = LinearRegression().fit(X, y)
    own = DemographicParityRegressor(free, epsilon=0.2, prefit=True, uses_group=uses_group)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        own.fit(X, y, sensitive_features=group)
        groups = {"sensitive_features": group} if uses_group else {}
        own.predict(X, **groups)
    with pytest.raises(ValueError, match="feature names should match"):
        DemographicParityRegressor(free, prefit=True, uses_group=uses_group).fit(
            X[["c", "b", "a"]], y, sensitive_features=group
        )
    nameless = DemographicParityRegressor(LinearRegression().fit(X.to_numpy(), y), epsilon=0.2, prefit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        nameless.set_params(uses_group=uses_group).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(nameless.predict(X, **groups), own.predict(X, **groups))
    by_name = make_pipeline(make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough"), free)
    classifier = make_pipeline(
        make_column_transformer((StandardScaler(), ["b"]), remainder="passthrough"), LogisticRegression(max_iter=1000)
    )
    chosen = DemographicParityRegressor(by_name, classifier, epsilon=0.2, uses_group=uses_group)
    plain = DemographicParityRegressor(epsilon=0.2, uses_group=uses_group)
    scores = [model.fit(X, y, sensitive_features=group).score(X, y, **groups) for model in (chosen, plain)]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


def test_where_no_atom_is_constrained_its_share_is_named() -> None:
    X, y, group = drawn(400, 4)
    with pytest.warns(UserWarning, match="shares of an atom lie at most 0.[0-9]+ from the overall one") as found:
        model = DemographicParityRegressor(epsilon=0.9, tolerance="atom").fit(X, y, sensitive_features=group)
    assert f"{float(np.max(model.deviations_)):.3g}" in str(found[-1].message)


def test_the_band_of_a_status_is_counted_once():
    asked = Asked("sample", True)
    assert asked.of_distances(0.05, 0.05, 0.149, 0.05, 0.1, 0.0) == OK
    assert "labeled rows lie 0.151 apart" in asked.of_distances(0.05, 0.05, 0.151, 0.05, 0.1, 0.0)


def test_more_groups_than_can_be_made_alike_in_time_are_refused() -> None:
    """An identifier in place of a group ran for ever."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    with pytest.raises(InputError, match=r"has 60 groups; without the group at prediction at most 50 are made alike"):
        DemographicParityRegressor().fit(X, X.sum(1), sensitive_features=np.arange(600) % 60)
    DemographicParityRegressor(uses_group=True).fit(X, X.sum(1), sensitive_features=np.arange(600) % 60)
