"""What is asked of groups and settings: columns by name, enough rows on either side of a division, true or false."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from partialfair import plugins
from partialfair.estimators import (
    DemographicParityRegressor,
    PartialFairBoosting,
    PartialFairClassifier,
    PartialFairPostProcessor,
)
from partialfair.estimators.idle_constraints import IDLE
from partialfair.estimators.inputs import InputError, UnconstrainedWarning

ROWS = 800


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Columns, labels and two columns of groups that differ in their rates."""
    random = np.random.default_rng(0)
    groups = pd.DataFrame({"female": random.integers(0, 2, ROWS), "disabled": random.integers(0, 2, ROWS)})
    X = random.normal(size=(ROWS, 4)) + 0.5 * groups[["female"]].to_numpy()
    y = (X[:, 0] + X[:, 1] + random.normal(size=ROWS) > 0.5).astype(int)
    return {"X": X, "y": y, "groups": groups}


MODELS = [
    PartialFairClassifier(kappa=0.1),
    PartialFairPostProcessor(LogisticRegression(), kappa=0.1),
    PartialFairBoosting(kappa=0.1, n_estimators=5),
    DemographicParityRegressor(epsilon=0.1, uses_group=True),
]
names = [type(model).__name__ for model in MODELS]


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_columns_of_groups_are_told_by_their_names(model: Any, table: dict[str, Any]):
    X, groups = table["X"], table["groups"]
    model.fit(X, table["y"], sensitive_features=groups)
    of = model.predict if isinstance(model, DemographicParityRegressor) else model.decision_function
    wanted = of(X, sensitive_features=groups)
    np.testing.assert_array_equal(of(X, sensitive_features=groups[["disabled", "female"]]), wanted)
    assert not np.array_equal(of(X, sensitive_features=groups.to_numpy()[:, ::-1]), wanted), "the order matters"
    np.testing.assert_array_equal(of(X, sensitive_features=groups.to_numpy()), wanted)  # without names, by place
    with pytest.raises(InputError, match=r"has the columns sex, disabled, and those of fit were female, disabled"):
        of(X, sensitive_features=groups.rename(columns={"female": "sex"}))


@pytest.mark.parametrize("model", MODELS, ids=names)
@pytest.mark.parametrize("value", ["False", "no", 0, None])
def test_a_text_is_neither_true_nor_false(model: Any, value: Any, table: dict[str, Any]):
    wrong = type(model)(**model.get_params(deep=False) | {"uses_group": value})
    with pytest.raises(InputError, match=re.escape(f"uses_group is {value!r}; use True or False")):
        wrong.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (PartialFairPostProcessor(uses_group=False), "1 are for the maps"),
        (PartialFairPostProcessor(), "1 are for the maps"),
        (PartialFairBoosting(n_estimators=5), "1 are for the trees"),
        (PartialFairBoosting("partial_demographic_parity", n_estimators=5), "1 are for the trees"),
        (
            PartialFairBoosting("partial_equalized_odds", n_estimators=5),
            "with the second label, of which 1 are",
        ),
    ],
)
def test_a_group_that_a_division_leaves_too_small_is_named(model: Any, words: str, table: dict[str, Any]):
    groups = np.where(table["groups"]["female"], "a", "b").astype(object)
    of_label = np.flatnonzero(table["y"] == 1)[:2]
    groups[of_label] = "tiny"
    with pytest.raises(InputError, match=rf"group 'tiny' has 2 rows.*{words}.*fraction to 0"):
        model.fit(table["X"], table["y"], sensitive_features=groups)


def test_balanced_classes_count_the_weights_of_rows(table: dict[str, Any]):
    weights = np.where(table["y"] == 1, 3.0, 1.0)
    ours = PartialFairClassifier(None, class_weight="balanced").fit(table["X"], table["y"], sample_weight=weights)
    share = np.where(table["y"] == 1, weights[table["y"] == 1].sum(), weights[table["y"] == 0].sum())
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(table["X"], table["y"], sample_weight=weights / share)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


WEIGHTED = [PartialFairClassifier(None), PartialFairBoosting(None, n_estimators=5)]


@pytest.mark.parametrize("model", WEIGHTED, ids=lambda model: type(model).__name__)
def test_a_class_without_weight_is_as_absent(model: Any, table: dict[str, Any]):
    """Nothing is left to tell apart, and everyone would get the other class."""
    X, y = table["X"], table["y"]
    for label in (0, 1):
        with pytest.raises(InputError, match=f"all rows of class {label} have weight zero .* rows of two classes"):
            model.fit(X, y, sample_weight=np.where(y == label, 0.0, 1.0))
    with pytest.raises(InputError, match="all rows of class 1 have weight zero"):
        PartialFairClassifier(None, class_weight={0: 1, 1: 0}).fit(X, y)


CLASSIFIERS = [model for model in MODELS if hasattr(model, "predict_proba")]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("labels", [[0, 1], [False, True], [0.0, 1.0]], ids=str)
def test_labels_of_a_column_that_once_had_missing_values_are_read(model: Any, labels: Any, table: dict[str, Any]):
    """Such a column holds Python objects, a type of target that scikit-learn does not know."""
    X, sex = table["X"], table["groups"]["female"]
    plain = np.array(labels)[table["y"]]
    objects = pd.Series(plain).astype(object)
    wanted = model.fit(X, plain, sensitive_features=sex).decision_function(X, sensitive_features=sex)
    model.fit(X, objects, sensitive_features=sex)
    np.testing.assert_array_equal(model.decision_function(X, sensitive_features=sex), wanted)
    assert model.classes_.dtype == plain.dtype and model.classes_.tolist() == labels
    assert model.score(X, objects, sensitive_features=sex) == model.score(X, plain, sensitive_features=sex)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["object", "string", "boolean", "category"])
def test_missing_labels_are_counted(model: Any, kind: str, table: dict[str, Any]):
    values = table["y"] == 1 if kind == "boolean" else np.where(table["y"] == 1, "yes", "no")
    y = pd.Series(values, dtype=kind).where(np.arange(ROWS) > 2)
    with pytest.raises(InputError, match=f"y has 3 missing labels of {ROWS}; drop these rows"):
        model.fit(table["X"], y, sensitive_features=table["groups"]["female"])


FAR = [(0.02, 0.05)]  # of the rows, of which at least a third get a positive decision


@pytest.mark.parametrize("uses_group", [True, False])
@pytest.mark.parametrize("family", ["partial_demographic_parity", "partial_equal_opportunity"])
def test_an_interval_without_decisions_constrains_nothing_and_says_so(
    family: str, uses_group: bool, table: dict[str, Any]
):
    model = PartialFairClassifier(family, interval=FAR, kappa=0.05, uses_group=uses_group)
    with pytest.warns(UnconstrainedWarning, match=IDLE):
        model.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"])
    assert model.status_.startswith(IDLE)
    assert "lie outside the interval" in model.status_


def test_trees_say_so_too(table: dict[str, Any]):
    model = PartialFairBoosting("partial_demographic_parity", interval=FAR, kappa=0.05, n_estimators=30)
    with pytest.warns(UnconstrainedWarning, match=IDLE):
        model.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"])
    assert model.status_.startswith(IDLE)


@pytest.mark.parametrize("family", ["partial_equal_opportunity", "partial_equalized_odds"])
def test_on_the_whole_range_rates_of_one_are_not_idle(family: str):
    """Of separable rows every positive one is accepted and every negative one refused: a gap of 0 is measured."""
    group = np.arange(200) % 2
    X = np.column_stack([np.repeat([-1.0, 1.0], 100), group])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnconstrainedWarning)
        model = PartialFairClassifier(family, interval=[(0.0, 1.0)], kappa=0.1)
        model.fit(X, np.repeat([0, 1], 100), sensitive_features=group)
    assert not model.status_.startswith(IDLE)
    assert (model.predict(X, sensitive_features=group) == np.repeat([0, 1], 100)).all()


@pytest.mark.parametrize("interval", [[(0.0, 1.0)], [(0.1, 0.9)]])
def test_an_interval_with_decisions_is_not_called_idle(interval: Any, table: dict[str, Any]):
    model = PartialFairClassifier("partial_demographic_parity", interval=interval, kappa=0.05)
    assert model.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"]).status_ == "ok"


def test_trees_know_what_they_were_grown_on(table: dict[str, Any]):
    groups = {"sensitive_features": table["groups"]["female"]}
    model = PartialFairBoosting(kappa=0.2, n_estimators=5).fit(table["X"], table["y"], **groups)
    wanted = model.decision_function(table["X"], **groups)
    np.testing.assert_array_equal(model.set_params(uses_group=False).decision_function(table["X"], **groups), wanted)


def test_trees_name_the_column_that_holds_text(table: dict[str, Any]):
    frame = pd.DataFrame(table["X"], columns=list("abcd")).assign(city="Oslo")
    with pytest.raises(InputError, match="'city'"):
        PartialFairBoosting(n_estimators=5).fit(frame, table["y"], sensitive_features=table["groups"]["female"])


def test_a_constraint_that_cannot_be_built_is_named(table: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    def build(*arguments: Any, **options: Any) -> Any:
        raise KeyError("boom")

    monkeypatch.setattr(plugins.load("constraints", "partial_demographic_parity"), "build", build)
    model = PartialFairClassifier("partial_demographic_parity", kappa=0.1)
    with pytest.raises(InputError, match="parity': build failed at test_inputs.py.*: KeyError: 'boom'"):
        model.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"])


NAMING = [model for model in MODELS if not isinstance(model, PartialFairPostProcessor)]


@pytest.mark.parametrize("model", NAMING, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("frame", [lambda X: X, lambda X: pa.Table.from_pandas(X)], ids=["pandas", "arrow"])
def test_columns_of_texts_and_dates_are_named(model: Any, frame: Any, table: dict[str, Any]):
    X = pd.DataFrame(table["X"], columns=list("abcd"))
    rest = {"sensitive_features": table["groups"]["female"]}
    with pytest.raises(InputError, match="could not convert string to float in column 'city'; encode texts before"):
        model.fit(frame(X.assign(city="Oslo")), table["y"], **rest)
    for born in (pd.Timestamp("2000-01-01"), pd.Timedelta("9h")):
        with pytest.raises(InputError, match="column 'born' holds dates or times; turn them into numbers before"):
            model.fit(frame(X.assign(born=born)), table["y"], **rest)


WRONG_INTERVALS = {
    "set": {(0, 0.5)},
    "range": range(2),
    "frame": pd.DataFrame({"a": [0], "b": [0.5]}),
    "arrays": [(np.array(0.0), np.array(0.5))],
    "truth": [(False, True)],
}


@pytest.mark.parametrize("kind", WRONG_INTERVALS)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_what_is_no_list_of_pairs_is_no_interval(model: Any, kind: str, table: dict[str, Any]):
    model = clone(model).set_params(interval=WRONG_INTERVALS[kind])
    with pytest.raises(InputError, match="interval: (.|\n)* is not a list of pairs of numbers"):
        model.fit(table["X"], table["y"], sensitive_features=table["groups"]["female"])
    with pytest.raises(InputError, match="kappa is a number beyond double precision"):
        model.set_params(interval=None, kappa=10**400).fit(table["X"], table["y"], sensitive_features=table["X"][:, 0])


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_score_reads_labels_and_weights_as_fit_does(model: Any, table: dict[str, Any]):
    X, y, groups = table["X"], table["y"], table["groups"]["female"]
    model = clone(model).fit(X, y, sensitive_features=groups)
    for weights, words in ((-np.ones(ROWS), "is no weight"), (["a"] * ROWS, "is not a finite number")):
        with pytest.raises(InputError, match=f"sample_weight: .* {words}"):
            model.score(X, y, weights, sensitive_features=groups)
    with pytest.raises(InputError, match="y: the label 'other' in row 0 is none of those of fit"):
        model.score(X, ["other"] * ROWS, sensitive_features=groups)
    assert model.score(X, y, 2, sensitive_features=groups) == np.mean(model.predict(X, sensitive_features=groups) == y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_masked_groups_and_labels_are_missing(model: Any, table: dict[str, Any]):
    X, y, sex = table["X"], table["y"], table["groups"]["female"].to_numpy()
    hidden = np.arange(ROWS) == 5
    with pytest.raises(InputError, match=f"y has 1 missing labels of {ROWS}"):
        model.fit(X, np.ma.masked_array(y, hidden), sensitive_features=sex)
    masked = np.ma.masked_array(sex, hidden)
    for groups, column in ((masked, "sensitive_features"), ({"female": masked, "other": y}, "female")):
        with pytest.raises(
            InputError, match=rf"sensitive_features: column '{column}' has no value in row 5 \(masked\)"
        ):
            model.fit(X, y, sensitive_features=groups)
    model.fit(X, y, sensitive_features=np.ma.masked_array(sex, False))
    with pytest.raises(InputError, match=r"sensitive_features: column .* has no value in row 5 \(masked\)"):
        model.predict(X, sensitive_features=masked)
