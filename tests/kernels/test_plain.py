"""Every compiled loop against its twin in plain NumPy."""

import numpy as np
import pytest
from scipy import sparse

from papers.partial_fairness.algorithms.subgradient import Penalty, Switching
from papers.partial_fairness.algorithms.subgradient import advance as advance_baseline
from papers.partial_fairness.algorithms.subgradient import start_runs as start_baseline
from partialfair.algorithms.auc.level_set import set_weights
from partialfair.algorithms.linear.idca_solver import Configuration, advance, start_runs
from partialfair.data.auc_sets import PRESETS
from partialfair.kernels import cell_auc, fair_dual_steps, pair_minimax, pair_sums, plain, pointwise, row_sums
from partialfair.kernels import sigmoid_network_steps as network_kernels
from partialfair.kernels.gram import gram, mirrored
from partialfair.kernels.pair_descent_steps import loss_residual
from partialfair.kernels.weighted_loss import weighted_logistic
from tests.algorithms.conftest import make_problem

FAMILIES = ("partial_statistical_parity", "partial_demographic_parity", "partial_equalized_odds")


def with_ones(X):
    return np.hstack([np.ones((len(X), 1)), X])


def plain_rows(problem, X, y):
    """The rows of a problem as its twin takes them, in the order of the design."""
    program, design = problem.program, problem.design
    subset = np.repeat(np.arange(len(design.subset_group)), np.diff(design.starts))
    parts = [plain.PlainPart(s.weight, s.subset, s.threshold, s.constant) for s in (program.convex, program.concave)]
    return plain.PlainRows(
        with_ones(X)[design.order],
        y[design.order],
        subset,
        design.subset_group,
        program.shift,
        program.aux_index,
        *parts,
    )


@pytest.fixture(params=FAMILIES)
def case(request):
    problem, X, y, _ = make_problem(request.param)
    return problem, plain_rows(problem, X, y)


def random_point(problem):
    rng = np.random.default_rng(3)
    params, aux = problem.start()
    return 0.3 * rng.normal(size=params.shape), aux + 0.1 * rng.normal(size=aux.shape)


def test_scores_means_slopes_and_values(case):
    problem, rows = case
    theta, aux = random_point(problem)
    state = problem.state(theta, aux)
    assert state.scores == pytest.approx(rows.scores(theta), abs=1e-5)
    assert state.means == pytest.approx(rows.means(theta, aux), abs=1e-5)
    values = rows.convex.values(rows.means(theta, aux)) - rows.concave.values(rows.means(theta, aux))
    assert problem.constraints(state) == pytest.approx(values, abs=1e-5)
    slope, fraction = problem.hinge_slopes(state.scores, state.thresholds)
    expected = plain.hinge_slopes(rows.X, rows.scores(theta), rows.subset, len(rows.subset_group), rows.thresholds(aux))
    assert slope == pytest.approx(expected[0], abs=1e-5) and fraction == pytest.approx(expected[1], abs=1e-9)


def test_gradients_of_loss_and_constraints(case):
    problem, rows = case
    theta, aux = random_point(problem)
    state = problem.state(theta, aux)
    loss, gradient = problem.loss(state)
    expected = rows.loss_gradient(theta)
    assert loss == pytest.approx(expected[0], abs=1e-6) and gradient == pytest.approx(expected[1], abs=1e-6)
    means = rows.means(theta, aux)
    by_theta, by_aux = problem.jacobian(state)
    for i in range(problem.n_constraints):
        convex, concave = (part.alternatives(means).argmax(axis=2) for part in (rows.convex, rows.concave))
        by_means = rows.convex.by_means(i, convex, means.shape) - rows.concave.by_means(i, concave, means.shape)
        expected = rows.pull_back(by_means, theta, aux)
        assert by_theta[i] == pytest.approx(expected[0], abs=1e-5) and by_aux[i] == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize("tolerance", [5e-3, 2e-2])
def test_the_inner_loop_of_idca(case, tolerance):
    problem, rows = case
    run = start_runs(problem, [Configuration(25, tolerance)])[0]
    run.params, run.aux = theta, aux = random_point(problem)
    _, best = plain.switching_steps(rows, theta, aux, tolerance, 25)
    advance(problem, [run], 1)
    if best is None:
        assert run.fixed
    else:
        assert run.history[-1].objective == pytest.approx(best[0], abs=1e-4)
        assert run.params == pytest.approx(best[1], abs=2e-3) and run.aux == pytest.approx(best[2], abs=2e-3)


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (Penalty(2.0, 0.05), {"weight": 2.0, "constant": 0.05}),
        (Switching(static=0.01), {"static": 0.01}),
        (Switching(0.0, 0.05), {"diminishing": 0.05}),
    ],
)
def test_subgradient_steps(case, rule, options):
    problem, rows = case
    run = start_baseline(problem, [rule])[0]
    run.current = theta, aux = random_point(problem)
    advance_baseline(problem, [run], 25)
    expected = plain.subgradient_steps(rows, theta, aux, 25, **options)
    assert np.abs(expected[0] - theta).max() > 1e-2, "the run did not move"
    assert run.current[0] == pytest.approx(expected[0], abs=1e-3)
    assert run.current[1] == pytest.approx(expected[1], abs=1e-3)


def test_row_products_and_gram_matrices(case):
    problem, rows = case
    design, rng = problem.design, np.random.default_rng(5)
    weights = np.zeros((2, problem.model.n_features + 2))
    weights[:, :-1] = rng.normal(size=weights[:, :-1].shape)
    scores = np.empty(design.n_rows)
    row_sums.forward_one(*design.plain_arrays, weights, scores)
    assert scores == pytest.approx(plain.forward(rows.X, rows.group, weights[:, :-1]), abs=1e-5)
    residual, gradient = rng.normal(size=design.n_rows), np.zeros_like(weights)
    row_sums.adjoint_one(*design.plain_arrays, residual, gradient)
    assert gradient[:, :-1] == pytest.approx(plain.adjoint(rows.X, rows.group, residual, 2), abs=1e-3)
    weight, half = rng.random(design.n_rows), np.zeros((2, weights.shape[1], weights.shape[1]))
    gram(*design.plain_arrays, weight, half)
    expected = plain.gram(rows.X, rows.group, weight, 2)
    assert mirrored(half[:, :-1, :-1]) == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_logistic_losses():
    rng = np.random.default_rng(1)
    scores, y, weight = 4 * rng.normal(size=1500), np.sign(rng.normal(size=1500)), rng.random(1500)
    expected = plain.logistic(scores, y, 1 / 1500)
    residual = np.empty(1500)
    assert pointwise.logistic_exact(scores, y, 1 / 1500, residual) == pytest.approx(expected[0], rel=1e-13)
    assert residual == pytest.approx(expected[1], rel=1e-12)
    single = np.empty(1500, np.float32)
    loss = pointwise.logistic(scores.astype(np.float32), y.astype(np.float32), 1 / 1500, single)
    assert loss == pytest.approx(expected[0], rel=1e-5) and single == pytest.approx(expected[1], abs=1e-8)
    expected = plain.logistic(scores, y, weight)
    assert weighted_logistic(scores, y, weight, residual) == pytest.approx(expected[0], rel=1e-13)
    assert residual == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize(("kernel", "power"), [(pair_sums.pair_hinge, 1), (pair_sums.pair_squared_hinge, 2)])
def test_sums_over_pairs(kernel, power):
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.normal(size=40)), np.sort(rng.normal(size=30))
    p, q = rng.random(40), rng.random(30)
    result = pair_sums.sorted_pair_sum(kernel, x, p, y, q, 0.3)
    for value, expected in zip(result, plain.pair_hinge(x, p, y, q, 0.3, power), strict=True):
        assert value == pytest.approx(expected, rel=1e-10)


def test_wins_with_ties():
    rng = np.random.default_rng(2)
    scores, cells = rng.integers(0, 12, (3, 80)).astype(float), rng.integers(0, 4, 80)
    table = cell_auc.win_tables(scores, cells)
    for k in range(3):
        expected = [[plain.wins(scores[k, cells == a], scores[k, cells == b]) for b in range(4)] for a in range(4)]
        assert table[k] == pytest.approx(np.array(expected))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_values_of_the_minimax_form(name):
    rng = np.random.default_rng(4)
    cells, sets = np.concatenate([np.repeat(np.arange(4), 3), rng.integers(0, 4, 20)]), PRESETS[name]
    weights = set_weights(sets, cells)
    runs, c1, c2 = 2, 0.5, 1.2
    scores, (a, b, alpha) = rng.normal(size=(cells.size, runs)), rng.normal(size=(3, 5, runs))
    y, level, limit = np.full((3, runs), 1 / 3), rng.random(runs), rng.random(runs)
    sums, tau, residual = np.zeros((10, runs)), np.full(runs, 0.1), np.empty((cells.size, runs))
    start = a.copy(), b.copy()
    pair_minimax.minimax_step(
        scores, cells, weights, a, b, y, alpha, level, limit, c1, c2, np.full(runs, 0.05), tau, 2.0, 5.0, 0.0,
        np.zeros((5, runs)), np.zeros((5, runs)), sums, residual,
    )  # fmt: skip
    for r in range(runs):
        limits = np.array([level[r], limit[r], limit[r]])
        values, gaps = plain.minimax_values(
            scores[:, r], weights[:, cells], (pair_minimax.PAIR_P, pair_minimax.PAIR_N), pair_minimax.ROW,
            start[0][:, r], start[1][:, r], c1, c2, limits,
        )  # fmt: skip
        assert sums[1:4, r] / tau[r] == pytest.approx(values, rel=1e-10, abs=1e-12)
        assert sums[4:9, r] / tau[r] == pytest.approx(gaps, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_derivative_of_the_pair_loss(name):
    rng = np.random.default_rng(6)
    cells, table = np.concatenate([np.repeat(np.arange(4), 2), rng.integers(0, 4, 10)]), PRESETS[name].table
    scores, weights, residual = rng.normal(size=(cells.size, 1)), rng.random((3, 1)), np.empty((cells.size, 1))
    loss_residual(scores, cells, table, weights, 0.5, 1.2, residual)

    def loss(h):
        pairs = pair_minimax.PAIR_P, pair_minimax.PAIR_N
        return plain.pair_loss(h, table[:, cells], pairs, weights[pair_minimax.ROW, 0], 0.5, 1.2)

    for i in range(cells.size):
        step = 1e-6 * np.eye(cells.size)[i]
        slope = (loss(scores[:, 0] + step) - loss(scores[:, 0] - step)) / 2e-6
        assert residual[i, 0] == pytest.approx(slope, abs=1e-7)


def test_sigmoid_networks():
    rng = np.random.default_rng(7)
    n, d, h = 12, 5, 3
    X, parameters = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6), rng.normal(size=(d * h + 2 * h + 1, 2))
    csr = sparse.csr_array(X)
    rows = csr.indptr, csr.indices, csr.data, np.arange(n)
    hidden, scores, gradient = np.empty((n, h, 2)), np.empty((n, 2)), np.empty_like(parameters)
    network_kernels.forward(*rows, parameters, h, hidden, scores)
    residual = rng.normal(size=(n, 2))
    network_kernels.backward(*rows, parameters, h, hidden, scores, residual, gradient)

    def plain_scores(column):
        inner, bias, outer, shift = np.split(column, [d * h, d * h + h, d * h + 2 * h])
        return plain.sigmoid_network(X, inner.reshape(d, h), bias, outer, shift[0])

    for r in range(2):
        assert scores[:, r] == pytest.approx(plain_scores(parameters[:, r]), rel=1e-12)
        for j in range(len(parameters)):
            step = 1e-6 * np.eye(len(parameters))[j]
            change = plain_scores(parameters[:, r] + step) - plain_scores(parameters[:, r] - step)
            assert gradient[j, r] == pytest.approx(residual[:, r] @ change / 2e-6, abs=1e-7)


def test_steps_on_the_dual_of_post_processing():
    rng = np.random.default_rng(8)
    t, r, eps, beta = rng.normal(size=(30, 2)), rng.random((30, 4)), np.array([0.1, 0.2]), 3.0
    rows, w = rng.integers(0, 30, 25), rng.random((2, 2, 4))
    moved, mean, trace = w.copy(), np.zeros_like(w), np.zeros((0, 2, 4))
    fair_dual_steps.sgd(t, r, eps, beta, rows, 0.2, moved, mean, 0, trace)
    expected = plain.sgd(t, r, eps, beta, rows, 0.2, w)
    assert moved == pytest.approx(expected[0], rel=1e-10) and mean == pytest.approx(expected[1], rel=1e-10)
    moved, average, centre = w.copy(), w.copy(), rng.random(w.shape)
    fair_dual_steps.acsa(t, r, eps, beta, rows, 2.0, 0.3, 0.1, centre, 1, moved, average, 0, 0, trace)
    expected = plain.acsa(t, r, eps, beta, rows, 2.0, 0.3, 0.1, centre, 1, w, w)
    assert moved == pytest.approx(expected[0], rel=1e-9) and average == pytest.approx(expected[1], rel=1e-9)


def test_the_quadratic_with_absolute_values_reaches_its_minimum():
    rng = np.random.default_rng(9)
    for _ in range(20):
        root = rng.normal(size=(6, 6))
        curvature, slope, eps = root @ root.T + 0.1 * np.eye(6), rng.normal(size=6), rng.random(6)
        x = np.zeros(6)
        fair_dual_steps.l1_quadratic(curvature, slope, eps, x, 200, 1e-10)
        assert plain.l1_optimality(curvature, slope, eps, x) < 1e-9
