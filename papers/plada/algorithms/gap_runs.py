"""Running a method on a gap problem: what is recorded of every iteration, and of the clock."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from papers.plada.algorithms.gap_problem import Array, GapProblem, GapState, worst

DUALS = ("lam", "mu", "u", "residual")


class Method(Protocol):
    """An iteration on B points at once that :func:`run` can drive and record."""

    state: GapState
    problem: GapProblem
    work: int  # products of the data with a vector so far, per point of the batch

    @property
    def settled(self) -> Any:
        """Whether the present point is one to report."""
        ...

    def step(self) -> None:
        """Do one iteration: move ``state`` and count ``work``."""
        ...


@dataclass(eq=False)
class Curve:
    """The run of one point of a batch.

    Not a list of :class:`~partialfair.algorithms.contract.Record`, into which it is turned for the history: figures
    also show multipliers and slacks, for which a record has no place.

    Attributes:
        iteration: (K,) iterations whose result was reported; all of them for single-loop methods.
        loss, violation: (K,) F and max_j G_j there.
        seconds: (K,) processor time spent in the method until then, its logging excluded.
        work: (K,) products of the data with a vector until then, the common measure of work.
        points: iterate (d,) by iteration, of those that were kept.
        duals: arrays (K,) by name: lambda, mu, u of each constraint, where the method has them, and its own residuals
            where it records them.
    """

    iteration: Array
    loss: Array
    violation: Array
    seconds: Array
    work: Array
    points: dict[int, Array] = field(default_factory=dict)
    duals: dict[str, Array] = field(default_factory=dict)


def run(method: Method, steps: int, keep: Sequence[int] = ()) -> list[Curve]:
    """Do ``steps`` iterations and return one curve per point of the batch.

    Args:
        method: at its start, which is reported as iteration 0.
        steps: iterations.
        keep: iterations whose iterate is kept. Where it is not one that the method reports, the next reported one is.
    """
    steps_kept, rows, seconds, work, points = [0], [_row(method)], [0.0], [0], {0: method.state.theta}
    marks, spent = sorted(set(keep) - {0}), 0.0
    for k in range(1, steps + 1):
        began = time.process_time()
        method.step()
        spent += time.process_time() - began
        if not method.settled:
            continue
        steps_kept.append(k)
        rows.append(_row(method))
        seconds.append(spent)
        work.append(method.work)
        if marks and k >= marks[0]:
            points[k] = method.state.theta
            marks = [later for later in marks if later > k]
    points[steps_kept[-1]] = method.state.theta
    table = np.array(rows)  # (K, values, B)
    names = _names(method)
    return [
        Curve(
            iteration=np.array(steps_kept, float),
            loss=table[:, 0, b],
            violation=table[:, 1, b],
            seconds=np.array(seconds),
            work=np.array(work, float),
            points={k: point[:, b].copy() for k, point in points.items()},
            duals={name: table[:, 2 + index, b] for index, name in enumerate(names)},
        )
        for b in range(table.shape[2])
    ]


def _row(method: Method) -> Array:
    """What is recorded of the present points, (values, B)."""
    columns = [method.state.loss[None], worst(method.problem, method.state)[None]]
    columns += [getattr(method, name) for name in DUALS if hasattr(method, name)]
    return np.concatenate(columns)


def _names(method: Method) -> list[str]:
    lengths = [(name, len(getattr(method, name))) for name in DUALS if hasattr(method, name)]
    return [f"{name}{j}" for name, count in lengths for j in range(count)]
