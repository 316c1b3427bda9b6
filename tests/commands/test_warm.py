"""What the executor and the scheduler ask: which runs make a block, blocks trained in one process, the rehearsal."""

import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from partialfair.commands import blocks, warm
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.errors import ResourceError
from partialfair.grid.config import Config, Job, load_config
from partialfair.grid.paths import SPLIT, TABLE
from partialfair.jobs.train import Files, train

PARAMS = """
seeds: [0, 1]
bootstrap: {replicates: 10}
datasets: {simulated: {rows: 1500}}
algorithms:
  idca: {inner_steps: [10, 20], tolerances: [0.01], tuning_rounds: 3, rounds: [5]}
  sgd: {steps: 30, records: 3, hidden: []}
experiments:
  small:
    title: Small
    paper: partial_fairness
    constraint: partial_statistical_parity
    runs: {simulated: {interval: [[0.1, 0.4]], algorithms: {alm: [0.1], idca: [0.1, 0.2, 0.4], sgd: [inf]}}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
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


def wildcards(job: Job) -> dict[str, str]:
    names = ("experiment", "dataset", "algorithm")
    return {**{name: getattr(job, name) for name in names}, "kappa": job.kappa_text, "seed": str(job.seed)}


def arguments(job: Job) -> list[str]:
    """As the rule states them."""
    options = {**wildcards(job), "table": job.table, "split": job.split, "out": job.path.as_posix()}
    return ["train", *(word for name, value in options.items() for word in (f"--{name}", value))]


def test_blocks_are_runs_that_differ_in_what_the_algorithm_computes_together(config: Config):
    found: dict[object, set[tuple[str, int]]] = {}
    for job in config.jobs():
        found.setdefault((job.algorithm, blocks.block("train", wildcards(job))), set()).add((job.kappa_text, job.seed))
    of = {
        name: sorted(map(len, (runs for (owner, _), runs in found.items() if owner == name)))
        for name in ("idca", "sgd")
    }
    assert of == {"idca": [3, 3], "sgd": [2]}
    alm = [key for owner, key in found if owner == "alm"]
    assert alm == [None]
    assert {blocks.block(rule, wildcards(config.jobs()[0])) for rule in ("evaluate", "split")} == {None}


@pytest.mark.parametrize(("algorithm", "seeds", "count"), [("idca", {1}, 3), ("sgd", {0, 1}, 2)])
def test_a_block_has_the_results_of_single_runs(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str], algorithm: str, seeds: set[int], count: int
):
    jobs = [job for job in config.jobs() if job.algorithm == algorithm and job.seed in seeds]
    for job in jobs:
        job.path.mkdir(parents=True)
    reported: list[int] = []
    warm.together([arguments(job) for job in jobs], reported.extend)
    assert reported == list(range(count))
    assert f"training {count} runs together" in capsys.readouterr().err
    for job in jobs:
        alone = tmp_path / f"{job.kappa_text} {job.seed}"
        alone.mkdir()
        train(config, job, Files(job.table, job.split, alone))
        assert (alone / "model.npz").read_bytes() == (job.path / "model.npz").read_bytes()
        ours, single = (json.loads((folder / "fit.json").read_text()) for folder in (job.path, alone))
        for key in ("kappa", "seed", "selected", "certificate", "inputs", "status"):
            assert ours[key] == single[key], key
        assert (ours["time"]["runs_together"], single["time"]["runs_together"]) == (count, 1)


def test_runs_of_a_block_that_fails_are_left_to_be_made_alone(config: Config, capsys: pytest.CaptureFixture[str]):
    jobs = [job for job in config.jobs() if job.algorithm == "sgd"]
    Path(jobs[1].split).unlink()
    reported: list[int] = []
    warm.together([arguments(job) for job in jobs], reported.extend)
    assert reported == []
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("partialfair: ")]
    assert jobs[1].split in line


def test_a_rehearsal_leaves_no_trace_but_the_mark_of_a_filled_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here = []
    monkeypatch.setattr(warm, "_rehearse", lambda real=warm._rehearse: (here.append(1), real()))
    monkeypatch.setattr(warm, "_mark", lambda: tmp_path / "cache" / "mark")
    warm.rehearse()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(warm.multiprocessing, "get_context", None)  # no other process is needed from now on
    warm.rehearse()
    assert len(here) == 2


@pytest.mark.parametrize("death", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3)])
def test_a_rehearsal_that_died_leaves_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, death: Callable[[], None]
):
    here = os.getpid()
    monkeypatch.setattr(warm, "_rehearse", lambda: None if os.getpid() == here else death())
    monkeypatch.setattr(warm, "_mark", lambda: tmp_path / "cache" / "mark")
    with pytest.raises(ResourceError, match=r"ended with exit code (-9|3); each job compiles what it needs"):
        warm.rehearse()
    assert not any(tmp_path.iterdir())
