"""Published levels without kappas: the nearest run stands for each, chosen on validation rows."""

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import synthetic
import yaml

from papers.partial_fairness.exhibits import levels
from partialfair.metrics import names
from reproduction.exhibits import answers, exhibit
from reproduction.grid import tidy
from reproduction.grid.config import load_config
from reproduction.jobs import collect, report
from reproduction.verdicts import published
from tests.workflow.project import ROOT

KAPPAS = {"idca": [0.15, 0.1, 0.07, 0.03, 0.01], "group_auc": [4, 2, 1, 0.1], "inter_group": [5, 3]}
# fairness and accuracy of the runs, loosest first
RUNS = {
    "unconstrained": [(0.78, 0.80)],
    "idca": [(0.86, 0.81), (0.91, 0.806), (0.934, 0.804), (0.97, 0.80), (0.99, 0.79)],
    "group_auc": [(0.81, 0.79), (0.84, 0.791), (0.92, 0.786), (0.94, 0.69)],
    "inter_group": [(0.82, 0.79), (0.87, 0.75)],
}


def params():
    run = {"interval": [[0.2, 0.4]], "algorithms": {"unconstrained": ["inf"], **KAPPAS}}
    experiment = {
        "title": "Parity", "paper": "partial_fairness", "constraint": "partial_statistical_parity",
        "kappa_scale": "absolute", "runs": {"acs_income": run},
    }  # fmt: skip
    table = {
        "kind": "levels", "title": "Table 2", "caption": "PlotStyle.", "experiments": ["acs"],
        "tolerance": {"accuracy": 0.01, "fairness": 0.05},
    }  # fmt: skip
    return {"seeds": [0, 1], "experiments": {"acs": experiment}, "exhibits": {"table2": table}}


def project(root, test_shift=0.0):
    """Write params.yaml and tables; test fairness differs from that on validation rows by ``test_shift``."""
    (root / "papers").symlink_to(ROOT / "papers")
    (root / "params.yaml").write_text(yaml.safe_dump(params()))
    config = load_config(root / "params.yaml")
    metric_rows, run_rows = [], []
    for job in config.jobs("acs"):
        key = collect._key(job, {"constraint": "partial_statistical_parity", "interval": [[0.2, 0.4]]})
        place = KAPPAS.get(job.algorithm, [job.kappa]).index(job.kappa)
        fairness, accuracy = RUNS[job.algorithm][place]
        for split in ("validation", "test"):
            shifted = fairness + (test_shift if split == "test" else 0.0)
            for metric in names():
                value = {"rank_gap": 1 - shifted, "accuracy": accuracy, "sp": 0.9}.get(metric, 0.1)
                value = None if np.isnan(value) else value + 0.0005 * (-1) ** job.seed
                metric_rows.append(key | {"status": "ok", "split": split, "metric": metric, "value": value})
        run_rows.append(key | {"status": "ok"} | synthetic.run_facts(job.seed))
    collect._write(root / "reports/acs/metrics.parquet", metric_rows, tidy.METRIC_COLUMNS)
    collect._write(root / "reports/acs/runs.parquet", run_rows, tidy.RUN_COLUMNS)
    return config


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    root = tmp_path_factory.mktemp("levels")
    return exhibit.context(project(root), "table2", root)


def row(algorithm, setting, metric="psp_fairness"):
    rows = published.exhibit_numbers("partial_fairness", "table2", ROOT)
    return next(r for r in rows if (r.algorithm, r.setting, r.metric) == (algorithm, setting, metric))


class TestAssign:
    def test_each_takes_the_nearest(self):
        assert levels.assign([0.8, 0.9, 0.95], [0.96, 0.5, 0.79, 0.91]) == [2, 3, 0]

    def test_no_run_stands_for_two_levels(self):
        # Both are nearest to .85; together they are nearer with .85 for the second.
        assert levels.assign([0.80, 0.86], [0.85, 0.70]) == [1, 0]

    def test_fewer_runs_than_levels(self):
        assert levels.assign([0.8, 0.9, 0.95], [0.9]) == [None, 0, None]
        assert levels.assign([0.8], []) == [None] and levels.assign([], [0.8]) == []

    def test_is_the_best_of_all_assignments(self):
        from itertools import permutations

        rng = np.random.default_rng(0)
        for _ in range(20):
            first, second = rng.random(4), rng.random(5)
            found = levels.assign(first, second)
            best = min(sum(abs(first - second[list(p)])) for p in permutations(range(5), 4))
            assert sum(abs(first - second[found])) == pytest.approx(best)


class TestMatching:
    def test_every_level_has_the_nearest_run(self, context):
        found = [levels.setting_of(context, row("idca", f"row={i}")) for i in (1, 2, 3, 4)]
        assert [(s.algorithm, s.kappa) for s in found] == [("idca", k) for k in (0.15, 0.1, 0.07, 0.03)]

    def test_a_number_of_training_rows_takes_no_run(self, context, monkeypatch):
        rows = published.exhibit_numbers("partial_fairness", "table2", ROOT)
        of_training = replace(row("idca", "row=1"), split="train", setting="row=9", value=0.91)
        monkeypatch.setattr(published, "exhibit_numbers", lambda *_: (of_training, *rows))
        assert levels.setting_of(context, row("idca", "row=2")).kappa == 0.1
        lines = list(levels.csv_lines(context))
        assert (
            lines[0]["verdict"] == "not run"
            and "train rows" in lines[0]["note"]
            and len(levels.table(context, lines).rows) == len(rows) // 2
        )

    def test_both_numbers_of_a_level_come_from_one_run(self, context):
        for algorithm in ("idca", "group_auc"):
            for i in (1, 2, 3, 4):
                pair = {levels.setting_of(context, row(algorithm, f"row={i}", m)) for m in ("psp_fairness", "accuracy")}
                assert len(pair) == 1

    def test_test_rows_do_not_choose(self, context, tmp_path):
        shifted = exhibit.context(project(tmp_path, test_shift=-0.06), "table2", tmp_path)
        for i in (1, 2, 3, 4):
            assert levels.setting_of(shifted, row("idca", f"row={i}")) == levels.setting_of(
                context, row("idca", f"row={i}")
            )

    def test_unconstrained(self, context):
        assert levels.setting_of(context, row("unconstrained", "unconstrained")).algorithm == "unconstrained"


class TestScorecard:
    def test_every_published_number_has_a_line(self, context):
        lines = [line for line in answers.scorecard_lines(context.config, context.root) if line["exhibit"] == "table2"]
        lines = [line for line in lines if line["kind"] == "number"]
        assert len(lines) == len(published.exhibit_numbers("partial_fairness", "table2", ROOT)) == 34
        verdicts = {(line["algorithm"], line["setting"], line["metric"]): line for line in lines}
        line = verdicts["idca", "row=2", "psp_fairness"]
        assert line["verdict"] == "agrees" and line["reproduced"] == pytest.approx(0.91, abs=1e-3)
        assert "kappa 0.1 (the nearest fairness on validation rows)" in line["note"]
        assert verdicts["group_auc", "row=4", "accuracy"]["verdict"] == "differs"  # .69 against .6667

    def test_too_few_runs_and_no_runs_are_said(self, context):
        lines = {(e["algorithm"], e["setting"]): e for e in levels.csv_lines(context) if e["metric"] == "accuracy"}
        assert lines["intra_group", "row=1"]["note"] == "no run of intra_group on acs_income in acs has a result"
        missing = [e for (name, _), e in lines.items() if name == "inter_group" and e["verdict"] == "not run"]
        assert len(missing) == 2 and "fewer runs of inter_group" in missing[0]["note"]


class TestTable:
    def test_layout(self, context):
        table = levels.table(context, list(levels.csv_lines(context)))
        texts = [[cell.text for cell in line] for line in table.rows]
        assert len(texts) == 17 and len({len(line) for line in texts}) == 1
        assert texts[1][:5] == ["IDCA", "level 1", "IDCA", "0.15", "0.8660"]
        assert texts[2][0] == "" and texts[5][0] == "Group AUC"
        assert len(table.breaks) == 5

    def test_written_numbers(self, context, tmp_path):
        paths = report.render_exhibit(context.config, "table2", tmp_path, context.root)
        assert {path.name for path in paths} == {"table2.csv", "table2.html"}
        with (tmp_path / "table2.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == 34
        one = next(r for r in rows if (r["algorithm"], r["setting"], r["metric"]) == ("idca", "row=1", "psp_fairness"))
        assert (one["run_algorithm"], one["kappa"], one["published"]) == ("idca", "0.15", "0.866")
        page = (tmp_path / "table2.html").read_text()
        assert f"{float(one['reproduced']):.4f} ± {float(one['half_width']):.4f}" in page

    def test_nothing_has_run(self, context, tmp_path):
        (tmp_path / "papers").symlink_to(ROOT / "papers")
        report.render_exhibit(context.config, "table2", tmp_path / "out", tmp_path)
        frame = pd.read_csv(tmp_path / "out/table2.csv")
        assert set(frame["verdict"]) == {"not run"} and frame["note"].notna().all()
