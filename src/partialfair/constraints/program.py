"""Constraints that are differences of convex functions of hinge means.

With ``sigma(x) = clip(x + 1/2, 0, 1) = max(x + 1/2, 0) - max(x - 1/2, 0)`` every constraint of the partial
parity and partial rate families (Partial fairness paper, section 5 and appendix A) is

    f_i = sum_j a_ij max_l (H[s, q] + const)  -  sum_j a_ij max_l (H[s, q] + const)

where ``H[s, q] = mean over rows of subset s of max(score - t_q, 0)`` and each threshold ``t_q`` is a fixed
number or an auxiliary variable plus a fixed shift. Both sums are convex in the scores and the thresholds.
A family is therefore a table of indices and constants; the solvers and kernels know only this table.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.program_sides import side_pull_back, side_values

NONE = -1  # "no hinge": the alternative is its constant alone

Term = tuple[float, list[tuple[int, int, float]]]  # weight, alternatives (subset, threshold, constant)


@dataclass(frozen=True, eq=False)
class Side:
    """One convex part of all m constraints: J weighted terms, each the largest of L alternatives.

    Attributes:
        weight: (m, J), non-negative.
        subset, threshold: (m, J, L) indices into H, or ``NONE``.
        constant: (m, J, L); ``-inf`` marks an alternative that is absent.
    """

    weight: NDArray[np.float64]
    subset: NDArray[np.int64]
    threshold: NDArray[np.int64]
    constant: NDArray[np.float64]

    @classmethod
    def from_terms(cls, terms: list[list[Term]]) -> "Side":
        """Build the table from, per constraint, a list of terms."""
        m = len(terms)
        n_terms = max((len(row) for row in terms), default=0)
        n_choices = max((len(choices) for row in terms for _, choices in row), default=1)
        side = cls(
            np.zeros((m, n_terms)),
            np.full((m, n_terms, n_choices), NONE, np.int64),
            np.full((m, n_terms, n_choices), NONE, np.int64),
            np.full((m, n_terms, n_choices), -np.inf),
        )
        side.constant[:, :, 0] = 0.0
        for i, row in enumerate(terms):
            for j, (weight, choices) in enumerate(row):
                side.weight[i, j] = weight
                for k, (subset, threshold, constant) in enumerate(choices):
                    side.subset[i, j, k], side.threshold[i, j, k] = subset, threshold
                    side.constant[i, j, k] = constant
        return side

    def candidates(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of all alternatives, (m, J, L), for hinge means (S, Q)."""
        hinge = np.where(self.subset == NONE, 0.0, means[self.subset, self.threshold])
        return hinge + self.constant

    def values(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the convex part, (m,)."""
        out = np.empty(len(self.weight))
        side_values(*self._table, means, out)
        return out

    def derivative(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """A subgradient of each value by the hinge means, (m, S, Q); ties take the first alternative."""
        # d f_i / d H[s, q] = sum of a_ij over the terms j whose maximum is attained at (s, q)
        i, j, subset, threshold = self.selected(means)
        out = np.zeros((len(self.weight), *means.shape))
        np.add.at(out, (i, subset, threshold), self.weight[i, j])
        return out

    def pull_back(self, means: NDArray[np.float64], multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_i multipliers[i] * derivative[i]``, (S, Q); NaN where the means are not all numbers."""
        if np.isnan(means).any():  # no alternative attains a maximum, and the compiled function would follow none
            return np.full(means.shape, np.nan)
        out = np.zeros(means.shape)
        side_pull_back(*self._table, means, multipliers, out)
        return out

    @property
    def _table(self) -> tuple[NDArray, ...]:
        """The leading arguments of the compiled functions."""
        return self.weight, self.subset, self.threshold, self.constant

    @cached_property
    def _positions(self) -> NDArray[np.int64]:
        """Constraint and term of every entry of (m, J)."""
        return np.indices(self.weight.shape)

    def choice(self, means: NDArray[np.float64]) -> NDArray[np.int64]:
        """Alternative that attains each term's maximum, (m, J); ties take the first."""
        return self.candidates(means).argmax(axis=2)

    def selected(self, means: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
        """Constraint, term, subset and threshold of every attained alternative that holds a hinge."""
        choice = self.choice(means)
        i, j = self._positions
        subset, threshold = self.subset[i, j, choice], self.threshold[i, j, choice]
        used = subset != NONE
        return i[used], j[used], subset[used], threshold[used]


@dataclass(frozen=True, eq=False)
class HingeProgram:
    """The m constraints ``f_i <= 0`` of one problem.

    Attributes:
        row_subset: (n,) subset of every row, 0..S-1; subsets never span two groups.
        subset_group: (S,) group of every subset.
        aux_index: (Q,) auxiliary variable each threshold moves with, or ``NONE`` for a fixed threshold.
        shift: (Q,) added to it.
        convex, concave: the parts f+ and f-; ``f = f+ - f-``.
        start: (P,) auxiliary variables that are feasible together with all scores equal to ``start_score``.
        labels: m texts that name the constraints.
        start_score: that score.
    """

    row_subset: NDArray[np.int64]
    subset_group: NDArray[np.int64]
    aux_index: NDArray[np.int64]
    shift: NDArray[np.float64]
    convex: Side
    concave: Side
    start: NDArray[np.float64]
    labels: tuple[str, ...]
    start_score: float = 0.0

    @property
    def n_constraints(self) -> int:
        """Number of constraints, m."""
        return len(self.labels)

    @property
    def n_aux(self) -> int:
        """Number of auxiliary variables, P."""
        return int(self.start.size)

    @property
    def n_subsets(self) -> int:
        """Number of subsets, S."""
        return int(self.subset_group.size)

    def thresholds(self, aux: NDArray[np.float64]) -> NDArray[np.float64]:
        """Thresholds (Q,) at the auxiliary variables (P,)."""
        moving = self.aux_index != NONE
        base = np.zeros(self.shift.size)
        base[moving] = aux[self.aux_index[moving]]
        return base + self.shift

    def hinge_means(self, scores: NDArray[np.float64], aux: NDArray[np.float64]) -> NDArray[np.float64]:
        """H (S, Q) of scores (n,), in the row order of ``row_subset``."""
        t = self.thresholds(aux)
        out = np.zeros((self.n_subsets, t.size))
        for subset in range(self.n_subsets):
            part = scores[self.row_subset == subset]
            if part.size:
                out[subset] = np.maximum(part[:, None] - t, 0.0).mean(axis=0)
        return out

    def values(self, scores: NDArray[np.float64], aux: NDArray[np.float64]) -> NDArray[np.float64]:
        """Constraint values f (m,); the constraints hold where none is positive."""
        # f = f+(H) - f-(H)
        means = self.hinge_means(scores, aux)
        return self.convex.values(means) - self.concave.values(means)

    def vjp(
        self, scores: NDArray[np.float64], aux: NDArray[np.float64], multipliers: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``sum_i multipliers[i] * f_i'``: residual per row (n,) and derivative by the auxiliaries (P,)."""
        # f'_i = sum_{s, q} (d f_i / d H[s, q]) H'[s, q]
        means = self.hinge_means(scores, aux)
        return self.pull_back(scores, aux, self.slope_weights(means, multipliers))

    def slope_weights(self, means: NDArray[np.float64], multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivative of ``sum_i multipliers[i] * f_i`` by the hinge means, (S, Q)."""
        return self.convex.pull_back(means, multipliers) - self.concave.pull_back(means, multipliers)

    def fold_thresholds(self, by_threshold: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivatives by the auxiliaries (..., P) from derivatives by the thresholds (..., Q)."""
        return by_threshold @ self._moves

    @cached_property
    def _moves(self) -> NDArray[np.float64]:
        """(Q, P) with 1 where a threshold moves with an auxiliary variable."""
        return (self.aux_index[:, None] == np.arange(self.n_aux)).astype(np.float64)

    def pull_back(
        self, scores: NDArray[np.float64], aux: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Derivative of ``sum(weights * H)`` by the scores (n,) and by the auxiliaries (P,)."""
        # d H[s, q] / d score_i = 1[score_i > t_q] / n_s for the rows i of subset s;  d H[s, q] / d t_q = -sum_i of it
        above = scores[:, None] > self.thresholds(aux)
        counts = np.maximum(np.bincount(self.row_subset, minlength=self.n_subsets), 1)
        share = weights[self.row_subset] / counts[self.row_subset, None]
        per_row = np.where(above, share, 0.0)
        return per_row.sum(axis=1), self.fold_thresholds(-per_row.sum(axis=0))
