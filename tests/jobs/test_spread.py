"""The numerical spread of a run: the same problem, other rounding."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.data.dataset import Dataset
from partialfair.data.images import ImageRows
from partialfair.errors import ConfigError
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.grid.config import Config
from reproduction.grid.params import ParamsModel
from reproduction.jobs import perturbation_study as module
from reproduction.jobs.perturbation_study import spread, with_columns

PARAMS = {
    "seeds": [0],
    "datasets": {"simulated": {"rows": 600}},
    "experiments": {
        "tiny": {
            "title": "Tiny",
            "paper": "partial_fairness",
            "constraint": "partial_statistical_parity",
            "grid": 4,
            "kappa_scale": "absolute",
            "algorithms": {
                "idca": {"inner_steps": [5, 10], "tolerances": [0.005], "tuning_rounds": 1, "rounds": [2]},
            },
            "runs": {
                "simulated": {
                    "interval": [[0.1, 0.4]],
                    "algorithms": {"unconstrained": ["inf"], "idca": [0.2]},
                }
            },
        }
    },
}


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """A grid of two runs on 600 rows, whose table and split are there."""
    monkeypatch.chdir(tmp_path)
    config = Config(ParamsModel(**PARAMS), "params.yaml")
    data = simulated.load(rows=600)
    for job in config.jobs():
        for path in (job.table, job.split):
            tmp_path.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        data.save(job.table)
        make_split(data, 0).save(job.split)
    return config


def test_columns_in_another_order_are_the_same_rows():
    data = simulated.load(rows=50)
    order = np.random.default_rng(0).permutation(data.n_features)
    other = with_columns(data, order)
    place = [other.feature_names.index(name) for name in data.feature_names]
    assert place != sorted(place)
    assert np.array_equal(other.X[:, place], data.X)
    assert {other.feature_names[i] for i in other.numeric} == {data.feature_names[i] for i in data.numeric}
    assert np.array_equal(other.y, data.y)


def test_a_convex_fit_moves_by_rounding_alone(grid, tmp_path):
    (job,) = [job for job in grid.jobs() if job.algorithm == "unconstrained"]
    found = spread(grid, job, 3, report=lambda line: None)
    assert all(len(moves) == 3 for moves in found.moves.values())
    assert found.moves["accuracy"] == [0, 0, 0]
    assert 0.5 < found.values["accuracy"] < 1
    assert not tmp_path.joinpath(job.path, "model.npz").exists()


def test_the_command_prints_a_line_per_metric_and_what_was_chosen(grid):
    Path("params.yaml").write_text(yaml.safe_dump(PARAMS))
    options = "--experiment tiny --dataset simulated --algorithm idca --kappa 0.2 --seed 0 --repeats 1"
    done = CliRunner().invoke(app, ["spread", *options.split()])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert any(re.fullmatch(r"accuracy +0\.\d{6} +\d\.\de[-+]\d\d +\d\.\de[-+]\d\d", line) for line in lines)
    assert re.fullmatch(r"tuning chose T=\d+ .*, and the same in [01] of 1 repetitions", lines[-1])


def test_moves_and_choices_are_those_of_the_repetitions(grid, monkeypatch):
    (job,) = [job for job in grid.jobs() if job.algorithm == "idca"]
    found = spread(grid, job, 2, report=lambda line: None)
    assert len(found.chosen) == 3
    assert all("T=" in chosen for chosen in found.chosen)

    def one_label(data, order):
        """Rows of which every model says the same: accuracy is then far from the run's."""
        fields = {name: getattr(data, name) for name in ("group", "feature_names", "group_names", "name", "numeric")}
        return Dataset(X=data.X, y=np.where(np.arange(data.n_rows) % 2, 1.0, -1.0), **fields)

    monkeypatch.setattr(module, "with_columns", one_label)
    (far,) = spread(grid, job, 1, report=lambda line: None).moves["accuracy"]
    assert far > 0.1 > max(found.moves["accuracy"])


def test_images_are_refused_in_a_sentence(grid):
    (job,) = [job for job in grid.jobs() if job.algorithm == "idca"]
    data = simulated.load(rows=600)
    pixels = np.zeros((600, 12), np.uint8)
    rows = ImageRows.of_pixels(pixels, (3, 2, 2))
    fields = {name: getattr(data, name) for name in ("y", "group", "group_names", "name")}
    Dataset(X=rows, feature_names=(), **fields).save(job.table)
    with pytest.raises(ConfigError, match="images"):
        spread(grid, job, 1)


def test_numeric_columns_move_with_their_columns():
    data = Dataset(
        X=np.zeros((4, 3), np.float32),
        y=np.array([1.0, -1, 1, -1]),
        group=np.array([0, 0, 1, 1], np.int16),
        feature_names=("a", "b", "c"),
        group_names=("a", "b"),
        name="t",
        numeric=np.array([0]),
    )
    found = with_columns(data, np.array([2, 0, 1]))
    assert found.feature_names == ("c", "a", "b") and found.numeric.tolist() == [1]
