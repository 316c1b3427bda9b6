"""Settings of IDCA for ResNet-18: PARTIALFAIR_BENCHMARK=1 python -m tests.gpu.settings NAME SECONDS [DEVICE].

Prints each outer iterate: what is chosen by (smoothed constraint, validation accuracy), the difference of ranks that is
meant, and how hard the queues push back. docs/deep.md has the table that this made.
"""

import sys
import time
from typing import Any

from papers.partial_fairness.algorithms.deep_idca import ALGORITHM, _Run
from papers.partial_fairness.algorithms.networks import validation_accuracy
from papers.partial_fairness.datasets import drawn_faces
from partialfair.algorithms.contract import Task
from partialfair.data.intervals import Interval
from partialfair.metrics import evaluate_all
from reproduction.datasets.splits import make_split

INTERVAL = [[0.2, 0.4]]
COMMON = {
    "width": 64, "stem": "imagenet", "channels_last": True, "epochs": 3, "learning_rate": 5e-4, "rounds": 1000,
    "keep_queues": True,
}  # fmt: skip
AVERAGE = {"inner_steps": 40, "rho": 1.0, "step_scale": 0.4, "next_iterate": "average"}
LAST = {"inner_steps": 400, "rho": 0.1, "step_scale": 0.1, "next_iterate": "last"}
TRIED: dict[str, dict[str, Any]] = {
    "constant_average": {"start": "constant", **AVERAGE},
    "constant_last": {"start": "constant", **LAST},
    "trained_average": {"start": "unconstrained", **AVERAGE},
    "trained_long_average": {"start": "unconstrained", **AVERAGE, "inner_steps": 200},
    "trained_small_step": {"start": "unconstrained", **LAST, "inner_steps": 100, "rho": 1.0, "step_scale": 0.05},
    "trained_last": {"start": "unconstrained", **LAST},
}


class Timed(_Run):
    """A run that tells of every outer iterate and ends when its time is over."""

    ends: float

    def _observe(self, problem: Any, state: Any) -> bool:
        finite = super()._observe(problem, state)
        if finite:
            record = self.records[-1]
            scores, ranks = record.point[0], Interval.of(INTERVAL).each(2)
            found, _ = evaluate_all(scores, problem.y, problem.group, ranks, 0.0, ["rank_gap"])
            accuracy = validation_accuracy(self.task, problem.function, problem.parts(state.x)[0])
            print(
                f"round {state.round}: loss {record.objective:.4f}, smoothed constraint {record.violation:.4f}, "
                f"difference of ranks {found['rank_gap']:.4f}, standard deviation of scores {scores.std():.3f}, "
                f"validation accuracy {accuracy:.4f}, sum of queues {state.queues.sum():.1f}",
                flush=True,
            )
        if time.monotonic() > self.ends:
            raise SystemExit
        return finite


def main(name: str, seconds: str, device: str = "cuda", images: str = "8000", width: str = "64") -> None:
    """Train by the settings of a name."""
    data = drawn_faces.load(images=int(images), size=64)
    split = make_split(data, 0)
    task = Task(
        data.take(split.train), data.take(split.validation), "partial_statistical_parity", INTERVAL, 0.05,
        kappa_scale="absolute", grid=10, device=device, report=lambda line: None,
    )  # fmt: skip
    run = Timed(task, ALGORITHM.settings(**COMMON | TRIED[name] | {"width": int(width)}))
    run.ends = time.monotonic() + float(seconds)
    run.fit()


if __name__ == "__main__":
    main(*sys.argv[1:])
