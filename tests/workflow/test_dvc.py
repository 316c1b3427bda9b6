"""Snakemake and DVC together: audit of a finished run, and the same in a fresh clone."""

import copy
from pathlib import Path

import pytest

from tests.workflow.project import TINY, Project, make_project

pytestmark = pytest.mark.slow

STAGES = ("data", "splits", "runs", "evaluation", "report")
PARAMS = {**copy.deepcopy(TINY), "seeds": [0]}
PARAMS["experiments"]["demo"]["runs"]["simulated"]["algorithms"] = {"unconstrained": ["inf"], "alm": [0.2]}
TRAINED = "data/runs/demo/simulated"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a finished run, recorded by DVC, committed and pushed to a local remote."""
    folder = tmp_path_factory.mktemp("audit")
    project = make_project(folder / "project", PARAMS)
    without_raw = [line for line in (project.folder / "dvc.yaml").read_text().splitlines() if "data/raw/" not in line]
    (project.folder / "dvc.yaml").write_text("\n".join(without_raw) + "\n")
    for command in (
        ("git", "init", "--quiet"),
        ("git", "config", "user.name", "A. Person"),
        ("git", "config", "user.email", "person@example.org"),
        ("dvc", "init", "--quiet"),
        ("dvc", "remote", "add", "--quiet", "--default", "local", str(folder / "remote")),
    ):
        project.run(*command)
    (project.folder / ".dvcignore").write_bytes((Path(__file__).parents[2] / ".dvcignore").read_bytes())
    project.snakemake("all")
    project.run("dvc", "commit", "--force", *STAGES)
    commit(project)
    project.run("dvc", "push", "--quiet")
    return project


def commit(project: Project) -> None:
    project.run("git", "add", "--all")
    project.run("git", "commit", "--quiet", "--message", "Results")


def models(project: Project) -> dict[str, tuple[int, bytes]]:
    """Time of writing and content of every model."""
    found = sorted((project.folder / TRAINED).rglob("model.npz"))
    assert len(found) >= 2
    return {path.relative_to(project.folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def test_audit_of_a_finished_run_retrains_nothing(audited: Project):
    before = models(audited)
    assert "up to date" in audited.run("dvc", "status").stdout
    audited.run("dvc", "repro", *STAGES)
    assert models(audited) == before
    assert "up to date" in audited.run("dvc", "status").stdout
    assert audited.run("git", "status", "--porcelain").stdout == ""


def test_a_fresh_clone_pulls_the_results_and_has_nothing_to_do(audited: Project, tmp_path: Path):
    audited.run("git", "clone", "--quiet", str(audited.folder), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    clone.run("dvc", "pull", "--quiet")
    assert not clone.planned("all")
    assert "up to date" in clone.run("dvc", "status").stdout
    before = models(clone)
    clone.run("dvc", "repro", *STAGES)
    assert models(clone) == before
    # What Snakemake knows of the results came along too: a changed setting is seen, and only where it matters.
    clone.write_params({**PARAMS, "algorithms": {**PARAMS["algorithms"], "alm": {"tolerance": 0.002}}})
    assert clone.planned_training() == {"alm/kappa=0.2/seed=0"}
    clone.run("dvc", "repro", *STAGES)
    changed = {name for name, (written, _) in models(clone).items() if written != before[name][0]}
    assert changed == {f"{TRAINED}/alm/kappa=0.2/seed=0/model.npz"}
    assert "up to date" in clone.run("dvc", "status").stdout
