"""The harness: what a result is, which figures there are, and what is written of them."""

import ast
import csv
import importlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import bench_idca, bench_paper_grid, plot, run, store
from tests.benchmarks.common import ROOT, Result, exponent, rates, result
from tests.benchmarks.peers import Rows

BENCHES = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))


@pytest.fixture
def results() -> list[Result]:
    curve = [(10.0, 1.0), (100.0, 11.0), (1000.0, 98.0)]
    return [
        result("extra", 3.0, "times", None, "an extra"),
        result("alm_vs_idca_time", 60.0, "times", ">= 50", "measured"),
        result("acs_fit_seconds", 70.0, "s", "<= 60", "measured"),
        result("rows_growth_exponent", exponent(curve), "", "<= 1.2", "measured", curve, "rows"),
        result("paper_grid_minutes", math.nan, "min", "<= 60", "skipped"),
    ]


@pytest.mark.parametrize(
    ("value", "target", "valid", "holds"),
    [
        (5.0, ">= 5", True, True),
        (4.9, ">= 5", True, False),
        (60.0, "<= 60", True, True),
        (60.1, "<= 60", True, False),
        (9.0, ">= 5", False, False),
        (9.0, None, True, None),
        (math.nan, "<= 60", True, None),
    ],
)
def test_holds_follows_from_value_target_and_validity(value, target, valid, holds):
    assert result("id", value, "s", target, "how", valid=valid).holds is holds


def test_every_benchmark_can_be_run_without_arguments():
    for name in BENCHES:
        run = importlib.import_module(f"tests.benchmarks.{name}").run
        assert run.__module__ == f"tests.benchmarks.{name}", f"{name}.run is that of another module"


def test_every_figure_of_the_project_is_measured_by_some_benchmark():
    source = "".join((ROOT / "tests/benchmarks" / f"{name}.py").read_text() for name in BENCHES)
    for id_ in store.HEADLINES:
        assert f'"{id_}"' in source, f"no benchmark measures {id_}"
    assert set(store.HEADLINES) == set(store.MEANING)
    assert set(store.HEADLINES) <= set(plot.SHORT)


def declared_targets() -> dict[str, str]:
    """The target that stands beside a figure's name in the statement of a benchmark that names both."""
    found = {}
    for name in BENCHES:
        tree = ast.parse((ROOT / "tests/benchmarks" / f"{name}.py").read_text())
        for statement in (node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.Expr | ast.Return)):
            texts = [node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)]
            ids = [text for text in texts if text in store.HEADLINES]
            targets = [text for text in texts if isinstance(text, str) and re.fullmatch(r"[<>]= [\d.]+", text)]
            if len(ids) == len(targets) == 1:
                found[ids[0]] = targets[0]
    return found


def test_stored_results_are_held_against_the_targets_of_today():
    """A stored row keeps the target it was measured under; one that has changed since must be measured again."""
    stored = {id_: row["target"] for id_, row in store.read(ROOT / "reports/benchmarks.json").items()}
    declared = declared_targets()
    assert declared.keys() >= {"job_overhead_seconds", "dry_run_seconds", "dry_run_20000_seconds", "verify_seconds"}
    assert {id_: stored[id_] for id_ in declared if id_ in stored} == {i: t for i, t in declared.items() if i in stored}


def test_stored_results_follow_the_schema():
    stored = json.loads((ROOT / "reports/benchmarks.json").read_text())
    assert len({row["id"] for row in stored}) == len(stored)
    for row in stored:
        assert set(row) == {*store.KEYS, "machine"}
        assert row["how"] and row["machine"]
        again = result(row["id"], math.nan if row["value"] is None else row["value"], row["unit"], row["target"], "")
        assert row["holds"] in (again.holds, False), row["id"]  # an invalid comparison does not hold at any value
        if row["target"] is None or row["value"] is None:
            assert row["holds"] is None


def test_the_page_and_the_readme_lead_to_the_figures():
    page = (ROOT / "docs/benchmarks.md").read_text()
    assert all(mark in page for mark in store.MARKS)
    assert all(f"`{id_}`" in page for id_ in store.HEADLINES)
    assert (
        "reports/benchmarks.json" in page and "benchmarks.png" not in page
    )  # the picture is for who works on the solvers
    assert "docs/benchmarks.md" in (ROOT / "README.md").read_text()


def test_files_are_complete_and_a_partial_run_keeps_the_others(results, tmp_path):
    path = tmp_path / "benchmarks.json"
    content = store.rows(results, "a machine")
    store.write(path, content)
    store.write_csv(path.with_suffix(".csv"), content, results)
    stored = json.loads(path.read_text())
    assert [row["id"] for row in stored][-1] == "extra"  # the project's figures come first
    assert store.read(path)["paper_grid_minutes"]["value"] is None
    newer = [result("alm_vs_idca_time", 40.0, "times", ">= 50", "measured again")]
    content = store.read(path) | store.rows(newer, "a machine")
    store.write(path, content)
    store.write_csv(path.with_suffix(".csv"), content, newer)
    assert store.read(path)["alm_vs_idca_time"]["holds"] is False
    assert len(store.read(path)) == len(results)
    with path.with_suffix(".csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [float(row["x"]) for row in lines if row["x"]] == [10, 100, 1000]
    assert {row["id"] for row in lines} == {one.id for one in results}


def test_table_says_yes_no_and_not_measured(results, tmp_path):
    text = store.table(store.rows(results, "a machine"))
    assert "| 60 times | >= 50 | yes |" in text
    assert "| 70 s | <= 60 | no |" in text
    assert re.search(r"paper's grid.*\| `paper_grid_minutes` \| not measured \| <= 60 \|  \|", text)
    page = tmp_path / "page.md"
    page.write_text("before\n" + "\nstale\n".join(store.MARKS) + "\nafter\n")
    for _ in range(2):
        store.write_table(page, store.rows(results, "a machine"))
    assert page.read_text().count("| 60 times |") == 1
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")
    assert "stale" not in page.read_text()
    page.write_text("no marks")
    with pytest.raises(ValueError, match="no lines"):
        store.write_table(page, store.rows(results, "a machine"))


def test_picture_is_drawn(results, tmp_path):
    path = tmp_path / "benchmarks.json"
    content = store.rows(results, "a machine")
    store.write(path, content)
    store.write_csv(path.with_suffix(".csv"), content, results)
    plot.draw(path, path.with_suffix(".png"))
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert plot.margin(content["alm_vs_idca_time"]) == pytest.approx(1.2)
    assert plot.margin(content["acs_fit_seconds"]) == pytest.approx(60 / 70)


def test_exponent_of_a_power_law():
    assert exponent([(x, 3 * x**1.3) for x in (10, 100, 1000)]) == pytest.approx(1.3)


def test_rates_are_per_unit_and_alternate():
    calls = []
    found = rates((lambda: calls.append("a"), 1), (lambda: calls.append("b"), 10), repeats=2)
    assert calls == list("abABAB".lower())
    assert len(found) == 2


def test_accuracy_and_gap_of_peers():
    rows = Rows(np.zeros((4, 1)), np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1]))
    assert rows.accuracy(np.array([1.0, 0.0, 0.5, 0.0])) == pytest.approx(3.5 / 4)
    assert rows.gap(np.array([1.0, 1.0, 0.5, 0.0])) == pytest.approx(0.75)


def test_paper_grid_is_skipped_without_runs_and_counts_what_is_missing(tmp_path, monkeypatch):
    config = bench_paper_grid.load_config(ROOT / "params.yaml")
    none = bench_paper_grid.measure(tmp_path, config)
    assert math.isnan(none.value) and none.holds is None and "skipped" in none.how
    job = bench_paper_grid.jobs(config)[0]
    (tmp_path / job.path).mkdir(parents=True)
    (tmp_path / job.path / "fit.json").write_text(json.dumps({"time": {"cpu_seconds": 120.0}}))
    (tmp_path / job.path / "metrics.json").write_text("{}")
    monkeypatch.setattr(bench_paper_grid, "evaluation_seconds", lambda *_: 60.0)
    monkeypatch.setattr(bench_paper_grid, "jobs", lambda config: [job])
    assert bench_paper_grid.measure(tmp_path, config).value == pytest.approx(1.5)
    other = config.job(job.experiment, job.dataset, job.algorithm, job.kappa_text, job.seed + 1)
    monkeypatch.setattr(bench_paper_grid, "jobs", lambda config: [job, other])
    partial = bench_paper_grid.measure(tmp_path, config)
    assert partial.holds is False and "1 runs are missing" in partial.how


def test_a_run_writes_all_files_and_names_missed_targets(results, tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/benchmarks.md").write_text("\n".join(store.MARKS) + "\n")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(bench_idca, "run", lambda: results)
    assert run.main(["idca"]) == 0
    assert "targets missed: acs_fit_seconds\n" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {
        f"benchmarks.{end}" for end in ("json", "csv", "png")
    }
    assert "| 60 times |" in (tmp_path / "docs/benchmarks.md").read_text()
    assert run.main(["nonsense"]) == 2
    assert "no benchmark bench_nonsense; choose from bench_acs" in capsys.readouterr().err
