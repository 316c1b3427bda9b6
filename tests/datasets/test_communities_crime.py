"""Communities and Crime as the DP post-processing paper reads it, and the splits of its repetitions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from papers.cross_paper.datasets import communities_crime
from papers.cross_paper.datasets.communities_crime import read
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError
from reproduction.datasets.stratified_splits import stratified_split
from reproduction.jobs.split import split
from tests import needs

Get = Callable[..., Dataset]


@pytest.mark.real_data
def test_counts_are_those_of_the_paper(dataset: Get) -> None:
    data = dataset("communities_crime")
    assert (data.n_rows, data.n_features, data.task) == (1_984, 118, "regression")
    assert np.bincount(data.group).tolist() == [422, 1_562]
    assert data.y.mean() == pytest.approx(0.23918, abs=5e-6)
    assert data.y.std(ddof=1) == pytest.approx(0.23296, abs=5e-6)
    assert [data.y[data.group == k].mean() for k in (0, 1)] == pytest.approx([0.4737, 0.1758], abs=5e-5)
    assert not set(communities_crime.SHARES) & set(data.feature_names)


@pytest.mark.real_data
def test_file_has_the_documented_columns(dataset: Get, raw_dir: Path) -> None:
    dataset("communities_crime")
    needs.raw_files("communities_crime", raw_dir, extras=True)
    text = (raw_dir / "communities_crime" / "communities.names").read_text(encoding="latin-1")
    documented = [line.split()[1] for line in text.splitlines() if line.startswith("@attribute")]
    table = read(raw_dir)
    assert list(table.columns) == documented
    assert (table.shape, int(table.isna().sum().sum())) == ((1_994, 128), 39_202)


@pytest.mark.real_data
def test_another_table_is_refused(raw_dir: Path, tmp_path: Path, dataset: Get) -> None:
    dataset("communities_crime")
    text = (raw_dir / "communities_crime" / "communities.data").read_text().splitlines()
    target = tmp_path / "communities_crime"
    target.mkdir()
    (target / "communities.data").write_text("\n".join(line.rsplit(",", 1)[0] for line in text[:50]))
    with pytest.raises(DataError, match=r"127 columns, expected 128"):
        read(tmp_path)
    (target / "communities.data").write_text("\n".join([*text[:50], text[50].replace(",0.", ",x.", 1)]))
    with pytest.raises(DataError, match="holds something besides numbers"):
        read(tmp_path)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("protocol", "sizes"), [("paper", (793, 793, 398)), ("released", (1587, 198, 199)), ("reduction", (793, 794, 397))]
)
def test_parts_have_the_published_sizes(protocol: str, sizes: tuple[int, ...], dataset: Get) -> None:
    data = dataset("communities_crime")
    made = stratified_split(data, 1, protocol)
    assert (made.train.size, made.validation.size, made.test.size) == sizes
    assert np.array_equal(np.sort(np.concatenate([made.train, made.validation, made.test])), np.arange(data.n_rows))
    shares = [data.group[part].mean() for part in (made.train, made.validation, made.test)]
    assert np.ptp(shares) < 0.003
    assert not np.array_equal(stratified_split(data, 2, protocol).test, made.test)


def table(tmp_path: Path, rows: int = 40) -> Path:
    random = np.random.default_rng(0)
    data = Dataset(
        random.random((rows, 2)).astype(np.float32), random.random(rows), (np.arange(rows) % 2).astype(np.int16),
        ("a", "b"), ("x", "y"), "communities_crime", np.arange(2), task="regression",
    )  # fmt: skip
    data.save(tmp_path / "table.npz")
    return tmp_path / "table.npz"


def test_module_divides_the_rows_and_proportions_go_before_it(tmp_path: Path) -> None:
    path = table(tmp_path)
    own = split(path, 3, tmp_path / "own.npz", {"protocol": "released"})
    assert (own.train.size, own.validation.size, own.test.size) == (32, 4, 4)
    proportions = {"train": 0.5, "validation": 0.25, "test": 0.25}
    plain = split(path, 3, tmp_path / "plain.npz", {"split": proportions})
    assert (plain.train.size, plain.validation.size, plain.test.size) == (20, 10, 10)


def test_protocols_and_small_groups_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'released'"):
        split(table(tmp_path), 1, tmp_path / "split.npz", {"protocol": "release"})
    with pytest.raises(DataError, match="no stratified split under seed 1"):
        split(table(tmp_path, rows=3), 1, tmp_path / "split.npz")
