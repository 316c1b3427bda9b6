"""Equal rates of decisions without the group: cost-sensitive logistic fits, and the best mixture of a few of them.

Lagrange multipliers of the rates turn the fewest-errors problem into one of costs per row (Agarwal, Beygelzimer, Dudik,
Langford and Wallach, A Reductions Approach to Fair Classification, 2018, section 3). Theirs follow an exponentiated
gradient; here they are the dual solution of a linear programme over all decisions found so far: the slope of the
frontier of errors and rates that is drawn through them. With two groups and one rate that is a search for one number,
and a handful of fits serves every tolerance. A vertex of the programme mixes one decision more than it has active
constraints: two for demographic parity of two groups.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.weighted import WeightedProblem, minimise_weighted

Vector = NDArray[np.float64]
STEPS = 12
"""L-BFGS iterations of a cost-sensitive fit, which starts at the one with the nearest multipliers."""
MOST_FITS = 10
"""Cost-sensitive fits for one tolerance."""
FACTORS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Shares of a fit's multipliers at which a threshold of its scores is placed, too; more of them overfit the rates."""
SETTLED = 2e-5
"""Share of errors by which another fit has to lower the mixture's to go on."""
ACTIVE = 1e-6


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates that are to agree: of the rows of every group in every stratum, groups first.

    Attributes:
        cell: (n,) stratum * G + group of every row; -1 for rows that no rate counts.
        sizes: (S, G) rows of each.
    """

    cell: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, group: NDArray[np.integer], stratum: NDArray[np.integer], n_groups: int, n_strata: int) -> "Rates":
        """Rates of groups (n,) within strata (n,), where -1 marks rows that do not count."""
        cell = np.where(stratum >= 0, stratum * n_groups + group, -1).astype(np.int64)
        sizes = np.bincount(cell[cell >= 0], minlength=n_strata * n_groups).reshape(n_strata, n_groups)
        return cls(cell, sizes)

    def costs(self, y: Vector, multipliers: Vector) -> Vector:
        """Cost (n,) of deciding 1 instead of 0, times n, for multipliers (S, G) of the rates."""
        per_cell = np.append(multipliers.ravel() * y.size / np.maximum(self.sizes.ravel(), 1), 0.0)
        return np.asarray(per_cell[self.cell] - y)


@dataclass(frozen=True, eq=False)
class Decision:
    """Decide 1 where the score of a fit exceeds a threshold.

    Attributes:
        params: (R, d+1), the threshold already taken off the intercept.
        errors: share of wrong decisions; rates: (S, G).
    """

    params: Vector
    errors: float
    rates: Vector


@dataclass(eq=False)
class ParityFits:
    """The fits of one training set, which serve all tolerances.

    Attributes:
        problem: rows without constraints; its row weights, if any, multiply the costs.
        rates: which rates are to agree, in the order of the problem's rows.
        penalty: of the fits.
        decisions: those found so far.
    """

    problem: LinearProblem
    rates: Rates
    penalty: float
    decisions: list[Decision] = field(default_factory=list)
    _starts: list[tuple[Vector, Vector]] = field(default_factory=list)  # multipliers (S, G), parameters
    _scaling: Scaling | None = None

    def solve(self, kappa: float) -> tuple[list[Decision], Vector]:
        """Decisions and their probabilities with the fewest errors among those whose rates differ by at most kappa."""
        if not self.decisions:
            self._begin()
        chosen, shares, errors, multipliers = self.mixture(kappa)
        idle = 0
        for _ in range(MOST_FITS):
            if np.abs(multipliers).max() < ACTIVE or idle == 2:
                break
            self._fit(multipliers)
            before = errors
            chosen, shares, errors, multipliers = self.mixture(kappa)
            idle = 0 if errors < before - SETTLED else idle + 1
        return chosen, shares

    def mixture(self, kappa: float) -> tuple[list[Decision], Vector, float, Vector]:
        """The best mixture of what was found: decisions, probabilities, share of errors, and multipliers (S, G).

        With levels z_s the rates r_sk obey ``z_s <= r_sk <= z_s + kappa``. Deciding nothing does so at any kappa, hence
        there always is one.
        """
        rates = np.array([decision.rates for decision in self.decisions])  # (J, S, G)
        errors = np.array([decision.errors for decision in self.decisions])
        n, strata, groups = rates.shape
        upper = np.zeros((strata, groups, n + strata))
        upper[:, :, :n] = rates.transpose(1, 2, 0)
        upper[np.arange(strata), :, n + np.arange(strata)] = -1.0
        table = upper.reshape(strata * groups, -1)
        found = linprog(
            np.concatenate([errors, np.zeros(strata)]),
            A_ub=np.vstack([table, -table]),
            b_ub=np.concatenate([np.full(len(table), kappa), np.zeros(len(table))]),
            A_eq=np.concatenate([np.ones(n), np.zeros(strata)])[None],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(None, None)] * strata,
            method="highs-ds",
        )
        prices = -np.asarray(found.ineqlin.marginals)
        multipliers = (prices[: len(table)] - prices[len(table) :]).reshape(strata, groups)
        shares = found.x[:n]
        used = np.flatnonzero(shares > 1e-9)
        part = shares[used] / shares[used].sum()
        return [self.decisions[j] for j in used], part, float(found.fun), multipliers

    def _begin(self) -> None:
        """The fit without multipliers, and the two decisions that look at nothing."""
        plain = WeightedProblem.of(self.problem, None, self.penalty)
        own = self._weights()
        problem = self._reweighted(plain, plain.y, own)
        params, self._scaling = minimise_weighted(problem)
        self._starts.append((np.zeros(self.rates.sizes.shape), params))
        for level in (-1e9, 1e9):
            constant = np.zeros_like(params)
            constant[0, 0] = level
            self._add(constant, 0.0)
        self._add_cuts(params, np.zeros(self.rates.sizes.shape))

    def _fit(self, multipliers: Vector) -> None:
        """One cost-sensitive fit, with the thresholds that are best for its multipliers and for shares of them."""
        costs = self.rates.costs(self.problem.y, multipliers)
        problem = self._reweighted(self.problem, np.where(costs < 0, 1.0, -1.0), np.abs(costs) * self._weights())
        _, start = min(self._starts, key=lambda one: float(np.abs(one[0] - multipliers).sum()))
        params, _ = minimise_weighted(problem, start, self._scaling, STEPS)
        self._starts.append((multipliers, params))
        self._add_cuts(params, multipliers)

    def _weights(self) -> Vector:
        own = getattr(self.problem, "row_weight", None)
        return np.ones(self.problem.y.size) if own is None else own

    def _reweighted(self, problem: LinearProblem, y: Vector, weights: Vector) -> WeightedProblem:
        """The problem with other labels and weights, in the order of the design."""
        own = (problem.design, y, problem.model, None)
        return WeightedProblem(*own, row_weight=weights / weights.mean(), penalty=self.penalty)

    def _add_cuts(self, params: Vector, multipliers: Vector) -> None:
        """Decisions by the scores of a fit: at zero, and where costs with shares of the multipliers are least."""
        scores = self.problem.scores(params)
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked) < 0) + 1, [ranked.size]])
        thresholds = {0.0}
        for factor in FACTORS:
            costs = self.rates.costs(self.problem.y, factor * multipliers) * self._weights()
            sums = np.concatenate([[0.0], np.cumsum(costs[order])])[cuts]
            at = int(cuts[int(np.argmin(sums))])
            if 0 < at < ranked.size:
                thresholds.add(float((ranked[at - 1] + ranked[at]) / 2))
        for threshold in sorted(thresholds):
            self._add(params, threshold)

    def _add(self, params: Vector, threshold: float) -> None:
        moved = params.copy()
        moved[0, 0] -= threshold
        ones = self.problem.scores(moved) > 0
        counted = self.rates.cell >= 0
        sums = np.bincount(self.rates.cell[counted], ones[counted], self.rates.sizes.size)
        rates = sums.reshape(self.rates.sizes.shape) / np.maximum(self.rates.sizes, 1)
        weights = self._weights()
        errors = float((weights * (ones != (self.problem.y > 0))).sum() / weights.sum())
        self.decisions.append(Decision(moved, errors, rates))
