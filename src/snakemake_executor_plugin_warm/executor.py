"""The executor: hands jobs that warm processes can make to them, all others to the shell."""

import os
import re
import shutil
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from snakemake_executor_plugin_warm import private
from snakemake_executor_plugin_warm.command import Command, parse
from snakemake_executor_plugin_warm.options import ExecutorSettings
from snakemake_executor_plugin_warm.process import WarmProcess, thread_variables

Job = Any
_THREADS = re.compile(r"\w+_(NUM|MAXIMUM|MAX)_THREADS")
BLOCK = "_block"
"""Name under which a scheduler says, in a job's ``scheduler_resources``, which block it has selected the job with."""


@dataclass(frozen=True)
class Kind:
    """What a warm process is started with: its interpreter, threads of a job, numbers of threads set by commands."""

    python: str
    threads: int
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Call:
    """How a job is made in a warm process: in which kind, with what of its own in the environment."""

    command: Command
    kind: Kind
    variables: tuple[tuple[str, str], ...]


class Executor(private.LocalExecutor):
    """Snakemake's local executor, with warm processes for what they can make.

    To a scheduler it offers ``dag.together_key(job)``: a value, or ``None`` for a job that must be alone. Jobs with
    equal values may be selected as a block, marked in their ``scheduler_resources`` by an equal number under
    ``"_block"``: they are made in one process or one after another, and the last one ends last.
    """

    def __post_init__(self) -> None:
        """Prepare for jobs, or say why none will be warm."""
        super().__post_init__()
        self.settings: ExecutorSettings = self.executor_settings
        self.setup = self.settings.setup()
        self.processes: dict[Kind, WarmProcess] = {}
        self.calls: dict[Job, tuple[int, Call | None]] = {}
        self.made_warm = self.started = 0
        self.first_round = True
        obstacle = _obstacle(self.settings)
        self.usable = obstacle is None
        if obstacle is None:
            self.dag.together_key = self.together_key
        else:
            self.logger.warning(f"Executor warm: {obstacle}, so all jobs run as with the executor local.")

    def together_key(self, job: Job) -> Hashable | None:
        """Return what jobs must have in common to be made together, ``None`` for one that no warm process can make."""
        call = self.call(job)
        return None if call is None else (call.kind, call.variables, call.command.module)

    def run_jobs(self, jobs: Iterable[Job]) -> None:
        """Start what the scheduler has selected."""
        if self.first_round:
            private.spare_rounds(self.workflow)
            private.stop_in_a_thread()
            self.first_round = False
        for block in _blocks(jobs):
            for job in block:
                self.run_job_pre(job)
            calls = [self.call(job) for job in block]
            for job in block:
                self.calls.pop(job, None)
            if None in calls:
                for job in block:
                    self.run_job(job)
            else:
                self.submit(block, [call for call in calls if call is not None])

    def call(self, job: Job) -> Call | None:
        """Return how a warm process makes a job, ``None`` if it cannot."""
        found = self.calls.get(job)
        if found is None or found[0] != job.attempt:
            found = (job.attempt, self._recognise(job))
            self.calls[job] = found
        return found[1]

    def _recognise(self, job: Job) -> Call | None:
        if not (self.usable and private.runs_as_is(job, self.workflow) and private.shell_is_plain()):
            return None
        command = parse(job.shellcmd, self.settings.modules)
        python = None if command is None else shutil.which(command.python)
        if command is None or python is None:
            return None
        # Numbers of threads are read when a library is imported: a process of its own for each that is unusual.
        usual = thread_variables(job.threads).items()
        early = tuple(item for item in command.variables if _THREADS.fullmatch(item[0]) and item not in usual)
        own = dict(item for item in command.variables if item not in early)
        if folder := job.resources.get("tmpdir"):
            own = {**dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), str(folder)), **own}
        return Call(command, Kind(python, job.threads, early), tuple(own.items()))

    def submit(self, block: Sequence[Job], calls: Sequence[Call]) -> None:
        """Hand a block of jobs, or one job, to a warm process."""

        async def prepare() -> None:
            for job in block:
                await job.prepare()

        self.workflow.async_run(prepare())
        infos = [SubmittedJobInfo(job=job) for job in block]
        for info in infos:
            self.report_job_submission(info)
        first = calls[0]
        content = {
            "module": first.command.module,
            "variables": dict(first.variables),
            "measure": any(job.benchmark is not None for job in block),
            "jobs": [_described(job, call.command) for job, call in zip(block, calls, strict=True)],
        }
        while not self._process(first.kind).submit(infos, content):
            del self.processes[first.kind]

    def _process(self, kind: Kind) -> WarmProcess:
        """Return the warm process of a kind, started if it is not there."""
        if kind not in self.processes:
            variables = {**os.environ, **thread_variables(kind.threads), **dict(kind.variables)}
            # Pools of threads that a rehearsal starts would be missing in the forks, whose jobs would wait for them.
            setup = self.setup if kind.threads == 1 else {**self.setup, "rehearse": None}
            self.processes[kind] = WarmProcess(kind.python, variables, setup, self)
            self.started += 1
        return self.processes[kind]

    def made(self, task: Sequence[SubmittedJobInfo], outcome: Mapping[str, Any]) -> None:
        """Tell Snakemake what has become of a job; called by a warm process's thread."""
        info = task[outcome["index"]]
        self.made_warm += 1
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

    def died(self, task: Sequence[SubmittedJobInfo], indices: list[int], status: int) -> None:
        """Count jobs whose warm process has died as failed; called by that process's thread."""
        for index in indices:
            message = f"The warm process of this job has died (status {status}); --executor local does without it."
            self.report_job_error(task[index], msg=message)

    def noted(self, text: str) -> None:
        """Pass on what a warm process has to say."""
        self.logger.warning(f"Executor warm: {text}.")

    def broke(self, error: Exception) -> None:
        """Have Snakemake end with an error that came up in a warm process's thread."""
        self.workflow.scheduler.executor_error_callback(error)

    def shutdown(self) -> None:
        """End the warm processes and the rest."""
        self._close()
        super().shutdown()

    def cancel(self) -> None:
        """End the warm processes with their jobs, and the rest."""
        self._close()
        super().cancel()

    def _close(self) -> None:
        for process in self.processes.values():
            process.close()
        for process in self.processes.values():
            process.wait()
        if self.processes:
            self.logger.info(f"Executor warm: {self.made_warm} jobs in {self.started} warm processes.")
        self.processes.clear()


def _obstacle(settings: ExecutorSettings) -> str | None:
    """Return why there can be no warm processes, ``None`` if there can."""
    if not settings.modules:
        return "no --warm-module is given"
    # Elsewhere forks of a process that has imported everything are not safe, and no job ends with its server.
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return f"warm processes need Linux, this is {sys.platform}"
    return None


def _blocks(jobs: Iterable[Job]) -> list[list[Job]]:
    """Put jobs together that the scheduler has selected as blocks."""
    found: dict[Hashable, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.scheduler_resources.get(BLOCK, job), []).append(job)
    return list(found.values())


def _described(job: Job, command: Command) -> dict[str, Any]:
    """Return a job as the server knows it."""
    return {"arguments": command.arguments, "log": command.log, "outputs": private.made_anew(job)}
