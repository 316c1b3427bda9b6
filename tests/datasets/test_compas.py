"""COMPAS in both readings: counts measured on the published files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from papers.cross_paper.datasets import compas
from partialfair import plugins
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.splits import make_split

Get = Callable[..., Dataset]
pytestmark = pytest.mark.real_data

# dataset -> rows, attributes, (rows, positives) of those not Caucasian and of Caucasians
COUNTS = {
    "compas": (11_757, 14, (7_672, 2_614), (4_085, 1_089)),
    "compas_two_years": (6_172, 16, (4_069, 1_987), (2_103, 822)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_as_published(name: str, dataset: Get) -> None:
    data, spec = dataset(name), plugins.load("datasets", name).SPEC
    rows, attributes, *groups = COUNTS[name]
    assert data.n_rows == rows == spec.n_rows
    assert data.n_features + spec.other_columns == spec.n_attributes == attributes
    for code, (size, positives) in enumerate(groups):
        assert (data.group == code).sum() == size
        assert (data.y[data.group == code] > 0).sum() == positives
    assert data.group_names == ("not Caucasian", "Caucasian")


@pytest.mark.parametrize("name", COUNTS)
def test_columns(name: str, dataset: Get) -> None:
    data = dataset(name)
    assert [data.feature_names[column] for column in data.numeric] == list(compas.NUMERIC)
    others = [j for j in range(data.n_features) if j not in data.numeric]
    assert set(np.unique(data.X[:, others])) == {0.0, 1.0}
    ranges = [j for j, text in enumerate(data.feature_names) if text.startswith("age_cat=")]
    assert len(ranges) == 3 and np.all(data.X[:, ranges].sum(axis=1) == 1)
    assert not [text for text in data.feature_names if text == "race=Caucasian"]
    races = [j for j, text in enumerate(data.feature_names) if text.startswith("race=")]
    assert not data.X[:, races].sum(axis=1)[data.group == 1].any()
    assert np.all(data.X[:, races].sum(axis=1)[data.group == 0] <= 1)
    if name == "compas_two_years":
        assert np.all(data.X[:, races].sum(axis=1)[data.group == 0] == 1)


def test_split_sizes(dataset: Get) -> None:
    for seed in range(5):
        split = make_split(dataset("compas"), seed)
        assert (len(split.train), len(split.validation), len(split.test)) == (7_054, 2_351, 2_352)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("compas", ",Male,", ",Mann,", "column 'sex' holds 'Mann'"),
        ("compas", "priors_count", "priors", "column 'priors_count' is missing"),
        ("compas", "is_recid", "recid", "column 'is_recid' is missing"),
        ("compas_two_years", "two_year_recid", "recid", "column 'two_year_recid' is missing"),
        ("compas_two_years", "score_text", "text", "column 'score_text' is missing"),
        ("compas_two_years", ",69,Greater", ",old,Greater", "column 'age' holds something besides whole numbers"),
    ],
)
def test_strange_table_is_refused(
    name: str, old: str, new: str, message: str, dataset: Get, raw_dir: Path, tmp_path: Path
) -> None:
    dataset(name)
    module = plugins.load("datasets", name)
    (tmp_path / "compas").mkdir()
    file = module.SPEC.files[0].name
    text = (raw_dir / "compas" / file).read_text()[:20_000].rpartition("\n")[0] + "\n"
    assert old in text
    count = -1 if new == "text" else 1  # the score of violence has a column of its own that ends alike
    (tmp_path / "compas" / file).write_text(text.replace(old, new, count))
    with pytest.raises(DataError, match=f"{file}: {message}"):
        module.load(tmp_path)
