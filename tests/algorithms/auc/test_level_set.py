"""The stochastic level-set method: closed forms of its steps, gradients, and its course on small data."""

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.optimize import minimize

from papers.auc_fairness.algorithms import pair_descent
from partialfair.algorithms.auc.level_set import LevelSetBudget, Rows, mirror_weight, set_weights, solve
from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments
from partialfair.data.auc_sets import PRESETS
from partialfair.kernels.pair_descent_steps import (
    CORRELATION,
    PLAIN,
    PROXY,
    add_correlation,
    loss_residual,
    proxy_multipliers,
)
from partialfair.kernels.pair_minimax import ROW, dual_step, minimax_step, set_moments, upper_bound
from tests.algorithms.auc.auc_toy import random_rows

U, V = np.array([0.2, -0.1, 0.3]), np.array([1.0, -0.5, 0.4, 2.0, 0.0])
WEIGHT = mirror_weight(1.0)


def raw_dual(y, alpha, old_y, old_alpha, u, v, tau):
    """The negative of what the dual step maximises, divided by tau."""
    linear = y @ u + sum(y[ROW[m]] * (alpha[m] * v[m] - alpha[m] ** 2) for m in range(5))
    entropy = WEIGHT * np.sum(y * np.log(y / old_y))
    far = sum(y[ROW[m]] * (alpha[m] - old_alpha[m]) ** 2 for m in range(5))
    return -(linear - (entropy + far) / tau)


def test_dual_step_known_answer():
    y, alpha = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.0, -0.2, 0.3, 0.4])
    old = y.copy(), alpha.copy()
    dual_step(U, V, y, alpha, 2.0, WEIGHT, 1.0)
    assert alpha == pytest.approx((0.366667, -0.166667, 0.066667, 0.766667, 0.133333), abs=1e-6)
    assert y == pytest.approx((0.499080, 0.276328, 0.224593), abs=1e-6)
    assert raw_dual(y, alpha, *old, U, V, 2.0) == pytest.approx(-0.407404, abs=1e-6)


def test_dual_step_is_the_maximiser():
    """Against a solver on the raw problem of eight variables, and random feasible points."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        old_y, old_alpha = rng.dirichlet(np.ones(3)) + 1e-3, rng.uniform(-1, 1, 5)
        old_y /= old_y.sum()
        u, v, tau = rng.normal(size=3), 2 * rng.normal(size=5), rng.uniform(0.2, 3)
        y, alpha = old_y.copy(), old_alpha.copy()
        dual_step(u, v, y, alpha, tau, WEIGHT, 1.0)
        best = raw_dual(y, alpha, old_y, old_alpha, u, v, tau)

        def value(z, args=(old_y, old_alpha, u, v, tau)):
            return raw_dual(np.maximum(z[:3], 1e-12), z[3:], *args)

        found = minimize(
            value, np.concatenate([old_y, old_alpha]), method="SLSQP", bounds=[(1e-9, 1)] * 3 + [(-1, 1)] * 5,
            constraints={"type": "eq", "fun": lambda z: z[:3].sum() - 1}, options={"ftol": 1e-15, "maxiter": 400},
        )  # fmt: skip
        assert best <= found.fun + 1e-11
        assert np.concatenate([y, alpha]) == pytest.approx(found.x, abs=2e-5)
        for _ in range(300):
            assert value(np.concatenate([rng.dirichlet(np.ones(3)), rng.uniform(-1, 1, 5)])) >= best - 1e-12


def test_upper_bound_known_answer():
    v = np.array([1.0, -0.5, 0.4, 5.0, 0.0])
    assert upper_bound(U, v, 1.0) == pytest.approx(4.3, abs=1e-12)  # the fourth alpha is clipped
    by_grid = max(
        U[k] + sum(max(a * v[m] - a * a for a in np.linspace(-1, 1, 2001)) for m in range(5) if ROW[m] == k)
        for k in range(3)
    )
    assert by_grid == pytest.approx(4.3, abs=1e-6)


def test_minimax_form_of_one_pair():
    """Three positives, two negatives: by pairs and in min-max form, which is wrong with the printed 2 c1 in G."""
    positive, negative, c1 = np.array([2.0, 1.0, 0.0]), np.array([1.5, -0.5]), 0.5
    by_pairs = np.mean(c1 * (1 - (positive[:, None] - negative)) ** 2)
    gap = positive.mean() - negative.mean()
    f = c1 + c1 * (np.mean(-2 * positive) + positive.var()) + c1 * (np.mean(2 * negative) + negative.var())

    def form(factor):
        return max(f + alpha * factor * gap - alpha**2 for alpha in np.linspace(-1, 1, 20001))

    assert by_pairs == pytest.approx(0.958333, abs=1e-6)
    assert form(2 * np.sqrt(c1)) == pytest.approx(by_pairs, abs=1e-7)
    assert form(2 * c1) == pytest.approx(0.895833, abs=1e-6)


def full_step(name, seed, scores=None, c1=0.5):
    """One step on all rows at once from a random state; returns what went in and the residual."""
    rng, X, cells = random_rows(seed)
    sets = PRESETS[name]
    weights = set_weights(sets, cells)
    scores = (X @ rng.normal(size=3) if scores is None else scores)[:, None]
    a, b, alpha = rng.uniform(-0.5, 0.5, (3, 5, 1))
    y = rng.dirichlet(np.ones(3))[:, None]
    state = (a.copy(), b.copy(), y.copy(), alpha.copy())
    residual, sums = np.empty((len(cells), 1)), np.zeros((10, 1))
    eta = np.array([0.1])
    minimax_step(
        scores, cells, weights, a, b, y, alpha, np.array([0.4]), np.array([1.2]), c1, 1.0, eta, eta, WEIGHT, 1.0, 0.0,
        np.zeros((5, 1)), np.zeros((5, 1)), sums, residual,
    )  # fmt: skip
    return X, cells, weights, scores[:, 0], state, residual[:, 0], (a, b), sums


def lagrangian(scores, cells, weights, state, c1=0.5):
    """``y'F + (y alpha)'G`` at given scores and state, pair set by pair set."""
    a, b, y, alpha = (part[:, 0] for part in state)
    from partialfair.kernels.pair_minimax import PAIR_N, PAIR_P

    total = -0.4 * y[0] - 1.2 * (y[1] + y[2])
    for m in range(5):
        w_p, w_n = weights[PAIR_P[m]][cells], weights[PAIR_N[m]][cells]
        f = (
            c1
            + np.mean(c1 * w_p * (-2 * scores + (scores - a[m]) ** 2))
            + np.mean(c1 * w_n * (2 * scores + (scores - b[m]) ** 2))
        )
        g = 2 * np.sqrt(c1) * np.mean(scores * (w_p - w_n))
        total += y[ROW[m]] * (f + alpha[m] * g)
    return total


@pytest.mark.parametrize("name", PRESETS)
def test_step_gradients_equal_finite_differences(name):
    X, cells, weights, scores, state, residual, (new_a, new_b), _ = full_step(name, 1)
    rng = np.random.default_rng(2)
    direction, h = rng.normal(size=scores.size), 1e-6
    slope = (
        lagrangian(scores + h * direction, cells, weights, state)
        - lagrangian(scores - h * direction, cells, weights, state)
    ) / (2 * h)
    assert residual @ direction == pytest.approx(slope, abs=1e-6)
    for place, new in ((0, new_a), (1, new_b)):
        for m in range(5):
            ends = []
            for sign in (1, -1):
                moved = [part.copy() for part in state]
                moved[place][m] += sign * h
                ends.append(lagrangian(scores, cells, weights, moved))
            taken = (state[place][m, 0] - new[m, 0]) / 0.1
            assert taken == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-6)


def test_pair_loss_gradient_equals_autograd_of_all_pairs():
    """The batch residual of the baselines against automatic differentiation of the double sum."""
    rng, X, cells = random_rows(4)
    table, weights = PRESETS["inter_group"].table, np.array([[1.0], [0.7], [0.2]])
    scores = torch.tensor(X @ rng.normal(size=3), requires_grad=True)
    member = [torch.as_tensor(np.flatnonzero(row[cells])) for row in table]

    def loss(p, n):
        return (0.5 * (1 - (scores[member[p]][:, None] - scores[member[n]])) ** 2).mean()

    total = loss(0, 1) + 0.7 * (loss(3, 2) + loss(4, 5)) + 0.2 * (loss(5, 4) + loss(2, 3))
    total.backward()
    residual = np.empty((cells.size, 1))
    loss_residual(scores.detach().numpy()[:, None], cells, table, weights, 0.5, 1.0, residual)
    assert residual[:, 0] == pytest.approx(scores.grad.numpy(), abs=1e-10)


def test_correlation_gradient_equals_finite_differences():
    rng, X, cells = random_rows(5)
    scores, h = rng.normal(size=cells.size), 1e-6
    residual = np.zeros((cells.size, 1))
    add_correlation(scores[:, None], cells, np.array([0.8]), residual)

    def penalty(s):
        return 0.8 * abs(np.corrcoef(s, cells >= 2)[0, 1])

    for j in range(0, cells.size, 7):
        unit = np.eye(cells.size)[j] * h
        assert residual[j, 0] == pytest.approx((penalty(scores + unit) - penalty(scores - unit)) / (2 * h), abs=1e-6)


def test_multipliers_follow_the_true_gap_of_the_batch():
    rng, X, cells = random_rows(6)
    scores = np.round(rng.normal(size=(cells.size, 1)), 1)  # with ties
    multipliers = np.array([[5.0], [4.0]])
    options = (multipliers, np.array([0.1]), np.array([2.0]), 100.0)
    assert proxy_multipliers(scores, cells, PRESETS["intra_group"].table, *options)

    def auc(p, n):
        difference = scores[cells == p] - scores[cells == n].T
        return np.mean((difference > 0) + 0.5 * (difference == 0))

    delta = auc(3, 2) - auc(1, 0)
    assert multipliers[:, 0] == pytest.approx([5 + 2 * (delta - 0.1), 4 + 2 * (-delta - 0.1)], abs=1e-12)
    alone = cells[:1] * 0 + 1  # a batch without most sets changes nothing
    before = multipliers.copy()
    assert not proxy_multipliers(scores[:1], alone, PRESETS["intra_group"].table, *options)
    assert np.array_equal(before, multipliers)


def test_batch_moments_are_unbiased():
    """The mean over batches of the weighted moments lies within 4 standard errors of that of all rows."""
    rng, X, cells = random_rows(7, n=200)
    sets, scores = set_weights(PRESETS["inter_group"], cells), X @ np.ones(3)
    found = np.empty((3000, 12))
    for k in range(len(found)):
        rows = rng.integers(0, cells.size, 20)
        first, second = np.empty((6, 1)), np.empty((6, 1))
        set_moments(scores[rows, None], cells[rows], sets, first, second)
        found[k] = np.concatenate([first[:, 0], second[:, 0]])
    first, second = np.empty((6, 1)), np.empty((6, 1))
    set_moments(scores[:, None], cells, sets, first, second)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - np.concatenate([first[:, 0], second[:, 0]])) < 4 * error)


@pytest.fixture(scope="module")
def stream():
    rng, X, cells = random_rows(8, n=3000, p=4)
    return Rows(sparse.csr_array(X * 0.6), cells, PRESETS["group"])


def test_level_set_approaches_the_exact_optimum_through_feasible_points(stream):
    own = QuadraticAUC(SetMoments.from_rows(stream.X, stream.cells, stream.sets))
    slack = 0.1
    exact = own.values(own.solve(slack))[0]
    budget = LevelSetBudget(steps=6000, calls=12, batch=50, skip=0.0)
    found = solve(stream, [1 + slack], [0.1], np.random.default_rng(0), budget)
    values = np.array([own.values(call.mean[:, 0]) for call in found.calls])
    upper = np.array([call.upper[0] for call in found.calls])
    assert np.all(values[:, 1:].max(axis=1) < 1 + slack + 1e-3), "an averaged point is not feasible"
    assert -1e-3 <= values[-1, 0] - exact <= 0.02
    level = np.array([call.level[0] for call in found.calls])
    assert np.diff(level) == pytest.approx(upper[:-1] / 2, abs=1e-12) and level[0] == 0.5
    assert np.all(upper[1:] > upper[:-1] - 1e-3) and upper[0] < 0
    assert 0 <= upper[0] - own.level(0.5, slack) <= 0.02, "U is no upper bound of H"
    assert max(call.extreme[0] for call in found.calls) < 1, "an auxiliary variable sits on its bound"


def test_runs_of_a_batch_are_those_alone(stream):
    budget = LevelSetBudget(steps=200, calls=2, batch=20, skip=0.0)
    both = solve(stream, [1.1, 1.5], [0.1, 0.3], np.random.default_rng(1), budget)
    alone = solve(stream, [1.5], [0.3], np.random.default_rng(1), budget)
    assert both.calls[0].mean[:, 1] == pytest.approx(alone.calls[0].mean[:, 0], abs=1e-12)
    assert both.snapshots[both.run == 1][:4] == pytest.approx(alone.snapshots[:4], abs=1e-12)


def test_a_run_that_fails_at_once_keeps_its_snapshots(stream):
    found = solve(
        stream, [1.1], [3.0], np.random.default_rng(2), LevelSetBudget(steps=100, calls=3, batch=20, skip=0.0)
    )
    assert len(found.snapshots) > 0 and np.isfinite(found.snapshots).all()


@pytest.mark.parametrize("kind", ["plain", "proxy", "correlation"])
def test_baselines_descend(stream, kind):
    own = QuadraticAUC(SetMoments.from_rows(stream.X, stream.cells, stream.sets))
    budget = pair_descent.DescentBudget(steps=3000, batch=50, marks=2)
    weights, run, *_ = pair_descent.solve(stream, kind, [0.05], [0.1], np.random.default_rng(3), budget)
    last = weights[run == 0][-1]
    free = own.unconstrained()
    if kind == "plain":
        assert own.values(last)[0] == pytest.approx(own.values(free)[0], abs=0.01)
    else:
        assert abs(own.delta @ last) < abs(own.delta @ free)
    assert {"plain": PLAIN, "proxy": PROXY, "correlation": CORRELATION}[kind] == pair_descent.KINDS[kind]
