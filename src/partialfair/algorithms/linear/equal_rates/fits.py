"""Equal rates of decisions without the group: cost-sensitive logistic fits, and the best mixture of a few of them.

Lagrange multipliers of the rates turn the fewest-errors problem into one of costs per row (Agarwal, Beygelzimer, Dudik,
Langford and Wallach, A Reductions Approach to Fair Classification, 2018, section 3). Theirs follow an exponentiated
gradient. With two groups and one rate there is one number to find, here by false position: the multiplier at which the
fit's own decisions have the gap that is allowed. With more, the multipliers are the dual solution of a linear program
over all decisions found so far. A vertex of the program mixes one decision more than it has active constraints: two
for demographic parity of two groups. A handful of fits serves every tolerance.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.linear.equal_rates.mixture import Mixture, best_mixture
from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.weighted import WeightedProblem, minimise_weighted

Vector = NDArray[np.float64]
STEPS = 12
"""L-BFGS iterations of a cost-sensitive fit, which starts at the one with the nearest multipliers."""
MOST_FITS = 10
"""Cost-sensitive fits for one tolerance."""
FACTORS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Shares of a fit's multipliers at which a threshold of its scores is placed, where the program sets multipliers: it
needs decisions that differ. With four groups and a single threshold its mixtures were .01 to .03 less accurate."""
WORTH = 2.0
"""Standard errors by which a threshold other than zero has to lower the costs, where a search sets the multiplier.
Placed wherever training costs are least, thresholds decide worse on other rows of a9a, Adult and ACS income; without
any, bank loses what it gains."""
FIRST_PRICE, NEAR, CLOSE = 0.02, 1e-4, 1e-3
"""The least multiplier that is tried; the distance of two, and that of a gap from the tolerance, which end a search."""
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
    def from_groups(
        cls, group: NDArray[np.integer], stratum: NDArray[np.integer], n_groups: int, n_strata: int
    ) -> "Rates":
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
    _fits: list["_Fit"] = field(default_factory=list)
    _scaling: Scaling | None = None

    def solve(self, kappa: float) -> Mixture:
        """The mixture with the fewest errors among those whose rates differ by at most kappa, after further fits."""
        if not self.decisions:
            self._begin()
        if self.one_gap:
            self._search(kappa)
        else:
            self._price(kappa)
        return self.mixture(kappa)

    @property
    def one_gap(self) -> bool:
        """Whether there are two groups and one rate, hence one multiplier to find."""
        return self.rates.sizes.shape == (1, 2)

    def _search(self, kappa: float) -> None:
        """Fits until the gap of one's own decisions is the tolerance: two groups and one rate.

        Logistic fits do not minimise costs. At the dual solution of the program they can have another gap than the
        tolerance, and the program then mixes decisions that are far apart: on ACS income of Oklahoma at a gap of .07
        with .0015 more errors.
        """
        sign = np.sign(self._fits[0].gap)
        for _ in range(MOST_FITS):
            points = [(float(sign * fit.multipliers[0, 0]), float(sign * fit.gap)) for fit in self._fits]
            wide, narrow = ([fit for fit in points if (fit[1] > kappa) is beyond] for beyond in (True, False))
            if not wide:
                return
            (low, above), (high, below) = max(wide), min(narrow, default=(np.inf, kappa))
            if not narrow:
                price = max(2 * low, abs(float(self.mixture(kappa).multipliers[0, 0])), FIRST_PRICE)
            elif high - low < NEAR or kappa - below < CLOSE:
                return
            else:
                # false position: the chord through (low, above) and (high, below) meets kappa, kept off either end
                price = low + float(np.clip((above - kappa) / (above - below), 0.1, 0.9)) * (high - low)
            self._fit(sign * price * np.array([[1.0, -1.0]]))

    def _price(self, kappa: float) -> None:
        """Fits at the program's multipliers until the errors settle: more groups, or more rates."""
        mixture, idle = self.mixture(kappa), 0
        for _ in range(MOST_FITS):
            if np.abs(mixture.multipliers).max() < ACTIVE or idle == 2:
                return
            self._fit(mixture.multipliers)
            before, mixture = mixture.errors, self.mixture(kappa)
            idle = 0 if mixture.errors < before - SETTLED else idle + 1

    def mixture(self, kappa: float) -> Mixture:
        """The best mixture of what was found. Deciding nothing has equal rates, hence there always is one."""
        rates = np.array([decision.rates for decision in self.decisions])
        return best_mixture(np.array([decision.errors for decision in self.decisions]), rates, kappa)

    def _begin(self) -> None:
        """The fit without multipliers, and the two decisions that look at nothing."""
        plain = WeightedProblem.from_problem(self.problem, None, self.penalty)
        row_weight = self._weights()
        problem = self._reweighted(plain, plain.y, row_weight)
        params, self._scaling = minimise_weighted(problem)
        signed = self._weights() * self.problem.y
        for level, ones in ((-1e9, 0.0), (1e9, 1.0)):
            constant = np.zeros_like(params)
            constant[0, 0] = level
            wrong = 0.5 + (0.5 - ones) * signed.sum() / self._weights().sum()
            self.decisions.append(Decision(constant, wrong, np.where(self.rates.sizes > 0, ones, 0.0)))
        self._add_cuts(params, np.zeros(self.rates.sizes.shape))

    def _fit(self, multipliers: Vector) -> None:
        """One cost-sensitive fit, with the thresholds that are best for its multipliers and for shares of them."""
        # cost of deciding 1 for row i: c_i = -y_i + (its rates' multipliers); labels -sign(c_i) with weights |c_i|
        costs = self.rates.costs(self.problem.y, multipliers)
        problem = self._reweighted(self.problem, np.where(costs < 0, 1.0, -1.0), np.abs(costs) * self._weights())
        nearest = min(self._fits, key=lambda fit: float(np.abs(fit.multipliers - multipliers).sum()))
        params, _ = minimise_weighted(problem, nearest.params, self._scaling, STEPS)
        self._add_cuts(params, multipliers)

    def _weights(self) -> Vector:
        weights = getattr(self.problem, "row_weight", None)
        return np.ones(self.problem.y.size) if weights is None else weights

    def _reweighted(self, problem: LinearProblem, y: Vector, weights: Vector) -> WeightedProblem:
        """The problem with other labels and weights, in the order of the design."""
        design_parts = (problem.design, y, problem.model, None)
        return WeightedProblem(*design_parts, row_weight=weights / weights.mean(), penalty=self.penalty)

    def _add_cuts(self, params: Vector, multipliers: Vector) -> None:
        """Decisions by the scores of a fit: at zero, and where costs with shares of the multipliers are least."""
        weights, y = self._weights(), self.problem.y
        scores = self.problem.scores(params)
        order = np.argsort(-scores, kind="stable")
        ranked, cells = scores[order], self.rates.cell[order]
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked) < 0) + 1, [ranked.size]])
        # Costs are linear in the multipliers: two sums down the ranking serve all shares of them.
        right, dear = (weights * y)[order], (weights * (self.rates.costs(y, multipliers) + y))[order]
        sums = _sums(right), _sums(dear)
        zero = int(np.count_nonzero(scores > 0))
        places = {zero: 0.0}
        for share in (1.0,) if self.one_gap else FACTORS:
            costs = share * sums[1] - sums[0]
            least = int(cuts[int(np.argmin(costs[cuts]))])
            between = slice(min(least, zero), max(least, zero))
            noise = float(np.sqrt(np.square(share * dear[between] - right[between]).sum())) if self.one_gap else 0.0
            if 0 < least < ranked.size and costs[zero] - costs[least] >= WORTH * noise:
                places.setdefault(least, float((ranked[least - 1] + ranked[least]) / 2))
        self._fits.append(_Fit(multipliers, params, self.rates.of_rows(cells[:zero])))
        total = weights.sum()
        for cut in sorted(places):
            moved = params.copy()
            moved[0, 0] -= places[cut]
            wrong = (total + sums[0][-1]) / 2 - sums[0][cut]
            self.decisions.append(Decision(moved, float(wrong / total), self.rates.of_rows(cells[:cut])))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A cost-sensitive fit: multipliers (S, G), parameters (R, d+1), and the rates (S, G) where it decides at zero."""

    multipliers: Vector
    params: Vector
    rates: Vector

    @property
    def gap(self) -> float:
        """Rate of the first of two groups less that of the second."""
        return float(self.rates[0, 0] - self.rates[0, 1])


def _sums(values: Vector) -> Vector:
    """Sums (n + 1,) of the first 0, 1, ... of values (n,)."""
    return np.concatenate([[0.0], np.cumsum(values)])
