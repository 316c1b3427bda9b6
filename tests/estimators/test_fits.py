"""What is fitted: the optimum without constraints, a satisfied constraint with them, and refusals."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from partialfair.errors import DataError, PartialFairError
from partialfair.estimators import InputError, PartialFairClassifier, frontier
from partialfair.estimators.inputs import random_of, stratified_rows
from partialfair.models.design import GroupedDesign

QUICK = {"inner_steps": [100], "tolerances": [2e-3], "tuning_rounds": 20, "rounds": [30]}


def standard(rows: Any) -> np.ndarray:
    """Features and their interactions with the group, as the model sees them."""
    X = ((rows.X - rows.X.mean()) / rows.X.std()).to_numpy()
    member = (rows.group == "M").astype(float)[:, None]
    return np.hstack([X, member, X * member])


def test_without_a_constraint_the_loss_is_that_of_logistic_regression(rows: Any) -> None:
    model = PartialFairClassifier(kappa=np.inf).fit(rows.X, rows.y, sensitive_features=rows.group)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(standard(rows), rows.y)
    expected = log_loss(rows.y, oracle.predict_proba(standard(rows)))
    found = log_loss(rows.y, model.predict_proba(rows.X, sensitive_features=rows.group))
    assert found == pytest.approx(expected, abs=1e-6)
    assert model.certificate_.objective == pytest.approx(expected, abs=1e-6)
    scores = oracle.decision_function(standard(rows))
    np.testing.assert_allclose(model.decision_function(rows.X, sensitive_features=rows.group), scores, atol=2e-3)


def kept(scores: np.ndarray, low: float, high: float) -> np.ndarray:
    """Scores with ranks in [low, high), written down independently of the package."""
    ranked = np.sort(scores)[::-1]
    return ranked[int(np.ceil(low * scores.size)) : int(np.ceil(high * scores.size))]


@pytest.mark.parametrize("uses_group", [True, False])
@pytest.mark.parametrize(
    "constraint",
    ["partial_statistical_parity", "partial_demographic_parity", "partial_equal_opportunity", "partial_equalized_odds"],
)
def test_a_tolerance_that_the_free_model_meets_changes_nothing(rows: Any, constraint: str, uses_group: bool) -> None:
    """A gap is at most 1, so that .999 is met before anything is asked for."""
    shared = {"uses_group": uses_group, "random_state": 0, "solver": "alm"}
    free = PartialFairClassifier(constraint, kappa=np.inf, **shared).fit(rows.X, rows.y, sensitive_features=rows.group)
    model = PartialFairClassifier(constraint, kappa=0.999, kappa_scale="absolute", **shared)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert model.status_ == "ok"
    assert model.certificate_.objective == pytest.approx(free.certificate_.objective, abs=1e-9)
    known = {"sensitive_features": rows.group} if uses_group else {}
    np.testing.assert_allclose(
        model.decision_function(rows.X, **known), free.decision_function(rows.X, **known), atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:the constraint is not satisfied")
@pytest.mark.parametrize("solver", ["ranks", "alm", "idca"])
def test_the_constraint_holds_on_the_training_rows(rows: Any, solver: str) -> None:
    low, high = 0.1, 0.5
    gaps = {}
    for kappa in (np.inf, 0.1):
        options = QUICK if solver == "idca" and kappa < 1 else None
        model = PartialFairClassifier(
            interval=[(low, high)], kappa=kappa, solver=solver, random_state=0, solver_options=options
        ).fit(rows.X, rows.y, sensitive_features=rows.group)
        scores = model.decision_function(rows.X, sensitive_features=rows.group)
        parts = [kept(scores[rows.group == name], low, high) for name in ("F", "M")]
        gaps[kappa] = ks_2samp(*parts).statistic
    assert gaps[np.inf] > 0.4 and model.train_violation_ == pytest.approx(gaps[0.1], abs=1e-12)
    if solver == "idca":  # it bounds smoothed shares at a grid; the distance of indicators is larger, and it says so
        assert 0.1 < gaps[0.1] < 0.27 and model.status_.startswith("tolerance missed: sp is 0.")
        assert model.thresholds_.shape == (10,)
    else:
        assert gaps[0.1] <= 0.1 + 1e-4 and model.status_ == "ok"
        assert model.thresholds_.shape == ((16,) if solver == "alm" else (0,))


@pytest.mark.parametrize(
    ("constraint", "layouts"), [("partial_statistical_parity", 1), ("partial_equal_opportunity", 2)]
)
def test_rows_are_laid_out_once_where_groups_are_compared_as_a_whole(
    rows: Any, constraint: str, layouts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, build = [], GroupedDesign.build
    monkeypatch.setattr(GroupedDesign, "build", lambda *parts, **named: built.append(1) or build(*parts, **named))
    model = PartialFairClassifier(constraint, interval=[(0.0, 1.0)], kappa=0.05, solver="alm")
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert len(built) == layouts


def test_partial_demographic_parity_holds_at_the_decision_threshold(rows: Any) -> None:
    model = PartialFairClassifier("partial_demographic_parity", [(0.0, 1.0)], 0.02)
    labels = model.fit(rows.X, rows.y, sensitive_features=rows.group).predict(rows.X, sensitive_features=rows.group)
    rates = [np.mean(labels[rows.group == name] == "yes") for name in ("F", "M")]
    free = PartialFairClassifier(constraint=None).fit(rows.X, rows.y, sensitive_features=rows.group)
    loose = free.predict(rows.X, sensitive_features=rows.group)
    assert abs(rates[0] - rates[1]) <= 0.02 + 1e-9
    assert abs(np.mean(loose[rows.group == "F"] == "yes") - np.mean(loose[rows.group == "M"] == "yes")) > 0.25


def test_a_model_that_does_not_use_the_group_predicts_without_it_and_costs_loss(rows: Any) -> None:
    blind = PartialFairClassifier(kappa=0.4, uses_group=False).fit(rows.X, rows.y, sensitive_features=rows.group)
    aware = PartialFairClassifier(kappa=0.4).fit(rows.X, rows.y, sensitive_features=rows.group)
    np.testing.assert_allclose(
        blind.decision_function(rows.X), blind.decision_function(rows.X, sensitive_features=rows.group)
    )
    assert blind.certificate_.objective > aware.certificate_.objective
    with pytest.raises(InputError, match="uses_group=False"):
        aware.predict(rows.X)


def test_frontier_is_monotone_in_the_loss_and_warm_starts_agree_with_cold_ones(rows: Any) -> None:
    path = frontier(
        PartialFairClassifier(interval=[(0.1, 0.6)], random_state=1), rows.X, rows.y,
        sensitive_features=rows.group, kappas=(np.inf, 0.3, 0.1, 0.05),
    )  # fmt: skip
    table = path.table
    assert list(table["kappa"]) == [np.inf, 0.3, 0.1, 0.05]
    assert all(a <= b + 1e-5 for a, b in itertools.pairwise(table["objective"]))
    assert table["train_sp"].is_monotonic_decreasing and (table["train_sp"] <= table["kappa"] + 1e-4).all()
    assert (table["status"] == "ok").all()
    assert {"validation_accuracy", "validation_sp", "true_violation", "surrogate_violation"} <= set(table.columns)
    scores = path.estimators[-1].decision_function(rows.X, sensitive_features=rows.group)
    assert scores.shape == (len(rows.y),)
    figure = path.plot()
    assert [line.get_label() for line in figure.axes[0].lines] == ["train rows", "validation rows"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"validation_fraction": "a"}, "validation_fraction is 'a'; use a number between 0 and 1"),
        ({"kappas": 0.1}, "kappas is 0.1; use a list"),
    ],
)
def test_unsuitable_settings_of_a_path_are_refused(rows: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        frontier(PartialFairClassifier(), rows.X, rows.y, sensitive_features=rows.group, **options)
    with pytest.raises(InputError, match="C is 'a'"):
        frontier(PartialFairClassifier(C="a"), rows.X, rows.y, sensitive_features=rows.group)  # type: ignore[arg-type]


def test_kappa_path_of_one_equals_fit_on_the_same_rows(rows: Any) -> None:
    estimator = PartialFairClassifier(interval=[(0.1, 0.6)], random_state=1)
    path = frontier(estimator, rows.X, rows.y, sensitive_features=rows.group, kappas=[0.3, 0.1])
    cold = frontier(estimator, rows.X, rows.y, sensitive_features=rows.group, kappas=[0.1])
    assert path.table["objective"].iloc[1] == pytest.approx(cold.table["objective"].iloc[0], abs=2e-3)


def test_a_path_without_held_out_rows_fits_all_of_them(rows: Any) -> None:
    whole = PartialFairClassifier("partial_demographic_parity", kappa=0.1, random_state=1)
    path = frontier(whole, rows.X, rows.y, sensitive_features=rows.group, kappas=[0.3, 0.1], validation_fraction=0)
    alone = whole.fit(rows.X, rows.y, sensitive_features=rows.group)
    np.testing.assert_array_equal(path.estimators[-1].coef_, alone.coef_)
    assert not [name for name in path.table if name.startswith("validation")]
    assert [line.get_label() for line in path.plot().axes[0].lines] == ["train rows"]
    with pytest.raises(InputError, match="or 0 for none"):
        frontier(whole, rows.X, rows.y, sensitive_features=rows.group, validation_fraction=-0.1)


def test_labels_of_a_path_may_be_one_column(rows: Any) -> None:
    shared: dict[str, Any] = {"sensitive_features": rows.group, "kappas": [0.3]}
    estimator = PartialFairClassifier(interval=[(0.1, 0.6)], random_state=1)
    tables = [frontier(estimator, rows.X, rows.y, **shared).table]
    for y in (rows.y[:, None], pd.DataFrame({"y": rows.y})):
        with pytest.warns(DataConversionWarning):
            tables.append(frontier(estimator, rows.X, y, **shared).table)
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table.drop(columns="seconds"), tables[0].drop(columns="seconds"))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"interval": [(0.5, 0.2)]}, ["[0.5, 0.2]", "alpha < beta"]),
        ({"kappa": -1}, ["kappa is -1", "positive"]),
        ({"kappa_scale": "relativ"}, ["'relativ'", "absolute"]),
        ({"constraint": "partial_statistical_party"}, ["did you mean 'partial_statistical_parity'"]),
        ({"solver": "idaca"}, ["did you mean 'idca'"]),
        ({"solver": "idca", "validation_fraction": 1.5}, ["validation_fraction is 1.5"]),
        ({"solver": "alm", "solver_options": {"roundz": 3}}, ["roundz", "settings are"]),
        ({"solver_options": {"rounds": 3}}, ["solver_options", "'ranks' has no settings", "solver='alm'"]),
        ({"C": 0}, ["C is 0", "positive"]),
        ({"solver": "ranks", "uses_group": False}, ["'ranks'", "the group known at prediction"]),
        ({"solver": "parity"}, ["'parity'", "whole range"]),
        ({"solver": "thresholds"}, ["'thresholds'", "demographic parity"]),
        ({"interval": [[(0, 1)], [(0, 1)], [(0, 1)]]}, ["3 groups", "2"]),
        ({"interval": 5}, ["interval: 5", "[[alpha, beta]]"]),
        ({"C": "a"}, ["C is 'a'", "positive"]),
        ({"C": np.nan}, ["C is nan", "positive"]),
        ({"grid": "3"}, ["grid is '3'", "a whole number of at least 1"]),
        ({"grid": 2.5}, ["grid is 2.5", "a whole number of at least 1"]),
        ({"validation_fraction": "a"}, ["validation_fraction is 'a'", "between 0 and 1"]),
        ({"class_weight": {"yes": -1, "no": 1}}, ["class_weight of 'yes' is -1", "not negative"]),
        ({"class_weight": {"yes": "a", "no": 1}}, ["class_weight of 'yes' is 'a'", "not negative"]),
        ({"class_weight": [1, 2]}, ["class_weight is [1, 2]", "from label to weight"]),
        ({"solver_options": [1]}, ["solver_options is [1]", "mapping"]),
    ],
)
def test_unsuitable_settings_are_refused_in_one_sentence(rows: Any, change: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        PartialFairClassifier(**change).fit(rows.X, rows.y, sensitive_features=rows.group)
    assert isinstance(caught.value, PartialFairError) and isinstance(caught.value, ValueError)
    assert all(part in str(caught.value) for part in parts), caught.value
    assert "\n" not in str(caught.value)


def test_a_small_group_is_refused_by_name_size_and_interval(rows: Any) -> None:
    group = np.where(np.arange(len(rows.y)) < 4, "X", rows.group)
    with pytest.raises(InputError, match=r"group 'X' has 4 training rows, of which .* 0-0.2 keeps 1; .*widen"):
        PartialFairClassifier(interval=[(0, 0.2)]).fit(rows.X, rows.y, sensitive_features=group)


def test_a_group_without_positive_rows_is_refused_by_equal_opportunity(rows: Any) -> None:
    group = np.where((np.arange(len(rows.y)) < 60) & (rows.y == "no"), "X", rows.group)
    with pytest.raises(InputError, match="group 'X' has 0 training rows with label 'yes'"):
        PartialFairClassifier("partial_equal_opportunity").fit(rows.X, rows.y, sensitive_features=group)


def test_groups_are_checked(rows: Any) -> None:
    one = np.full(len(rows.y), "F")
    with pytest.raises(InputError, match="all rows are of one group, 'F'"):
        PartialFairClassifier().fit(rows.X, rows.y, sensitive_features=one)
    with pytest.raises(InputError, match="has 3 rows, X has"):
        PartialFairClassifier().fit(rows.X, rows.y, sensitive_features=rows.group[:3])
    missing = rows.group.astype(object)
    missing[7] = None
    with pytest.raises(DataError, match="no value in row 7"):
        PartialFairClassifier().fit(rows.X, rows.y, sensitive_features=missing)
    lists = np.empty(len(rows.y), object)
    lists[:] = [[group] for group in rows.group]
    for refuse in (PartialFairClassifier().fit, partial(frontier, PartialFairClassifier())):
        with pytest.raises(
            InputError, match="sensitive_features: column .* has a collection of values in row 0; write one text"
        ):
            refuse(rows.X, rows.y, sensitive_features=lists)
    model = PartialFairClassifier().fit(rows.X, rows.y, sensitive_features=rows.group)
    with pytest.raises(InputError, match="has a collection of values in row 0"):
        model.predict(rows.X, sensitive_features=lists)
    with pytest.raises(InputError, match="group 'Z' in row 2 was not among"):
        model.predict(rows.X[:3], sensitive_features=["F", "M", "Z"])


def test_idca_is_repeatable_with_a_seed(rows: Any) -> None:
    fits = [
        PartialFairClassifier(solver="idca", random_state=seed, solver_options=QUICK, kappa=0.2)
        .fit(rows.X, rows.y, sensitive_features=rows.group)
        .model_.weights
        for seed in (3, 3, 4)
    ]
    assert np.array_equal(fits[0], fits[1]) and not np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("settings", [{"C": 1e-3}, {"class_weight": "balanced"}])
def test_a_path_weighs_loss_and_penalty_as_a_fit_on_its_rows(rows: Any, settings: dict[str, Any]) -> None:
    """Rows that are held out are no part of it, not even by their number."""
    base = PartialFairClassifier(kappa=np.inf, random_state=3, **settings)
    path = frontier(
        base, rows.X, rows.y, sensitive_features=rows.group, kappas=(np.inf,), validation_fraction=0.5
    )  # fmt: skip
    y, group = np.asarray(rows.y), np.asarray(rows.group)
    labels, codes = np.unique(y, return_inverse=True)[1], np.unique(group, return_inverse=True)[1]
    kept, _ = stratified_rows(2 * codes + labels, 0.5, random_of(3))
    alone = base.fit(rows.X.iloc[kept], y[kept], sensitive_features=group[kept])
    scores = [model.decision_function(rows.X, sensitive_features=rows.group) for model in (path.estimators[0], alone)]
    np.testing.assert_allclose(*scores, atol=1e-6)
