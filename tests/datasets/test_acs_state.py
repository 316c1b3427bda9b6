"""ACS of any state, task and attribute: the reading of the stochastic benchmark, generalised."""

from pathlib import Path

import folktables
import numpy as np
import pandas as pd
import pytest

from papers.stochastic_benchmark.datasets import acs_income_ok_race, acs_state
from partialfair.errors import ConfigError, DataError

COLUMNS = sorted({*folktables.ACSIncome.features, *folktables.ACSEmployment.features, "PINCP", "PWGTP", "ESR", "WKHP"})


@pytest.fixture
def raw_root(tmp_path: Path) -> Path:
    folder = tmp_path / "acs_income" / "2018" / "1-Year"
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    table = pd.DataFrame({column: draw.integers(1, 3, 300).astype(float) for column in COLUMNS})
    table["AGEP"], table["PINCP"] = draw.integers(0, 96, 300), draw.choice([50, 200, 60_000], 300)
    table.loc[::7, "COW"] = np.nan
    table.to_csv(folder / "psam_p40.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("task", "name", "attribute"),
    [("income", "ACSIncome", "RAC1P"), ("employment", "ACSEmployment", "SEX"), ("income", "ACSIncome", "ESR")],
)
def test_raw_files_are_read_as_folktables_does(raw_root: Path, task: str, name: str, attribute: str) -> None:
    data = acs_state.load(raw_root, ["OK"], task, attribute, [1], "pums")
    problem = getattr(folktables, name)
    features, label, _ = problem.df_to_numpy(pd.read_csv(raw_root / "acs_income/2018/1-Year/psam_p40.csv"))
    columns_left = [column != attribute for column in problem.features]
    np.testing.assert_array_equal(data.X, features[:, columns_left].astype(np.float32))
    np.testing.assert_array_equal(data.y > 0, label)
    assert attribute not in data.feature_names and set(np.unique(data.group)) == {0, 1}


def test_every_code_of_the_attribute_is_a_group_where_they_are_separate(raw_root: Path) -> None:
    two_groups = acs_state.load(raw_root, ["OK"], "income", "RAC1P", [1], "pums")
    path = raw_root / "acs_income" / "2018" / "1-Year" / "psam_p40.csv"
    table = pd.read_csv(path)
    table["RAC1P"] = 1 + np.arange(len(table)) % 9
    table.to_csv(path, index=False)
    nine = acs_state.load(raw_root, ["OK"], "income", "RAC1P", source="pums", separate=True)
    assert two_groups.n_groups == 2 and nine.n_groups == 9 and nine.group_names[3] == "RAC1P 4"
    filtered = folktables.ACSIncome._preprocess(table)
    np.testing.assert_array_equal(nine.group, filtered["RAC1P"] - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "housing"}, "task is 'housing'"),
        ({"states": ["Oklahoma"]}, r"datasets.acs_state.states holds 'Oklahoma'"),
        ({"task": "mobility"}, "set `source: pums`"),
        ({"attribute": "RACE", "source": "pums"}, "has no column 'RACE'"),
    ],
)
def test_unknown_options_are_refused(raw_root: Path, options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        acs_state.load(raw_root, **options)


def test_a_person_file_without_the_task_s_columns_is_refused(raw_root: Path) -> None:
    path = raw_root / "acs_income" / "2018" / "1-Year" / "psam_p40.csv"
    pd.read_csv(path).drop(columns="DREM").to_csv(path, index=False)
    with pytest.raises(DataError, match="have no column 'DREM'"):
        acs_state.load(raw_root, ["OK"], "employment", source="pums")


@pytest.mark.real_data
def test_oklahoma_by_race_is_the_benchmark_s_table(dataset) -> None:
    benchmark, general = dataset("acs_income_ok_race"), dataset("acs_state")
    order = [np.lexsort(np.column_stack([data.X, data.y, data.group]).T) for data in (benchmark, general)]
    assert general.feature_names == acs_income_ok_race.FEATURES
    np.testing.assert_array_equal(benchmark.X[order[0]], general.X[order[1]])
    np.testing.assert_array_equal(benchmark.y[order[0]], general.y[order[1]])
    np.testing.assert_array_equal(benchmark.group[order[0]], general.group[order[1]])
