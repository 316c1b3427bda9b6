"""Means over runs stand on the lines of their own dataset, and are measured on the interval of the run."""

import re
from dataclasses import replace

import pandas as pd
import pytest
import run_files

from reproduction.exhibits import answers, exhibit
from reproduction.exhibits.kinds import bars, mean_std_table
from reproduction.verdicts import published
from reproduction.verdicts.published import Published

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


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The exhibit of one experiment that runs IDCA at three tolerances."""
    root = tmp_path_factory.mktemp("several")
    content = run_files.params_of("figure2")
    (name,) = content["experiments"]
    run = {"interval": [[0.05, 0.3]], "algorithms": {"unconstrained": [float("inf")], "idca": [0.1, 0.05, 0.02]}}
    content["experiments"][name]["runs"] = {"a9a": run}
    entry = {"kind": "mean_std_table", "title": "t", "experiments": [name], "metrics": METRICS}
    content["exhibits"] = {"means": entry}
    return exhibit.context(run_files.project(root, content), "means", root)


def number(context, setting, value=0.9, interval="", algorithm="idca", metric="accuracy"):
    return Published(context.paper, "means", "a9a", algorithm, "", interval, setting, metric, value, line=7)


def test_a_number_is_judged_by_the_run_at_its_own_kappa(several):
    gaps = several.results.metrics.query("split == 'test' and metric == 'rank_gap' and algorithm == 'idca'")
    means = gaps.groupby("kappa")["value"].mean()
    for kappa in (0.1, 0.05, 0.02):
        row = number(several, f"split=test;statistic=mean;kappa={kappa}", metric="rank_gap")
        assert mean_std_table.reproduce(several, row).estimate.mean == pytest.approx(means[kappa])
    assert means[0.02] < means[0.05] < means[0.1]


@pytest.mark.parametrize(
    ("more", "interval", "reason"),
    [
        (";kappa=0.77", "", r"runs idca on a9a at kappa 0\.1, 0\.05, 0\.02, not at 0\.77"),
        ("", "", r"runs idca on a9a at kappa 0\.1, 0\.05, 0\.02; state the number's own"),
        (";kappa=0.02", "0.1-0.2", r"constrains I = 0\.05-0\.3 on a9a, not I = 0\.1-0\.2"),
    ],
)
def test_a_number_without_a_run_of_its_own_is_not_run(several, more, interval, reason):
    row = number(several, f"split=test;statistic=mean{more}", interval=interval)
    outcome = mean_std_table.reproduce(several, row)
    assert outcome.estimate is None and re.search(reason, outcome.note)


def test_a_metric_that_is_not_computed_leaves_the_other_numbers_their_lines(several, monkeypatch):
    root = several.root
    rows = [
        number(several, "split=test;statistic=mean;kappa=0.1", metric=name) for name in ("accuracy", "f1", "rank_gap")
    ]
    monkeypatch.setattr(published, "load", lambda *_: tuple(rows))
    found = [line for line in answers.lines(several.config, root) if line["kind"] == "number"]
    assert [line["metric"] for line in found] == ["accuracy", "f1", "rank_gap"]
    assert [line["verdict"] == "not run" for line in found] == [False, True, False]
    assert found[1]["note"] == "no metric 'f1' is computed here"


def test_a_number_stands_on_the_line_of_its_kappa_and_lines_show_theirs(several, monkeypatch):
    rows = [
        number(several, f"split=test;statistic={what};kappa={kappa}", value, "0.05-0.3")
        for kappa, mean in ((0.1, 0.8), (0.02, 0.7))
        for what, value in (("std", kappa), ("mean", mean))
    ]
    monkeypatch.setattr(published, "of_exhibit", lambda *_: tuple(rows))
    lines = mean_std_table.lines(several)
    found = {e["kappa"]: e for e in lines if (e["split"], e["metric"]) == ("test", "accuracy")}
    assert [found[kappa].get("published_mean") for kappa in (0.1, 0.05, 0.02, float("inf"))] == [0.8, None, 0.7, None]
    assert [found[kappa]["published_std"] for kappa in (0.1, 0.02)] == [0.1, 0.02]
    _, table = mean_std_table.tables(several, lines)
    assert table.columns[:4] == ["runs of", "method", "κ", "runs"] and {len(row) for row in table.rows} == {7}
    assert [row[2].text for row in table.rows if row[3].text != "published"] == ["∞", "0.1", "0.05", "0.02"]


def test_bars_mark_a_number_at_its_own_kappa(several, monkeypatch):
    rows = [number(several, "statistic=mean;split=test;kappa=0.05", 0.8)]
    monkeypatch.setattr(published, "of_exhibit", lambda *_: tuple(rows))
    options = bars.MetricBars(kind="bars", source="metrics", metrics=["accuracy"], experiments=several.experiments)
    lines = list(bars.metric_lines(replace(several, options=options)))
    assert [line["kappa"] for line in lines if line["published"] == 0.8 and line["split"] == "test"] == [0.05]
    assert sum(line["published"] is not None for line in lines) == 1


def test_one_tolerance_for_each_algorithm_needs_no_column(shown):
    _, table = mean_std_table.tables(shown, mean_std_table.lines(shown))
    assert table.columns[:3] == ["runs of", "method", "runs"]


def test_null_models_are_those_of_the_same_dataset_at_each_tolerance(several, shown):
    row = number(several, "split=test;statistic=mean", algorithm="unconstrained")
    names = set(mean_std_table.reproduce(several, row).nulls)
    assert names == {"IDCA at 0.1", "IDCA at 0.05", "IDCA at 0.02"}
    assert set(mean_std_table.reproduce(shown, row).nulls) == {"IDCA"}, "the one of law_school is none of a9a"
