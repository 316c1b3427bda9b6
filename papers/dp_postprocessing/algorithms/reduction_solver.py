"""Fair regression by reduction to least squares: demographic parity, square loss (Agarwal, Dudik and Wu, 2019).

The baseline "ADW" of the DP post-processing paper (section 6). A predictor is a mixture of linear functions
cut into 41 levels on [0, 1]. The multipliers of the constraints are played by exponentiated gradient, the mixture by
best responses: a cost-sensitive problem over the levels, whose cheapest level is the target of a least-squares fit.
All costs come from prefix sums over levels, and the pseudo-inverse of the features is computed once.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.models.level_mixture import LEVELS

Vector = NDArray[np.float64]
ROUNDS = 50
BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows in the layout of the reduction.

    Attributes:
        X: (n, d) features, with a constant column if the linear functions are to have an intercept.
        y: (n,) labels on [0, 1].
        group: (n,) codes.
        n_groups: K.
    """

    X: Vector
    y: Vector
    group: NDArray[np.integer]
    n_groups: int

    @cached_property
    def theta(self) -> Vector:
        """(41,) thresholds."""
        return np.linspace(0.0, 1.0, LEVELS)

    @cached_property
    def middles(self) -> Vector:
        """(41,) numbers that are predicted."""
        return self.theta + self.width / 2

    @cached_property
    def width(self) -> float:
        """Distance of thresholds."""
        return 1.0 / (LEVELS - 1)

    @cached_property
    def labels(self) -> NDArray[np.bool_]:
        """(n, 41) whether the label exceeds each threshold."""
        return self.theta[None, :] < self.y[:, None]

    @cached_property
    def weights(self) -> Vector:
        """(n, 41) weights of the thresholds, of mean 1."""
        # the square loss as a sum over thresholds: crossing theta costs about 2 width |theta - y|
        raw = np.abs(2 * self.width * (self.theta[None, :] - self.y[:, None]))
        return np.asarray(raw / raw.mean())

    @cached_property
    def member(self) -> Vector:
        """(K, n) indicator of the groups divided by their sizes."""
        one_hot = np.eye(self.n_groups)[self.group].T
        return one_hot / one_hot.sum(axis=1, keepdims=True)

    @cached_property
    def shares(self) -> Vector:
        """(K,) shares of the groups."""
        return np.bincount(self.group, minlength=self.n_groups) / len(self.y)

    @cached_property
    def inverse(self) -> Vector:
        """(d, n) pseudo-inverse of the features."""
        return np.asarray(np.linalg.pinv(self.X))

    def above(self, hypothesis: Vector) -> NDArray[np.bool_]:
        """(n, 41) whether a linear function reaches each threshold."""
        return (self.X @ hypothesis)[:, None] >= self.theta[None, :]

    def error(self, above: NDArray[np.bool_]) -> float:
        """Weighted share of thresholds on the wrong side."""
        return float((self.weights * (self.labels != above)).mean())

    def gaps(self, above: NDArray[np.bool_]) -> Vector:
        """(2 K 41,) how much more often each group is above each threshold than all rows; then the same negated."""
        # gamma_(s, z) = P(f >= z | S = s) - P(f >= z), for all groups s and thresholds z, then the same negated
        differences = (self.member @ above - above.mean(axis=0)).ravel()
        return np.concatenate([differences, -differences])


@dataclass(frozen=True, eq=False)
class Mixture:
    """A randomised predictor.

    Attributes:
        hypotheses: (h, d) linear functions.
        weights: (h,) probabilities, all positive.
        gap: of the saddle point.
        rounds: best-response rounds done.
        target: gap at which the algorithm stops by itself.
    """

    hypotheses: Vector
    weights: Vector
    gap: float
    rounds: int
    target: float


@dataclass(eq=False)
class _Play:
    """State of the game: the linear functions so far with their errors and gaps."""

    sample: Sample
    eps: float
    bound: float
    functions: list[Vector] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    gaps: list[Vector] = field(default_factory=list)

    def best_response(self, lam: Vector) -> int:
        """Index of a linear function that answers to multipliers; a new one only if it beats all stored."""
        sample = self.sample
        # What a row gains by being above each threshold (n, 41): weight (2 [theta < y] - 1) of the loss, and of the
        # multipliers' part sum_s lam_s - lam_g / p_g, g its group.
        signed = (lam[: lam.size // 2] - lam[lam.size // 2 :]).reshape(sample.n_groups, LEVELS)
        by_group = LEVELS * (signed.sum(axis=0) - signed / sample.shares[:, None])
        costs = sample.weights * (2.0 * sample.labels - 1.0) + by_group[sample.group]
        # cost of stopping at level l by prefix sums; the cheapest level of every row is its least-squares target
        below = np.cumsum(np.maximum(-costs, 0.0), axis=1)
        positive_costs = np.maximum(costs, 0.0)
        beyond = positive_costs.sum(axis=1, keepdims=True) - np.cumsum(positive_costs, axis=1)
        target = sample.middles[np.argmin(below + beyond, axis=1)]
        hypothesis = sample.inverse @ target
        above = sample.above(hypothesis)
        error, gaps = sample.error(above), sample.gaps(above)
        # a new function joins only if its Lagrangian is below that of all stored ones
        value = error + float(lam @ gaps)
        stored = np.array(self.errors) + np.array(self.gaps) @ lam if self.functions else np.full(1, np.inf)
        if value < stored.min() - BETTER:
            self.functions.append(hypothesis)
            self.errors.append(error)
            self.gaps.append(gaps)
            return len(self.functions) - 1
        return int(np.argmin(stored))

    def lagrangian(self, error: float, gaps: Vector, lam: Vector) -> float:
        """Error plus priced gaps at multipliers."""
        half = lam.size // 2
        # L(f, lam) = error + lam . gaps - eps |lam+ - lam-|_1
        return error + float(lam @ gaps) - self.eps * float(np.abs(lam[:half] - lam[half:]).sum())

    def gap(self, mixture: Vector, lam: Vector, target: float) -> float:
        """Duality gap of a mixture and multipliers; stops early where it exceeds ``target``."""
        error = float(mixture @ np.array(self.errors)[: mixture.size])
        gaps = mixture @ np.array(self.gaps)[: mixture.size]
        # high: the best multipliers against this mixture put all of ``bound`` on the worst gap; low: the best function
        value = low = self.lagrangian(error, gaps, lam)
        worst = float(gaps.max())
        high = error if worst < self.eps else error + self.bound * (worst - self.eps)
        for factor in (1.0, 2.0, 5.0, 10.0):
            answer = self.best_response(factor * lam)
            low = min(low, self.lagrangian(self.errors[answer], self.gaps[answer], lam))
            if max(value - low, high - value) > target:
                break
        return max(value - low, high - value)

    def linear_program(self) -> tuple[Vector, Vector]:
        """Best mixture of the stored functions with slack at price ``bound``, and its multipliers."""
        from scipy.optimize import linprog

        errors, gaps = np.array(self.errors), np.array(self.gaps).T
        size = errors.size
        # min over the simplex of errors . q + bound max(0, max_j (gaps_j . q - eps)): the slack is the last variable
        solution = linprog(
            np.append(errors, self.bound),
            A_ub=np.column_stack([gaps - self.eps, -np.ones(len(gaps))]),
            b_ub=np.zeros(len(gaps)),
            A_eq=np.append(np.ones(size), 0.0)[None],
            b_eq=[1.0],
            method="highs",
        )
        mixture = np.maximum(solution.x[:size], 0.0)
        return mixture / mixture.sum(), np.asarray(-solution.ineqlin.marginals)


def solve(sample: Sample, eps: float, rounds: int = ROUNDS) -> Mixture:
    """Mixture whose groups exceed each threshold as often as all rows, up to ``eps``.

    Args:
        sample: the labeled rows.
        eps: tolerance of the differences of shares above a threshold.
        rounds: of exponentiated gradient.
    """
    play = _Play(sample, eps, 1.0 / eps)
    bound = play.bound
    theta = np.zeros(2 * sample.n_groups * LEVELS)
    rate, checked, checked_gap = 2.0 / bound, 5.0, np.inf
    lam_sum, chosen = np.zeros_like(theta), []
    target, solved, lp_result = 0.0, 0, (np.zeros(0), np.zeros(0), np.inf)
    best: tuple[Vector, float, int] = (np.ones(1), np.inf, 0)
    best_eg_gap = np.inf
    for t in range(rounds):
        lam = _multipliers(theta, bound)
        lam_sum += lam
        if t == 0:
            play.best_response(np.zeros_like(theta))
        answer = play.best_response(lam)
        if t == 0:
            target = _resolution(sample, play.functions[answer])
        chosen.append(answer)
        mixture = np.bincount(chosen, minlength=len(play.functions)) / len(chosen)
        eg_gap = play.gap(mixture, lam_sum / (t + 1), target)
        best_eg_gap = min(best_eg_gap, eg_gap)
        outcome = mixture, eg_gap
        if t > 0:
            if len(play.functions) > solved:
                solved = len(play.functions)
                lp_mixture, lp_lam = play.linear_program()
                lp_result = lp_mixture, lp_lam, play.gap(lp_mixture, lp_lam, target)
            if lp_result[2] <= eg_gap:
                outcome = lp_result[0], lp_result[2]
        if outcome[1] <= best[1] + BETTER:
            best = (*outcome, t + 1)
        if outcome[1] < target:
            break
        if t >= 1.6 * checked:
            if best_eg_gap > 0.8 * checked_gap:
                rate *= 0.8
            checked, checked_gap = float(t), best_eg_gap
        # exponentiated gradient: lam = bound exp(theta) / (1 + sum exp(theta)), theta += rate (gaps - eps)
        theta = theta + rate * (play.gaps[answer] - eps)
    weights, gap, _ = best
    used = np.flatnonzero(weights > 0)
    return Mixture(np.array(play.functions)[used], weights[used], gap, t + 1, target)


def _multipliers(theta: Vector, bound: float) -> Vector:
    """``bound exp(theta) / (1 + sum exp(theta))``."""
    shift = max(float(theta.max()), 0.0)
    weights = np.exp(theta - shift)
    return np.asarray(bound * weights / (np.exp(-shift) + weights.sum()))


def _resolution(sample: Sample, hypothesis: Vector) -> float:
    """Half a standard error of the weighted error of one linear function: the gap worth reaching."""
    wrong = sample.weights * (sample.labels != sample.above(hypothesis))
    return float(0.5 * wrong.std(ddof=1) / np.sqrt(wrong.size))
