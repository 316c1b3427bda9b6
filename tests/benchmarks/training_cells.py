"""Rows of the benchmark of constrained networks, put together by task and method; needs no PyTorch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from tests.benchmarks.common import ROOT
from tests.benchmarks.kept import Kept

FILE = ROOT / "reports/torch_training.csv"
KEYS = ("task", "method", "kind", "number")
COLUMNS = (*KEYS, "first", "second", "steps", "milliseconds", "train_gap", "validation_loss", "test_loss", "test_gap")
MEASURED = "partialfair.torch.methods"
KAPPAS = {"income by race": 0.005, "income, nine races": 0.05, "coloured digits": 0.05}
ADMISSIBLE = 2.0
"""Times the tolerance that a gap on the training rows may have."""


@dataclass(frozen=True)
class Cell:
    """The seeds of one method on one task, in order.

    Attributes:
        inside: whether the mean gap on the training rows is at most :data:`ADMISSIBLE` times the tolerance.
        loss, train_gap, test_gap: (seeds,) mean log loss on the test rows, and gaps between groups.
        milliseconds: median processor time of a step over all runs of the method.
    """

    method: str
    inside: bool
    loss: NDArray[np.float64]
    train_gap: NDArray[np.float64]
    test_gap: NDArray[np.float64]
    milliseconds: float

    @property
    def ours(self) -> bool:
        return self.method.startswith("partialfair")

    @property
    def unconstrained(self) -> bool:
        return self.method.startswith("no constraint")


def cells(kept: Kept, task: str) -> list[Cell]:
    """Methods of a task whose seeds have all been run: those that keep the gap first, by their mean loss."""
    rows = [row for row in kept.rows if row["task"] == task]
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        seeds = sorted((row for row in own if row["kind"] == "seed"), key=lambda row: int(row["number"]))
        if len(seeds) < 2:
            continue
        loss, train_gap, test_gap = (
            np.array([float(row[name]) for row in seeds]) for name in ("test_loss", "train_gap", "test_gap")
        )
        inside = bool(train_gap.mean() <= ADMISSIBLE * KAPPAS[task])
        milliseconds = float(np.median([float(row["milliseconds"]) for row in own]))
        found.append(Cell(method, inside, loss, train_gap, test_gap, milliseconds))
    return sorted(found, key=lambda cell: (not cell.inside, cell.loss.mean()))


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean, and half of the 95% interval by Student's distribution."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(t.ppf(0.975, len(values) - 1) * error)
