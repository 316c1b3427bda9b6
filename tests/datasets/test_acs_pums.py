"""Raw Census person files, through folktables, give the same table as the prepared files do."""

from importlib import import_module
from pathlib import Path

import folktables
import numpy as np
import pandas as pd
import pytest

from papers.cross_paper.datasets import acs_income
from papers.cross_paper.datasets.acs_income import CATEGORICAL, LABEL, NUMERIC
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError

LOADER = import_module("folktables.load_acs")  # the package binds a function to this name
STATES = {"NH": "33", "OK": "40"}


def person_file(state: str, rows: int, seed: int) -> pd.DataFrame:
    """Rows in the layout of a 2018 psam file: more columns, blanks, and persons whom the filter drops."""
    draw = np.random.default_rng(seed)
    levels = acs_income.national()["levels"]
    raw = pd.DataFrame({column: draw.choice(levels[column], rows) for column in CATEGORICAL})
    raw.insert(0, "RT", "P")
    raw.insert(1, "SERIALNO", [f"2018HU{i:07d}" for i in range(rows)])
    raw["ST"] = int(STATES[state])
    raw["AGEP"] = draw.integers(0, 96, rows)
    raw["WKHP"] = draw.integers(0, 99, rows).astype(float)
    raw["SEX"] = draw.integers(1, 3, rows)
    raw["PINCP"] = draw.choice([-4000, 0, 100, 101, 49_999, 50_000, 50_001, 250_000], rows).astype(float)
    raw["PWGTP"] = draw.integers(0, 120, rows)
    raw["NAICSP"] = "5112 "
    children = raw["AGEP"] < 16
    raw.loc[children, ["WKHP", "PINCP", "COW", "OCCP"]] = np.nan
    return raw


@pytest.fixture
def raw_root(tmp_path: Path) -> Path:
    folder = tmp_path / "acs_income" / "2018" / "1-Year"
    folder.mkdir(parents=True)
    for seed, (state, code) in enumerate(STATES.items()):
        person_file(state, 900, seed).to_csv(folder / f"psam_p{code}.csv", index=False)
    return tmp_path


def through_folktables(raw_root: Path) -> pd.DataFrame:
    """The task's own filter and label over the same files: the independent reading."""
    source = folktables.ACSDataSource("2018", "1-Year", "person", root_dir=str(raw_root / "acs_income"))
    features, label, _ = folktables.ACSIncome.df_to_pandas(source.get_data(states=list(STATES)))
    return features.astype(int).assign(**{LABEL: label.to_numpy().astype(int).ravel()})


def as_union(raw_root: Path) -> None:
    table = through_folktables(raw_root)
    table.insert(0, "ST", np.repeat(list(STATES), state_sizes(raw_root)))
    table.to_parquet(raw_root / "acs_income" / "ACSIncome_2018_union.parquet")


def state_sizes(raw_root: Path) -> list[int]:
    return [acs_income.load(raw_root, "pums", [state], check_counts=False).n_rows for state in STATES]


def same(first: Dataset, second: Dataset) -> bool:
    return (
        first.feature_names == second.feature_names
        and (first.X != second.X).nnz == 0
        and np.array_equal(first.y, second.y)
        and np.array_equal(first.group, second.group)
    )


@pytest.mark.parametrize("levels", ["present", "national"])
def test_raw_files_and_prepared_table_agree(raw_root: Path, levels: str) -> None:
    as_union(raw_root)
    raw = acs_income.load(raw_root, "pums", list(STATES), levels, check_counts=False)
    assert same(raw, acs_income.load(raw_root, "union", None, levels))
    assert same(
        acs_income.load(raw_root, "pums", ["OK"], levels, check_counts=False),
        acs_income.load(raw_root, "union", ["OK"], levels),
    )


def test_every_value_is_the_task_s(raw_root: Path) -> None:
    expected = through_folktables(raw_root)
    data = acs_income.load(raw_root, "pums", list(STATES), check_counts=False)
    assert 0 < len(expected) < 1800
    assert set(np.unique(data.y)) == {-1.0, 1.0}
    dummies = pd.get_dummies(
        expected[[*NUMERIC, *CATEGORICAL]], columns=list(CATEGORICAL), prefix_sep="=", drop_first=True, dtype=float
    )
    assert list(data.feature_names) == list(dummies.columns)
    assert np.array_equal(data.X.toarray(), dummies.to_numpy())
    assert np.array_equal(data.y, 2.0 * expected[LABEL] - 1)
    assert np.array_equal(data.group, expected["SEX"] == 1)
    assert np.array_equal(data.numeric, [0, 1])


def test_national_levels_give_every_state_the_same_columns(raw_root: Path) -> None:
    tables = [acs_income.load(raw_root, "pums", [state], "national", check_counts=False) for state in STATES]
    assert tables[0].feature_names == tables[1].feature_names
    assert tables[0].n_features + acs_income.SPEC.other_columns == acs_income.SPEC.n_attributes == 813


def test_national_counts() -> None:
    facts = acs_income.national()
    assert {column: len(levels) for column, levels in facts["levels"].items()} == {
        "COW": 8, "SCHL": 24, "MAR": 5, "OCCP": 529, "POBP": 224, "RELP": 18, "RAC1P": 9,
    }  # fmt: skip
    assert sum(facts["state_rows"].values()) == acs_income.SPEC.n_rows == 1_664_500
    assert tuple(facts["state_rows"]) == tuple(LOADER.state_list)


def test_file_with_another_row_count_is_refused(raw_root: Path) -> None:
    with pytest.raises(DataError, match=r"psam_p40\.csv: \d+ rows pass .* 17,917 are known for OK 2018.*delete it"):
        acs_income.load(raw_root, "pums", ["OK"])


def test_missing_state_file_is_named(raw_root: Path) -> None:
    with pytest.raises(DataError, match=r"no raw person file of TX; run `partialfair data fetch acs_income`"):
        acs_income.load(raw_root, "pums", ["TX"])


def test_file_without_a_column_is_refused(raw_root: Path) -> None:
    path = raw_root / "acs_income" / "2018" / "1-Year" / "psam_p40.csv"
    pd.read_csv(path).drop(columns="RELP").to_csv(path, index=False)
    with pytest.raises(DataError, match=r"psam_p40\.csv: not a 2018 PUMS person file .*RELP"):
        acs_income.load(raw_root, "pums", ["OK"], check_counts=False)


def test_unknown_category_is_refused_under_national_levels(raw_root: Path) -> None:
    as_union(raw_root)
    path = raw_root / "acs_income" / "ACSIncome_2018_union.parquet"
    table = pd.read_parquet(path)
    table.loc[3, "OCCP"] = 9999
    table.to_parquet(path)
    assert "OCCP=9999" in acs_income.load(raw_root).feature_names
    with pytest.raises(DataError, match=r"code 9999 of column 'OCCP' is not in the national list"):
        acs_income.load(raw_root, levels="national")


@pytest.mark.parametrize("content", [b"", b"<html></html>"])
def test_unreadable_union_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "acs_income" / "ACSIncome_2018_union.parquet"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"union.parquet: not a readable ACSIncome table"):
        acs_income.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "csv"}, "source is 'csv'; use 'union' or 'pums'"),
        ({"states": ["Oklahoma"]}, "states holds 'Oklahoma'; use postal codes"),
    ],
)
def test_unknown_option_value_is_refused(options: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        acs_income.load(tmp_path, **options)


def test_unknown_levels_are_refused(raw_root: Path) -> None:
    with pytest.raises(ConfigError, match=r"levels is 'all'"):
        acs_income.load(raw_root, "pums", ["OK"], levels="all", check_counts=False)


def test_download_uses_folktables_and_reports_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(url: str, folder: str, archive: str, name: str, delete_download: bool) -> None:
        asked.append(url)
        if "csv_pok" in url:
            person_file("OK", 50, 0).to_csv(Path(folder) / name, index=False)
        else:
            (Path(folder) / archive).write_bytes(b"half an archive")
            raise ConnectionError("connection reset")

    asked: list[str] = []
    monkeypatch.setattr(LOADER, "download_and_extract", write)
    assert acs_income.download(tmp_path) == []
    paths = acs_income.download(tmp_path, "pums", ["OK"])
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["acs_income/2018/1-Year/psam_p40.csv"]
    assert asked == ["https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year/csv_pok.zip"]
    assert acs_income.load(tmp_path, "pums", ["OK"], check_counts=False).n_rows > 0
    with pytest.raises(DataError, match=r"psam_p33\.csv: download through folktables failed \(.*connection reset"):
        acs_income.download(tmp_path, "pums", ["NH"])
    assert [path.name for path in paths[0].parent.iterdir()] == ["psam_p40.csv"]
