"""Adult with its raw columns: the persons of a9a, in the same order."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from papers.cross_paper.datasets import adult
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.splits import make_split

Get = Callable[..., Dataset]
ROW = "39, Private, 77516, Bachelors, 13, Never-married, Sales, Not-in-family, White, Male, 2174, 0, 40, ?, <=50K"


@pytest.mark.real_data
def test_counts_and_encoding(dataset: Get) -> None:
    data = dataset("adult")
    assert data.n_rows == adult.SPEC.n_rows == 48_842 and data.X.shape[1] == 99
    assert (data.y > 0).sum() == 11_687 and (data.group == 1).sum() == 32_650
    assert [data.feature_names[column] for column in data.numeric] == list(adult.NUMERIC)
    indicators = data.X[:, len(adult.NUMERIC) :]
    assert set(indicators.data.tolist()) == {1.0}
    assert not [name for name in data.feature_names if name.startswith("sex")]
    # Levels of the seven columns, "?" included, less one reference level each.
    assert indicators.shape[1] == 9 + 16 + 7 + 15 + 6 + 5 + 42 - 7
    split = make_split(data, 0)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [29_305, 3_256, 16_281]


@pytest.mark.real_data
def test_its_rows_are_those_of_a9a(dataset: Get) -> None:
    data, other = dataset("adult"), dataset("a9a")
    assert np.array_equal(data.y, other.y) and np.array_equal(data.group, other.group)
    assert np.array_equal(data.partition, other.partition)
    for name in ("marital_status=Never-married", "workclass=Private"):
        found = next(j for j, one in enumerate(other.feature_names) if one.endswith(name.split("=")[1]))
        ours = data.X[:, [data.feature_names.index(name)]].toarray()
        assert np.array_equal(ours, other.X[:, [found]].toarray()), name


def write(folder: Path, train: list[str], test: list[str]) -> Path:
    (folder / "adult").mkdir(exist_ok=True)
    (folder / "adult" / "adult.data").write_text("\n".join(train) + "\n\n", encoding="utf-8")
    (folder / "adult" / "adult.test").write_text("|1x3 Cross validator\n" + "\n".join(test) + "\n", encoding="utf-8")
    return folder


def test_the_first_line_and_the_full_stops_of_the_test_file_are_no_data(tmp_path: Path) -> None:
    rich = ROW.replace("<=50K", ">50K").replace("Male", "Female")
    data = adult.load(write(tmp_path, [ROW, rich], [ROW + ".", rich + "."]))
    assert data.y.tolist() == [-1, 1, -1, 1] and data.group.tolist() == [1, 0, 1, 0]
    assert data.partition.tolist() == [0, 0, 1, 1]
    assert data.X.toarray()[0].tolist() == [39, 77516, 13, 2174, 0, 40]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Male", "Mal", "column 'sex' holds 'Mal'"),
        ("<=50K", "50K", "column 'income' holds '50K'"),
        ("39,", "old,", "not a table of Adult"),
    ],
)
def test_another_table_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        adult.load(write(tmp_path, [ROW.replace(old, new)], [ROW + "."]))
