"""The data verbs: fetch, verify, prepare, split."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from partialfair import plugins
from partialfair.commands.cli import app
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError, DataError, PluginError
from reproduction.datasets import sources
from reproduction.datasets.sources import MIRROR_VARIABLE
from reproduction.datasets.splits import make_split
from reproduction.jobs import prepare
from tests import needs


def same_parts(first: Split, second: Split) -> bool:
    return all(np.array_equal(getattr(first, p), getattr(second, p)) for p in ("train", "validation", "test"))


def test_prepare_and_split_of_the_simulated_benchmark(tmp_path: Path) -> None:
    table = tmp_path / "simulated" / "table.npz"
    made = prepare.prepare("simulated", tmp_path / "raw", table, {"rows": 500, "seed": 3})
    assert (made.n_rows, Dataset.load(table).n_rows) == (500, 500)
    drawn = prepare.split(table, 1, tmp_path / "seed=1.npz")
    assert same_parts(drawn, Split.load(tmp_path / "seed=1.npz")) and same_parts(drawn, make_split(made, 1))
    before = table.read_bytes()
    prepare.prepare("simulated", tmp_path / "raw", table, {"rows": 500, "seed": 3})
    assert table.read_bytes() == before


def test_named_datasets_are_prepared_and_split_without_a_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in (["prepare", "four_groups"], ["split", "four_groups", "--seed", "0"]):
        done = CliRunner().invoke(app, ["data", *verb])
        assert done.exit_code == 0, done.output
    assert "training" in done.stdout and (tmp_path / "data/processed/four_groups/splits/seed=0.npz").is_file()


def test_unknown_dataset_and_option_name_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"law_school"):
        prepare.prepare("lawschool", tmp_path, tmp_path / "table.npz")
    with pytest.raises(ConfigError, match=r"datasets.simulated.row: unknown option; did you mean 'rows'"):
        prepare.prepare("simulated", tmp_path, tmp_path / "table.npz", {"row": 5})
    with pytest.raises(PluginError, match=r"bank"):
        prepare.fetch(["bnak"], tmp_path)
    assert not (tmp_path / "table.npz").exists()


def test_missing_raw_file_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    with pytest.raises(DataError, match=r"a9a/a9a: raw file missing; get it with `partialfair data fetch a9a`"):
        prepare.prepare("a9a", tmp_path, tmp_path / "table.npz")
    with pytest.raises(DataError) as caught:
        prepare.verify(["a9a", "bank"], tmp_path)
    assert [line.rpartition("/")[2].partition(":")[0] for line in str(caught.value).splitlines()] == [
        "a9a", "a9a.t", "bank-additional-full.csv",
    ]  # fmt: skip


def test_a_file_that_several_datasets_read_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "check", lambda file, path: None)
    options = {"again": {"module": "a9a"}}
    checked = prepare.verify(["a9a", "again"], tmp_path, options)
    assert [path.name for path in checked] == ["a9a", "a9a.t"]


def test_files_that_are_not_the_declared_ones_are_not_prepared(tmp_path: Path) -> None:
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "bank-additional-full.csv").write_text('"age";"job"\n')
    with pytest.raises(DataError, match=r"bank-additional-full.csv: a truncated file .*delete it"):
        prepare.prepare("bank", tmp_path, tmp_path / "table.npz")
    assert not (tmp_path / "table.npz").exists()


def test_options_choose_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def person_file(folder: Path, state: str, fetch: bool) -> Path:
        return folder / f"psam_{state}.csv"

    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(plugins.load("datasets", "acs_income"), "person_file", person_file)
    options = {"acs_income": {"source": "pums", "states": ["OK"]}}
    fetched = prepare.fetch("acs_income", tmp_path, options)
    assert [file.path.name for file in fetched] == ["psam_OK.csv"]
    with pytest.raises(DataError, match=r"union.parquet: not in the DVC cache nor in a mirror.*source: pums"):
        prepare.fetch("acs_income", tmp_path)


@pytest.mark.real_data
def test_fetch_verify_prepare_of_everything(tmp_path: Path) -> None:
    try:
        fetched = prepare.fetch(prepare.ALL, tmp_path, extras=True, offline=True)
    except DataError as error:  # some files have no address, so that a mirror of downloads lacks them
        needs.lack("data", str(error))
    first: dict[Path, str] = {}
    for file in fetched:  # two datasets may share a raw file; the second finds it in place
        first.setdefault(file.path, file.origin.split()[0])
    assert set(first.values()) == {"mirror"}
    assert {file.path for file in fetched} == set(prepare.verify(prepare.ALL, tmp_path))
    assert {file.origin for file in prepare.fetch(prepare.ALL, tmp_path, offline=True)} == {"already present"}
    for name in ("a9a", "bank", "law_school", "acs_income_ok"):
        made = prepare.prepare(name, tmp_path, tmp_path / f"{name}.npz")
        stored = Dataset.load(tmp_path / f"{name}.npz")
        assert (stored.name, stored.n_rows, stored.feature_names) == (name, made.n_rows, made.feature_names)
        assert abs(stored.X - made.X).max() == 0
    changed = tmp_path / "bank" / "bank-additional-full.csv"
    changed.write_bytes(changed.read_bytes().replace(b'56;"housemaid"', b'57;"housemaid"', 1))
    with pytest.raises(DataError, match=r"bank-additional-full.csv: a changed file"):
        prepare.verify(prepare.ALL, tmp_path)
