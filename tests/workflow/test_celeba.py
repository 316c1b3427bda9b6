"""Figure 12 on a folder in CelebA's layout: celeba.yaml from the photographs to metrics and the figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from papers.partial_fairness.datasets import drawn_faces
from papers.partial_fairness.datasets.image_folder import ATTRIBUTES
from partialfair.commands.cli import app
from partialfair.data.dataset import Dataset
from partialfair.data.files import read_json
from reproduction.grid.config import load_config
from reproduction.grid.workflow import Grid
from tests.workflow.project import ROOT

pytest.importorskip("torch")

IMAGES = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The file of CelebA's authors, in small: other photographs and attributes, the same layout."""
    folder = tmp_path / "photographs"
    drawn_faces.write_folder(folder, IMAGES, size=16)
    lists = folder / ATTRIBUTES
    text = lists.read_text(encoding="utf-8")
    lists.write_text(text.replace("Smiling Long_Hair", "Attractive Male"), encoding="utf-8")
    return folder


@pytest.fixture
def project(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped grid, with a narrow network, few steps, one seed and one kappa."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "papers/partial_fairness/celeba.yaml").read_text(encoding="utf-8"))
    content |= {"seeds": [0], "device": "cpu", "threads": 1, "bootstrap": {"replicates": 10, "level": 0.9}}
    content["datasets"]["celeba"] |= {"folder": str(folder), "size": 16}
    content["algorithms"]["deep_unconstrained"] |= {"width": 2, "epochs": 1}
    content["algorithms"]["deep_idca"] |= {"width": 2, "epochs": 1, "rounds": 1, "inner_steps": 2}
    for experiment in content["experiments"].values():
        experiment["runs"]["celeba"]["algorithms"]["deep_idca"] = [0.1]
    root = tmp_path / "project"
    root.mkdir()
    (root / "papers").symlink_to(ROOT / "papers")
    (root / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(("size", "minutes"), [(64, 10), (128, 40)])
def test_an_evaluation_has_the_threads_of_training_and_time_for_all_photographs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, minutes: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").symlink_to(ROOT / "papers")
    grid = Grid(load_config(ROOT / "papers/partial_fairness/celeba.yaml"))
    table = tmp_path / "data/processed/celeba/table.npz"
    table.parent.mkdir(parents=True)
    with table.open("wb") as file:
        file.truncate(202_599 * 3 * size**2)  # of CelebA's size, without content
    assert grid.scoring_threads("deep_idca") == grid.config.params.threads == 8
    assert grid.scoring_minutes("celeba", "deep_idca") == minutes
    assert (grid.scoring_threads("alm"), grid.scoring_minutes("celeba", "alm")) == (1, 10)
    assert grid.scoring_minutes("a9a", "deep_idca") == 10


def verb(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.output


def test_photographs_come_out_as_metrics_and_a_figure(project: Path, folder: Path) -> None:
    verb("check")
    assert f"{IMAGES} rows, 768 features, groups Female, Male" in verb("data", "prepare", "celeba")
    lines = (folder / ATTRIBUTES).read_text(encoding="utf-8").splitlines()[2:]
    attributes = np.array([line.split()[1:] for line in lines]).astype(int)
    table = Dataset.load(project / "data/processed/celeba/table.npz")
    assert np.array_equal(table.y, attributes[:, 0]) and np.array_equal(table.group == 1, attributes[:, 1] == 1)
    assert "120 training, 40 validation, 40 test rows" in verb("data", "split", "celeba", "--seed", "0")
    grid = load_config(project / "params.yaml")
    for experiment in grid.experiments:
        for job in grid.jobs(experiment):
            run = (
                f"--experiment {experiment} --dataset celeba --algorithm {job.algorithm} --kappa {job.kappa:g} --seed 0"
            )
            verb("train", *run.split())
            verb("evaluate", *run.split())
            fit = read_json(job.path / "fit.json")
            assert fit["status"] in ("ok", "tolerance missed") and fit["selected"]["weights"] > 1000
        verb("collect", experiment)
        rows = pq.read_table(f"reports/{experiment}/metrics.parquet").to_pylist()
        found = {(row["algorithm"], row["metric"]): row["value"] for row in rows if row["split"] == "test"}
        assert {name for name, _ in found} == {job.algorithm for job in grid.jobs(experiment)}
        assert all(0 <= found[name, metric] <= 1 for name, _ in found for metric in ("accuracy", "rank_gap"))
    verb("report", "figure12")
    shown = (project / "reports/figure12/figure12.csv").read_text(encoding="utf-8")
    assert all(name in shown for name in grid.experiments)
    assert (project / "reports/figure12/figure12.svg").stat().st_size > 5000
