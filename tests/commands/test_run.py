"""`partialfair run`: one line of progress, the whole output in a file, and a near name for a target that is none."""

import io
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.commands import runner
from partialfair.commands.cli import app
from partialfair.commands.forecast import Forecast, recorded
from partialfair.commands.progress import Progress, at_times, follow
from partialfair.commands.runner import require_targets
from partialfair.errors import ConfigError, PartialFairError
from partialfair.grid.config import load_config
from partialfair.jobs.resume import RECORD
from partialfair.tables.files import write_json
from tests.processes import running
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


def test_targets_are_names_of_the_grid_or_files():
    require_targets(["figure1", "demo", "psp", "reports/figure1/figure1.csv"], ROOT / "params.yaml")
    with pytest.raises(ConfigError, match=r"there is no target 'figur1'; the nearest are figure1"):
        require_targets(["figur1"], ROOT / "params.yaml")
    require_targets(["raw"], ROOT / "params.yaml", ["a9a", "simulated"])
    with pytest.raises(ConfigError, match="unknown dataset 'bnk'; did you mean 'bank'"):
        require_targets(["raw"], ROOT / "params.yaml", ["a9a", "bnk"])


def test_an_unknown_target_ends_with_status_2_before_anything_starts(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = CliRunner().invoke(app, ["run", "nosuch"])
    assert isinstance(found.exception, ConfigError) and "nosuch" in str(found.exception)


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


def test_runs_of_methods_that_do_not_apply_are_told_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = load_config(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "require_targets", lambda *_: config)
    Path("Snakefile").touch()
    statuses = {"psp": ["ok", "not_applicable", "not_applicable"], "pdp": ["ok", "infeasible"]}
    for name, found in statuses.items():
        Path("reports", name).mkdir(parents=True)
        pd.DataFrame({"status": found}).to_parquet(f"reports/{name}/runs.parquet")
    said = ["psp: in 2 of 3 runs the method does not apply; `reason` in reports/psp/runs.parquet says why"]
    assert "psp" in config.params.exhibits["figure2"].experiments
    for targets, status, expected in (
        (["psp", "pdp", "demo"], 0, said),
        (["figure2"], 0, said),
        ([], 0, said),
        (["pdp"], 0, []),
        (["data/processed/a9a/table.npz"], 0, []),
        (["psp"], 1, []),
    ):
        monkeypatch.setattr(runner, "follow", lambda *_, status=status, **__: status)
        assert runner.run_workflow(targets, Path("params.yaml")) == status
        assert capsys.readouterr().out.splitlines() == expected, targets


def test_the_command_that_continues_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    named: list[str] = []

    def stopped(*_: object, again: Callable[[], str], **__: object) -> int:
        named.append(again())
        return 143

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(runner.AGAIN, raising=False)
    monkeypatch.setattr(runner, "follow", stopped)
    monkeypatch.setattr(runner, "require_targets", lambda *_: None)
    monkeypatch.setattr(runner, "recorded", lambda *_: None)
    Path("Snakefile").touch()
    assert runner.run_workflow(["psp", "pdp"], Path("params.yaml"), "2") == 143
    runner.run_workflow([], Path("papers/plada/grid.yaml"))
    runner.run_workflow(["raw"], Path("params.yaml"), datasets="a9a bank")
    monkeypatch.setenv(runner.AGAIN, "make demo")
    runner.run_workflow(["demo"], Path("params.yaml"))
    Path(".snakemake/locks").mkdir(parents=True)
    Path(".snakemake/locks/0.input.lock").touch()
    runner.run_workflow(["demo"], Path("params.yaml"))
    assert named == [
        "partialfair run psp pdp --cores 2",
        "partialfair run --cores all --config papers/plada/grid.yaml",
        "partialfair run raw --cores all --datasets 'a9a bank'",
        "make demo",
        f"cd {tmp_path} && partialfair resume",
    ]


def test_a_resumed_run_shows_its_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd):
    """Once its output stood on the terminal in full: thousands of lines, and none of them said how much is left."""
    monkeypatch.chdir(tmp_path)
    asked: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(runner, "recorded", lambda grid, targets: asked.append((grid, list(targets))))
    monkeypatch.setattr("partialfair.grid.config.load_config", str)
    script = f"print({LOG!r})"
    status = runner.repeat([sys.executable, "-c", script, "--config", "params=other.yaml", "--", "demo", "psp"])
    assert status == 0 and asked == [("other.yaml", ["demo", "psp"])]
    assert "rule train" not in "".join(capfd.readouterr())
    assert runner.LOG.read_text().strip() == LOG.strip()
    runner.repeat([sys.executable, "-c", script, "demo"])
    assert len(asked) == 1
    kept: list[list[str]] = []
    monkeypatch.setattr(runner, "become", lambda command: kept.append(list(command)) or sys.exit(0))
    with pytest.raises(SystemExit):
        runner.repeat([sys.executable, "-c", script, "--dry-run", "--", "demo"])
    assert len(kept) == 1


def test_a_run_beside_another_is_refused_and_leaves_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "require_targets", lambda *_: None)
    monkeypatch.setattr(runner, "recorded", lambda *_: None)
    Path("Snakefile").touch()
    runner.LOG.parent.mkdir()
    runner.LOG.write_text("3 of 12 steps (25%) done\n")
    with running("snakemake") as alive:
        record = {"host": platform.node(), "pid": alive, "arguments": []}
        write_json(RECORD, record)
        with pytest.raises(PartialFairError, match=f"still runs here as process {alive}; wait for it"):
            runner.run_workflow(["demo"], Path("params.yaml"))
        assert runner.LOG.read_text() == "3 of 12 steps (25%) done\n"
    monkeypatch.setattr(runner, "follow", lambda *_, **__: 0)
    monkeypatch.setattr(runner, "idle", lambda *_: ())
    assert runner.run_workflow(["demo"], Path("params.yaml")) == 0
    write_json(RECORD, record | {"host": "elsewhere"})
    assert runner.run_workflow(["demo"], Path("params.yaml")) == 0


def test_of_two_runs_that_begin_at_once_one_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The second one emptied the log of the first, and failed without a reason."""
    monkeypatch.chdir(tmp_path)
    with runner.alone():
        runner.LOG.write_text("3 of 12 steps (25%) done\n")
        with pytest.raises(PartialFairError, match="another run has just begun in this folder"), runner.alone():
            pytest.fail("there are two")
        assert runner.LOG.read_text() == "3 of 12 steps (25%) done\n"
    with runner.alone():
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no SIGPIPE on this system")
def test_a_reader_that_has_enough_does_not_fail_a_gate():
    """Status 1 is that of a gate; a reader of the first line alone ends the command by a signal, as any other one."""
    command = f"{sys.executable} -m partialfair list metrics --json | (exec 0<&-); echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == str(128 + signal.SIGPIPE) and not done.stderr


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
