"""What the plugins use of Snakemake that no interface promises: a test of each part's name.

Where one fails after an upgrade of Snakemake, look at the function of that name in ``private.py``; meanwhile
``--executor local --scheduler greedy`` does without the plugins.
"""

import inspect
import os
import queue
import signal
import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.benchmark import BenchmarkRecord
from snakemake.executors.local import Executor as Local
from snakemake.io import IOFile, flag
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan
from snakemake.shell import shell
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_warm import Executor, ExecutorSettings, executor, private
from tests.warm_executor.toy import SOURCE, Toy

Pair = tuple[Toy, Toy]


def test_local_executor() -> None:
    assert issubclass(Executor, Local)
    assert all(callable(getattr(Local, name)) for name in ("run_job", "run_job_pre", "shutdown", "cancel"))


def test_common_settings() -> None:
    assert private.common_settings.local_exec  # --cores and local resources limit what runs


def test_runs_as_is(pair: Pair) -> None:
    _, warm = pair
    assert warm.probe()["as_is"]["out/a0.txt"]  # test_workflow.py has what does not run as it is


def test_shell_is_plain() -> None:
    assert private.shell_is_plain()
    try:
        shell.prefix("set -x; ")
        assert not private.shell_is_plain()
        shell.prefix("")
        shell.suffix("; true")
        assert not private.shell_is_plain()
    finally:
        shell.prefix("")
        shell.suffix("")
        shell._process_prefix = None
    assert private.shell_is_plain()


def test_made_anew() -> None:
    job = SimpleNamespace(output=[IOFile("a"), IOFile(flag("b", "update"))])
    assert private.made_anew(job) == ["a"]


def test_spare_rounds(pair: Pair) -> None:
    cold, warm = pair
    assert cold.probe()["limiter"] and not warm.probe()["limiter"]
    limit = MaxJobsPerTimespan.parse_choice("100/1s")
    assert (limit.max_jobs, limit.timespan) == (100, 1)


def test_stop_in_a_thread() -> None:
    """SIGTERM comes while the main thread holds the lock that Snakemake's handler takes."""
    assert "with self._lock" in inspect.getsource(JobScheduler.exit_gracefully)
    lock, got = threading.Lock(), queue.SimpleQueue()  # type: ignore[var-annotated]

    def handler(*_: object) -> None:
        if got_it := lock.acquire(timeout=20):
            lock.release()
        got.put(got_it)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        private.stop_in_a_thread()
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
        assert got.get(timeout=60)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("extended", [False, True])
def test_write_benchmark(tmp_path: Path, extended: bool) -> None:
    mib = 1 << 20
    names = {"rss": 2, "vms": 3, "uss": 4, "pss": 5, "read": 6, "written": 7}
    job = SimpleNamespace(
        benchmark=tmp_path / "b.tsv",
        jobid=1,
        rule=SimpleNamespace(name="make"),
        threads=1,
        wildcards={},
        params={},
        resources={},
        input=[],
    )
    private.write_benchmark(
        job, {"seconds": 10.0, "cpu": 5.0, **{name: n * mib for name, n in names.items()}}, extended
    )
    header, row = (line.split("\t") for line in job.benchmark.read_text().splitlines())
    assert header == BenchmarkRecord.get_header(extended)
    assert row[:10] == ["10.00", "0:00:10", "2.00", "3.00", "4.00", "5.00", "6.00", "7.00", "50.00", "5.00"]


def test_place(pair: Pair) -> None:
    _, warm = pair
    places = list(warm.probe()["places"].values())
    assert all(place.isdigit() and len(place) == 12 for place in places) and len(set(places)) == len(places) == 11


def test_rule_and_wildcards(pair: Pair) -> None:
    _, warm = pair
    found = warm.probe()["wildcards"]
    assert found["out/a0.txt"] == ["make", {"block": "a", "number": "0"}]
    assert found["all.txt"] == ["collect", {}]


def test_set_needs(pair: Pair) -> None:
    _, warm = pair
    assert all(warm.probe()["same"])  # one dictionary from the job's selection to its end


def test_own_needs(pair: Pair) -> None:
    _, warm = pair
    assert warm.probe()["needs"]["out/a0.txt"] == [["_cores", 1], ["mem_mb", 100]]
    assert warm.probe()["needs"]["all.txt"][0] == ["_cores", 2]


def test_together_key(pair: Pair) -> None:
    cold, warm = pair
    together = warm.probe()["together"]
    assert together["out/a0.txt"] == together["out/b1.txt"] != together["all.txt"]
    assert together["piped.txt"] is None
    assert set(cold.probe()["together"].values()) == {None}


def test_spare_sizes(pair: Pair) -> None:
    cold, warm = pair
    assert warm.probe()["sizes"] == 1 < cold.probe()["sizes"]


def test_no_warm_processes_where_there_can_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert executor._obstacle(ExecutorSettings(module="toy")) is None
    assert executor._obstacle(ExecutorSettings()) == "no --warm-module is given"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert executor._obstacle(ExecutorSettings(module="toy")) == "warm processes need Linux, this is darwin"


@pytest.mark.parametrize("option", ["rehearse", "together"])
def test_a_function_must_be_named_with_its_module(option: str) -> None:
    with pytest.raises(WorkflowError, match=f"--warm-{option} toy.run: give a function as PACKAGE.MODULE:FUNCTION"):
        ExecutorSettings(module="toy", **{option: "toy.run"}).setup()


def test_both_packages_are_in_the_wheel() -> None:
    wheel = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["packages"]) == sorted(f"src/{path.parent.name}" for path in SOURCE.glob("*/__init__.py"))
