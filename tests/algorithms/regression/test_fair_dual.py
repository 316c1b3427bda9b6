"""The dual of demographic-parity post-processing: known answers of two small problems, invariants, and oracles."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from partialfair.algorithms.regression.fair_dual import Dual, atoms, split, spread
from partialfair.algorithms.regression.proximal_newton import solve
from partialfair.errors import InfeasibleError
from partialfair.models.grid_predictor import group_weights
from tests.algorithms.regression.primal import regularised_risk

EXACT = 1e-10


def two_points(eps: float, size: int = 1, a: float = 0.5, beta: float = 2.0) -> Dual:
    tau, eta = np.eye(2), np.array([a, -a])
    return Dual(group_weights(tau, np.full(2, 0.5)), (eta[:, None] - atoms(size)) ** 2, np.full(2, eps), beta)


def four_points(eps: float) -> Dual:
    tau = np.array([0.8, 0.3, 0.6, 0.3])
    eta = np.array([-0.5, 0.2, 0.4, -0.1])
    t = group_weights(np.column_stack([tau, 1 - tau]), np.full(2, 0.5))
    return Dual(t, (eta[:, None] - atoms(2)) ** 2, np.full(2, eps), 5.0)


def random_dual(seed: int, groups: int = 2, eps: float = 0.01, rows: int = 40, size: int = 4) -> Dual:
    random = np.random.default_rng(seed)
    tau = random.dirichlet(np.full(groups, 0.7), rows)
    eta = random.uniform(-0.9, 0.9, rows)
    return Dual(group_weights(tau, tau.mean(axis=0)), (eta[:, None] - atoms(size)) ** 2, np.full(groups, eps), 12.0)


def test_two_points_have_a_closed_form() -> None:
    for size in (1, 3):
        dual = two_points(0.0, size)
        found = solve(dual, tolerance=EXACT)
        theta = atoms(size)
        expected = np.exp(-2 * theta**2)
        np.testing.assert_allclose(
            dual.probabilities(found.difference), np.tile(expected / expected.sum(), (2, 1)), atol=1e-8
        )
        assert found.value == pytest.approx(-0.25 + np.log(expected.sum()) / 2, abs=1e-8)
        difference = found.difference[0] - found.difference[1]
        np.testing.assert_allclose(difference - difference[size], 2 * 0.5 * theta, atol=1e-7)
    assert solve(two_points(0.0), tolerance=EXACT).value == pytest.approx(-0.13022761688905773, abs=1e-8)
    at_zero = two_points(0.0)
    zero = np.zeros((2, 3))
    np.testing.assert_allclose(at_zero.probabilities(zero)[0], [0.0090747148, 0.4954626426, 0.4954626426], atol=1e-9)
    assert at_zero.value(split(zero)) == pytest.approx(0.1011316607, abs=1e-9)
    np.testing.assert_allclose(at_zero.violations(zero)[0], [0.2431939639, 0, 0.2431939639], atol=1e-9)


@pytest.mark.parametrize(
    ("eps", "value", "row"),
    [
        (0.05, -0.0418893402, (0.0654683426, 0.7690633148, 0.1654683426)),
        (0.1, 0.0238938153, (0.0396836488, 0.7206327022, 0.2396836490)),
        (0.2, 0.0941997006, (0.0144180027, 0.5711639945, 0.4144180027)),
    ],
)
def test_two_points_at_positive_slack(eps: float, value: float, row: tuple[float, ...]) -> None:
    found = solve(two_points(eps), tolerance=EXACT)
    assert found.value == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(two_points(eps).probabilities(found.difference)[0], row, atol=1e-7)


def test_four_points_at_given_points() -> None:
    dual = four_points(0.05)
    zero = np.zeros((2, 2, 5))
    assert dual.value(zero) == pytest.approx(0.09189241904812734, abs=1e-12)
    expected = [0.0239401933, -0.011716573, 0.1202793658, 0.0699963974, 0.0475006166]
    np.testing.assert_allclose(dual.gradient(zero)[0, 0], expected, atol=1e-9)
    point = zero.copy()
    point[0, 0] = [0.1, 0, 0.2, 0, 0.3]
    point[1, 1] = [0, 0.1, 0, 0.2, 0]
    assert dual.value(point) == pytest.approx(0.14604830996472792, abs=1e-12)
    expected = [0.0224077606, -0.0213850575, 0.1297665248, 0.0706284545, 0.0485823177]
    np.testing.assert_allclose(dual.gradient(point)[0, 0], expected, atol=1e-9)
    np.testing.assert_allclose(dual.gradient(point)[1, 1], expected, atol=1e-9)
    assert np.linalg.norm(dual.gradient_mapping(point, 0.01)) == pytest.approx(0.16545939751, abs=1e-10)
    difference = point[0] - point[1]
    pi = dual.probabilities(difference)
    assert (pi * dual.r).sum() / 4 == pytest.approx(0.0943666642, abs=1e-9)
    excess = (np.maximum(dual.violations(difference) - 0.05, 0) ** 2).sum()
    slope = (np.minimum(dual.gradient(point), 0) ** 2).sum()
    assert excess == pytest.approx(0.0026867333657, abs=1e-12)
    assert slope == pytest.approx(excess, abs=1e-12)


def test_four_points_optima_and_the_slack_from_which_nothing_binds() -> None:
    values = {0.0: 0.0627257647, 0.01: 0.0753447567, 0.02: 0.0831283301, 0.05: 0.0907495043}
    risks = {0.0: 0.1322838583, 0.02: 0.1196677294, 0.05: 0.1063661422}
    for eps, value in values.items():
        dual = four_points(eps)
        found = solve(dual, tolerance=EXACT)
        assert found.value == pytest.approx(value, abs=2e-9)
        if eps in risks:
            pi = dual.probabilities(found.difference)
            assert (pi * dual.r).sum() / 4 == pytest.approx(risks[eps], abs=1e-7)
    row = four_points(0.0).probabilities(solve(four_points(0.0), tolerance=EXACT).difference)[0]
    np.testing.assert_allclose(row, [0.0328922586, 0.4259756879, 0.5221851901, 0.018933927, 0.0000129364], atol=1e-7)
    assert not solve(four_points(0.0702793659)).difference.any()
    assert solve(four_points(0.0702793657), tolerance=1e-12).difference.any()


def test_one_row_gradient() -> None:
    dual = four_points(0.05)
    one = Dual(dual.t[:1], dual.r[:1], dual.eps, dual.beta).gradient(np.zeros((2, 2, 5)))
    lam = [-0.0588157812, -0.3298043955, -0.0588157812, 0.0474409, 0.0499951]
    np.testing.assert_allclose(one[0, 0], lam, atol=1e-6)
    np.testing.assert_allclose(one[1, 0], [0.1588157812, 0.4298043955, 0.1588157812, 0.0525591, 0.0500049], atol=1e-6)


def test_primal_solved_by_another_method_has_the_opposite_value() -> None:
    dual = four_points(0.02)

    def risk(flat: np.ndarray) -> float:
        pi = np.clip(flat.reshape(4, 5), 1e-12, None)
        return float(((pi * dual.r).sum(axis=1) + (pi * np.log(pi)).sum(axis=1) / dual.beta).mean())

    def slack(flat: np.ndarray) -> np.ndarray:
        gaps = dual.t.T @ flat.reshape(4, 5) / 4
        return np.concatenate([(0.02 - gaps).ravel(), (0.02 + gaps).ravel()])

    sums = {"type": "eq", "fun": lambda flat: flat.reshape(4, 5).sum(axis=1) - 1}
    options = {"maxiter": 500, "ftol": 1e-14}
    start = np.full(20, 0.2)
    primal = minimize(
        risk, start, bounds=[(1e-12, 1)] * 20, constraints=[sums, {"type": "ineq", "fun": slack}], options=options
    )
    found = solve(dual, tolerance=EXACT)
    assert -primal.fun == pytest.approx(found.value, abs=1e-7)
    np.testing.assert_allclose(primal.x.reshape(4, 5), dual.probabilities(found.difference), atol=1e-4)


@given(st.integers(0, 1000), st.sampled_from([2, 3, 4]), st.sampled_from([0.0, 1e-3, 0.02]))
@example(657, 3, 1e-3)
@settings(max_examples=20)
def test_invariants_of_an_optimum(seed: int, groups: int, eps: float) -> None:
    dual = random_dual(seed, groups, eps)
    found = solve(dual, tolerance=1e-9)
    assert found.status == "ok"
    assert regularised_risk(dual, found.difference) == pytest.approx(-found.value, abs=1e-7 * (1 + abs(found.value)))
    assert (dual.violations(found.difference) <= eps + 1e-7).all()
    assert not (found.point[0] * found.point[1]).any()
    for step in (1e-3, 1e-1, 10.0):
        mapping = np.linalg.norm(dual.gradient_mapping(found.point, step))
        below = np.linalg.norm(np.minimum(dual.gradient(found.point), 0))
        assert below <= mapping + 1e-12 and mapping <= 1e-8
    if groups == 2:
        whole = solve(dual, tolerance=1e-9, reduce=False)
        assert whole.value == pytest.approx(found.value, abs=1e-9)
    shifted = found.difference + np.arange(1.0, groups + 1)[:, None]
    np.testing.assert_allclose(dual.probabilities(shifted), dual.probabilities(found.difference), atol=1e-11)
    # KS of the plug-in distributions: per-atom differences sum to 0.
    sums = np.abs(np.cumsum(dual.t.T @ dual.probabilities(found.difference) / dual.n_rows, axis=1)).max()
    assert sums <= dual.shape[1] * eps / 2 + 1e-7


@given(st.integers(0, 1000), st.sampled_from([2, 4]))
@settings(max_examples=15)
def test_gradient_and_smoothness(seed: int, groups: int) -> None:
    dual = random_dual(seed, groups)
    random = np.random.default_rng(seed)
    point = random.random((2, *dual.shape)) * 0.1
    gradient, step = dual.gradient(point), 1e-6
    for _ in range(4):
        direction = random.standard_normal(point.shape)
        numeric = (dual.value(point + step * direction) - dual.value(point - step * direction)) / (2 * step)
        assert numeric == pytest.approx(float((gradient * direction).sum()), rel=1e-6, abs=1e-8)
    pi = dual.smooth(point[0] - point[1])[2]
    hessian = dual.hessian(pi)
    direction = random.standard_normal(dual.shape)
    ahead, behind = (dual.smooth(point[0] - point[1] + sign * 1e-6 * direction)[1] for sign in (1, -1))
    numeric = (ahead - behind).ravel() / 2e-6
    np.testing.assert_allclose(hessian @ direction.ravel(), numeric, rtol=1e-4, atol=1e-6)
    largest = 2 * np.linalg.eigvalsh(hessian)[-1]  # in (Lambda, V) the block [[H, -H], [-H, H]]
    shares = np.asarray(1 / (1 - dual.t.min(axis=0)))  # at least: tau is at most 1
    assert largest <= dual.bound + 1e-9 <= 2 * dual.beta * max(spread(shares), groups - 1) + 1e-6


def test_looser_slack_costs_no_more_and_slack_one_changes_nothing() -> None:
    risks = []
    for eps in (0.0, 1e-4, 1e-3, 0.01, 0.05, 1.0):
        dual = random_dual(7, 2, eps)
        found = solve(dual)
        risks.append(-found.value)
    assert np.diff(risks).max() <= 1e-10
    assert not found.difference.any()
    assert spread(np.full(2, 0.5)) == 2.0


def test_two_groups_are_tied_and_their_slacks_may_differ() -> None:
    random = np.random.default_rng(3)
    tau = random.beta(1, 3, 50)
    tau = np.column_stack([tau, 1 - tau])
    shares = tau.mean(axis=0)
    r = (random.uniform(-0.8, 0.8, 50)[:, None] - atoms(5)) ** 2
    for eps in (np.array([0.02, 0.02]), np.array([0.03, 0.002]), np.array([0.0, 0.01])):
        dual = Dual(group_weights(tau, shares), r, eps, 20.0)
        one, both = solve(dual, tolerance=1e-9), solve(dual, tolerance=1e-9, reduce=False)
        assert one.value == pytest.approx(both.value, abs=1e-9)
        gaps = dual.violations(one.difference)
        np.testing.assert_allclose(gaps[1], gaps[0] * shares[0] / shares[1], atol=1e-12)


def test_contradicting_slacks_are_refused_not_answered() -> None:
    dual = random_dual(1, 2, 0.0)
    wrong = Dual(dual.t + np.array([0.05, -0.05]), dual.r, dual.eps, dual.beta)
    with pytest.raises(InfeasibleError, match=r"unbounded below; use the mean of tau"):
        solve(wrong)
    assert solve(wrong.with_eps(0.05 / 9 + 1e-6)).status == "ok"


def test_warm_starts_lead_to_the_same_minimum() -> None:
    start = None
    for eps in (0.05, 0.01, 1e-3, 0.0):
        dual = random_dual(11, 3, eps)
        cold, warm = solve(dual, tolerance=1e-9), solve(dual, start, tolerance=1e-9)
        assert warm.value == pytest.approx(cold.value, abs=1e-10)
        start = warm.difference
