"""PLADA on problems with known answers, and the identities that hold at every iteration."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from papers.plada.algorithms.gap_problem import excess, kkt_residuals
from papers.plada.algorithms.plada_solver import Parameters, Plada, _prox_linear_step, safe_steps
from papers.plada.tests.toy_gaps import toy
from partialfair.algorithms import stochastic_steps

T1 = {"eta": 0.05, "tau": 0.06}


def run(problem, steps, kind=Plada, theta_step="prox_linear", **parameters):
    method = kind(problem, Parameters(**(T1 | parameters)), np.zeros((problem.size, 1)), theta_step=theta_step)
    for _ in range(steps):
        method.step()
    return method


def values(method):
    parts = (method.state.theta, method.u, method.mu, method.lam, method.z)
    return np.concatenate([part[:, 0] for part in parts])


FIRST = {
    1: (0.1, 0, 0, -4.5, -0.45),
    2: (0.42, 0.27, -0.09, -1.64, -0.155),
    3: (0.581, 0.3684, -0.121, -0.374, -0.0253),
}


def check_first_iterations(kind):
    for steps, expected in FIRST.items():
        assert values(run(toy(), steps, kind)) == pytest.approx(expected, abs=1e-9)


def test_first_iterations():
    check_first_iterations(Plada)


class EarlyDual(Plada):
    """Broken: mu moves with the new lambda."""

    def step(self):
        before = self.mu.copy()
        super().step()
        self.mu = before + self.parameters.gamma_0 * (self.lam - before) / self.parameters.rho


class ClippedDual(Plada):
    """Broken: lambda is kept non-negative."""

    def step(self):
        super().step()
        self.lam = np.maximum(self.lam, 0.0)


class UndampedDual(Plada):
    """Broken: the dual step has no minimum with gamma_0."""

    def step(self):
        before, lam, k = self.mu.copy(), self.lam.copy(), self.iteration
        super().step()
        p, apart = self.parameters, lam - before
        gamma = p.rho * p.kappa / (k + 1) / (np.sum(apart**2, axis=0) + 1)
        self.lam += before + gamma * apart / p.rho - self.mu
        self.mu = before + gamma * apart / p.rho


@pytest.mark.parametrize("broken", [EarlyDual, ClippedDual, UndampedDual])
def test_a_broken_method_fails_the_known_answers(broken):
    with pytest.raises(AssertionError):
        check_first_iterations(broken)


def test_limit_of_the_toy():
    assert values(run(toy(), 5000)) == pytest.approx((1, 0, 1, 1, 0), abs=1e-6)


def test_slow_dual_regime():
    method = run(toy(), 5000, kappa=1.0)
    found = (method.state.theta[0, 0], method.mu[0, 0], method.lam[0, 0])
    assert found == pytest.approx((1.00229246, 0.98625287, 0.99771519), abs=1e-7)


def test_kink_is_the_solution():
    method = run(toy(eps=0.0), 5000)
    assert (method.state.theta[0, 0], method.mu[0, 0], method.lam[0, 0]) == pytest.approx((0, 2, 2), abs=1e-6)


def test_two_constraints():
    problem = toy((2.0, 1.0), (1.0, 2.0))
    early = run(problem, 2, u_max=3.0)
    assert values(early)[:4] == pytest.approx((0.42, 0.585, 0.27, 0.585), abs=1e-9)
    assert early.lam[:, 0] == pytest.approx((-1.64, -4.345), abs=1e-9)
    late = run(problem, 5000, u_max=3.0)
    assert values(late)[:4] == pytest.approx((1, 1, 0, 1), abs=1e-6)
    assert late.lam[:, 0] == pytest.approx((1, 0), abs=1e-6)


def test_inactive_constraint():
    method = run(toy(target=0.5), 5000)
    assert (method.state.theta[0, 0], method.u[0, 0], method.lam[0, 0]) == pytest.approx((0.5, 0.5, 0), abs=1e-6)


def test_prox_linear_step():
    at = np.zeros((1, 1))
    new = _prox_linear_step(np.full((1, 1), 0.02), np.ones((1, 1, 1)), at, at + 0.05, np.full((1, 1), 2.0), 0.1)
    assert new[0, 0] == pytest.approx(-0.02)


def prox_linear(seeds, m, eta=0.3):
    """Steps with random gaps and gradients, one column per seed, and the value of what they minimise."""
    parts = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn = (0.1 * rng.normal(size=(m, 1)), rng.normal(size=(m, 4, 1)), rng.uniform(0.1, 2, (m, 1)))
        parts.append((*drawn, rng.normal(size=(4, 1)), rng.normal(size=(4, 1))))
    gaps, jacobian, lam, at, centre = (np.concatenate(one, axis=-1) for one in zip(*parts, strict=True))

    def model(y):
        linear = gaps + np.einsum("jdb,db->jb", jacobian, y - at)
        return np.sum(lam * np.abs(linear), axis=0) + np.sum((y - centre) ** 2, axis=0) / (2 * eta)

    return _prox_linear_step(gaps, jacobian, at, centre, lam, eta), model


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_prox_linear_step_minimises_its_model(seed, m):
    with patch.object(stochastic_steps, "SWEEPS", 2000):
        found, model = prox_linear([seed], m)
    rng = np.random.default_rng(seed)
    nearby = [model(found + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=found.shape)) for _ in range(200)]
    assert model(found) <= min(nearby) + 1e-6 * (1 + model(found))


@pytest.mark.parametrize(("m", "worst"), [(2, 0.02), (3, 0.03), (4, 0.07)])
def test_twenty_sweeps_are_nearly_enough(m, worst):
    """Nearly parallel gradients leave an error: of 10,001 steps with 4 gaps 15 have more than 2%, none 7%."""
    found, model = prox_linear(range(9_500, 10_000), m)
    with patch.object(stochastic_steps, "SWEEPS", 4000):
        best, _ = prox_linear(range(9_500, 10_000), m)
    excess = (model(found) - model(best)) / (1 + model(found))
    assert excess.max() <= worst and np.quantile(excess, 0.99) <= 0.02 and excess.min() >= -1e-9


def test_equal_rho_gives_equal_iterates():
    one, other = run(toy(), 400, alpha=10.0, beta=0.1), run(toy(), 400, alpha=20 / 3, beta=0.05)
    assert one.parameters.rho == pytest.approx(other.parameters.rho, abs=1e-12)
    assert values(one)[:4] == pytest.approx(values(other)[:4], abs=1e-12)


def test_a_batch_is_its_members():
    rates = {"eta": np.array([0.05, 0.2]), "tau": np.array([0.06, 0.03]), "kappa": np.array([1.0, 50.0])}
    batch = Plada(toy(), [Parameters(**{k: v[b] for k, v in rates.items()}) for b in (0, 1)], np.zeros((1, 2)))
    for _ in range(50):
        batch.step()
    for b in (0, 1):
        alone = run(toy(), 50, **{name: float(value[b]) for name, value in rates.items()})
        assert batch.state.theta[0, b] == alone.state.theta[0, 0] and batch.lam[0, b] == alone.lam[0, 0]


@settings(max_examples=30)
@given(
    st.floats(0.01, 0.3), st.floats(0.005, 0.1), st.floats(1.1, 50), st.floats(0.01, 0.9), st.floats(0.01, 1),
    st.floats(0.1, 1000), st.floats(-3, 3),
)  # fmt: skip
def test_identities_of_every_iteration(eta, tau, alpha, beta, gamma_0, kappa, target):
    problem = toy((target, 1.0), (1.0, 0.5))
    parameters = Parameters(eta=eta, tau=tau, alpha=alpha, beta=beta, gamma_0=gamma_0, kappa=kappa, u_max=0.7)
    method, rho = Plada(problem, parameters, np.zeros((2, 1))), parameters.rho
    for k in range(60):
        lam, mu = method.lam.copy(), method.mu.copy()
        method.step()
        sum_g = excess(problem, method.state) + method.u
        assert method.lam - method.mu == pytest.approx(rho * sum_g, abs=1e-12 * (1 + np.abs(method.lam).max()))
        assert method.z == pytest.approx((method.lam - method.mu) / alpha)
        assert (method.u >= 0).all() and (method.u <= 0.7).all() and (np.abs(method.state.theta) <= 5).all()
        assert np.linalg.norm(method.mu - mu) <= kappa / (k + 1) / 2 + 1e-12
        apart = np.linalg.norm(lam - mu)
        gamma = min(gamma_0, rho * kappa / (k + 1) / (apart**2 + 1))
        assert np.linalg.norm(lam - method.mu) == pytest.approx(abs(1 - gamma / rho) * apart, abs=1e-12 * (1 + apart))


def test_kkt_residual():
    problem = toy()
    residual, multiplier = kkt_residuals(problem, problem.state(np.array([[0.9, 1.0]])))
    assert residual == pytest.approx((0.109454091, 0.0), abs=1e-9)
    assert multiplier[0] == pytest.approx((1.089108911, 1.0), abs=1e-9)


def test_the_residual_of_theorem_1_vanishes_at_the_limit_and_not_before():
    """Both parts: by theta (at theta = 0 it is grad F = -2, as lambda is 0 there) and by the slack."""
    assert run(toy(), 0).stationarity()[:, 0] == pytest.approx((4.0, 0.0))
    assert run(toy(), 5000).stationarity() == pytest.approx(0, abs=1e-12)
    assert run(toy(), 20).stationarity().sum() > 1e-4


def test_safe_steps():
    assert safe_steps(1.0, 0.5, 5.0) == pytest.approx((0.9 / 4.75, 0.06))


OUTSIDE = [("alpha", 1.0), ("beta", 1.0), ("gamma_0", 1.5), ("kappa", 0.0), ("eta", -1.0)]


@pytest.mark.parametrize(("name", "value"), OUTSIDE)
def test_parameters_outside_their_domain(name, value):
    with pytest.raises(ValidationError, match=name):
        Parameters(**(T1 | {name: value}))
