"""Train one (dataset, algorithm, kappa, seed): writes model.npz, fit.json and history.parquet."""

import json
import math
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.algorithms.contract import Algorithm, Fit, Settings, Task, algorithm_for, served
from partialfair.algorithms.measure import Measured, evaluated_point_of, measure
from partialfair.data.checkpoint import Checkpoint
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import sealed, sha256, write_json
from partialfair.errors import ConfigError, DataError, InfeasibleError, PluginError
from partialfair.kernels import processor
from partialfair.models.linear import LinearScore, no_score
from partialfair.plugins import run_plugin
from reproduction.grid import fingerprint
from reproduction.grid.checkout import git
from reproduction.grid.config import Config, Job
from reproduction.grid.fingerprint import Wanted


@dataclass(frozen=True)
class Files:
    """Files that a training job reads, and the folder that it writes to."""

    table: str | Path
    split: str | Path
    folder: str | Path

    @classmethod
    def of(cls, job: Job) -> "Files":
        """Return the files of a job of the workflow."""
        return cls(job.table, job.split, job.path)


def train(config: Config, job: Job, files: Files | None = None) -> dict[str, Any]:
    """Run one training job of the grid; return the content of fit.json.

    A combination to which the algorithm does not apply, and a problem it finds infeasible, are results: they
    are written down with their reason, and the job succeeds.

    Args:
        config: the grid.
        job: what to train.
        files: other files than the workflow's.

    Raises:
        ConfigError: the algorithm refuses its settings.
        DataError: the table or the split is missing or damaged, or has a part without rows.
        PluginError: the algorithm is at fault.
    """
    return train_together(config, [job], [files or Files.of(job)])[0]


def train_together(config: Config, jobs: Sequence[Job], files: Sequence[Files] | None = None) -> list[dict[str, Any]]:
    """Run training jobs that differ in kappa or seed alone; return the content of their fit.json.

    The result of each job is the same as if it ran alone. Algorithms that declare ``Algorithm.together`` compute the
    jobs in one call; each job then records an equal share of the time. Such algorithms must not raise InfeasibleError,
    which only :func:`attempt` records as a result.

    Args:
        config: the grid.
        jobs: jobs of one experiment, dataset and algorithm.
        files: other files than the workflow's, one per job.

    Raises:
        ConfigError, DataError, PluginError: as in :func:`train`.
    """
    clock = Stopwatch()
    for text in processor.deviations():
        print(f"partialfair: {text}: other machines give other last digits; see docs/audit-trail.md", file=sys.stderr)
    files = files or [Files.of(job) for job in jobs]
    name = jobs[0].algorithm
    rows = {job_files.split: _train_and_validation(job_files) for job_files in files}
    expected = [fingerprint.run(config, job) for job in jobs]
    folders = [Path(job_files.folder) for job_files in files]
    tasks = [
        _task(*rows[job_files.split][:2], expectation, folder)
        for job_files, expectation, folder in zip(files, expected, folders, strict=True)
    ]
    algorithm = algorithm_for(name, tasks[0])
    outcomes = attempt_together(algorithm, tasks, validated(algorithm, name, expected[0].settings["settings"]))
    clock.share(len(jobs))
    contents = []
    for job_files, expectation, folder, task, outcome in zip(files, expected, folders, tasks, outcomes, strict=True):
        content = _fit_json(expectation, outcome, clock.lap())
        store(algorithm, task, outcome.fit or Fit(no_score(task.train, outcome.status)), folder)
        # What this result was made from and what it is: the links of the chain that `partialfair verify` follows.
        content["inputs"] = rows[job_files.split][2]
        content["outputs"] = {name: sha256(folder / name) for name in ("model.npz", "history.parquet")}
        contents.append(sealed(content))
        write_json(folder / "fit.json", contents[-1])
        assert task.checkpoint is not None
        task.checkpoint.discard()
    return contents


def store(algorithm: Algorithm[Any], task: Task, fit: Fit, folder: Path) -> None:
    """Write records and model of a fit.

    Raises:
        PluginError: the algorithm's evaluated point or model is at fault.
    """
    owner, source = f"algorithm {type(algorithm).__name__}", _source(algorithm)
    run_plugin(f"{owner}: its records", source, _write_history, folder / "history.parquet", algorithm, task, fit)
    run_plugin(f"{owner}: saving its model", source, fit.model.save, folder / "model.npz")


def _train_and_validation(files: Files) -> tuple[Dataset, Dataset, dict[str, str]]:
    """Return the training and validation rows of a job, and the checksums of their files."""
    data = Dataset.load(files.table)
    split = _nonempty_split(files.split, data)
    inputs = {"table": sha256(files.table), "split": sha256(files.split)}
    return data.take(split.train), data.take(split.validation), inputs


class Stopwatch:
    """Wall and processor time of runs that were computed together."""

    def __init__(self) -> None:
        self.runs, self.shared, self.since = 1, (0.0, 0.0), _now()

    def share(self, runs: int) -> None:
        """Divide the time so far equally among the runs; from now on the time of each run is measured."""
        wall, cpu = self._passed()
        self.runs, self.shared = runs, (wall / runs, cpu / runs)

    def lap(self) -> dict[str, Any]:
        """Return the seconds of the run that has just ended, with its share of what all runs needed."""
        wall, cpu = (share + seconds for share, seconds in zip(self.shared, self._passed(), strict=True))
        return {"wall_seconds": wall, "cpu_seconds": cpu, "runs_together": self.runs}

    def _passed(self) -> tuple[float, float]:
        """Wall and processor seconds since the last call."""
        before, self.since = self.since, _now()
        return self.since[0] - before[0], self.since[1] - before[1]


def _now() -> tuple[float, float]:
    """Wall and processor time of this process, in seconds."""
    return time.perf_counter(), time.process_time()


def _nonempty_split(path: str | Path, data: Dataset) -> Split:
    """Return the split of a table, unless one of its parts is empty."""
    split = Split.load(path, data.n_rows)
    for subset in ("train", "validation", "test"):
        if not getattr(split, subset).size:
            raise DataError(f"{path}: the {subset} part has no rows; delete the file and split again")
    return split


def _task(train_rows: Dataset, validation_rows: Dataset, expectation: Wanted, folder: Path) -> Task:
    """Build the task of a job from its rows and settings."""
    settings = expectation.settings
    kappa, seed = math.inf if settings["kappa"] is None else settings["kappa"], settings["seed"]
    return Task(
        train=train_rows,
        validation=validation_rows,
        constraint=settings["constraint"],
        interval=settings["interval"],
        kappa=kappa,
        grid=settings["grid"],
        kappa_scale=settings["kappa_scale"],
        seed=seed,
        device=settings["device"],
        loss=settings["loss"],
        surrogate=settings["surrogate"],
        report=progress_printer(f"{settings['dataset']} {settings['algorithm']} kappa={kappa} seed={seed}"),
        checkpoint=Checkpoint(
            folder / "checkpoint.npz", key=f"{json.dumps(settings, sort_keys=True)} {expectation.code}"
        ),
    )


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: a fit and its measurements, or the reason why there is none."""

    fit: Fit | None
    measured: Measured | None
    status: str
    reason: str | None


def attempt_together(algorithm: Algorithm[Any], tasks: Sequence[Task], settings: Settings) -> list[Outcome]:
    """Fit tasks that differ in kappa or seed alone; see :func:`attempt`."""
    if len(tasks) == 1 or not _can_share(algorithm, tasks) or any(_unfit(algorithm, task) for task in tasks):
        return [attempt(algorithm, task, settings) for task in tasks]
    name = f"algorithm {type(algorithm).__name__}"
    fits = run_plugin(f"{name}: fit_together", _source(algorithm), algorithm.fit_together, tasks, settings)
    if not isinstance(fits, Sequence) or len(fits) != len(tasks):
        returned = f"{len(fits)} fits" if isinstance(fits, Sequence) else type(fits).__name__
        raise PluginError(f"{name}: fit_together returned {returned} for {len(tasks)} tasks; correct the plug-in")
    return [_outcome(algorithm, fit, task, name) for fit, task in zip(fits, tasks, strict=True)]


def _can_share(algorithm: Algorithm[Any], tasks: Sequence[Task]) -> bool:
    """Tell whether the tasks differ only in parameters that the algorithm computes together."""
    differ = {name for name in ("kappa", "seed") if len({getattr(task, name) for task in tasks}) > 1}
    return bool(algorithm.together) and differ <= algorithm.together


def attempt(algorithm: Algorithm[Any], task: Task, settings: Settings) -> Outcome:
    """Fit and measure.

    Raises:
        PluginError: the algorithm raised another error, or did not return a usable fit.
    """
    reason = _unfit(algorithm, task)
    if reason is not None:
        return Outcome(None, None, "not_applicable", reason)
    name = f"algorithm {type(algorithm).__name__}"
    try:
        fit = run_plugin(f"{name}: fit", _source(algorithm), algorithm.fit, task, settings)
    except InfeasibleError as error:
        return Outcome(None, None, "infeasible", str(error))
    return _outcome(algorithm, fit, task, name)


def _unfit(algorithm: Algorithm[Any], task: Task) -> str | None:
    """Return why the algorithm does not apply to the task; ``None`` if it does."""
    name = f"algorithm {type(algorithm).__name__}: applies_to"
    reason = run_plugin(name, _source(algorithm), algorithm.applies_to, task.constraint, task.train)
    if reason is not None:
        return str(reason)
    if algorithm.general is False and not served(task):
        return "it knows the logistic loss and hinge-mean constraints alone"
    return None


def _outcome(algorithm: Algorithm[Any], fit: Any, task: Task, name: str) -> Outcome:
    """Return the outcome of a fit that can be stored, with its measurements."""
    _check_fit(fit, task, name)
    measured = run_plugin(f"{name}: measuring its fit", _source(algorithm), measure, algorithm, task, fit)
    return Outcome(fit, measured, measured.status, measured.reason)


def _source(algorithm: Any) -> str | None:
    """Return the path of the file that defines a plug-in, if it is known."""
    return getattr(sys.modules.get(type(algorithm).__module__), "__file__", None)


def _check_fit(fit: Any, task: Task, name: str) -> None:
    """Refuse a fit whose model could not be stored and evaluated."""
    remedy = "correct the plug-in"
    if not isinstance(fit, Fit):
        raise PluginError(f"{name}: fit returned {type(fit).__name__}, not a Fit; {remedy}")
    if fit.trace.result is not None and fit.trace.result not in fit.trace.candidates:
        raise PluginError(f"{name}: the trace has no candidate {fit.trace.result!r}, which is its result; {remedy}")
    if not isinstance(fit.model, LinearScore):
        return
    weights = fit.model.weights
    expected = (task.train.n_groups, task.train.n_features + 1)
    if weights.size and weights.shape != expected:
        raise PluginError(
            f"{name}: fit returned weights of shape {weights.shape}, not {expected} (groups, features + 1); {remedy}"
        )
    if not fit.failure and not (weights.size and np.isfinite(weights).all()):
        raise PluginError(f"{name}: fit returned weights that are absent or not finite, and no failure; {remedy}")


def validated(algorithm: Algorithm[Any], name: str, settings: dict[str, Any]) -> Settings:
    """Return the settings of an algorithm, checked by its own model."""
    from pydantic import ValidationError

    try:
        checked: Settings = algorithm.settings(**settings)
        return checked
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(["algorithms", name, *map(str, problem["loc"])])
        raise ConfigError(
            f"{where}: {problem['msg']} (value {problem.get('input')!r}); correct it in params.yaml"
        ) from error


def progress_printer(label: str) -> Callable[[str], None]:
    """Return a function that prints one line of progress, with the time since the start."""
    start = time.perf_counter()

    def report(line: str) -> None:
        print(f"[{time.perf_counter() - start:7.1f} s] {label}: {line}", file=sys.stderr, flush=True)

    return report


def _fit_json(expectation: Wanted, outcome: Outcome, spent: dict[str, Any]) -> dict[str, Any]:
    """Return the content of fit.json, without inputs, outputs and seal."""
    fit, measured = outcome.fit, outcome.measured
    return {
        **expectation.settings,
        "status": outcome.status,
        "reason": outcome.reason,
        "selected": dict(fit.chosen) if fit else {},
        "chosen": fit.trace.result if fit else None,
        "certificate": measured.entries() if measured else None,
        "time": spent,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "git_revision": git_revision(),
        "versions": versions(),
        "closure_hash": expectation.code,
    }


def git_revision() -> str | None:
    """Return the revision of the checkout in which the job runs; ``None`` outside a checkout."""
    revision = git("describe", "--always", "--dirty", "--abbrev=12")
    return None if revision is None else revision.decode().strip()


def versions() -> dict[str, str]:
    """Return the versions of the software that the numbers depend on, and the machine."""
    import llvmlite
    import numba
    import scipy

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        **_installed("torch"),  # not imported for this: few algorithms need it
        **processor.record(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }


def _installed(package: str) -> dict[str, str]:
    """Return the version of a package; empty if it is not installed."""
    try:
        return {package: version(package)}
    except PackageNotFoundError:
        return {}


def _write_history(path: Path, algorithm: Algorithm[Any], task: Task, fit: Fit) -> None:
    """Write the records of every candidate; the indicator violation is computed for the chosen candidate."""
    from partialfair.data.arrow import column, write

    columns = fit.trace.columns()
    indicator: list[float | None] = [None] * len(columns["candidate"])
    if fit.model.usable and algorithm.kappa == "tolerance":
        evaluated_point = evaluated_point_of(algorithm, task, fit)
        points = [(name, record.point) for name, records in fit.trace.candidates.items() for record in records]
        indicator = [
            evaluated_point.indicator_violation(point) if name == fit.trace.result and point is not None else None
            for name, point in points
        ]
    write(
        path,
        {
            "candidate": column(columns["candidate"]),
            "iteration": column(np.array(columns["step"], np.int64)),
            "inner_steps": column(np.array(columns["work"], np.int64)),
            "objective": column(np.array(columns["objective"], np.float64)),
            "max_violation": column(np.array(columns["violation"], np.float64)),
            "true_violation": column(np.array([math.nan if v is None else v for v in indicator], np.float64)),
            "cpu_seconds": column(np.array(columns["seconds"], np.float64)),
        },
    )
