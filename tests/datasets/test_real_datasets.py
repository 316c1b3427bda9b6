"""The published datasets: counts measured on the published files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.cross_paper.datasets import a9a
from partialfair import plugins
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.splits import make_split
from tests import needs

Get = Callable[..., Dataset]
pytestmark = pytest.mark.real_data

# dataset -> rows, then (rows, positives) of group 0 and of group 1
COUNTS = {
    "a9a": (48_842, (16_192, 1_769), (32_650, 9_918)),
    "bank": (41_188, (1_978, 670), (39_210, 3_970)),
    "law_school": (20_798, (3_307, 2_391), (17_491, 16_114)),
    "acs_income_ok": (17_917, (8_435, 1_518), (9_482, 3_541)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_rows_and_positives(name: str, dataset: Get) -> None:
    data = dataset(name)
    rows, *groups = COUNTS[name]
    assert data.n_rows == rows == plugins.load("datasets", name).SPEC.n_rows
    for code, (size, positives) in enumerate(groups):
        assert (data.group == code).sum() == size
        assert (data.y[data.group == code] > 0).sum() == positives


@pytest.mark.parametrize(("name", "attributes"), [("a9a", 123), ("bank", 54), ("law_school", 12)])
def test_attributes_as_published(name: str, attributes: int, dataset: Get) -> None:
    spec = plugins.load("datasets", name).SPEC
    assert dataset(name).n_features + spec.other_columns == spec.n_attributes == attributes


def test_a9a_partition_and_encoding(dataset: Get, raw_dir: Path) -> None:
    data = dataset("a9a")
    for code, (rows, positives, male, male_positives) in {
        0: (32_561, 7_841, 21_790, 6_662),
        1: (16_281, 3_846, 10_860, 3_256),
    }.items():
        part = data.take(np.flatnonzero(data.partition == code))
        assert (part.n_rows, (part.y > 0).sum(), (part.group == 1).sum()) == (rows, positives, male)
        assert (part.y[part.group == 1] > 0).sum() == male_positives
    assert data.group_names == ("Female", "Male")
    assert not data.numeric.size
    assert set(data.X.data.tolist()) == {1.0}
    assert not [name for name in data.feature_names if name.startswith("sex=")]


def test_a9a_column_names_are_those_of_the_map(raw_dir: Path) -> None:
    needs.raw_files("a9a", raw_dir, extras=True)
    table = pd.read_csv(raw_dir / "a9a" / "a9a_feature_map.csv")
    values = table["bin_inclusive_observed"].str.removeprefix("=")
    assert a9a.column_names() == tuple(table["attribute"] + "=" + values)
    data = a9a.load(raw_dir)
    columns = [index - 1 for index in table["index_1based"] if index not in (72, 73)]
    totals = (table["n_train_a9a"] + table["n_test_a9a_t"]).to_numpy()
    assert np.array_equal(data.X.sum(axis=0), totals[columns])


def test_a9a_labels_0_and_1_are_mapped(dataset: Get, raw_dir: Path, tmp_path: Path) -> None:
    expected = dataset("a9a")
    (tmp_path / "a9a").mkdir()
    for name in ("a9a", "a9a.t"):
        text = (raw_dir / "a9a" / name).read_text().replace("-1 ", "0 ").replace("+1 ", "1 ")
        text = text.replace("\n", "123:0 \n", 1)  # as in copies that pad the first row
        (tmp_path / "a9a" / name).write_text(text)
    copy = a9a.load(tmp_path)
    assert np.array_equal(copy.y, expected.y) and (copy.X != expected.X).nnz == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-1 3:1", "2 3:1", r"labels \[-1.0, 1.0, 2.0\] are neither -1/\+1 nor 0/1"),
        (" 73:1", " ", "row 0 does not set exactly one of columns 72 and 73"),
        ("3:1 ", "3:7 ", "an entry is not 1"),
        (" 83:1", " 124:1", "not a LIBSVM file with columns 1..123"),
        (" 83:1", " native:1", "not a LIBSVM file"),
    ],
)
def test_a9a_of_another_encoding_is_refused(
    old: str, new: str, message: str, dataset: Get, raw_dir: Path, tmp_path: Path
) -> None:
    dataset("a9a")
    (tmp_path / "a9a").mkdir()
    text = (raw_dir / "a9a" / "a9a").read_text()[:4000].rpartition("\n")[0] + "\n"
    for name in ("a9a", "a9a.t"):
        (tmp_path / "a9a" / name).write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        a9a.load(tmp_path)


def test_bank_equals_pandas(dataset: Get, raw_dir: Path) -> None:
    data = dataset("bank")
    table = pd.read_csv(raw_dir / "bank" / "bank-additional-full.csv", sep=";").drop(columns="y")
    numeric = table.select_dtypes("number")
    expected = pd.get_dummies(table, drop_first=True, prefix_sep="=", dtype=np.float32)
    assert (len(data.feature_names), len(data.numeric)) == (53, 10)
    assert list(data.feature_names) == list(expected.columns)
    assert np.array_equal(data.X.toarray(), expected.to_numpy(np.float32))
    assert [data.feature_names[column] for column in data.numeric] == list(numeric.columns)
    assert np.array_equal(data.group == 1, (table["age"] >= 25) & (table["age"] <= 60))


def test_law_school_columns(dataset: Get, raw_dir: Path) -> None:
    data = dataset("law_school")
    table = pd.read_csv(raw_dir / "law_school" / "law_school_clean.csv")
    two_valued = [name for j, name in enumerate(data.feature_names) if j not in data.numeric]
    assert two_valued == ["part_time", "male"]
    assert all(set(data.X[:, data.feature_names.index(name)]) == {0.0, 1.0} for name in two_valued)
    for name in set(data.feature_names) - {"part_time"}:
        assert np.array_equal(data.X[:, data.feature_names.index(name)], table[name].to_numpy(np.float32))
    assert data.X[:, data.feature_names.index("part_time")].mean() == pytest.approx((table["fulltime"] == 2).mean())


@pytest.mark.parametrize(
    ("folder", "name", "old", "new", "message"),
    [
        ("law_school", "law_school_clean.csv", ",White,", ",Blue,", "column 'race' holds 'Blue'"),
        ("law_school", "law_school_clean.csv", "race", "colour", "column 'race' is missing"),
        ("bank", "bank-additional-full.csv", '"no"\n', '"maybe"\n', "column 'y' must be yes or no"),
        ("bank", "bank-additional-full.csv", '"job"', '"work"', "column 'job' is missing"),
    ],
)
def test_strange_table_is_refused(
    folder: str, name: str, old: str, new: str, message: str, dataset: Get, raw_dir: Path, tmp_path: Path
) -> None:
    dataset(folder)
    (tmp_path / folder).mkdir()
    text = (raw_dir / folder / name).read_text()[:20_000].rpartition("\n")[0] + "\n"
    assert old in text
    (tmp_path / folder / name).write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=f"{name}: {message}"):
        plugins.load("datasets", folder).load(tmp_path)


def test_national_acs(dataset: Get) -> None:
    data = dataset("acs_income")
    spec = plugins.load("datasets", "acs_income").SPEC
    assert data.n_rows == 1_140_517  # of 1,664,500
    assert data.n_features + spec.other_columns == spec.n_attributes == 813
    assert data.X.indices.dtype == np.int32
    assert data.X.data.dtype == np.float32
    assert data.feature_names == dataset("acs_income_ok", levels="national").feature_names


def test_oklahoma_is_a_part_of_the_nation(dataset: Get) -> None:
    alone, cut = dataset("acs_income_ok", levels="national"), dataset("acs_income", states=("OK",), levels="national")
    assert (alone.X != cut.X).nnz == 0
    assert np.array_equal(alone.y, cut.y) and np.array_equal(alone.group, cut.group)
    present = dataset("acs_income_ok")
    assert present.n_features == 698
    known = [alone.feature_names.index(name) for name in present.feature_names if name in alone.feature_names]
    assert (alone.X.sum(axis=0)[known] > 0).all()


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("a9a", (29_305, 3_256, 16_281)),
        ("bank", (24_713, 8_238, 8_237)),
        ("law_school", (11_699, 3_900, 5_199)),
        ("acs_income_ok", (10_750, 3_583, 3_584)),
    ],
)
def test_split_sizes(name: str, sizes: tuple[int, int, int], dataset: Get) -> None:
    for seed in range(5):
        split = make_split(dataset(name), seed)
        assert (len(split.train), len(split.validation), len(split.test)) == sizes
