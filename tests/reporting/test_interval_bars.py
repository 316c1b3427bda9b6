"""Bars by interval: matched accuracies, the method that the claim hangs on, and drawn bars equal to the file."""

import csv
import math

import numpy as np
import pandas as pd
import pytest
import run_files
import yaml

from partialfair.grid.config import load_config
from partialfair.jobs import report
from partialfair.reporting import exhibit
from partialfair.reporting.kinds import bars
from partialfair.verdicts.results import Results, Setting


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """(root, config) of a project in which one run of one method has failed."""
    root = tmp_path_factory.mktemp("bars")
    failed = {("psp_interval2", "a9a", "intra_group", 4.2, 1)}
    return root, run_files.project(root, run_files.params_of("figure9"), failed)


@pytest.fixture(scope="module")
def context(project):
    return exhibit.context(project[1], "figure9", project[0])


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def context_of_psp(context):
    """Tidy tables of the experiment that the reference models belong to."""
    return Results.load(context.root / "reports", ["psp"])


def test_one_bar_per_interval_and_method_and_one_reference(context):
    lines = bars.interval_lines(context)
    assert [line["algorithm"] for line in lines] == ["unconstrained", *run_files.METHODS] * 2
    assert {line["interval"] for line in lines} == {"0.05-0.3", "0.05-0.9"}
    assert all(line["n_seeds"] == (2 if line["note"] else 3) for line in lines)


def test_accuracies_match_within_the_tolerance(context):
    by_name = {line["algorithm"]: line for line in bars.interval_lines(context)[:6]}
    # Labels agree with 90% of the signs, of the last method's with 80%.
    assert by_name["regularization"]["accuracy_difference"] == pytest.approx(-0.1, abs=1e-9)
    assert [name for name, line in by_name.items() if line.get("matched") == 0] == ["regularization"]
    assert by_name["idca"]["accuracy_difference"] == 0


def test_reference_is_the_unconstrained_model_on_the_interval_of_the_bars(context):
    reference = [line for line in bars.interval_lines(context) if line["algorithm"] == "unconstrained"]
    setting = Setting("psp", "a9a", "unconstrained", math.inf)
    same_interval = context_of_psp(context).estimate(setting, "rank_gap")
    assert reference[0]["fairness"] == pytest.approx(same_interval.mean, abs=1e-9)
    root = context.root
    gaps = []
    for seed in run_files.SEEDS:
        table = pd.read_parquet(root / context.config.job(*setting[:3], "inf", seed).path / "scores.parquet")
        table = table[table["split"] == "test"]
        scores, group = table["score"].to_numpy(), table["group"].to_numpy()
        grid = np.sort(scores)
        above = [[(scores[group == code] > theta).mean() for theta in grid] for code in (0, 1)]
        first, second = np.array(above)
        inside = ((first >= 0.05) & (first < 0.9)) | ((second >= 0.05) & (second < 0.9))
        gaps.append(np.abs(first - second)[inside].max())
    assert reference[1]["fairness"] == pytest.approx(1 - np.mean(gaps), abs=1e-9)


def test_csv_equals_what_is_drawn(project, context, monkeypatch, tmp_path):
    from matplotlib.axes import Axes

    drawn, original = set(), Axes.barh

    def barh(axis, place, value, *args, xerr, **options):
        drawn.add(tuple(round(float(number), 9) for number in (value, xerr[0][0], xerr[1][0])))
        return original(axis, place, value, *args, xerr=xerr, **options)

    monkeypatch.setattr(Axes, "barh", barh)
    report.render_exhibit(project[1], "figure9", tmp_path, project[0])
    written = set()
    for row in read(tmp_path / "figure9.csv"):
        if row["algorithm"] != "unconstrained":
            for name in ("fairness", "accuracy"):
                value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
                written.add(tuple(round(number, 9) for number in (value, value - low, high - value)))
    assert drawn == written and len(drawn) >= 10


def test_claim_hangs_on_the_fairest_method_of_matched_accuracy(context):
    lines = bars.interval_claims(context)
    assert [line["interval"] for line in lines] == ["0.05-0.3", "0.05-0.9"]
    for line in lines:
        assert line["verdict"] == "reproduced" and line["ci_low"] > 0
        # Shifts grow along the methods, so the first of the others is the fairest of them.
        assert "next is Group AUC, accuracy +0.0000 against IDCA; 3 methods matched" in line["note"]
        assert "Regularization not matched (accuracy -0.1000, fairness -" in line["note"]
    fairness = [context.results.estimate(Setting("psp_interval1", "a9a", name, kappa), "rank_gap").mean
                for name, kappa in list(run_files.METHODS.items())[:2]]  # fmt: skip
    assert lines[0]["reproduced"] == pytest.approx(fairness[0] - fairness[1])
    assert "Intra-group: 1 of 3 seeds without a value: no feasible point" in lines[1]["note"]


def test_a_fairer_method_of_matched_accuracy_refutes_the_claim(tmp_path, monkeypatch):
    shift = run_files.shift
    monkeypatch.setattr(run_files, "shift", lambda job: 0.01 if job.algorithm == "inter_group" else shift(job))
    config = run_files.project(tmp_path, run_files.params_of("figure9"))
    line = bars.interval_claims(exhibit.context(config, "figure9", tmp_path))[0]
    assert line["verdict"] == "differs" and "next is Inter-group" in line["note"]


def test_a_fairer_method_of_lower_accuracy_does_not(tmp_path, monkeypatch):
    shift = run_files.shift
    monkeypatch.setattr(run_files, "shift", lambda job: 0.01 if job.algorithm == "regularization" else shift(job))
    config = run_files.project(tmp_path, run_files.params_of("figure9"))
    line = bars.interval_claims(exhibit.context(config, "figure9", tmp_path))[0]
    assert line["verdict"] == "reproduced" and "Regularization not matched" in line["note"]
    assert "fairness +" in line["note"].split("Regularization not matched")[1]


def test_of_several_kappas_the_tightest_counts(tmp_path):
    content = run_files.params()
    algorithms = content["experiments"]["psp_interval1"]["runs"]["a9a"]["algorithms"]
    algorithms |= {"idca": [0.2, 0.05], "regularization": [0.1, 0.37]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(content))
    context = exhibit.context(load_config(tmp_path / "params.yaml"), "figure9", tmp_path)
    kappas = {s.algorithm: s.kappa for s in bars.settings(context, "a9a")[0]}
    assert (kappas["idca"], kappas["regularization"]) == (0.05, 0.37)
