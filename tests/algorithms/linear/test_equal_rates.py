"""Equal rates without the group: the search for one multiplier, and where thresholds are placed."""

import numpy as np
import pytest

from partialfair.algorithms.linear.equal_rates.fits import CLOSE, NEAR, ParityFits, Rates
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.weighted import WeightedProblem


def fits(seed=0, n=4000, proxy=1.0):
    """The fits of two groups that a feature tells apart, for demographic parity; the truth is logistic."""
    random = np.random.default_rng(seed)
    group = (random.random(n) < 0.4).astype(np.int16)
    X = random.normal(size=(n, 3))
    X[:, 0] += proxy * group
    y = np.where(random.random(n) < 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0.3]))), 1.0, -1.0)
    problem = LinearProblem.build(X, y, group, program=None, n_groups=2, uses_group=False)
    order = problem.design.order
    return ParityFits(problem, Rates.from_groups(group[order], np.zeros(n, np.int64), 2, 1), 1 / n)


@pytest.mark.parametrize("kappa", [0.0, 0.01, 0.05, 0.15])
def test_a_fit_is_found_whose_own_gap_is_the_tolerance(kappa):
    found = fits()
    best = found.solve(kappa)
    known = sorted((abs(one.multipliers[0, 0]), abs(one.gap)) for one in found._fits)
    assert known[0] == (0.0, abs(found._fits[0].gap)) and known[0][1] > 0.2
    high = min(price for price, gap in known if gap <= kappa + 1e-12 or gap < CLOSE)
    low = max(price for price, gap in known if gap > kappa)
    assert any(abs(gap - kappa) < CLOSE for _, gap in known) or high - low < NEAR
    gaps = [found.decisions[j].rates[0, 0] - found.decisions[j].rates[0, 1] for j in best.used]
    assert abs(best.shares @ gaps) <= kappa + 1e-12


def test_tighter_tolerances_use_the_fits_of_looser_ones():
    along, alone = fits(), fits()
    errors = [along.solve(kappa).errors for kappa in (0.1, 0.05, 0.02, 0.01)]
    many = len(along._fits)
    assert errors == sorted(errors) and len({id(one) for one in along._fits}) == many < 4 * 10
    assert along.solve(0.02).errors <= alone.solve(0.02).errors + 1e-3 and len(along._fits) == many


def test_nothing_is_searched_where_the_free_fit_is_fair_enough():
    found = fits(proxy=0.0)
    best = found.solve(0.2)
    assert len(found._fits) == 1 and best.used.size == 1 and not best.multipliers.any()


@pytest.mark.parametrize(("offset", "many"), [(0.0, 1), (0.8, 2)])
def test_a_threshold_is_moved_only_where_that_clearly_lowers_the_costs(offset, many):
    found = fits(proxy=0.0)
    found.solve(1.0)
    right = found._fits[0].params.copy()
    before = len(found.decisions)
    found._add_cuts(right + np.eye(1, right.size)[0] * offset, np.zeros((1, 2)))
    added = found.decisions[before:]
    assert len(added) == many
    for one in added:
        ones = found.problem.scores(one.params) > 0
        assert one.errors == pytest.approx((ones != (found.problem.y > 0)).mean())
        shares = [ones[found.rates.cell == k].mean() for k in (0, 1)]
        assert one.rates[0] == pytest.approx(shares)
    assert min(one.errors for one in added) <= found.decisions[2].errors + 0.01


def weighted_fits(weights):
    """The fits of 600 rows with weights, and the problem's labels in its order."""
    found = fits(seed=3, n=600)
    problem = WeightedProblem.from_problem(found.problem, weights)
    return ParityFits(problem, found.rates, found.penalty)


def test_errors_of_the_two_constant_decisions_are_the_weights_of_the_other_label():
    weights = np.random.default_rng(0).integers(1, 9, 600).astype(float)
    found = weighted_fits(weights)
    found.solve(0.1)
    positive = found.problem.row_weight[found.problem.y > 0].sum() / weights.sum()
    nobody, everybody = found.decisions[:2]
    assert (nobody.errors, everybody.errors) == pytest.approx((positive, 1 - positive))
    assert (nobody.rates.max(), everybody.rates.min()) == (0, 1) and abs(positive - 0.5) > 0.02


def test_costs_of_a_fit_are_multiplied_by_the_weights_of_rows():
    """A row of weight 2 is a row twice: the fit at given multipliers has the least weighted cost."""
    weights = np.where(np.arange(600) % 3 == 0, 4.0, 0.25)
    found, seen = weighted_fits(weights), []
    reweighted = found._reweighted

    def noted(problem, y, own):
        seen.append(own)
        return reweighted(problem, y, own)

    found._reweighted = noted
    found._begin()
    multipliers = np.array([[0.3, -0.3]])
    found._fit(multipliers)
    expected = np.abs(found.rates.costs(found.problem.y, multipliers)) * found.problem.row_weight
    np.testing.assert_allclose(seen[0], found.problem.row_weight)
    np.testing.assert_allclose(seen[1], expected)
