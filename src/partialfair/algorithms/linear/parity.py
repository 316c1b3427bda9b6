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

from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.rate_mixture import Mixture, best_mixture
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

    def of_rows(self, cells: NDArray[np.int64]) -> Vector:
        """Rates (S, G) where the rows with these cells (m,) are decided for."""
        counts = np.bincount(cells[cells >= 0], minlength=self.sizes.size).reshape(self.sizes.shape)
        return np.asarray(counts / np.maximum(self.sizes, 1))

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

    def solve(self, kappa: float) -> Mixture:
        """The mixture with the fewest errors among those whose rates differ by at most kappa, after further fits."""
        if not self.decisions:
            self._begin()
        found = self.mixture(kappa)
        idle = 0
        for _ in range(MOST_FITS):
            if np.abs(found.multipliers).max() < ACTIVE or idle == 2:
                break
            self._fit(found.multipliers)
            before = found.errors
            found = self.mixture(kappa)
            idle = 0 if found.errors < before - SETTLED else idle + 1
        return found

    def mixture(self, kappa: float) -> Mixture:
        """The best mixture of what was found. Deciding nothing has equal rates, hence there always is one."""
        rates = np.array([decision.rates for decision in self.decisions])
        return best_mixture(np.array([decision.errors for decision in self.decisions]), rates, kappa)

    def _begin(self) -> None:
        """The fit without multipliers, and the two decisions that look at nothing."""
        plain = WeightedProblem.of(self.problem, None, self.penalty)
        own = self._weights()
        problem = self._reweighted(plain, plain.y, own)
        params, self._scaling = minimise_weighted(problem)
        self._starts.append((np.zeros(self.rates.sizes.shape), params))
        signed = self._weights() * self.problem.y
        for level, ones in ((-1e9, 0.0), (1e9, 1.0)):
            constant = np.zeros_like(params)
            constant[0, 0] = level
            wrong = 0.5 + (0.5 - ones) * signed.sum() / self._weights().sum()
            self.decisions.append(Decision(constant, wrong, np.where(self.rates.sizes > 0, ones, 0.0)))
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
        weights, y = self._weights(), self.problem.y
        scores = self.problem.scores(params)
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked) < 0) + 1, [ranked.size]])
        # Costs are linear in the multipliers: two sums down the ranking serve all shares of them.
        right = _sums((weights * y)[order])
        dear = _sums((weights * (self.rates.costs(y, multipliers) + y))[order])
        places = {int(np.count_nonzero(scores > 0)): 0.0}
        for factor in FACTORS:
            at = int(cuts[int(np.argmin((factor * dear - right)[cuts]))])
            if 0 < at < ranked.size:
                places.setdefault(at, float((ranked[at - 1] + ranked[at]) / 2))
        cells, total = self.rates.cell[order], weights.sum()
        for at in sorted(places):
            moved = params.copy()
            moved[0, 0] -= places[at]
            wrong = (total + right[-1]) / 2 - right[at]
            self.decisions.append(Decision(moved, float(wrong / total), self.rates.of_rows(cells[:at])))


def _sums(values: Vector) -> Vector:
    """Sums (n + 1,) of the first 0, 1, ... of values (n,)."""
    return np.concatenate([[0.0], np.cumsum(values)])
