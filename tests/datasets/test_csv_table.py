"""Tables of one's own: a file and a few lines of ``params.yaml``."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from papers.cross_paper.datasets import law_school
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError, PluginError
from reproduction.datasets import csv_table
from reproduction.datasets.named import named_dataset
from reproduction.datasets.spec import SplitRule
from reproduction.jobs import prepare

ENTRY: dict[str, Any] = {
    "module": "csv_table",
    "file": "people.csv",
    "label": "approved",
    "positive": "yes",
    "groups": ["sex", "age"],
    "drop": ["id"],
    "minimum_group_size": 20,
}


def people(rows: int = 400) -> pd.DataFrame:
    stream = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "id": [f"p{row}" for row in range(rows)],
            "sex": np.where(np.arange(rows) % 2, "f", "m"),
            "age": np.where(np.arange(rows) % 4 < 2, "old", "young"),
            "income": stream.normal(30, 5, rows).round(3),
            "flag": stream.integers(0, 2, rows),
            "town": stream.choice(["x", "y", "z"], rows),
            "approved": stream.choice(["yes", "no"], rows),
        }
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)


def read(**changes: Any) -> Dataset:
    entry = {key: value for key, value in {**ENTRY, **changes}.items() if value is not None}
    return named_dataset("people", entry).load("data/raw")


def test_columns_become_inputs_labels_and_intersectional_groups() -> None:
    table, raw = read(), people()
    assert table.name == "people"
    assert table.feature_names == ("income", "flag", "town=y", "town=z")
    assert table.group_names == ("f & old", "f & young", "m & old", "m & young")
    X = table.X.toarray()  # type: ignore[union-attr]
    np.testing.assert_allclose(X[:, 0], raw["income"], rtol=1e-6)
    np.testing.assert_array_equal(X[:, 2], raw["town"] == "y")
    np.testing.assert_array_equal(table.y, np.where(raw["approved"] == "yes", 1, -1))
    np.testing.assert_array_equal(table.group, (raw["sex"] == "m") * 2 + (raw["age"] == "young"))
    assert table.numeric.tolist() == [0], "0/1 columns are not standardised"


def test_parquet_semicolons_and_a_byte_order_mark_give_the_same_table() -> None:
    expected = read()
    people().to_parquet("people.parquet")
    people().to_csv("other.csv", index=False, sep=";", encoding="utf-8-sig")
    for file in ("people.parquet", "other.csv"):
        found = read(file=file)
        assert found.feature_names == expected.feature_names
        np.testing.assert_array_equal(found.X.toarray(), expected.X.toarray())  # type: ignore[union-attr]
        np.testing.assert_array_equal(found.group, expected.group)


def test_lists_of_inputs_decide_what_a_column_is() -> None:
    table = read(numeric=["income"], categorical=["flag", "town"])
    assert table.feature_names == ("income", "flag=1", "town=y", "town=z")
    dense = read(numeric=["income", "flag"], drop=["id", "town"])
    assert isinstance(dense.X, np.ndarray) and dense.feature_names == ("income", "flag")


def test_rules_for_small_groups() -> None:
    raw = people()
    raw.loc[:4, "sex"] = "x"
    raw.to_csv("people.csv", index=False)
    with pytest.raises(DataError, match=r"fewer than 20 rows in group 'x & old': 3, 'x & young': 2; set small_groups"):
        read()
    dropped = read(small_groups="drop")
    assert (dropped.n_rows, dropped.n_groups) == (395, 4)
    merged = read(small_groups="merge", minimum_group_size=5)
    assert merged.n_rows == 400
    assert dict(zip(merged.group_names, np.bincount(merged.group), strict=True))["other"] == 5
    with pytest.raises(DataError, match=r"5 groups are left, the smallest of 5 rows; at least 2 of 6"):
        read(small_groups="merge", minimum_group_size=6)


def test_a_group_of_exactly_the_minimum_stays() -> None:
    assert np.bincount(read(minimum_group_size=100).group).tolist() == [100] * 4
    with pytest.raises(DataError, match="fewer than 101 rows in group"):
        read(minimum_group_size=101)


def test_of_two_numbers_as_labels_the_larger_is_positive() -> None:
    """Also where it comes first by the alphabet."""
    raw = people()
    raw["approved"] = raw["approved"].map({"no": 9, "yes": 10})
    raw.to_csv("people.csv", index=False)
    np.testing.assert_array_equal(read(positive=None).y, np.where(raw["approved"] == 10, 1, -1))


def test_a_column_with_a_single_value_besides_0_and_1_is_standardised() -> None:
    raw = people().astype({"flag": float})
    raw.loc[5, "flag"] = 7.5
    raw.to_csv("people.csv", index=False)
    table = read()
    assert [table.feature_names[column] for column in table.numeric] == ["income", "flag"]


def test_missing_entries_are_refused_or_their_rows_dropped() -> None:
    raw = people().astype(object)
    raw.loc[6, "income"], raw.loc[9, "town"], raw.loc[11, "approved"] = None, " ", "NA"
    raw.to_csv("people.csv", index=False)
    with pytest.raises(
        DataError,
        match=r"3 faults: column 'income' has no value in row 7 after.*'town'.*'approved' has no value in row 12",
    ):
        read()
    table = read(missing="drop")
    kept = raw.drop(index=[6, 9, 11])
    np.testing.assert_allclose(table.X.toarray()[:, 0], kept["income"].astype(float), rtol=1e-6)  # type: ignore[union-attr]
    raw.loc[3, "sex"] = ""
    raw.to_csv("people.csv", index=False)
    assert read(missing="drop").n_rows == 396


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"label": "aproved"}, DataError, "no column 'aproved'; did you mean 'approved'"),
        ({"groups": "sexx"}, DataError, "no column 'sexx'; did you mean 'sex'"),
        ({"positive": True}, DataError, "label 'approved': the positive label 'True' does not occur.*quotes"),
        ({"label": "town", "drop": ["id", "approved"], "positive": None}, DataError, "label 'town': 3 values"),
        ({"drop": ["id", "sex"]}, ConfigError, "'sex' is given for two purposes"),
        ({"numeric": ["income"]}, ConfigError, "'flag' stands in none of"),
        (
            {"numeric": ["income", "town"], "categorical": ["flag"]},
            DataError,
            "'town': '[xyz]' in row 1 after the header is not a finite number",
        ),
        ({"drop": ["id", "income", "flag", "town"]}, ConfigError, "no column is left as an input"),
        ({"small_groups": "dropp"}, ConfigError, "small_groups is 'dropp'; did you mean 'drop'"),
        ({"positive": ["yes"]}, ConfigError, r"positive is \['yes'\]; write the one value"),
        ({"file": "peple.csv"}, DataError, "peple.csv: there is no such file; correct datasets.people.file"),
        ({"sha256": "00"}, DataError, "its sha256 is [0-9a-f]{64}, datasets.people.sha256 says 00"),
        ({"module": "csv_tabel"}, PluginError, "csv_table"),
        ({"split": {"train": 0.5, "test": 0.5}}, ConfigError, "datasets.people.split is .*validation"),
        ({"split": {"train": 0.5, "validation": 0.5, "test": 0.5}}, ConfigError, "sum to 1"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(**changes)


def test_the_index_that_pandas_writes_is_no_input() -> None:
    people().sample(frac=0.8, random_state=0).to_parquet("people.parquet")
    with pytest.raises(DataError, match=r"'__index_level_0__' is the index.*to_parquet\(path, index=False\)"):
        read(file="people.parquet")
    assert read(file="people.parquet", drop=["id", "__index_level_0__"]).n_rows == 320
    people().to_parquet("people.parquet", index=False)
    assert read(file="people.parquet").n_rows == 400


def test_numbers_that_single_precision_cannot_tell_apart_are_refused() -> None:
    raw = people()
    raw["when"] = 1.7e9 + np.arange(400) % 60
    raw.to_csv("people.csv", index=False)
    with pytest.raises(
        DataError, match="'when' has 60 different values, of which 1 can be .*subtract .*, such as 170000"
    ):
        read()
    raw["when"] -= 1.7e9
    raw.to_csv("people.csv", index=False)
    assert np.unique(read().X.toarray()[:, 2]).size == 60  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2020-01-01", periods=400), "'more' holds dates or times; put it into drop"),
        (pd.to_timedelta(np.arange(400), unit="h"), "'more' holds dates or times"),
        ([[1, 2]] * 400, "people.parquet: column 'more' has a collection of values in row 1 .*or put it into drop"),
    ],
)
def test_columns_that_are_neither_numbers_nor_texts_are_named(values: Any, message: str) -> None:
    people().assign(more=values).to_parquet("people.parquet", index=False)
    with pytest.raises(DataError, match=message):
        read(file="people.parquet")


@pytest.mark.parametrize("text", ["NULL", "N/A", "#N/A", "n/a", "<NA>"])
def test_other_words_for_missing_are_no_values(text: str) -> None:
    raw = people().astype(object)
    raw.loc[6, "income"], raw.loc[9, "town"], raw.loc[11, "approved"] = text, text, text
    raw.to_csv("people.csv", index=False)
    with pytest.raises(DataError, match="3 faults: column 'income' has no value in row 7 after"):
        read()
    assert read(missing="drop").n_rows == 397


def test_an_identifier_among_the_inputs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MAX_LEVELS", 100)
    with pytest.raises(DataError, match="'id' takes 400 different values in 400 rows; it looks like an identifier"):
        read(drop=[])


def test_the_checksum_is_verified_by_fetch_and_verify() -> None:
    right = hashlib.sha256(Path("people.csv").read_bytes()).hexdigest()
    options = {"people": {**ENTRY, "sha256": right}}
    assert [fetched.origin for fetched in prepare.fetch(["people"], "data/raw", options)] == ["your own file"]
    assert prepare.verify(["people"], "data/raw", options) == [Path("people.csv")]
    Path("people.csv").write_text("changed")
    with pytest.raises(DataError, match="its sha256 is"):
        prepare.verify(["people"], "data/raw", options)


def test_a_checksum_that_differs_in_its_last_digit_is_refused() -> None:
    right = hashlib.sha256(Path("people.csv").read_bytes()).hexdigest()
    assert read(sha256=right.upper()).n_rows == 400
    with pytest.raises(DataError, match=f"its sha256 is {right}"):
        read(sha256=right[:-1] + ("0" if right[-1] != "0" else "1"))


def test_the_proportions_of_an_entry_are_used() -> None:
    entry = {**ENTRY, "split": {"train": 0.5, "validation": 0.25, "test": 0.25}}
    assert named_dataset("people", entry).spec.split == SplitRule(0.5, 0.25, 0.25)
    prepare.prepare("people", "data/raw", "table.npz", entry)
    parts = prepare.split("table.npz", 0, "split.npz", entry)
    assert [len(parts.train), len(parts.validation), len(parts.test)] == [200, 100, 100]


def test_any_module_can_be_used_under_another_name() -> None:
    named = named_dataset("small", {"module": "simulated", "rows": 30})
    assert (named.load("data/raw").name, named.load("data/raw").n_rows, named.spec.title) == ("small", 30, "small")
    other = named_dataset("law", {"module": "law_school"}).spec
    assert other.directory("raw") == law_school.SPEC.directory("raw")
    with pytest.raises(ConfigError, match="bank is a dataset module itself"):
        named_dataset("bank", {"module": "csv_table"})


@pytest.mark.real_data
def test_law_school_read_as_an_own_table_is_law_school(dataset: Any, raw_dir: Path) -> None:
    expected = dataset("law_school")
    entry = {
        "module": "csv_table", "file": str(raw_dir / "law_school" / "law_school_clean.csv"), "label": "pass_bar",
        "groups": "race", "numeric": [*law_school.NUMERIC, "male"], "drop": ["fulltime"],
    }  # fmt: skip
    found = named_dataset("own_law_school", entry).load("data/raw")
    np.testing.assert_array_equal(found.y, expected.y)
    np.testing.assert_array_equal(found.group, expected.group)
    kept = [name for name in expected.feature_names if name != "part_time"]
    assert list(found.feature_names) == kept
    np.testing.assert_array_equal(found.X, expected.X[:, [expected.feature_names.index(name) for name in kept]])


def test_a_group_may_be_called_na_and_blank_ones_are_missing() -> None:
    raw = people().astype(object)
    raw.loc[:99, "sex"] = "NA"
    raw.loc[100:109, "sex"] = "  "
    raw.to_csv("people.csv", index=False)
    table = read(missing="drop", groups=["sex"])
    assert dict(zip(table.group_names, np.bincount(table.group), strict=True)) == {"NA": 100, "f": 145, "m": 145}


def test_small_groups_are_not_merged_into_one_that_there_is() -> None:
    raw = people().astype(object)
    raw.loc[:99, "sex"], raw.loc[100:102, "sex"] = "other", "tiny"
    raw.to_csv("people.csv", index=False)
    with pytest.raises(DataError, match=r"'tiny': 3\) would be merged into 'other', a group of the file; rename"):
        read(groups=["sex"], small_groups="merge", minimum_group_size=5)
    raw.loc[3:99, "sex"] = "f"  # both are too small: merging them mixes nothing that was whole
    raw.to_csv("people.csv", index=False)
    assert "other" in read(groups=["sex"], small_groups="merge", minimum_group_size=5).group_names


def test_rows_of_small_groups_that_are_dropped_take_their_values_with_them() -> None:
    """Rows of a group lie all over the file: every person keeps features, label and group."""
    raw = people().astype({"sex": object})
    raw.loc[::37, "sex"] = "x"
    raw["age"] = np.random.default_rng(0).permutation(len(raw)) + 0.5
    raw.to_csv("people.csv", index=False)
    found = read(groups=["sex"], small_groups="drop")
    kept = raw[raw["sex"] != "x"]
    assert found.n_rows == len(kept) < len(raw)
    ages = found.X[:, list(found.feature_names).index("age")]
    ages = np.asarray(ages.todense()).ravel() if hasattr(ages, "todense") else np.asarray(ages)
    np.testing.assert_array_equal(ages, kept["age"])
    np.testing.assert_array_equal(np.array(found.group_names)[found.group], kept["sex"])
    np.testing.assert_array_equal(found.y > 0, kept["approved"] == "yes")
