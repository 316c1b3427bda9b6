"""Exhibits of AUC fairness: points with standard errors, frontiers at equal gaps, verdicts either way."""

import dataclasses
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reproduction.exhibits import auc_points, exhibit
from reproduction.grid.config import Config, load_config
from reproduction.verdicts import claim_tests
from reproduction.verdicts.claim import Claim
from reproduction.verdicts.results import Results

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
def context(tmp_path, monkeypatch):
    monkeypatch.setattr(Config, "seeds", lambda *_: [0, 1, 2])  # of which results have all

    def make(name, models=MODELS, **options):
        config = load_config(GRID)
        found = exhibit.context(config, name, tmp_path, tmp_path / "out")
        wanted = {"experiments": [EXPERIMENT], "panels": ["a9a"], **options}
        given = found.options
        chosen = {**given, **wanted} if isinstance(given, dict) else given.model_copy(update=wanted)
        results = Results(table(models), pd.DataFrame())
        return dataclasses.replace(found, results=results, options=chosen)

    return make


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


def frontier(test="better", method="sfls", against=("proxy_lagrangian",), **more):
    made = {
        "id": "x", "section": "6", "sentence": "text", "test": test, "method": method, "against": list(against),
        "experiments": [EXPERIMENT], "datasets": ["a9a"], "metric": "auc", "start": "auc_unconstrained",
        "at_equal": {"levels": [0.03, 0.05, 0.08], "every": False},
    }  # fmt: skip
    return Claim.model_validate(made | more)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (frontier("worse"), "holds"),
        (frontier("worse", "proxy_lagrangian", ["sfls"]), "fails"),
        (frontier("better"), "fails"),
        (frontier("better", "proxy_lagrangian", ["sfls"]), "holds"),
        (frontier("similar", margin=0.02), "holds"),
        (frontier("similar", margin=0.001), "fails"),
        (frontier("worse", against=["auc_unconstrained"], at_equal=None, kappa=0.01), "holds"),
        (frontier("better", against=["mean_gap_line"]), "not run"),
        (frontier("better", at_equal={"levels": [0.001]}), "not run"),
        # Between the least fair trained model and the unconstrained one nothing is compared.
        (frontier("better", at_equal={"levels": [0.15, 0.2]}), "not run"),
    ],
)
def test_verdicts_are_computed(context, made, verdict):
    (line,) = claim_tests.lines(context("auc_findings"), [made])
    assert line.verdict == verdict, line.note


def test_one_seed_decides_nothing(context):
    models = {key: found[:1] for key, found in MODELS.items()}
    (line,) = claim_tests.lines(context("auc_findings", models), [frontier("worse")])
    assert line.verdict == "undecided" and "one seed" in line.note


def test_one_model_far_below_does_not_flatten_the_others():
    """Models of Figure 2: one point at .76 below a bundle within .02, and a bundle that spreads evenly."""
    bundle = [0.90, 0.899, 0.895, 0.89, 0.886, 0.884, 0.882]
    assert auc_points.scale_floor([*bundle, 0.76]) == 0.882
    assert auc_points.scale_floor([*bundle, 0.50, 0.46]) == 0.882
    assert auc_points.scale_floor([0.9, 0.88, 0.86, 0.84, 0.82, 0.80]) == 0.80
    assert auc_points.scale_floor([0.9, 0.5]) == 0.5, "two models: neither is the odd one"


def test_a_long_bar_does_not_flatten_the_panel(context):
    """The scale is that of the points; a bar of a tenth on a panel of a fiftieth is cut."""
    models = MODELS | {("sfls", 0.03): [(0.03, 0.80), (0.04, 0.88), (0.03, 0.95)]}
    made = context("auc_figure1", models)
    panel = auc_points._panel(made, "a9a", EXPERIMENT, first=True)
    figure, axis = plt.subplots()
    panel.finish(axis)
    low, high = axis.get_ylim()
    plt.close(figure)
    assert high - low < 0.06


def panel_of(made):
    """The one panel of the exhibit, drawn."""
    figure = auc_points.draw(made, list(auc_points.lines(made)))
    plt.close(figure)
    return figure, next(axis for axis in figure.axes if axis.has_data())


def test_bars_are_those_of_paired_differences(context):
    """Splits move all models of a seed alike: bars of the mean AUC would hide what differs."""
    shift = (0.0, 0.05, -0.05)
    models = {key: [(gap, auc + shift[s]) for s, (gap, auc) in enumerate(found)] for key, found in MODELS.items()}
    lines = {(line["algorithm"], line["kappa"]): line for line in auc_points.lines(context("auc_figure1", models))}
    line, apart = lines["sfls", 0.01], np.array([0.870 - 0.90, 0.873 - 0.902, 0.868 - 0.899])
    assert line["auc_paired_se"] == pytest.approx(apart.std(ddof=1) / np.sqrt(3), abs=1e-6) and line["auc_se"] > 0.02
    assert lines["auc_unconstrained", np.inf]["auc_paired_se"] == 0
    figure, axis = panel_of(context("auc_figure1", models))
    heights = [np.ptp(path.vertices[:, 1]) for one in axis.collections for path in one.get_paths()]
    assert max(heights) < 0.02 and "same seed" in " ".join(text.get_text() for text in figure.texts)


def test_points_far_below_are_drawn_on_a_compressed_scale(context):
    """Every point lies inside the panel, in order, and the others keep most of its height."""
    models = MODELS | {("sfls", 0.001): [(0.01, 0.60), (0.02, 0.62), (0.01, 0.61)]}
    figure, axis = panel_of(context("auc_figure1", models))
    assert not axis.texts, "no labels that could overlap"
    place = axis.transScale.transform
    heights = [place((0.0, auc))[1] for auc in (0.61, 0.8703, 0.8803, 0.9003)]
    bottom, top = (place((0.0, end))[1] for end in axis.get_ylim())
    assert bottom < heights[0] < heights[1] < heights[2] < heights[3] < top
    assert (heights[1] - bottom) / (top - bottom) < 0.45 and (heights[3] - heights[1]) / (top - bottom) > 0.4
    legend = [text.get_text() for one in figure.legends for text in one.get_texts()]
    assert auc_points.COMPRESSED in legend
    assert {float(tick.get_text()) < 0.8 for tick in axis.get_yticklabels()} == {True, False}
    _, even = panel_of(context("auc_figure1"))
    assert even.get_yscale() == "linear"
