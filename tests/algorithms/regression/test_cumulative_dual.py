"""The dual with constraints on distribution functions: derivatives, the primal by another solver, its bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from partialfair.algorithms.regression import cumulative_dual, proximal_newton
from partialfair.algorithms.regression.cumulative_dual import CumulativeDual, atomwise
from partialfair.algorithms.regression.fair_dual import Dual, atoms
from partialfair.errors import InfeasibleError
from partialfair.models.grid_predictor import group_weights


def random_dual(seed: int, groups: int = 2, eps: float = 0.02, rows: int = 40, size: int = 4) -> CumulativeDual:
    random = np.random.default_rng(seed)
    tau, eta = random.dirichlet(np.full(groups, 0.7), rows), random.uniform(-0.9, 0.9, rows)
    costs = (eta[:, None] - atoms(size)) ** 2
    return CumulativeDual(group_weights(tau, tau.mean(axis=0)), costs, np.full(groups, eps), 12.0)


def distances(dual: Dual, probabilities: np.ndarray) -> np.ndarray:
    """Differences of distribution functions, row by row."""
    steps = np.array([np.cumsum(row) for row in probabilities])
    return np.array([[np.mean(dual.t[:, s] * steps[:, j]) for j in range(dual.shape[1])] for s in range(dual.shape[0])])


@pytest.mark.parametrize("groups", [2, 3])
def test_derivatives(groups: int) -> None:
    dual, random = random_dual(1, groups), np.random.default_rng(0)
    C = 0.05 * random.normal(size=dual.shape)
    value, slope, pi = dual.smooth(C)
    assert slope == pytest.approx(distances(dual, pi), abs=1e-12)
    hessian = dual.hessian(pi)
    for _ in range(4):
        direction = random.normal(size=C.shape)
        ahead, behind = dual.smooth(C + 1e-6 * direction), dual.smooth(C - 1e-6 * direction)
        assert (slope * direction).sum() == pytest.approx((ahead[0] - behind[0]) / 2e-6, rel=1e-6, abs=1e-9)
        numeric = (ahead[1] - behind[1]).ravel() / 2e-6
        np.testing.assert_allclose(hessian @ direction.ravel(), numeric, rtol=1e-4, atol=1e-6)
    assert 2 * np.linalg.eigvalsh(hessian)[-1] <= dual.bound


def test_primal_solved_by_another_method_has_the_opposite_value() -> None:
    dual = random_dual(3, rows=5, size=2, eps=0.03)
    n, g = dual.r.shape

    def risk(flat: np.ndarray) -> float:
        pi = np.clip(flat.reshape(n, g), 1e-12, None)
        return float(((pi * dual.r).sum(axis=1) + (pi * np.log(pi)).sum(axis=1) / dual.beta).mean())

    def room(flat: np.ndarray) -> np.ndarray:
        gaps = np.cumsum(dual.t.T @ flat.reshape(n, g) / n, axis=1)
        return np.concatenate([(dual.eps[:, None] - gaps).ravel(), (dual.eps[:, None] + gaps).ravel()])

    sums = {"type": "eq", "fun": lambda flat: flat.reshape(n, g).sum(axis=1) - 1}
    primal = minimize(
        risk, np.full(n * g, 1 / g), bounds=[(1e-12, 1)] * (n * g), method="SLSQP",
        constraints=[sums, {"type": "ineq", "fun": room}], options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    found = cumulative_dual.solve(dual, tolerance=1e-10)
    assert -primal.fun == pytest.approx(found.value, abs=1e-7)
    np.testing.assert_allclose(primal.x.reshape(n, g), dual.probabilities(found.difference), atol=1e-4)


@pytest.mark.parametrize("groups", [2, 3])
def test_the_slack_is_the_distance_and_costs_less_than_the_same_bound_by_atoms(groups: int) -> None:
    for seed in range(8):
        for eps in (0.1, 0.02, 0.0):
            dual = random_dual(seed, groups, eps)
            found = cumulative_dual.solve(dual)
            assert found.status == "ok"
            pi = dual.probabilities(found.difference)
            assert np.abs(distances(dual, pi)).max() <= eps + 1e-7
            assert not (found.point[0] * found.point[1]).any()
            assert dual.regularised_risk(found.difference) == pytest.approx(-found.value, abs=1e-7)
            # A bound of 2 eps / G on every atom implies eps on the distance: its optimum is no better.
            by_atom = Dual(dual.t, dual.r, 2 * dual.eps / dual.shape[1], dual.beta)
            atom = proximal_newton.solve(by_atom)
            assert -found.value <= -atom.value + 1e-7
            if groups == 2:
                both = proximal_newton.solve(dual, reduce=False, iterations=300)
                assert both.value == pytest.approx(found.value, abs=1e-8)


def test_at_slack_0_both_constraints_are_one() -> None:
    dual = random_dual(5, 2, 0.0)
    by_atom = proximal_newton.solve(Dual(dual.t, dual.r, dual.eps, dual.beta), tolerance=1e-10)
    found = cumulative_dual.solve(dual, tolerance=1e-10)
    pi = Dual(dual.t, dual.r, dual.eps, dual.beta).probabilities(by_atom.difference)
    np.testing.assert_allclose(dual.probabilities(found.difference), pi, atol=1e-6)


def test_atomwise_and_back() -> None:
    C = np.random.default_rng(0).normal(size=(2, 5))
    D = atomwise(C)
    assert D[:, 0] == pytest.approx(C.sum(axis=1)) and D[:, -1] == pytest.approx(C[:, -1])
    np.testing.assert_allclose(-np.diff(D, axis=1, append=0.0), C, atol=1e-12)


def test_contradicting_slacks_are_refused() -> None:
    dual = random_dual(1, 2, 0.0)
    wrong = CumulativeDual(dual.t + np.array([0.05, -0.05]), dual.r, dual.eps, dual.beta)
    for eps in (0.0, 0.02):  # atoms could share a mean of .05 out among them, distances cannot
        with pytest.raises(InfeasibleError):
            cumulative_dual.solve(CumulativeDual(wrong.t, wrong.r, np.full(2, eps), wrong.beta))
    assert cumulative_dual.solve(CumulativeDual(wrong.t, wrong.r, np.full(2, 0.051), wrong.beta)).status == "ok"
