"""The profiles: what they limit, and what each job asks of a machine or a cluster; no cluster is needed."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path

import pytest
import yaml
from snakemake.cli import parse_args

from reproduction.grid import machine
from reproduction.grid.machine import machine_limits
from tests.workflow.project import LIMIT, ROOT, TINY, Project, make_project

pytestmark = pytest.mark.slow
PROFILES = sorted(path.parent.name for path in (ROOT / "workflow/profiles").glob("*/config.yaml"))
CLUSTER = ("slurm", "cluster-generic")


def profile(name: str) -> dict:
    return yaml.safe_load((ROOT / f"workflow/profiles/{name}/config.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A tiny grid with two runs of an algorithm that claims a GPU and notes when it runs."""
    runs = {"simulated": {"interval": [[0.1, 0.4]], "algorithms": {"unconstrained": ["inf"], "timed": ["inf"]}}}
    params = TINY | {"device": "cuda", "algorithms": {"unconstrained": {}, "timed": {}}}
    params["experiments"] = {"demo": TINY["experiments"]["demo"] | {"runs": runs}}
    made = make_project(tmp_path_factory.mktemp("profiles") / "project", params)
    shutil.copy(Path(__file__).with_name("timed.py"), made.folder / "src/partialfair/algorithms/timed.py")
    return made


def resources(project: Project, *arguments: str) -> dict[str, list[dict[str, str]]]:
    """What the jobs of each rule ask for, as a dry run tells it."""
    done = project.run(sys.executable, "-m", "snakemake", "--dry-run", *arguments, "demo")
    blocks = re.findall(r"rule (\w+):\n((?:\s+\w+: .*\n)+)", done.stdout + done.stderr)
    asked: dict[str, list[dict[str, str]]] = {}
    for rule, block in blocks:
        line = re.search(r"resources: (.*)", block)
        entry = dict(part.split("=", 1) for part in line.group(1).split(", ")) if line else {}
        entry["wildcards"] = next(iter(re.findall(r"wildcards: (.*)", block)), "")
        asked.setdefault(rule, []).append(entry)
    return asked


def test_there_are_four_profiles():
    assert PROFILES == ["cluster-generic", "default", "slurm", "slurm-pools"]


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_resume_retry_and_go_on(name: str):
    content = profile(name)
    assert content["keep-going"] is content["rerun-incomplete"] is content["show-failed-logs"] is True
    assert content["retries"] >= 1
    # The same results are outdated wherever the workflow runs.
    for key in ("rerun-triggers", "max-checksum-file-size"):
        assert content[key] == profile("default")[key]


@pytest.mark.parametrize("name", CLUSTER)
def test_groups_name_rules_that_exist_and_only_short_ones(project: Project, name: str):
    content = profile(name)
    rules = set(re.findall(r"^rule (\w+):", "".join(p.read_text() for p in (ROOT / "workflow/rules").glob("*")), re.M))
    assert set(content["groups"]) == set(content["set-resources"]) <= rules
    assert "train" not in content["groups"]
    assert all(resource == {"serial": 1} for resource in content["set-resources"].values())


@pytest.mark.parametrize("name", CLUSTER)
def test_nothing_of_the_workstation_is_read_beside_a_cluster_profile(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(ROOT)
    _, given = parse_args(["--workflow-profile", f"workflow/profiles/{name}", "--dry-run"])
    own = profile(name)
    assert (given.executor, given.scheduler, given.jobs) == (own["executor"], "greedy", own["jobs"])
    assert given.cores is None
    assert not [option for option in profile("default") if option.startswith("warm-") and option in own]
    assert given.warm_module is MISSING
    _, given = parse_args(["--dry-run"])
    assert (given.executor, given.scheduler) == ("warm", "greedy")
    _, given = parse_args(["--dry-run", "--executor", "local"])
    assert (given.executor, given.scheduler) == ("local", "greedy")


def test_pools_are_warm_as_a_workstation_is_and_their_sums_are_the_limits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    _, given = parse_args(["--workflow-profile", "workflow/profiles/slurm-pools", "--dry-run"])
    own, here = profile("slurm-pools"), profile("default")
    assert (given.executor, given.cores, given.warm_pools) == ("warm", own["cores"], own["warm-pools"])
    for key in ("warm-module", "warm-preload", "warm-rehearse"):
        assert own[key] == here[key]
    capacity = {name: int(number) for name, number in (x.split("=") for x in own["warm-pool-resources"].split(","))}
    sums = {name: own["warm-pools"] * number for name, number in capacity.items()}
    assert {"cores": own["cores"], **own["resources"]} == sums


def test_every_profile_looks_at_some_of_the_ready_jobs_alone():
    assert {profile(name)["scheduler-subsample"] for name in PROFILES} == {200}


@pytest.mark.parametrize("name", CLUSTER)
def test_a_cluster_profile_whose_executor_would_be_replaced_is_refused(project: Project, name: str):
    arguments = ("-m", "snakemake", "--dry-run", "demo", "--profile", f"workflow/profiles/{name}")
    done = project.run(sys.executable, *arguments, check=False)
    assert done.returncode != 0
    assert f"`snakemake --workflow-profile workflow/profiles/{name}`" in done.stdout + done.stderr
    assert project.run(sys.executable, *arguments, "--executor", "local").returncode == 0


@pytest.mark.parametrize("name", CLUSTER)
def test_a_dry_run_with_a_cluster_profile_tells_the_documented_resources(project: Project, name: str):
    asked = resources(project, "--workflow-profile", f"workflow/profiles/{name}")
    assert set(asked) >= {"prepare", "split", "train", "evaluate", "collect", "exhibit", "experiment_scorecard"}
    documented = dict(re.findall(r"^\| `(\w+)` \| \d+[^|]*\| (\d+) ", (ROOT / "docs/cluster.md").read_text(), re.M))
    for rule in ("prepare", "split", "train", "evaluate", "collect", "exhibit", "experiment_scorecard"):
        for job in asked[rule]:
            assert job["runtime"] == documented[rule], rule
            assert job["mem_mb"] == "<TBD>" or int(job["mem_mb"]) >= 1000
    for job in asked["train"]:
        assert job["gpu"] == ("1" if "algorithm=timed" in job["wildcards"] else "0")


@pytest.mark.long(suite="executors")
def test_gpu_jobs_take_turns_on_a_workstation_unless_told_otherwise(project: Project):
    spans = timed_spans(project, "--cores", "2")
    assert spans[0][1] <= spans[1][0], spans
    # Naming another limit does not lift this one.
    spans = timed_spans(project, "--cores", "2", "--resources", "mem_mb=9000")
    assert spans[0][1] <= spans[1][0], spans
    spans = timed_spans(project, "--cores", "2", "--resources", "gpu=2")
    assert spans[0][1] > spans[1][0], spans


def timed_spans(project: Project, *arguments: str) -> list[tuple[float, float]]:
    """When the jobs that claim a GPU ran, in order."""
    folder = project.folder / "timed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    runs = [f"data/runs/demo/simulated/timed/kappa=inf/seed={seed}/fit.json" for seed in (0, 1)]
    project.run(sys.executable, "-m", "snakemake", *arguments, "--forcerun", "train", "--", *runs)
    return sorted(tuple(json.loads(path.read_text())) for path in folder.iterdir())


@pytest.mark.long(suite="executors")
def test_memory_of_a_workstation_is_a_limit(project: Project):
    """Two jobs of 1,500 MB do not run at once in 2,000 MB."""
    spans = timed_spans(project, "--cores", "2", "--resources", "gpu=2", "mem_mb=2000")
    assert spans[0][1] <= spans[1][0], spans
    assert 500 < machine_limits("cuda")["mem_mb"] < 1e8


def test_without_a_gpu_jobs_that_could_use_one_do_not_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "GPU_FILES", (tmp_path / "gpu", tmp_path / "other"))
    assert [machine_limits(device).get("gpu") for device in ("cuda", "auto", "cpu")] == [1, None, None]
    (tmp_path / "other").touch()
    assert machine_limits("auto")["gpu"] == 1


@pytest.mark.long(suite="executors")
def test_a_job_that_fails_asks_for_more_when_it_runs_again(project: Project):
    run = "data/runs/demo/simulated/timed/kappa=inf/seed=0/fit.json"
    broken = project.folder / "timed/fail"
    broken.parent.mkdir(exist_ok=True)
    broken.touch()
    try:
        done = project.run(sys.executable, "-m", "snakemake", "--forcerun", "train", "--", run, check=False)
    finally:
        broken.unlink()
    assert done.returncode == 1
    lines = re.findall(r"resources: (.*\bgpu=1\b.*)", done.stdout + done.stderr)
    asked = [dict(part.split("=", 1) for part in line.split(", ")) for line in lines]
    assert [(job["mem_mb"], job["runtime"]) for job in asked] == [("1500", "120"), ("3000", "240")]


@pytest.mark.long(suite="executors")
def test_another_batch_system_gives_the_same_bytes(project: Project):
    """The cluster-generic profile with its detached shells; also after Snakemake was killed."""
    project.snakemake("demo")
    local = {path: path.read_bytes() for path in sorted((project.folder / "data/runs").rglob("metrics.json"))}
    assert len(local) == 4
    for part in ("data/runs", "reports", ".snakemake"):
        shutil.rmtree(project.folder / part)
    folder = project.folder / "timed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    gate = folder / "wait"
    gate.touch()
    submit = project.folder / "workflow/profiles/cluster-generic/submit.sh"
    noting = submit.read_text().replace("set -euo pipefail\n", 'set -euo pipefail\necho "$@" >> timed/asked\n')
    submit.write_text(noting)
    quick = ("--seconds-between-status-checks", "1")  # `resume` repeats it with the rest of the command
    profile = ("--workflow-profile", "workflow/profiles/cluster-generic")
    with background(project, "snakemake", *profile, *quick, "demo") as run:
        try:
            wait_for(lambda: len(list(folder.glob("started-*"))) == 2 or run.poll() is not None)
        finally:
            run.kill()
    orphans = detached_jobs(project, "running")
    assert len(orphans) >= 2
    try:
        with background(project, "partialfair", "resume") as resumed:
            wait_for(lambda: not orphans & detached_jobs(project, "running") or resumed.poll() is not None)
            gate.unlink()
            output = resumed.communicate(timeout=LIMIT)[0]
    finally:
        gate.unlink(missing_ok=True)
    assert resumed.returncode == 0, output
    told = re.search(r"cancelling \d+ jobs of the killed run: (.*)", output)
    assert told, output
    cancelled = set(told.group(1).split())  # but for those that ended by themselves before they were asked for
    assert len(cancelled) >= 2 and orphans - detached_jobs(project, "success") == cancelled, output
    assert cancelled <= detached_jobs(project, "failed")
    assert len(list(folder.glob("?.json"))) == 2 and len(detached_jobs(project, "success")) >= 4
    asked = [line.split() for line in (folder / "asked").read_text().splitlines()]
    assert {len(words) for words in asked} == {5} and [words[3] for words in asked].count("1") >= 2
    assert {words[3] for words in asked} == {"0", "1"}
    # The jobs of a group ran one after another.
    logs = [path.read_text() for path in (project.folder / ".snakemake/detached-jobs").glob("*.log")]
    (log,) = [log for log in logs if "localrule evaluate" in log]
    events = re.findall(r"^localrule evaluate|^Finished jobid", log, re.MULTILINE)
    assert events == ["localrule evaluate", "Finished jobid"] * 4
    assert {path: path.read_bytes() for path in local} == local


SUBMITTED = {
    "PBS": "qsub -l select=1:ncpus=2:mem=1500mb{gpu} -l walltime=2:5:00 job.sh",
    "LSF": "bsub -n 2 -M 1500 -W 125{gpu}",
    "SGE": "qsub -terse -cwd -pe smp 2 -l h_vmem=1500M,h_rt=7500{gpu} job.sh",
}
"""What the examples make of 2 processors, 1500 MB and 125 minutes."""
GPU = {"PBS": ":ngpus=1", "LSF": " -gpu num=1", "SGE": ",gpu=1"}


@pytest.mark.parametrize("system", SUBMITTED)
def test_the_examples_of_other_systems_pass_time_and_gpus_on(tmp_path: Path, system: str):
    script = (ROOT / "workflow/profiles/cluster-generic/submit.sh").read_text(encoding="utf-8")
    page = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    examples = [
        re.findall(rf"^# {system}.*:\n#   (.*)$", script, re.M),
        re.findall(rf"^\| {system} \| `(.*?)`", page, re.M),
    ]
    assert [len(found) for found in examples] == [1, 1]
    for name in ("qsub", "bsub"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "job.sh").touch()
    before = script[script.index("set -euo") : script.index("jobs=")]
    for (example,) in examples:
        (tmp_path / "submit.sh").write_text(before + example)
        for gpus in ("0", "1"):
            command = ["bash", "submit.sh", "2", "1500", "125", gpus, "job.sh"]
            path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
            done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=True)
            assert done.stdout.strip() == SUBMITTED[system].format(gpu=GPU[system] if gpus == "1" else "")


def wait_for(condition: Callable[[], bool]) -> None:
    """Ask until the answer is true."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.2)


def detached_jobs(project: Project, state: str) -> set[str]:
    """Names of the jobs that are in a state, as the profile's own command tells it."""
    script = "workflow/profiles/cluster-generic/status.sh"
    names = {path.stem for path in (project.folder / ".snakemake/detached-jobs").glob("*.pid")}
    return {name for name in names if project.run(script, name).stdout.strip() == state}


def background(project: Project, module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a module of Python in the project's folder."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": "src"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_the_grid_of_the_environment_is_that_of_snakemake(project: Project):
    """`make report PAPER=plada` made the pages of all papers."""
    command = ("env", "PARTIALFAIR_PARAMS=nosuch.yaml", sys.executable, "-m", "snakemake", "--dry-run")
    done = project.run(*command, check=False)
    assert done.returncode and "nosuch.yaml" in done.stdout + done.stderr
    done = project.run(*command, "--config", "params=params.yaml", "--", "demo", check=False)
    assert not done.returncode, done.stderr
