"""One run of every algorithm by the warm executor, by a process for each job, and by Slurm: the same bytes.

On Slurm they are trained and not evaluated, for the sake of time: there a job of a group takes ten seconds whatever it
does, and what Slurm evaluates is compared in ``test_slurm.py``.
"""

import shutil
from pathlib import Path

import pytest

from partialfair import plugins
from tests.cluster.conftest import PARTITIONS, Cluster
from tests.workflow.every_algorithm import params
from tests.workflow.project import Project, make_project

# As docs/cluster.md says for many short runs: each would else be a Slurm job, of twenty seconds.
IN_ONE_JOB = (
    "--groups", "train=training", "prepare=tables", "split=tables", "--group-components", "training=25", "tables=100",
    "--set-resources", "train:serial=1", "train:runtime=2", "prepare:serial=1", "split:serial=1",
)  # fmt: skip


TRAINED, EVALUATED = "model.npz", ("scores.parquet", "metrics.json")  # histories hold times


def made(project: Project, *names: str) -> dict[str, bytes]:
    """The files of runs that must agree, by their paths."""
    found = sorted(path for name in names for path in (project.folder / "data/runs").rglob(name))
    return {path.relative_to(project.folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The grid, made by the default profile."""
    project = make_project(tmp_path_factory.mktemp("every") / "warm", params())
    project.snakemake("evaluation")
    return project


def copy_of(project: Project, name: str) -> Path:
    """The project with nothing made yet."""
    folder = project.folder.with_name(name)
    make_project(folder, params())
    (folder / "workflow/profiles/slurm/partitions.yaml").write_text(PARTITIONS)
    return folder


def test_the_grid_has_every_algorithm(warm: Project):
    runs = {path.parents[2].name for path in (warm.folder / "data/runs").rglob("model.npz")}
    assert runs == set(plugins.names("algorithms"))


def test_a_process_for_each_job_gives_the_same_bytes(warm: Project):
    plain = Project(copy_of(warm, "plain"))
    plain.snakemake("--executor", "local", "--scheduler", "greedy", "evaluation")
    assert made(plain, TRAINED, *EVALUATED) == made(warm, TRAINED, *EVALUATED)


def test_slurm_gives_the_same_bytes(warm: Project):
    cluster = Cluster(copy_of(warm, "slurm"))
    run = cluster.start("runs", *IN_ONE_JOB)
    try:
        assert cluster.finish(run) == 0, cluster.log.read_text()[-6000:]
        assert cluster.jobs("training"), "no run was trained on Slurm"
    finally:
        run.kill()
    assert made(cluster, TRAINED) == made(warm, TRAINED)
    shutil.rmtree(cluster.folder)
