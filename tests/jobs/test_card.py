"""Model cards say what the files of a run say, and nothing else."""

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.commands.cli import app
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.errors import DataError
from partialfair.jobs.card import render, write
from partialfair.jobs.evaluate import evaluate
from partialfair.plugins import load
from partialfair.tables.dataset import Dataset, Split
from partialfair.tables.files import read_json, write_json

SETTINGS = {"interval": [[0.1, 0.4]], "bootstrap": {"replicates": 20, "level": 0.9}}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset, Split]:
    folder = tmp_path_factory.mktemp("cards")
    data = simulated.load(rows=600)
    split = make_split(data, 0)
    data.save(folder / "table.npz")
    split.save(folder / "split.npz")
    return folder, data, split


def run(rows: tuple[Path, Dataset, Split], algorithm: str, kappa: float, **changes: Any) -> Path:
    """Train and evaluate a model as the workflow does; returns the run folder."""
    folder, data, split = rows
    task = Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint="partial_statistical_parity",
        interval=[[0.1, 0.4]], kappa=kappa, kappa_scale="absolute", report=lambda line: None,
    )  # fmt: skip
    plugin = load("algorithms", algorithm).ALGORITHM
    fit = plugin.fit(task, plugin.settings())
    out = folder / algorithm
    out.mkdir(exist_ok=True)
    fit.model.save(out / "model.npz")
    certificate = measure(plugin, task, fit).entries() | {"true_violation": 0.0125}
    content = {
        "experiment": "demo", "dataset": "simulated", "algorithm": algorithm, "seed": 0, "status": "ok", "reason": None,
        "kappa": None if math.isinf(kappa) else kappa, "kappa_scale": "absolute", "interval": [[0.1, 0.4]], "grid": 10,
        "constraint": "partial_statistical_parity", "settings": {"rounds": 40}, "selected": {},
        "certificate": certificate,
        "dataset_options": {"rows": 600}, "time": {"cpu_seconds": 1.5}, "versions": {"python": "3.11"},
        "closure_hash": "abc", "git_revision": "def",
    }  # fmt: skip
    write_json(out / "fit.json", {**content, **changes})
    evaluate(out / "model.npz", out / "fit.json", folder / "table.npz", folder / "split.npz", out, SETTINGS)
    write(out)
    return out


def test_a_card_states_the_measured_numbers(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    card = (out / "model_card.md").read_text()
    assert card == render(out)
    assert card.startswith("# Model card: simulated, alm, kappa 0.05, seed 0\n")
    for title in ("Model", "Intended use", "Data", "Constraint", "Metrics", "Limits", "Provenance"):
        assert f"\n## {title}\n" in card
    metrics = read_json(out / "metrics.json")
    values = [metrics["splits"][split]["rank_gap"] for split in ("train", "validation", "test")]
    low, high = metrics["bootstrap"]["test"]["rank_gap"]
    cells = " | ".join(f"{value:.3f}" for value in values)
    assert f"| `rank_gap` | {cells} | {low:.3f} to {high:.3f} |" in card
    assert "| 90% interval (test) |" in card
    _, data, split = rows
    count = int((data.group[split.test] == 0).sum())
    assert f"| A | {int((data.group[split.train] == 0).sum())} (" in card and f"| {count} (" in card
    assert "The interval keeps about" in card, "small groups are pointed out"
    assert "| the same with steps in place of the smoothed ones | 0.013 |" in card


def test_a_model_without_a_constraint_and_one_with_a_status_say_so(rows: Any) -> None:
    free = (run(rows, "unconstrained", math.inf) / "model_card.md").read_text()
    assert "kappa inf" in free and "None. The metrics below refer to" in free
    assert "No constraint was imposed" in free and "on the training rows |" not in free
    out = run(rows, "alm", 0.05, status="infeasible", reason="the largest violation is 0.2")
    card = (out / "model_card.md").read_text()
    assert "Status: **infeasible**, the largest violation is 0.2." in card
    assert "should not be used" in card


def test_a_parameter_that_is_no_slack_is_not_called_one(rows: Any) -> None:
    out = run(rows, "alm", 0.05, certificate={"objective": 0.4, "max_violation": 0.0, "true_violation": None})
    card = (out / "model_card.md").read_text()
    assert "Kappa 0.05 is a parameter of the algorithm itself" in card
    assert "steps in place of" not in card


def test_the_verb_prints_and_writes(rows: Any, tmp_path: Path) -> None:
    out = run(rows, "alm", 0.05)
    result = CliRunner().invoke(app, ["card", str(out)])
    assert result.exit_code == 0 and result.output == render(out)
    result = CliRunner().invoke(app, ["card", str(out), "--out", str(tmp_path / "card.md")])
    assert (tmp_path / "card.md").read_text() == render(out)
    with pytest.raises(DataError, match="no evaluated run"):
        render(tmp_path)
