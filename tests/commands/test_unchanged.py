"""What says that nothing has changed, and what says that a run was made again."""

import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from partialfair.data.files import write_json
from reproduction.commands import unchanged
from reproduction.verify import runs
from reproduction.verify.chain import Chain

WRITTEN = (
    "Snakefile", "params.yaml", "workflow/rules/train.smk", "profiles/default/config.yaml", "papers/p/claims.yaml",
    "requirements.lock", "dvc.yaml", "dvc.lock",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (*WRITTEN, "data/runs/one.json", "reports/page.html"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a")


def changed(change):
    before = unchanged.state(Path("params.yaml"))
    change()
    after = unchanged.state(Path("params.yaml"))
    return [name for name in before if before[name] != after[name]]


@pytest.mark.parametrize("name", WRITTEN)
def test_whatever_is_written_by_hand_counts_by_content(folder, name):
    assert changed(lambda: os.utime(name, ns=(1, 1))) == []
    assert changed(lambda: Path(name).write_text("b")) == [unchanged.GRID]


def test_a_change_behind_a_link_to_a_folder_counts_and_a_link_that_leads_back_ends(folder, tmp_path):
    """A shared store of raw data is usually linked; what was removed there went unnoticed."""
    store = tmp_path / "lab" / "adult"
    store.mkdir(parents=True)
    (store / "adult.data").write_text("a")
    (store / "back").symlink_to(tmp_path)
    Path("data/raw").mkdir()
    Path("data/raw/adult").symlink_to(store)
    assert changed(lambda: (store / "adult.data").write_text("bb")) == ["data/raw"]


def test_own_data_and_included_files_outside_the_usual_folders_count(folder):
    Path("grids").mkdir()
    Path("letor").mkdir()
    Path("own.csv").write_text("a")
    Path("letor/train.txt").write_text("a")
    datasets = {
        "own": {"module": "csv_table", "file": "own.csv", "label": "y", "groups": ["g"]},
        "files": {"module": "letor_files", "folder": "letor"},
    }
    run = {"interval": [[0.1, 0.4]], "algorithms": {"alm": [0.1]}}
    experiment = {"title": "One", "paper": "own", "constraint": "partial_statistical_parity", "runs": {"own": run}}
    Path("grids/more.yaml").write_text(yaml.safe_dump({"datasets": datasets, "experiments": {"one": experiment}}))
    Path("params.yaml").write_text(yaml.safe_dump({"seeds": [0], "include": ["grids/more.yaml"]}))
    assert changed(lambda: Path("own.csv").write_text("bb")) == ["own.csv"]
    assert changed(lambda: Path("letor/train.txt").write_text("bb")) == ["letor"]
    assert changed(lambda: Path("grids/more.yaml").write_text(Path("grids/more.yaml").read_text() + "\n")) == [
        unchanged.GRID
    ]


@pytest.mark.parametrize(("name", "part"), [("data/runs/one.json", "data/runs"), ("reports/page.html", "reports")])
def test_results_of_the_same_size_count_by_their_date(folder, name, part):
    assert changed(lambda: os.utime(name, ns=(1, 1))) == [part]


def test_two_evaluations_are_compared_on_test_rows():
    one = {"splits": {"train": {"sp": 0.0}, "test": {"sp": 0.1, "auc": 0.5}}}
    other = {"splits": {"train": {"sp": 0.9}, "test": {"sp": 0.13, "auc": 0.5}}}
    assert runs._farthest(one, other) == ("sp", pytest.approx(0.03))
    assert runs._farthest(one, {"splits": {"test": {"sp": 0.1, "auc": None}}}) == ("auc", math.inf)


@pytest.mark.parametrize(("apart", "whole"), [(0.01, True), (0.03, False)])
def test_a_run_of_another_machine_may_be_off_by_little_alone(tmp_path, monkeypatch, apart, whole):
    monkeypatch.chdir(tmp_path)
    job = SimpleNamespace(path=Path("run"), table="table", split="split")
    write_json(Path("run/fit.json"), {"versions": {"machine": "there"}})
    write_json(Path("run/metrics.json"), {"splits": {"test": {"sp": 0.1}}})
    Path("run/model.npz").write_text("one")

    def train(config, job, files):
        (Path(files.folder) / "model.npz").write_text("other")

    monkeypatch.setattr(runs, "train", train)
    monkeypatch.setattr(runs, "_same_but_times", lambda one, other: False)
    monkeypatch.setattr(runs, "versions", lambda: {"machine": "here"})
    monkeypatch.setattr(runs, "evaluate", lambda *_: {"splits": {"test": {"sp": 0.1 + apart}}})
    monkeypatch.setattr(runs.fingerprint, "evaluation", lambda *_: SimpleNamespace(settings={}))
    chain = Chain()
    runs._retrain_one(chain, None, job)
    assert chain.is_whole == whole and len(chain.links) == whole
