"""The bound on distribution functions, and maps per group, against brute force and known answers."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.isotonic import IsotonicRegression

from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.cumulative_dual import CumulativeDual, per_atom
from partialfair.algorithms.regression.fair_dual import Dual, atoms
from partialfair.algorithms.regression.quantile_maps import LEVELS, QuantileMaps, sampling_band, weighted_distance
from partialfair.models.grid_predictor import group_weights
from tests.algorithms.regression.primal import regularised_risk


def problem(kind: type[Dual], slack: float, n: int = 300) -> Dual:
    random = np.random.default_rng(0)
    eta = random.normal(0, 0.3, n)
    tau = 1 / (1 + np.exp(-3 * eta - random.normal(0, 0.5, n)))
    tau = np.column_stack([1 - tau, tau])
    weights = group_weights(tau, tau.mean(axis=0))[:, :1]
    return kind(weights, (eta[:, None] - atoms(8)) ** 2, np.array([slack]), 40.0)


def test_derivatives_by_the_multipliers_of_distribution_functions() -> None:
    dual = problem(CumulativeDual, 0.01)
    E = np.random.default_rng(1).normal(0, 0.02, dual.shape)
    _, slope, probabilities = dual.smooth(E)
    hessian = dual.hessian(probabilities)
    for atom in (0, 5, 16):
        step = np.zeros(dual.shape)
        step[0, atom] = 1e-5
        up, down = dual.smooth(E + step), dual.smooth(E - step)
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(slope[0, atom], rel=1e-5, abs=1e-9)
        np.testing.assert_allclose((up[1] - down[1])[0] / 2e-5, hessian[atom], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(dual.probabilities(E), probabilities)


def test_the_bound_holds_for_distribution_functions_at_less_risk_than_by_atoms() -> None:
    dual = problem(CumulativeDual, 0.02)
    found = proximal_newton.solve(dual, reduce=False)
    gaps = dual.violations(found.difference)
    assert found.residual < 1e-7 and gaps.max() == pytest.approx(0.02, abs=1e-7)
    assert (np.abs(gaps[found.difference != 0] - 0.02) < 1e-6).all()  # a multiplier only where the bound is reached
    assert regularised_risk(dual, found.difference) == pytest.approx(-found.value, abs=1e-8)
    atom = problem(Dual, 0.02)
    low, high = 0.0, 0.02  # the slack per atom at which the distance is the same
    for _ in range(30):
        middle = (low + high) / 2
        other = proximal_newton.solve(atom.with_eps(middle))
        gap = np.abs(np.cumsum(atom.smooth(other.difference)[1])).max()
        low, high = (middle, high) if gap < 0.02 else (low, middle)
    assert regularised_risk(dual, found.difference) < regularised_risk(atom, other.difference) - 1e-4
    np.testing.assert_allclose(atom.probabilities(per_atom(found.difference)), dual.probabilities(found.difference))


def test_no_predictor_within_the_slack_is_said_to_be_none() -> None:
    dual = problem(CumulativeDual, 0.0)
    off = CumulativeDual(dual.t + 0.1, dual.r, dual.eps, dual.beta)
    assert abs(dual.shortfall) < 1e-12 and off.shortfall == pytest.approx(0.1)


def groups(sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return random.gamma(2.0 + codes, 1.0 + 0.5 * codes), codes


def apply(maps: QuantileMaps, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return maps.apply(values, codes, np.full(len(values), 0.5))


@pytest.mark.parametrize("steps", [40, 100, 300])
def test_two_maps_are_the_cheapest_within_the_distance(steps: int) -> None:
    """Quantiles of two equal groups fall into chains of levels that are ``steps`` apart: isotonic regressions."""
    n = 2000
    values, codes = groups((n, n))
    maps = QuantileMaps.fit(values, codes, 2, steps / n)
    mapped = apply(maps, values, codes)
    assert ks_2samp(mapped[:n], mapped[n:]).statistic <= steps / n + 1 / n
    before = np.stack([np.sort(values[:n]), np.sort(values[n:])])
    best = before.copy()
    for first in (0, 1):
        for start in range(steps):
            levels = np.arange(start, n, steps)
            side = (first + np.arange(levels.size)) % 2
            best[side, levels] = IsotonicRegression().fit_transform(levels, before[side, levels])
    cost, least = np.mean((mapped - values) ** 2), np.mean((best - before) ** 2)
    assert least > 1e-3 and cost == pytest.approx(least, rel=0.02)
    assert np.abs(np.sort(mapped[:n]) - best[0]).max() < 0.2


@pytest.mark.parametrize("sizes", [(900, 600), (1500, 400, 700)])
def test_without_slack_all_groups_get_the_barycentre(sizes: tuple[int, ...]) -> None:
    values, codes = groups(sizes)
    maps = QuantileMaps.fit(values, codes, len(sizes), 0.0)
    mapped = apply(maps, values, codes)
    levels = np.array([0.1, 0.5, 0.9])
    shares = np.array(sizes) / sum(sizes)
    expected = shares @ np.stack([np.quantile(values[codes == k], levels) for k in range(len(sizes))])
    for k in range(len(sizes)):
        own = mapped[codes == k]
        np.testing.assert_allclose(np.quantile(own, levels), expected, rtol=0.01)
        assert (np.diff(own[np.argsort(values[codes == k])]) >= 0).all()  # every group keeps its order
    assert weighted_distance(mapped, np.eye(len(sizes))[codes]) < 2 / min(sizes)


def test_a_slack_above_the_distance_moves_nothing_that_matters() -> None:
    values, codes = groups((800, 800))
    maps = QuantileMaps.fit(values, codes, 2, 0.95)
    np.testing.assert_allclose(apply(maps, values, codes), values, atol=0.01 * values.std())


def test_distance_is_that_of_two_samples_and_the_band_that_of_draws() -> None:
    values, codes = groups((700, 300))
    values = values.round(1)
    expected = ks_2samp(values[codes == 0], values[codes == 1]).statistic
    assert weighted_distance(values, np.eye(2)[codes]) == pytest.approx(expected)
    random = np.random.default_rng(0)
    found = [ks_2samp(random.random(700), random.random(300)).statistic for _ in range(400)]
    assert 0.9 < np.mean(np.array(found) < sampling_band([700, 300])) < 0.99


def test_maps_of_earlier_rows_weigh_as_their_rows():
    random = np.random.default_rng(0)
    a, b = random.normal(size=2000), random.normal(3, 1, size=2000)
    codes = np.arange(2000) % 2
    before = QuantileMaps.fit(a, codes, 2, 0.0)
    found = QuantileMaps.fit(b, codes, 2, 0.0, before)
    whole = QuantileMaps.fit(np.r_[a, b], np.r_[codes, codes], 2, 0.0)
    np.testing.assert_allclose(
        found.quantiles[:, LEVELS // 4 :: LEVELS // 4], whole.quantiles[:, LEVELS // 4 :: LEVELS // 4], atol=0.02
    )
