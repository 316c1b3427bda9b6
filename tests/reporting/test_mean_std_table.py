"""Means over runs stand on the lines of their own dataset, and are measured on the interval of the run."""

import pandas as pd
import pytest
import run_files

from partialfair.reporting import exhibit
from partialfair.reporting.kinds import mean_std_table
from partialfair.verdicts import published
from partialfair.verdicts.published import Published

METRICS = ["accuracy", "sp", "rank_gap"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The exhibit of an experiment on two datasets, each constrained on an interval of its own."""
    root = tmp_path_factory.mktemp("project")
    content = run_files.params_of("figure2")
    (name,) = content["experiments"]
    experiment = content["experiments"][name]
    experiment["runs"] = {
        "a9a": {"interval": [[0.05, 0.3]], "algorithms": {"unconstrained": [float("inf")], "idca": [0.1]}},
        "law_school": {"interval": [[0.7, 1.0]], "algorithms": {"idca": [0.2]}},
    }
    entry = {"kind": "mean_std_table", "title": "t", "experiments": [name], "metrics": METRICS}
    content["exhibits"] = {"means": entry}
    config = run_files.project(root, content)
    return exhibit.context(config, "means", root)


def test_metrics_are_those_of_the_runs(shown):
    found = pd.DataFrame(mean_std_table.lines(shown))
    found = found[found["split"] == "test"]
    assert set(found["metric"]) == set(METRICS)
    tidy = shown.results.metrics[shown.results.metrics["split"] == "test"]
    for key, own in found.groupby(["dataset", "algorithm", "metric"]):
        rows = tidy[(tidy[["dataset", "algorithm", "metric"]] == list(key)).all(axis=1)]
        assert len(own) == 1 and own["mean"].item() == pytest.approx(rows["value"].mean(), abs=1e-12), key


def test_every_dataset_has_lines_and_stars_of_its_own(shown, monkeypatch):
    numbers = [
        Published(shown.paper, "means", dataset, "idca", "", "", f"split=test;statistic={what}", "accuracy", value)
        for dataset, mean in (("a9a", 0.9), ("law_school", 0.1))
        for what, value in (("mean", mean), ("std", 0.01))
    ]
    monkeypatch.setattr(published, "of_exhibit", lambda *_: tuple(numbers))
    lines = [line for line in mean_std_table.lines(shown) if line["split"] == "test"]
    found = {(e["dataset"], e["algorithm"], e["metric"]): e for e in lines}
    assert found["a9a", "idca", "accuracy"]["published_mean"] == 0.9
    assert found["law_school", "idca", "accuracy"]["published_mean"] == 0.1
    assert found["law_school", "idca", "sp"]["best"] == 0, "the only method of its dataset"
    assert [found["a9a", name, "sp"]["best"] for name in ("unconstrained", "idca")] == [0, 1]
    _, table = mean_std_table.tables(shown, lines)  # the first is of training rows
    texts = [[cell.text for cell in row] for row in table.rows]
    for dataset in ("a9a", "law_school"):
        own = next(row for row in texts if f"{found[dataset, 'idca', 'sp']['mean']:.4f}" in row[4])
        assert own[1] == "IDCA"
    assert len({row[4] for row in texts if row[2] != "published"}) == 3, "no number stands on two lines"
