"""Fits on Parquet files: the same as fits in memory, and one sentence for what cannot be read."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from partialfair.estimators import InputError, PartialFairClassifier, coded_rows, large
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


def test_a_file_is_fitted_as_its_one_hot_matrix_in_memory(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, path = table
    monkeypatch.setattr(coded_rows, "BATCH", 400)  # several batches
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
    ],
)
def test_settings_that_only_fits_in_memory_serve_are_refused(table: Any, changed: dict[str, Any], words: str) -> None:
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
