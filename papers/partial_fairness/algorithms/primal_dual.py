"""Primal-dual method for convex problems whose objective and constraints are seen through samples.

Yu, Neely and Wei, Online convex optimization with stochastic constraints (2017), algorithm 1: with queues Q_i >= 0,

    d = V f0'(x_t) + sum_i Q_i g_i'(x_t)
    x_{t+1} = x_t - d / (2 a)
    Q_i = max(0, Q_i + g_i(x_t) + <g_i'(x_t), x_{t+1} - x_t>)

all of one sample per step, V = sqrt(T) and a = T. Objective and constraints of the average of the T iterates are within
O(1 / sqrt(T)) of the optimum; Q / V estimates the multipliers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms import stochastic_steps

Point = TypeVar("Point")  # an array or tensor: what can be added, subtracted and scaled


class Sample(Protocol[Point]):
    """What one sample says of the problem."""

    def gradient(self, x: Point, weight: float, queues: NDArray[np.float64]) -> Point:
        """``weight * f0'(x) + sum_i queues_i g_i'(x)``."""
        ...

    def extrapolated(self, x: Point, following: Point) -> NDArray[np.float64]:
        """``g_i(x) + <g_i'(x), following - x>``, (m,)."""
        ...


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Point]):
    """Result of the method.

    Attributes:
        last: the last iterate.
        average: mean of the iterates x_1 .. x_T.
        queues: (m,) at the end.
        multipliers: (m,) mean of Q / V over the second half of the steps.
    """

    last: Point
    average: Point
    queues: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def primal_dual(
    draw: Callable[[int], Sample], start: Point, queues: NDArray[np.float64], steps: int, step_scale: float = 1.0
) -> Outcome:
    """Take ``steps`` (T) steps.

    Args:
        draw: the sample of step t = 0, 1, ...
        start: x_0.
        queues: (m,) at the start; zeros in the paper.
        steps: T.
        step_scale: a = T / step_scale.
    """
    # V = sqrt(T), and 1 / (2 a) with a = T / step_scale
    weight, length = stochastic_steps.loss_weight(steps), step_scale / (2 * steps)
    x, total = start, start * 0.0  # type: ignore[operator]
    late = steps // 2
    late_multipliers = np.zeros_like(queues)
    for t in range(steps):
        sample = draw(t)
        # d = V f0' + sum_i Q_i g_i' with the queues before the step, which then move by g_i to first order at the new
        # point
        following = x - length * sample.gradient(x, weight, queues)
        queues = stochastic_steps.moved_queues(queues, sample.extrapolated(x, following))
        x, total = following, total + following
        if t >= late:
            # Q / V approaches the multipliers; its mean over the second half is less noisy than the last value
            late_multipliers = late_multipliers + queues / weight
    return Outcome(x, total / steps, queues, late_multipliers / (steps - late))
