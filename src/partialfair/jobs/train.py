"""Train one (dataset, algorithm, kappa, seed): writes model.npz, fit.json and history.parquet."""

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Settings, Task
from partialfair.errors import ConfigError, DataError, InfeasibleError, PluginError
from partialfair.grid import fingerprint
from partialfair.grid.config import Config, Job
from partialfair.grid.fingerprint import Wanted
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from partialfair.plugins import run_plugin
from partialfair.tables.checkpoint import Checkpoint
from partialfair.tables.dataset import Dataset, Split
from partialfair.tables.files import sealed, sha256, write_json


@dataclass(frozen=True)
class Files:
    """What a training job reads, and the folder that it writes to."""

    table: str | Path
    split: str | Path
    folder: str | Path

    @classmethod
    def of(cls, job: Job) -> "Files":
        """Those of a job of the workflow."""
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
    """Run training jobs that differ in kappa alone; return the content of their fit.json.

    Each has the result it has by itself. An algorithm with ``fit_together`` computes them as one; each then records an
    equal share of the time that this took.

    Args:
        config: the grid.
        jobs: of one experiment, dataset, algorithm and seed.
        files: other files than the workflow's, one per job; they read the same ones.

    Raises:
        ConfigError, DataError, PluginError: as in :func:`train`.
    """
    clock = Stopwatch()
    files = files or [Files.of(job) for job in jobs]
    table, split = files[0].table, files[0].split
    data = Dataset.load(table)
    parts = _parts(split, data)
    rows = data.take(parts.train), data.take(parts.validation)
    inputs = {"table": sha256(table), "split": sha256(split)}
    plugin = plugins.load("algorithms", jobs[0].algorithm).ALGORITHM
    every = [fingerprint.run(config, job) for job in jobs]
    folders = [Path(of.folder) for of in files]
    tasks = [_task(*rows, wanted, folder) for wanted, folder in zip(every, folders, strict=True)]
    found = attempt_together(plugin, tasks, validated(plugin, jobs[0].algorithm, every[0].settings["settings"]))
    clock.share(len(jobs))
    contents = []
    for wanted, folder, task, (fit, status, reason) in zip(every, folders, tasks, found, strict=True):
        model = fit.model if fit else _no_model(data, status)
        violation = _true_violation(plugin, task, fit)
        content = _fit_json(wanted, fit, violation, status, reason, clock.lap())
        _write_history(folder / "history.parquet", fit, violation)
        model.save(folder / "model.npz")
        # What this result was made from and what it is: the links of the chain that `partialfair verify` follows.
        content["inputs"] = inputs
        content["outputs"] = {name: sha256(folder / name) for name in ("model.npz", "history.parquet")}
        contents.append(sealed(content))
        write_json(folder / "fit.json", contents[-1])
        assert task.checkpoint is not None
        task.checkpoint.discard()
    return contents


class Stopwatch:
    """Wall and processor time of runs that were computed together."""

    def __init__(self) -> None:
        self.runs, self.shared, self.since = 1, (0.0, 0.0), _now()

    def share(self, runs: int) -> None:
        """Divide the time so far equally among the runs, of which each now has time of its own."""
        wall, cpu = self._passed()
        self.runs, self.shared = runs, (wall / runs, cpu / runs)

    def lap(self) -> dict[str, Any]:
        """The time of the next run."""
        wall, cpu = (share + own for share, own in zip(self.shared, self._passed(), strict=True))
        return {"wall_seconds": wall, "cpu_seconds": cpu, "runs_together": self.runs}

    def _passed(self) -> tuple[float, float]:
        """Time since the last call."""
        before, self.since = self.since, _now()
        return self.since[0] - before[0], self.since[1] - before[1]


def _now() -> tuple[float, float]:
    """Wall and processor time of this process, in seconds."""
    return time.perf_counter(), time.process_time()


def _parts(path: str | Path, data: Dataset) -> Split:
    """The split of a table, unless one of its parts is empty."""
    found = Split.load(path, data.n_rows)
    for part in ("train", "validation", "test"):
        if not getattr(found, part).size:
            raise DataError(f"{path}: the {part} part has no rows; delete the file and split again")
    return found


def _task(train_rows: Dataset, validation_rows: Dataset, wanted: Wanted, folder: Path) -> Task:
    """The task of a training job."""
    settings = wanted.settings
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
        checkpoint=Checkpoint(folder / "checkpoint.npz", key=f"{json.dumps(settings, sort_keys=True)} {wanted.code}"),
    )


def attempt_together(
    plugin: Any, tasks: Sequence[Task], settings: Settings
) -> list[tuple[Fit | None, str, str | None]]:
    """Fit tasks that differ in kappa alone; see :func:`attempt`."""
    together = getattr(plugin, "fit_together", None)
    if together is None or len(tasks) == 1 or not all(_unfit(plugin, task) is None for task in tasks):
        return [attempt(plugin, task, settings) for task in tasks]
    name = f"algorithm {type(plugin).__name__}"
    fits = run_plugin(f"{name}: fit_together", _source(plugin), together, tasks, settings)
    return [_outcome(fit, task, name) for fit, task in zip(fits, tasks, strict=True)]


def attempt(plugin: Any, task: Task, settings: Settings) -> tuple[Fit | None, str, str | None]:
    """Fit, and return (fit, status, reason).

    Raises:
        PluginError: the algorithm raised an error of its own, or returned something else than a usable fit.
    """
    reason = _unfit(plugin, task)
    if reason is not None:
        return None, "not_applicable", reason
    name = f"algorithm {type(plugin).__name__}"
    try:
        fit = run_plugin(f"{name}: fit", _source(plugin), plugin.fit, task, settings)
    except InfeasibleError as error:
        return None, "infeasible", str(error)
    return _outcome(fit, task, name)


def _unfit(plugin: Any, task: Task) -> str | None:
    """Why the algorithm does not apply to the task; ``None`` if it does."""
    name = f"algorithm {type(plugin).__name__}: applies_to"
    applies, why = run_plugin(name, _source(plugin), plugin.applies_to, task.constraint, task.train)
    if not applies:
        return str(why)
    if not task.fused and not getattr(plugin, "general", False):
        return "it knows the logistic loss and hinge-mean constraints alone"
    return None


def _outcome(fit: Any, task: Task, name: str) -> tuple[Fit, str, str | None]:
    """A fit that can be stored, its status and the reason for it."""
    _check_fit(fit, task, name)
    status, _, reason = fit.solution.status.partition(": ")
    return fit, status, None if status == "ok" else reason


def _source(plugin: Any) -> str | None:
    """The file of a plug-in."""
    return getattr(sys.modules.get(type(plugin).__module__), "__file__", None)


def _check_fit(fit: Any, task: Task, name: str) -> None:
    """Refuse a fit whose model could not be stored and evaluated."""
    remedy = "correct the plug-in"
    if not isinstance(fit, Fit):
        raise PluginError(f"{name}: fit returned {type(fit).__name__}, not a Fit; {remedy}")
    if not isinstance(fit.model, LinearScore):
        return
    weights, status = fit.model.weights, fit.solution.status
    expected = (task.train.n_groups, task.train.n_features + 1)
    if weights.size and weights.shape != expected:
        raise PluginError(
            f"{name}: fit returned weights of shape {weights.shape}, not {expected} (groups, features + 1); {remedy}"
        )
    if status == "ok" and not (weights.size and np.isfinite(weights).all()):
        raise PluginError(f"{name}: fit returned weights that are absent or not finite with status 'ok'; {remedy}")


def validated(plugin: Any, name: str, settings: dict[str, Any]) -> Settings:
    """Settings of an algorithm, checked by its own model."""
    from pydantic import ValidationError

    try:
        return plugin.settings_model(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["algorithms", name, *map(str, first["loc"])])
        raise ConfigError(
            f"{where}: {first['msg']} (value {first.get('input')!r}); correct it in params.yaml"
        ) from error


def progress_printer(label: str) -> Callable[[str], None]:
    """A function that prints one line of progress, with the time since the start."""
    start = time.perf_counter()

    def report(line: str) -> None:
        print(f"[{time.perf_counter() - start:7.1f} s] {label}: {line}", file=sys.stderr, flush=True)

    return report


def _no_model(data: Dataset, status: str) -> LinearScore:
    """A model file that says there is no model."""
    nothing = Standardiser(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return LinearScore(np.zeros((0, 0)), nothing, np.zeros(0), data.group_names, data.feature_names, True, status)


def _true_violation(plugin: Any, task: Task, fit: Fit | None) -> Callable[[NDArray, NDArray], float | None]:
    """The indicator violation of a point; ``None`` everywhere if kappa is no slack of the task's constraint."""
    if fit is None or not plugin.kappa_is_slack:
        return lambda params, aux: None
    return fit.true_violation or task.problem.true_violation


def _fit_json(
    wanted: Wanted,
    fit: Fit | None,
    violation: Callable[[NDArray, NDArray], float | None],
    status: str,
    reason: str | None,
    spent: dict[str, Any],
) -> dict[str, Any]:
    """Everything worth knowing about a training job besides its model."""
    certificate = None
    if fit is not None:
        found = fit.solution.certificate
        certificate = {
            "objective": found.objective,
            "max_violation": found.max_violation,
            "kkt_residual": found.kkt_residual,
            "true_violation": violation(fit.solution.params, fit.solution.aux),
            "multipliers": found.multipliers.tolist(),
        }
    return {
        **wanted.settings,
        "status": status,
        "reason": reason,
        "selected": fit.selected if fit else {},
        "chosen": fit.chosen if fit else None,
        "certificate": certificate,
        "time": spent,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "git_revision": git_revision(),
        "versions": versions(),
        "closure_hash": wanted.code,
    }


def git_revision() -> str | None:
    """Revision of the checkout the job runs in; ``None`` outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    import numba
    import scipy

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }


def _write_history(path: Path, fit: Fit | None, violation: Callable[[NDArray, NDArray], float | None]) -> None:
    """Write the history of every candidate; the true violation is computed for the chosen one."""
    from partialfair.tables.arrow import column, write

    rows = [(name, record) for name, records in (fit.histories if fit else {}).items() for record in records]
    true = [violation(record.params, record.aux) if fit and name == fit.chosen else None for name, record in rows]
    write(
        path,
        {
            "candidate": column([name for name, _ in rows]),
            "iteration": column(np.array([record.iteration for _, record in rows], np.int64)),
            "inner_steps": column(np.array([record.inner_steps for _, record in rows], np.int64)),
            "objective": column(np.array([record.objective for _, record in rows], np.float64)),
            "max_violation": column(np.array([record.max_violation for _, record in rows], np.float64)),
            "true_violation": column(np.array([math.nan if v is None else v for v in true], np.float64)),
            "cpu_seconds": column(np.array([record.cpu_seconds for _, record in rows], np.float64)),
        },
    )
