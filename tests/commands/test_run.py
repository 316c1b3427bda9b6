"""`partialfair run`: one line of progress, the whole output in a file, and a near name for a target that is none."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from partialfair.commands.forecast import Forecast, recorded
from partialfair.commands.progress import Progress, at_times, follow
from partialfair.grid.config import load_config
from tests.workflow.project import ROOT

LOG = """
rule train:
    wildcards: experiment=demo, dataset=simulated, algorithm=idca, kappa=0.1, seed=0
3 of 12 steps (25%) done
Error in rule evaluate:
"""


CHILD = """
import signal, sys, time
def term(*_):
    global stopping
    stopping = True
    print("Will exit after finishing currently running jobs (scheduler).", flush=True)
stopping = False
signal.signal(signal.SIGTERM, term)
try:
    print("Error in rule evaluate:", flush=True)
    print("3 of 12 steps (25%) done", flush=True)
    while not (stopping and sys.argv[1] == "obedient"):
        time.sleep(0.05)
except KeyboardInterrupt:
    print("Terminating processes on user request, this might take some time.", flush=True)
    time.sleep(4)
    print("saved", flush=True)
    raise SystemExit(0 if sys.argv[1] == "content" else 1)
print("WorkflowError:", flush=True)
raise SystemExit(1)
"""
PARENT = """
import sys
from pathlib import Path
from partialfair.commands.progress import follow
child, log, manner = sys.argv[1:]
sys.exit(follow([sys.executable, child, manner], Path(log), sys.stdout, again=lambda: "do it again"))
"""


def test_a_log_becomes_one_line():
    seen = Progress(start=100.0)
    assert seen.text(101.0) == "0:01  preparing"
    for line in LOG.strip().splitlines():
        seen.take(line + "\n")
    line = "3 of 12 steps (25%)  0:30, about 1:30 left  1 failed  train demo, simulated, idca, 0.1, 0"
    assert seen.text(130.0) == line
    seen.take("12 of 12 steps (100%) done\n")
    assert "left" not in seen.text(4000.0) and "1:05:00" in seen.text(4000.0)


def test_a_fault_is_told_with_its_reason():
    seen = Progress(0.0)
    for line in (
        "Error in rule prepare:\n",
        "partialfair: loans.csv: no column 'sex'\n",
        "WorkflowError:\n",
        "  why\n",
    ):
        seen.take(line)
    assert seen.faults == ["Error in rule prepare:", "partialfair: loans.csv: no column 'sex'", "WorkflowError: why"]
    assert seen.failed == 1
    seen = Progress(0.0)
    for line in (
        'InputFunctionException in rule train in file "workflow/rules/runs.smk", line 4:\n',
        "Error:\n",
        "  DataError: loans.csv: no column 'sex'\n",
        "Wildcards:\n",
    ):
        seen.take(line)
    (fault,) = seen.faults
    assert fault.startswith("InputFunctionException in rule train") and fault.endswith(
        "DataError: loans.csv: no column 'sex'"
    )


def test_what_an_executor_says_of_a_job_is_told():
    seen = Progress(0.0)
    for line in (
        "Error in rule train:\n",
        "    message: SLURM sbatch failed. The error message was 'sbatch: error: Invalid partition name specified'.\n",
        "    sbatch call:\n",
        "    jobid: 3\n",
        "Error in rule split:\n",
        "    jobid: 4\n",
    ):
        seen.take(line)
    first, second = seen.faults
    assert first.startswith("Error in rule train: SLURM sbatch failed.") and "Invalid partition name" in first
    assert second == "Error in rule split:"


def test_a_fault_of_the_snakefile_is_told_with_its_reason():
    seen = Progress(0.0)
    for line in (
        'WorkflowError in file "/project/Snakefile", line 30:\n',
        "algorithms/mine.py, line 43: invalid syntax; correct it\n",
        '  File "/project/Snakefile", line 30, in <module>\n',
    ):
        seen.take(line)
    assert seen.faults == [
        'WorkflowError in file "/project/Snakefile", line 30: algorithms/mine.py, line 43: invalid syntax; correct it'
    ]


def test_a_run_with_nothing_to_do_says_so(tmp_path):
    script = 'print("Nothing to be done (all requested files are present and up to date).", end="")'
    stream = io.StringIO()
    assert follow([sys.executable, "-c", script], tmp_path / "run.log", stream) == 0
    assert stream.getvalue().splitlines()[-1].endswith("  nothing to do")


PLANNED = """
Job stats:
job         count
--------  -------
split           2
train           3
evaluate        3
total           8

localrule train:
    jobid: 7
    wildcards: experiment=demo, dataset=simulated, algorithm=alm, kappa=0.1, seed=0
Finished jobid: 7 (Rule: train)
1 of 8 steps (12%) done
"""


def test_the_time_left_follows_what_the_runs_took_before():
    """A run of 3 s is done; two of 30 s in the mean, and five steps besides, are not."""
    runs = {
        f"data/runs/demo/simulated/alm/kappa={kappa}/seed=0": spent
        for kappa, spent in (("0.1", 3.0), ("0.2", 57.0), ("0.3", 30.0), ("inf", 1000.0))
    }
    seen = Progress(0.0, lambda: Forecast(runs, frozenset(run for run in runs if "inf" not in run)))
    for line in PLANNED.strip().splitlines():
        seen.take(line + "\n")
    assert "about 0:57 left" not in seen.text(3.0) and "about 1:30 left" in seen.text(3.0)  # 30 + 57 + 5 * 0.6 s
    for text in (
        "localrule evaluate:",
        "    jobid: 8",
        "Finished jobid: 8 (Rule: evaluate)",
        "2 of 8 steps (25%) done",
    ):
        seen.take(text + "\n")
    assert "about 1:29 left" in seen.text(3.6)
    for job in range(9, 14):  # runs that took longer than ever before do not leave the others no time
        seen.take("    jobid: " + str(job) + "\n")
        seen._work[str(job)] = 40.0
        seen.take(f"Finished jobid: {job} (Rule: train)\n")
    seen.take("7 of 8 steps (88%) done\n")
    assert "about 0:01 left" in seen.text(300.0)
    blind = Progress(0.0)
    for line in PLANNED.strip().splitlines():
        blind.take(line + "\n")
    assert "about 0:21 left" in blind.text(3.0)


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
    seen = Progress(0.0, lambda: Forecast({"data/runs/demo/simulated/alm/kappa=0.1/seed=0": 300.0}))
    for line in PLANNED.replace("localrule train", "localrule split").strip().splitlines():
        seen.take(line + "\n")
    assert "left" not in seen.text(30.0) and "1 of 8 steps (12%)" in seen.text(30.0)


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
    tell = at_times(said.append, every=30.0, clock=lambda: now[0])
    for second in range(0, 100, 10):
        now[0] = float(second)
        tell(f"after {second}")
    assert said == ["after 30", "after 60", "after 90"]


def test_output_goes_to_the_file_and_the_status_is_the_commands(tmp_path):
    script = 'print("1 of 2 steps (50%) done"); print("Error in rule train:"); raise SystemExit(3)'
    stream, log = io.StringIO(), tmp_path / "logs" / "run.log"
    assert follow([sys.executable, "-c", script], log, stream) == 3
    assert "1 of 2 steps (50%) done" in log.read_text()
    shown = stream.getvalue()
    assert "Error in rule train:" in shown and f"failed with status 3; the whole output is in {log}" in shown
    assert len(shown.splitlines()) <= 4


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


def test_a_line_that_is_written_in_parts_is_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = (
        "import sys, time\n"
        "for part in ('12 of 34 st', 'eps (35%) done\\nError in rule tr', 'ain:\\n', 'x'):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.5)\n"
    )
    seen, take = [], Progress.take
    monkeypatch.setattr(Progress, "take", lambda self, line: (seen.append(line), take(self, line)))
    follow([sys.executable, "-c", script], tmp_path / "run.log", io.StringIO())
    assert [line for line in seen if line] == ["12 of 34 steps (35%) done", "Error in rule train:", "x"]
