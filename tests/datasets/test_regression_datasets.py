"""Tables with real-valued labels: the three of the DP post-processing paper, the synthetic one, and a person's own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.cross_paper.datasets import four_groups
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError
from reproduction.datasets import csv_table

Get = Callable[..., Dataset]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "whole", "features", "share", "mean", "deviation", "means"),
    [
        ("law_school_gpa", 20_800, 9, 0.1605, 0.80426, 0.10633, (0.7570, 0.8133)),
        ("adult_age", 30_162, 6, 0.3425, 0.38381, 0.13053, (0.3722, 0.3899)),
    ],
)
def test_rows_are_those_of_the_paper(
    name: str, whole: int, features: int, share: float, mean: float, deviation: float, means: tuple[float, float],
    dataset: Get,
) -> None:  # fmt: skip
    assert dataset(name, rows=0).n_rows == whole
    data = dataset(name)
    assert (data.n_rows, data.n_features, data.task) == (2000, features, "regression")
    assert (data.group == 0).mean() == pytest.approx(share, abs=1e-9)
    assert data.y.mean() == pytest.approx(mean, abs=5e-6)
    assert data.y.std(ddof=1) == pytest.approx(deviation, abs=5e-6)
    assert [data.y[data.group == k].mean() for k in (0, 1)] == pytest.approx(means, abs=5e-5)


def test_four_groups_follow_the_first_feature() -> None:
    data = four_groups.load(rows=4000)
    assert np.bincount(data.group) / 4000 == pytest.approx([0.242, 0.258, 0.258, 0.242], abs=0.03)
    means = [data.y[data.group == code].mean() for code in range(4)]
    assert means == pytest.approx([-0.165, -0.042, 0.042, 0.165], abs=0.03)
    assert data.y.std() == pytest.approx(np.sqrt(25 + 32 + 1) / 40, rel=0.05)
    assert np.array_equal(four_groups.load(rows=4000).y, data.y)
    with pytest.raises(ConfigError, match="at least 40"):
        four_groups.load(rows=10)


def own_table(folder: Path, **columns: object) -> str:
    random = np.random.default_rng(0)
    table = {"age": random.integers(20, 60, 200), "sex": np.tile(["F", "M"], 100), "wage": random.random(200) * 50}
    pd.DataFrame(table | columns).to_csv(folder / "own.csv", index=False)
    return str(folder / "own.csv")


def test_own_table_with_a_number_as_label(tmp_path: Path) -> None:
    file = own_table(tmp_path)
    data = csv_table.load(None, file, "wage", ["sex"], task="regression")
    assert data.task == "regression" and data.feature_names == ("age",)
    assert np.array_equal(data.y, pd.read_csv(file)["wage"].to_numpy())
    assert "wage, a number" in csv_table.describe(csv_table.SPEC, "wage", ["sex"], task="regression").label
    with pytest.raises(ConfigError, match="has no positive class"):
        csv_table.load(None, file, "wage", ["sex"], positive=1, task="regression")
    with pytest.raises(ConfigError, match="task is 'regresion'; did you mean 'regression'"):
        csv_table.load(None, file, "wage", ["sex"], task="regresion")


def test_own_label_that_is_no_number_is_refused(tmp_path: Path) -> None:
    words = np.array(["12.5"] * 199 + ["much"])
    with pytest.raises(DataError, match="column 'wage': 'much' in row 200 after the header is not a finite number"):
        csv_table.load(None, own_table(tmp_path, wage=words), "wage", ["sex"], task="regression")
