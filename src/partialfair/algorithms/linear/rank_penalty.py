"""Partial statistical parity of one score for all groups: the loss plus a penalty on smoothed differences of ranks.

For a score s, group k's share above a threshold t is smoothed by the triangular kernel of half width h,

    F_k(t) = mean over the group's rows of Z((s - t) / h),   Z' the triangular kernel on [-1, 1],

and cut off at the ends of the interval, c(F). At Q thresholds, which follow the scores, the penalty is

    rho / 2 sum over thresholds and pairs of groups of max(|c(F_k) - c(F_j)| - m slack, 0)^2.

The metric depends on the order of the rows alone. So h goes with the spread of the scores, and falls; m follows the gap
that was measured; and the scale and the intercept of each point are set afterwards to those of the smallest loss, which
changes no rank. A round costs as much as sorting the rows, whatever the number of thresholds and groups.

The augmented Lagrangian (:mod:`partialfair.algorithms.linear.calibrated`) took ten times as long for the same gaps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem, State
from partialfair.data.intervals import Pairs

Vector = NDArray[np.float64]
THRESHOLDS = 40
ROUNDS, STEPS = 30, 25
"""Rounds of a fit, each with a smaller half width and a larger penalty, and L-BFGS iterations of a round."""
LEAST_ROUNDS, IDLE_ROUNDS = 5, 9
"""Rounds that are taken in any case, and those without a better point that end a fit."""
WIDEST, NARROWEST, NARROWER = 0.3, 0.02, 0.75
"""Half width in standard deviations of the score: the first and the last one, and the factor between two rounds."""
PENALTY, GROWTHS, LARGEST_PENALTY = 100.0, (1.6, 2.0), 1e4
"""The first penalty weight, its factor from round to round, the second where the first leads to no point within kappa,
and the largest weight."""
ASKED, CLOSE = 0.85, 0.95
"""Shares of the slack: what the first round asks for, and what a later one aims at."""
LEAST_GAIN = 1e-3
"""Share of a constant score's loss by which a score has to be better to be worth taking."""


@dataclass(frozen=True, eq=False)
class Point:
    """A score.

    Attributes:
        params: (1, d+1) parameters.
        gap: the metric on the training rows.
        loss: on the training rows.
    """

    params: Vector
    gap: float
    loss: float


def minimise_with_rank_penalty(
    problem: LinearProblem,
    free: Vector,
    pairs: Pairs,
    slack: float,
    kappa: float,
    gap_of: Callable[[Vector], float],
) -> Point:
    """The score with the smallest loss found whose ``gap_of`` the scores is at most kappa.

    Args:
        problem: the rows, sorted by group, without constraints; all groups share one set of weights.
        free: (1, d+1) parameters without constraints, taken where they meet kappa.
        pairs: the interval of ranks, widened by the slack where a threshold counts as soon as one rank is inside.
        slack: difference of shares of rows that kappa allows.
        kappa: tolerance of the metric.
        gap_of: the metric of scores (n,) in the design's order.

    Returns:
        Of the points within kappa the one with the smallest loss; without one, of those that order rows better than a
        constant does the one with the smallest gap.
    """
    free_point = Point(free, gap_of(problem.scores(free)), _loss(problem, free)[0])
    if free_point.gap <= kappa:
        return free_point
    ranks = _Ranks(problem, pairs)
    sizes = np.sort([rows.stop - rows.start for rows in ranks.parts])
    finest = float((1 / sizes[:2]).sum()) / 2  # ranks of two groups differ by steps of a row's share: no less is asked
    scaling = Scaling.at_point(problem, free)
    points, best = [free_point], (True, free_point.gap)
    for growth in GROWTHS:
        now, idle, penalty, target, width = free, 0, PENALTY, ASKED, WIDEST
        for taken in range(ROUNDS):
            ranks.set(problem.scores(now), width, penalty, max(target * slack, finest))
            now = _minimised(problem, scaling, ranks, now)
            point = _rescaled(problem, now, gap_of)
            points.append(point)
            key = (point.gap > kappa, point.loss if point.gap <= kappa else point.gap)
            idle = 0 if key < best else idle + 1
            best = min(best, key)
            if taken >= LEAST_ROUNDS and (idle >= IDLE_ROUNDS or CLOSE * kappa <= point.gap <= kappa):
                break
            # m <- m .95 kappa / gap, by at most a third or a half at a time
            target = float(np.clip(target * CLOSE * kappa / max(point.gap, 1e-12), 0.67 * target, 1.5 * target))
            penalty = min(penalty * growth, LARGEST_PENALTY) if point.gap > kappa else penalty
            width = max(width * NARROWER, NARROWEST)
        if not best[0]:
            break
    return _taken(points, kappa, _constant_loss(problem))


def _taken(points: list[Point], kappa: float, constant: float) -> Point:
    within = [point for point in points if point.gap <= kappa and point.loss < constant]
    if within:
        return min(within, key=lambda point: point.loss)
    useful = [point for point in points if point.loss < (1 - LEAST_GAIN) * constant]
    return min(useful or points, key=lambda point: point.gap)


def _loss(problem: LinearProblem, params: Vector) -> tuple[float, Vector]:
    """The loss of the problem, weights and penalty included, and its gradient (1, d+1)."""
    return problem.loss(State(params, np.zeros(0), problem.scores(params), np.zeros(0), np.zeros((0, 0))))


def _constant_loss(problem: LinearProblem) -> float:
    """The smallest loss of a constant score."""
    zero = np.zeros(problem.model.shape)
    return _rescaled(problem, zero, lambda scores: 0.0).loss


def _minimised(problem: LinearProblem, scaling: Scaling, ranks: "_Ranks", start: Vector) -> Vector:
    """Parameters after some L-BFGS iterations on loss and penalty, in coordinates in which the loss is round."""

    def value(flat: Vector) -> tuple[float, Vector]:
        params = scaling.to_params(flat.reshape(start.shape))
        scores = problem.scores(params)
        loss, gradient = problem.loss(State(params, np.zeros(0), scores, np.zeros(0), np.zeros((0, 0))))
        more, residual = ranks.penalty(scores)
        return loss + more, scaling.pull_back(gradient + problem.pull_back(residual)).ravel()

    options = {"maxiter": STEPS, "maxcor": 20}
    flat = scaling.from_params(start).ravel()
    solution = minimize(value, flat, jac=True, method="L-BFGS-B", options=options).x
    return scaling.to_params(solution.reshape(start.shape))


def _rescaled(problem: LinearProblem, params: Vector, gap_of: Callable[[Vector], float]) -> Point:
    """The point with the scale c > 0 and the shift b of the smallest loss: ``c s + b`` orders rows as s does."""

    def moved_by(scale: Vector) -> Vector:
        # c = exp(a) > 0, so that the order of the rows stays
        moved = float(np.exp(scale[0])) * params
        moved[0, 0] += scale[1]
        return moved

    def value(scale: Vector) -> tuple[float, Vector]:
        moved = moved_by(scale)
        loss, gradient = _loss(problem, moved)
        # d/da of the loss at c s + b is its gradient along c s, d/db that by the intercept
        stretched = moved.copy()
        stretched[0, 0] -= scale[1]
        return loss, np.array([float(np.sum(gradient * stretched)), float(gradient[0, 0])])

    scale_and_shift = minimize(value, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-12, 12), (None, None)]).x
    moved = moved_by(scale_and_shift)
    return Point(moved, gap_of(problem.scores(moved)), _loss(problem, moved)[0])


@dataclass(eq=False)
class _Ranks:
    """The penalty at fixed thresholds.

    Attributes:
        problem: rows sorted by group.
        pairs: the interval.
    """

    problem: LinearProblem
    pairs: Pairs
    thresholds: Vector = field(default_factory=lambda: np.zeros(0))
    half: float = 1.0
    weight: float = 0.0
    allowed: float = 0.0

    @property
    def parts(self) -> list[slice]:
        """Rows of every group."""
        starts = self.problem.design.starts
        return [slice(int(low), int(high)) for low, high in zip(starts, starts[1:], strict=False) if high > low]

    def set(self, scores: Vector, width: float, weight: float, allowed: float) -> None:
        """Place thresholds (Q,) among the scores (n,) where some group's rank is in the interval."""
        self.half = max(width * float(scores.std()), 1e-12)
        self.weight, self.allowed = weight, allowed
        is_inside = np.zeros(scores.size, np.bool_)
        for low, high in self.pairs:
            ends = [np.quantile(scores[rows], [1 - high, 1 - low]) for rows in self.parts]
            bottom, top = min(end[0] for end in ends), max(end[1] for end in ends)
            is_inside |= (scores >= bottom) & (scores <= top)
        inside = np.sort(scores[is_inside])
        self.thresholds = inside[np.linspace(0, inside.size - 1, THRESHOLDS).astype(np.int64)]

    def penalty(self, scores: Vector) -> tuple[float, Vector]:
        """The penalty, and its derivative by the scores (n,)."""
        # F_k(t_q) (G, Q), cut off at the ends of the interval: c(F) = sum over pairs of clip(F, alpha, beta) - alpha
        shares = np.array([self._share(scores[rows]) for rows in self.parts])
        cut, slope = self._cut(shares)
        total, by_share = 0.0, np.zeros_like(shares)
        for k, j in combinations(range(len(shares)), 2):
            difference = cut[k] - cut[j]
            # rho / 2 sum max(|c(F_k) - c(F_j)| - m slack, 0)^2, and its derivative by the shares
            excess = np.maximum(np.abs(difference) - self.allowed, 0.0)
            total += 0.5 * self.weight * float(excess @ excess)
            pull = self.weight * excess * np.sign(difference)
            by_share[k] += pull * slope[k]
            by_share[j] -= pull * slope[j]
        residual = np.zeros(scores.size)
        for rows, weights in zip(self.parts, by_share, strict=True):
            if weights.any():
                residual[rows] = self._slopes(scores[rows], weights) / (rows.stop - rows.start)
        return total, residual

    def _cut(self, shares: Vector) -> tuple[Vector, Vector]:
        """``c(F)``, the length of the interval below F, and its derivative."""
        cut, slope = np.zeros_like(shares), np.zeros_like(shares)
        for low, high in self.pairs:
            cut += np.clip(shares, low, high) - low
            slope += (shares > low) & (shares < high)
        return cut, slope

    def _share(self, scores: Vector) -> Vector:
        """F (Q,) of one group: with ``P(t) = mean max(s - t, 0)^2 / 2`` it is (P(t - h) - 2 P(t) + P(t + h)) / h^2."""
        # centred scores, because squares of large ones would cancel
        middle = float(scores.mean())
        ranked = np.sort(scores - middle)
        sums = [np.append(np.cumsum(power[::-1])[::-1], 0.0) for power in (np.ones(ranked.size), ranked, ranked**2)]

        def square(thresholds: Vector) -> Vector:
            t = thresholds - middle
            above = np.searchsorted(ranked, t, side="right")
            count, linear, squared = (total[above] for total in sums)
            return np.asarray((squared - 2 * t * linear + t**2 * count) / (2 * ranked.size))

        t, h = self.thresholds, self.half
        return np.asarray(np.clip((square(t - h) - 2 * square(t) + square(t + h)) / h**2, 0.0, 1.0))

    def _slopes(self, scores: Vector, weights: Vector) -> Vector:
        """``sum_q weights_q Z'((s - t_q) / h) / h`` of one group's rows: linear between the ends of the kernels."""
        t, h = self.thresholds, self.half
        # Z'((s - t) / h) / h is piecewise linear in s: its slope changes by 1, -2, 1 over h^2 at t - h, t, t + h.
        # Running sums of these changes give slope and intercept between any two knots.
        knots = np.concatenate([t - h, t, t + h])
        bends = np.concatenate([weights, -2 * weights, weights]) / h**2
        order = np.argsort(knots, kind="stable")
        knots, bends = knots[order], bends[order]
        steep = np.append(0.0, np.cumsum(bends))
        level = np.append(0.0, np.cumsum(bends * knots))
        below = np.searchsorted(knots, scores)
        return np.asarray(steep[below] * scores - level[below])
