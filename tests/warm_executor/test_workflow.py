"""Whole runs of Snakemake with both plugins, beside runs without them."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warm_executor.toy import BLOCKS, HOOK, WARM, Toy, alive, end, most_at_once, wait_until

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
    # All of rule make and collect warm, in one process for each number of threads; blocks by the hook.
    made = toy.made()
    assert "10 jobs in 2 warm processes" in toy.output
    assert {name for name, entry in made.items() if not entry["warm"]} == {"piped.txt"}
    assert {entry["warm"] for entry in cold.made().values()} == {False}
    assert {entry["together"] for name, entry in made.items() if name.startswith("out/")} == {3}
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
        status = toy.run(*WARM, "--scheduler", "greedy", "--cache", "cached", "--max-jobs-per-timespan", "50/1s")
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
    assert toy.run(*WARM, "--scheduler", "blocks", *options, "--cores", "1") == 1
    assert {path.stem for path in toy.folder.glob("*.txt")} == {"good", "second", "killed", "server", "output"}
    assert toy.output.count("The job ended with exit status 3.") == 2
    assert toy.output.count("The job ended with exit status 4.") == 1
    assert toy.output.count("The job was killed by signal 9 (SIGKILL).") == 1
    assert toy.output.count("The warm process of this job has died (status -9)") == 1
    assert toy.output.count("made status.txt") == 2  # the log of the failed job
    assert "missing.txt" in toy.output.partition("MissingOutputException")[2]
    assert "10 jobs in 2 warm processes" in toy.output
    assert not toy.processes()
    # What has failed is not taken for done.
    assert toy.run("--dry-run", "--scheduler", "greedy") == 0
    assert "total 3" in " ".join(toy.output.split())


def test_one_job_of_a_block_fails_and_comes_back_with_more_memory(toy: Toy) -> None:
    toy.rules(
        """
rule all:
    input:
        expand("{block}{number}.txt", block=list("ab"), number=range(4)),


rule make:
    output:
        "{block}{number}.txt",
    log:
        "logs/{block}{number}.log",
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 400,
    params:
        lambda wildcards: "exit_once=4" if wildcards.block + wildcards.number == "a1" else "",
    shell:
        "python -m toy {output} 1 {params} sleep=0.05 > {log} 2>&1"
"""
    )
    options = ["--retries", "1", "--resources", "mem_mb=900", "--cores", "2"]
    assert toy.run(*WARM, *BLOCKS, *HOOK, *options) == 0, toy.output
    # All but the one are made once, together; that one alone in its second attempt.
    assert "Execute 8 jobs" in toy.output
    assert {entry["out"]: entry["together"] for entry in toy.trace()} == {
        f"{block}{number}.txt": 0 if (block, number) == ("a", 1) else 4 for block in "ab" for number in range(4)
    }
    assert len(toy.trace("began")) == 9
    assert "status 4 it was" not in (toy.folder / "logs/a1.log").read_text()  # the log is that of the second attempt
    probe = toy.probe()
    assert probe["reserved"]["a1.txt"] == 800 and probe["left"] == 900


def test_blocks_keep_to_the_limits(toy: Toy) -> None:
    toy.rules(
        """
rule all:
    input:
        expand("{block}{number}.txt", block=list("abcdef"), number=range(3)),


rule make:
    output:
        "{block}{number}.txt",
    log:
        "logs/{block}{number}.log",
    resources:
        mem_mb=400,
    shell:
        "python -m toy {output} 1 sleep=0.1 > {log} 2>&1"
"""
    )
    assert toy.run(*WARM, *BLOCKS, "--resources", "mem_mb=1000", "--cores", "8") == 0, toy.output
    entries = toy.trace()
    assert len(entries) == 18 and most_at_once(entries) == 2
    # The first round: two blocks of three. Later ones depend on which blocks end at the same time.
    assert re.findall(r"Execute (\d+) jobs", toy.output)[0] == "6"
    assert toy.probe()["left"] == 1000


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_nothing_runs_on(toy: Toy, started: list[Any], how: str) -> None:
    one_rule(toy, one="wait", two="stubborn wait", three="", four="")
    options = [*WARM, "--scheduler", "blocks", "--cores", "2"]
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


def test_sigterm_lets_running_jobs_finish(toy: Toy, started: list[Any]) -> None:
    one_rule(toy, one="wait", two="wait")
    started.append(toy.start(*WARM, "--scheduler", "blocks", "--cores", "1"))
    wait_until(lambda: toy.trace("began"))
    os.kill(started[0].pid, signal.SIGTERM)
    wait_until(lambda: "Will exit after finishing currently running jobs" in toy.output)
    (toy.folder / "go").write_text("")
    started[0].wait(timeout=60)
    assert len(toy.made()) == len(toy.trace("began")) == 1
    assert not toy.processes() and not list(toy.folder.glob(".snakemake/incomplete/*"))


def test_without_a_module_all_jobs_go_to_the_shell(toy: Toy) -> None:
    one_rule(toy, one="")
    assert toy.run("--executor", "warm", "--scheduler", "blocks") == 0, toy.output
    assert "Executor warm: no --warm-module is given, so all jobs run as with the executor local." in toy.output
    assert not toy.made()["one.txt"]["warm"]
    shutil.rmtree(toy.folder / ".snakemake")
