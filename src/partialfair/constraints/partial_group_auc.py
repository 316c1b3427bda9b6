"""Partial group AUC (pGAUC): no group's scores tend to rank above another's, among the rows on an interval.

Source: Partial fairness paper, appendix A: ``|Pr(h >= h' | g=k, g'=k', both ranks in I) - 1/2| <= slack`` for every
pair of groups. With ``sigma = upper - lower`` the probability becomes the mean over pairs (i, j) of kept rows of
``sigma(s_i - s_j)``. Which rows are kept depends on the scores, and is a difference of "largest" sums:

    U(a, b) = sum over the a highest i of group k and the b lowest j of group k' of phi(s_i - s_j)

is, for a convex non-decreasing phi, the largest such sum over all choices of a and b rows, hence convex in the
scores. A row is kept if it is among the ``high`` highest of its group but not among the ``low`` highest, that is
among the n' - low lowest but not the n' - high lowest, so the sum over kept pairs is

    U(high, n' - low') + U(low, n' - high') - U(low, n' - low') - U(high, n' - high')

and that with lower in place of upper is subtracted. A union of intervals adds up such marks, for U is linear in the
marks of either group. Sorting once per group, all sums follow in linear time: O(n log n) in all.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.pair_constraints import PairConstraints
from partialfair.constraints.parts import Constraints, Parts, Vector
from partialfair.constraints.surrogates import Surrogate
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.intervals import GroupPairs, Interval, bounds, for_groups, measure, require_rows
from partialfair.errors import NotEstimableError
from partialfair.kernels.pair_sums import pair_hinge, sorted_pair_sum, top_weights

TITLE = "partial group AUC"
SHORT = "pGAUC"  # in labels of axes and in names of numbers
VIOLATION = {"absolute": "gauc_gap", "relative": "gauc"}
FUSED = False


@dataclass(frozen=True, eq=False)
class Marks:
    """One group's rows in ascending order of score, marked from either end.

    Attributes:
        order: (n_k,) row numbers.
        scores: (n_k,) their scores.
        high, low: (n_k,) sums over the interval's pairs of the marks of the ``high`` and the ``low`` highest rows.
        n_pairs: number of the interval's pairs, P: the marks of the lowest rows are P minus those of the highest.
    """

    order: NDArray[np.int64]
    scores: Vector
    high: Vector
    low: Vector
    n_pairs: int


@dataclass(frozen=True, eq=False)
class GroupAUC:
    """The family on fixed rows, before a surrogate is chosen.

    Attributes:
        rows: row numbers of each group.
        ranges: kept positions of each group, (P_k, 2), counted from the highest score.
        slack: (G, G) tolerance of each pair's share.
        start_score: score of the feasible start.
    """

    rows: tuple[NDArray[np.int64], ...]
    ranges: tuple[NDArray[np.int64], ...]
    slack: NDArray[np.float64]
    start_score: float

    @property
    def start(self) -> Vector:
        """The family has no auxiliary variables."""
        return np.zeros(0)

    def on(self, surrogate: Surrogate) -> Constraints:
        """The constraints with a piecewise-linear surrogate.

        Raises:
            ConfigError: the surrogate is not piecewise linear.
        """
        return GroupAUCConstraints.of(self, surrogate, "partial_group_auc")


@dataclass(frozen=True, eq=False)
class GroupAUCConstraints(PairConstraints[GroupAUC]):
    """The constraints ``c - 1/2 <= slack`` and ``1/2 - c <= slack`` of every pair of groups k < k'."""

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of groups k < k'."""
        return list(combinations(range(len(self.program.rows)), 2))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        out = []
        for k, m in self.pairs:
            slack = self.program.slack[k, m]
            out += [
                f"share of pairs with group {k} above group {m} <= 1/2 + {slack:.4g}",
                f"... >= 1/2 - {slack:.4g}",
            ]
        return tuple(out)

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Values and derivatives; O(n log n)."""
        # c = plus - minus:  f1 = plus - (minus + 1/2 + slack),  f2 = minus - (plus - 1/2 + slack)
        marks = self._all_marks(scores)
        convex, concave = np.empty((len(self.pairs), 2)), np.empty((len(self.pairs), 2))
        gradients = []
        for i, (k, m) in enumerate(self.pairs):
            slack = self.program.slack[k, m]
            plus, minus, by_plus, by_minus = self._shares(marks[k], marks[m])
            convex[i], concave[i] = (plus, minus), (minus + 0.5 + slack, plus - 0.5 + slack)
            gradients.append((by_plus, by_minus))

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            # The second constraint of a pair has the parts of the first one swapped.
            by_plus = a.reshape(-1, 2) + b.reshape(-1, 2)[:, ::-1]
            residual = np.zeros(scores.size)
            for i, (k, m) in enumerate(self.pairs):
                for side in (0, 1):
                    weight = by_plus[i, side]
                    if weight:
                        by_k, by_m = gradients[i][side]
                        residual[marks[k].order] += weight * by_k
                        residual[marks[m].order] += weight * by_m
            return residual, np.zeros(0)

        return Parts(convex.ravel(), concave.ravel(), pull_back)

    def _shares(self, k: Marks, m: Marks) -> tuple[float, float, tuple[Vector, Vector], tuple[Vector, Vector]]:
        """Convex functions whose difference is the mean of sigma over kept pairs, with their subgradients."""
        s, (upper, lower) = self.surrogate.sharpness, self.hinges
        # plus  = U(high, n'-low') + U(low, n'-high') of upper, and U(low, n'-low') + U(high, n'-high') of lower;
        # minus = the same with upper and lower swapped. The marks of the n' - low lowest rows are P minus those of the
        # low highest.
        from_low, from_high = m.n_pairs - m.low, m.n_pairs - m.high
        plus = (
            (k.high, from_low, upper),
            (k.low, from_high, upper),
            (k.low, from_low, lower),
            (k.high, from_high, lower),
        )
        minus = (
            (k.low, from_low, upper),
            (k.high, from_high, upper),
            (k.high, from_low, lower),
            (k.low, from_high, lower),
        )
        scale = s / float((k.high - k.low).sum() * (m.high - m.low).sum())
        sums = []
        for terms in (plus, minus):
            total, by_k, by_m = 0.0, np.zeros(k.scores.size), np.zeros(m.scores.size)
            for p, q, shift in terms:
                if not (p.any() and q.any()):
                    continue
                term, term_by_k, term_by_m = sorted_pair_sum(pair_hinge, k.scores, p, m.scores, q, shift / s)
                total, by_k, by_m = total + term, by_k + term_by_k, by_m + term_by_m
            sums.append((scale * total, (scale * by_k, scale * by_m)))
        return sums[0][0], sums[1][0], sums[0][1], sums[1][1]

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """Shifts at which the kept rows of group 0 rank above those of any other group as often as below.

        Where the kept scores of two groups lie farther apart than the surrogate is wide, the constraint is flat.
        """
        marks = self._all_marks(scores)
        shift = np.zeros(len(marks))
        reach = float(scores.max() - scores.min()) + 1 / self.surrogate.sharpness
        for k in range(1, len(marks)):
            low, high = -reach, reach
            for _ in range(40):
                shift[k] = (low + high) / 2
                moved = replace(marks[k], scores=marks[k].scores + shift[k])
                plus, minus, *_ = self._shares(marks[0], moved)
                low, high = (shift[k], high) if plus - minus > 0.5 else (low, shift[k])
        return shift, np.zeros(0)

    def _all_marks(self, scores: Vector) -> list[Marks]:
        """The marked rows of every group."""
        program = self.program
        return [_marks(scores, rows, ranges) for rows, ranges in zip(program.rows, program.ranges, strict=True)]


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> GroupAUC:
    """Build two constraints per pair of groups; ``y`` sets the start only, ``grid`` is not used.

    See :func:`partialfair.constraints.partial_statistical_parity.build` for the arguments. On the relative scale
    kappa bounds the definition, a share of the kept pairs; on the absolute scale a share of all pairs of the two
    groups, so that the slack is kappa divided by the lengths of both intervals.

    Raises:
        ConfigError: an interval or kappa that cannot be used.
        NotEstimableError: an interval keeps fewer than 2 rows of a group.
    """
    n_groups = int(group.max()) + 1
    intervals = for_groups(interval, n_groups)
    sizes = np.bincount(group, minlength=n_groups)
    if not sizes.all():
        empty = int(np.flatnonzero(sizes == 0)[0])
        raise NotEstimableError(f"group {empty}: it has no rows; drop its code or add rows of that group")
    require_rows(intervals, sizes)
    slack_per_group(intervals, kappa, kappa_scale)  # refuses a kappa or scale that cannot be used
    return GroupAUC(
        rows=tuple(np.flatnonzero(group == k) for k in range(n_groups)),
        ranges=tuple(bounds(pairs, int(size)) for pairs, size in zip(intervals, sizes, strict=True)),
        slack=_slack(intervals, kappa, kappa_scale),
        start_score=float(np.mean(y > 0)) - 0.5,
    )


def _slack(intervals: GroupPairs, kappa: float, kappa_scale: str) -> NDArray[np.float64]:
    """Tolerance of the share of kept pairs, (G, G)."""
    lengths = np.array([measure(pairs) for pairs in intervals])
    slack = np.full((lengths.size, lengths.size), kappa)
    return slack if kappa_scale == "relative" else slack / np.outer(lengths, lengths)


def _marks(scores: Vector, rows: NDArray[np.int64], ranges: NDArray[np.int64]) -> Marks:
    """Sort a group's rows and mark them."""
    order = rows[np.argsort(scores[rows], kind="stable")]
    ascending = scores[order]
    sums = np.zeros((2, rows.size))
    weights = np.empty(rows.size)
    for low, high in ranges:
        for side, count in ((0, int(high)), (1, int(low))):
            top_weights(ascending, count, weights)
            sums[side] += weights
    return Marks(order, ascending, sums[0], sums[1], len(ranges))
