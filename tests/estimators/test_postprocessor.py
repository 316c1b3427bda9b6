"""Maps behind any classifier: scikit-learn's checks, the constraint, and scores from elsewhere."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator

from partialfair.audit import audit_scores
from partialfair.estimators import InputError, PartialFairPostProcessor, UnconstrainedWarning
from partialfair.models.stored import load_model

CHECKS = [
    pytest.param(own, check, id=f"{own.uses_group}-{check.func.__name__}")
    for estimator in (PartialFairPostProcessor(), PartialFairPostProcessor(uses_group=False))
    for own, check in estimator_checks_generator(estimator)
    if check.func.__name__ != "check_array_api_input"
]
BOTTOM = [(0.5, 1.0)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "classifier", [HistGradientBoostingClassifier(max_iter=20, random_state=0), LinearSVC()], ids=["trees", "svm"]
)
def test_scores_of_any_classifier_meet_kappa_where_the_maps_were_made(make_rows: Any, classifier: Any) -> None:
    rows = make_rows(4000)
    model = PartialFairPostProcessor(classifier, BOTTOM, 0.06, "absolute", prefit=True)
    classifier.fit(rows.X[:2000], rows.y[:2000])
    X, y, group = rows.X[2000:], rows.y[2000:], rows.group[2000:]
    model.fit(X, y, sensitive_features=group)
    scores = model.decision_function(X, sensitive_features=group)
    audit = audit_scores(scores, group, y == "yes", interval=BOTTOM)
    assert audit.metric("rank_gap") == pytest.approx(model.train_violation_, abs=1e-12)
    assert model.train_violation_ <= 0.06 and model.status_ == "ok" and model.estimator_ is classifier
    before = model._scores(X)
    assert audit_scores(before, group, y == "yes", interval=BOTTOM).metric("rank_gap") > 0.2
    for k in ("F", "M"):
        own = group == k
        assert roc_auc_score(y[own], scores[own]) == pytest.approx(roc_auc_score(y[own], before[own]), abs=1e-12)
    assert model.score(X, y, sensitive_features=group) > np.mean(y == "no") + 0.02


def test_maps_are_made_on_other_rows_than_the_classifier_and_hold_on_new_ones(make_rows: Any) -> None:
    rows, new = make_rows(6000, seed=0), make_rows(6000, seed=1)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    model = PartialFairPostProcessor(forest, BOTTOM, 0.05, "absolute", map_fraction=0.4, random_state=0)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert model.train_violation_ <= 0.05
    scores = model.decision_function(new.X, sensitive_features=new.group)
    gap = audit_scores(scores, new.group, new.y == "yes", interval=BOTTOM).metric("rank_gap")
    free = audit_scores(model._scores(new.X), new.group, new.y == "yes", interval=BOTTOM).metric("rank_gap")
    assert gap < 0.05 + model.sampling_band_ < free


def test_scores_from_elsewhere_and_stored_maps(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["x", "y", "z"], 500)
    scores = random.normal(size=1500) + np.repeat([0.0, 0.7, 1.5], 500)
    model = PartialFairPostProcessor(interval=[(0, 1)], kappa=0.05).fit_scores(scores, sensitive_features=group)
    mapped = model.map_scores(scores, sensitive_features=group)
    assert audit_scores(mapped, group, interval=[(0, 1)]).metric("sp") == pytest.approx(model.train_violation_)
    assert model.train_violation_ <= 0.05
    model.map_.save(tmp_path / "maps.npz")
    again = load_model(tmp_path / "maps.npz").apply(scores, np.repeat([0, 1, 2], 500))
    assert np.array_equal(again, mapped)


def test_what_is_missed_or_missing_is_said(make_rows: Any) -> None:
    rows = make_rows(600)
    with pytest.warns(UnconstrainedWarning, match="nothing is constrained"):
        PartialFairPostProcessor().fit(rows.X, rows.y)
    coarse = np.round(np.random.default_rng(0).normal(size=600) + (rows.group == "M"))
    with pytest.warns(ConvergenceWarning, match="missed: sp is .* on the rows of the maps.* one score") as told:
        PartialFairPostProcessor(interval=[(0, 1)], kappa=0.02).fit_scores(coarse, sensitive_features=rows.group)
    assert [warning.filename for warning in told] == [__file__]  # where fit was called
    model = PartialFairPostProcessor(random_state=0).fit(rows.X, rows.y, sensitive_features=rows.group)
    with pytest.raises(InputError, match="pass the groups"):
        model.predict(rows.X)
    for options, message in (
        ({"kappa": -1}, "kappa is -1"),
        ({"prefit": True}, "there is no estimator"),
        ({"map_fraction": 1.0}, "map_fraction is 1.0"),
        ({"kappa_scale": "abs"}, "kappa_scale is 'abs'"),
        ({"interval": [(0.5, 0.2)]}, "alpha < beta"),
        ({"interval": "abc"}, "is not a pair of numbers"),
        ({"interval": [[(0, 1)]] * 3}, "intervals for 3 groups, the data have 2"),
        ({"map_fraction": "a"}, "map_fraction is 'a'"),
    ):
        with pytest.raises(InputError, match=message):
            PartialFairPostProcessor(**options).fit(rows.X, rows.y, sensitive_features=rows.group)


def test_without_the_group_at_prediction_the_features_tell_what_to_correct(make_rows: Any) -> None:
    rows, new = make_rows(3000, seed=0), make_rows(3000, seed=1)
    found = {}
    for kappa in (np.inf, 0.1):
        model = PartialFairPostProcessor(None, BOTTOM, kappa, "absolute", uses_group=False, random_state=0)
        model.fit(rows.X, rows.y, sensitive_features=rows.group)
        scores = model.decision_function(new.X)
        assert np.array_equal(model.predict(new.X) == "yes", scores > 0)
        found[kappa] = audit_scores(scores, new.group, new.y == "yes", interval=BOTTOM).metric("rank_gap")
    assert model.status_ == "ok" and model.train_violation_ <= 0.1 and model.map_ is None
    assert found[np.inf] > 0.25 and found[0.1] < 0.17
    before = model.estimator_.decision_function(new.X)
    assert np.corrcoef(np.argsort(np.argsort(scores)), np.argsort(np.argsort(before)))[0, 1] > 0.5


def test_the_group_has_to_have_chances() -> None:
    with pytest.raises(InputError, match="pass a group_estimator"):
        model = PartialFairPostProcessor(LinearSVC(), BOTTOM, uses_group=False)
        model.fit(np.arange(80.0).reshape(40, 2), np.arange(40) % 2, sensitive_features=np.arange(40) // 2 % 2)


@pytest.mark.parametrize("labels", [["approve", "deny"], [0, 1, 2], [False]], ids=["others", "three", "one"])
def test_a_fitted_classifier_of_other_labels_is_refused(make_rows: Any, labels: list[Any]) -> None:
    rows = make_rows(600)
    approved = rows.y == "yes"
    own = np.array(labels)[np.where(approved, 0, np.arange(600) % len(labels))]
    classifier = LogisticRegression(max_iter=1000).fit(rows.X, own) if len(labels) > 1 else OneClass()
    model = PartialFairPostProcessor(classifier, BOTTOM, prefit=True)
    with pytest.raises(InputError, match="estimator was fitted on the labels .*, y has False, True; pass"):
        model.fit(rows.X, approved, sensitive_features=rows.group)


def test_a_fitted_classifier_of_the_same_labels_in_another_type_is_used(make_rows: Any) -> None:
    rows = make_rows(600)
    approved = rows.y == "yes"
    for labels in (approved.astype(int), approved.astype(float)):
        classifier = LogisticRegression(max_iter=1000).fit(rows.X, approved)
        model = PartialFairPostProcessor(classifier, BOTTOM, kappa=0.5, prefit=True)
        model.fit(rows.X, labels, sensitive_features=rows.group)
        assert model.score(rows.X, labels, sensitive_features=rows.group) > approved.mean()


@pytest.mark.parametrize("kind", ["column", "frame"])
@pytest.mark.parametrize("uses_group", [True, False])
def test_labels_may_be_one_column(make_rows: Any, kind: str, uses_group: bool) -> None:
    rows = make_rows(600)
    column = rows.y[:, None] if kind == "column" else pd.DataFrame({"y": rows.y})
    found = []
    for y in (rows.y, column):
        model = PartialFairPostProcessor(None, BOTTOM, 0.5, uses_group=uses_group, random_state=0)
        with pytest.warns(DataConversionWarning) if y is column else nullcontext():
            model.fit(rows.X, y, sensitive_features=rows.group)
        found.append(model.decision_function(rows.X, sensitive_features=rows.group))
    assert np.array_equal(*found)


class TwoColumns(LogisticRegression):  # type: ignore[misc]
    """A classifier that gives a score for each of its two classes."""

    def decision_function(self, X: Any) -> Any:
        return np.column_stack([-super().decision_function(X), super().decision_function(X)])


def test_a_classifier_of_several_scores_per_row_is_refused(make_rows: Any) -> None:
    rows = make_rows(600)
    model = PartialFairPostProcessor(TwoColumns().fit(rows.X, rows.y), BOTTOM, prefit=True)
    with pytest.raises(InputError, match=r"decision_function has shape \(600, 2\) for 600 rows"):
        model.fit(rows.X, rows.y, sensitive_features=rows.group)


def test_maps_of_scores_forget_the_classifier(make_rows: Any) -> None:
    rows = make_rows(600)
    model = PartialFairPostProcessor(interval=BOTTOM, kappa=0.5).fit(rows.X, rows.y, sensitive_features=rows.group)
    assert model.feature_names_in_.tolist() == ["age", "hours", "degree"] and model.n_features_in_ == 3
    model.fit(rows.X.to_numpy(), rows.y, sensitive_features=rows.group)
    assert not hasattr(model, "feature_names_in_")
    model.fit_scores(rows.X["age"], sensitive_features=rows.group)
    with pytest.raises(NotFittedError, match="has no classifier yet; call fit, or map_scores"):
        model.predict(rows.X, sensitive_features=rows.group)
    assert not hasattr(model, "classes_") and not hasattr(model, "n_features_in_")
    assert model.map_scores(rows.X["age"], sensitive_features=rows.group).shape == (600,)


def test_scores_that_cannot_be_mapped_are_refused(make_rows: Any) -> None:
    rows = make_rows(600)
    scores = rows.X["age"].to_numpy()
    maps = PartialFairPostProcessor(interval=BOTTOM, kappa=0.5).fit_scores(scores, sensitive_features=rows.group)
    missing = np.where(np.arange(600) == 7, np.nan, scores)
    for wrong, words in (
        (scores[:, None], r"scores: shape \(600, 1\); pass one number per row"),
        (missing, "scores: column 'scores' has no value in row 7; pass numbers"),
        (rows.y, "scores: '.*' in row 0 is not a .*number"),
        ([[0.5]] * 599 + [[0.5, 1.0]], "scores: a collection in row 0 is not a .*number"),
        (scores + 1j, "scores: values of type complex128 cannot be ranked as scores; pass real numbers"),
        (np.arange(600).astype("datetime64[s]"), "scores: values of type datetime64.* cannot be ranked"),
        (np.ma.masked_array(scores, np.arange(600) == 7), r"scores: column 'scores' has no value in row 7 \(masked\)"),
    ):
        for use in (maps.map_scores, PartialFairPostProcessor(interval=BOTTOM).fit_scores):
            with pytest.raises(InputError, match=words):
                use(wrong, sensitive_features=rows.group)
    infinite = np.where(np.isnan(missing), np.inf, scores)
    with pytest.raises(
        InputError, match="scores: inf in row 7 is not a finite number .*; write a finite number beyond all others"
    ):
        PartialFairPostProcessor().fit_scores(infinite, sensitive_features=rows.group)
    mapped = maps.map_scores(np.where(np.isnan(missing), -np.inf, scores), sensitive_features=rows.group)
    assert mapped[7] == -np.inf and np.isfinite(np.delete(mapped, 7)).all()
    with pytest.raises(InputError, match="uses_group is False, and maps of scores need the group"):
        PartialFairPostProcessor(uses_group=False).fit_scores(scores, sensitive_features=rows.group)


class OneClass:
    """A classifier that was fitted on rows of one class."""

    classes_ = np.array([False])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.ones((len(X), 1))


def test_scores_in_other_units_get_the_same_maps_and_the_interval_of_the_same_decisions() -> None:
    random = np.random.default_rng(0)
    group = random.choice(["F", "M"], 3000)
    score = random.normal(size=3000) + 0.6 * (group == "M") - 1
    fits = [
        PartialFairPostProcessor(kappa=0.02).fit_scores(own, sensitive_features=group)
        for own in (score, 1e-7 * score, 1 / (1 + np.exp(-score)))
    ]
    assert [fit.status_ for fit in fits] == ["ok"] * 3
    assert [fit.interval_ for fit in fits] == [fits[0].interval_] * 3
    share = (score > 0).mean()
    ((low, high),) = fits[0].interval_
    assert low <= share <= high


@pytest.mark.parametrize("interval", [BOTTOM, [(0.05, 0.3)], [(0.0, 1.0)], None])
def test_probabilities_are_mapped_to_probabilities(interval: Any) -> None:
    """Beyond 1 an audit would take them for log-odds, with another threshold, and so accept everyone."""
    random = np.random.default_rng(0)
    group = random.choice(["F", "M"], 2000)
    known = np.clip(random.normal(0.4 + 0.2 * (group == "M"), 0.25), 0.02, np.where(group == "M", 1.0, 0.9))
    maps = PartialFairPostProcessor(interval=interval, kappa=0.1).fit_scores(known, sensitive_features=group)
    mapped = maps.map_scores(known, sensitive_features=group)
    audit = audit_scores(mapped, group, interval=maps.interval_, confidence_intervals=False)
    assert audit.threshold == 0.5
    assert audit.metric("sp") == pytest.approx(maps.train_violation_, abs=1e-12) and maps.train_violation_ <= 0.1
    for name in ("F", "M"):
        own = maps.map_scores(np.linspace(0, 1, 201), sensitive_features=np.repeat(name, 201))
        assert own.min() >= 0 and own.max() <= 1 and (np.diff(own) > 0).all(), "of other scores, too"
    assert not maps.map_.fault()
    odds = PartialFairPostProcessor(interval=BOTTOM, kappa=0.1).fit_scores(9 * known, sensitive_features=group)
    assert odds.map_scores(9 * known, sensitive_features=group).max() > 1, "others stay on their scale"
