"""What people pass, kind by kind, at every entry point: refused in a sentence, or read as it was meant.

A kind that one entry point refuses, all refuse.
"""

import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from partialfair.audit import audit_file, audit_scores
from partialfair.audit.choose import suggest_for_file
from partialfair.commands.fair_files import Request
from partialfair.commands.fair_files import fit as fit_of_file
from partialfair.data import intake
from partialfair.errors import DataError, PartialFairError
from partialfair.estimators import (
    DemographicParityRegressor,
    PartialFairBoosting,
    PartialFairClassifier,
    PartialFairPostProcessor,
    frontier,
)
from partialfair.metrics import evaluate_all, get
from partialfair.metrics.choose_interval import suggest_interval
from reproduction.datasets import csv_table

ROWS = 200
RANDOM = np.random.default_rng(0)
GROUPS = ["a", "b"] * (ROWS // 2)
SCORES = RANDOM.normal(size=ROWS)
Y = (SCORES + RANDOM.normal(size=ROWS) > 0).astype(int)
X = np.column_stack([SCORES, RANDOM.normal(size=ROWS)])
LABELS = ["yes" if label else "no" for label in Y]
NAN = float("nan")
INTERVAL = [(0.1, 0.6)]

MODELS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: PartialFairClassifier(interval=INTERVAL, kappa=0.3),
    "post-processor": lambda: PartialFairPostProcessor(interval=INTERVAL, kappa=0.3),
    "boosting": lambda: PartialFairBoosting(interval=INTERVAL, kappa=0.3, n_estimators=3),
    "regressor": lambda: DemographicParityRegressor(epsilon=0.3, uses_group=True),
}


@cache
def fitted(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]().fit(X, Y, sensitive_features=GROUPS)


@cache
def maps() -> PartialFairPostProcessor:
    return PartialFairPostProcessor(interval=INTERVAL, kappa=0.3).fit_scores(SCORES, sensitive_features=GROUPS)


def fit(name: str, groups: Any = GROUPS, y: Any = Y, X: Any = X) -> Any:
    return MODELS[name]().fit(X, y, sensitive_features=groups)


def batch(groups: Any) -> Any:
    torch = pytest.importorskip("torch")
    from partialfair.torch import BatchConstraint

    codes = groups if isinstance(groups, torch.Tensor) else np.asarray(groups, object)
    return BatchConstraint(2, interval=INTERVAL)(torch.as_tensor(SCORES), codes)


OF_GROUPS: dict[str, Callable[[Any], Any]] = {
    "audit_scores": lambda groups: audit_scores(SCORES, groups, confidence_intervals=False),
    "suggest_interval": lambda groups: suggest_interval(SCORES, groups),
    **{f"{name}.fit": partial(fit, name) for name in MODELS},
    **{
        f"{name}.predict": lambda groups, name=name: fitted(name).predict(X, sensitive_features=groups)
        for name in MODELS
    },
    "classifier.decision_function": lambda groups: fitted("classifier").decision_function(X, sensitive_features=groups),
    "fit_scores": lambda groups: PartialFairPostProcessor(interval=INTERVAL).fit_scores(
        SCORES, sensitive_features=groups
    ),
    "map_scores": lambda groups: maps().map_scores(SCORES, sensitive_features=groups),
    "frontier": lambda groups: frontier(MODELS["classifier"](), X, Y, sensitive_features=groups, kappas=[0.3]),
}
ONE_COLUMN = OF_GROUPS | {
    "evaluate_all": lambda groups: evaluate_all(SCORES, 2 * Y - 1, groups, INTERVAL, only=["sp"]),
    "a metric": lambda groups: get("sp")(SCORES, 2 * Y - 1, groups, INTERVAL),
    "constraint for PyTorch": batch,
}


def changed(value: Any, rows: Any = 3, column: Any = None) -> list[Any]:
    given = list(GROUPS if column is None else column)
    for row in np.atleast_1d(rows):
        given[int(row)] = value
    return given


def masked() -> Any:
    return np.ma.masked_array(np.array(GROUPS), np.arange(ROWS) == 3)


LACKING = {
    "NaN in a list": changed(NAN),
    "None in a list": changed(None),
    "NA in a list": changed(pd.NA),
    "NaT in a list": changed(pd.NaT),
    "NaN in a tuple": tuple(changed(NAN)),
    "NaN of NumPy in a list": changed(np.float64("nan")),
    "NaN in an object array": np.array(changed(NAN), object),
    "the text that NumPy makes of it": np.array(changed(NAN)),
    "<NA>, which pandas writes": changed("<NA>"),
    "NaN in a series": pd.Series(changed(NAN)),
    "NA of pandas' texts": pd.Series(changed(pd.NA), dtype="string"),
    "a category's": pd.Series(changed(NAN), dtype="category"),
    "a plain categorical's": pd.Categorical(changed(NAN)),
    "an index's": pd.Index(changed(NAN)),
    "Arrow's null": pa.array(changed(None)),
    "null in chunks": pa.chunked_array([changed(None)[:10], changed(None)[10:]]),
    "null in Arrow's dictionary": pa.array(changed(None)).dictionary_encode(),
    "a masked entry": masked(),
    "blank text": changed(""),
    "blanks": changed("  "),
    "a blank that does not break": changed("\u00a0"),
    "an invisible mark": changed("\u200b"),
    "NaN as C prints it": changed("-nan"),
    "masked, in a list": changed(np.ma.masked),
}  # fmt: skip


@pytest.mark.parametrize("kind", LACKING)
@pytest.mark.parametrize("entry", ONE_COLUMN)
def test_a_missing_group_is_refused(kind: str, entry: str) -> None:
    with pytest.raises((PartialFairError, ValueError), match=r"no value in row 3|pass a tensor"):
        ONE_COLUMN[entry](LACKING[kind])


@pytest.mark.parametrize("kind", ["NaN in a list", "None in a list", "a masked entry", "NaN in a series"])
@pytest.mark.parametrize("entry", OF_GROUPS)
def test_so_it_is_in_one_of_several_columns(kind: str, entry: str) -> None:
    other = ["x"] * ROWS
    column = LACKING[kind]
    with pytest.raises((PartialFairError, ValueError), match=r"column 'sex' has no value in row 3"):
        OF_GROUPS[entry]({"sex": column, "race": other})
    if isinstance(column, list):
        with pytest.raises((PartialFairError, ValueError), match=r"\[0\]' has no value in row 3"):
            OF_GROUPS[entry]([list(row) for row in zip(column, other, strict=True)])


ALIKE: dict[str, tuple[Any, Any]] = {
    "case": ("b", "B"),
    "a blank behind": ("b", "b "),
    "a blank within": ("New York", "New  York"),
    "a blank that does not break": ("New York", "New\u00a0York"),
    "two forms of Unicode": ("Z\u00fcrich", "Zu\u0308rich"),
    "wide letters": ("b", "\uff42"),
    "an invisible mark": ("b", "b\u200b"),
    "a period at the end": (">50K", ">50K."),
    "a number and its text": (1, "1"),
    "two texts of one number": ("1", "1.0"),
    "zeros before": ("1", "01"),
    "a truth value and its number": (True, 1),
    "a truth value and its text": (True, "True"),
    "a truth value and a small text": (True, "true"),
    "bytes and text": (b"b", "b"),
}  # fmt: skip
REFUSED = r"look alike|differ in blanks alone|was not among the groups|pass a tensor"


UNORDERED = {
    "a set": (set(GROUPS), "a set has no order"),
    "an index of several levels": (pd.MultiIndex.from_arrays([GROUPS, GROUPS]), "an index of 2 levels"),
    "codes that are no codes": (np.array([2**60 + row % 2 for row in range(ROWS)]), "is no code"),
}


@pytest.mark.parametrize("kind", UNORDERED)
@pytest.mark.parametrize(
    "entry", ["audit_scores", "suggest_interval", "classifier.fit", "regressor.fit", "evaluate_all"]
)
def test_what_is_no_column_of_groups_is_refused(entry: str, kind: str) -> None:
    values, words = UNORDERED[kind]
    if kind.startswith("codes") and entry != "evaluate_all":
        ONE_COLUMN[entry](values)  # names, elsewhere
        return
    with pytest.raises((PartialFairError, ValueError), match=words):
        ONE_COLUMN[entry](values)


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("entry", ONE_COLUMN)
def test_two_groups_that_look_alike_are_refused(kind: str, entry: str) -> None:
    one, other = ALIKE[kind]
    column = np.empty(ROWS, object)
    column[:] = [("a", one, "a", other)[row % 4] for row in range(ROWS)]
    with pytest.raises((PartialFairError, ValueError), match=REFUSED):
        ONE_COLUMN[entry](column)


@pytest.mark.parametrize("entry", [name for name in ONE_COLUMN if "PyTorch" not in name])
def test_numbers_of_one_value_are_one_group(entry: str) -> None:
    if "predict" in entry or entry in ("map_scores", "classifier.decision_function"):
        pytest.skip("its groups are those of fit")
    column = np.empty(ROWS, object)
    column[:] = [(0, 1, 0.0, 1.0)[row % 4] for row in range(ROWS)]
    ONE_COLUMN[entry](column)


NAMES = {
    "a doubled name": pd.DataFrame([["f", "x"], ["m", "y"]] * (ROWS // 2), columns=["sex", "sex"]),
    "a number and its text as names": pd.DataFrame({1: GROUPS, "1": GROUPS}),
    "keys of a mapping": {1: GROUPS, "1": GROUPS[::-1]},
    "doubled in Arrow": pa.table([pa.array(GROUPS), pa.array(GROUPS)], names=["sex", "sex"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("entry", OF_GROUPS)
def test_two_columns_of_one_name_are_refused(kind: str, entry: str) -> None:
    if "predict" in entry or entry in ("map_scores", "classifier.decision_function"):
        pytest.skip("its columns are those of fit")
    with pytest.raises((PartialFairError, ValueError), match=r"column '(sex|1)' occurs twice; rename"):
        OF_GROUPS[entry](NAMES[kind])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("columns", [["x", "x"], [1, 1], [1, "1"]])
def test_two_features_of_one_name_are_refused(name: str, columns: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"X: column '(x|1)' occurs twice"):
        fit(name, X=pd.DataFrame(X, columns=columns))


SHUFFLED = np.random.default_rng(1).permutation(ROWS)


def series(values: Any, index: Any = None) -> pd.Series:
    return pd.Series(values, index=index)


IN_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "audit_scores": lambda one, other: audit_scores(one(SCORES), other(GROUPS), confidence_intervals=False),
    "labels of an audit": lambda one, other: audit_scores(one(SCORES), GROUPS, other(Y), confidence_intervals=False),
    "suggest_interval": lambda one, other: suggest_interval(one(SCORES), other(GROUPS)),
    "evaluate_all": lambda one, other: evaluate_all(one(SCORES), 2 * Y - 1, other(np.arange(ROWS) % 2), INTERVAL),
    "a metric": lambda one, other: get("accuracy")(SCORES, one(2 * Y - 1), other(np.arange(ROWS) % 2), INTERVAL),
    "fit_scores": lambda one, other: PartialFairPostProcessor(interval=INTERVAL).fit_scores(
        one(SCORES), sensitive_features=other(GROUPS)
    ),
    "map_scores": lambda one, other: maps().map_scores(one(SCORES), sensitive_features=other(GROUPS)),
    **{f"{name}.fit": lambda one, other, name=name: fit(name, other(GROUPS), one(Y)) for name in MODELS},
    **{
        f"{name}, features": lambda one, other, name=name: fit(name, other(GROUPS), X=one(pd.DataFrame(X)))
        for name in MODELS
    },
    **{
        f"{name}.predict": lambda one, other, name=name: fitted(name).predict(
            one(pd.DataFrame(X)), sensitive_features=other(GROUPS)
        )
        for name in MODELS
    },
    "frontier": lambda one, other: frontier(
        MODELS["classifier"](), X, one(Y), sensitive_features=other(GROUPS), kappas=[0.3]
    ),
    "weights": lambda one, other: MODELS["classifier"]().fit(
        X, one(Y), sensitive_features=GROUPS, sample_weight=other(np.ones(ROWS))
    ),
}


def with_index(index: Any) -> Callable[[Any], Any]:
    return lambda values: values.set_axis(index) if isinstance(values, pd.DataFrame) else series(values, index)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", IN_ORDER)
def test_rows_in_another_order_are_refused(entry: str) -> None:
    use = IN_ORDER[entry]
    plain, other = with_index(pd.RangeIndex(ROWS)), with_index(SHUFFLED)
    with pytest.raises((PartialFairError, ValueError), match=r"row 0 has the index \d+, and \d+ in"):
        use(plain, other)
    with pytest.raises((PartialFairError, ValueError), match="index"):
        use(with_index(SHUFFLED + 1000), with_index(SHUFFLED[::-1] + 1001))
    use(other, other)
    use(plain, with_index(SHUFFLED + 5000))  # the default index beside labels: as X_test and predictions have them


KINDS_OF_INDEX = {
    "two levels": pd.MultiIndex.from_arrays([range(ROWS), range(ROWS)]),
    "three levels": pd.MultiIndex.from_arrays([range(ROWS)] * 3),
    "categories": pd.CategoricalIndex([f"c{row}" for row in range(ROWS)]),
    "texts": pd.Index([f"t{row}" for row in range(ROWS)]),
    "periods": pd.period_range("2020", periods=ROWS, freq="D"),
    "default": pd.RangeIndex(ROWS),
}


@pytest.mark.parametrize("kind", KINDS_OF_INDEX)
@pytest.mark.parametrize("other", KINDS_OF_INDEX)
def test_indexes_of_different_kinds_have_no_label_in_common(kind: str, other: str) -> None:
    intake.in_one_order(scores=series(SCORES, KINDS_OF_INDEX[kind]), groups=series(GROUPS, KINDS_OF_INDEX[other]))


def test_categories_of_another_order_are_compared() -> None:
    labels = [f"c{row}" for row in range(ROWS)]
    forth, back = pd.CategoricalIndex(labels), pd.CategoricalIndex(labels, categories=labels[::-1])
    intake.in_one_order(scores=series(SCORES, forth), groups=series(GROUPS, back))
    with pytest.raises(DataError, match="groups: row 0 has the index 'c199', and 'c0' in scores"):
        intake.in_one_order(scores=series(SCORES, forth), groups=series(GROUPS, pd.CategoricalIndex(labels[::-1])))


LABELLED: dict[str, Callable[[Any], Any]] = {
    "audit_scores": lambda y: audit_scores(SCORES, GROUPS, y, confidence_intervals=False),
    **{f"{name}.fit": lambda y, name=name: fit(name, y=y) for name in MODELS if name != "regressor"},
    "frontier": lambda y: frontier(MODELS["classifier"](), X, y, sensitive_features=GROUPS, kappas=[0.3]),
    "score": lambda y: fitted("classifier").score(X, y, sensitive_features=GROUPS),
    "PyTorch": lambda y: network(y),
}


def network(y: Any) -> Any:
    torch = pytest.importorskip("torch")
    pytest.importorskip("skorch")
    from partialfair.torch.module import PartialFairModule

    layers = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0))
    model = PartialFairModule(layers, max_epochs=1, verbose=0)
    return model.fit(X.astype(np.float32), y, sensitive_features=GROUPS)


LACKING_LABELS = {
    "NaN in a list": changed(NAN, column=LABELS),
    "None in a list": changed(None, column=LABELS),
    "NA in a list": changed(pd.NA, column=LABELS),
    "NaN among numbers": changed(NAN, column=Y.tolist()),
    "the text that NumPy makes of it": np.array(changed(NAN, column=LABELS)),
    "a masked label": np.ma.masked_array(np.array(LABELS), np.arange(ROWS) == 3),
    "a category's": pd.Series(changed(NAN, column=LABELS), dtype="category"),
    "an index's": pd.Index(changed(None, column=LABELS)),
    "Arrow's null": pa.array(changed(None, column=LABELS)),
    "blank text": changed(" ", column=LABELS),
    "NaN in half of the labels": ["yes" if label == "yes" else NAN for label in LABELS],
    "blank text in half of the labels": ["yes" if label == "yes" else "" for label in LABELS],
    "a question mark in half of the labels": ["yes" if label == "yes" else "?" for label in LABELS],
    "NA in half of the labels": ["yes" if label == "yes" else "NA" for label in LABELS],
    "an invisible mark": changed("\u200b", column=LABELS),
}  # fmt: skip


@pytest.mark.parametrize("kind", LACKING_LABELS)
@pytest.mark.parametrize("entry", LABELLED)
def test_a_missing_label_is_refused(kind: str, entry: str) -> None:
    with pytest.raises((PartialFairError, ValueError), match=r"no value in row|missing labels|NaN"):
        LABELLED[entry](LACKING_LABELS[kind])


@pytest.mark.parametrize("pair", [("yes", "Yes"), ("yes", "yes "), (">50K", ">50K."), ("1", "1.0"), (1, "1")], ids=str)
@pytest.mark.parametrize("entry", [name for name in LABELLED if name != "score"])
def test_two_labels_that_look_alike_are_refused(pair: tuple[Any, Any], entry: str) -> None:
    column = np.empty(ROWS, object)
    column[:] = [pair[label] for label in Y]
    with pytest.raises((PartialFairError, ValueError), match=r"look alike|differ in blanks alone"):
        LABELLED[entry](column)


NO_LABELS: dict[str, tuple[Any, Any]] = {
    "dates": (date(2020, 1, 1), date(2021, 1, 1)),
    "dates of NumPy": (np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    "bytes": (b"no", b"yes"),
    "complex numbers": (0j, 1j),
    "infinity": (0.0, np.inf),
    "a text and a truth value": (True, "False"),
    "a text and a number": (0, "yes"),
}


@pytest.mark.parametrize("kind", NO_LABELS)
@pytest.mark.parametrize("entry", [name for name in LABELLED if name != "score"])
def test_labels_without_a_known_order_are_refused(entry: str, kind: str) -> None:
    column = np.empty(ROWS, object)
    for row, label in enumerate(Y):
        column[row] = NO_LABELS[kind][label]
    spans = np.array(Y, "timedelta64[D]") if kind == "dates" else column
    for values in (column, column.tolist(), spans):
        with pytest.raises(
            (PartialFairError, ValueError), match=r"a label is a text|some labels are texts|infinity|Complex data"
        ):
            LABELLED[entry](values)


@pytest.mark.parametrize("name", MODELS)
def test_a_mapping_is_no_column_of_labels(name: str) -> None:
    with pytest.raises(ValueError, match="y: a mapping is no column"):
        fit(name, y=dict(enumerate(Y)))


@pytest.mark.parametrize("pair", [("no", "Yes"), ("9", "10")])
@pytest.mark.parametrize("entry", [name for name in LABELLED if name not in ("score", "PyTorch", "audit_scores")])
def test_which_of_two_texts_is_positive_is_said_where_it_is_doubtful(entry: str, pair: tuple[str, str]) -> None:
    with pytest.warns(UserWarning, match="'(no|9)' is the positive label, as it sorts behind"):
        LABELLED[entry]([pair[label] for label in Y])
    with pytest.raises(PartialFairError, match="positive is doubtful"):
        LABELLED["audit_scores"]([pair[label] for label in Y])


def test_the_larger_of_two_large_numbers_is_positive() -> None:
    """In double precision they are one number."""
    labels = [2**60 + label for label in Y.tolist()]
    assert audit_scores(SCORES, GROUPS, labels, confidence_intervals=False).positive_label == str(2**60 + 1)


WEIGHED: dict[str, Callable[[Any], Any]] = {
    "audit_scores": lambda weights: audit_scores(SCORES, GROUPS, weights=weights, confidence_intervals=False),
    **{
        name: lambda weights, name=name: MODELS[name]().fit(X, Y, sensitive_features=GROUPS, sample_weight=weights)
        for name in MODELS
    },
    "fit_scores": lambda weights: PartialFairPostProcessor(interval=INTERVAL).fit_scores(
        SCORES, sensitive_features=GROUPS, sample_weight=weights
    ),
}
BAD_WEIGHTS = {
    "NaN": (changed(NAN, column=[1.0] * ROWS), "no value in row 3"),
    "masked": (np.ma.masked_array(np.ones(ROWS), np.arange(ROWS) == 3), "no value in row 3 .masked"),
    "infinite": (changed(np.inf, column=[1.0] * ROWS), "pass finite numbers"),
    "negative": (changed(-1.0, column=[1.0] * ROWS), "-1 in row 3 is no weight"),
    "all 0": (np.zeros(ROWS), "no row counts"),
    "times": (pd.to_timedelta(np.ones(ROWS)), "cannot be weights of rows"),
    "a mapping": (dict.fromkeys(range(ROWS), 1.0), "weights?: a mapping is no column"),
    "several columns": (np.ones((ROWS, 1)), "pass one number per row"),
    "a column that is too short": (np.ones(ROWS - 1), "199"),
}


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
@pytest.mark.parametrize("entry", WEIGHED)
def test_weights_that_are_none_are_refused(entry: str, kind: str) -> None:
    weights, words = BAD_WEIGHTS[kind]
    with pytest.raises((PartialFairError, ValueError), match=words):
        WEIGHED[entry](weights)


def test_weights_are_shares_whatever_their_size() -> None:
    weights = RANDOM.integers(1, 5, ROWS).astype(float)
    expected = audit_scores(SCORES, GROUPS, weights=weights).metric("sp")
    for unit in (1e-300, 1e300, 1 / 3):
        assert audit_scores(SCORES, GROUPS, weights=weights * unit).metric("sp") == pytest.approx(expected, abs=1e-9)


LACKING_ROWS = np.arange(0, 60, 2)


@pytest.mark.parametrize("name", MODELS)
def test_rows_without_a_group_are_left_out_of_a_fit_or_a_group_of_their_own(name: str) -> None:
    """As in the audit, and further rows without one are of that group, or refused."""
    groups = changed(None, LACKING_ROWS)
    kept = np.setdiff1d(np.arange(ROWS), LACKING_ROWS)
    few = np.array(GROUPS)[kept]
    dropped = MODELS[name]().set_params(missing="drop").fit(X, Y, sensitive_features=groups)
    expected = MODELS[name]().fit(X[kept], Y[kept], sensitive_features=few)
    np.testing.assert_array_equal(
        dropped.predict(X[kept], sensitive_features=few), expected.predict(X[kept], sensitive_features=few)
    )
    with pytest.raises(ValueError, match="no value in row 0"):
        dropped.predict(X, sensitive_features=groups)
    grouped = MODELS[name]().set_params(missing="group").fit(X, Y, sensitive_features=groups)
    named = ["missing" if group is None else group for group in groups]
    of_named = MODELS[name]().fit(X, Y, sensitive_features=named)
    assert list(grouped.groups_) == ["a", "b", "missing"]
    np.testing.assert_array_equal(
        grouped.predict(X, sensitive_features=groups), of_named.predict(X, sensitive_features=named)
    )
    with pytest.raises(ValueError, match="missing is 'ignore'"):
        MODELS[name]().set_params(missing="ignore").fit(X, Y, sensitive_features=GROUPS)


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_lack_a_label_or_a_weight_are_left_out_with_all_they_have(name: str) -> None:
    y, weights = changed(None, 3, Y.tolist()), changed(NAN, 5, RANDOM.integers(1, 4, ROWS).astype(float))
    kept = np.setdiff1d(np.arange(ROWS), [3, 5])
    dropped = MODELS[name]().set_params(missing="drop")
    dropped.fit(pd.DataFrame(X), y, sensitive_features={"sex": GROUPS}, sample_weight=weights)
    expected = MODELS[name]().fit(
        pd.DataFrame(X[kept]), Y[kept], sensitive_features=np.array(GROUPS)[kept], sample_weight=np.array(weights)[kept]
    )
    rows = pd.DataFrame(X)
    np.testing.assert_array_equal(
        dropped.predict(rows, sensitive_features=GROUPS), expected.predict(rows, sensitive_features=GROUPS)
    )


VIEWS: dict[str, dict[str, Any]] = {
    "coordinates": {"X": sparse.coo_matrix(X)},
    "blocks": {"X": sparse.bsr_array(X)},
    "views of text": {"sensitive_features": pa.array(GROUPS, pa.string_view())},
    "a view of a dictionary": {"sensitive_features": dict(enumerate(GROUPS)).values()},
    "weights in a view": {"sample_weight": dict(enumerate(np.ones(ROWS))).values()},
}


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("name", ["classifier", "post-processor"])
def test_rows_can_be_left_out_of_what_is_read_otherwise(name: str, kind: str) -> None:
    passed = {"X": X, "y": Y, "sensitive_features": GROUPS} | VIEWS[kind]
    expected = MODELS[name]().fit(**passed).predict(X, sensitive_features=GROUPS)
    dropped = MODELS[name]().set_params(missing="drop").fit(**passed)
    np.testing.assert_array_equal(dropped.predict(X, sensitive_features=GROUPS), expected)
    with pytest.raises(ValueError, match="X is a dict of columns; pass a dataframe"):
        dropped.fit({"x": SCORES}, Y, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="sample_weight: inf in row 3 .*; pass finite numbers"):
        dropped.fit(X, Y, sensitive_features=GROUPS, sample_weight=changed(np.inf, column=[1.0] * ROWS))


def test_maps_are_made_without_the_rows_that_lack_a_score() -> None:
    scores, kept = changed(None, 3, SCORES.tolist()), np.setdiff1d(np.arange(ROWS), 3)
    dropped = PartialFairPostProcessor(interval=INTERVAL, missing="drop").fit_scores(scores, sensitive_features=GROUPS)
    expected = PartialFairPostProcessor(interval=INTERVAL).fit_scores(
        SCORES[kept], sensitive_features=np.array(GROUPS)[kept]
    )
    assert dropped.train_violation_ == expected.train_violation_


SCORED: dict[str, Callable[[Any], Any]] = {
    "audit_scores": lambda scores: audit_scores(scores, GROUPS, confidence_intervals=False),
    "suggest_interval": lambda scores: suggest_interval(scores, GROUPS),
    "evaluate_all": lambda scores: evaluate_all(scores, 2 * Y - 1, np.arange(ROWS) % 2, INTERVAL, only=["sp"]),
    "a metric": lambda scores: get("sp")(scores, 2 * Y - 1, np.arange(ROWS) % 2, INTERVAL),
    "fit_scores": lambda scores: PartialFairPostProcessor(interval=INTERVAL).fit_scores(
        scores, sensitive_features=GROUPS
    ),
    "map_scores": lambda scores: maps().map_scores(scores, sensitive_features=GROUPS),
}
BAD_SCORES = {
    "NaN": changed(NAN, column=SCORES),
    "None": changed(None, column=SCORES),
    "NA": pd.Series(changed(pd.NA, column=SCORES), dtype="Float64"),
    "null": pa.array(changed(None, column=SCORES.tolist())),
    "masked": np.ma.masked_array(SCORES, np.arange(ROWS) == 3),
    "blank text": changed("", column=list(map(str, SCORES))),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_SCORES)
@pytest.mark.parametrize("entry", SCORED)
def test_a_missing_score_is_refused(kind: str, entry: str) -> None:
    with pytest.raises((PartialFairError, ValueError), match=r"no value in row 3"):
        SCORED[entry](BAD_SCORES[kind])


@pytest.mark.parametrize("entry", SCORED)
def test_scores_of_another_kind_are_read_or_refused(entry: str) -> None:
    use = SCORED[entry]
    for same in (SCORES.tolist(), tuple(SCORES), pd.Series(SCORES), pa.array(SCORES), list(map(repr, SCORES.tolist()))):
        use(same)
    for words, bad in (
        ("'high' in row 3 is not a .*number", changed("high", column=SCORES)),
        ("cannot be ranked", SCORES + 1j),
        ("cannot be ranked", pd.date_range("2020", periods=ROWS)),
        ("'--inf' in row 3 is not a .*number", changed("--inf", column=list(map(str, SCORES)))),
        ("scores: a decimal is Decimal", changed(Decimal("sNaN"), column=SCORES)),
        ("write decimal points for commas", changed("0,5", column=list(map(str, SCORES)))),
        ("would be ties", np.array([2**53 + row % 2 for row in range(ROWS)])),
        ("scores: a set has no order", set(SCORES)),
        ("scores: a mapping is no column", dict(enumerate(SCORES))),
    ):
        with pytest.raises((PartialFairError, ValueError), match=words):
            use(bad)


def test_who_passes_no_labels_is_told_so() -> None:
    with pytest.raises(PartialFairError, match="y is None, and a metric that is asked for needs labels"):
        evaluate_all(SCORES, None, np.arange(ROWS) % 2, INTERVAL, only=["accuracy"])
    with pytest.raises(PartialFairError, match="scores are None"):
        audit_scores(None, GROUPS)


# Files.

FILED: dict[str, Callable[[Path], Any]] = {
    "audit_file": lambda path: audit_file(
        path, score="s", group="sex", label="y", positive="yes", confidence_intervals=False
    ),
    "choose-interval": lambda path: suggest_for_file(path, score="s", group="sex", threshold=0.0),
    "own table": lambda path: csv_table.load(None, str(path), "y", "sex", positive="yes", minimum_group_size=5),
}
PARQUET = FILED | {
    "fit_parquet": lambda path: MODELS["classifier"]().fit_parquet(path, label="y", sensitive_features="sex")
}


def fit_file(path: Path) -> Any:
    request = Request(path, path.with_name("o.csv"), ["sex"], ["0.1,0.6"], 0.5, "relative", None, "refuse")
    return fit_of_file(request, "y", "m", positive="yes")


INPUTS = PARQUET | {"partialfair fit": fit_file}


def table(**columns: Any) -> pd.DataFrame:
    plain = {"sex": GROUPS, "s": SCORES.round(4), "t": ["u", "v", "w", "x"] * (ROWS // 4), "y": LABELS}
    return pd.DataFrame(plain | columns)


@pytest.mark.parametrize("entry", FILED)
@pytest.mark.parametrize("word", ["", " ", "nan", "NaN", "<NA>"])
def test_a_missing_group_of_a_csv_file_is_refused(entry: str, word: str, tmp_path: Path) -> None:
    table(sex=changed(word)).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(PartialFairError, match=r"t\.csv: column 'sex' has no value in row 4 after the header"):
        FILED[entry](tmp_path / "t.csv")


@pytest.mark.parametrize("entry", FILED)
@pytest.mark.parametrize("word", ["", "?", "-", "--", ".", "None", "none", "unknown", "N.A.", "NA", "null", "NaN"])
def test_a_word_for_missing_is_no_number(entry: str, word: str, tmp_path: Path) -> None:
    numbers = [word if row % 3 == 0 else f"{value:.4f}" for row, value in enumerate(SCORES)]
    table(s=numbers).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(PartialFairError, match=r"column 's' has no value in row 1 after the header.*67 such rows"):
        FILED[entry](tmp_path / "t.csv")


DISGUISED = {
    "numbers as texts": [f"{value:.4f}" for value in SCORES],
    "percentages": [f"{value:.1f}%" for value in SCORES],
    "amounts": [f"${abs(value):.2f}" for value in SCORES],
    "dates": [f"2020-01-{row % 28 + 1:02d}" for row in range(ROWS)],
}


@pytest.mark.parametrize("kind", DISGUISED)
@pytest.mark.parametrize("entry", ["own table", "fit_parquet", "partialfair fit"])
def test_numbers_and_dates_as_texts_make_no_category(entry: str, kind: str, tmp_path: Path) -> None:
    if kind == "numbers as texts" and entry != "fit_parquet":
        pytest.skip("read as numbers")
    table(t=DISGUISED[kind]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises((PartialFairError, ValueError), match=r"column 't' holds \d+ different .* as texts, such as"):
        INPUTS[entry](tmp_path / "t.parquet")


@pytest.mark.parametrize("entry", ["own table", "fit_parquet", "partialfair fit"])
@pytest.mark.parametrize("values", [date(2020, 1, 1), pd.Timestamp("2020-01-01")])
def test_dates_are_no_inputs(entry: str, values: Any, tmp_path: Path) -> None:
    table(t=[values] * ROWS).to_parquet(tmp_path / "t.parquet")
    with pytest.raises((PartialFairError, ValueError), match=r"'t' (holds dates or times|has type (date|timestamp))"):
        INPUTS[entry](tmp_path / "t.parquet")


@pytest.mark.parametrize("entry", FILED)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a picture"),
        (b"<html><table></table></html>", "a web page"),
        ("sex,s\n".encode("utf-16"), "UTF-16"),
        ("sex,s\n".encode("utf-16-le"), "bytes of zero"),
    ],
    ids=["PNG", "HTML", "UTF-16", "UTF-16 without a mark"],
)
def test_other_formats_are_named(entry: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(PartialFairError, match=words):
        FILED[entry](tmp_path / "t.csv")


@pytest.mark.parametrize("word", ["refused", "n.a.x", "*", "k.A."])
def test_another_word_among_many_numbers_makes_no_category_of_them(word: str, tmp_path: Path) -> None:
    numbers = [word if row % 3 == 0 else f"{value:.4f}" for row, value in enumerate(SCORES)]
    table(s=numbers).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        PartialFairError, match=r"column 's' holds .* in row 1 after the header, while 66.5% .* numbers"
    ):
        FILED["own table"](tmp_path / "t.csv")


@pytest.mark.parametrize("entry", ["audit_file", "own table"])
@pytest.mark.parametrize("word", ["", "?", "None", "Unknown", "NA", "Yes.", "yes.", "YES", "maybe"])
def test_a_third_label_is_not_the_negative_class(entry: str, word: str, tmp_path: Path) -> None:
    table(y=[word if row % 5 == 0 else label for row, label in enumerate(LABELS)]).to_csv(tmp_path / "t.csv")
    pd.read_csv(tmp_path / "t.csv", index_col=0, keep_default_na=False).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(PartialFairError, match=r"column 'y' has no value|column 'y': .* look alike|3 values"):
        FILED[entry](tmp_path / "t.csv")


def test_the_user_says_what_the_other_labels_are(tmp_path: Path) -> None:
    y = ["unknown" if row % 5 == 0 else label for row, label in enumerate(LABELS)]
    table(y=y).to_csv(tmp_path / "t.csv", index=False)
    load = partial(csv_table.load, None, str(tmp_path / "t.csv"), "y", "sex", positive="yes", minimum_group_size=5)
    found = load(negative=["no", "unknown"])
    np.testing.assert_array_equal(found.y, np.where(np.array(y) == "yes", 1.0, -1.0))
    with pytest.raises(PartialFairError, match="column 'y' has no value in row 1 after the header .'unknown'"):
        load(negative="no")
    assert load(negative="no", missing="drop").n_rows == ROWS - ROWS // 5


@pytest.mark.parametrize("entry", PARQUET)
@pytest.mark.parametrize("kind", ALIKE)
def test_groups_of_a_file_that_look_alike_are_refused(entry: str, kind: str, tmp_path: Path) -> None:
    one, other = ALIKE[kind]
    if not isinstance(one, str) or not isinstance(other, str):
        pytest.skip("a column of a file has one type")
    table(sex=[("a", one, "a", other)[row % 4] for row in range(ROWS)]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises((PartialFairError, ValueError), match=r"'sex'.*(look alike|differ in blanks alone)"):
        PARQUET[entry](tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", [name for name, pair in ALIKE.items() if {*map(type, pair)} == {str}])
@pytest.mark.parametrize("entry", ["own table", "fit_parquet"])
def test_levels_that_look_alike_are_refused(entry: str, kind: str, tmp_path: Path) -> None:
    one, other = ALIKE[kind]
    table(t=[("a", one, "c", other)[row % 4] for row in range(ROWS)]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises((PartialFairError, ValueError), match=r"'t'.*(look alike|differ in blanks alone)"):
        PARQUET[entry](tmp_path / "t.parquet")


CODES = np.arange(ROWS) % 4


def scored(path: Path, column: Any, training: Any) -> Any:
    rows = table(y=(CODES >= 2).astype(int) ^ (RANDOM.random(ROWS) < 0.05)).drop(columns="t")
    for values, file in ((training, "fit.parquet"), (column, "new.parquet")):
        new = pa.Table.from_pandas(rows, preserve_index=False).append_column("c", values)
        parquet.write_table(new, path / file)
    model = PartialFairClassifier(interval=INTERVAL, kappa=0.9).fit_parquet(
        path / "fit.parquet", label="y", sensitive_features="sex", categories=["c"]
    )
    return [model.decision_function_parquet(path / file, sensitive_features="sex") for file in
            ("fit.parquet", "new.parquet")]  # fmt: skip


TYPES = {
    "int8": pa.array(CODES, pa.int8()), "double": pa.array(CODES.astype(float)), "text": pa.array(map(str, CODES)),
    "large text": pa.array(map(str, CODES), pa.large_string()),
    "dictionary": pa.array(map(str, CODES)).dictionary_encode(),
}  # fmt: skip


@pytest.mark.parametrize("then", TYPES)
@pytest.mark.parametrize("now", TYPES)
def test_levels_are_the_same_whatever_their_type(then: str, now: str, tmp_path: Path) -> None:
    np.testing.assert_array_equal(*scored(tmp_path, TYPES[now], TYPES[then]))


def test_a_level_that_no_row_had_in_fit_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"column 'c': 'False' looks like '0', with which the model was fitted"):
        scored(tmp_path, pa.array(CODES > 1), TYPES["int8"])
    with pytest.raises(ValueError, match=r"column 'c': '0' looks like 'False', with which the model was fitted"):
        scored(tmp_path, pa.array(CODES // 2), pa.array(CODES > 1))
    with pytest.raises(ValueError, match=r"column 'c': 100% of the rows have an unknown level.*its type is int64"):
        scored(tmp_path, pa.array(CODES + 10), TYPES["text"])
    with pytest.warns(UserWarning, match=r"column 'c': 100% of the rows have an unknown level"):
        scored(tmp_path, pa.array([f"new {code}" for code in CODES]), TYPES["text"])
    share = np.mean(CODES == 3)
    with pytest.warns(UserWarning, match=rf"column 'c': {share:.0%} of the rows have an unknown level"):
        scored(tmp_path, pa.array(["new" if code == 3 else str(code) for code in CODES]), TYPES["text"])


@pytest.mark.parametrize("write", [str.lower, "{} ".format, "{}.".format, "\N{ZERO WIDTH SPACE}{}".format])
def test_a_level_written_in_another_way_is_refused(write: Callable[[str], str], tmp_path: Path) -> None:
    fitted = [f"Level {code}" for code in CODES]
    with pytest.raises(ValueError, match=r"column 'c': '.*' looks like 'Level \d', with which the model was fitted"):
        scored(tmp_path, pa.array([write(text) for text in fitted]), pa.array(fitted))


def test_a_number_is_its_level_however_it_is_written(tmp_path: Path) -> None:
    written = pa.array([f"{code}.0" for code in CODES])
    np.testing.assert_array_equal(*scored(tmp_path, written, TYPES["text"]))


def test_a_file_beyond_single_precision_is_refused_by_column(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.arange(40) * 1e39, "sex": ["a", "b"] * 20, "y": [0, 0, 1, 1] * 10})
    table.to_parquet(tmp_path / "rows.parquet")
    model = PartialFairClassifier(interval=INTERVAL, kappa=0.9)
    with pytest.raises(ValueError, match=r"column 'x' has 1e\+39, beyond 1e\+12"):
        model.fit_parquet(tmp_path / "rows.parquet", label="y", sensitive_features="sex")


LARGE = [2**60 + code for code in range(80)]


DRESSES: list[Callable[[list[int]], Any]] = [
    np.array,
    list,
    lambda values: pd.array(values, dtype="Int64"),
    lambda values: np.array(values, object),
    lambda values: [str(value) for value in values],
    lambda values: [Decimal(value) / 2**61 for value in values],
]


@pytest.mark.parametrize("dress", DRESSES)
def test_scores_that_double_precision_ties_are_refused_in_any_dress(dress: Callable[[list[int]], Any]) -> None:
    groups = ["a"] * 40 + ["b"] * 40
    with pytest.raises(DataError, match="differ by less than double precision holds"):
        audit_scores(dress(LARGE), groups)
    exact = np.random.default_rng(0).random(80)
    texts = [f"{score!r}" for score in exact.tolist()]
    assert audit_scores(texts, groups).metric("sp") == audit_scores(exact, groups).metric("sp")


def test_a_minus_of_a_word_processor_is_a_minus() -> None:
    labels = ["1", "\N{MINUS SIGN}1"] * 20
    with pytest.raises(DataError, match="is positive is doubtful"):
        audit_scores(np.arange(40.0), ["a", "a", "b", "b"] * 10, labels)
    with pytest.raises(DataError, match="look alike"):
        audit_scores(np.arange(40.0), ["a", "a", "b", "b"] * 10, [*labels[:39], "-1"])


@pytest.mark.parametrize("make", [PartialFairClassifier, PartialFairPostProcessor, PartialFairBoosting])
def test_a_score_of_rows_in_another_order_is_refused(make: Any) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=300), "z": random.normal(size=300)})
    y, groups = (X.x > 0).astype(int), np.array(["a", "b"] * 150)
    model = make(interval=INTERVAL, kappa=0.9).fit(X, y, sensitive_features=groups)
    assert model.score(X, y, sensitive_features=groups) > 0.8
    with pytest.raises(ValueError, match="y: row 0 has the index"):
        model.score(X, y.sample(frac=1, random_state=0), sensitive_features=groups)
    with pytest.raises(ValueError, match="sample_weight: row 0 has the index"):
        model.score(X, y, (y + 1.0).sample(frac=1, random_state=0), sensitive_features=groups)


def test_weights_of_an_estimator_are_called_by_its_argument() -> None:
    X, y, groups = np.arange(20.0)[:, None], [0, 1] * 10, ["a", "a", "b", "b"] * 5
    with pytest.raises(ValueError, match="^sample_weight: -1 in row 0 is no weight"):
        PartialFairClassifier(interval=INTERVAL).fit(X, y, sensitive_features=groups, sample_weight=-np.ones(20))
    with pytest.raises(DataError, match="weights: their sum is beyond double precision"):
        audit_scores(np.arange(20.0), groups, weights=np.full(20, 1e308))
    with pytest.raises(ValueError, match=r"y has 2 columns"):
        PartialFairClassifier(interval=INTERVAL, missing="drop").fit(X, np.c_[y, y], sensitive_features=groups)


@pytest.mark.parametrize(
    "values",
    [pa.array([b"no", b"yes"] * (ROWS // 2)), pa.array([1, 2] * (ROWS // 2), pa.date32())],
    ids=["bytes", "dates"],
)
def test_labels_of_dates_and_bytes_are_one_sentence(values: Any, tmp_path: Path) -> None:
    new = pa.Table.from_pandas(table().drop(columns="y"), preserve_index=False).append_column("y", values)
    parquet.write_table(new, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="column 'y' has type .*, and a label is a text, a number or a truth value"):
        PARQUET["fit_parquet"](tmp_path / "t.parquet")


def test_features_of_a_file_have_different_names(tmp_path: Path) -> None:
    table(t=["missing", None, "u", "v"] * (ROWS // 4)).to_parquet(tmp_path / "t.parquet")
    names = PARQUET["fit_parquet"](tmp_path / "t.parquet").feature_names_in_.tolist()
    assert "t=missing" in names and "t=(missing)" in names and len(set(names)) == len(names)
    new = pa.Table.from_pandas(table(), preserve_index=False).append_column("s", pa.array(SCORES))
    parquet.write_table(new, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="column 's' occurs twice; rename"):
        PARQUET["fit_parquet"](tmp_path / "t.parquet")


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table(s=changed("", column=SCORES), sex=changed("", [5, 6]), y=changed("", 7, LABELS)).to_csv(path, index=False)
    for entry in ("audit_file", "own table"):
        with pytest.raises(PartialFairError) as caught:
            FILED[entry](path)
        message = str(caught.value)
        assert "3 faults" in message and "column 's' has no value in row 4 after" in message
        assert "column 'sex' has no value in row 6 after the header (2 such rows)" in message
        assert "column 'y' has no value in row 8 after" in message


def test_rows_with_missing_values_are_left_out_or_a_group_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    few = list(range(0, 120, 3))
    table(s=changed("?", 5, SCORES), sex=changed("", few), y=changed("NA", 7, LABELS)).to_csv(path, index=False)
    audit = partial(audit_file, path, score="s", group="sex", label="y", positive="yes", confidence_intervals=False)
    dropped = audit(missing="drop")
    kept = np.setdiff1d(np.arange(ROWS), [*few, 5, 7])
    expected = audit_scores(
        SCORES.round(4)[kept], np.array(GROUPS)[kept], np.array(LABELS)[kept], confidence_intervals=False
    )
    assert dropped.rows == len(kept) and dropped.metric("sp") == expected.metric("sp")
    assert dropped.record["rows left out"] == "42 (1 without score, 40 without group, 1 without label)"
    with pytest.raises(PartialFairError, match="2 faults: column 's' has no value .*column 'y' has no value"):
        audit(missing="group")
    table(sex=changed("", few)).to_csv(path, index=False)
    grouped = audit(missing="group")
    assert [(line.name, line.rows) for line in grouped.groups] == [("a", 80), ("b", 80), ("missing", 40)]
    assert suggest_for_file(path, score="s", group="sex", missing="drop", threshold=0.0)[1] == {}
    own = partial(csv_table.load, None, str(path), "y", "sex", positive="yes", minimum_group_size=5)
    assert own(missing="group").group_names == ("a", "b", "missing") and own(missing="drop").n_rows == 160
    with pytest.raises(PartialFairError, match="missing is 'ignore'"):
        audit(missing="ignore")
