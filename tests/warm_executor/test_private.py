"""What the plugin uses of Snakemake that no interface promises: a test of each part's name.

Where one fails after an upgrade of Snakemake, look at the function of that name in ``private.py``; meanwhile
``--executor local`` does without the plugin.
"""

import inspect
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.benchmark import BenchmarkRecord
from snakemake.executors.local import Executor as Local
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan
from snakemake.shell import shell
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_warm import Executor, ExecutorSettings, executor, private
from tests.warm_executor.toy import Toy

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


def test_is_local_rule(toy: Toy) -> None:
    toy.rules(
        "localrules: here\n\nrule all:\n    input: 'here.txt', 'there.txt'\n\nrule here:\n    output: 'here.txt'\n"
        "    shell: 'touch {output}'\n\nrule there:\n    output: 'there.txt'\n    shell: 'touch {output}'\n"
    )
    assert toy.run("--scheduler", "greedy") == 0, toy.output
    assert toy.probe()["local_rule"] == {"here.txt": True, "there.txt": False}


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


def test_no_warm_processes_where_there_can_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert executor._obstacle(ExecutorSettings(module="toy")) is None
    assert executor._obstacle(ExecutorSettings()) == "no --warm-module is given"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert executor._obstacle(ExecutorSettings(module="toy")) == "warm processes need Linux, this is darwin"


def test_a_function_must_be_named_with_its_module() -> None:
    with pytest.raises(WorkflowError, match="--warm-rehearse toy.run: give a function as PACKAGE.MODULE:FUNCTION"):
        ExecutorSettings(module="toy", rehearse="toy.run").setup()
