"""The warm process by itself, without Snakemake."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from snakemake_executor_plugin_warm.process import WarmProcess
from tests.warm_executor.toy import Toy, alive, wait_until

SETUP = {"preload": ["prog", "toy.library"], "rehearse": "toy.library:rehearse", "together": None}


class Heard:
    """Listens to a warm process and remembers."""

    def __init__(self) -> None:
        self.outcomes: list[dict[str, Any]] = []
        self.lost: list[int] = []
        self.notes: list[str] = []
        self.ended = threading.Event()

    def made(self, task: Any, outcome: Mapping[str, Any]) -> None:
        self.outcomes.append({**outcome, "task": task})

    def died(self, task: Any, indices: list[int], status: int) -> None:
        self.lost += indices
        self.ended.set()

    def noted(self, text: str) -> None:
        self.notes.append(text)
        if "no_such_module_for_the_listener" in text:
            raise KeyError(text)

    def broke(self, error: Exception) -> None:
        self.notes.append(f"broke: {error!r}")


class Warm:
    """A warm process in the toy project."""

    def __init__(self, toy: Toy, setup: Mapping[str, Any]) -> None:
        self.heard = Heard()
        self.process = WarmProcess(sys.executable, toy.environment, setup, self.heard)

    def submit(self, module: str, *jobs: list[str], **variables: str) -> None:
        described = [
            {"arguments": job, "log": f"log{place}.txt", "outputs": [job[0]] if module == "toy" else []}
            for place, job in enumerate(jobs)
        ]
        content = {"module": module, "variables": variables, "measure": True, "jobs": described}
        assert self.process.submit("task", content)

    def make(self, module: str, *jobs: list[str], **variables: str) -> list[dict[str, Any]]:
        """Make jobs; return their outcomes in the order in which they were told."""
        before = len(self.heard.outcomes)
        self.submit(module, *jobs, **variables)
        wait_until(lambda: len(self.heard.outcomes) == before + len(jobs))
        return self.heard.outcomes[before:]


@pytest.fixture
def start(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Warm]]:
    """Start a warm process with some options; it ends with the test."""
    monkeypatch.chdir(toy.folder)
    started: list[Warm] = []

    def start(**setup: Any) -> Warm:
        started.append(Warm(toy, {**SETUP, **setup}))
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


def test_jobs_of_a_task_are_made_in_a_row_without_the_hook(toy: Toy, start: Callable[..., Warm]) -> None:
    outcomes = start().make("toy", *([f"{name}.txt", name, "sleep=0.05"] for name in "abc"))
    entries = toy.trace()
    assert [outcome["index"] for outcome in outcomes] == [0, 1, 2]
    assert len({entry["pid"] for entry in entries}) == 3
    assert all(first["end"] <= second["start"] for first, second in zip(entries, entries[1:], strict=False))


def test_a_failing_job_leaves_the_others_of_its_task_alone(start: Callable[..., Warm]) -> None:
    outcomes = start().make("toy", ["a.txt", "1", "exit=3"], ["b.txt", "2"], ["c.txt", "3", "kill_once"])
    assert [outcome["status"] for outcome in outcomes] == [3, 0, -9]
    assert outcomes[0]["message"] == "The job ended with exit status 3."
    assert outcomes[2]["message"] == "The job was killed by signal 9 (SIGKILL)."


def test_the_hook_makes_jobs_together(toy: Toy, start: Callable[..., Warm]) -> None:
    outcomes = start(together="toy.library:together").make("toy", *([f"{name}.txt", name] for name in "abc"))
    assert [entry["together"] for entry in toy.trace()] == [3, 3, 3]
    assert len({entry["pid"] for entry in toy.trace()}) == 1
    assert [(outcome["index"], outcome["status"]) for outcome in outcomes] == [(0, 0), (1, 0), (2, 0)]
    assert all(outcome["usage"]["seconds"] >= 0 and outcome["usage"]["rss"] > 0 for outcome in outcomes)
    assert Path("log0.txt").read_text().splitlines() == ["made a.txt", "made b.txt", "made c.txt"]
    assert Path("log1.txt").read_text() == "made together with others, see log0.txt\n"


def test_a_job_that_the_hook_reports_as_failed_is_the_only_one(toy: Toy, start: Callable[..., Warm]) -> None:
    jobs = ["a.txt", "1"], ["b.txt", "2", "exit=4"], ["c.txt", "3"]
    outcomes = start(together="toy.library:together").make("toy", *jobs)
    assert [outcome["status"] for outcome in outcomes] == [0, 4, 0]
    assert "status 4 it was" in Path("log1.txt").read_text()
    assert sorted(entry["together"] for entry in toy.trace()) == [3, 3]


def test_what_the_hook_has_not_made_is_made_one_by_one(toy: Toy, start: Callable[..., Warm]) -> None:
    warm = start(together="toy.library:together")
    outcomes = warm.make("toy", ["a.txt", "1"], ["b.txt", "2", "crash"], ["c.txt", "3"])
    assert [outcome["status"] for outcome in outcomes] == [0, 0, 0]
    assert {name: entry["together"] for name, entry in toy.made().items()} == {"a.txt": 3, "b.txt": 0, "c.txt": 0}
    assert "none of us" in Path("log0.txt").read_text()
    (note,) = warm.heard.notes
    assert "toy.library:together ended with exit status 1; 2 jobs are made one by one; see log0.txt" in note


def test_a_file_that_the_hook_has_left_unfinished_is_removed_first(start: Callable[..., Warm]) -> None:
    Path("b.txt").write_text("half")
    outcomes = start(together="toy.library:together").make(
        "toy", ["a.txt", "1", "decline"], ["b.txt", "2", "no_output"]
    )
    assert [outcome["status"] for outcome in outcomes] == [0, 0]
    assert not Path("b.txt").exists()


def test_the_last_job_is_told_last_and_when_nothing_runs_any_more(toy: Toy, start: Callable[..., Warm]) -> None:
    # The hook makes c first and then dies with a; c, which holds the task's place, is told after a and b.
    (toy.folder / "hook.py").write_text(
        "from toy import library\n\ndef backwards(jobs, report):\n    library.main(jobs[2])\n    report(2)\n    1 / 0\n"
    )
    outcomes = start(together="hook:backwards").make("toy", ["a.txt", "1"], ["b.txt", "2"], ["c.txt", "3"])
    assert [outcome["index"] for outcome in outcomes] == [0, 1, 2]
    assert len([entry for entry in toy.trace() if entry["out"] == "c.txt"]) == 1


def test_several_jobs_reported_at_once_share_what_was_used(toy: Toy, start: Callable[..., Warm]) -> None:
    (toy.folder / "hook.py").write_text(
        "import time\n\ndef at_once(jobs, report):\n"
        "    while time.process_time() < 0.3:\n        pass\n    report(range(len(jobs)))\n"
    )
    outcomes = start(together="hook:at_once").make("toy", ["a.txt", "1"], ["b.txt", "2"], ["c.txt", "3"])
    used = [outcome["usage"]["cpu"] for outcome in outcomes]
    assert max(used) == pytest.approx(min(used)) and 0.25 < sum(used) < 2


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
    warm.submit("toy", ["a.txt", "1", "stubborn", "wait"], ["b.txt", "2"])
    wait_until(lambda: toy.trace("began"))
    (entry,) = toy.trace("began")
    os.kill(entry["parent"], signal.SIGKILL)
    assert warm.heard.ended.wait(30)
    wait_until(lambda: not alive(entry["pid"]), seconds=30)
    assert warm.heard.lost == [0, 1] and not warm.heard.outcomes
    assert not warm.process.submit("task", {"jobs": [{}]})


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

setup = {"preload": [], "rehearse": "toy_rehearsal:slow", "together": None}
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
