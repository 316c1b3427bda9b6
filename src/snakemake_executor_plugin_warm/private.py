"""What the executor uses of Snakemake 9.14 to 9.27 that no interface of its promises, all of it.

Each part has a test of its name in tests/warm_executor/test_private.py, so that an upgrade which breaks one says which.
Besides, the executor relies on what Snakemake's own local executor uses of a job and of the workflow (``job.prepare``,
``job.rule``, ``job.shellcmd``, ``workflow.async_run``, ...).
"""

import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from snakemake.benchmark import BenchmarkRecord, write_benchmark_records
from snakemake.executors.local import Executor as LocalExecutor
from snakemake.executors.local import common_settings
from snakemake.shell import shell

__all__ = [
    "LocalExecutor",
    "common_settings",
    "is_local_rule",
    "runs_as_is",
    "shell_is_plain",
    "spare_rounds",
    "stop_in_a_thread",
    "write_benchmark",
]

_MIB = 1024.0**2


def runs_as_is(job: Any, workflow: Any) -> bool:
    """Whether a job is its shell command and nothing more: no container, cache, shadow directory, repeats or group."""
    if job.is_group() or job.is_norun or not job.is_shell or job.is_shadow or job.rule.is_handover:
        return False
    cached = workflow.workflow_settings.cache is not None and _is_cached(job.rule, workflow)
    deployed = workflow.deployment_settings.deployment_method or job.resources.get("shell_exec")
    return not cached and not deployed and (job.benchmark_repeats or 1) == 1


def _is_cached(rule: Any, workflow: Any) -> bool:
    """Whether the output of a rule is cached between workflows."""
    if not hasattr(rule, "cache"):  # before Snakemake 9.20
        return bool(workflow.cache_rules.get(rule.name))
    return bool(rule.cache and rule.cache.output)  # a rule has a cache whether or not its output is to be cached


def shell_is_plain() -> bool:
    """Whether Snakemake runs commands as they are, or with a prefix or suffix that the Snakefile has set."""
    return not shell._process_prefix and not shell._process_suffix


def is_local_rule(job: Any, workflow: Any) -> bool:
    """Whether a job's rule is to run where Snakemake does: listed under ``localrules``, or ``localrule: True``."""
    return job.rule.name in workflow._localrules or job.is_norun


def stop_in_a_thread() -> None:
    """Let the handler of SIGTERM run in a thread of its own.

    It takes the scheduler's lock, which the main thread may hold when the signal interrupts it: the more jobs are
    ready, the likelier. In the main thread the handler would then wait for itself for ever.
    """
    handler = signal.getsignal(signal.SIGTERM)
    if callable(handler) and threading.current_thread() is threading.main_thread():
        stop = handler
        signal.signal(signal.SIGTERM, lambda *of: threading.Thread(target=stop, args=of, daemon=True).start())


def spare_rounds(workflow: Any) -> None:
    """Take away the default limit of 100 jobs a second, which costs far more than it limits.

    With a limit, every round of scheduling with ready jobs sets off another one a second later, and that one again:
    hundreds of jobs that take seconds make Snakemake look through its jobs all the time. A limit other than the
    default is the user's and stays.
    """
    scheduler, limit = workflow.scheduler, workflow.scheduling_settings.max_jobs_per_timespan
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        scheduler.job_rate_limiter = None
        scheduler.resources["_job_count"] = sys.maxsize


def write_benchmark(job: Any, usage: Mapping[str, float], extended: bool) -> None:
    """Write a job's benchmark file from what the kernel has counted.

    Args:
        job: the job.
        usage: ``seconds`` and ``cpu`` in s; ``rss``, ``vms``, ``uss``, ``pss``, ``read`` and ``written`` in bytes.
        extended: with the columns of ``--benchmark-extended``.
    """
    record = BenchmarkRecord(running_time=max(usage["seconds"], 1e-6))
    columns = {"rss": "max_rss", "vms": "max_vms", "uss": "max_uss", "pss": "max_pss"}
    for name, column in {**columns, "read": "io_in", "written": "io_out"}.items():
        setattr(record, column, usage.get(name, 0) / _MIB)
    record.cpu_time, record.cpu_usage, record.data_collected = usage["cpu"], 100 * usage["cpu"], True
    record.jobid, record.rule_name, record.threads = job.jobid, job.rule.name, job.threads
    record.wildcards, record.params, record.resources = job.wildcards, job.params, job.resources
    record.input = job.input
    records: Sequence[Any] = [record]
    write_benchmark_records(records, str(job.benchmark), extended)
