"""Snakemake and DVC together: audit of a finished run, and the same in a fresh clone."""

import copy
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dvc.utils.hydra import apply_overrides

from reproduction.grid.config import load_config
from reproduction.verify.dvc_lock import remove_torn_lock
from tests.workflow.project import LIMIT, ROOT, TINY, Project, make_project, share_kernels

pytestmark = pytest.mark.slow

STAGES = ("data", "splits", "runs", "evaluation", "report")
PARAMS = {**copy.deepcopy(TINY), "seeds": [0]}
PARAMS["experiments"]["demo"]["runs"]["simulated"]["algorithms"] = {"unconstrained": ["inf"], "alm": [0.2]}
TRAINED = "data/runs/demo/simulated"
KEPT = f"{TRAINED}/alm/kappa=0.2/seed=0"
KILLS = int(os.environ.get("PARTIALFAIR_KILLS", "2"))


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a finished run, recorded by DVC, committed and pushed to a local remote."""
    folder = tmp_path_factory.mktemp("audit")
    project = make_project(folder / "project", PARAMS)
    lines = (project.folder / "dvc.yaml").read_text().splitlines()
    figures = [line for line in lines if line.endswith(".svg")]
    without_raw = [line for line in lines if "data/raw/" not in line and line not in figures]
    without_raw.append("  - reports/tradeoff/tradeoff.svg")
    (project.folder / "dvc.yaml").write_text("\n".join(without_raw) + "\n")
    for command in (
        ("git", "init", "--quiet"),
        ("git", "config", "user.name", "A. Person"),
        ("git", "config", "user.email", "person@example.org"),
        ("dvc", "init", "--quiet"),
        ("dvc", "remote", "add", "--quiet", "--default", "local", str(folder / "remote")),
    ):
        project.run(*command)
    shutil.copy(ROOT / ".dvc" / "plots.html", project.folder / ".dvc")
    project.run("dvc", "config", "plots.html_template", "plots.html")
    (project.folder / ".dvcignore").write_bytes((ROOT / ".dvcignore").read_bytes())
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


@pytest.mark.long(suite="audits")
def test_audit_of_a_finished_run_retrains_nothing(audited: Project):
    before = models(audited)
    assert "up to date" in audited.run("dvc", "status").stdout
    audited.run("dvc", "repro", *STAGES)
    assert models(audited) == before
    assert "up to date" in audited.run("dvc", "status").stdout
    assert audited.run("git", "status", "--porcelain").stdout == ""


@pytest.mark.long(suite="audits")
def test_make_paper_does_not_let_hard_linked_inputs_look_new(audited: Project, tmp_path: Path):
    """DVC would copy them anew; where they are too large for Snakemake to compare contents, all is trained again."""
    twin = Project(tmp_path / "twin")
    shutil.copytree(audited.folder, twin.folder, symlinks=True)
    (tmp_path / "linked").mkdir()
    inputs = sorted(path for path in (twin.folder / "data").rglob("*") if path.is_file())
    times = [path.stat().st_mtime_ns for path in inputs]
    for number, path in enumerate(inputs):
        os.link(path, tmp_path / "linked" / str(number))
    done = twin.make("-o", "data", "made")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert [path.stat().st_mtime_ns for path in inputs] == times
    assert not twin.planned("all")


@pytest.mark.long(suite="audits")
def test_a_fresh_clone_pulls_the_results_and_has_nothing_to_do(audited: Project, tmp_path: Path):
    audited.run("git", "clone", "--quiet", str(audited.folder), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    share_kernels(clone.folder)
    clone.run("dvc", "pull", "--quiet")
    assert not clone.planned("all")
    assert "up to date" in clone.run("dvc", "status").stdout
    before = models(clone)
    whole = clone.make("audit")
    assert whole.returncode == 0 and "\nwhole: " in whole.stdout, whole.stdout[-3000:] + whole.stderr[-3000:]
    assert models(clone) == before
    # What was changed by hand is named, and nothing is trained on account of it.
    name = f"{KEPT}/model.npz"
    (clone.folder / name).write_bytes(before[name][1] + b"\0")
    told = clone.make("audit")
    assert told.returncode != 0 and f"BROKEN {name}: damaged" in told.stdout, told.stdout[-3000:]
    assert (clone.folder / name).read_bytes() == before[name][1] + b"\0"
    (clone.folder / name).unlink()
    clone.run("dvc", "checkout", "--quiet", "evaluation")
    assert {name: content for name, (_, content) in models(clone).items()} == {n: b for n, (_, b) in before.items()}
    # What Snakemake knows of the results came along too: a changed setting is seen, and only where it matters.
    clone.write_params({**PARAMS, "algorithms": {**PARAMS["algorithms"], "alm": {"tolerance": 0.002}}})
    assert clone.planned_training() == {"alm/kappa=0.2/seed=0"}


@pytest.mark.long(suite="audits")
@pytest.mark.parametrize("name", ["reports/tradeoff/tradeoff.csv", "reports/demo/runs.parquet", f"{KEPT}/metrics.json"])
def test_dvc_itself_does_not_adopt_what_was_edited(audited: Project, tmp_path: Path, name: str):
    audited.run("git", "clone", "--quiet", str(audited.folder), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    share_kernels(clone.folder)
    clone.run("dvc", "pull", "--quiet")
    path, lock = clone.folder / name, clone.folder / "dvc.lock"
    edited, recorded = edit(path), lock.read_bytes()
    told = clone.run("dvc", "repro", *STAGES, check=False)
    assert told.returncode != 0 and f"BROKEN {name}: damaged" in told.stdout, told.stdout[-3000:] + told.stderr[-3000:]
    assert path.read_bytes() == edited and lock.read_bytes() == recorded


def edit(path: Path) -> bytes:
    """Change a digit of a text, or a cell of a table, and return the new content."""
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
        table.loc[0, "objective"] += 0.01
        table.to_parquet(path)
    else:
        text = path.read_text()
        path.write_text(re.sub(r"(0\.\d\d)(\d)", lambda found: f"{found[1]}{(int(found[2]) + 1) % 10}", text, count=1))
        assert path.read_text() != text
    return path.read_bytes()


def made_in_order(project: Project) -> list[str]:
    """The files that a finished run has made below ``data`` and ``reports``, the first written first."""
    found = [path for name in ("data", "reports") for path in (project.folder / name).rglob("*") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime_ns)
    return [path.relative_to(project.folder).as_posix() for path in found]


def killed(project: Project, until: str, seconds: float) -> bool:
    """Start `dvc repro`; kill it with all that it started so long after a file came. Return if it had not ended."""
    process = project.start("dvc", "repro", *STAGES)
    deadline = time.monotonic() + LIMIT
    while process.poll() is None and not (project.folder / until).exists():
        assert time.monotonic() < deadline, f"waited too long for {until}"
        time.sleep(0.02)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    assert process.returncode == 0, output[-4000:]
    return False


def results(project: Project) -> dict[str, bytes]:
    """What two audits must have in common; times stand in other files."""
    found = [path for name in ("model.npz", "scores.parquet", "metrics.json") for path in project.folder.rglob(name)]
    found += [path for path in (project.folder / "reports").rglob("*.*") if path.suffix in (".csv", ".svg")]
    return {path.relative_to(project.folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.long(suite="kills")
def test_killed_and_repeated_audits_end_as_an_undisturbed_one(audited: Project, tmp_path: Path):
    """Killed as files come, so that a slow machine is killed at the same steps as a fast one."""
    expected, moments = results(audited), made_in_order(audited)
    assert len(moments) > 20
    rng, kills, locks = np.random.default_rng(KILLS), 0, 0
    while kills < KILLS:
        audited.run("git", "clone", "--quiet", str(audited.folder), str(tmp_path / f"from{kills}"))
        project = Project(tmp_path / f"from{kills}")
        share_kernels(project.folder)
        shutil.rmtree(project.folder / "reports")  # what Git has of the results; DVC has the rest
        # At once, Snakemake is at work; later, it may be DVC, or the check before its next stage.
        while kills < KILLS and killed(project, str(rng.choice(moments)), rng.uniform(0, 1) * (kills % 2)):
            kills += 1
            remove_torn_lock(project.folder)
            if any((project.folder / ".snakemake" / "locks").glob("*")):
                locks += 1
                refused = project.run("dvc", "repro", *STAGES, check=False)
                assert refused.returncode != 0 and "`partialfair resume`" in refused.stdout + refused.stderr
                project.run(sys.executable, "-m", "partialfair", "resume")
        project.run(sys.executable, "-m", "partialfair", "verify", "--damage")  # as `make audit` begins
        project.run("dvc", "repro", *STAGES)
        assert results(project) == expected
        assert "up to date" in project.run("dvc", "status").stdout
    print(f"{kills} kills, {locks} of them within Snakemake")


@pytest.mark.long(suite="audits")
def test_the_views_of_dvc_work_offline_in_a_clone(audited: Project, tmp_path: Path):
    audited.run("git", "clone", "--quiet", str(audited.folder), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    share_kernels(clone.folder)
    clone.run("dvc", "pull", "--quiet")
    shown = json.loads(clone.run("dvc", "metrics", "show", "--json").stdout)
    counts = shown[""]["data"]["reports/metrics.partial_fairness.json"]["data"]
    assert counts and all(isinstance(count, int) for count in counts.values())  # a table of a few words and numbers
    assert max(map(len, clone.run("dvc", "metrics", "show").stdout.splitlines())) < 200
    clone.run("dvc", "plots", "show")
    page = (clone.folder / "dvc_plots" / "index.html").read_text()
    assert "tradeoff.svg" in page and not re.search(r"<script|https?://", page)
    clone.write_params({**PARAMS, "algorithms": {**PARAMS["algorithms"], "alm": {"tolerance": 0.002}}})
    assert "algorithms.alm.tolerance" in clone.run("dvc", "params", "diff").stdout
    clone.run("git", "checkout", "params.yaml")
    before = models(clone)
    clone.run("dvc", "exp", "run", "--quiet", "-S", "algorithms.alm.tolerance=0.003")
    changed = {name for name, (written, _) in models(clone).items() if written != before[name][0]}
    assert changed == {f"{KEPT}/model.npz"}
    assert "up to date" in clone.run("dvc", "status").stdout
    fit = json.loads((clone.folder / TRAINED / "alm/kappa=0.2/seed=0/fit.json").read_text())
    assert fit["settings"]["tolerance"] == 0.003
    assert "tolerance" in clone.run("dvc", "params", "diff").stdout
    clone.run("dvc", "metrics", "diff")


def test_the_experiment_that_the_page_shows_changes_the_grid(tmp_path: Path):
    page = (ROOT / "docs/audit-trail.md").read_text(encoding="utf-8")
    command = re.search(r"dvc exp run ((?:.*\\\n)*.*)", page)
    words = shlex.split(command.group(1).replace("\\\n", " "))
    assert words[::2] == ["-S", "-S"]
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    apply_overrides(tmp_path / "params.yaml", words[1::2])
    config = load_config(tmp_path / "params.yaml")
    assert {job.seed for job in config.jobs("demo")} == {0, 1}
    assert config.experiment("demo").algorithms["alm"]["tolerance"] == 0.001
