"""SGD3 with SGD as its inner method, the original of Allen-Zhu (2018).

Source: DP post-processing paper, which calls it clearly worse than the variants with AC-SA and shows it in no figure
(spec: section 3.3). A stage runs SGD for strongly convex functions: rounds of steps of one size, each from the average
of the one before, then rounds of halved sizes and doubled lengths. The early stages, whose convexity is small, have
no round within their budget and leave their start as it is; the late ones take up to five times their budget.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.fair_dual import Dual
from partialfair.algorithms.regression.kernels.regularised_sgd import regularised_sgd
from partialfair.algorithms.regression.stochastic_approximation import Schedule

Vector = NDArray[np.float64]


class Descent(Protocol):
    """Projected steps of one size on one function plus a quadratic regulariser."""

    def average(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> Vector:
        """Average of the points of ``steps`` steps on F plus ``weight |w|^2 / 2 - <centre, w>``; w is kept."""
        ...


@dataclass
class PlainDescent:
    """Steps by NumPy on any gradient oracle."""

    gradient: Callable[[Vector], Vector]

    def average(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> Vector:
        """See :class:`Descent`."""
        mean = np.zeros_like(w)
        for step in range(1, steps + 1):
            w = np.maximum(w - size * (self.gradient(w) + weight * w - centre), 0.0)
            mean = mean + (w - mean) / step
        return mean


@dataclass
class DualDescent:
    """Compiled steps on a dual, each on one row drawn with replacement.

    Attributes:
        dual: the problem; random: source of the rows; done: steps so far.
    """

    dual: Dual
    random: np.random.Generator
    done: int = field(init=False, default=0)

    def average(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> Vector:
        """See :class:`Descent`."""
        d, w, mean = self.dual, w.copy(), np.zeros_like(w)
        rows = self.random.integers(0, d.n_rows, steps)
        regularised_sgd(d.t, d.r, d.eps, d.beta, rows, size, weight, centre, w, mean)
        self.done += steps
        return mean


def rounds(mu: float, smoothness: float, steps: int) -> list[tuple[float, int]]:
    """Size and number of the steps of every round of one stage.

    Args:
        mu: strong convexity of the stage; smoothness: 3 M'; steps: budget of the stage.
    """
    ratio = mu * steps / smoothness
    first = [(1.0 / (2.0 * smoothness), math.floor(smoothness / mu))] * math.floor(ratio)
    halvings = math.floor(math.log2(ratio)) if ratio >= 1 else 0
    return first + [
        (1.0 / (2.0**k * smoothness), math.floor(2.0 ** (k + 2) * smoothness / mu)) for k in range(halvings)
    ]


def sgd3_sgd(run: Descent, start: Vector, schedule: Schedule) -> Vector:
    """Stages of strongly convex SGD, each from the point of the one before and tied to all points so far."""
    smoothness = 3.0 * (schedule.smoothness + schedule.mu)
    weight, centre, mu, point = 0.0, np.zeros_like(start), schedule.mu, start
    for _ in range(schedule.stages):
        for size, steps in rounds(mu, smoothness, schedule.steps // schedule.stages):
            point = run.average(point, size, steps, weight, centre)
        mu *= 2.0
        weight, centre = weight + mu, centre + mu * point
    return point
