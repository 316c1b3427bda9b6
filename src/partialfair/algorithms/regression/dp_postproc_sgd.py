"""Demographic parity by post-processing, optimised by Allen-Zhu's original SGD3, which has SGD inside.

As ``dp_postproc`` but for the optimiser (:mod:`partialfair.algorithms.regression.sgd3_sgd`).
"""

import time
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from partialfair import seeding
from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.regression.dp_postproc import DPPostproc, DPPostprocSettings, Prepared
from partialfair.algorithms.regression.dp_solutions import solution_of
from partialfair.algorithms.regression.fair_dual import split, spread
from partialfair.algorithms.regression.regression_base import by_dataset
from partialfair.algorithms.regression.sgd3_sgd import DualDescent, sgd3_sgd
from partialfair.algorithms.regression.stochastic_approximation import Schedule
from partialfair.algorithms.solution import Record, Solution

Vector = NDArray[np.float64]


class SGD3Settings(DPPostprocSettings):
    """Settings of ``dp_postproc`` that concern stochastic optimisers, but for ``preset`` and ``record_every``."""

    optimiser: Literal["sgd3_sgd"] = "sgd3_sgd"  # type: ignore[assignment]


class DPPostprocSGD(DPPostproc):
    """Post-process least squares by SGD3 with strongly convex SGD as its inner method."""

    settings_model: ClassVar[type[Settings]] = SGD3Settings

    def _solve(
        self, task: Task, settings: DPPostprocSettings, prepared: Prepared, eps: float, before: Vector | None
    ) -> tuple[Solution, list[Record], Vector]:
        """Solve at one tolerance, from 0."""
        dual = prepared.dual.with_eps(eps)
        steps = int(by_dataset(settings.steps, task, "steps"))
        smoothness = prepared.smoothness if settings.smoothness == "paper" else dual.bound
        mu = smoothness / steps if settings.mu == "budget" else 2.0 * spread(prepared.shares) / dual.beta
        names = (task.train.name, task.seed, settings.optimiser, repr(float(eps)))
        zero = split(np.zeros(dual.shape))
        DualDescent(dual, np.random.default_rng(0)).average(zero, 0.0, 1, 0.0, zero)  # compiled before time is taken
        run, began = DualDescent(dual, seeding.generator("dp_postproc", *names)), time.process_time()
        point = sgd3_sgd(run, zero, Schedule(smoothness, mu, steps))
        clock = began, time.process_time()
        mapping = float(np.linalg.norm(dual.gradient_mapping(point, 1.0 / prepared.smoothness)))
        return solution_of(task, dual, point[0] - point[1], mapping, run.done, clock, "ok")


ALGORITHM = DPPostprocSGD()
