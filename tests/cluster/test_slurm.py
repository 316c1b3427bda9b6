"""One run of the workflow on a real Slurm to which one thing after another happens; run by ``make test-cluster``.

The tests are chapters: each begins where the one before it ended.
"""

import os
import subprocess

import pyarrow.parquet as pq
import pytest

from tests.cluster.conftest import GATES, SLURM, SLURM_SH, Cluster, kill_node, wait_for
from tests.workflow.project import Project

RUNS = 2 * len(GATES)


@pytest.fixture(scope="module")
def run(cluster: Cluster) -> subprocess.Popen[str]:
    """The run; its jobs that claim a GPU are held up."""
    return cluster.start("demo")


@pytest.fixture(scope="module")
def seeds(cluster: Cluster, run: subprocess.Popen[str]) -> tuple[int, int, int]:
    """Seeds whose jobs got a GPU first and second, and the one that waits."""
    first = cluster.at_the_gate()
    second = cluster.at_the_gate(first)
    return first, second, next(seed for seed in GATES if seed not in (first, second))


def test_a_cancelled_job_is_submitted_again_and_asks_for_more(cluster: Cluster, seeds: tuple[int, int, int]):
    seed = seeds[0]
    job = cluster.training(seed)[0]
    subprocess.run(["scancel", job.JobId], check=True)
    wait_for(lambda: len(cluster.training(seed)) > 1, "a second submission", cluster.log)
    first, second = cluster.training(seed)
    assert first.JobState == "CANCELLED"
    assert (first.MinMemoryNode, first.TimeLimit) == ("1500M", "02:00:00")
    assert (second.MinMemoryNode, second.TimeLimit) == ("3000M", "04:00:00")
    assert not (cluster.folder / f"data/runs/demo/simulated/gated/kappa=inf/seed={seed}/fit.json").exists()


def test_a_job_goes_back_to_the_queue_when_its_node_dies(cluster: Cluster, seeds: tuple[int, int, int]):
    seed = seeds[1]
    job = cluster.training(seed)[0]
    node = job.NodeList
    kill_node(node, job.JobId)
    try:
        wait_for(lambda: cluster.training(seed)[-1].JobState == "PENDING", f"Slurm to miss {node}", cluster.log)
        cluster.gate(seeds[0]).unlink()  # so that the other node's GPU becomes free
        cluster.gate(seeds[2]).unlink()
        cluster.at_the_gate(seeds[0], seeds[2])
    finally:
        subprocess.run([SLURM_SH, "node", str(SLURM), node], check=True)
    (again,) = cluster.training(seed)
    assert (again.JobId, again.Restarts) == (job.JobId, "1")
    assert {node, again.NodeList} == {"g1", "g2"}


def test_resume_refuses_while_snakemake_runs(cluster: Cluster, run: subprocess.Popen[str]):
    assert run.poll() is None
    resumed = cluster.start("resume", module="partialfair")
    assert cluster.finish(resumed) == 2
    assert f"Snakemake still runs here as process {run.pid}" in cluster.log.read_text()


def test_resume_after_snakemake_itself_was_killed(
    cluster: Cluster, run: subprocess.Popen[str], seeds: tuple[int, int, int]
):
    seed = seeds[1]
    run.kill()
    run.wait()
    again = cluster.start("demo")
    assert cluster.finish(again) != 0
    assert "Directory cannot be locked" in cluster.log.read_text()
    orphan = cluster.training(seed)[-1]
    assert orphan.JobState == "RUNNING"

    resumed = cluster.start("resume", module="partialfair")
    wait_for(lambda: cluster.training(seed)[0].JobState == "CANCELLED", "the orphan to be cancelled", cluster.log)
    cluster.gate(seed).unlink()
    assert cluster.finish(resumed) == 0, cluster.log.read_text()[-6000:]
    assert (
        orphan.JobId in cluster.log.read_text().rpartition("Slurm jobs of the killed run: ")[2].splitlines()[0].split()
    )
    done = cluster.run("snakemake", "--workflow-profile", "workflow/profiles/slurm", "--dry-run", "demo")
    assert "Nothing to be done" in done.stdout + done.stderr


def test_no_two_jobs_ever_did_the_same_work_at_once(cluster: Cluster):
    spans: dict[str, list[tuple[float, float]]] = {}
    for job in cluster.jobs("rule_train"):
        spans.setdefault(job.Comment, []).append(job.seconds)
    assert len(spans) == RUNS
    for comment, times in spans.items():
        ordered = sorted(times)
        assert all(end <= start for (_, end), (start, _) in zip(ordered, ordered[1:], strict=False)), (comment, ordered)


def test_jobs_that_claim_a_gpu_get_one_on_a_node_that_has_it(cluster: Cluster):
    claimed = [job for job in cluster.jobs("rule_train", "gated_inf") if job.NodeList != "(null)"]
    others = [job for job in cluster.jobs() if "gated_inf" not in job.Comment]
    assert len(claimed) >= len(GATES)
    for job in claimed:
        assert (job.Partition, job.NodeList) in {("gpu", "g1"), ("gpu", "g2")}
        assert job.TresPerJob == "gres:gpu:1"
    for job in others:
        assert (job.Partition, job.fields.get("TresPerJob")) == ("cpu", None)
    for seed in GATES:
        log = cluster.folder / f"logs/train/demo/simulated/gated/kappa=inf/seed={seed}.log"
        assert "CUDA_VISIBLE_DEVICES=0" in log.read_text()


def test_short_jobs_went_in_groups_that_claim_what_one_of_them_needs(cluster: Cluster):
    assert {job.Comment.split("_")[1] for job in cluster.jobs()} == {
        "prepare",
        "splits",
        "train",
        "evaluation",
        "report",
    }
    (evaluation,) = cluster.jobs("rule_evaluation")
    # One processor, the memory of one, and the time of all (10 minutes each).
    assert (evaluation.NumCPUs, evaluation.MinMemoryNode, evaluation.TimeLimit) == ("1", "1500M", "01:00:00")


@pytest.mark.parametrize("name", ["metrics.json", "model.npz", "scores.parquet"])
def test_results_are_those_of_the_local_run_bit_for_bit(cluster: Cluster, local: Project, name: str):
    files = sorted(path.relative_to(local.folder) for path in (local.folder / "data/runs").rglob(name))
    assert len(files) == RUNS
    for path in files:
        assert (cluster.folder / path).read_bytes() == (local.folder / path).read_bytes(), path


def test_reports_are_those_of_the_local_run(cluster: Cluster, local: Project):
    for path in ("reports/demo/metrics.parquet", "reports/demo/scorecard.csv", "reports/tradeoff/tradeoff.csv"):
        assert (cluster.folder / path).read_bytes() == (local.folder / path).read_bytes(), path
    tables = [pq.read_table(project.folder / "reports/demo/runs.parquet").to_pylist() for project in (cluster, local)]
    here, there = ([(row["algorithm"], row["seed"], row["status"]) for row in rows] for rows in tables)
    assert here == there


def test_overhead_of_a_slurm_job_is_told(cluster: Cluster, capsys: pytest.CaptureFixture[str]):
    overheads = []
    for job in cluster.jobs("rule_train", "alm_0.2"):
        seed = job.Comment.rpartition("_")[2]
        timing = cluster.folder / f"logs/benchmarks/train/demo/simulated/alm/kappa=0.2/seed={seed}.tsv"
        start, end = job.seconds
        overheads.append(end - start - float(timing.read_text().splitlines()[1].split("\t")[0]))
    with capsys.disabled():
        low, high = min(overheads), max(overheads)
        print(f"\nSlurm adds {low:.0f} to {high:.0f} s of wall time to a job (load {os.getloadavg()[0]:.1f})")
    assert all(overhead > -1.0 for overhead in overheads)
