"""The last line of a run: how it differs from the committed results."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.errors import DataError
from reproduction.jobs.summary import LABELS, _against_committed, _faults, _note, read, summary
from reproduction.site.project import Project
from tests.workflow.project import ROOT

PLACE = Path("reports/demo/metrics.parquet")


@pytest.fixture
def table(tmp_path):
    """A committed table of four values, one of them not estimable, in a repository of its own."""
    rows = [("idca", "simulated", "0.1-0.4", 0.1, metric, 0, "test") for metric in ("accuracy", "dp", "sp", "gauc")]
    frame = pd.DataFrame(rows, columns=LABELS).assign(value=[0.8, 0.1, 0.2, np.nan])
    tmp_path.joinpath(PLACE).parent.mkdir(parents=True)
    frame.to_parquet(tmp_path / PLACE)
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*settings, "commit", "-q", "-m", "results"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return frame


def said(folder, frame):
    frame.to_parquet(folder / PLACE)
    return _against_committed(folder, PLACE, "value", "value")


def test_the_same_values_in_another_order_are_the_same(table, tmp_path):
    assert said(tmp_path, table.iloc[::-1]) == "same as the committed results"


def test_what_differs_most_is_named(table, tmp_path):
    table["value"] += [0.0, 1e-3, -2e-3, 0.0]
    line = "committed results: 2 of 4 values differ, at most by 0.002 (idca at 0.1, sp)"
    assert said(tmp_path, table) == line


def test_a_value_that_is_there_in_one_alone_differs(table, tmp_path):
    table.loc[3, "value"] = 0.5
    assert said(tmp_path, table) == "committed results: 1 of 4 values differ, at most by inf (idca at 0.1, gauc)"


def test_other_rows_and_no_committed_table_are_told(table, tmp_path):
    assert said(tmp_path, table.iloc[:3]) == f"committed results: 4 values in {PLACE}, now 3"
    assert said(tmp_path, table.assign(kappa=0.2)) == f"committed results: those in {PLACE} are of other settings"
    assert _against_committed(tmp_path, Path("reports/none.parquet"), "value", "value").endswith("to compare with")


def test_tables_without_rows_are_the_same(table, tmp_path, monkeypatch):
    empty = table.iloc[:0].to_parquet()
    monkeypatch.setattr("reproduction.jobs.summary.git", lambda *_, **__: empty)
    assert said(tmp_path, table.iloc[:0]) == "same as the committed results"


def test_an_edited_status_is_no_committed_result(tmp_path: Path) -> None:
    folder = tmp_path / "reports/demo"
    shutil.copytree(ROOT / "reports/demo", folder)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*settings, "commit", "-q", "-m", "results"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert read(ROOT / "params.yaml", "demo", tmp_path)["committed"] == "same as the committed results"
    runs = pd.read_parquet(folder / "runs.parquet")
    runs.assign(status="ok").to_parquet(folder / "runs.parquet")
    changed = int((runs["status"] != "ok").sum())
    line = f"committed results: {changed} of {len(runs)} runs differ in their status"
    assert changed and read(ROOT / "params.yaml", "demo", tmp_path)["committed"] == line


@pytest.mark.parametrize("table", ["metrics.parquet", "runs.parquet"])
@pytest.mark.parametrize("damage", ["truncated", "without a column"])
def test_a_damaged_table_is_told_with_what_brings_it_back(tmp_path: Path, table: str, damage: str) -> None:
    shutil.copytree(ROOT / "reports/demo", tmp_path / "reports/demo")
    path = tmp_path / "reports/demo" / table
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:3000])
    else:
        pd.read_parquet(path).drop(columns="kappa").to_parquet(path)
    with pytest.raises(DataError, match=rf"{table}: it .*; `git checkout .*{table}` brings .* `partialfair run demo`"):
        read(ROOT / "params.yaml", "demo", tmp_path)


def test_damaged_verdicts_are_told_with_what_brings_them_back(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/verdicts.json").write_text("[]")
    with pytest.raises(DataError, match=r"verdicts.json: it is not what a scorecard writes; `git checkout"):
        _ = Project(tmp_path, ROOT / "params.yaml").verdicts


def test_an_experiment_takes_ten_lines_and_names_no_fault_that_did_not_happen():
    lines = list(summary(ROOT / "params.yaml", "psp", ROOT))
    found = read(ROOT / "params.yaml", "psp", ROOT)
    settings = found["settings"]
    assert len(lines) <= 10 and f"and {len(settings) - 6} more settings" in lines[-3]
    assert not any(" 0 " in line for line in lines)
    assert _faults([{"statuses": {}}], ", ") == ""
    assert _faults([{"statuses": {"failed": 1}}, {"statuses": {"failed": 2}}], ", ") == ", 3 failed"
    found_none = {"statuses": {"not_applicable": 3}}
    assert _faults([found_none], ", ") == ", 3 of a method that does not apply (fit.json says why)"
    others = {"infeasible": 1, "not stationary": 2, "not_run": 4}
    assert _faults([{"statuses": others}], ", ") == ", 1 infeasible, 2 not stationary, 4 not run"
    runs = pd.read_parquet(ROOT / "reports/psp/runs.parquet")
    missed = int((runs["status"] == "tolerance missed").sum())
    assert missed == sum(entry["statuses"].get("tolerance missed", 0) for entry in settings) > 0
    test = pd.read_parquet(ROOT / "reports/psp/metrics.parquet").query("split == 'test' and metric == 'accuracy'")
    first = test[(test[["dataset", "algorithm"]] == [settings[0]["dataset"], settings[0]["algorithm"]]).all(axis=1)]
    kappa = np.inf if settings[0]["kappa"] is None else settings[0]["kappa"]
    assert settings[0]["accuracy"]["mean"] == pytest.approx(first[first["kappa"] == kappa]["value"].mean())


def test_a_setting_says_by_how_much_training_exceeded_kappa_and_what_its_spread_is():
    lines = list(summary(ROOT / "params.yaml", "demo", ROOT))
    assert "mean ± standard deviation over seeds" in lines[0] and "missed" not in "".join(lines)
    runs = pd.read_parquet(ROOT / "reports/demo/runs.parquet")
    most = runs.query("algorithm == 'idca' and kappa == 0.1")["true_violation"].max()
    assert most > 1e-4
    (line,) = (line for line in lines if re.match(r"simulated +idca +0.1 ", line))
    assert line.endswith(f"3 seeds, at most {most:.2g} above kappa in training")
    met = {"statuses": {"tolerance missed": 1, "failed": 2}, "excess": -0.01}
    assert _note(met) == ", smoothed constraint not met in training, 2 failed"
    assert _note({"statuses": {}, "excess": 0.5}) == ""


def test_an_experiment_of_regression_has_its_risk_and_the_words_of_its_statuses():
    found = read(ROOT / "params.yaml", "dp_frequencies", ROOT)
    runs = pd.read_parquet(ROOT / "reports/dp_frequencies/runs.parquet")
    infeasible = int((runs["status"] == "infeasible").sum())
    assert sum(entry["statuses"].get("infeasible", 0) for entry in found["settings"]) == infeasible > 0
    assert found["qualities"] == ["risk"] and "accuracy" not in found["settings"][0]
    lines = list(summary(ROOT / "params.yaml", "dp_frequencies", ROOT))
    assert "failed" not in "".join(lines) and "10 infeasible" in lines[1] and "risk" in lines[0].split()
    places = [line.index(word) for line, word in zip(lines, ("method", *["dp_postproc"] * 6), strict=False)]
    assert len(places) == 7 and len(set(places)) == 1
    assert re.search(r"dp_communities_released +dp_postproc +0.015625 +0\.\d{4} ± 0\.\d{4}  0\.\d{4}", "\n".join(lines))


def test_the_page_is_that_of_the_grid_unless_an_experiment_is_named(tmp_path):
    """A grid of one experiment has a page of its own, as one of several has."""
    content = yaml.safe_load((ROOT / "params.yaml").read_text())
    del content["include"], content["exhibits"]
    grid = tmp_path / "mine.yaml"
    grid.write_text(yaml.safe_dump(content))
    assert read(grid, None, ROOT)["page"] == "reports/mine/index.html"
    assert read(grid, "demo", ROOT)["page"] == "reports/demo/index.html"


def test_a_page_that_is_not_there_is_not_named_as_if_it_were(tmp_path):
    shutil.copytree(ROOT / "reports/demo", tmp_path / "reports/demo", ignore=shutil.ignore_patterns("*.html"))
    for drawn, words in ((False, " (not drawn yet: partialfair run demo)"), (True, "")):
        if drawn:
            (tmp_path / "reports/demo/index.html").touch()
        assert list(summary(ROOT / "params.yaml", "demo", tmp_path))[-1] == f"page: reports/demo/index.html{words}"


def test_programs_can_read_what_came_out(monkeypatch):
    monkeypatch.chdir(ROOT)
    for words in (["summary", "psp"], ["summary"], ["verify", "psp"]):
        done = CliRunner().invoke(app, [*words, "--json"])
        found = json.loads(done.stdout)
        key = {"psp": "settings"}.get(words[-1], "papers") if words[0] == "summary" else "passed"
        assert key in found and (words[0] != "verify" or found["passed"] == (done.exit_code == 0))


def test_help_shows_every_verb_with_a_whole_sentence():
    shown = CliRunner().invoke(app, ["--help"], terminal_width=80).stdout
    verbs = [name for name in get_command(app).commands if name != "help"]
    for name in verbs:
        (line,) = (line for line in shown.splitlines() if re.match(rf"  {name} ", line))
        assert line.endswith(".") and not line.endswith("...") and len(line) <= 80
    assert "Examples:" in shown


def test_the_command_that_makes_what_is_missing_names_the_grid(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(DataError, match="missing; run `partialfair run demo` first"):
        read("params.yaml", "demo", tmp_path)
    with pytest.raises(DataError, match="run `partialfair run plada_dp --config papers/plada/grid.yaml` first"):
        read("papers/plada/grid.yaml", "plada_dp", tmp_path)
