"""What a GPU gains: PARTIALFAIR_BENCHMARK=1 python -m tests.gpu.measure [FILE] -> times beside the CPU's.

On one GPU: fits of the classifier by ``alm`` on growing tables, evaluations of its problem beside the time that reading
the rows takes at least, and steps of ResNet-18, with and without constraints.
"""

import csv
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from papers.partial_fairness.algorithms.deep_idca import ALGORITHM as IDCA
from papers.partial_fairness.datasets import drawn_faces
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.torch_problem import TorchProblem
from partialfair.estimators import PartialFairClassifier
from reproduction.datasets.splits import make_split

ROWS = (30_000, 300_000, 1_000_000)
COLUMNS = 60
Row = dict[str, Any]


def table(rows: int) -> tuple[Any, Any, Any]:
    """Numeric columns, labels and two groups that differ."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, COLUMNS)).astype(np.float32)
    group = (random.random(rows) < 0.3).astype(int)
    X[:, :5] += 0.4 * group[:, None]
    logit = X @ random.normal(size=COLUMNS) / 3 + 0.5 * group
    return X, (random.random(rows) < 1 / (1 + np.exp(-logit))).astype(int), group


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the wall clock, and what came out."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    found = work()
    torch.cuda.synchronize()
    return time.perf_counter() - began, found


def fits() -> Iterator[Row]:
    """The classifier by ``alm``; the first fit of each device is not counted."""

    def fit(device: str, X: Any, y: Any, group: Any) -> PartialFairClassifier:
        chosen = PartialFairClassifier(solver="alm", interval=[[0.0, 0.4]], kappa=0.1, device=device)
        return chosen.fit(X, y, sensitive_features=group)

    small = table(2000)
    for device in ("cpu", "cuda"):
        fit(device, *small)
    for rows in ROWS:
        given = table(rows)
        for device in ("cpu", "cuda"):
            seconds, found = timed(lambda given=given, device=device: fit(device, *given))
            yield {
                "what": f"alm, {rows:,} rows of {COLUMNS} columns", "device": device, "seconds": seconds,
                "result": f"loss {found.certificate_.objective:.6f}, metric {found.train_violation_:.4f}",
            }  # fmt: skip


def evaluations() -> Iterator[Row]:
    """Values and derivatives at a point; the bound is two readings of the rows at the speed of a copy on the device."""
    block = torch.empty(1 << 28, device="cuda")
    timed(block.clone)
    bandwidth = 2 * 4 * block.numel() / min(timed(block.clone)[0] for _ in range(5))  # a copy reads and writes
    for rows in ROWS:
        X, y, group = table(rows)
        program = plugins.load("constraints", "partial_statistical_parity").build(
            group, 2.0 * y - 1.0, interval=[[0.0, 0.4]], kappa=0.1, grid=10
        )
        problem = TorchProblem.on_device(LinearProblem.build(X, 2.0 * y - 1.0, group, program=program), "cuda")
        point, multipliers = problem.start(), np.full(problem.n_constraints, 0.1)

        def evaluate(problem: Any = problem, point: Any = point, multipliers: Any = multipliers) -> Any:
            return problem.lagrangian(problem.state(*point), multipliers)

        timed(evaluate)
        seconds = min(timed(evaluate)[0] for _ in range(10))
        bound = 2 * 4 * rows * (COLUMNS + 1) / bandwidth
        yield {
            "what": f"evaluation, {rows:,} rows of {COLUMNS} columns", "device": "cuda", "seconds": seconds,
            "result": f"{seconds / bound:.1f} times the bytes bound of {1e3 * bound:.3f} ms",
        }  # fmt: skip


def task(data: Any, device: str, kappa: float, report: Callable[[str], None]) -> Task:
    """Partial statistical parity on the training rows of some images."""
    split = make_split(data, 0)
    return Task(
        data.take(split.train), data.take(split.validation), "partial_statistical_parity", [[0.2, 0.4]], kappa,
        kappa_scale="absolute", grid=10, device=device, report=report,
    )  # fmt: skip


def networks() -> Iterator[Row]:
    """Training without constraints and by IDCA: Figure 12's network, and ResNet-18 on larger images.

    A step of IDCA bears its share of an outer iteration's end, which measures all training rows.
    """
    large = drawn_faces.load(images=3000, size=64)
    cases = {
        "figure 12's network, 32 x 32": ({"width": 8}, drawn_faces.load(images=5000, size=32), ("cpu", "cuda")),
        "ResNet-18, 64 x 64": (
            {"width": 64, "stem": "imagenet", "channels_last": True}, large, ("cpu", "cuda"),
        ),
        "ResNet-18, 64 x 64, bfloat16": (
            {"width": 64, "stem": "imagenet", "channels_last": True, "autocast": True},
            large, ("cuda",),
        ),
    }  # fmt: skip
    for name, (options, data, devices) in cases.items():
        for device in devices:
            some, steps = (data, 40) if device == "cuda" else (data.take(np.arange(300)), 3)
            ends: list[tuple[str, float]] = []
            run = task(some, device, 0.1, lambda line, ends=ends: ends.append((line.split()[0], time.perf_counter())))
            IDCA.fit(run, IDCA.settings(**options, epochs=2, rounds=2, inner_steps=steps, step_scale=0.01))
            epoch, outer = (_last_interval(ends, kind) for kind in ("epoch", "round"))
            yield {
                "what": f"{name}: image of an epoch", "device": device, "seconds": epoch / run.train.n_rows,
                "result": f"{run.train.n_rows / epoch:.0f} images/s",
            }  # fmt: skip
            yield {
                "what": f"{name}: step of IDCA", "device": device, "seconds": outer / steps,
                "result": f"{steps / outer:.1f} steps/s",
            }  # fmt: skip


def _last_interval(ends: list[tuple[str, float]], kind: str) -> float:
    """Seconds between the last two reports of a kind."""
    first, last = [moment for word, moment in ends if word == kind][-2:]
    return last - first


def main() -> None:
    """Measure, print, and write where told."""
    print(torch.cuda.get_device_name(0), torch.__version__, os.cpu_count(), "CPUs", torch.get_num_threads(), "threads")
    rows = []
    for row in itertools.chain(fits(), evaluations(), networks()):
        rows.append(row)
        print(f"{row['what']:45} {row['device']:5} {row['seconds']:10.4f} s  {row['result']}", flush=True)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
