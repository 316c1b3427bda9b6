"""The direct solver against independent solvers and its guarantees."""

import numpy as np
import pytest
from scipy.optimize import minimize

from partialfair import plugins
from partialfair.algorithms.linear import augmented_lagrangian
from partialfair.algorithms.linear import unconstrained_solver as unconstrained
from partialfair.algorithms.linear.augmented_lagrangian import Budget, matching_thresholds

FAMILIES = [name for name in plugins.names("constraints") if plugins.is_fused(name)]


def test_unconstrained_optimum_equals_scikit_learns(problem_factory):
    from sklearn.linear_model import LogisticRegression

    problem, X, y, group = problem_factory(kappa=np.inf)
    rows = np.hstack([X, group[:, None], X * group[:, None]])
    oracle = LogisticRegression(C=np.inf, max_iter=5000, tol=1e-10).fit(rows, y)
    loss = np.logaddexp(0, -y * oracle.decision_function(rows)).mean()
    found = unconstrained.solve(problem)
    assert found.certificate.objective == pytest.approx(loss, abs=1e-6)
    assert found.certificate.kkt_residual < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kappa", [0.02, 0.1])
def test_constraints_hold_and_first_order_conditions_nearly(problem_factory, family, kappa):
    problem, *_ = problem_factory(family, n=4000, kappa=kappa)
    found = augmented_lagrangian.solve(problem)
    assert found.status == "ok"
    assert found.certificate.max_violation <= 1e-4
    assert found.certificate.kkt_residual < 0.02
    assert found.certificate.objective == pytest.approx(problem.loss(problem.state(found.params, found.aux))[0])


def test_a_general_solver_finds_no_better_point(problem_factory):
    """SLSQP (scipy), started at the solution, is an independent check of local optimality."""
    problem, *_ = problem_factory("partial_demographic_parity", n=4000, kappa=0.03, interval=((0.0, 1.0),))
    found = augmented_lagrangian.solve(problem, budget=Budget(tolerance=1e-5, stationarity=1e-5))
    shape = problem.model.shape

    def state(flat):
        return problem.state(flat.reshape(shape), np.zeros(0))

    rival = minimize(
        lambda flat: (problem.loss(state(flat))[0], problem.loss(state(flat))[1].ravel()),
        found.params.ravel(),
        jac=True,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda flat: -problem.constraints(state(flat)),
            "jac": lambda flat: -problem.jacobian(state(flat))[0].reshape(problem.n_constraints, -1),
        },
        options={"maxiter": 300, "ftol": 1e-10},
    )
    worst = problem.constraints(state(rival.x)).max()
    assert worst < 1e-4
    assert found.certificate.objective <= rival.fun + 5e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wide_tolerance_returns_the_unconstrained_optimum(problem_factory, family):
    problem, *_ = problem_factory(family, kappa=1.0)
    free = unconstrained.solve(problem).certificate.objective
    assert augmented_lagrangian.solve(problem).certificate.objective == pytest.approx(free, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_does_not_increase_with_kappa(problem_factory, family):
    losses = [
        augmented_lagrangian.solve(problem_factory(family, n=4000, kappa=kappa)[0]).certificate.objective
        for kappa in (0.01, 0.05, 0.1, 0.3, 1.0)
    ]
    assert np.all(np.diff(losses) <= 5e-4)


def test_impossible_budget_is_reported_not_hidden(problem_factory):
    problem, *_ = problem_factory(kappa=0.01)
    found = augmented_lagrangian.solve(problem, budget=Budget(rounds=1, inner_iterations=1, tolerance=1e-9))
    assert found.status.startswith("infeasible: largest constraint value")


def test_matching_thresholds_have_the_wanted_shares(problem_factory):
    problem, *_ = problem_factory(n=5000, kappa=0.05)
    params = unconstrained.minimise_loss(problem)
    scores, theta = problem.scores(params), matching_thresholds(problem, params)
    subset = np.repeat([0, 1], np.diff(problem.design.starts))
    shares = [np.mean([np.clip(scores[subset == k] - t + 0.5, 0, 1).mean() for k in (0, 1)]) for t in theta]
    assert np.allclose(shares, 0.5 - problem.program.start, atol=0.01)


def test_scores_without_the_group_need_no_group(problem_factory):
    problem, *_ = problem_factory(uses_group=False)
    assert augmented_lagrangian.solve(problem).params.shape == (1, 7)


def test_a_first_point_comes_early_and_changes_nothing_else(problem_factory, monkeypatch):
    problem, *_ = problem_factory(n=4000, kappa=0.02, grid=10)
    monkeypatch.setattr(augmented_lagrangian, "HALFWAY", 5)
    found = augmented_lagrangian.solve(problem)
    first, second = found.history[:2]
    assert first.iteration == second.iteration == 1 and first.inner_steps < second.inner_steps
    assert first.max_violation < 0.5 * second.max_violation
    monkeypatch.setattr(augmented_lagrangian, "HALFWAY", 10**6)
    without = augmented_lagrangian.solve(problem)
    assert np.array_equal(without.params, found.params)
    assert [r.objective for r in without.history] == [r.objective for r in found.history[1:]]
