"""The general path against the compiled one, and on problems that only it can solve."""

from dataclasses import dataclass

import numpy as np
import pytest

from partialfair import plugins
from partialfair.algorithms.general import dc_idca
from partialfair.algorithms.general.dc_problem import DCProblem
from partialfair.algorithms.general.score_functions import LinearScores
from partialfair.algorithms.linear import idca_solver as idca
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, solve, warm_start
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.idca_solver import Configuration, start_runs
from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.constraints.losses.base import evaluate
from partialfair.constraints.parts import constraints_of
from partialfair.constraints.surrogates import make
from tests.algorithms.conftest import evaluated_point

FAMILIES = plugins.names("constraints")
FUSED = [name for name in FAMILIES if plugins.is_fused(name)]
OPTIONS = {"interval": ((0.1, 0.5),), "kappa": 0.1, "grid": 5, "kappa_scale": "absolute"}


def sample(seed=0, n=600, groups=2):
    """Rows in single precision, so that both paths see the same numbers."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n).astype(np.int16)
    numeric = rng.normal(group[:, None] * 0.8, 1.0, (n, 2))
    level = rng.integers(0, 5, n)
    X = np.hstack([np.eye(5)[level][:, 1:], numeric]).astype(np.float32)
    logit = 1.2 * numeric[:, 0] - 0.7 * numeric[:, 1] + 0.3 * level - 1.0
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), 1.0, -1.0), group


def general(family, X, y, group, *, loss="logistic", surrogate="clipped_linear", score=None, rho=0.0, **options):
    n_groups = int(group.max()) + 1
    score = score or LinearScores.build(X, group, n_groups, uses_group=options.pop("uses_group", True))
    order = score.order
    program = plugins.load("constraints", family).build(group[order], y[order], **(OPTIONS | options))
    objective = plugins.load("losses", loss).build(y[order])
    return DCProblem(score, objective, constraints_of(program, make(surrogate)), rho)


def fused(family, X, y, group, uses_group=True):
    program = plugins.load("constraints", family).build(group, y, **OPTIONS)
    return LinearProblem.build(X, y, group, program=program, uses_group=uses_group)


def point(problem, seed=1):
    rng = np.random.default_rng(seed)
    return 0.4 * rng.normal(size=problem.model.shape), problem.start()[1] + 0.1 * rng.normal(size=problem.n_aux)


@pytest.mark.parametrize("uses_group", [True, False])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("family", FUSED)
def test_both_paths_have_the_same_values_and_derivatives(family, groups, uses_group):
    rows = sample(groups=groups)
    fast, slow = fused(family, *rows, uses_group=uses_group), general(family, *rows, uses_group=uses_group)
    assert np.allclose(slow.start()[0], fast.start()[0], atol=1e-12)
    assert np.allclose(slow.start()[1], fast.start()[1], atol=1e-12)
    assert slow.unit == pytest.approx(fast.unit, abs=1e-10)
    params, aux = point(fast)
    one, other = fast.state(params, aux), slow.state(params, aux)
    for found, expected in (
        (slow.loss(other)[0], fast.loss(one)[0]),
        (slow.loss(other)[1], fast.loss(one)[1]),
        (slow.constraints(other), fast.constraints(one)),
        (other.parts.convex, fast.program.convex.values(one.means)),
        (other.parts.concave, fast.program.concave.values(one.means)),
        (slow.jacobian(other)[0], fast.jacobian(one)[0]),
        (slow.jacobian(other)[1], fast.jacobian(one)[1]),
    ):
        assert np.abs(found - expected).max(initial=0) < 1e-10
    multipliers = np.random.default_rng(2).random(fast.n_constraints)
    for found, expected in zip(slow.lagrangian(other, multipliers), fast.lagrangian(one, multipliers), strict=True):
        assert np.abs(found - expected).max(initial=0) < 1e-10
    assert slow.true_violation(params, aux) == pytest.approx(fast.true_violation(params, aux), abs=1e-9)


@pytest.mark.parametrize("family", FUSED)
def test_both_paths_take_the_same_steps(family):
    """Later on, switching amplifies the rounding of the kernels' single precision."""
    rows, configuration = sample(), Configuration(30, 2e-3)
    runs = [start_runs(problem, [configuration])[0] for problem in (fused(family, *rows), general(family, *rows))]
    for run in runs:  # away from the start, where by symmetry rounding decides which constraint is the largest
        rng = np.random.default_rng(5)
        run.params = run.params + 0.05 * rng.standard_normal(run.params.shape)
        run.aux = run.aux + 0.01 * rng.standard_normal(run.aux.shape)
    idca.advance(fused(family, *rows), runs[:1], 1)
    dc_idca.advance(general(family, *rows), runs[1:], 1)
    assert np.allclose(runs[1].params, runs[0].params, atol=2e-4)
    assert np.allclose(runs[1].aux, runs[0].aux, atol=2e-4)
    for problem, advance, run in (
        (fused(family, *rows), idca.advance, runs[0]),
        (general(family, *rows), dc_idca.advance, runs[1]),
    ):
        advance(problem, [run], 40)
    assert runs[1].history[-1].objective == pytest.approx(runs[0].history[-1].objective, rel=0.01)
    assert runs[1].history[-1].violation <= 2e-3 + 1e-12


@pytest.mark.parametrize("family", FUSED)
def test_the_direct_solver_finds_the_same_point_on_both_paths(family):
    rows = sample(n=1500)
    fast, slow = fused(family, *rows), general(family, *rows)
    start = warm_start(fast, 4)[:2]
    expected, found = solve(fast), solve(slow, start=start, scaling=Scaling.at_point(fast, start[0]))
    results = evaluated_point(slow, found), evaluated_point(fast, expected)
    assert all(result.violation() <= ALMSettings().tolerance for result in results)
    losses = [result.objective() for result in results]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)


def test_runs_keep_what_the_tuning_protocol_asks_for():
    problem = general("partial_statistical_parity", *sample())
    runs = start_runs(problem, [Configuration(20, 5e-3)])
    dc_idca.advance(problem, runs, 3)
    dc_idca.advance(problem, runs, 8, keep=(3, 5, 8))
    straight = start_runs(problem, [Configuration(20, 5e-3)])
    dc_idca.advance(problem, straight, 8, keep=(5,))
    assert sorted(runs[0].checkpoints) == [3, 5, 8]
    assert np.array_equal(runs[0].checkpoints[5][0], straight[0].checkpoints[5][0])
    assert np.array_equal(runs[0].params, straight[0].params)
    stuck = start_runs(problem, [Configuration(1, 1e-9)])
    dc_idca.advance(problem, stuck, 1)
    assert stuck[0].inner_steps == 1


@dataclass(frozen=True)
class TwoLayers:
    """A small smooth non-linear score: ``c . tanh(W x) + c0``, parameters in one row."""

    X: np.ndarray
    order: np.ndarray
    hidden: int = 3

    @property
    def shape(self):
        return (1, self.hidden * self.X.shape[1] + self.hidden + 1)

    def _split(self, params):
        flat, size = params.ravel(), self.hidden * self.X.shape[1]
        return flat[:size].reshape(self.hidden, -1), flat[size:-1], flat[-1]

    def start(self, constant):
        params = 0.3 * np.random.default_rng(5).normal(size=self.shape)
        params[0, -self.hidden - 1 : -1], params[0, -1] = 0.01, constant
        return params

    def scores(self, params):
        W, c, c0 = self._split(params)
        return np.tanh(self.X @ W.T) @ c + c0

    def backward(self, params, residual):
        W, c, _ = self._split(params)
        inner = np.tanh(self.X @ W.T)
        by_inner = residual[:, None] * (1 - inner**2) * c
        return np.concatenate([(by_inner.T @ self.X).ravel(), inner.T @ residual, [residual.sum()]])[None]


def nonlinear(family, rho):
    X, y, group = sample()
    order = np.argsort(group, kind="stable")
    return general(family, X, y, group, score=TwoLayers(X[order].astype(float), order), rho=rho)


PROBLEMS = [
    *((family, "logistic", "clipped_linear", 0.0) for family in FAMILIES),
    ("partial_demographic_parity", "hinge", "logistic", 0.0),
    ("partial_statistical_parity", "partial_auc", "clipped_linear", 0.7),
    ("partial_group_auc", "quadratic", "clipped_linear", 0.3),
]


@pytest.mark.parametrize(("family", "loss", "surrogate", "rho"), PROBLEMS)
def test_majorants_touch_at_the_anchor_and_lie_above_elsewhere(family, loss, surrogate, rho):
    problem = general(family, *sample(), loss=loss, surrogate=surrogate, rho=rho)
    anchor = problem.state(*point(problem))
    at = problem.linearise(anchor)
    assert np.allclose(problem.majorants(anchor, at), problem.constraints(anchor), atol=1e-12)
    assert problem.loss_majorant(anchor, at)[0] == pytest.approx(problem.loss(anchor)[0], abs=1e-12)
    for seed in range(2, 8):
        state = problem.state(*point(problem, seed))
        assert np.all(problem.majorants(state, at) >= problem.constraints(state) - 1e-12)
        assert problem.loss_majorant(state, at)[0] >= problem.loss(state)[0] - 1e-12


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("family", ["partial_statistical_parity", "partial_group_auc"])
def test_gradients_of_a_non_linear_score_agree_with_finite_differences(family, rho):
    problem = nonlinear(family, rho)
    params, aux = problem.start()[0], problem.start()[1] + 0.1
    state = problem.state(params, aux)
    rng = np.random.default_rng(3)
    multipliers = rng.random(problem.n_constraints)
    direction, aux_direction, step = rng.normal(size=params.shape), rng.normal(size=aux.shape), 1e-6
    at = problem.linearise(problem.state(*(part + 0.01 for part in (params, aux))))

    def moved(t):
        return problem.state(params + t * direction, aux + t * aux_direction)

    def numeric(value):
        return (value(moved(step)) - value(moved(-step))) / (2 * step)

    _, by_params, by_aux = problem.lagrangian(state, multipliers)
    slope = numeric(lambda s: problem.loss(s)[0] + multipliers @ problem.constraints(s))
    assert slope == pytest.approx(np.sum(by_params * direction) + by_aux @ aux_direction, rel=1e-3, abs=1e-4)
    flat = np.concatenate([direction.ravel(), aux_direction])
    assert numeric(lambda s: problem.loss_majorant(s, at)[0]) == pytest.approx(
        problem.loss_majorant(state, at)[1] @ flat, rel=1e-3, abs=1e-4
    )
    for i in range(problem.n_constraints):
        found = problem.majorant_gradient(state, at, i) @ flat
        assert numeric(lambda s, i=i: problem.majorants(s, at)[i]) == pytest.approx(found, rel=1e-3, abs=1e-4)


def test_both_solvers_train_a_non_linear_score():
    problem = nonlinear("partial_statistical_parity", rho=0.05)
    begin = problem.loss(problem.state(*problem.start()))[0]
    runs = start_runs(problem, [Configuration(60, 2e-3)])
    dc_idca.advance(problem, runs, 15)
    last = runs[0].history[-1]
    assert last.violation <= 2e-3 + 1e-9 and last.objective < begin - 0.03
    settings = ALMSettings(rounds=12, inner_iterations=30)
    found = solve(problem, settings=settings, start=problem.start(), scaling=Scaling(np.zeros((0, 0, 0))))
    result = evaluated_point(problem, found)
    assert result.violation() <= settings.tolerance and result.objective() < begin - 0.03


@pytest.mark.parametrize(("family", "loss", "surrogate"), [(f, *rest) for f, *rest, rho in PROBLEMS if rho == 0])
def test_idca_descends_within_its_tolerance(family, loss, surrogate):
    problem = general(family, *sample(), loss=loss, surrogate=surrogate)
    runs = start_runs(problem, [Configuration(60, 2e-3)])
    dc_idca.advance(problem, runs, 15)
    losses = [record.objective for record in runs[0].history]
    assert all(record.violation <= 2e-3 + 1e-9 for record in runs[0].history)
    assert losses[-1] < losses[0] and np.isfinite(losses).all()
    certificate = certify(problem, runs[0].params, runs[0].aux, active_within=4e-3)
    assert certificate.kind == "kkt" and np.isfinite(certificate.value)


def test_a_loss_on_pairs_gets_the_intercept_it_leaves_open():
    X, y, group = sample()
    problem = general("partial_statistical_parity", X, y, group, loss="auc")
    params, aux = point(problem)
    moved, moved_aux = problem.placed(params, aux)
    before, after = problem.state(params, aux), problem.state(moved, moved_aux)
    assert problem.loss(after)[0] == pytest.approx(problem.loss(before)[0], abs=1e-12)
    assert np.allclose(problem.constraints(after), problem.constraints(before), atol=1e-12)
    assert np.mean(after.scores > 0) == pytest.approx(problem.positive_share, abs=2 / y.size)
    at_threshold = general("partial_demographic_parity", X, y, group, loss="auc")
    assert at_threshold.placed(*point(at_threshold))[0] is not None
    params, aux = point(at_threshold)
    assert at_threshold.placed(params, aux)[0] is params, "the constraint at the decision threshold would change"
    usual = general("partial_statistical_parity", X, y, group)
    assert usual.placed(params, aux)[0] is params
    assert evaluate(problem.objective, after.scores)[0] == pytest.approx(problem.loss(after)[0], abs=1e-15)
