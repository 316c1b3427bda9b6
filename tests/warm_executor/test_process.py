"""The warm process by itself, without Snakemake."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from snakemake_executor_plugin_warm.process import WarmProcess
from tests.warm_executor.toy import Toy, alive, wait_until

SETUP = {"preload": ["prog", "toy.library"], "rehearse": "toy.library:rehearse"}


class Heard:
    """Listens to a warm process and remembers."""

    def __init__(self) -> None:
        self.outcomes: list[dict[str, Any]] = []
        self.lost: list[int] = []
        self.is_ready = threading.Event()
        self.notes: list[str] = []
        self.ended = threading.Event()

    def ready(self, process: WarmProcess) -> None:
        self.is_ready.set()

    def made(self, process: WarmProcess, task: Any, outcome: Mapping[str, Any]) -> None:
        self.outcomes.append({**outcome, "task": task})

    def died(self, process: WarmProcess, left: Sequence[Any], status: int) -> None:
        self.lost += left
        self.ended.set()

    def noted(self, text: str) -> None:
        self.notes.append(text)
        if "no_such_module_for_the_listener" in text:
            raise KeyError(text)

    def broke(self, error: Exception) -> None:
        self.notes.append(f"broke: {error!r}")


class Warm:
    """A warm process in the toy project."""

    def __init__(self, toy: Toy, setup: Mapping[str, Any], launch: Sequence[str]) -> None:
        self.heard = Heard()
        self.process = WarmProcess(sys.executable, toy.environment, setup, self.heard, launch)

    def submit(self, module: str, *jobs: list[str], python: str | None = None, **variables: str) -> None:
        for place, job in enumerate(jobs):
            content = {"module": module, "arguments": job, "python": python, "variables": variables}
            assert self.process.submit(place, {**content, "log": f"log{place}.txt", "measure": True})

    def make(self, module: str, *jobs: list[str], python: str | None = None, **variables: str) -> list[dict[str, Any]]:
        """Make jobs; return their outcomes in the order in which they were told."""
        before = len(self.heard.outcomes)
        self.submit(module, *jobs, python=python, **variables)
        wait_until(lambda: len(self.heard.outcomes) == before + len(jobs))
        return self.heard.outcomes[before:]


@pytest.fixture
def start(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Warm]]:
    """Start a warm process with some options; it ends with the test."""
    monkeypatch.chdir(toy.folder)
    started: list[Warm] = []

    def start(launch: Sequence[str] = (), **setup: Any) -> Warm:
        started.append(Warm(toy, {**SETUP, **setup}, launch))
        return started[-1]

    yield start
    for warm in started:
        warm.process.close()
        warm.process.wait()
    for pid in toy.processes():
        os.kill(pid, signal.SIGKILL)


def test_ends_as_a_python_process_does(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start()
    for way in ("well", "status", "text", "raise", "exit_function", "thread", "kill", "interrupt"):
        (outcome,) = warm.make("prog", [way, "a b"])
        text = Path("log0.txt").read_text()
        with open("cold.txt", "w") as stream:
            cold = subprocess.run(
                [sys.executable, "-m", "prog", way, "a b"], stdout=stream, stderr=stream, env=toy.environment
            )
        assert outcome["status"] == cold.returncode, way
        assert bool(outcome["message"]) == (cold.returncode != 0)
        # Tracebacks begin in other files; the end of what was written is the same.
        expected = Path("cold.txt").read_text()
        assert sorted(text.splitlines())[-1:] == sorted(expected.splitlines())[-1:]
        if "Traceback" not in expected:
            assert sorted(text.splitlines()) == sorted(expected.splitlines()), way


def test_a_job_sees_the_work_of_the_rehearsal_and_its_own_variables(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start()
    warm.make("toy", ["a.txt", "1"], OWN="mine", TMPDIR=str(toy.folder))
    warm.make("toy", ["b.txt", "1"])
    one, two = toy.made()["a.txt"], toy.made()["b.txt"]
    assert one["warm"] and two["warm"] and one["rehearsed"] and two["rehearsed"]
    assert one["parent"] == two["parent"] and one["pid"] != two["pid"]
    assert (one["variables"]["OWN"], two["variables"]["OWN"]) == ("mine", None)
    assert not warm.heard.notes


def test_random_numbers_differ_from_job_to_job(start: Callable[..., Warm]) -> None:
    warm = start()
    drawn = set()
    for _ in range(3):
        warm.make("prog", ["random"])
        drawn.add(Path("log0.txt").read_text())
    assert len(drawn) == 3


def test_what_a_job_uses_is_counted_for_it_alone(start: Callable[..., Warm]) -> None:
    warm = start()
    (plain,), (large,), (busy,) = (warm.make("prog", job) for job in (["well"], ["memory"], ["busy", "0.4"]))
    assert large["usage"]["rss"] > plain["usage"]["rss"] + (48 << 20)
    assert large["usage"]["vms"] > plain["usage"]["vms"]
    assert busy["usage"]["cpu"] > plain["usage"]["cpu"] + 0.2
    assert busy["usage"]["seconds"] >= busy["usage"]["cpu"] - 0.02
    assert all(0 < plain["usage"][name] < 1 << 32 for name in ("pss", "uss", "vms", "rss"))


def test_a_failing_job_leaves_the_others_alone(start: Callable[..., Warm]) -> None:
    outcomes = start().make("toy", ["a.txt", "1", "exit=3"], ["b.txt", "2"], ["c.txt", "3", "kill_once"])
    assert {outcome["task"]: outcome["status"] for outcome in outcomes} == {0: 3, 1: 0, 2: -9}
    assert {outcome["message"] for outcome in outcomes} == {
        "",
        "The job ended with exit status 3.",
        "The job was killed by signal 9 (SIGKILL).",
    }


def test_a_job_may_be_a_process_of_its_own(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start()
    (outcome,) = warm.make("toy", ["a.txt", "1", "exit=3"], python=sys.executable, OWN="mine")
    (entry,) = toy.trace("began")
    assert outcome["status"] == 3 and not entry["warm"] and entry["variables"]["OWN"] == "mine"
    assert outcome["usage"]["seconds"] > 0 and outcome["usage"]["rss"] > 0
    assert Path("log0.txt").read_text() == "made a.txt\n"


def test_a_process_is_launched_by_a_command(toy: Toy, start: Callable[..., Warm]) -> None:
    """As by `srun`: its standard streams are the connection, and what it says otherwise is kept apart."""
    warm = start(launch=["sh", "-c", 'echo launched >&2; exec "$@"', "launcher"])
    (outcome,) = warm.make("toy", ["a.txt", "1"])
    assert outcome["status"] == 0 and toy.made()["a.txt"]["warm"]
    assert warm.heard.is_ready.is_set() and warm.process.prepared and warm.process.last_words == "launched"


def test_a_launch_command_that_fails_has_the_last_word(start: Callable[..., Warm]) -> None:
    warm = start(launch=["sh", "-c", "echo no such partition >&2; exit 7", "launcher"])
    assert warm.heard.ended.wait(60)
    assert not warm.process.prepared and warm.process.last_words == "no such partition"
    assert not warm.process.submit("job", {})


def test_options_that_fail_are_told_and_jobs_go_on(start: Callable[..., Warm]) -> None:
    warm = start(preload=["no_such_module"], rehearse="toy.library:no_such_function")
    (outcome,) = warm.make("toy", ["a.txt", "1"])
    assert outcome["status"] == 0
    assert "--warm-preload no_such_module failed" in warm.heard.notes[0]
    assert "--warm-rehearse toy.library:no_such_function failed" in warm.heard.notes[1]


def test_an_error_of_the_listener_is_not_lost(start: Callable[..., Warm]) -> None:
    warm = start(preload=["no_such_module_for_the_listener"])
    wait_until(lambda: warm.heard.notes[1:])
    assert warm.heard.notes[1].startswith("broke: KeyError(")


def test_a_log_that_cannot_be_written_is_the_failure_of_its_job(start: Callable[..., Warm]) -> None:
    Path("log0.txt").mkdir()
    (outcome,) = start().make("toy", ["a.txt", "1"])
    assert outcome["status"] == 1


def test_jobs_end_with_their_process(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start()
    warm.submit("toy", ["a.txt", "1", "stubborn", "wait"], ["b.txt", "2", "wait"])
    wait_until(lambda: len(toy.trace("began")) == 2)
    began = toy.trace("began")
    os.kill(began[0]["parent"], signal.SIGKILL)
    assert warm.heard.ended.wait(30)
    wait_until(lambda: not any(alive(entry["pid"]) for entry in began), seconds=30)
    assert warm.heard.lost == [0, 1] and not warm.heard.outcomes
    assert not warm.process.submit("task", {})


def test_closing_ends_jobs_that_do_not_want_to(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start()
    warm.submit("toy", ["a.txt", "1", "stubborn", "wait"])
    wait_until(lambda: toy.trace("began"))
    warm.process.close()
    warm.process.wait()
    wait_until(lambda: not toy.processes(), seconds=30)
    assert not warm.heard.lost and not warm.heard.outcomes


PARENT = """
import sys, time
from snakemake_executor_plugin_warm.process import WarmProcess
from tests.warm_executor.test_process import Heard

setup = {"preload": [], "rehearse": "toy_rehearsal:slow"}
process = WarmProcess(sys.executable, dict(__import__("os").environ), setup, Heard())
print(process._process.pid, flush=True)
time.sleep(600)
"""


def test_a_process_that_prepares_ends_with_its_executor(tmp_path: Path) -> None:
    """It reads nothing meanwhile: who resumes a killed run would find it at work for minutes."""
    (tmp_path / "toy_rehearsal.py").write_text(
        "import pathlib, time\ndef slow():\n    pathlib.Path('begun').touch()\n    time.sleep(600)\n"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(tmp_path), str(root), str(root / "src")])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    server = int(parent.stdout.readline())
    wait_until((tmp_path / "begun").exists)
    assert alive(server)
    parent.kill()
    parent.wait()
    try:
        wait_until(lambda: not alive(server))
    finally:
        if alive(server):
            os.kill(server, signal.SIGKILL)
