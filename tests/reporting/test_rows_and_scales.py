"""Which rows, ranks and scales exhibits measure on, and what counts as reproduced."""

import json

import pandas as pd
import pytest
import run_files

from partialfair.metrics import get
from reproduction.exhibits import exhibit
from reproduction.verdicts import run_scores
from reproduction.verdicts.results import Setting


@pytest.fixture
def one(tmp_path):
    """An exhibit of one method, whose metrics are of other ranks than its constraint."""
    content = run_files.params_of("figure2")
    (name,) = content["experiments"]
    run = {"interval": [[0.05, 0.3]], "metric_interval": [[0.3, 0.6]], "algorithms": {"idca": [0.1]}}
    content["experiments"][name]["runs"] = {"a9a": run}
    content["exhibits"] = {"means": {"kind": "mean_std_table", "title": "t", "experiments": [name], "metrics": ["sp"]}}
    shown = exhibit.context(run_files.project(tmp_path, content), "means", tmp_path)
    return shown, Setting(name, "a9a", "idca", 0.1)


def test_metrics_from_scores_are_of_the_ranks_that_the_grid_names_for_them(one):
    shown, setting = one
    rows = run_scores.scores(shown, setting, 0, "test")
    columns = rows.score.astype(float), rows.y.astype(float), rows.group.astype(int)
    found = run_scores.values(shown, setting, "sp", "test")[0]
    assert found == get("sp")(*columns, [(0.3, 0.6)]) != get("sp")(*columns, [(0.05, 0.3)])


@pytest.mark.parametrize(("fit_on", "parts"), [("train", 1), ("train_and_validation", 2)])
def test_training_rows_are_all_that_a_run_was_fitted_to(one, fit_on, parts):
    shown, setting = one
    folder = shown.root / shown.config.jobs(setting.experiment)[0].path
    table = pd.read_parquet(folder / "scores.parquet")
    train = table[table["split"] == "train"]
    pd.concat([table, train.assign(split="validation")]).to_parquet(folder / "scores.parquet")
    fit = json.loads((folder / "fit.json").read_text()) | {"settings": {"fit_on": fit_on}}
    (folder / "fit.json").write_text(json.dumps(fit))
    assert run_scores.scores(shown, setting, 0, "train").group.size == parts * len(train)


def test_what_counts_as_reproduced_is_three_standard_errors_of_a_difference(one):
    import math

    from reproduction.exhibits.kinds import mean_std_table
    from reproduction.verdicts import run_scores
    from reproduction.verdicts.published import Published

    shown, _ = one
    made = [
        Published(shown.paper, "means", "a9a", "idca", "", "", f"split=test;statistic={what}", "sp", value)
        for what, value in (("mean", 0.3), ("std", 0.02))
    ]
    low, high = mean_std_table.band(shown, made[0], 0.02)
    n = len(run_files.SEEDS)
    assert (0.3 - low, high - 0.3) == pytest.approx([3 * math.sqrt(2 / n) * 0.02] * 2)
    ratios = run_scores.ratio_range(n, n, 0.99)
    assert mean_std_table.band(shown, made[1], None) == pytest.approx([0.02 * ratio for ratio in ratios])


def test_the_largest_quality_and_the_smallest_violation_are_the_best():
    from reproduction.exhibits.kinds import mean_std_table

    place = {"experiment": "e", "dataset": "d", "split": "test"}
    for metric, best in (("accuracy", [0, 1]), ("sp", [1, 0])):
        found = mean_std_table._with_best([place | {"metric": metric, "mean": mean} for mean in (0.2, 0.3)])
        assert [line["best"] for line in found] == best


def test_headline_fairness_is_measured_on_the_scale_of_kappa(tmp_path):
    import synthetic

    from reproduction.jobs.scorecard import headline
    from reproduction.verdicts.results import Results

    scales = {"relative": "sp", "absolute": "rank_gap"}
    content = synthetic.params() | {"exhibits": {}}
    content["experiments"] = {name: synthetic.experiment() | {"kappa_scale": name} for name in scales}
    config = synthetic.project(tmp_path, content)
    found, results = headline(config, tmp_path, []), Results.load(tmp_path / "reports", scales)
    for name, metric in scales.items():
        shown = found[name]["a9a"]["idca"]["kappa=0.1"]
        (fairness,) = (value for key, value in shown.items() if key.endswith("fairness"))
        assert fairness == pytest.approx(results.estimate(Setting(name, "a9a", "idca", 0.1), metric).mean, abs=1e-6)


def test_noise_of_ties_is_that_of_one_answer_though_both_were_perturbed():
    """Answers .01 apart at every split: the variance of either is half the square."""
    from types import SimpleNamespace

    from scipy.stats import t

    from reproduction.exhibits import regression_numbers
    from reproduction.verdicts.results import Results

    key = {"dataset": "d", "algorithm": "regression_reduction", "kappa": 0.1, "split": "test", "metric": "risk"}
    rows = [
        key | {"experiment": name, "seed": seed, "value": 0.2 + 0.01 * (-1) ** seed * (name == "again")}
        for name in ("first", "again")
        for seed in range(10)
    ]
    results = Results(pd.DataFrame(rows), pd.DataFrame())
    context = SimpleNamespace(results=results, option=lambda name, default=None: default)
    setting = Setting("first", "d", "regression_reduction", 0.1)
    found = regression_numbers.noise_of(context, SimpleNamespace(ties="again"), setting, "risk")
    assert found == pytest.approx(t.ppf(0.975, 10) * (2 * (0.01**2 / 2) / 10) ** 0.5)
