"""What the benchmarks share: the result record, real problems, and side-by-side timing."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.data.dataset import Dataset
from partialfair.models.features import Standardiser
from reproduction.datasets.splits import make_split
from reproduction.jobs.prepare import fetch

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
        points: (x, y) of the curve that the figure summarises; ``axis`` names x.
    """

    id: str
    value: float
    unit: str
    target: str | None
    holds: bool | None
    how: str
    points: tuple[tuple[float, float], ...] = ()
    axis: str = ""


def result(
    id_: str,
    value: float,
    unit: str,
    target: str | None,
    how: str,
    points: Iterable[tuple[float, float]] = (),
    axis: str = "",
    valid: bool = True,
) -> Result:
    """A result whose ``holds`` follows from its target; nothing holds or fails where nothing was measured (NaN).

    A comparison that is not ``valid``, for instance of two models that are not equally good, does not hold.
    """
    holds = None
    value = float(value)
    if target is not None and not math.isnan(value):
        sign, bound = target.split()
        holds = valid and bool(value >= float(bound) if sign == ">=" else value <= float(bound))
    return Result(id_, value, unit, target, holds, how, tuple(points), axis)


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
    one, other = rates((first, 1), (second, 1), repeats=repeats)
    return one, other


def rates(*work: tuple[Callable[[], Any], int], repeats: int = 3) -> list[float]:
    """Median processor seconds per unit of several functions, in turn; each is run once before.

    Args:
        work: (function, units of work that one call does).
        repeats: timed calls of each.
    """
    for function, _ in work:
        function()
    spent: list[list[float]] = [[] for _ in work]
    for _ in range(repeats):
        for (function, units), times in zip(work, spent, strict=True):
            times.append(seconds(function)[0] / units)
    return [median(times) for times in spent]


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returned."""
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """Slope of the straight line through (log x, log y), by least squares."""
    x, y = np.log(np.array(list(points))).T
    return float(np.polyfit(x, y, 1)[0])
