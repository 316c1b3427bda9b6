"""Closed-form values of a fitted model: read off the model, compared with a large sample, shown with a verdict."""

import json
import math

import numpy as np
import pytest

from partialfair import metrics
from partialfair.data.files import write_json
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.exhibits import exhibit
from reproduction.exhibits.kinds import closed_form
from reproduction.grid.config import job_settings, load_config
from reproduction.jobs import report
from reproduction.jobs.evaluate import evaluate

PARAMS = """
seeds: [0, 1]
experiments:
  demo:
    title: Demo
    paper: partial_fairness
    constraint: partial_statistical_parity
    runs: {simulated: {interval: [[0.1, 0.4]], algorithms: {alm: [0.1]}}}
exhibits:
  check:
    kind: closed_form
    title: Check
    experiments: [demo]
    tolerance: {accuracy: 0.03, fairness: 0.15}
"""


def model(seed):
    """A random linear score on standardised features."""
    rng = np.random.default_rng(seed)
    columns = np.arange(simulated.DIMENSION)
    standardiser = Standardiser(columns, rng.normal(size=len(columns)), rng.uniform(0.5, 2, len(columns)))
    weights = np.array([simulated.TRUE_WEIGHTS] * 2) + 0.3 * rng.normal(size=(2, len(columns) + 1))
    names = simulated.GROUPS, tuple(f"x{i + 1}" for i in columns)
    return LinearScore(weights, standardiser, np.zeros(0), *names)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Two evaluated models on a simulated table."""
    root = tmp_path_factory.mktemp("closed_form")
    (root / "params.yaml").write_text(PARAMS)
    config = load_config(root / "params.yaml")
    data = simulated.load(rows=6000)
    data.save(root / "table.npz")
    for job in config.jobs("demo"):
        make_split(data, job.seed).save(root / f"split{job.seed}.npz")
        folder = root / job.path
        folder.mkdir(parents=True)
        model(job.seed).save(folder / "model.npz")
        write_json(folder / "fit.json", {"status": "ok", **job_settings(config, job)})
        paths = folder / "model.npz", folder / "fit.json", root / "table.npz", root / f"split{job.seed}.npz", folder
        evaluate(*paths, {"interval": [[0.1, 0.4]], "bootstrap": {"replicates": 50}})
    return root, config


@pytest.mark.parametrize("seed", range(3))
def test_weights_read_off_the_scores_give_the_scores(seed):
    data = simulated.load(rows=50, seed=1)
    weights = closed_form.group_weights(model(seed), simulated.DIMENSION).reshape(2, -1)
    rows = np.column_stack([np.ones(50), data.X])
    expected = rows @ weights[0] + data.group * (rows @ weights[1])
    assert model(seed).scores(data.X, data.group) == pytest.approx(expected)


def test_population_values_equal_those_of_a_large_sample():
    data = simulated.load(rows=400_000, seed=5)
    scored = model(0)
    interval = ((0.1, 0.4),)
    exact = closed_form.population(closed_form.group_weights(scored, simulated.DIMENSION), interval)
    assert len(exact) > 3
    scores = scored.scores(data.X, data.group)
    measured, _ = metrics.evaluate_all(scores, data.y, data.group, interval, only=list(exact))
    for name, value in exact.items():
        assert measured[name] == pytest.approx(value, abs=0.012), name


def test_lines_and_claims(project):
    root, config = project
    context = exhibit.context(config, "check", root)
    lines = closed_form.csv_lines(context)
    assert [(line["seed"], line["metric"]) for line in lines] == [
        (seed, metric) for seed in (0, 1) for metric in ("accuracy", "sp", "rank_gap", "dp")
    ]
    claims = {claim["metric"]: claim for claim in closed_form.claims(context)}
    for metric, claim in claims.items():
        own = [line for line in lines if line["metric"] == metric]
        assert claim["kind"] == "question" and claim["published"] == pytest.approx(
            np.mean([line["expected"] for line in own])
        )
        assert claim["reproduced"] == pytest.approx(np.mean([line["measured"] for line in own]))
        apart = np.mean([line["standard_errors_apart"] for line in own])
        assert claim["verdict"] == ("agrees" if abs(apart) <= 3 else "differs")
        assert "would be seen" in claim["note"]
    assert claims["accuracy"]["verdict"] == claims["sp"]["verdict"] == "agrees"
    assert claims["accuracy"]["noise"] < 0.06


def test_bias_and_error_are_those_of_the_sample_size():
    weights = (*simulated.TRUE_WEIGHTS, *np.zeros(7))
    interval = ((0.1, 0.4),)
    exact = closed_form.population(np.array(weights), interval)
    few, many = (closed_form.sampled(weights, "test", rows, interval) for rows in (400, 6400))
    assert few["sp"][0] > many["sp"][0] > exact["sp"] - 0.01  # a largest difference is too large on average
    assert few["accuracy"][1] == pytest.approx(4 * many["accuracy"][1], rel=0.5)  # errors fall with the root of n
    assert few["accuracy"][0] == pytest.approx(exact["accuracy"], abs=0.02)


def test_a_factor_of_two_is_seen(project, monkeypatch):
    root, config = project
    monkeypatch.setattr(closed_form, "read_json", lambda path: _doubled(path))
    claims = {c["metric"]: c["verdict"] for c in closed_form.claims(exhibit.context(config, "check", root))}
    assert claims["sp"] == claims["rank_gap"] == "differs"


def _doubled(path):
    found = json.loads(path.read_text())
    for metric in ("sp", "rank_gap"):
        found["splits"]["test"][metric] *= 2
    return found


def test_files(project, tmp_path):
    root, config = project
    names = {path.name for path in report.render_exhibit(config, "check", tmp_path, root)}
    assert names == {"check.csv", "check.html"}
    assert "closed form" in (tmp_path / "check.html").read_text()


def test_runs_that_are_missing_have_no_lines(project, tmp_path):
    _, config = project
    context = exhibit.context(config, "check", tmp_path)
    assert closed_form.csv_lines(context) == [] and not math.isnan(len(closed_form.claims(context)))
