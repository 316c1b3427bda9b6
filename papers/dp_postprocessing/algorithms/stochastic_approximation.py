"""SGD, AC-SA, AC-SA^2 and SGD3 on a convex function over the non-negative orthant.

Source: DP post-processing paper, Algorithms 2 to 4, after Ghadimi and Lan (2012), Allen-Zhu (2021) and Foster et al.
(2019). The preset ``theory`` is the paper's text; ``released`` is the code that gave the published numbers. The code
differs from the text in these points. In AC-SA, alpha_t is 2 / t, not 2 / (t + 1). Inside SGD3, the second half of
AC-SA^2 continues from the first and only resets its step counter. Plain AC-SA^2 restarts, and runs T steps in each
half. SGD3 starts every stage at 0 and not at the last point, passes on the smoothness M + mu and not 2 (M + mu), and
has no pull towards its start.

The loops over steps exist twice: here for any gradient, and compiled for the dual of post-processing
(:mod:`partialfair.kernels.fair_dual_steps`); schedules and stages exist once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.fair_dual import Dual
from partialfair.kernels import fair_dual_steps as kernels

Vector = NDArray[np.float64]
Preset = Literal["theory", "released"]
OPTIMISERS = ("sgd", "acsa", "acsa2", "sgd3_sgd", "sgd3_acsa", "sgd3_acsa2")


class Steps(Protocol):
    """Runner of AC-SA and of SGD for some steps on one function."""

    def acsa(
        self, w: Vector, average: Vector, mu: float, smoothness: float, steps: int, weight: float, centre: Vector
    ) -> tuple[Vector, Vector]:
        """Return (w, average) after ``steps`` steps on F plus ``weight |w|^2 / 2 - <centre, w>``; inputs are kept."""
        ...

    def sgd(self, w: Vector, size: float, steps: int) -> tuple[Vector, Vector]:
        """Return last and average iterate of projected steps of one size; the input is kept."""
        ...

    def pulled_sgd(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> tuple[Vector, Vector]:
        """Return the result of :meth:`sgd` on F plus ``weight |w|^2 / 2 - <centre, w>``."""
        ...


@dataclass
class PlainSteps:
    """Steps by NumPy on any gradient oracle; ``shift`` 1 is the preset theory, 0 the released one."""

    gradient: Callable[[Vector], Vector]
    shift: int = 1

    def acsa(
        self, w: Vector, average: Vector, mu: float, smoothness: float, steps: int, weight: float, centre: Vector
    ) -> tuple[Vector, Vector]:
        """See :class:`Steps`; every step calls the oracle once."""
        for step in range(1, steps + 1):
            # Algorithm 2, lines 5 to 9, on F + weight |w|^2 / 2 - <centre, w>, with w^md "middle" and w^ag "average"
            alpha, gamma = 2 / (step + self.shift), 4 * smoothness / (step * (step + 1))
            scale = gamma + (1 - alpha**2) * mu
            momentum = (1 - alpha) * mu + gamma
            middle = (1 - alpha) * (mu + gamma) / scale * average + alpha * momentum / scale * w
            slope = self.gradient(middle) + weight * middle - centre
            w = np.maximum((momentum * w + alpha * mu * middle - alpha * slope) / (mu + gamma), 0.0)
            average = alpha * w + (1 - alpha) * average
        return w, average

    def sgd(self, w: Vector, size: float, steps: int) -> tuple[Vector, Vector]:
        """See :class:`Steps`; every step calls the oracle once."""
        return self.pulled_sgd(w, size, steps, 0.0, np.zeros_like(w))

    def pulled_sgd(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> tuple[Vector, Vector]:
        """See :class:`Steps`; every step calls the oracle once."""
        mean = np.zeros_like(w)
        for step in range(1, steps + 1):
            w = np.maximum(w - size * (self.gradient(w) + weight * w - centre), 0.0)
            # mean_t = mean_(t-1) + (w_t - mean_(t-1)) / t
            mean += (w - mean) / step
        return w, mean


@dataclass
class DualSteps:
    """Compiled steps on a dual, each on one row drawn with replacement.

    Attributes:
        dual: the problem.
        random: source of the rows.
        shift: see :class:`PlainSteps`.
        every: number of steps between two records of Lambda - V; 0 for no records.
        budget: steps for which the trace has room.
        trace: (records, K, G) recorded values of Lambda - V.
        done: number of steps taken.
    """

    dual: Dual
    random: np.random.Generator
    shift: int = 1
    every: int = 0
    budget: int = 0
    trace: Vector = field(init=False)
    done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.trace = np.zeros((self.budget // self.every if self.every else 0, *self.dual.shape))

    def _rows(self, steps: int) -> NDArray[np.int64]:
        return self.random.integers(0, self.dual.n_rows, steps)

    def acsa(
        self, w: Vector, average: Vector, mu: float, smoothness: float, steps: int, weight: float, centre: Vector
    ) -> tuple[Vector, Vector]:
        """See :class:`Steps`; one compiled call takes all steps, on rows drawn beforehand."""
        d, w, average = self.dual, w.copy(), average.copy()
        kernels.acsa(
            d.t, d.r, d.eps, d.beta, self._rows(steps), smoothness, mu, weight, centre, self.shift, w, average,
            self.every, self.done, self.trace,
        )  # fmt: skip
        self.done += steps
        return w, average

    def sgd(self, w: Vector, size: float, steps: int) -> tuple[Vector, Vector]:
        """See :class:`Steps`; one compiled call takes all steps, on rows drawn beforehand."""
        d, w, mean = self.dual, w.copy(), np.zeros_like(w)
        kernels.sgd(d.t, d.r, d.eps, d.beta, self._rows(steps), size, w, mean, self.every, self.trace)
        self.done += steps
        return w, mean

    def pulled_sgd(self, w: Vector, size: float, steps: int, weight: float, centre: Vector) -> tuple[Vector, Vector]:
        """See :class:`Steps`. Plain NumPy, since only sgd3_sgd needs it; no path is recorded."""
        self.done += steps
        return PlainSteps(self._one_row, self.shift).pulled_sgd(w, size, steps, weight, centre)

    def _one_row(self, point: Vector) -> Vector:
        """Return the gradient on one drawn row."""
        d = self.dual
        i = int(self._rows(1)[0])
        # equation (11) on one row
        logits = d.beta * (d.t[i] @ (point[0] - point[1]) - d.r[i])
        shares = np.exp(logits - logits.max())
        drift = np.outer(d.t[i], shares / shares.sum())
        return np.stack([d.eps[:, None] + drift, d.eps[:, None] - drift])


@dataclass(frozen=True)
class Schedule:
    """Parameters of a run of an optimiser.

    Attributes:
        smoothness: M.
        mu: strong convexity of the first stage, or the constant of plain AC-SA.
        steps: T, the nominal number of gradient evaluations. Plain AC-SA^2 of the preset released takes 2 T;
            ``sgd3_sgd`` takes up to about 5 T.
        preset: ``theory`` or ``released``.
        first_regulariser: whether SGD3 of the preset theory pulls towards its start.
        average: whether SGD returns its average iterate instead of its last.
    """

    smoothness: float
    mu: float
    steps: int
    preset: Preset = "released"
    first_regulariser: bool = True
    average: bool = False

    @property
    def stages(self) -> int:
        """Number of stages J of SGD3."""
        # J = floor(log2(M / mu)), Algorithm 4, line 3; the released code has M + mu in the numerator
        ratio = self.smoothness / self.mu if self.preset == "theory" else (self.smoothness + self.mu) / self.mu
        return max(1, math.floor(math.log2(ratio) + 1e-12))


def acsa2(
    run: Steps, start: Vector, mu: float, smoothness: float, steps: int, weight: float, centre: Vector, restart: bool
) -> Vector:
    """AC-SA in two halves of ``steps / 2`` each (Algorithm 3).

    With ``restart``, the second half begins at the output of the first. Without, it continues from the first and only
    resets its step counter (released SGD3).
    """
    # Algorithm 3: T / 2 steps, then T / 2 steps with the counter back at 1
    half = steps // 2
    w, average = run.acsa(start, start, mu, smoothness, half, weight, centre)
    return run.acsa(average if restart else w, average, mu, smoothness, half, weight, centre)[1]


def sgd3(run: Steps, start: Vector, schedule: Schedule, twice: bool) -> Vector:
    """SGD3-refined (Algorithm 4): stages of AC-SA (``twice``: AC-SA^2), each pulled towards the earlier points.

    The pull towards the stage points is stored as two running sums, its total weight and the weighted points.
    """
    theory = schedule.preset == "theory"
    # line 2: F^(0) = F + mu / 2 |w - w0|^2. All pulls together are weight |w|^2 / 2 - <centre, w> + constant.
    weight, centre = 0.0, np.zeros_like(start)
    if theory and schedule.first_regulariser:
        weight, centre = schedule.mu, schedule.mu * start
    smoothness = (2.0 if theory else 1.0) * (schedule.smoothness + schedule.mu)
    mu, point, steps = schedule.mu, start, schedule.steps // schedule.stages
    for _ in range(schedule.stages):
        # line 4: stage j on F^(j-1), with mu_(j-1), 2 (M + mu) and T / J steps
        begin = point if theory else np.zeros_like(start)
        if twice:
            point = acsa2(run, begin, mu, smoothness, steps, weight, centre, restart=theory)
        else:
            point = run.acsa(begin, begin, mu, smoothness, steps, weight, centre)[1]
        # lines 5 and 6: mu_j = 2 mu_(j-1), and the pull mu_j / 2 |w - w_j|^2 joins
        mu *= 2.0
        weight, centre = weight + mu, centre + mu * point
    return point


def sgd3_with_sgd(run: Steps, start: Vector, schedule: Schedule) -> Vector:
    """SGD3 of Allen-Zhu (2021): each stage starts at the point of the stage before and takes rounds of projected SGD.

    The rounds are those of the released code, where M' is three times the smoothness that :func:`sgd3` passes on. A
    stage whose budget is shorter than one round takes no step. The preset theory starts a round at the average of the
    round before. The released code starts it at the last iterate, since its list of iterates holds one array many
    times.
    """
    average = schedule.preset == "theory"
    weight, centre, point, mu = 0.0, np.zeros_like(start), start, schedule.mu
    if average and schedule.first_regulariser:
        weight, centre = mu, mu * start
    smoothness = 3.0 * (2.0 if average else 1.0) * (schedule.smoothness + schedule.mu)
    budget = schedule.steps // schedule.stages
    for _ in range(schedule.stages):
        # int(share) rounds of M' / mu steps of size 1 / (2 M') use up the stage's budget; the rounds of 2^(k+2) M' / mu
        # steps of size 1 / (2^k M') come on top, up to four budgets in all
        share = budget * mu / smoothness
        rounds = [(2.0 * smoothness, int(smoothness / mu))] * int(share)
        for k in range(int(math.log2(share)) if share >= 1 else 0):
            rounds.append((2.0**k * smoothness, int(2 ** (k + 2) * smoothness / mu)))
        for inverse, steps in rounds:
            point = run.pulled_sgd(point, 1.0 / inverse, steps, weight, centre)[1 if average else 0]
        mu *= 2.0
        weight, centre = weight + mu, centre + mu * point
    return point


def minimise(run: Steps, start: Vector, optimiser: str, schedule: Schedule) -> Vector:
    """Run one of ``OPTIMISERS`` from ``start`` and return its output point."""
    zero = np.zeros_like(start)
    if optimiser == "sgd":
        last, mean = run.sgd(start, 1.0 / schedule.smoothness, schedule.steps)
        return mean if schedule.average else last
    if optimiser == "acsa":
        return run.acsa(start, start, schedule.mu, schedule.smoothness, schedule.steps, 0.0, zero)[1]
    if optimiser == "acsa2":
        theory = schedule.preset == "theory"
        steps = schedule.steps if theory else 2 * schedule.steps
        return acsa2(run, start, schedule.mu, schedule.smoothness, steps, 0.0, zero, restart=True)
    if optimiser == "sgd3_sgd":
        return sgd3_with_sgd(run, start, schedule)
    return sgd3(run, start, schedule, twice=optimiser == "sgd3_acsa2")


def shift_of(preset: Preset) -> int:
    """Return the offset of the step counter in alpha = 2 / (step + shift)."""
    return 1 if preset == "theory" else 0
