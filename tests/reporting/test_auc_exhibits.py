"""Exhibits of AUC fairness: points with standard errors, frontiers at equal gaps, verdicts either way."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from partialfair.grid.config import load_config
from partialfair.reporting import auc_points, exhibit
from partialfair.reporting.kinds import auc_findings
from partialfair.verdicts import scorecard
from partialfair.verdicts.results import Results

GRID = Path(__file__).parents[2] / "papers" / "auc_fairness" / "grid.yaml"
EXPERIMENT = "auc_linear_group"


def table(models):
    """Tidy rows of models {(algorithm, kappa): [(gap, auc) by seed]} on a9a."""
    rows = []
    for (algorithm, kappa), found in models.items():
        for seed, pair in enumerate(found):
            for metric, value in zip(("auc_gap_group", "auc"), pair, strict=True):
                key = {"experiment": EXPERIMENT, "dataset": "a9a", "algorithm": algorithm, "kappa": kappa, "seed": seed}
                rows.append(key | {"split": "test", "metric": metric, "value": value, "reason": None, "status": "ok"})
    return pd.DataFrame(rows)


MODELS = {
    ("auc_unconstrained", np.inf): [(0.24, 0.90), (0.25, 0.902), (0.23, 0.899)],
    ("sfls", 0.1): [(0.10, 0.890), (0.11, 0.892), (0.09, 0.889)],
    ("sfls", 0.01): [(0.01, 0.870), (0.02, 0.873), (0.01, 0.868)],
    ("proxy_lagrangian", 0.1): [(0.10, 0.895), (0.11, 0.897), (0.09, 0.894)],
    ("proxy_lagrangian", 0.01): [(0.01, 0.880), (0.02, 0.883), (0.01, 0.878)],
}


@pytest.fixture
def context(tmp_path):
    def make(name, models=MODELS, **options):
        config = load_config(GRID)
        found = exhibit.context(config, name, tmp_path, tmp_path / "out")
        wanted = {"experiments": [EXPERIMENT], "panels": ["a9a"], **options}
        given = found.options
        chosen = {**given, **wanted} if isinstance(given, dict) else given.model_copy(update=wanted)
        results = Results(table(models), pd.DataFrame())
        return dataclasses.replace(found, results=results, options=chosen)

    return make


def statement(test, algorithm="sfls", against=("proxy_lagrangian",), **more):
    made = {
        "id": "x", "source": "test", "statement": "text", "test": test, "algorithm": algorithm,
        "against": list(against), "experiments": [EXPERIMENT], "datasets": ["a9a"], "gaps": [0.05, 0.1, 0.15],
    }  # fmt: skip
    return auc_findings.Statement(**made | more)


def test_points_have_means_and_standard_errors(context):
    lines = {(line["algorithm"], line["kappa"]): line for line in auc_points.lines(context("auc_figure1"))}
    line, pairs = lines["sfls", 0.1], np.array(MODELS["sfls", 0.1])
    assert line["n_seeds"] == 3
    assert (line["gap"], line["auc"]) == pytest.approx(pairs.mean(axis=0), abs=1e-6)
    assert (line["gap_se"], line["auc_se"]) == pytest.approx(pairs.std(axis=0, ddof=1) / np.sqrt(3), abs=1e-6)


def test_figure_and_table_are_written(context):
    for name, kind in (
        ("auc_figure1", exhibit.kind("scatter")["auc_gap"]),
        ("auc_targets", exhibit.kind("auc_targets")[""]),
    ):
        paths = kind.render(context(name))
        assert all(path.stat().st_size > 100 for path in paths)
        assert {path.suffix for path in paths} >= {".csv"}
    text = (paths[0].parent / "auc_targets.html").read_text()
    assert "0.8903 / 0.100" in text and "Level-set (SFLS)" in text


def test_frontiers_are_read_at_equal_gaps(context):
    found = auc_points.auc_at(context("auc_figure1"), EXPERIMENT, "a9a", "sfls", np.array([0.005, 0.055, 0.24]))
    assert np.isnan(found[0][0])
    assert found[0][1] == pytest.approx(0.88)
    assert found[0][2] == pytest.approx(0.90)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (statement("behind"), "reproduced"),
        (statement("behind", "proxy_lagrangian", ["sfls"]), "differs"),
        (statement("ahead"), "differs"),
        (statement("ahead", "proxy_lagrangian", ["sfls"]), "reproduced"),
        (statement("equivalent", margin=0.02), "reproduced"),
        (statement("equivalent", margin=0.001), "differs"),
        (statement("trades", against=()), "reproduced"),
        (statement("unreachable", against=()), "differs"),
        (statement("ahead", against=["mean_gap_line"]), "not run"),
        (statement("ahead", gaps=[0.001]), "not run"),
    ],
)
def test_verdicts_are_computed(context, made, verdict):
    (line,) = auc_findings.lines(context("auc_findings", statements=[made]))
    assert line["verdict"] == verdict, line["note"]
    (entry,) = auc_findings.scorecard_lines(context("auc_findings", statements=[made]))
    assert entry["verdict"] == verdict and set(entry) <= set(scorecard.COLUMNS)


def test_one_seed_decides_nothing(context):
    models = {key: found[:1] for key, found in MODELS.items()}
    (line,) = auc_findings.lines(context("auc_findings", models, statements=[statement("behind")]))
    assert line["verdict"] == "not run" and "one seed" in line["note"]
