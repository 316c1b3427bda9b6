"""`partialfair run`: one line of progress, the whole output in a file, and a near name for a target that is none."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reproduction.commands.forecast import Forecast, recorded
from reproduction.commands.progress import Progress, at_times, follow
from reproduction.grid.config import load_config
from tests.workflow.project import ROOT

RECORDED = Path(__file__).with_name("recorded_run.jsonl")


CHILD = """
import json, signal, sys, time
def say(**event):
    with open(sys.argv[2], "a") as stream:
        stream.write(json.dumps({"time": time.time(), **event}) + "\\n")
def term(*_):
    global stopping
    stopping = True
    print("Will exit after finishing currently running jobs (scheduler).", flush=True)
stopping = False
signal.signal(signal.SIGTERM, term)
try:
    say(event="job_error", jobid=1, rule_name="evaluate", rule_msg=None, log=[])
    say(event="progress", done=3, total=12)
    print("3 of 12 steps (25%) done", flush=True)
    while not (stopping and sys.argv[1] == "obedient"):
        time.sleep(0.05)
except KeyboardInterrupt:
    say(event=None, text="Terminating processes on user request, this might take some time.", warning=False)
    time.sleep(4)
    print("saved", flush=True)
    raise SystemExit(0 if sys.argv[1] == "content" else 1)
say(event="error", exception="WorkflowError", text="WorkflowError:\\nAt least one job did not complete successfully.")
raise SystemExit(1)
"""
PARENT = """
import sys
from pathlib import Path
from reproduction.commands.progress import follow
child, log, manner = sys.argv[1:]
events = str(Path(log).with_suffix(".jsonl"))
sys.exit(follow([sys.executable, child, manner, events], Path(log), sys.stdout, again=lambda: "do it again"))
"""


def begin(number: int, rule: str, now: float, **wildcards: str) -> dict[str, Any]:
    return {"event": "job_info", "time": now, "jobid": number, "rule_name": rule, "wildcards": wildcards, "threads": 1}


def finish(number: int, now: float) -> dict[str, Any]:
    return {"event": "job_finished", "time": now, "job_id": number}


def progress(done: int, total: int) -> dict[str, Any]:
    return {"event": "progress", "time": 0.0, "done": done, "total": total}


def planned(**stats: int) -> dict[str, Any]:
    return {"event": "run_info", "time": 0.0, "stats": {**stats, "total": sum(stats.values())}}


def failure(rule: str, message: str | None = None, log: Sequence[str] = ()) -> dict[str, Any]:
    return {"event": "job_error", "time": 0.0, "jobid": 1, "rule_name": rule, "rule_msg": message, "log": list(log)}


def test_events_become_one_line():
    seen = Progress(start=100.0)
    assert seen.text(101.0) == "0:01  preparing"
    wildcards = {"experiment": "demo", "dataset": "simulated", "algorithm": "idca", "kappa": "0.1", "seed": "0"}
    for event in (begin(1, "train", 110.0, **wildcards), progress(3, 12), failure("evaluate")):
        seen.take(event)
    assert seen.text(130.0) == "3 of 12 steps (25%)  0:30  1 failed  train demo, simulated, idca, 0.1, 0"
    seen.take(progress(12, 12))
    assert "left" not in seen.text(4000.0) and "1:05:00" in seen.text(4000.0)


def test_a_fault_is_told_with_its_reason(tmp_path):
    log = tmp_path / "prepare.log"
    log.write_text("reading\npartialfair: loans.csv: no column 'sex'\n")
    seen = Progress(0.0)
    seen.take(failure("prepare", log=[str(log), str(tmp_path / "missing.log")]))
    seen.take({"event": "error", "time": 0.0, "exception": "WorkflowError", "text": "WorkflowError:\n  why\n"})
    assert seen.faults == ["Error in rule prepare", "partialfair: loans.csv: no column 'sex'", "WorkflowError: why"]
    assert seen.failed == 1
    texts = {
        'InputFunctionException in rule train in file "workflow/rules/runs.smk", line 4:\nError:\n'
        "  DataError: loans.csv: no column 'sex'\nWildcards:\n": (
            'InputFunctionException in rule train in file "workflow/rules/runs.smk", line 4: Error: '
            "DataError: loans.csv: no column 'sex'"
        ),
        'WorkflowError in file "/project/Snakefile", line 30:\nmine.py, line 43: invalid syntax; correct it\n'
        '  File "/project/Snakefile", line 30, in <module>\n': (
            'WorkflowError in file "/project/Snakefile", line 30: mine.py, line 43: invalid syntax; correct it'
        ),
    }
    for text, told in texts.items():
        seen = Progress(0.0)
        seen.take({"event": "error", "time": 0.0, "exception": "WorkflowError", "text": text})
        assert seen.faults == [told]


def test_what_an_executor_says_is_told():
    seen = Progress(0.0)
    refused = (
        "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: cpu",
        "sbatch: error: Batch job submission failed: Invalid partition name specified'.",
    )
    seen.take(failure("train", "\n".join((*refused, "    sbatch call:", "        sbatch ...", ""))))
    seen.take(failure("split"))
    seen.take({"event": "group_error", "time": 0.0, "groupid": "splits", "job_error_info": []})
    assert seen.faults == [f"Error in rule train: {'; '.join(refused)}", "Error in rule split", "Error in group splits"]


def test_a_warning_of_an_executor_is_said_once_although_the_run_succeeds(tmp_path):
    warning = "Executor warm: a warm process cannot start (no memory), so all jobs run as with the executor local."
    event = {"event": None, "text": warning, "warning": True}
    stream = io.StringIO()
    assert follow(saying(tmp_path, event, event), tmp_path / "run.log", stream) == 0
    assert stream.getvalue().count(warning) == 1


def test_a_run_with_nothing_to_do_says_so(tmp_path):
    text = "Nothing to be done (all requested files are present and up to date)."
    stream = io.StringIO()
    assert follow(saying(tmp_path, {"event": None, "text": text, "warning": False}), tmp_path / "run.log", stream) == 0
    assert stream.getvalue().splitlines()[-1].endswith("  nothing to do")


def saying(folder: Path, *events: dict[str, Any], status: int = 0) -> list[str]:
    """A command that writes these events as the plug-in does."""
    lines = "".join(json.dumps({"time": 0.0, **event}) + "\n" for event in events)
    path = str(folder / "run.jsonl")
    script = f"from pathlib import Path; Path({path!r}).write_text({lines!r}); raise SystemExit({status})"
    return [sys.executable, "-c", script]


RUN = {"experiment": "demo", "dataset": "simulated", "algorithm": "alm", "seed": "0"}


def test_the_time_left_follows_what_the_runs_took_before():
    """Runs take twice what they took before: one of 3 s is done, two of 30 s in the mean and five steps are not."""
    runs = {
        f"data/runs/demo/simulated/alm/kappa={kappa}/seed=0": spent
        for kappa, spent in (("0.1", 3.0), ("0.2", 57.0), ("0.3", 30.0), ("inf", 1000.0))
    }
    seen = Progress(0.0, lambda: Forecast(runs, frozenset(run for run in runs if "inf" not in run)))
    for event in (planned(split=2, train=3, evaluate=3), begin(1, "split", 0.0), finish(1, 20.0), progress(1, 8)):
        seen.take(event)
    assert seen.seconds_left(20.0) is None  # the first step has waited for processes to start
    for event in (begin(2, "train", 20.0, **RUN, kappa="0.1"), finish(2, 26.0), progress(2, 8)):
        seen.take(event)
    assert seen.seconds_left(26.0) == pytest.approx(2 * (30.0 + 57.0 + 4 * 0.6))
    seen.take(begin(3, "train", 26.0, **RUN, kappa="0.2"))
    assert seen.seconds_left(26.0) == pytest.approx(2 * (30.0 + 57.0 + 4 * 0.6))
    # It moves while a long step runs, and a step that takes longer than ever before leaves the others their time.
    assert seen.seconds_left(76.0) == pytest.approx(2 * (30.0 + 57.0 + 4 * 0.6) - 50)
    assert seen.seconds_left(900.0) == pytest.approx(2 * (30.0 + 4 * 0.6))


def test_steps_side_by_side_share_the_time_left_but_for_the_longest():
    seen = Progress(0.0)
    seen.take(planned(train=6))
    for number in range(3):
        seen.take(begin(number, "train", 0.0))
    seen.take(finish(0, 10.0))
    seen.take(progress(1, 6))
    seen.take(begin(3, "train", 10.0))
    seen.take(finish(3, 20.0))
    seen.take(progress(2, 6))
    assert seen.seconds_left(20.0) == pytest.approx(20.0 / 3)  # two to come, and two that should have been done
    seen.take(begin(4, "train", 20.0))
    seen.take(begin(5, "train", 20.0))
    assert seen.seconds_left(20.0) == pytest.approx(10.0)


def test_nothing_is_said_of_the_time_left_after_the_run_was_told_to_end():
    seen = Progress(0.0)
    for event in (planned(train=9), begin(1, "train", 0.0), finish(1, 5.0), begin(2, "train", 5.0), finish(2, 10.0)):
        seen.take(event)
    seen.take(progress(2, 9))
    assert "left" in seen.text(10.0)
    seen.stopping, seen.doing = True, "stopping"
    seen.take(begin(3, "train", 10.0))
    assert "left" not in seen.text(10.0) and seen.text(10.0).endswith("stopping")


def test_the_time_left_of_a_recorded_run_is_near_the_truth(monkeypatch: pytest.MonkeyPatch):
    """The demo on two busy cores, with the forecast of the committed results and without any."""
    monkeypatch.chdir(ROOT)
    events = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    config = load_config(Path("params.yaml"))
    begun, ended = events[0]["time"], events[-1]["time"]
    for forecast in (lambda: recorded(config, ["demo"]), lambda: None):
        seen, errors = Progress(begun, forecast), []
        for event in events:
            seen.take(event)
            left = seen.seconds_left(event["time"])
            if left is not None and event["time"] > begun + 0.3 * (ended - begun):
                errors.append((left + event["time"] - begun) / (ended - begun))
        assert len(errors) > 50
        assert min(errors) > 0.6 and max(errors) < 1.6


def test_a_run_never_made_counts_as_the_nearest_ones():
    """Another seed first, else the same method, else the same dataset, else anything."""
    folder = "data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}"
    made = {"experiment": "demo", "dataset": "simulated", "algorithm": "alm", "kappa": "0.1", "seed": "0"}
    other = {"seed": "3"}, {"kappa": "0.7"}, {"algorithm": "idca"}, {"dataset": "bank"}, {"experiment": "psp"}
    spent = {"seed": 1.0, "kappa": 10.0, "algorithm": 100.0, "dataset": 1_000.0, "experiment": 10_000.0}
    runs = {folder.format(**made): 1.0}
    runs |= {folder.format(**(made | change)): spent[next(iter(change))] for change in other}
    forecast = Forecast(runs, frozenset({folder.format(**(made | {"seed": "9"}))}))
    assert forecast.step("train", made | {"seed": "4"}) == 1.0 == forecast.total({"train": 1})
    assert forecast.step("train", made | {"kappa": "0.3"}) == (1.0 + 1.0 + 10.0) / 3
    assert forecast.step("train", made | {"algorithm": "sfls"}) == (1.0 + 1.0 + 10.0 + 100.0) / 4
    assert forecast.step("train", made | {"experiment": "new"}) == 11_112.0 / 6
    assert forecast.step("evaluate", made) == 0.6


def test_nothing_is_said_of_the_time_left_before_enough_is_done():
    run = RUN | {"kappa": "0.1"}
    folder = "data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}".format(**run)
    seen = Progress(0.0, lambda: Forecast({folder: 300.0}))
    for event in (planned(split=2, train=3), begin(1, "split", 0.0), finish(1, 1.0), begin(2, "split", 1.0)):
        seen.take(event)
    for event in (finish(2, 2.0), progress(2, 5)):
        seen.take(event)
    assert "left" not in seen.text(2.0) and "2 of 5 steps (40%)" in seen.text(2.0)


def test_what_runs_took_is_read_from_the_committed_tables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    config = load_config(Path("params.yaml"))
    forecast = recorded(config, ["psp", "figure2"])
    assert forecast is not None
    jobs = config.jobs("psp")
    assert {str(job.path) for job in jobs} <= set(forecast.trainings)
    runs = pd.read_parquet("reports/psp/runs.parquet")
    job = jobs[len(jobs) // 2]
    own = (runs["dataset"] == job.dataset) & (runs["algorithm"] == job.algorithm) & (runs["seed"] == job.seed)
    assert forecast.trainings[str(job.path)] == runs.loc[own & (runs["kappa"] == job.kappa), "cpu_seconds"].item() > 0
    assert {run.split("/")[2] for run in forecast.trainings} == {"psp", *config.params.exhibits["figure2"].experiments}
    whole = recorded(config, ["paper"])
    assert whole is not None and len(whole.trainings) > len(forecast.trainings)


def test_without_tables_there_is_no_forecast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    config = load_config(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    assert recorded(config, ["psp"]) is None
    Path("reports/psp").mkdir(parents=True)
    Path("reports/psp/runs.parquet").write_text("damaged")
    assert recorded(config, ["psp"]) is None


def test_without_a_terminal_a_line_is_said_at_times():
    now, said = [0.0], list[str]()
    tell = at_times(said.append, pause=30.0, clock=lambda: now[0])
    for second in range(0, 100, 10):
        now[0] = float(second)
        tell(f"after {second}")
    assert said == ["after 30", "after 60", "after 90"]


def test_output_goes_to_the_file_and_the_status_is_the_commands(tmp_path):
    command = saying(tmp_path / "logs", progress(1, 2), failure("train", "The job ended with exit status 3."), status=3)
    command[-1] = f"print('all of it', flush=True); {command[-1]}"
    stream, log = io.StringIO(), tmp_path / "logs" / "run.log"
    assert follow(command, log, stream) == 3
    assert log.read_text() == "all of it\n"
    shown = stream.getvalue()
    assert "Error in rule train: The job ended with exit status 3.\n" in shown
    assert f"failed with status 3; the whole output is in {log}" in shown
    assert len(shown.splitlines()) <= 4


def test_a_command_that_ends_before_its_first_event_has_the_last_word(tmp_path):
    stream = io.StringIO()
    script = "raise SystemExit('snakemake: error: unrecognized arguments: --nonsense')"
    assert follow([sys.executable, "-c", script], tmp_path / "run.log", stream) == 1
    assert "snakemake: error: unrecognized arguments: --nonsense\n" in stream.getvalue()


def test_snakemake_itself_is_followed_by_its_events(tmp_path, monkeypatch):
    """What the plug-in writes is what is read: steps, a job that fails with its own sentence, and a lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    Path("Snakefile").write_text(
        "rule all:\n    input: 'a.txt', 'b.txt'\n\n"
        "rule good:\n    output: 'a.txt'\n    shell: 'touch {output}'\n\n"
        "rule bad:\n    output: 'b.txt'\n    log: 'bad.log'\n"
        "    shell: \"echo 'partialfair: loans.csv: no column' > {log}; exit 3\"\n"
    )
    options = ["--cores", "1", "--executor", "local", "--scheduler", "greedy", "--keep-going"]
    command = [sys.executable, "-m", "snakemake", *options]
    stream = io.StringIO()
    assert follow(command, Path("logs/run.log"), stream) == 1
    told = stream.getvalue()
    assert "1 of 3 steps (33%)" in told and "1 failed" in told
    assert "Error in rule bad\npartialfair: loans.csv: no column\n" in told
    assert "1 of 3 steps" in Path("logs/run.log").read_text()  # Snakemake's own output is whole
    locks = Path(".snakemake/locks")
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("b.txt\n")
    stream = io.StringIO()
    assert follow(command, Path("logs/run.log"), stream) == 1
    assert "another run is under way in this folder" in stream.getvalue()


class Followed:
    """A command that is followed, and what becomes of both."""

    def __init__(self, folder: Path, manner: str) -> None:
        child, parent = folder / "child.py", folder / "parent.py"
        child.write_text(CHILD)
        parent.write_text(PARENT)
        self.log = folder / "run.log"
        command = [sys.executable, str(parent), str(child), str(self.log), manner]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.wait_for("3 of 12")

    def wait_for(self, words: str) -> None:
        while not (self.log.is_file() and words in self.log.read_text()):
            assert self.process.poll() is None
            time.sleep(0.01)

    def end(self) -> tuple[int, str]:
        """Exit status and last line."""
        shown = self.process.communicate()[0]
        assert "Traceback" not in shown and "Traceback" not in self.log.read_text()
        return self.process.returncode, shown.splitlines()[-1]

    def told(self, name: str) -> str:
        whole = f"the whole output is in {self.log}"
        return f"stopped by {name}: 3 of 12 steps are done, 1 had failed before; `do it again` continues; {whole}"


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Callable[[str], Followed]]:
    """A command that behaves in some manner when it is stopped."""
    made: list[Followed] = []

    def start(manner: str) -> Followed:
        made.append(Followed(tmp_path, manner))
        return made[-1]

    yield start
    for one in made:
        with suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)


def test_sigterm_reaches_the_command_and_is_said(followed):
    run = followed("obedient")
    run.process.terminate()
    assert run.end() == (143, run.told("SIGTERM"))
    assert "Will exit after" in run.log.read_text()


def test_a_second_sigterm_ends_the_jobs(followed):
    run = followed("stubborn")
    run.process.terminate()
    run.wait_for("Will exit after")
    run.process.terminate()
    assert run.end() == (143, run.told("SIGTERM"))
    assert "saved" in run.log.read_text()


@pytest.mark.parametrize("whole_group", [True, False], ids=["from a terminal", "by itself"])
def test_an_interrupt_reaches_the_command_once_and_is_awaited(followed, whole_group):
    run = followed("stubborn")
    (os.killpg if whole_group else os.kill)(run.process.pid, signal.SIGINT)
    assert run.end() == (130, run.told("SIGINT"))
    assert run.log.read_text().count("saved") == 1


def test_a_command_that_was_done_when_it_was_stopped_has_not_failed(followed):
    run = followed("content")
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.end()[0] == 0


def test_a_killed_command_is_said_to_be(followed):
    run = followed("stubborn")
    (child,) = children(run.process.pid)
    os.kill(child, signal.SIGKILL)
    assert run.end() == (137, run.told("SIGKILL"))


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_event_that_is_written_in_parts_is_read_as_one(tmp_path: Path):
    script = (
        "import sys, time\n"
        "stream = open(sys.argv[1], 'w')\n"
        'for part in (\'{"time": 0, "event": "progr\', \'ess", "done": 12, "total": 34}\\n{"time": 0\'):\n'
        "    stream.write(part); stream.flush(); time.sleep(0.5)\n"
    )
    stream = io.StringIO()
    assert follow([sys.executable, "-c", script, str(tmp_path / "run.jsonl")], tmp_path / "run.log", stream) == 0
    assert "12 of 34 steps (35%)" in stream.getvalue()
