"""What is refused of a whole grid before anything runs."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.errors import ConfigError
from reproduction.commands.checking import check_labels, label_is_number
from reproduction.datasets.named import named_dataset
from reproduction.grid.config import Config, load_config
from tests.workflow.project import ROOT

OWN = {"module": "csv_table", "file": "own.csv", "label": "y", "groups": ["g"]}


def grid(
    folder: Path, dataset: str, constraint: str, algorithm: str = "idca", kappa: float | str = 0.1, **own: Any
) -> Config:
    """A grid with one run."""
    algorithms = {algorithm: [kappa]}
    experiment = {
        "title": "One",
        "paper": "own",
        "constraint": constraint,
        "kappa_scale": "absolute",
        "runs": {dataset: {"interval": [[0.0, 1.0]], "algorithms": algorithms}},
    }
    content = {"seeds": [0], "datasets": {dataset: own}, "experiments": {"one": experiment}}
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(content))
    return load_config(path)


@pytest.mark.parametrize(
    ("dataset", "own"),
    [
        ("law_school_gpa", {}),
        ("four_groups", {}),
        ("adult_age", {}),
        ("communities_crime", {}),
        ("gpa", {"module": "law_school_gpa"}),
        ("mine", {**OWN, "task": "regression"}),
    ],
)
def test_a_label_that_is_a_number_is_refused_under_constraints_on_classes(
    tmp_path: Path, dataset: str, own: dict[str, Any]
):
    config = grid(tmp_path, dataset, "partial_statistical_parity", **own)
    sentence = rf"params.yaml: experiments\.one\.runs\.{dataset}: the label of {dataset} is a number, .* use dist"
    with pytest.raises(ConfigError, match=sentence):
        check_labels(config)
    told = CliRunner().invoke(app, ["check", "--config", str(tmp_path / "params.yaml")])
    assert isinstance(told.exception, ConfigError) and "is a number" in str(told.exception)
    check_labels(grid(tmp_path, dataset, "distribution_parity", **own))
    check_labels(grid(tmp_path, dataset, "partial_statistical_parity", "plug_in_regression", "inf", **own))


@pytest.mark.parametrize(("dataset", "own"), [("law_school", {}), ("mine", OWN), ("simulated", {})])
def test_classes_are_not_refused(tmp_path: Path, dataset: str, own: dict[str, Any]):
    config = grid(tmp_path, dataset, "partial_statistical_parity", **own)
    assert not label_is_number(config, dataset)
    check_labels(config)


def test_what_is_said_of_labels_is_so_where_data_can_be_drawn(tmp_path: Path):
    config = grid(tmp_path, "simulated", "partial_statistical_parity")
    for name, task in {"simulated": "classification", "four_groups": "regression"}.items():
        assert named_dataset(name).load(tmp_path).task == task
        assert label_is_number(config, name) == (task == "regression")


def test_the_shipped_grid_has_such_labels_and_nothing_to_refuse():
    config = load_config(ROOT / "params.yaml")
    numbers = {dataset for dataset in config.datasets if label_is_number(config, dataset)}
    assert len(numbers) > 5 and "dp_law" in numbers and "a9a" not in numbers
    check_labels(config)
