"""Whole runs of Snakemake with the executor, beside runs without it."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warm_executor.toy import WARM, Toy, alive, end, most_at_once, wait_until

ONE_RULE = """
rule all:
    input:
        {outputs},


rule make:
    output:
        "{{name}}.txt",
    log:
        "{{name}}.log",
    params:
        lambda wildcards: {actions}.get(wildcards.name, ""),
    shell:
        "python -m toy {{output}} 1 {{params}} > {{log}} 2>&1"
"""


@pytest.fixture
def started(toy: Toy) -> Iterator[list[Any]]:
    """Runs of Snakemake that a test has started; none is left behind."""
    found: list[Any] = []
    yield found
    for process in found:
        end(process)
    for pid in toy.processes():
        os.kill(pid, signal.SIGKILL)


def one_rule(toy: Toy, **actions: str) -> None:
    """Write a workflow with one rule and an output for each name."""
    toy.rules(ONE_RULE.format(outputs=[f"{name}.txt" for name in actions], actions=actions))


def records(folder: Path) -> dict[str, set[str]]:
    """Snakemake's records: the names of their fields, by output."""
    found = {}
    for path in folder.glob(".snakemake/metadata/*"):
        if path.is_file():
            found[path.name] = set(json.loads(path.read_text()))
    return found


def results(folder: Path) -> dict[str, bytes]:
    """The content of all outputs."""
    paths = [*folder.glob("out/*"), folder / "all.txt", folder / "piped.txt"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_same_results_and_records_as_with_the_executor_local(pair: tuple[Toy, Toy]) -> None:
    cold, toy = pair
    assert len(results(toy.folder)) == 11 and results(toy.folder) == results(cold.folder)
    assert len(records(toy.folder)) == 11 and records(toy.folder) == records(cold.folder)
    # All of rule make and collect warm, in one process for each number of threads.
    made = toy.made()
    assert "10 jobs in 2 warm processes" in toy.output
    assert {name for name, entry in made.items() if not entry["warm"]} == {"piped.txt"}
    assert {entry["warm"] for entry in cold.made().values()} == {False}
    assert made["all.txt"]["variables"]["OMP_NUM_THREADS"] == "2" and not made["all.txt"]["rehearsed"]
    assert made["out/a0.txt"]["variables"]["OMP_NUM_THREADS"] == "1" and made["out/a0.txt"]["rehearsed"]
    for name in made:
        for variable in ("OWN", "TMPDIR", "OMP_NUM_THREADS"):
            assert made[name]["variables"][variable] == cold.made()[name]["variables"][variable], (name, variable)
    # Benchmarks have the same columns, and a number in each.
    for path in cold.folder.glob("benchmarks/*.tsv"):
        header, row = (toy.folder / "benchmarks" / path.name).read_text().splitlines()
        assert header == path.read_text().splitlines()[0]
        assert len(row.split("\t")) == 10 and "NA" not in row and "-" not in row
    assert len(list(toy.folder.glob("benchmarks/*.tsv"))) == 9
    assert toy.run("--dry-run", "--executor", "warm", "--scheduler", "greedy") == 0
    assert "Nothing to be done" in toy.output


def test_what_is_more_than_a_command_goes_to_the_shell(toy: Toy) -> None:
    special = {"shadow": 'shadow: "minimal"', "cached": "cache: True", "repeated": 'benchmark: repeat("b.tsv", 2)'}
    special |= {"shell": 'resources: shell_exec="sh"', "plain": "priority: 1"}
    rules = "\n".join(
        f"rule {name}:\n    output: '{name}.txt'\n    log: '{name}.log'\n    {line}\n"
        f"    shell: 'python -m toy {{output}} 1 > {{log}} 2>&1'\n"
        for name, line in special.items()
    )
    toy.rules(f"rule all:\n    input: {[f'{name}.txt' for name in special]}\n{rules}")
    os.environ["SNAKEMAKE_OUTPUT_CACHE"] = str(toy.folder / "cache")
    (toy.folder / "cache").mkdir()
    try:
        status = toy.run(*WARM, "--cache", "cached", "--max-jobs-per-timespan", "50/1s")
    finally:
        del os.environ["SNAKEMAKE_OUTPUT_CACHE"]
    assert status == 0, toy.output
    assert "1 jobs in 1 warm processes" in toy.output
    assert {name for name, entry in toy.made().items() if entry["warm"]} == {"plain.txt"}
    assert toy.probe()["as_is"] == {f"{name}.txt": name == "plain" for name in special}
    assert all((toy.folder / f"{name}.txt").exists() for name in special)
    assert toy.probe()["limiter"]  # this limit is the user's own


def test_faults_are_those_of_their_jobs(toy: Toy) -> None:
    actions = {
        "good": "",
        "status": "exit=3",
        "second": "exit_once=4",
        "missing": "no_output",
        "killed": "kill_once",
        "server": "kill_server_once",
    }
    one_rule(toy, **actions)
    options = ["--keep-going", "--retries", "1", "--show-failed-logs", "--latency-wait", "0"]
    assert toy.run(*WARM, *options, "--cores", "1") == 1
    assert {path.stem for path in toy.folder.glob("*.txt")} == {"good", "second", "killed", "server", "output"}
    assert toy.output.count("The job ended with exit status 3.") == 2
    assert toy.output.count("The job ended with exit status 4.") == 1
    assert toy.output.count("The job was killed by signal 9 (SIGKILL).") == 1
    assert toy.output.count("The warm process of this job has died (status -9); --executor local does without it.") == 1
    assert toy.output.count("made status.txt") >= 2  # the log of the failed job; older releases say it once more
    assert "missing.txt" in toy.output.partition("MissingOutputException")[2]
    assert "10 jobs in 2 warm processes" in toy.output
    assert not toy.processes()
    # What has failed is not taken for done.
    assert toy.run("--dry-run", "--scheduler", "greedy") == 0
    assert "total 3" in " ".join(toy.output.split())


def test_limits_are_kept(toy: Toy) -> None:
    toy.rules(
        """
rule all:
    input:
        expand("{number}.txt", number=range(9)),


rule make:
    output:
        "{number}.txt",
    log:
        "logs/{number}.log",
    resources:
        mem_mb=400,
    shell:
        "python -m toy {output} 1 sleep=0.1 > {log} 2>&1"
"""
    )
    assert toy.run(*WARM, "--resources", "mem_mb=1000", "--cores", "8") == 0, toy.output
    entries = toy.trace()
    assert len(entries) == 9 and most_at_once(entries) == 2


@pytest.mark.long(suite="executors")
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_nothing_runs_on(toy: Toy, started: list[Any], how: str) -> None:
    one_rule(toy, one="wait", two="stubborn wait", three="", four="")
    options = [*WARM, "--cores", "2"]
    started.append(toy.start(*options, "one.txt", "two.txt"))
    wait_until(lambda: len(toy.trace("began")) == 2)
    seen = toy.processes()
    assert len(seen) == 3
    if how == "interrupt":
        os.killpg(started[0].pid, signal.SIGINT)
    else:
        os.kill(started[0].pid, signal.SIGKILL)
    started[0].wait(timeout=60)
    wait_until(lambda: not any(alive(pid) for pid in seen))
    assert started[0].returncode != 0
    assert len(list(toy.folder.glob(".snakemake/incomplete/*"))) == 2
    # The same command goes on where it was.
    (toy.folder / "go").write_text("")
    if how == "kill":
        assert toy.run("--unlock") == 0
    assert toy.run(*options, "--rerun-incomplete") == 0, toy.output
    assert "4 jobs in 1 warm processes" in toy.output
    assert not list(toy.folder.glob(".snakemake/incomplete/*"))


@pytest.mark.long(suite="executors")
def test_sigterm_lets_running_jobs_finish(toy: Toy, started: list[Any]) -> None:
    one_rule(toy, one="wait", two="wait")
    started.append(toy.start(*WARM, "--cores", "1"))
    wait_until(lambda: toy.trace("began"))
    os.kill(started[0].pid, signal.SIGTERM)
    wait_until(lambda: "Will exit after finishing currently running jobs" in toy.output)
    (toy.folder / "go").write_text("")
    started[0].wait(timeout=60)
    assert len(toy.made()) == len(toy.trace("began")) == 1
    assert not toy.processes() and not list(toy.folder.glob(".snakemake/incomplete/*"))


def test_without_a_module_all_jobs_go_to_the_shell(toy: Toy) -> None:
    one_rule(toy, one="")
    assert toy.run("--executor", "warm", "--scheduler", "greedy") == 0, toy.output
    assert "Executor warm: no --warm-module is given, so all jobs run as with the executor local." in toy.output
    assert not toy.made()["one.txt"]["warm"]
    shutil.rmtree(toy.folder / ".snakemake")


@pytest.mark.long(suite="executors")
@pytest.mark.parametrize("way", ["crash", "no interpreter", "no memory"])
def test_a_warm_process_that_cannot_start_gives_one_warning_and_the_executor_local(toy: Toy, way: str) -> None:
    one_rule(toy, one="", two="", three="")
    options = list(WARM)
    if way == "crash":
        (toy.folder / "crash.py").write_text("import os, sys\nsys.stderr.write('out of luck\\n')\nos._exit(3)\n")
        options[options.index("toy.library")] = "crash"
    elif way == "no interpreter":
        (toy.folder / "broken").mkdir()
        broken = toy.folder / "broken" / "python"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(0o755)
        rules = (toy.folder / "Snakefile").read_text()
        (toy.folder / "Snakefile").write_text(
            rules.replace("python -m toy", "broken/python -m toy") + "\n\nshell.executable('bash')\n"
        )
    else:
        (toy.folder / "full.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        options[options.index("toy.library")] = "full"
    status = toy.run(*options, "--cores", "2")
    assert toy.output.count("Executor warm: a warm process cannot start (") == 1, toy.output
    assert "so all jobs from here on run as with the executor local." in toy.output
    if way == "no interpreter":  # the shell cannot start it either: that is the job's failure
        assert status == 1
        return
    assert status == 0, toy.output
    assert len(toy.made()) == 3 and not any(entry["warm"] for entry in toy.made().values())
    assert ("out of luck" in toy.output) == (way == "crash")


LAUNCH = "sh -c 'echo pool >> pools.txt; exec \"$@\"' launcher"


@pytest.mark.long(suite="executors")
def test_pools_share_the_jobs_and_keep_to_their_own_limits(toy: Toy) -> None:
    toy.rules(
        """
localrules:
    here,


rule all:
    input:
        expand("{number}.txt", number=range(12)),
        "wide.txt",
        "here.txt",


rule make:
    output:
        "{number}.txt",
    wildcard_constraints:
        number="[0-9]+",
    log:
        "logs/{number}.log",
    benchmark:
        "benchmarks/{number}.tsv"
    resources:
        mem_mb=400,
    shell:
        "python -m toy {output} 1 sleep=0.2 > {log} 2>&1"


rule wide:
    output:
        "wide.txt",
    log:
        "logs/wide.log",
    threads: 2
    shell:
        "python -m toy {output} 1 > {log} 2>&1"


rule here:
    output:
        "here.txt",
    log:
        "logs/here.log",
    shell:
        "python -m toy {output} 1 > {log} 2>&1"
"""
    )
    pools = ["--warm-launch", LAUNCH, "--warm-pools", "3", "--warm-pool-resources", "cores=2,mem_mb=700"]
    assert toy.run(*WARM, *pools, "--cores", "6", "--resources", "mem_mb=2100") == 0, toy.output
    made = toy.made()
    small = [entry for name, entry in made.items() if name[0].isdigit()]
    assert len(small) == 12 and all(entry["warm"] for entry in small)
    parents = {entry["parent"] for entry in small}
    assert len(parents) == 3 == len((toy.folder / "pools.txt").read_text().split())
    for parent in parents:  # 400 MB each of 700
        assert most_at_once(entry for entry in small if entry["parent"] == parent) == 1
    # More threads than a pool's processes have: a process of its own, in a pool. Local rules stay here.
    assert not made["wide.txt"]["warm"] and made["wide.txt"]["parent"] in parents
    assert made["wide.txt"]["variables"]["OMP_NUM_THREADS"] == "2"
    assert not made["here.txt"]["warm"] and made["here.txt"]["parent"] not in parents
    assert "13 jobs in 3 warm processes" in toy.output
    assert len(list(toy.folder.glob("benchmarks/*.tsv"))) == 12


@pytest.mark.long(suite="executors")
def test_a_pool_that_is_killed_loses_what_ran_in_it_alone(toy: Toy) -> None:
    one_rule(toy, a="kill_server_once", b="sleep=1", c="", d="", e="", f="")
    pools = ["--warm-launch", LAUNCH, "--warm-pools", "2", "--warm-pool-resources", "cores=1"]
    assert toy.run(*WARM, *pools, "--cores", "2", "--retries", "1") == 0, toy.output
    assert len(toy.made()) == 6
    assert len(toy.trace("began")) == 7  # one job more than once
    assert len((toy.folder / "pools.txt").read_text().split()) == 3
    assert toy.output.count("The warm process of this job has died (status -9).") == 1


@pytest.mark.long(suite="executors")
def test_a_job_larger_than_a_pool_is_refused_and_a_retry_has_a_pool_for_itself(toy: Toy) -> None:
    one_rule(toy, a="exit_once=3")
    rules = (toy.folder / "Snakefile").read_text()
    pools = ["--warm-launch", LAUNCH, "--warm-pool-resources", "cores=1,mem_mb=500", "--resources", "mem_mb=5000"]
    told = "The job needs mem_mb=900, and a pool has 500; raise --warm-pool-resources."
    for amount, status in (("900", 1), ("attempt * 400", 0)):
        asked = f"    resources:\n        mem_mb=lambda wildcards, attempt: {amount},\n    params:"
        (toy.folder / "Snakefile").write_text(rules.replace("    params:", asked))
        assert toy.run(*WARM, *pools, "--retries", "1" if status == 0 else "0") == status, toy.output
        assert (told in toy.output) == (status == 1)
    assert len(toy.trace("began")) == 2


@pytest.mark.long(suite="executors")
def test_pools_that_cannot_be_started_end_the_run_with_the_reason(toy: Toy) -> None:
    one_rule(toy, a="", b="")
    refuse = "sh -c 'echo srun: error: Invalid partition name specified >&2; exit 1'"
    for launch, reason in ((refuse, "Invalid partition name specified"), ("no-such-srun", "no-such-srun")):
        assert toy.run(*WARM, "--warm-launch", launch, "--warm-pools", "2") == 1
        line = [line for line in toy.output.splitlines() if "--warm-launch: no warm process can be started" in line]
        assert len(line) == 1 and reason in line[0], toy.output
    assert not toy.made()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--warm-pool-resources", "cores"], "--warm-pool-resources cores: give NAME=N, such as cores=2,mem_mb=8000"),
        (["--warm-launch", "srun -c {cpus}"], "--warm-launch srun -c {cpus}: 'cpus'; it may name {cores}"),
    ],
)
def test_options_of_pools_are_checked(toy: Toy, options: list[str], told: str) -> None:
    one_rule(toy, a="")
    assert toy.run(*WARM, *options) == 1
    assert told in toy.output
