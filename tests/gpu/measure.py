"""What a GPU gains: python -m tests.gpu.measure [FILE] -> times beside those of the same machine's CPU.

On one GPU: fits of the classifier by ``alm`` on growing tables, and steps of ResNet-18, with and without constraints.
"""

import csv
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ["PARTIALFAIR_BENCHMARK"] = "1"  # as in a user's program: the workflow's settings slow PyTorch's products

import numpy as np
import torch

from partialfair.algorithms.contract import Task
from partialfair.algorithms.deep.deep_idca import ALGORITHM as IDCA
from partialfair.algorithms.deep.deep_unconstrained import ALGORITHM as UNCONSTRAINED
from partialfair.datasets import drawn_faces
from partialfair.datasets.splits import make_split
from partialfair.estimators import PartialFairClassifier

ROWS = (30_000, 300_000, 3_000_000)
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


def task(data: Any, device: str, kappa: float) -> Task:
    split = make_split(data, 0)
    return Task(
        data.take(split.train), data.take(split.validation), "partial_statistical_parity", [[0.2, 0.4]], kappa,
        kappa_scale="absolute", grid=10, device=device, report=lambda line: None,
    )  # fmt: skip


def networks() -> Iterator[Row]:
    """Training with and without constraints: Figure 12's network and ResNet-18 on images of CelebA's size here."""
    cases = {
        "figure 12's network, 32 x 32": ({"width": 8}, drawn_faces.load(images=5000, size=32), ("cpu", "cuda")),
        "ResNet-18, 64 x 64": (
            {"width": 64, "stem": "imagenet", "channels_last": True}, drawn_faces.load(images=3000, size=64),
            ("cpu", "cuda"),
        ),
        "ResNet-18, 64 x 64, bfloat16": (
            {"width": 64, "stem": "imagenet", "channels_last": True, "autocast": True},
            drawn_faces.load(images=3000, size=64), ("cuda",),
        ),
    }  # fmt: skip
    for name, (options, data, devices) in cases.items():
        for device in devices:
            some, steps = (data, 40) if device == "cuda" else (data.take(np.arange(600)), 3)
            settings = UNCONSTRAINED.settings(**options, epochs=1)
            if device == "cuda":
                UNCONSTRAINED.fit(task(data.take(np.arange(300)), device, np.inf), settings)
            run = task(some, device, np.inf)
            seconds, _ = timed(lambda run=run, settings=settings: UNCONSTRAINED.fit(run, settings))
            yield {
                "what": f"{name}: images of an epoch", "device": device, "seconds": seconds / run.train.n_rows,
                "result": f"{run.train.n_rows / seconds:.0f} images/s",
            }  # fmt: skip
            long, short = (_constrained(some, device, options, inner_steps) for inner_steps in (2 * steps, steps))
            each = (long - short) / steps
            yield {
                "what": f"{name}: step of IDCA", "device": device, "seconds": each, "result": f"{1 / each:.1f} steps/s",
            }  # fmt: skip


def _constrained(data: Any, device: str, options: dict[str, Any], steps: int) -> float:
    """Seconds of one epoch and one outer iteration."""
    settings = IDCA.settings(**options, epochs=1, rounds=1, inner_steps=steps)
    return timed(lambda: IDCA.fit(task(data, device, 0.1), settings))[0]


def main() -> None:
    """Measure, print, and write where told."""
    print(torch.cuda.get_device_name(0), torch.__version__, os.cpu_count(), "CPUs", torch.get_num_threads(), "threads")
    rows = []
    for row in itertools.chain(fits(), networks()):
        rows.append(row)
        print(f"{row['what']:45} {row['device']:5} {row['seconds']:10.4f} s  {row['result']}", flush=True)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
