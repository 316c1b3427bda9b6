"""The default profile makes the bytes and records that a process for each job makes, at less cost."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.project import TINY, Project, make_project

pytestmark = [pytest.mark.slow, pytest.mark.long(suite="executors")]

ALONE = ("--executor", "local")


def grid() -> dict[str, Any]:
    """The tiny grid with two tolerances, and a stochastic algorithm."""
    content = copy.deepcopy(TINY)
    content["algorithms"]["sgd"] = {"steps": 20, "records": 2, "hidden": []}
    runs = content["experiments"]["demo"]["runs"]["simulated"]
    runs["algorithms"] = {"idca": [0.2, 0.1], "sgd": ["inf"], "alm": [0.2]}
    return content


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A scratch project made by the default profile, and what Snakemake said."""
    project = make_project(tmp_path_factory.mktemp("warm") / "project", grid())
    done = project.snakemake("demo")
    return project, done.stdout + done.stderr


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same made by a process for each job."""
    project = make_project(tmp_path_factory.mktemp("alone") / "project", grid())
    project.snakemake(*ALONE, "demo")
    return project


def results(project: Project) -> dict[Path, bytes]:
    """Models, scores, metrics, tables and exhibits: everything that states no time of its own making."""
    names = ("model.npz", "metrics.json", "scores.parquet", "metrics.parquet", "table.npz", "tradeoff.csv")
    found = [path for name in names for part in ("data", "reports") for path in (project.folder / part).rglob(name)]
    return {path.relative_to(project.folder): path.read_bytes() for path in found}


def test_every_job_runs_warm(warm: tuple[Project, str]):
    _, told = warm
    made = re.search(r"Executor warm: (\d+) jobs in 1 warm processes", told)
    count = re.search(r"^total +(\d+)", told, re.MULTILINE)
    assert made and count and int(made.group(1)) == int(count.group(1)) - 1  # the target is no job
    assert "jobs run without it" not in told


def test_the_bytes_are_those_of_a_process_for_each_job(warm: tuple[Project, str], alone: Project):
    ours, theirs = results(warm[0]), results(alone)
    assert ours.keys() == theirs.keys() and len(ours) > 25
    assert [path for path in ours if ours[path] != theirs[path]] == []


def test_no_record_is_missing(warm: tuple[Project, str], alone: Project):
    def names(project: Project, folder: str) -> set[str]:
        return {path.relative_to(project.folder).as_posix() for path in (project.folder / folder).rglob("*.*")}

    for folder in ("logs/benchmarks", "logs/train"):
        assert names(warm[0], folder) == names(alone, folder)
    recorded = {path.name for path in (warm[0].folder / ".snakemake/metadata").iterdir()}
    assert recorded == {path.name for path in (alone.folder / ".snakemake/metadata").iterdir()}
    for project, switches in ((warm[0], ALONE), (alone, ())):
        done = project.snakemake("--dry-run", *switches, "demo")
        assert "Nothing to be done" in done.stdout + done.stderr
