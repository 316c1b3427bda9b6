"""Train and evaluate many runs of the grid from one process that has imported everything once.

A small job spends most of its time on starting Python, importing and loading compiled kernels. Here a few
processes do so once and then make one run after the other, each with its own log. Runs that differ in kappa alone are
trained together where the algorithm can (``fit_together``). The results are the same as those of single jobs.
Snakemake takes them for its own where it has no record of a run, and sees as ever what is outdated
(``snakemake --touch --forcerun train evaluate -- evaluation`` records them). Runs that go on at a time share the
machine's memory and GPU as the workflow's jobs do.
"""

import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from partialfair import plugins
from partialfair.errors import DataError, PartialFairError
from partialfair.grid import fingerprint
from partialfair.grid.config import Config, Job, evaluation_settings
from partialfair.grid.workflow import TRAINING_MEMORY, Grid, machine_limits
from partialfair.tables.files import read_json

TRAIN_LOG = "logs/train/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.log"


def outdated(config: Config, jobs: Sequence[Job]) -> list[Job]:
    """Return the runs that are missing, or made by other code or settings than the present ones."""
    return [job for job in jobs if not (_trained(config, job) and _evaluated(config, job))]


def run_batch(
    config: Config,
    jobs: Sequence[Job],
    cores: int,
    report: Callable[[str], None] = print,
    limits: Mapping[str, int] | None = None,
) -> list[Job]:
    """Train and evaluate runs, ``cores`` at a time; return those that failed.

    A run that fails leaves its message in its log, like a job of the workflow, and the others go on.

    Args:
        config: the configuration.
        jobs: runs to make.
        cores: runs at a time.
        report: receives a line of progress per run.
        limits: ``mem_mb`` and ``gpu`` that runs at work may claim together; by default those of the workflow on this
            machine.

    Raises:
        DataError: a table or split that a run needs has not been prepared.
    """
    _require_inputs(jobs)
    _warm_up(jobs)
    found = blocks(config, jobs)
    if len(found) < cores:  # what is put together would leave cores idle
        found = [[job] for job in jobs]
    queue = _Queue(config, found, machine_limits() if limits is None else limits, report)
    threads = [threading.Thread(target=_serve, args=(config, queue)) for _ in range(min(cores, len(jobs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Runs still waiting are those for which no process could be had; the threads have said why.
    return queue.failed + [job for block in queue.waiting for job in block]


class _Queue:
    """Blocks of runs that wait for a process and for room; safe to use from several threads."""

    def __init__(
        self, config: Config, found: Sequence[list[Job]], limits: Mapping[str, int], report: Callable[[str], None]
    ) -> None:
        self.grid, self.report, self.total, self.done = Grid(config), report, sum(map(len, found)), 0
        # Long blocks come first, so that no core is left with one while the others have nothing to do.
        self.waiting = sorted(found, key=len, reverse=True)
        self.left, self.at_work = dict(limits), 0
        self.failed: list[Job] = []
        self.changed = threading.Condition()

    def take(self) -> list[Job] | None:
        """The first block for which there is room, waiting for it; ``None`` if there is nothing more to do."""
        with self.changed:
            while self.waiting or self.at_work:
                for block in self.waiting:
                    needs = self._needs(block)
                    # A block that asks for more than there is has the machine to itself.
                    if not self.at_work or all(need <= self.left[name] for name, need in needs.items()):
                        self.waiting.remove(block)
                        self._claim(needs, 1)
                        return block
                self.changed.wait()
            return None

    def finish(self, block: list[Job], seconds: float, good: bool) -> None:
        """Take note of a block that was made, or was not: then its runs are made one at a time."""
        with self.changed:
            self._claim(self._needs(block), -1)
            if good or len(block) == 1:
                self.done += len(block)
                self.failed += [] if good else block
                together = f" for {len(block)} together" if len(block) > 1 else ""
                for number, job in enumerate(block, self.done - len(block) + 1):
                    word = f"{seconds:.1f} s{together}" if good else f"failed, see {_log(job)}"
                    self.report(f"[{number}/{self.total}] {job.path}: {word}")
            else:
                self.waiting[:0] = [[job] for job in block]
            self.changed.notify_all()

    def _needs(self, block: list[Job]) -> dict[str, int]:
        """What a block claims while it is made: the same as each of its runs."""
        return {
            "mem_mb": self.grid.memory(block[0].dataset, *TRAINING_MEMORY),
            "gpu": self.grid.gpus(block[0].algorithm),
        }

    def _claim(self, needs: Mapping[str, int], sign: int) -> None:
        self.at_work += sign
        for name, need in needs.items():
            self.left[name] -= sign * need


def _serve(config: Config, queue: _Queue) -> None:
    """Have one process make blocks until none is left; one that is killed is followed by another."""
    pool = _one_process()
    while (block := queue.take()) is not None:
        started, good = time.perf_counter(), False
        try:
            good = pool.submit(_make_logged, config, block).result() == 0
        except BrokenProcessPool:
            pool = _one_process()
        finally:
            queue.finish(block, time.perf_counter() - started, good)
    pool.shutdown()


def blocks(config: Config, jobs: Sequence[Job]) -> list[list[Job]]:
    """Put runs together that one process had better make in a row, in the order of the first of each block.

    These are runs that differ in kappa alone, where the algorithm trains them together, and those that differ in the
    seed alone, where the first of them computes all (:mod:`partialfair.algorithms.stochastic.seed_batch`) and others
    would wait.
    """
    found: dict[tuple[object, ...], list[Job]] = {}
    for job in jobs:
        key: tuple[object, ...] = (job.experiment, job.dataset, job.algorithm)
        seeds = config.training(job.experiment, job.dataset, job.algorithm)["settings"].get("seed_batch", 1)
        if "kappa" in getattr(plugins.load("algorithms", job.algorithm).ALGORITHM, "together", ()):
            key = (*key, job.seed)
        elif seeds > 1:
            key = (*key, job.kappa_text, job.seed // seeds)
        else:
            key = (*key, job.kappa_text, job.seed)
        found.setdefault(key, []).append(job)
    return list(found.values())


def _one_process() -> ProcessPoolExecutor:
    """A process beside this one, begun with what this one has imported."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))


def _make_logged(config: Config, block: Sequence[Job]) -> int:
    """Make runs with the output in the first one's log; return an exit status."""
    log, *others = (Path(_log(job)) for job in block)
    for path in (log, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
    for path in others:
        path.write_text(f"made together with others, see {log}\n", encoding="utf-8")
    with log.open("w", encoding="utf-8", buffering=1) as stream, redirect_stdout(stream), redirect_stderr(stream):
        os.dup2(stream.fileno(), 1)  # what compiled code prints
        os.dup2(stream.fileno(), 2)
        _forget_peak_memory()
        try:
            make(config, block)
        except PartialFairError as error:
            stream.write(f"error: {error}\n")
            return 1
        except Exception:
            traceback.print_exc(file=stream)
            return 1
    return 0


def _forget_peak_memory() -> None:
    """Have the system measure the peak memory of this process from now on (Linux; elsewhere it is that so far)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def make(config: Config, block: Sequence[Job]) -> None:
    """Train and evaluate runs of a block, unless what is there is up to date."""
    from partialfair.jobs import card
    from partialfair.jobs.evaluate import evaluate
    from partialfair.jobs.train import train_together

    todo = [job for job in block if not _trained(config, job)]
    for job in todo:
        job.path.mkdir(parents=True, exist_ok=True)
    for seed in dict.fromkeys(job.seed for job in todo):
        train_together(config, [job for job in todo if job.seed == seed])
    for job in block:
        table, split = _inputs(job)
        settings = evaluation_settings(config, job.experiment, job.dataset)
        evaluate(job.path / "model.npz", job.path / "fit.json", table, split, job.path, settings)
        card.write(job.path)


def _trained(config: Config, job: Job) -> bool:
    """Whether the run's fit.json is of the present code and settings, and its files are there."""
    found, wanted = _content(job.path / "fit.json"), fingerprint.run(config, job)
    same = found.get("closure_hash") == wanted.code
    same = same and all(found.get(key) == value for key, value in wanted.settings.items())
    return same and all((job.path / name).is_file() for name in ("model.npz", "history.parquet"))


def _evaluated(config: Config, job: Job) -> bool:
    """Whether the run's metrics.json is of the present code and settings."""
    found, wanted = _content(job.path / "metrics.json"), fingerprint.evaluation(config, job)
    return found.get("closure_hash") == wanted.code and found.get("settings") == wanted.settings


def _content(path: Path) -> dict[str, object]:
    """The content of a JSON file, nothing if it is missing or damaged."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _require_inputs(jobs: Sequence[Job]) -> None:
    """Refuse to start where a table or split is missing."""
    for path in dict.fromkeys(path for job in jobs for path in _inputs(job)):
        if not Path(path).is_file():
            raise DataError(f"{path}: not prepared yet; run `snakemake --cores all splits` first")


def _warm_up(jobs: Sequence[Job]) -> None:
    """Import what the runs need, so that their processes begin with it."""
    from partialfair.jobs import evaluate, train  # noqa: F401

    for algorithm in {job.algorithm for job in jobs}:
        plugins.load("algorithms", algorithm)


def _inputs(job: Job) -> tuple[str, str]:
    """The table and the split of a run."""
    return job.table, job.split


def _log(job: Job) -> str:
    """The log of a run's training, where the workflow has it."""
    return TRAIN_LOG.format(
        experiment=job.experiment, dataset=job.dataset, algorithm=job.algorithm, kappa=job.kappa_text, seed=job.seed
    )
