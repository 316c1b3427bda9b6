"""Train and evaluate many runs of the grid from one process that has imported everything once.

A small job spends most of its time on starting Python, importing and loading compiled kernels. Here a few
processes do so once and then make one run after the other, each with its own log. The functions are those of the
single jobs, so the files are the same. Snakemake then only has to be told (``snakemake --touch --forcerun train
evaluate -- evaluation``), and sees as ever what is outdated. The workflow's limits on memory and
GPUs do not hold here: ``cores`` runs go on at a time, whatever they take.
"""

import multiprocessing
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from partialfair import closure
from partialfair.config import Config, Job, evaluation_settings, job_settings
from partialfair.errors import DataError, PartialFairError
from partialfair.files import read_json
from partialfair.workflow import SPLIT, TABLE

TRAIN_LOG = "logs/train/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.log"


def outdated(config: Config, jobs: Sequence[Job]) -> list[Job]:
    """Return the runs that are missing, or made by other code or settings than the present ones."""
    return [job for job in jobs if not (_trained(config, job) and _evaluated(config, job))]


def run_batch(
    config: Config,
    jobs: Sequence[Job],
    cores: int,
    report: Callable[[str], None] = print,
) -> list[Job]:
    """Train and evaluate runs, ``cores`` at a time; return those that failed.

    A run that fails leaves its message in its log, like a job of the workflow, and the others go on.

    Args:
        config: the configuration.
        jobs: runs to make.
        cores: runs at a time.
        report: receives a line of progress per run.

    Raises:
        DataError: a table or split that a run needs has not been prepared.
    """
    _require_inputs(jobs)
    _warm_up(jobs)
    waiting, failed, lock = deque(jobs), [], threading.Lock()

    def serve() -> None:
        """Have one process make runs until none is left; one that is killed costs its run alone."""
        pool = _one_process()
        while waiting:
            with lock:
                job = waiting.popleft() if waiting else None
            if job is None:
                break
            started = time.perf_counter()
            try:
                good = pool.submit(_make_logged, config, job).result() == 0
            except BrokenProcessPool:
                good, pool = False, _one_process()
            with lock:
                if not good:
                    failed.append(job)
                done[0] += 1
                word = f"{time.perf_counter() - started:.1f} s" if good else f"failed, see {_log(job)}"
                report(f"[{done[0]}/{len(jobs)}] {job.path}: {word}")
        pool.shutdown()

    done = [0]
    threads = [threading.Thread(target=serve) for _ in range(min(cores, len(jobs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def _one_process() -> ProcessPoolExecutor:
    """A process beside this one, begun with what this one has imported."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))


def _make_logged(config: Config, job: Job) -> int:
    """Make one run with the output in the run's log; return an exit status."""
    log = Path(_log(job))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8", buffering=1) as stream, redirect_stdout(stream), redirect_stderr(stream):
        os.dup2(stream.fileno(), 1)  # what compiled code prints
        os.dup2(stream.fileno(), 2)
        _forget_peak_memory()
        try:
            make(config, job)
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


def make(config: Config, job: Job) -> None:
    """Train and evaluate one run, unless what is there is up to date."""
    from partialfair.jobs.evaluate import evaluate
    from partialfair.jobs.train import train

    if not _trained(config, job):
        job.path.mkdir(parents=True, exist_ok=True)
        train(config, job.experiment, job.dataset, job.algorithm, job.kappa_text, job.seed)
    table, split = _inputs(job)
    settings = evaluation_settings(config, job.experiment, job.dataset)
    evaluate(job.path / "model.npz", job.path / "fit.json", table, split, job.path, settings)


def _trained(config: Config, job: Job) -> bool:
    """Whether the run's fit.json is of the present code and settings, and its files are there."""
    experiment = config.experiment(job.experiment)
    code = closure.training_hash(job.algorithm, experiment.constraint, experiment.loss, experiment.surrogate)
    found = _content(job.path / "fit.json")
    settings = job_settings(config, job)
    same = found.get("closure_hash") == code and all(found.get(key) == value for key, value in settings.items())
    return same and all((job.path / name).is_file() for name in ("model.npz", "history.parquet"))


def _evaluated(config: Config, job: Job) -> bool:
    """Whether the run's metrics.json is of the present code and settings."""
    found = _content(job.path / "metrics.json")
    settings = evaluation_settings(config, job.experiment, job.dataset)
    code = closure.evaluation_hash(settings.get("on_request") or ())
    return found.get("closure_hash") == code and found.get("settings") == settings


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
    from partialfair import plugins
    from partialfair.jobs import evaluate, train  # noqa: F401

    for algorithm in {job.algorithm for job in jobs}:
        plugins.load("algorithms", algorithm)


def _inputs(job: Job) -> tuple[str, str]:
    """The table and the split of a run."""
    return TABLE.format(dataset=job.dataset), SPLIT.format(dataset=job.dataset, seed=job.seed)


def _log(job: Job) -> str:
    """The log of a run's training, where the workflow has it."""
    return TRAIN_LOG.format(
        experiment=job.experiment, dataset=job.dataset, algorithm=job.algorithm, kappa=job.kappa_text, seed=job.seed
    )
