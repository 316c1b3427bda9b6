"""Running a stochastic method: steps, records on all rows, tail averages, checkpoints; for R runs at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from papers.stochastic_benchmark.algorithms.stochastic_problem import Sampled, StochasticProblem
from partialfair.algorithms.contract import Settings
from partialfair.data.checkpoint import Checkpoint
from partialfair.models.stacked import Array
from partialfair.seeding import generator

State = dict[str, NDArray[Any]]
SAVE_EVERY = 10.0  # seconds


class Method(Protocol):
    """A stochastic method; its state holds the points ``x`` (R, N) and the number of ``rows`` read (R,)."""

    def streams(self, problem: Any, seeds: Sequence[int]) -> Any:
        """Rows of every step."""
        ...

    def start(self, problem: Sampled, x: Array) -> State:
        """State before the first step."""
        ...

    def step(self, problem: Any, streams: Any, state: State, k: int) -> None:
        """Change the state by one step of every run."""
        ...


class Plan(Settings):
    """How long a method runs, and what is kept.

    Attributes:
        steps: number of steps.
        records: evaluations on all rows on the way, evenly spaced, besides that of the start.
        average: share of the last steps whose mean point is returned; 0 for the last point.
        sampled_from: return one of the points after this step, drawn with chances as its step is long; ``None`` for no
            such draw.
    """

    steps: PositiveInt = 2000
    records: PositiveInt = 60
    average: float = Field(0.0, ge=0, le=1)
    sampled_from: NonNegativeInt | None = None

    @property
    def marks(self) -> NDArray[np.int64]:
        """Numbers of steps after which a record is made, the last one included."""
        return np.unique(np.linspace(0, self.steps, self.records + 1).round().astype(np.int64))


@dataclass(frozen=True, eq=False)
class Runs:
    """What R runs left behind.

    Apart from the traces of methods that see all rows at each step and record each: here rows read are counted,
    evaluations on all rows are made now and then, and an average of the last points may be the result.

    Attributes:
        point: (R, N) the points returned.
        last: (R, N) the last points.
        steps: (K,) steps done at each record.
        rows: (K, R) rows read by then.
        loss: (K, R), on all rows.
        constraints: (K, R, m), on all rows.
        path: (K, R, N) the points.
        seconds: (K,) processor time of all R runs together.
        state: the method's last state.
        finite: (R,) whether every number stayed finite.
    """

    point: Array
    last: Array
    steps: NDArray[np.int64]
    rows: NDArray[np.float64]
    loss: NDArray[np.float64]
    constraints: NDArray[np.float64]
    path: Array
    seconds: NDArray[np.float64]
    state: State
    finite: NDArray[np.bool_]

    def of_run(self, r: int) -> "Runs":
        """Run r alone; its processor time is an equal share of all."""
        column = slice(r, r + 1)
        state = {name: values[column] if values.ndim else values for name, values in self.state.items()}
        of_runs = {name: getattr(self, name)[column] for name in ("point", "last", "finite")}
        of_steps = {name: getattr(self, name)[:, column] for name in ("rows", "loss", "constraints", "path")}
        return Runs(**of_runs, **of_steps, steps=self.steps, seconds=self.seconds / len(self.point), state=state)


def run(
    method: Method,
    problem: StochasticProblem,
    x: Array,
    seeds: Sequence[int],
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Runs:
    """Run a method from points x (R, N), one run per seed, from a checkpoint if there is one.

    A resumed run ends as it would have without the interruption.
    """
    streams = method.streams(problem, seeds)
    saved = checkpoint.load() if checkpoint is not None else None
    state = _split(saved, "state/") if saved else _started(method, problem, x, plan)
    log: dict[str, list[Any]] = {name: list(value) for name, value in _split(saved or {}, "log/").items()}
    done = int(saved["done"]) if saved else 0
    spent, began, last_save = float(saved["spent"]) if saved else 0.0, time.process_time(), time.monotonic()
    marks, tail = plan.marks, plan.steps - round(plan.average * plan.steps)
    draws = _draws(plan, seeds)
    for mark in marks[marks >= done]:
        while done < mark:
            method.step(problem, streams, state, done)
            done += 1
            if plan.average and done > tail:
                state["mean"] += (state["x"] - state["mean"]) / (done - tail)
            if plan.sampled_from is not None and done > plan.sampled_from:
                _sample(state, draws[:, done - 1])
        if len(log.get("steps", [])) == 0 or log["steps"][-1] != done:
            _record(log, problem, state, done, spent + time.process_time() - began)
            report(_line(log, done, plan.steps))
        if checkpoint is not None and time.monotonic() - last_save > SAVE_EVERY:
            _save(checkpoint, state, log, done, spent + time.process_time() - began)
            last_save = time.monotonic()
    return _runs(state, log, plan)


def _started(method: Method, problem: StochasticProblem, x: Array, plan: Plan) -> State:
    state = method.start(problem, x)
    if plan.average:
        state["mean"] = np.zeros(x.shape, np.float64)
    if plan.sampled_from is not None:
        state["sampled"], state["length"] = x.copy(), np.zeros(len(x))
    return state


def _draws(plan: Plan, seeds: Sequence[int]) -> NDArray[np.float64]:
    """Uniform numbers (R, steps) that decide which point is returned; none where that is not drawn."""
    if plan.sampled_from is None:
        return np.zeros((len(seeds), 0))
    return np.stack([generator("output", seed).random(plan.steps) for seed in seeds])


def _sample(state: State, uniform: NDArray[np.float64]) -> None:
    """Keep the present point with the chance of its step's length among all since the first that counts."""
    taken = state.get("taken", np.ones(len(uniform)))
    # reservoir sampling: each point ends up kept with the chance step / sum of steps, Algorithm 3's output
    state["length"] += taken
    chosen = uniform * state["length"] < taken
    state["sampled"][chosen] = state["x"][chosen]


def _record(log: dict[str, list[Any]], problem: StochasticProblem, state: State, done: int, seconds: float) -> None:
    evaluation = problem.evaluate(state["x"])
    entries = {
        "steps": done, "rows": state["rows"].copy(), "loss": evaluation.loss, "constraints": evaluation.constraints,
        "path": state["x"].copy(), "seconds": seconds,
    }  # fmt: skip
    for name, value in entries.items():
        log.setdefault(name, []).append(value)


def _line(log: dict[str, list[Any]], done: int, steps: int) -> str:
    worst = log["constraints"][-1].max(axis=1, initial=0.0)
    return f"step {done}/{steps}: loss {log['loss'][-1].mean():.5f}, violation {worst.mean():.1e}"


def _save(checkpoint: Checkpoint, state: State, log: dict[str, list[Any]], done: int, seconds: float) -> None:
    arrays = {f"state/{name}": value for name, value in state.items()}
    arrays |= {f"log/{name}": np.array(value) for name, value in log.items()}
    checkpoint.save(arrays | {"done": np.array(done), "spent": np.array(seconds)})


def _split(arrays: State, prefix: str) -> State:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _runs(state: State, log: dict[str, list[Any]], plan: Plan) -> Runs:
    last = state["x"]
    point = state["sampled"] if plan.sampled_from is not None else state["mean"] if plan.average else last
    loss = np.array(log["loss"])
    finite = np.isfinite(loss).all(axis=0) & np.isfinite(last).all(axis=1)
    arrays = {name: np.array(log[name]) for name in ("steps", "rows", "constraints", "path", "seconds")}
    return Runs(point=point, last=last, loss=loss, state=state, finite=finite, **arrays)
