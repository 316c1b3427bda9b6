"""What the benchmarks share: the result record, real problems, and side-by-side timing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.datasets.splits import make_split
from partialfair.datasets.table import Dataset
from partialfair.jobs.prepare import fetch
from partialfair.models.design import Standardiser
from partialfair.solvers.problem import LinearProblem

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """One measured figure.

    Attributes:
        id: stable name.
        value, unit: the figure.
        target: bound it is held against, e.g. ">= 20"; ``None`` for information only.
        holds: whether it does; ``None`` without a target.
        how: what was measured, in one sentence.
    """

    id: str
    value: float
    unit: str
    target: str | None
    holds: bool | None
    how: str


def result(id_: str, value: float, unit: str, target: str | None, how: str) -> Result:
    """A result whose ``holds`` follows from its target."""
    holds = None
    if target is not None:
        sign, bound = target.split()
        holds = bool(value >= float(bound) if sign == ">=" else value <= float(bound))
    return Result(id_, float(value), unit, target, holds, how)


def real_dataset(name: str) -> Dataset:
    """A real dataset, fetched where it is missing."""
    raw = ROOT / "data" / "raw"
    fetch(name, raw)
    return plugins.load("datasets", name).load(raw)


def training_rows(data: Dataset, seed: int = 0) -> tuple[Dataset, Standardiser]:
    """Training part of a split and its standardiser."""
    train = data.take(make_split(data, seed).train)
    return train, Standardiser.fit(train.X, train.numeric)


def psp_problem(
    train: Dataset, standardiser: Standardiser, interval: Any, kappa: float, grid: int = 10
) -> LinearProblem:
    """The pSP problem of the main paper, absolute kappa."""
    build = plugins.load("constraints", "partial_statistical_parity").build
    program = build(train.group, train.y, interval=interval, kappa=kappa, grid=grid, kappa_scale="absolute")
    return LinearProblem.build(train.X, train.y, train.group, program=program, standardiser=standardiser)


def dense_rows(train: Dataset, standardiser: Standardiser) -> np.ndarray:
    """Standardised features as a plain float64 matrix."""
    X = train.X if isinstance(train.X, np.ndarray) else train.X.toarray()
    X = X.astype(np.float64)
    X[:, train.numeric] = standardiser.values(train.X)
    return X


def alternate(first: Callable[[], Any], second: Callable[[], Any], repeats: int = 3) -> tuple[float, float]:
    """Median processor seconds of two functions, run in turn so that drift of the machine hits both."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for function, times in zip((first, second), spent, strict=True):
            start = time.process_time()
            function()
            times.append(time.process_time() - start)
    return median(spent[0]), median(spent[1])
