"""Networks of the AUC fairness paper: kernels against autograd and closed forms, IQRC on small data."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from papers.auc_fairness.algorithms import pair_descent
from papers.auc_fairness.algorithms.pair_networks import set_means, solve_iqrc, solve_penalty, surrogate_values
from papers.auc_fairness.algorithms.sigmoid_network import BLOCK, SigmoidNetwork
from partialfair.algorithms.auc.level_set import LevelSetBudget, Rows, csr
from partialfair.data.auc_sets import PRESETS
from partialfair.kernels import sigmoid_network_steps as kernels
from partialfair.kernels.pair_descent_steps import batch_gap, swap_update, swap_weights
from tests.algorithms.auc.auc_toy import direct, random_rows


def network_rows():
    _, X, cells = random_rows(9, n=600, p=3)
    return Rows(sparse.csr_array(X), cells, PRESETS["inter_group"])


@pytest.fixture
def networks():
    """Seven rows with gaps, two networks of four units, and what autograd says of them: scores and derivatives."""
    rng = np.random.default_rng(0)
    network = SigmoidNetwork(3, 4)
    X = rng.normal(size=(7, 3)) * (rng.random((7, 3)) < 0.6)
    theta, residual = rng.normal(size=(2, network.size)), rng.normal(size=(7, 2))
    scores, slopes = [], []
    for r in range(2):
        w = torch.tensor(theta[r], requires_grad=True)
        hidden = torch.sigmoid(torch.tensor(X) @ w[:12].reshape(4, 3).T + w[12:16])
        out = torch.sigmoid(hidden @ w[16:20] + w[20])
        (out * torch.tensor(residual[:, r])).sum().backward()
        scores.append(out.detach().numpy())
        slopes.append(w.grad.numpy())
    return network, X, theta, residual, np.array(scores), np.array(slopes)


def test_network_scores_and_derivatives_equal_autograd(networks):
    network, X, theta, residual, scores, slopes = networks
    arrays, table = csr(sparse.csr_array(X)), network.table(theta)
    assert pytest.approx(scores, abs=1e-15) == network.scores(table, arrays).T
    batch = np.array([6, 0, 0, 3])  # rows as they are drawn, with replacement
    found, hidden, gradient = np.empty((4, 2)), np.empty((4, 4, 2)), np.empty_like(table)
    kernels.forward(*arrays, batch, table, 4, hidden, found)
    assert pytest.approx(scores[:, batch], abs=1e-15) == found.T
    every, hidden, found = np.arange(7), np.empty((7, 4, 2)), np.empty((7, 2))
    kernels.forward(*arrays, every, table, 4, hidden, found)
    kernels.backward(*arrays, every, table, 4, hidden, found, residual, gradient)
    assert network.theta(gradient) == pytest.approx(slopes, abs=1e-14)


def test_network_parameters_come_back_in_the_order_of_models(networks):
    network, _, theta, *_ = networks
    assert (network.theta(network.table(theta)) == theta).all()
    assert (
        pytest.approx(network.stored.forward(theta, np.eye(3)[None])[0], abs=1e-15)
        == network.scores(network.table(theta), csr(sparse.csr_array(np.eye(3)))).T
    )


def test_networks_score_more_rows_than_a_block_alike():
    rng, network = np.random.default_rng(1), SigmoidNetwork(2, 3)
    X = sparse.csr_array(rng.normal(size=(2 * BLOCK + 1, 2)))
    table = network.table(rng.normal(size=(3, network.size)))
    whole = network.scores(table, csr(X))
    assert (whole[BLOCK - 1 : BLOCK + 2] == network.scores(table, csr(X[BLOCK - 1 : BLOCK + 2]))).all()
    assert (whole[-1:] == network.scores(table, csr(X[-1:]))).all()


@given(st.floats(allow_nan=False, width=64))
def test_sigmoid_is_within_two_units_of_scipys(x):
    found = kernels.sigmoid(x)
    assert 0 <= found <= 1
    if abs(x) < 700:
        assert found == pytest.approx(expit(x), rel=4.5e-16)


def test_proximal_step_known_answer():
    rng = np.random.default_rng(2)
    old, gradient, centre = rng.normal(size=(3, 5, 2))
    eta, rho, radius = np.array([0.1, 2.0]), 0.3, 1.0
    table = old.copy()
    kernels.proximal_step(table, gradient, centre, eta, rho, radius)
    free = (old - eta * gradient + eta * rho * centre) / (1 + eta * rho)
    norm = np.linalg.norm(free, axis=0)
    assert (norm > radius).any()
    assert table == pytest.approx(free * np.minimum(1, radius / norm), rel=1e-14)


def test_averages_of_a_call_are_weighted_by_the_dual_steps():
    rng = np.random.default_rng(3)
    table, centre = rng.normal(size=(2, 5, 2))
    tau, mean, far = np.array([0.5, 2.0]), np.ones((5, 2)), np.ones(2)
    kernels.add_to_average(table, centre, tau, mean, far)
    assert mean == pytest.approx(1 + tau * table)
    assert far == pytest.approx(1 + tau * ((table - centre) ** 2).sum(axis=0))


def test_surrogate_values_equal_pairs():
    rows, rng = network_rows(), np.random.default_rng(1)
    scores = rng.normal(size=(rows.cells.size, 2))
    found = surrogate_values(scores, rows.cells, rows.sets, 0.5, 1.0)
    for r in range(2):
        assert found[:, r] == pytest.approx(direct(scores[:, r], rows.cells, rows.sets), abs=1e-10)


def test_set_means_are_those_of_the_sets_rows():
    rows, rng = network_rows(), np.random.default_rng(1)
    scores = rng.normal(size=(rows.cells.size, 2))
    for found, cells in zip(set_means(scores, rows), rows.sets.table, strict=True):
        assert found == pytest.approx(scores[cells[rows.cells]].mean(axis=0))


def test_iqrc_improves_and_stays_feasible():
    rows = network_rows()
    network = SigmoidNetwork(3, 4)
    start = network.initial(np.random.default_rng(2))
    budget = LevelSetBudget(steps=600, calls=4, batch=50, skip=0.5)
    found = solve_iqrc(network, rows, start, [1.1, 11.0], [1.0, 3.0], np.random.default_rng(3), budget)
    last = np.array([found.snapshots[found.run == run][-1] for run in range(2)])

    def values(theta):
        return surrogate_values(network.scores(network.table(theta), rows.arrays), rows.cells, rows.sets, 0.5, 1.0)

    f0, f1, f2 = values(np.array([start, *last])).tolist()
    assert f0[1] < f0[0] and max(f1[1], f2[1]) < 1.1 + 5e-3, "the tight run does not descend within the constraint"
    assert f0[2] < f0[0] - 0.03 and max(f1[2], f2[2]) < 11
    plain = pair_descent.DescentBudget(steps=2400, batch=50, marks=2)
    free = solve_penalty(network, rows, start, "plain", [0.0], [3.0], np.random.default_rng(4), plain)
    assert abs(values(free.snapshots[-1:])[0, 0] - f0[2]) < 0.04, "a loose IQRC is not the unconstrained method"


def test_the_player_without_swap_regret_takes_the_known_first_step():
    """Cotter et al. (2019), Algorithm 2, with two constraints: fixed point, exponentiated step, columns of sum 1."""
    rng = np.random.default_rng(0)
    scores, cells = rng.normal(size=(12, 1)), np.repeat(np.arange(4), 3)
    table, kappa, eta = PRESETS["group"].table, np.array([0.05]), np.array([0.3])
    matrix, weights = np.full((9, 1), 1 / 3), np.empty((3, 1))
    swap_weights(matrix, weights)
    assert weights.ravel() == pytest.approx(1 / 3)
    delta = np.empty(1)
    assert batch_gap(scores, cells, table, delta)
    swap_update(scores, cells, table, matrix, weights, kappa, eta)
    change = np.array([0.0, delta[0] - 0.05, -delta[0] - 0.05])
    expected = np.exp(0.3 * np.outer(change, np.full(3, 1 / 3))) / 3
    expected /= expected.sum(axis=0)
    assert matrix.reshape(3, 3) == pytest.approx(expected, abs=1e-12)


def test_the_weights_of_the_player_are_the_stationary_distribution():
    rng = np.random.default_rng(1)
    matrices = rng.random((3, 3, 5)) + 0.01
    matrices /= matrices.sum(axis=0)
    weights = np.empty((3, 5))
    swap_weights(np.ascontiguousarray(matrices.reshape(9, 5)), weights)
    assert weights.sum(axis=0) == pytest.approx(1.0)
    for r in range(5):
        assert matrices[:, :, r] @ weights[:, r] == pytest.approx(weights[:, r], abs=1e-12)


def test_a_player_whose_constraint_is_violated_gives_it_the_weight():
    """A gap of 1 that never closes takes the weight from the objective; one within kappa gives it to the objective."""
    cells = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    table, eta = PRESETS["intra_group"].table, np.array([1.0])
    first, second = np.array([3.0, 3, 1, 1, 0, 0, 2, 2])[:, None], np.array([3.0, 3, 1, 1, 3, 3, 1, 1])[:, None]
    for scores, largest in ((first, (1, 2)), (second, (0,))):
        matrix, weights = np.full((9, 1), 1 / 3), np.empty((3, 1))
        for _ in range(200):
            swap_weights(matrix, weights)
            swap_update(scores, cells, table, matrix, weights, np.array([0.05]), eta)
        assert weights[list(largest)].max() > 0.95
