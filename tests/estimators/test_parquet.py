"""Fits on Parquet files: the same as fits in memory, and one sentence for what cannot be read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.exceptions import NotFittedError

from partialfair.estimators import InputError, PartialFairClassifier, coded_rows, large, parquet_columns
from tests.benchmarks.bench_tables import rank_gap

SETTINGS: dict[str, Any] = {"interval": [(0.1, 0.5)], "kappa": 0.04, "kappa_scale": "absolute"}


def frame(make_rows: Any, n: int = 1500) -> pd.DataFrame:
    X, y, group = make_rows(n, groups=("a", "b", "c"))
    random = np.random.default_rng(1)
    X = X.assign(city=random.choice(["Oslo", "Rome", "Bern"], n), code=random.integers(0, 4, n), old=X["age"] > 50)
    return X.assign(label=y, sex=group)


@pytest.fixture
def table(make_rows: Any, tmp_path: Path) -> tuple[pd.DataFrame, Path]:
    rows = frame(make_rows)
    rows.to_parquet(tmp_path / "rows.parquet")
    return rows, tmp_path / "rows.parquet"


def fitted(path: Path, **changed: Any) -> PartialFairClassifier:
    model = PartialFairClassifier(**(SETTINGS | changed))
    return model.fit_parquet(path, label="label", sensitive_features="sex", categories=["code"])


def encoded(rows: pd.DataFrame, model: PartialFairClassifier) -> np.ndarray:
    one_hot = pd.get_dummies(rows[["city", "code", "old"]].astype(str), prefix_sep="=", dtype=float)
    return pd.concat([rows[["age", "hours", "degree"]], one_hot], axis=1)[list(model.feature_names_in_)].to_numpy()


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view()], ids=str)
def test_texts_are_read_however_they_are_laid_out(table: Any, tmp_path: Path, kind: pa.DataType) -> None:
    """As polars writes them."""
    rows, path = table
    whole = pa.Table.from_pandas(rows, preserve_index=False)
    other = pa.table({name: column.cast(kind) if name in ("city", "sex", "label") else column
                      for name, column in zip(whole.column_names, whole.columns, strict=True)})  # fmt: skip
    parquet.write_table(other, tmp_path / "other.parquet")
    assert parquet.read_schema(tmp_path / "other.parquet").field("city").type == kind
    models = [fitted(one) for one in (path, tmp_path / "other.parquet")]
    scores = [model.decision_function_parquet(tmp_path / "other.parquet", sensitive_features="sex") for model in models]
    np.testing.assert_array_equal(*scores)


def test_a_file_is_fitted_as_its_one_hot_matrix_in_memory(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, path = table
    monkeypatch.setattr(parquet_columns, "BATCH", 400)  # several batches
    monkeypatch.setattr(large, "SAMPLE", 200)  # the start looks at some rows only
    model = fitted(path)
    X = encoded(rows, model)
    scores = model.decision_function_parquet(path, sensitive_features="sex")
    np.testing.assert_allclose(scores, model.decision_function(X, sensitive_features=rows["sex"]), atol=1e-4)
    gap = rank_gap(scores, rows["sex"].to_numpy(str), 0.1, 0.5)
    assert gap == pytest.approx(model.train_violation_, abs=1e-12)
    assert gap <= 0.04 and model.status_ == "ok"
    other = PartialFairClassifier(**SETTINGS).fit(X, rows["label"], sensitive_features=rows["sex"])
    agree = model.predict(X, sensitive_features=rows["sex"]) == other.predict(X, sensitive_features=rows["sex"])
    assert agree.mean() > 0.995
    assert model.groups_.tolist() == ["a", "b", "c"] and model.classes_.tolist() == ["no", "yes"]


def test_an_unknown_level_is_no_level_and_an_unknown_group_is_refused(table: Any, tmp_path: Path) -> None:
    rows, path = table
    model = fitted(path)
    few = rows.head(20)
    few.assign(city="Paris").to_parquet(tmp_path / "new.parquet")
    X = encoded(few, model)
    X[:, [name.startswith("city") for name in model.feature_names_in_]] = 0
    scores = model.decision_function_parquet(tmp_path / "new.parquet", sensitive_features="sex")
    np.testing.assert_allclose(scores, model.decision_function(X, sensitive_features=few["sex"]), atol=1e-4)
    few.assign(sex="d").to_parquet(tmp_path / "group.parquet")
    with pytest.raises(InputError, match="column 'sex' has the group 'd', of which fit had no rows"):
        model.decision_function_parquet(tmp_path / "group.parquet", sensitive_features="sex")


def test_a_missing_category_is_a_level_and_a_missing_number_is_refused(table: Any, tmp_path: Path) -> None:
    rows, _ = table
    path = tmp_path / "missing.parquet"
    rows.assign(city=rows["city"].where(rows["city"] != "Rome")).to_parquet(path)
    assert "city=missing" in fitted(path).feature_names_in_
    rows.assign(age=rows["age"].where(rows.index > 0)).to_parquet(path)
    with pytest.raises(InputError, match="column 'age' has missing or infinite numbers; impute them"):
        fitted(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"solver": "alm"}, "solver is 'alm', and fit_parquet serves 'auto'"),
        ({"uses_group": False}, "uses_group is False"),
        ({"solver_options": {"nonsense": 1}}, "solver_options is {'nonsense': 1}, and fit_parquet serves None"),
        ({"device": "cuda"}, "device is 'cuda', and fit_parquet serves 'cpu'"),
        ({"kappa": "0.1"}, "kappa is '0.1'; use a positive number"),
        ({"kappa_scale": "foo"}, "kappa_scale is 'foo'; choose from relative, absolute"),
        ({"interval": "abc"}, "interval: .* is not a pair of numbers"),
    ],
)
def test_settings_that_do_not_serve_are_refused(table: Any, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted(table[1], **changed)


def test_columns_that_cannot_be_used_are_named(table: Any, tmp_path: Path) -> None:
    rows, path = table
    with pytest.raises(InputError, match="the file has no column 'race'"):
        PartialFairClassifier().fit_parquet(path, label="label", sensitive_features="race")
    with pytest.raises(InputError, match="column 'city' has 3 values; a label has two"):
        PartialFairClassifier().fit_parquet(path, label="city", sensitive_features="sex")
    rows.assign(day=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "day.parquet")
    with pytest.raises(InputError, match="column 'day' has type timestamp"):
        fitted(tmp_path / "day.parquet")


def written(path: Path, rows: pd.DataFrame, **columns: pa.Array) -> Path:
    """A file with some columns as Arrow has them: NaN is no missing value there."""
    table = pa.Table.from_pandas(rows.drop(columns=[*columns], errors="ignore"), preserve_index=False)
    for name, column in columns.items():
        table = table.append_column(name, column)
    parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("column", ["label", "sex"])
@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_missing_label_or_group_is_refused_with_its_row(
    table: Any, column: str, missing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, path = table
    monkeypatch.setattr(parquet_columns, "BATCH", 400)
    values: list[Any] = (rows[column].isin(["yes", "a"]) + 1.0).tolist()
    values[1234] = missing
    written(path, rows, **{column: pa.array(values)})
    with pytest.raises(InputError, match=f"column '{column}' has no value in row 1234; drop such rows"):
        fitted(path)


@pytest.mark.parametrize("blank", ["", "  "])
def test_empty_text_is_no_group(table: Any, blank: str) -> None:
    rows, path = table
    rows.assign(sex=rows["sex"].where(rows.index != 7, blank)).to_parquet(path)
    with pytest.raises(InputError, match="column 'sex' has no value in row 7; drop such rows"):
        fitted(path)


def test_missing_codes_of_a_category_are_one_level_in_all_batches(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, path = table
    monkeypatch.setattr(parquet_columns, "BATCH", 400)
    codes = np.where(rows["code"] == 3, np.nan, rows["code"])
    model = fitted(written(path, rows, code=pa.array(codes)))
    assert [name for name in model.feature_names_in_ if name.startswith("code")] == [
        "code=0", "code=1", "code=2", "code=missing",
    ]  # fmt: skip


def test_groups_have_the_names_that_fit_gives_them(table: Any) -> None:
    rows, path = table
    rows = rows.assign(sex=(rows["sex"] == "a").astype(float))
    rows.to_parquet(path)
    model = fitted(path)
    scores = model.decision_function_parquet(path, sensitive_features="sex")
    for groups in (rows["sex"], rows["sex"].astype(int), rows["sex"].astype(int).astype(str)):
        found = model.decision_function(encoded(rows, model), sensitive_features=groups)
        np.testing.assert_allclose(found, scores, atol=2e-3)  # maps are steep where they leave the interval
    rows.assign(sex=rows["sex"].astype(int)).to_parquet(path)
    np.testing.assert_array_equal(model.decision_function_parquet(path, sensitive_features="sex"), scores)


def test_files_that_cannot_be_read_are_refused_in_one_sentence(table: Any, tmp_path: Path) -> None:
    rows, path = table
    model, (text, empty, cut) = fitted(path), (tmp_path / name for name in ("text", "empty", "cut"))
    text.write_text("age,hours\n1,2\n")
    rows.head(0).to_parquet(empty)
    cut.write_bytes(path.read_bytes()[:-100])
    for file, words in (
        (tmp_path / "none", "none does not exist; give the path"),
        (tmp_path, "is a folder; give the path"),
        (text, "text cannot be read as a Parquet file"),
        (cut, "cut cannot be read as a Parquet file"),
        (empty, "empty has no rows; give a file"),
    ):
        with pytest.raises(InputError, match=words):
            fitted(file)
        with pytest.raises(InputError, match=words):
            model.decision_function_parquet(file, sensitive_features="sex")


def test_columns_of_other_types_are_refused_in_one_sentence(table: Any, tmp_path: Path) -> None:
    rows, path = table
    model, other = fitted(path), tmp_path / "other.parquet"
    exact = pa.array([Decimal(j % 2) for j in range(len(rows))])
    lists = pa.array([[j % 2] for j in range(len(rows))])
    for column in ("label", "sex", "code"):
        for values in (exact, lists):
            with pytest.raises(InputError, match=f"column '{column}' has type .*; convert it to numbers or texts"):
                fitted(written(other, rows, **{column: values}))
    rows.assign(label=np.arange(len(rows)) % 200).to_parquet(other)
    with pytest.raises(InputError, match="column 'label' has 200 values; a label has two"):
        fitted(other)
    rows.assign(age="old").to_parquet(other)
    with pytest.raises(InputError, match="column 'age' has type .*, and fit had numbers there"):
        model.decision_function_parquet(other, sensitive_features="sex")
    with pytest.raises(InputError, match=r"sensitive_features is \['sex', 'city'\]; give the name of one column"):
        model.fit_parquet(path, label="label", sensitive_features=["sex", "city"])  # type: ignore[arg-type]


def test_a_model_that_is_fitted_anew_in_memory_forgets_the_file(table: Any) -> None:
    rows, path = table
    model = fitted(path).fit(rows[["age", "hours"]], rows["label"], sensitive_features=rows["sex"])
    assert not hasattr(model, "encoding_")
    with pytest.raises(NotFittedError, match="was not fitted on a file; call fit_parquet"):
        model.decision_function_parquet(path, sensitive_features="sex")


def test_the_index_of_a_pandas_table_is_no_feature(table: Any, tmp_path: Path) -> None:
    """Rows that were selected keep their numbers, which pandas writes as a column of the file."""
    rows, path = table
    wanted = fitted(path)
    for name in ("selected", "named"):
        own = rows.set_axis(pd.Index(np.arange(len(rows))[::-1] ** 2, name="person" if name == "named" else None))
        own.to_parquet(tmp_path / f"{name}.parquet")
        assert len(parquet.read_schema(tmp_path / f"{name}.parquet").names) == rows.shape[1] + 1
        model = fitted(tmp_path / f"{name}.parquet")
        assert model.feature_names_in_.tolist() == wanted.feature_names_in_.tolist()
        scores = model.decision_function_parquet(tmp_path / f"{name}.parquet", sensitive_features="sex")
        np.testing.assert_array_equal(scores, wanted.decision_function_parquet(path, sensitive_features="sex"))
    rows.set_index("sex").to_parquet(tmp_path / "group.parquet")
    assert fitted(tmp_path / "group.parquet").groups_.tolist() == ["a", "b", "c"], "but may be the groups"
    rows.set_index("code").to_parquet(tmp_path / "code.parquet")
    assert "code=0" in fitted(tmp_path / "code.parquet").feature_names_in_, "or a category that is named"


def test_categories_that_do_not_occur_are_no_labels_and_no_levels(table: Any) -> None:
    rows, path = table
    expected = fitted(path)
    more = {name: pd.Categorical(rows[name], [*sorted(set(rows[name])), "unknown"]) for name in ("label", "city")}
    rows.assign(**more).to_parquet(path)
    model = fitted(path)
    assert model.classes_.tolist() == ["no", "yes"]
    assert tuple(model.feature_names_in_) == tuple(expected.feature_names_in_)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_columns_that_serve_twice_or_not_at_all_are_refused(table: Any, tmp_path: Path) -> None:
    rows, path = table
    model = PartialFairClassifier(**SETTINGS)
    with pytest.raises(InputError, match="column 'sex' is given as label and as sensitive_features"):
        model.fit_parquet(path, label="sex", sensitive_features="sex")
    with pytest.raises(InputError, match="categories: column 'label' is the label or the groups"):
        model.fit_parquet(path, label="label", sensitive_features="sex", categories=["code", "label"])
    rows[["label", "sex"]].to_parquet(tmp_path / "bare.parquet")
    with pytest.raises(InputError, match="there is no column besides 'label' and 'sex'; add features"):
        model.fit_parquet(tmp_path / "bare.parquet", label="label", sensitive_features="sex")
    rows.assign(sex=np.where(np.arange(len(rows)) == 5, "a ", rows["sex"])).to_parquet(path)
    with pytest.raises(InputError, match="'a' and 'a ' differ in blanks alone"):
        fitted(path)


def test_the_scale_of_a_sorted_column_is_that_of_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_columns, "BATCH", 100)
    monkeypatch.setattr(coded_rows, "BATCH", 100)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": np.sort(rng.normal(5, 3, size=1000)),
            "g": np.where(np.arange(1000) % 2, "a", "b"),
            "y": rng.integers(0, 2, 1000),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    encoding = coded_rows.read_rows(tmp_path / "t.parquet", "y", "g").encoding
    assert encoding.scale[0] == pytest.approx(frame["x"].std(ddof=0), rel=1e-5)
    assert (encoding.centre + encoding.mean)[0] == pytest.approx(frame["x"].mean(), rel=1e-5)
