"""Runs made from one process: the same files as single jobs, failures recorded, nothing made twice."""

import json
import os
import resource
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from partialfair.commands.runs import number_of_cores
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.errors import ConfigError, DataError
from partialfair.grid.config import load_config
from partialfair.grid.paths import SPLIT, TABLE
from partialfair.jobs import batch
from partialfair.jobs.train import Files, train

PARAMS = """
seeds: [0, 1]
bootstrap: {replicates: 10}
datasets: {simulated: {rows: 1500}}
experiments:
  small:
    title: Small
    paper: partial_fairness
    constraint: partial_statistical_parity
    runs: {simulated: {interval: [[0.1, 0.4]], algorithms: {unconstrained: [inf], alm: [0.1]}}}
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A prepared project as the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS)
    data = simulated.load(rows=1500)
    for seed in (0, 1):
        split = tmp_path / SPLIT.format(dataset="simulated", seed=seed)
        split.parent.mkdir(parents=True, exist_ok=True)
        make_split(data, seed).save(split)
    data.save(tmp_path / TABLE.format(dataset="simulated"))
    return load_config("params.yaml")


def test_runs_are_made_once_and_equal_those_of_single_jobs(config, tmp_path):
    jobs = config.jobs()
    lines = []
    assert batch.outdated(config, jobs) == jobs
    assert batch.run_batch(config, jobs, cores=2, report=lines.append) == []
    assert batch.outdated(config, jobs) == []
    assert len(lines) == len(jobs)
    job = jobs[-1]
    train(config, job, Files(job.table, job.split, tmp_path))
    assert (tmp_path / "model.npz").read_bytes() == (job.path / "model.npz").read_bytes()
    assert json.loads((job.path / "metrics.json").read_text())["status"] == "ok"


def test_what_other_code_or_settings_made_is_outdated(config):
    job = config.jobs()[0]
    batch.make(config, [job])
    fit = job.path / "fit.json"
    content = json.loads(fit.read_text())
    for changed in ({"closure_hash": "other"}, {"grid": 11}):
        fit.write_text(json.dumps(content | changed))
        assert batch.outdated(config, [job]) == [job]
    fit.write_text("{")
    assert batch.outdated(config, [job]) == [job]


def test_a_run_that_fails_or_is_killed_costs_itself_alone(config, monkeypatch):
    jobs = config.jobs()
    real = batch.make

    def make(grid, block):
        if jobs[0] in block:
            raise DataError("no such row")
        if jobs[1] in block:
            os.kill(os.getpid(), signal.SIGKILL)
        real(grid, block)

    monkeypatch.setattr(batch, "make", make)
    failed = batch.run_batch(config, jobs, cores=1, report=lambda line: None)
    assert failed == jobs[:2]
    assert batch.outdated(config, jobs) == jobs[:2]
    log = batch.TRAIN_LOG.format(
        experiment="small", dataset="simulated", algorithm="unconstrained", kappa="inf", seed=0
    )
    assert Path(log).read_text() == "error: no such row\n"


TOGETHER = PARAMS.replace(
    "{unconstrained: [inf], alm: [0.1]}", "{unconstrained: [inf], idca: [0.1, 0.2, 0.4]}"
).replace(
    "seeds: [0, 1]",
    "seeds: [0, 1]\nalgorithms: {idca: {inner_steps: [10, 20], tolerances: [0.01], tuning_rounds: 3, rounds: [5]}}",
)


@pytest.fixture
def three_kappas(config):
    """The same project with three runs per seed that an algorithm trains together."""
    Path("params.yaml").write_text(TOGETHER)
    return load_config("params.yaml")


def test_runs_that_differ_in_kappa_are_trained_together_with_the_same_result(three_kappas, tmp_path):
    jobs = three_kappas.jobs()
    sizes = {block[0].algorithm: len(block) for block in batch.blocks(three_kappas, jobs)}
    assert sizes == {"unconstrained": 1, "idca": 3}
    lines = []
    assert batch.run_batch(three_kappas, jobs, cores=2, report=lines.append) == []
    assert len(lines) == len(jobs) and sum("for 3 together" in line for line in lines) == 6
    assert batch.outdated(three_kappas, jobs) == []
    for job in (job for job in jobs if job.algorithm == "idca" and job.seed == 1):
        alone = tmp_path / job.kappa_text
        alone.mkdir()
        train(three_kappas, job, Files(job.table, job.split, alone))
        assert (alone / "model.npz").read_bytes() == (job.path / "model.npz").read_bytes()
        together, single = (json.loads((folder / "fit.json").read_text()) for folder in (job.path, alone))
        assert together["selected"] == single["selected"] and together["certificate"] == single["certificate"]
        assert (together["time"]["runs_together"], single["time"]["runs_together"]) == (3, 1)


def test_a_block_that_fails_is_made_again_run_by_run(three_kappas, monkeypatch):
    jobs = [job for job in three_kappas.jobs() if job.algorithm == "idca" and job.seed == 0]
    real = batch.make

    def make(grid, block):
        if jobs[1] in block:
            raise DataError("no such row")
        real(grid, block)

    monkeypatch.setattr(batch, "make", make)
    lines = []
    assert batch.run_batch(three_kappas, jobs, cores=1, report=lines.append) == [jobs[1]]
    assert batch.outdated(three_kappas, jobs) == [jobs[1]]
    assert len(lines) == 3 and sum("failed, see" in line for line in lines) == 1


def test_runs_are_not_put_together_where_that_would_leave_cores_idle(three_kappas):
    jobs = [job for job in three_kappas.jobs() if job.algorithm == "idca" and job.seed == 0]
    lines = []
    assert batch.run_batch(three_kappas, jobs, cores=3, report=lines.append) == []
    assert len(lines) == 3 and not any("together" in line for line in lines)


@pytest.mark.parametrize(
    ("limits", "at_once"),
    [({"mem_mb": 3100, "gpu": 1}, 2), ({"mem_mb": 2900, "gpu": 1}, 1), ({"mem_mb": 100, "gpu": 0}, 1)],
)
def test_runs_at_work_share_the_memory(config, limits, at_once):
    """Each asks for 1,500 MB; one that asks for more than there is gets the machine to itself."""
    queue = batch._Queue(config, batch.blocks(config, config.jobs()), limits, lambda line: None)
    started = [queue.take()]
    waiter = threading.Thread(target=lambda: started.append(queue.take()))
    waiter.start()
    waiter.join(timeout=0.3)
    assert len(started) == at_once
    queue.finish(started[0], 1.0, good=True)
    waiter.join(timeout=10)
    assert len(started) == 2 and not waiter.is_alive()


def test_runs_that_need_a_gpu_take_turns(config, monkeypatch):
    monkeypatch.setattr(batch.Grid, "gpus", lambda grid, algorithm: int(algorithm == "alm"))
    queue = batch._Queue(config, batch.blocks(config, config.jobs()), {"mem_mb": 10**6, "gpu": 1}, lambda line: None)
    started = [queue.take()[0].algorithm for _ in range(3)]
    assert sorted(started) == ["alm", "unconstrained", "unconstrained"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_runs_for_which_no_process_can_be_had_count_as_failed(config, monkeypatch):
    def refuse():
        raise OSError("cannot allocate memory")

    monkeypatch.setattr(batch, "_one_process", refuse)
    assert batch.run_batch(config, config.jobs(), cores=2, report=lambda line: None) == config.jobs()


def test_missing_tables_are_named_before_anything_runs(config):
    os.remove(TABLE.format(dataset="simulated"))
    with pytest.raises(DataError, match="table.npz: not prepared yet; run `snakemake"):
        batch.run_batch(config, config.jobs(), cores=1)


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="this system cannot reset the peak memory")
def test_peak_memory_is_that_of_the_run_not_of_those_before_it():
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    hungry = np.ones(300 << 17)
    before = peak()
    del hungry
    assert peak() == before
    batch._forget_peak_memory()
    assert peak() < before - 200


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", ""])
def test_number_of_cores_is_refused_unless_it_is_one(text):
    with pytest.raises(ConfigError, match="--cores"):
        number_of_cores(text)


def test_all_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert number_of_cores("all") == 3
    assert number_of_cores("2") == 2
