"""The logger ``events``: what it writes of a run."""

import json
from typing import Any

from tests.warm_executor.toy import WARM, Toy

RULES = """
rule all:
    input:
        "good.txt",
        "bad.txt",


rule make:
    output:
        "{name}.txt",
    log:
        "{name}.log",
    params:
        lambda wildcards: "exit=3" if wildcards.name == "bad" else "",
    shell:
        "python -m toy {output} 1 {params} > {log} 2>&1"
"""


def events(toy: Toy, *options: str) -> list[dict[str, Any]]:
    toy.run(*options, "--cores", "1", "--keep-going", "--logger", "events", "--logger-events-file", "events.jsonl")
    return [json.loads(line) for line in (toy.folder / "events.jsonl").read_text().splitlines()]


def test_a_run_is_told_in_events(toy: Toy) -> None:
    toy.rules(RULES)
    told = events(toy, *WARM)
    assert all(entry["time"] > 1e9 for entry in told)
    by_name = {name: [entry for entry in told if entry["event"] == name] for name in {e["event"] for e in told}}
    assert by_name["run_info"][0]["stats"] == {"all": 1, "make": 2, "total": 3}
    began = {entry["jobid"]: (entry["rule_name"], entry["wildcards"]) for entry in by_name["job_info"]}
    assert sorted(began.values(), key=str) == [("make", {"name": "bad"}), ("make", {"name": "good"})]
    (finished,) = by_name["job_finished"]
    assert began[finished["job_id"]][1] == {"name": "good"}
    assert [(entry["done"], entry["total"]) for entry in by_name["progress"]] == [(1, 3)]
    failed = by_name["job_error"][0]  # older releases say it once more at the end
    assert {entry["jobid"] for entry in by_name["job_error"]} == {failed["jobid"]}
    assert (failed["rule_name"], failed["rule_msg"]) == ("make", "The job ended with exit status 3.")
    assert failed["log"][0].split(" ")[0] == "bad.log"
    # Snakemake's own output is whole.
    assert "1 of 3 steps" in toy.output and "Error in rule make:" in toy.output


def test_an_error_of_the_snakefile_is_an_event(toy: Toy) -> None:
    toy.rules("raise WorkflowError('no such table')\n")
    (error,) = [entry for entry in events(toy, "--scheduler", "greedy") if entry["event"] == "error"]
    assert error["exception"] == "WorkflowError" and "no such table" in error["text"]


def test_the_file_must_be_named_and_writable(toy: Toy) -> None:
    toy.rules(RULES)
    assert toy.run("--logger", "events", "--scheduler", "greedy") == 1
    assert "--logger events: name a file by --logger-events-file" in toy.output
    assert toy.run("--logger", "events", "--logger-events-file", "none/such", "--scheduler", "greedy") == 1
    assert "--logger-events-file none/such: No such file or directory" in toy.output
