"""Verdicts follow the numbers, every published number has a line, and every line a reason."""

import csv
import math

import pandas as pd
import pytest
import synthetic

from partialfair.errors import ConfigError
from partialfair.grid import config as configuration
from partialfair.jobs import report
from partialfair.jobs import scorecard as scorecard_job
from partialfair.reporting import answers, exhibit
from partialfair.verdicts import published, scorecard
from tests.workflow.project import ROOT


@pytest.fixture(scope="module")
def lines(project):
    """Lines of published numbers; claims in words are tested in test_claims.py."""
    root, config = project
    return [line for line in answers.lines(config, root) if not line.get("claim")]


def find(lines, **values):
    found = [line for line in lines if all(line[name] == value for name, value in values.items())]
    assert len(found) == 1, found
    return found[0]


class TestVerdict:
    @pytest.mark.parametrize(
        ("reproduced", "tolerance", "expected"),
        [
            (0.8499, 0.01, "reproduced"),
            (0.8399, 0.01, "reproduced"),  # exactly at the tolerance
            (0.8398, 0.01, "differs"),
            (0.8601, 0.01, "differs"),
            (None, 0.01, "not run"),
            (math.nan, 0.01, "not run"),
            (0.8499, None, "not run"),
        ],
    )
    def test_rule(self, reproduced, tolerance, expected):
        assert scorecard.verdict(reproduced, 0.8499, tolerance) == expected


class TestLines:
    def test_every_published_number_has_one_line(self, lines):
        papers = [line for line in lines if not line["metric"].startswith("1 - ")]
        keys = [tuple(line[name] for name in scorecard.COLUMNS[:8]) for line in papers]
        expected = [
            tuple(getattr(row, n) for n in scorecard.COLUMNS[:8]) for row in published.load("partial_fairness", ROOT)
        ]
        assert keys == expected

    def test_reproduced_number(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0.05-0.3", setting="row=2", metric="accuracy")
        assert line["verdict"] == "reproduced" and line["tolerance"] == 0.01
        assert line["reproduced"] == pytest.approx(line["published"], abs=0.005)
        assert line["ci_low"] < line["reproduced"] < line["ci_high"]
        assert line["note"].startswith("accuracy of psp, kappa 0.2; difference ") and "3 seeds" in line["note"]

    def test_tolerance_by_dataset(self, lines):
        pairs = {
            line["dataset"]: line["tolerance"]
            for line in lines
            if line["exhibit"] == "table4" and "fairness" in line["metric"]
        }
        assert pairs["a9a"] == 0.05 and pairs["law_school"] == 0.1

    def test_failed_seeds_are_explained(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0.05-0.3", setting="row=5", metric="accuracy")
        assert line["verdict"] == "not run" and line["note"] == "3 of 3 seeds without a value: no feasible point"
        line = find(lines, exhibit="table3", dataset="law_school", interval="0.7-1", setting="row=4", metric="accuracy")
        assert line["verdict"] == "reproduced"
        assert "1 of 3 seeds without a value: no feasible point" in line["note"] and "over 2 seeds" in line["note"]

    def test_what_no_experiment_covers_is_not_run(self, lines):
        bank = [line for line in lines if line["dataset"] == "bank" and line["exhibit"] in {"table3", "table4"}]
        assert {line["verdict"] for line in bank} == {"not run"}
        assert all("no run of" in line["note"] for line in bank)
        table2 = [line for line in lines if line["exhibit"] == "table2"]
        assert {(line["verdict"], line["note"]) for line in table2} == {
            ("not run", "no exhibit of params.yaml covers it")
        }

    def test_full_range_rows_come_from_the_full_range_experiment(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0-1", setting="row=1", metric="psp_fairness")
        assert line["note"].startswith("1 - rank_gap of psp_full, kappa 0.28")
        line = find(lines, exhibit="table4", dataset="a9a", setting="kappa=0.1;grid=20", metric="psp_fairness")
        assert line["note"].startswith("1 - rank_gap of psp_grid20, kappa 0.1")

    def test_finding_holds_published_fairness_against_the_definition(self, lines):
        finding = [line for line in lines if line["exhibit"] == "kappa_scale"]
        assert {line["metric"] for line in finding} == {"1 - sp"}
        line = next(
            e for e in finding if e["dataset"] == "a9a" and e["setting"] == "table3: row=3" and e["interval"] != "0-1"
        )
        assert line["published"] == 0.8732 and line["verdict"] == "differs"
        assert "absolute convention" in line["note"]


def test_verdict_changes_with_the_number(tmp_path):
    config = synthetic.project(tmp_path)
    place = {"exhibit": "table3", "dataset": "a9a", "interval": "0.05-0.3", "setting": "row=1", "metric": "accuracy"}
    assert find(answers.lines(config, tmp_path), **place)["verdict"] == "reproduced"
    path = tmp_path / "reports/psp/metrics.parquet"
    table = pd.read_parquet(path)
    chosen = (table["dataset"] == "a9a") & (table["algorithm"] == "idca") & (table["kappa"] == 0.28)
    table.loc[chosen & (table["metric"] == "accuracy"), "value"] -= 0.02
    table.to_parquet(path)
    assert find(answers.lines(config, tmp_path), **place)["verdict"] == "differs"


def test_written_file_has_the_contract_columns(project, tmp_path):
    root, config = project
    lines = answers.lines(config, root)
    path = scorecard_job.write_scorecard(config, tmp_path, root)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == scorecard.COLUMNS and len(rows) == len(lines)
    assert {row["verdict"] for row in rows} <= set(scorecard.VERDICTS)
    found = scorecard.counts(lines)
    assert found == {name: sum(row["verdict"] == name for row in rows) for name in scorecard.VERDICTS}
    assert sum(found.values()) == len(rows)


class TestRefusals:
    def test_unknown_exhibit(self, project):
        root, config = project
        with pytest.raises(ConfigError, match="unknown exhibit 'figure2'; did you mean 'figure1'"):
            report.render_exhibit(config, "figure2", root=root)

    def test_unknown_kind(self, tmp_path):
        content = synthetic.params()
        content["exhibits"] = {"figure1": {"kind": "scater", "title": "x", "experiments": ["psp"]}}
        config = synthetic.project(tmp_path, content)
        with pytest.raises(
            ConfigError, match=r"exhibits\.figure1\.kind: unknown kind 'scater'; did you mean 'scatter'"
        ):
            report.render_exhibit(config, "figure1", root=tmp_path)


def test_exhibits_of_the_shipped_grid_have_known_kinds_titles_and_captions():
    from pathlib import Path

    path = Path(__file__).parents[2] / "params.yaml"
    config = configuration.load_config(path)
    assert {"figure1", "table1", "table3", "table4"} <= set(config.params.exhibits)
    for name, entry in config.params.exhibits.items():
        assert exhibit.kind_of(config, name) in exhibit.kind(entry.kind).values()
        assert entry.title and entry.model_dump()["caption"]
    # The tolerances stated with the published bands.
    context = exhibit.context(config, "table3", path.parent)
    assert context.tolerance("accuracy", "a9a") == 0.01
    assert [context.tolerance("psp_fairness", name) for name in ("a9a", "bank", "law_school")] == [0.05, 0.1, 0.1]
