"""The direct solver against independent solvers and its guarantees."""

import numpy as np
import pytest
from scipy.optimize import minimize

from partialfair import plugins
from partialfair.algorithms.linear import augmented_lagrangian
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, matching_thresholds
from partialfair.algorithms.linear.newton import Scaling, minimise_loss
from partialfair.algorithms.linear.unconstrained import UnconstrainedSettings, minimum
from tests.algorithms.conftest import evaluated_point

FAMILIES = [name for name in plugins.names("constraints") if plugins.is_fused(name)]


def test_unconstrained_optimum_equals_scikit_learns(problem_factory):
    from sklearn.linear_model import LogisticRegression

    problem, X, y, group = problem_factory(kappa=np.inf)
    rows = np.hstack([X, group[:, None], X * group[:, None]])
    oracle = LogisticRegression(C=np.inf, max_iter=5000, tol=1e-10).fit(rows, y)
    loss = np.logaddexp(0, -y * oracle.decision_function(rows)).mean()
    found, _ = minimum(problem, UnconstrainedSettings())
    assert found.objective() == pytest.approx(loss, abs=1e-6)
    assert found.certificate().value < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kappa", [0.02, 0.1])
def test_constraints_hold_and_first_order_conditions_nearly(problem_factory, family, kappa):
    problem, *_ = problem_factory(family, n=4000, kappa=kappa)
    found = evaluated_point(problem, augmented_lagrangian.solve(problem))
    assert found.violation() <= 1e-4
    assert found.certificate().value < 0.02
    assert found.objective() == pytest.approx(problem.loss(problem.state(found.params, found.aux))[0])


def test_a_general_solver_finds_no_better_witness(problem_factory):
    """SLSQP (scipy), started at the solution, is an independent check of local optimality."""
    problem, *_ = problem_factory("partial_demographic_parity", n=4000, kappa=0.03, interval=((0.0, 1.0),))
    found = augmented_lagrangian.solve(problem, settings=ALMSettings(tolerance=1e-5, stationarity=1e-5))
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
    assert evaluated_point(problem, found).objective() <= rival.fun + 5e-4


def test_an_update_by_hand(problem_factory):
    """Rockafellar's update, complementary slackness, and a penalty that grows where a round gains too little."""
    problem, *_ = problem_factory(kappa=0.1)
    params, aux = problem.start()
    settings = ALMSettings(penalty=10.0, growth=3.0)
    method = augmented_lagrangian._Multipliers(problem, settings, Scaling.at_point(problem, params))
    values = problem.constraints(problem.state(params, aux))
    before = np.where(np.arange(values.size) % 2, 0.0, 12.0 * np.abs(values).max())
    method.multipliers = before
    *_, worst, _, slackness = method.update(method.pack(params, aux))
    expected = np.maximum(before + 10.0 * values, 0.0)
    assert (values < 0).all() and (expected == 0).any() and (expected > 0).any()
    assert method.multipliers == pytest.approx(expected)
    assert slackness == pytest.approx((np.minimum(expected, 1) * np.abs(values)).max()) and slackness > 0
    assert method.penalty == 10.0, "a feasible point"
    beyond = method.pack(params, aux + 1.0)
    assert method.update(beyond)[2] > settings.tolerance and method.penalty == 30.0, "feasible before, violated now"
    method.update(beyond)
    assert method.penalty == 90.0, "as violated as before"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wide_tolerance_returns_the_unconstrained_optimum(problem_factory, family):
    problem, *_ = problem_factory(family, kappa=1.0)
    free = minimum(problem, UnconstrainedSettings())[0].objective()
    assert evaluated_point(problem, augmented_lagrangian.solve(problem)).objective() == pytest.approx(free, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_does_not_increase_with_kappa(problem_factory, family):
    problems = [problem_factory(family, n=4000, kappa=kappa)[0] for kappa in (0.01, 0.05, 0.1, 0.3, 1.0)]
    losses = [evaluated_point(problem, augmented_lagrangian.solve(problem)).objective() for problem in problems]
    assert np.all(np.diff(losses) <= 5e-4)


def test_matching_thresholds_have_the_wanted_shares(problem_factory):
    problem, *_ = problem_factory(n=5000, kappa=0.05)
    params = minimise_loss(problem)
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
    first, second = found.records[:2]
    assert first.step == second.step == 1 and first.work < second.work
    assert first.violation < 0.5 * second.violation
    monkeypatch.setattr(augmented_lagrangian, "HALFWAY", 10**6)
    without = augmented_lagrangian.solve(problem)
    assert np.array_equal(without.params, found.params)
    assert [r.objective for r in without.records] == [r.objective for r in found.records[1:]]
