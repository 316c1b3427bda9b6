"""The executor: hands jobs that warm processes can make to them, all others to the shell."""

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from snakemake_executor_plugin_warm import private
from snakemake_executor_plugin_warm.command import Command, parse
from snakemake_executor_plugin_warm.options import ExecutorSettings
from snakemake_executor_plugin_warm.pools import Pools
from snakemake_executor_plugin_warm.process import WarmProcess, thread_variables

Job = Any
_THREADS = re.compile(r"\w+_(NUM|MAXIMUM|MAX)_THREADS")


@dataclass(frozen=True)
class Kind:
    """What a warm process is started with: its interpreter, threads of a job, numbers of threads set by commands."""

    python: str
    threads: int
    variables: tuple[tuple[str, str], ...]

    def environment(self) -> dict[str, str]:
        """Return the variables that say how many threads a job has."""
        return {**thread_variables(self.threads), **dict(self.variables)}


@dataclass(frozen=True)
class Call:
    """How a job is made in a warm process: in which kind, with which further variables."""

    command: Command
    kind: Kind
    variables: tuple[tuple[str, str], ...]


class Executor(private.LocalExecutor):
    """Snakemake's local executor, with warm processes for the jobs that they can make."""

    def __post_init__(self) -> None:
        """Prepare for jobs, or say why none will be warm."""
        super().__post_init__()
        self.settings: ExecutorSettings = self.executor_settings
        self.setup = self.settings.setup()
        self.processes: dict[Kind, WarmProcess] = {}
        self.made_warm = self.started = 0
        self.first_round, self.falling_back = True, threading.Lock()
        obstacle = _obstacle(self.settings)
        self.usable = obstacle is None
        if obstacle is not None:
            self.logger.warning(f"Executor warm: {obstacle}, so all jobs run as with the executor local.")
        launch, capacity = self.settings.launch_command(), self.settings.capacity()
        self.pools = None
        if launch and self.usable:
            self.pools = Pools(lambda: self._start(_USUAL, launch), self.settings.pools, capacity, self)

    def run_jobs(self, jobs: Iterable[Job]) -> None:
        """Start what the scheduler has selected."""
        if self.first_round:
            private.spare_rounds(self.workflow)
            private.stop_in_a_thread()
            self.first_round = False
        for job in jobs:
            self.run_job_pre(job)
            call = self._recognise(job)
            if call is None:
                self.run_job(job)
            else:
                self.submit(job, call)

    def _recognise(self, job: Job) -> Call | None:
        """Return how a warm process makes a job, ``None`` if it cannot."""
        if not (self.usable and private.runs_as_is(job, self.workflow) and private.shell_is_plain()):
            return None
        if self.pools is not None and private.is_local_rule(job, self.workflow):
            return None
        command = parse(job.shellcmd, self.settings.modules)
        python = None if command is None else shutil.which(command.python)
        if command is None or python is None:
            return None
        # Numbers of threads are read when a library is imported: a process of its own for each that is unusual.
        usual = thread_variables(job.threads).items()
        early = tuple(item for item in command.variables if _THREADS.fullmatch(item[0]) and item not in usual)
        job_variables = dict(item for item in command.variables if item not in early)
        folder = job.resources.get("tmpdir")
        if folder and self.pools is None:  # a pool's machine has a folder of its own for temporary files
            job_variables = {**dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), str(folder)), **job_variables}
        return Call(command, Kind(python, job.threads, early), tuple(job_variables.items()))

    def submit(self, job: Job, call: Call) -> None:
        """Hand a job to a warm process."""
        self.workflow.async_run(job.prepare())
        info = SubmittedJobInfo(job=job)
        self.report_job_submission(info)
        content = {
            "module": call.command.module,
            "arguments": call.command.arguments,
            "python": None,
            "variables": dict(call.variables),
            "log": call.command.log,
            "measure": job.benchmark is not None,
        }
        if self.pools is not None:
            if call.kind != _USUAL:
                content |= {
                    "python": call.kind.python,
                    "variables": {**call.kind.environment(), **dict(call.variables)},
                }
            self.pools.submit(info, content)
            return
        while self.usable:
            process = self.processes.get(call.kind)
            if process is not None and process.submit(info, content):
                return
            try:
                if process is not None and not process.prepared:
                    raise OSError(process.last_words or "it ended before it was ready")
                self.processes[call.kind] = self._start(call.kind)
            except OSError as error:
                self._fall_back(str(error))
        self.run_job(job)

    def _start(self, kind: Kind, launch: Sequence[str] = ()) -> WarmProcess:
        """Start a warm process of a kind."""
        # Pools of threads that a rehearsal starts would be missing in the forks, whose jobs would wait for them.
        setup = self.setup if kind.threads == 1 else {**self.setup, "rehearse": None}
        self.started += 1
        return WarmProcess(kind.python, {**os.environ, **kind.environment()}, setup, self, launch)

    def _fall_back(self, reason: str) -> None:
        """Say once that there are no warm processes, and have none from now on."""
        with self.falling_back:
            if self.usable:
                self.usable = False
                self.logger.warning(
                    f"Executor warm: a warm process cannot start ({reason}), so all jobs from here on run as with the "
                    "executor local."
                )

    def ready(self, process: WarmProcess) -> None:
        """Hand waiting jobs to a pool that has become ready; called by its thread."""
        if self.pools is not None:
            self.pools.ready(process)

    def made(self, process: WarmProcess, info: SubmittedJobInfo, outcome: Mapping[str, Any]) -> None:
        """Tell Snakemake what has become of a job; called by a warm process's thread."""
        self.made_warm += 1
        if self.pools is not None:
            self.pools.made(process, info)
        if outcome["status"] != 0:
            self.report_job_error(info, msg=outcome["message"])
            return
        if info.job.benchmark is not None:
            try:
                private.write_benchmark(info.job, outcome["usage"], self.workflow.output_settings.benchmark_extended)
            except OSError as error:
                self.report_job_error(info, msg=f"Cannot write the benchmark file {info.job.benchmark}: {error}.")
                return
        self.report_job_success(info)

    def died(self, process: WarmProcess, unfinished: Sequence[SubmittedJobInfo], status: int) -> None:
        """Count the jobs of a warm process that has died as failed; run them by the shell if it has never begun."""
        if self.pools is not None:
            self.pools.died(process, unfinished, status)
        elif not process.prepared:
            self._fall_back(f"it ended with status {status}" + (f": {process.last_words}" * bool(process.last_words)))
            for info in unfinished:
                self.run_job(info.job)
            return
        advice = "" if self.pools else "; --executor local does without it"
        for info in unfinished:
            self.report_job_error(info, msg=f"The warm process of this job has died (status {status}){advice}.")

    def refused(self, info: SubmittedJobInfo, reason: str) -> None:
        """Count a job that no pool can make as failed."""
        self.report_job_error(info, msg=reason)

    def noted(self, text: str) -> None:
        """Pass on what a warm process has to say."""
        self.logger.warning(f"Executor warm: {text}.")

    def broke(self, error: Exception) -> None:
        """Have Snakemake end with an error that came up in a warm process's thread."""
        self.workflow.scheduler.executor_error_callback(error)

    def no_pools(self, reason: str) -> None:
        """Have Snakemake end because no pool can be started."""
        self.broke(WorkflowError(f"--warm-launch: no warm process can be started: {reason}"))

    def shutdown(self) -> None:
        """End the warm processes and the rest."""
        self._close()
        super().shutdown()

    def cancel(self) -> None:
        """End the warm processes with their jobs, and the rest."""
        self._close()
        super().cancel()

    def _close(self) -> None:
        processes = [*self.processes.values(), *(self.pools.close() if self.pools else ())]
        for process in processes:
            process.close()
        for process in processes:
            process.wait()
        if processes:
            self.logger.info(f"Executor warm: {self.made_warm} jobs in {self.started} warm processes.")
        self.processes.clear()


_USUAL = Kind(sys.executable, 1, ())
"""The kind of a pool; jobs of another kind are processes of their own in it."""


def _obstacle(settings: ExecutorSettings) -> str | None:
    """Return why there can be no warm processes, ``None`` if there can."""
    if not settings.modules:
        return "no --warm-module is given"
    # Elsewhere forks of a process that has imported everything are not safe, and no job ends with its server.
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return f"warm processes need Linux, this is {sys.platform}"
    return None
