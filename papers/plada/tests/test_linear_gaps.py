"""The linear problem: derivatives, symmetries, and known answers on real data."""

import math

import numpy as np
import pytest
from scipy import sparse

from papers.plada.algorithms.gap_problem import kkt_residuals, worst
from papers.plada.algorithms.gap_reference import near_stationarity, optimum
from papers.plada.algorithms.gap_tasks import GapPoint, GapSettings, GapTask
from papers.plada.algorithms.linear_gaps import LinearGaps, Rate, Smoothing
from papers.plada.algorithms.plada_solver import Parameters, Plada, safe_steps
from partialfair.algorithms.contract import Task
from reproduction.grid import tidy

DP, EO = "partial_demographic_parity", "partial_equalized_odds"
COLUMNS = {"a9a": "groups", "bank": "intercept", "compas_two_years": "last_group"}
TABLE2 = Parameters(eta=1e-3, tau=0.1)


def problem_of(data, constraint=DP, eps=0.05, columns=None, surrogate=0.25):
    task = Task(
        train=data, validation=data, constraint=constraint, interval=[[0.0, 1.0]], kappa=eps,
        surrogate={"name": "logistic", "sharpness": surrogate},
    )  # fmt: skip
    return GapTask(task, GapSettings(columns=COLUMNS if columns is None else columns)).problem


def sample(seed=0, n=300, d=5, m=1):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.4, 1.0, -1.0)
    cut = np.linspace(0, n, 2 * m + 1).astype(int)
    rates = tuple(Rate(int(a), int(b)) for a, b in zip(cut, cut[1:], strict=False))
    X[: cut[1]] += 0.7
    pairs = np.array([(2 * j, 2 * j + 1) for j in range(m)])
    return X, y, rates, pairs


def test_the_unit_of_the_certificate_is_the_one_with_a_column_of_its_own():
    problem = LinearGaps(*sample(), np.full(1, 0.1))
    assert GapPoint(problem, np.zeros(problem.size)).certificate().relative_to == tidy.ABSOLUTE


def start(problem, batch=1):
    return np.zeros((problem.size, batch))


def advance(problem, parameters, steps, theta_step="prox_linear"):
    method = Plada(problem, parameters, start(problem), theta_step=theta_step)
    for _ in range(steps):
        method.step()
    return method


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("m", [1, 2])
def test_derivatives(kind, m):
    X, y, rates, pairs = sample(m=m)
    problem = LinearGaps(kind(X * (np.abs(X) > 1.2)), y, rates, pairs, np.full(m, 0.05))
    rng = np.random.default_rng(1)
    theta, direction = 0.3 * rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    state = problem.state(theta)
    loss, jacobian = problem.gradients(state)
    ahead, behind = problem.state(theta + 1e-6 * direction), problem.state(theta - 1e-6 * direction)
    assert np.sum(loss * direction, axis=0) == pytest.approx((ahead.loss - behind.loss) / 2e-6, abs=1e-9)
    found = np.einsum("jdb,db->jb", jacobian, direction)
    assert found == pytest.approx((ahead.gaps - behind.gaps) / 2e-6, abs=1e-9)
    weight, gaps = rng.normal(size=2), rng.normal(size=(m, 2))
    expected = weight * loss + np.einsum("jdb,jb->db", jacobian, gaps)
    assert problem.combined(state, weight, gaps) == pytest.approx(expected, abs=1e-12)


def test_partial_rates_and_clipped_linear():
    X, y, rates, pairs = sample()
    inside = tuple(Rate(r.start, r.stop, ((0.1, 0.3), (0.5, 0.8)), 2.0) for r in rates)
    problem = LinearGaps(X, y, inside, pairs, np.array([0.05]), smoothing=Smoothing("clipped_linear", 1.0))
    theta = 0.2 * np.ones((5, 1))
    share = [np.clip(X[r.start : r.stop] @ theta[:, 0] + 0.5, 0, 1).mean() for r in rates]
    rate = [2 * (np.clip(c, 0.1, 0.3) - 0.1 + np.clip(c, 0.5, 0.8) - 0.5) for c in share]
    assert problem.state(theta).gaps[0, 0] == pytest.approx(rate[0] - rate[1])


@pytest.mark.parametrize("m", [1, 2])
def test_swapping_the_groups_changes_nothing_but_the_sign(m):
    X, y, rates, pairs = sample(m=m)
    one = advance(LinearGaps(X, y, rates, pairs, np.full(m, 0.05)), Parameters(eta=0.2, tau=0.06), 200)
    other = advance(LinearGaps(X, y, rates, pairs[:, ::-1], np.full(m, 0.05)), Parameters(eta=0.2, tau=0.06), 200)
    assert np.array_equal(one.state.theta, other.state.theta)
    assert np.array_equal(one.state.gaps, -other.state.gaps)


def test_duplicated_rows_change_nothing():
    X, y, rates, pairs = sample()
    twice = tuple(Rate(2 * r.start, 2 * r.stop) for r in rates)
    one = advance(LinearGaps(X, y, rates, pairs, np.array([0.05])), Parameters(eta=0.2, tau=0.06), 200)
    doubled = LinearGaps(np.repeat(X, 2, axis=0), np.repeat(y, 2), twice, pairs, np.array([0.05]))
    assert advance(doubled, Parameters(eta=0.2, tau=0.06), 200).state.theta == pytest.approx(one.state.theta, abs=1e-12)


def test_row_order_changes_nothing():
    X, y, rates, pairs = sample()
    order = np.concatenate([np.random.default_rng(3).permutation(np.arange(r.start, r.stop)) for r in rates])
    one = advance(LinearGaps(X, y, rates, pairs, np.array([0.05])), Parameters(eta=0.2, tau=0.06), 200)
    other = advance(LinearGaps(X[order], y[order], rates, pairs, np.array([0.05])), Parameters(eta=0.2, tau=0.06), 200)
    assert other.state.theta == pytest.approx(one.state.theta, abs=1e-10)


def test_one_label_of_equalised_odds_is_demographic_parity_on_it():
    X, y, rates, _ = sample(m=2)
    whole = LinearGaps(X, y, rates, np.array([(0, 1)]), np.array([0.05]))
    stop = rates[1].stop
    part = LinearGaps(X[:stop], y[:stop], rates[:2], np.array([(0, 1)]), np.array([0.05]))
    theta = np.linspace(-1, 1, 5)[:, None]
    assert whole.state(theta).gaps == pytest.approx(part.state(theta).gaps)


def test_the_ball_holds():
    X, y, rates, pairs = sample()
    method = Plada(
        LinearGaps(X, y, rates, pairs, np.array([0.05]), radius=0.1), Parameters(eta=0.5, tau=0.06), np.zeros((5, 1))
    )
    norms = []
    for _ in range(60):
        method.step()
        norms.append(np.linalg.norm(method.state.theta))
    assert max(norms) == pytest.approx(0.1) and max(norms) <= 0.1 + 1e-12


AT_ZERO = {
    "a9a": (0.67711664, 0.42597696, 0.01845546),
    "compas_two_years": (0.20590139, 0.34875614, -0.03607736),
    "bank": (0.76944644, 0.61070367, -0.17788342),
}
AFTER_TEN = {
    "a9a": (0.6886139188, -0.0497197371, -0.0001093411, -0.0089478533, 0.0514874396),
    "compas_two_years": (0.6927061327, -0.0495773554, 0.0000645733, -0.0089268783, 0.0513756457),
    "bank": (0.6871887279, -0.0480443351, 0.0015225113, -0.0086875912, 0.0500863556),
}
STEPS = {"a9a": (0.2096, 1.183), "compas_two_years": (0.385, 0.385), "bank": (0.136, 1.522)}


@pytest.mark.real_data
@pytest.mark.parametrize("name", AT_ZERO)
def test_known_answers_on_real_data(name, dataset):
    problem = problem_of(dataset(name))
    method = Plada(problem, TABLE2, start(problem))
    assert method.state.loss[0] == pytest.approx(math.log(2), abs=1e-12) and method.state.gaps[0, 0] == 0
    loss, jacobian = problem.gradients(method.state)
    found = (np.linalg.norm(loss), np.linalg.norm(jacobian), float(loss[:, 0] @ jacobian[0, :, 0]))
    assert found == pytest.approx(AT_ZERO[name], abs=1e-7)
    eta, _ = safe_steps(problem.curvature_of_loss(), problem.jacobian_norm(), TABLE2.rho)
    assert (eta, problem.weak_convexity()) == pytest.approx(STEPS[name], abs=6e-4)
    for _ in range(10):
        method.step()
    found = (method.state.loss[0], worst(problem, method.state)[0], method.lam[0, 0], method.mu[0, 0], method.u[0, 0])
    assert found == pytest.approx(AFTER_TEN[name], abs=1e-9)


OPTIMA = {
    (DP, 0.05): (0.607462, (0.05,), (0.0503,)),
    (DP, 0.02): (0.609440, (0.02,), (0.0815,)),
    (EO, 0.05): (0.607961, (0.05, 0.0097), (0.0588, 0.0)),
}


@pytest.mark.real_data
@pytest.mark.parametrize(("constraint", "eps"), OPTIMA)
def test_exact_optimum(constraint, eps, dataset):
    problem = problem_of(dataset("compas_two_years"), constraint, eps)
    found = optimum(problem, np.zeros(problem.size))
    loss, gaps, multipliers = OPTIMA[constraint, eps]
    assert found.loss == pytest.approx(loss, abs=2e-6) and found.gaps == pytest.approx(gaps, abs=1e-4)
    assert found.multipliers.sum(axis=1) == pytest.approx(multipliers, abs=3e-3)
    assert kkt_residuals(problem, problem.state(found.theta[:, None]))[0][0] < 1e-6
    assert near_stationarity(problem, found.theta, 2 * problem.weak_convexity())[0] < 1e-3


@pytest.mark.real_data
def test_a_loose_tolerance_is_no_constraint(dataset):
    problem = problem_of(dataset("compas_two_years"), eps=0.2)
    found = optimum(problem, np.zeros(problem.size))
    assert found.loss == pytest.approx(0.60626, abs=1e-5) and not found.multipliers.any()
    method = advance(problem, Parameters(eta=0.38, tau=0.06), 3000)
    assert method.state.loss[0] == pytest.approx(0.606269, abs=5e-5) and abs(method.lam[0, 0]) < 1e-5
    assert method.u[0, 0] == pytest.approx(0.2 - abs(method.state.gaps[0, 0]), abs=1e-4)


@pytest.mark.real_data
def test_plada_reaches_the_exact_optimum(dataset):
    problem = problem_of(dataset("compas_two_years"))
    eta, tau = safe_steps(problem.curvature_of_loss(), problem.jacobian_norm(), 5.0)
    method = advance(problem, Parameters(eta=eta, tau=tau), 5000)
    assert method.state.loss[0] == pytest.approx(0.6074618, abs=5e-5)
    assert abs(worst(problem, method.state)[0]) < 1e-4 and method.lam[0, 0] == pytest.approx(0.0503, abs=1e-3)


@pytest.mark.real_data
def test_readings_of_the_theta_step(dataset):
    """Away from the kink they agree; where it is the solution, the subgradient step chatters."""
    data = dataset("compas_two_years")
    away = {
        name: advance(problem_of(data), Parameters(eta=0.1, tau=0.06), 300, name)
        for name in ("linearised", "prox_linear")
    }
    exact = advance(problem_of(data), Parameters(eta=0.1, tau=0.06), 100, "exact").state.loss[0]
    prox = advance(problem_of(data), Parameters(eta=0.1, tau=0.06), 100).state.loss[0]
    # Equal but for rounding: the linearised step adds its terms up in one product with the data.
    assert away["linearised"].state.theta == pytest.approx(away["prox_linear"].state.theta, abs=1e-12)
    assert exact == pytest.approx(prox, abs=1e-5)
    # The task asks for a positive tolerance; the kink is the solution at eps = 0.
    usual = problem_of(data)
    kink = LinearGaps(usual.X, usual.y, usual.rates, usual.pairs, np.zeros(1))
    gaps = {}
    for name in ("linearised", "prox_linear", "exact"):
        method, seen = Plada(kink, Parameters(eta=0.1, tau=0.06), start(kink), theta_step=name), []
        for _ in range(600 if name == "exact" else 1500):
            method.step()
            seen.append(worst(kink, method.state)[0])
        gaps[name] = max(seen[-50:])
    assert gaps["exact"] < 1e-9 and gaps["prox_linear"] < 1e-9 and gaps["linearised"] > 1e-3
