"""Many short runs in a few allocations of a real Slurm: what each costs, what a node or a time limit takes along."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import SLURM, SLURM_SH, Cluster, SlurmJob, kill_node, wait_for
from tests.workflow.project import ROOT, TINY, Project, make_project

POOLS, SEEDS, KAPPAS = 4, 20, 10
RUNS = SEEDS * KAPPAS
PART = 0.5  # of what the processes of a Slurm job of its own take to start, that a run may cost beside its own time
STARTS = 3
DIED = "The warm process of this job has died"


def grid(algorithms: dict[str, list[Any]], seeds: int) -> dict[str, Any]:
    """The demo with some algorithms."""
    runs = {"simulated": {"interval": [[0.1, 0.4]], "algorithms": algorithms}}
    settings = {name: TINY["algorithms"].get(name, {}) for name in algorithms}
    experiments = {"demo": TINY["experiments"]["demo"] | {"runs": runs}}
    return TINY | {"seeds": list(range(seeds)), "algorithms": settings, "experiments": experiments}


def cluster_of(folder: Path, params: dict[str, Any], pools: int, minutes: int) -> Cluster:
    """A project whose profile is edited as docs/cluster.md says: allocations of one processor on this test's nodes."""
    make_project(folder, params)
    path = folder / "workflow/profiles/slurm-pools/config.yaml"
    profile = yaml.safe_load(path.read_text())
    profile |= {"warm-pools": pools, "warm-pool-resources": "cores=1,mem_mb=2000,gpu=0", "cores": pools}
    profile |= {"resources": {"mem_mb": 2000 * pools, "gpu": 0}, "latency-wait": 5}
    profile["warm-launch"] = re.sub(r"--time=\d+", f"--time={minutes} --partition=cpu", profile["warm-launch"])
    path.write_text(yaml.safe_dump(profile))
    return Cluster(folder)


def benchmarks(project: Project, rule: str) -> list[dict[str, str]]:
    """The benchmark files of a rule."""
    files = sorted((project.folder / "logs/benchmarks" / rule).rglob("*.tsv"))
    tables = [[line.split("\t") for line in path.read_text().splitlines()] for path in files]
    return [dict(zip(header, row, strict=True)) for header, row in tables]


def seconds(job: SlurmJob) -> float:
    start, end = job.seconds
    return end - start


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A project of 200 runs, trained on Slurm to the end; nothing happens to it."""
    project = cluster_of(
        tmp_path_factory.mktemp("pools") / "slurm",
        grid({"alm": [0.02 * k for k in range(1, KAPPAS + 1)]}, SEEDS),
        POOLS,
        240,
    )
    run = project.start("runs", profile="slurm-pools")
    try:
        assert project.finish(run) == 0, project.log.read_text()[-6000:]
        yield project
    finally:
        run.kill()


def test_two_hundred_runs_are_four_slurm_jobs(cluster: Cluster) -> None:
    assert len(cluster.jobs()) == POOLS
    assert len(benchmarks(cluster, "train")) == RUNS
    made = re.search(r"Executor warm: (\d+) jobs in 4 warm processes", cluster.log.read_text())
    assert made and int(made.group(1)) > RUNS
    assert len({job.NodeList for job in cluster.jobs()}) == 2


def test_a_run_costs_a_part_of_what_a_slurm_job_of_its_own_would_start(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds of all allocations, from their start to their end, that no job has used, for each run.

    They are held against the two processes that a job of Slurm starts for a run: Snakemake and the training job. Both
    are measured here and now, without what Slurm itself and the queue add.
    """
    jobs = [row for rule in ("train", "split", "prepare") for row in benchmarks(cluster, rule)]
    used = sum(float(row["s"]) for row in jobs)
    overhead = (sum(map(seconds, cluster.jobs())) - used) / RUNS
    started = time.monotonic()
    for _ in range(STARTS):
        cluster.run("snakemake", "--version")
        cluster.run("python", "-c", "import sys; sys.path.insert(0, 'src'); import reproduction.jobs.train")
    alone = (time.monotonic() - started) / STARTS
    with capsys.disabled():
        print(
            f"\n{RUNS} runs of {used / RUNS:.2f} s in {POOLS} allocations: {overhead:.3f} s beside each, "
            f"where the processes of a job of its own take {alone:.2f} s to start (load {os.getloadavg()[0]:.1f})"
        )
    assert 0 < overhead < PART * alone


def test_the_models_are_those_of_a_local_run(cluster: Cluster) -> None:
    local = make_project(
        cluster.folder.with_name("local"), yaml.safe_load((cluster.folder / "params.yaml").read_text())
    )
    chosen = sorted(path.relative_to(cluster.folder) for path in (cluster.folder / "data/runs").rglob("model.npz"))[
        ::20
    ]
    local.snakemake("--", *map(str, chosen))
    for path in chosen:
        assert (cluster.folder / path).read_bytes() == (local.folder / path).read_bytes(), path
    done = cluster.run("snakemake", "--workflow-profile", "workflow/profiles/slurm-pools", "--dry-run", "runs")
    assert "Nothing to be done" in done.stdout + done.stderr


def gated(folder: Path, pools: int, minutes: int) -> Cluster:
    """A project with four runs that wait at closed gates and as many that do not."""
    project = cluster_of(folder, grid({"alm": [0.2], "gated": ["inf"]}, 4), pools, minutes)
    shutil.copy(ROOT / "tests/cluster/gated.py", folder / "src/partialfair/algorithms/gated.py")
    (folder / "gate").mkdir()
    for seed in range(4):
        project.gate(seed).touch()
    return project


def at_gates(project: Cluster) -> list[int]:
    """Seeds of the runs that have said that they wait."""
    logs = (project.folder / f"logs/train/demo/simulated/gated/kappa=inf/seed={seed}.log" for seed in range(4))
    return [seed for seed, log in enumerate(logs) if log.exists() and "CUDA_VISIBLE_DEVICES" in log.read_text()]


def test_a_killed_node_loses_what_ran_on_it_and_no_more(tmp_path: Path) -> None:
    project = gated(tmp_path / "node", pools=2, minutes=240)
    run = project.start("runs", profile="slurm-pools")
    try:
        wait_for(lambda: len(at_gates(project)) == 2, "both allocations to work at a gate", project.log)
        victim, other = project.jobs()
        kill_node(victim.NodeList, victim.JobId)
        try:
            wait_for(lambda: DIED in project.log.read_text(), "the loss to be noticed", project.log)
        finally:
            subprocess.run([SLURM_SH, "node", str(SLURM), victim.NodeList], check=True)
        for seed in range(4):
            project.gate(seed).unlink()
        assert project.finish(run) == 0, project.log.read_text()[-6000:]
    finally:
        run.kill()
    log = project.log.read_text()
    lost = log.count(DIED)
    assert lost == (2 if victim.NodeList == other.NodeList else 1) and log.count("Trying to restart job") == lost
    assert len(list((project.folder / "data/runs").rglob("model.npz"))) == 8
    assert len(project.jobs()) == 2 + lost


def test_a_time_limit_loses_what_ran_and_another_allocation_goes_on(tmp_path: Path) -> None:
    project = gated(tmp_path / "time", pools=1, minutes=1)
    run = project.start("runs", profile="slurm-pools")
    try:
        wait_for(lambda: at_gates(project), "the allocation to work at a gate", project.log)
        wait_for(lambda: DIED in project.log.read_text(), "its time to be up", project.log)
        for seed in range(4):
            project.gate(seed).unlink()
        assert project.finish(run) == 0, project.log.read_text()[-6000:]
    finally:
        run.kill()
    log = project.log.read_text()
    assert log.count(DIED) == log.count("Trying to restart job") >= 1
    assert project.jobs()[0].JobState == "TIMEOUT" and len(project.jobs()) >= 2
    assert len(list((project.folder / "data/runs").rglob("model.npz"))) == 8


def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path) -> None:
    project = gated(tmp_path / "killed", pools=2, minutes=240)
    run = project.start("runs", profile="slurm-pools")
    wait_for(lambda: len(at_gates(project)) == 2, "both allocations to work at a gate", project.log)
    run.kill()
    run.wait()
    states = {"COMPLETED", "FAILED", "CANCELLED"}
    wait_for(lambda: {job.JobState for job in project.jobs()} <= states, "the allocations to end", project.log)
    for seed in range(4):
        project.gate(seed).unlink()
    resumed = project.start("resume", module="partialfair")
    assert project.finish(resumed) == 0, project.log.read_text()[-6000:]
    assert len(list((project.folder / "data/runs").rglob("model.npz"))) == 8


def test_what_srun_says_is_told_and_ends_the_run(tmp_path: Path) -> None:
    project = cluster_of(tmp_path / "wrong", grid({"alm": [0.2]}, 1), 1, 240)
    path = project.folder / "workflow/profiles/slurm-pools/config.yaml"
    path.write_text(path.read_text().replace("--partition=cpu", "--partition=none-such"))
    run = project.start("run", "runs", "--profile", "slurm-pools", module="partialfair")
    assert project.finish(run, limit=300) != 0
    told = project.log.read_text()
    assert "no warm process can be started" in told and "invalid partition specified: none-such" in told.lower(), told
