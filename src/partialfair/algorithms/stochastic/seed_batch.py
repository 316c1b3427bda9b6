"""Runs that differ by their seed alone are computed together by the first of their jobs; the others read their part.

The workflow has one job per seed, and every job can run by itself. Where all seeds train on the same rows, one job can
as well compute several at once (:mod:`partialfair.models.stacked`), with the same result for each. What it computed for
the others stands beside their folders, under a key that names settings, source, rows and seeds: anything else is not
taken up.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.stochastic.stochastic_run import Trace
from partialfair.grid import fingerprint
from partialfair.tables.checkpoint import Checkpoint

Compute = Callable[[Sequence[int], Checkpoint | None], Trace]
SHARED = ("steps", "seconds")  # parts of a trace that have no axis of runs
FIRST_AXIS = ("point", "last", "finite")


def part_of(trace: Trace, place: int) -> Trace:
    """The trace of one run among several; its processor time is an equal share of all."""
    parts: dict[str, Any] = {}
    for name in (entry.name for entry in fields(Trace)):
        value = getattr(trace, name)
        if name == "state":
            parts[name] = {key: array[place : place + 1] if array.ndim else array for key, array in value.items()}
        elif name in SHARED:
            parts[name] = value
        else:
            parts[name] = value[place : place + 1] if name in FIRST_AXIS else value[:, place : place + 1]
    return Trace(**{**parts, "seconds": trace.seconds / len(trace.point)})


def seeds_of(task: Task, size: int) -> list[int]:
    """Seeds that are computed together with the task's: the block of ``size`` that holds it."""
    first = task.seed // size * size
    return list(range(first, first + size))


def trace_of(task: Task, algorithm: str, settings: Settings, size: int, compute: Compute) -> Trace:
    """The task's trace: computed alone, or as one of a block of seeds.

    Args:
        task: of one seed.
        algorithm: name of the plug-in.
        settings: its settings.
        size: seeds to compute together; 1 for the task's alone.
        compute: runs given seeds on the task's rows, from a checkpoint if there is one.
    """
    if size == 1 or task.checkpoint is None:
        return compute([task.seed], task.checkpoint)
    seeds = seeds_of(task, size)
    folder = task.checkpoint.path.parents[1]
    name = f"seeds={seeds[0]}-{seeds[-1]}"
    key = _key(task, algorithm, settings, seeds)
    store, progress = Checkpoint(folder / f"{name}.npz", key), Checkpoint(folder / f"{name}.checkpoint.npz", key)
    with _alone(folder / f"{name}.lock"):
        found = _load(store)
        if found is None:
            task.report(f"computing seeds {seeds[0]} to {seeds[-1]} together")
            found = compute(seeds, progress)
            _store(store, found)
            progress.discard()
        else:
            task.report(f"computed with seeds {seeds[0]} to {seeds[-1]} by an earlier job")
    return part_of(found, task.seed - seeds[0])


def _key(task: Task, algorithm: str, settings: Settings, seeds: Sequence[int]) -> str:
    """Everything that determines the traces of the seeds."""
    rows = hashlib.sha256()
    for part in (task.train, task.validation):
        X = part.X if isinstance(part.X, np.ndarray) else part.X.toarray()
        for array in (X, part.y, part.group):
            rows.update(np.ascontiguousarray(array).tobytes())
    content = {
        "algorithm": algorithm, "settings": settings.model_dump(mode="json"), "constraint": task.constraint,
        "interval": task.interval, "kappa": str(task.kappa), "grid": task.grid, "kappa_scale": task.kappa_scale,
        "uses_group": task.uses_group, "seeds": list(seeds), "rows": rows.hexdigest(),
        "code": fingerprint.training_hash(algorithm, task.constraint, task.loss, task.surrogate),
    }  # fmt: skip
    return json.dumps(content, sort_keys=True)


def _store(store: Checkpoint, trace: Trace) -> None:
    arrays = {entry.name: getattr(trace, entry.name) for entry in fields(Trace) if entry.name != "state"}
    store.save(arrays | {f"state/{name}": value for name, value in trace.state.items()})


def _load(store: Checkpoint) -> Trace | None:
    arrays = store.load()
    if arrays is None:
        return None
    state = {name.removeprefix("state/"): value for name, value in arrays.items() if name.startswith("state/")}
    return Trace(**{entry.name: arrays[entry.name] for entry in fields(Trace) if entry.name != "state"}, state=state)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one job of a block work at a time; where files cannot be locked, each computes by itself."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield
