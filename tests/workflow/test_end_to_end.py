"""The real workflow on a tiny grid: what it builds, and what it builds again after which change."""

import copy
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from tests.workflow.project import TINY, Project, edit, make_project

pytestmark = [pytest.mark.slow, pytest.mark.long(suite="entries")]

TRAINED = "data/runs/demo/simulated"
SEEDS = {"seed=0", "seed=1"}
RUNS = {
    f"{setting}/{seed}" for setting in ("unconstrained/kappa=inf", "idca/kappa=0.2", "alm/kappa=0.2") for seed in SEEDS
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A scratch project after one run of everything."""
    project = make_project(tmp_path_factory.mktemp("workflow") / "project")
    project.snakemake("demo")
    return project


@contextmanager
def temporarily(path: Path) -> Iterator[Path]:
    """Put a file back as it was, whatever happens to it."""
    before = path.read_bytes()
    try:
        yield path
    finally:
        path.write_bytes(before)


def params(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(TINY), **changes}


def test_everything_is_built(built: Project):
    folder = built.folder
    for run in RUNS:
        files = {path.name for path in (folder / "data/runs/demo/simulated" / run).iterdir()}
        assert files == {"model.npz", "fit.json", "history.parquet", "scores.parquet", "metrics.json", "model_card.md"}
        assert (folder / "logs/train/demo/simulated" / f"{run}.log").exists()
        assert (folder / "logs/benchmarks/train/demo/simulated" / f"{run}.tsv").exists()
    metrics = pq.read_table(folder / "reports/demo/metrics.parquet").to_pylist()
    assert {row["seed"] for row in metrics} == {0, 1}
    assert {row["algorithm"] for row in metrics} == {"unconstrained", "idca", "alm"}
    assert {row["status"] for row in metrics} <= {"ok", "tolerance missed"}
    reports = {path.relative_to(folder / "reports").as_posix() for path in (folder / "reports").rglob("*.*")}
    assert {"demo/index.html", "demo/scorecard.csv", "demo/runs.parquet", "tradeoff/tradeoff.csv"} <= reports
    fit = json.loads((folder / "data/runs/demo/simulated/alm/kappa=0.2/seed=0/fit.json").read_text())
    assert (fit["status"] == "ok") == (fit["certificate"]["true_violation"] <= 1e-4)
    assert (fit["kappa"], fit["grid"]) == (0.2, 4)


def test_snakemake_report(built: Project):
    """Captions, categories and every exhibit are in one file that loads nothing from elsewhere."""
    built.snakemake("--allowed-rules", "exhibit_page", "demo_pages", "--", "demo_pages")
    built.snakemake("--report", "report.html", "demo_pages")
    text = (built.folder / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=[\"']https?:", text)
    results = [unquote(name) for name in re.findall(r'"name": ?"([^"]+)"', text)]
    assert {"tradeoff.html", "scorecard.csv", "index.html"} <= set(results)
    for words in (
        "Overview",
        "Enforcing Fair Predicted Scores on Intervals",
        "with rank_gap, |differences| and stars*",
    ):
        assert words in text, words


def test_nothing_is_left_to_do(built: Project):
    assert not built.planned("demo")


def test_summary_is_printed(built: Project):
    done = built.run("env", "PYTHONPATH=src", "python", "-m", "partialfair", "summary", "demo")
    assert done.stdout.splitlines()[-1] == "page: reports/demo/index.html"
    assert done.stdout.count("simulated ") == 3 and len(done.stdout.splitlines()) <= 10


def test_a_comment_reruns_nothing(built: Project):
    with temporarily(built.folder / "src/partialfair/kernels/row_sums.py") as path:
        path.write_text(path.read_text() + "\n# a remark\n")
        assert not built.planned("demo")


@pytest.mark.parametrize(
    ("module", "runs"),
    [
        ("algorithms/linear/alm.py", {run for run in RUNS if run.startswith("alm")}),
        ("algorithms/linear/unconstrained.py", {run for run in RUNS if run.startswith("unconstrained")}),
        ("kernels/pointwise.py", RUNS),
        ("../../papers/cross_paper/datasets/bank.py", set()),
        ("constraints/partial_rates.py", set()),
    ],
)
def test_an_edit_of_source_retrains_its_closure(built: Project, module: str, runs: set[str]):
    with temporarily(built.folder / "src/partialfair" / module) as path:
        path.write_text(path.read_text() + "\nADDED = 1\n")
        assert built.planned_training() == runs


def test_an_edit_of_a_metric_evaluates_but_does_not_train(built: Project):
    with temporarily(built.folder / "src/partialfair/metrics/pairwise.py") as path:
        path.write_text(path.read_text() + "\nADDED = 1\n")
        planned = built.planned("demo")
    assert (planned["evaluate"], planned["collect"], planned["exhibit"]) == (len(RUNS), 1, 1)
    assert planned["train"] == planned["prepare"] == planned["split"] == 0


def test_an_edit_of_the_reporting_draws_only(built: Project):
    with temporarily(built.folder / "src/reproduction/exhibits/kinds/scatter.py") as path:
        path.write_text(path.read_text() + "\nADDED = 1\n")
        assert built.planned("demo") == {"exhibit": 1, "experiment_scorecard": 1}


def test_a_table_that_comes_out_the_same_retrains_nothing(built: Project):
    """Snakemake by itself takes all that reads a table for outdated once the table is made again."""
    models = [built.folder / TRAINED / run / "model.npz" for run in RUNS]
    before = [path.stat().st_mtime_ns for path in models]
    command = ("env", "PYTHONPATH=src", sys.executable, "-m", "partialfair", "run", "demo", "--cores", "2")
    with temporarily(built.folder / "src/reproduction/datasets/simulated.py") as path:
        path.write_text(path.read_text() + "\nADDED = 1\n")
        assert built.planned("demo")["train"] == len(RUNS)
        done = built.run(*command)
        assert "first 3 tables or splits of other code" in done.stderr
        assert not built.planned("demo")
    built.run(*command)
    assert [path.stat().st_mtime_ns for path in models] == before and not built.planned("demo")


def test_a_changed_setting_retrains_that_algorithm(built: Project):
    with temporarily(built.folder / "params.yaml"):
        algorithms = {**TINY["algorithms"], "alm": {"tolerance": 0.002}}
        built.write_params(params(algorithms=algorithms))
        assert built.planned_training() == {run for run in RUNS if run.startswith("alm")}


def test_an_added_seed_runs_alone(built: Project):
    with temporarily(built.folder / "params.yaml"):
        built.write_params(params(seeds=[0, 1, 2]))
        assert built.planned_training() == {run.replace("seed=0", "seed=2") for run in RUNS if "seed=0" in run}
        planned = built.planned("demo")
    assert (planned["prepare"], planned["split"], planned["evaluate"], planned["collect"]) == (0, 1, 3, 1)


def test_an_added_kappa_runs_alone(built: Project):
    content = params()
    content["experiments"]["demo"]["runs"]["simulated"]["algorithms"]["alm"] = [0.2, 0.05]
    with temporarily(built.folder / "params.yaml"):
        built.write_params(content)
        assert built.planned_training() == {"alm/kappa=0.05/seed=0", "alm/kappa=0.05/seed=1"}


def test_bootstrap_settings_do_not_retrain(built: Project):
    with temporarily(built.folder / "params.yaml"):
        built.write_params(params(bootstrap={"replicates": 10, "level": 0.9}))
        planned = built.planned("demo")
    assert planned["evaluate"] == len(RUNS)
    assert planned["train"] == 0


def test_another_configuration_file_can_be_named(built: Project):
    other = built.folder / "other.yaml"
    built.write_params(params())
    (built.folder / "params.yaml").replace(other)
    try:
        assert not built.planned("demo", "--config", "params=other.yaml")
    finally:
        other.replace(built.folder / "params.yaml")


def test_a_mistake_in_the_grid_stops_the_workflow_with_a_sentence(built: Project):
    with temporarily(built.folder / "params.yaml") as path:
        edit(path, "grid: 4", "gird: 4")
        done = built.snakemake("--dry-run", "demo", check=False)
    assert done.returncode != 0
    assert "experiments.demo.gird: unknown key; did you mean 'grid'?" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_two_runs_give_the_same_bytes(built: Project):
    run = built.folder / "data/runs/demo/simulated/alm/kappa=0.2/seed=0"
    before = {name: (run / name).read_bytes() for name in ("metrics.json", "model.npz", "scores.parquet")}
    target = f"{run.relative_to(built.folder)}/metrics.json"
    built.snakemake(target, "--forcerun", "train", "evaluate")
    assert {name: (run / name).read_bytes() for name in before} == before
