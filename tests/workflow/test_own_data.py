"""A file of one's own goes through the whole workflow: a few lines of params.yaml, no code."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.data.dataset import Split
from partialfair.errors import PartialFairError
from tests.workflow.project import TINY, Project, make_project

ENTRY = {
    "module": "csv_table",
    "file": "loans.csv",
    "label": "repaid",
    "positive": "yes",
    "groups": ["sex"],
    "drop": ["customer"],
    "minimum_group_size": 100,
    "split": {"train": 0.5, "validation": 0.25, "test": 0.25},
}
ALGORITHMS = {"unconstrained": ["inf"], "alm": [0.05]}


def loans(path: Path, rows: int = 1200) -> None:
    stream = np.random.default_rng(0)
    sex = stream.choice(["f", "m"], rows, p=[0.4, 0.6])
    income = stream.normal(30 + 8 * (sex == "m"), 6)
    purpose = stream.choice(["car", "house", "other"], rows)
    repaid = np.where(stream.random(rows) < 1 / (1 + np.exp(-(income - 34) / 4)), "yes", "no")
    columns = {"customer": np.arange(rows), "sex": sex, "income": income, "purpose": purpose, "repaid": repaid}
    pd.DataFrame(columns).to_csv(path, index=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    params: dict[str, Any] = copy.deepcopy(TINY)
    params["seeds"] = [0]
    params["datasets"]["loans"] = ENTRY
    run = {"interval": [[0.1, 0.4]], "algorithms": ALGORITHMS}
    params["experiments"] = {"mine": {**params["experiments"]["demo"], "grid": 10, "runs": {"loans": run}}}
    params["exhibits"] = {"tradeoff": {"kind": "scatter", "title": "Loans", "experiments": ["mine"]}}
    made = make_project(tmp_path / "project", params)
    loans(made.folder / "loans.csv")
    monkeypatch.chdir(made.folder)
    return made


def verb(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.output


def test_own_data_from_the_file_to_the_figure(project: Project) -> None:
    verb("check")
    planned = project.planned("tradeoff")
    assert planned == {"prepare": 1, "split": 1, "train": 2, "evaluate": 2, "collect": 1, "exhibit": 1}
    assert "your own file" in verb("data", "fetch")
    assert "1200 rows, 3 features, groups f, m" in verb("data", "prepare", "loans")
    assert "600 training, 300 validation, 300 test rows" in verb("data", "split", "loans", "--seed", "0")
    for words in (("data", "prepare", "lones"), ("data", "split", "lones", "--seed", "0")):
        refused = CliRunner().invoke(app, list(words))
        assert isinstance(refused.exception, PartialFairError) and "lones" in str(refused.exception), refused.output
    for algorithm, kappa in (("unconstrained", "inf"), ("alm", "0.05")):
        run = f"--experiment mine --dataset loans --algorithm {algorithm} --kappa {kappa} --seed 0"
        verb("train", *run.split())
        verb("evaluate", *run.split())
    verb("collect", "mine")
    verb("report", "tradeoff")
    verb("scorecard", "--experiment", "mine")
    runs = project.folder / "data/runs/mine/loans"
    constrained = json.loads((runs / "alm/kappa=0.05/seed=0/metrics.json").read_text())["splits"]["train"]
    free = json.loads((runs / "unconstrained/kappa=inf/seed=0/metrics.json").read_text())["splits"]["train"]
    assert constrained["rank_gap"] < 0.1 < 2 * constrained["rank_gap"] < free["rank_gap"]
    assert {row["dataset"] for row in pq.read_table("reports/mine/metrics.parquet").to_pylist()} == {"loans"}
    # The table was made by a command of its own; a changed option is noticed all the same.
    changed = {**ENTRY, "positive": "no"}
    params = yaml.safe_load((project.folder / "params.yaml").read_text(encoding="utf-8"))
    project.write_params({**params, "datasets": {**params["datasets"], "loans": changed}})
    assert project.planned("tradeoff")["prepare"] == 1
    assert (project.folder / "reports/tradeoff/tradeoff.svg").stat().st_size > 5000
    assert "loans" in (project.folder / "reports/tradeoff/tradeoff.csv").read_text()
    parts = Split.load("data/processed/loans/splits/seed=0.npz")
    assert sorted(np.concatenate([parts.train, parts.validation, parts.test])) == list(range(1200))


def test_a_file_below_the_raw_root_can_be_fetched_by_the_workflow(project: Project) -> None:
    folder = project.folder / "data/raw/loans"
    folder.mkdir(parents=True)
    (project.folder / "loans.csv").rename(folder / "loans.csv")
    params = (project.folder / "params.yaml").read_text()
    (project.folder / "params.yaml").write_text(params.replace("file: loans.csv", "file: data/raw/loans/loans.csv"))
    done = project.snakemake("data/processed/loans/table.npz")
    assert done.returncode == 0
    (folder / "loans.csv").unlink()
    done = project.snakemake("--forcerun", "fetch", "--", "data/processed/loans/table.npz", check=False)
    assert done.returncode != 0
    log = project.folder / "logs/fetch/loans/loans.csv.log"
    assert "there is no such file; correct datasets.loans.file" in log.read_text()


def test_a_script_learns_that_a_file_behind_a_symbolic_link_has_changed(project: Project) -> None:
    lab = project.folder.parent / "lab"
    lab.mkdir()
    (project.folder / "loans.csv").rename(lab / "loans.csv")
    (project.folder / "data/raw").mkdir(parents=True, exist_ok=True)
    (project.folder / "data/raw/mine").symlink_to(lab)
    params = (project.folder / "params.yaml").read_text()
    (project.folder / "params.yaml").write_text(params.replace("file: loans.csv", "file: data/raw/mine/loans.csv"))
    table = "data/processed/loans/table.npz"
    project.snakemake(table)
    assert "nothing to do" in project.run("partialfair", "unchanged", table).stdout
    rows = (lab / "loans.csv").read_text().splitlines(keepends=True)
    (lab / "loans.csv").write_text("".join(rows[:-200]))
    changed = project.run("partialfair", "unchanged", table, check=False)
    assert changed.returncode == 1 and "data/raw/mine/loans.csv" in changed.stdout


@pytest.mark.long(suite="entries")
@pytest.mark.slow
def test_no_option_of_snakemake_and_no_target_of_make_deletes_raw_files(project: Project) -> None:
    """A user's own file, below data/raw or elsewhere, and raw files that somebody put there by hand, are inputs."""
    own, absent = project.folder / "data/raw/mine/loans.csv", project.folder / "data/raw/bank/bank-additional-full.csv"
    own.parent.mkdir(parents=True)
    (project.folder / "loans.csv").rename(own)
    by_hand = project.folder / "data/raw/adult/adult.data"
    by_hand.parent.mkdir()
    by_hand.write_text("not as published\n")
    params = yaml.safe_load((project.folder / "params.yaml").read_text(encoding="utf-8"))
    params["datasets"]["loans"] = {**ENTRY, "file": "data/raw/mine/loans.csv"}
    project.write_params(params)
    before = own.read_bytes()
    project.snakemake("data/processed/loans/table.npz")
    for words in (
        ["--delete-all-output", "--", "mine"],
        ["--delete-temp-output", "--", "mine"],
        ["--delete-all-output", "--", "data/raw/adult/adult.data"],
        ["--cleanup-metadata", "data/raw/mine/loans.csv", "--"],
        ["--forcerun", "fetch", "--", "data/processed/loans/table.npz"],
        ["--forceall", "--", "data/processed/loans/table.npz"],
    ):
        project.snakemake(*words, check=False)
        assert own.read_bytes() == before, words
        assert by_hand.read_text() == "not as published\n", words
    assert not (project.folder / "data/runs/mine").exists() or not list(
        project.folder.glob("data/runs/mine/**/fit.json")
    )
    assert project.make("clean").returncode == 0 and own.read_bytes() == before
    assert project.planned("data/raw/bank/bank-additional-full.csv") == {"fetch": 1} and not absent.exists()
    own.unlink()
    refused = project.snakemake("data/processed/loans/table.npz", check=False)
    assert refused.returncode and "data/raw/mine/loans.csv" in refused.stdout + refused.stderr
