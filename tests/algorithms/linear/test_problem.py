"""Values and derivatives of the training problem."""

import numpy as np
import pytest

from partialfair import plugins

FAMILIES = [name for name in plugins.names("constraints") if plugins.is_fused(name)]


def random_point(problem, seed=1):
    rng = np.random.default_rng(seed)
    return rng, 0.4 * rng.normal(size=problem.model.shape), problem.start()[1] + 0.1 * rng.normal(size=problem.n_aux)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("groups", [2, 3])
def test_kernel_values_equal_the_programs_formulas(problem_factory, family, groups):
    problem, X, y, group = problem_factory(family, groups=groups)
    _, params, aux = random_point(problem)
    effective = problem.model.effective(params)
    scores = np.einsum("ij,ij->i", X, effective[group][:, 1:]) + effective[group][:, 0]
    state = problem.state(params, aux)
    assert np.allclose(state.scores, scores[problem.design.order], atol=1e-5)
    assert np.allclose(problem.constraints(state), problem.program.values(scores, aux), atol=1e-6)
    assert problem.loss(state)[0] == pytest.approx(np.logaddexp(0, -y * scores).mean(), abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("uses_group", [True, False])
def test_gradients_agree_with_finite_differences_and_each_other(problem_factory, family, uses_group):
    problem, *_ = problem_factory(family, n=3000, uses_group=uses_group)
    rng, params, aux = random_point(problem)
    multipliers = rng.random(problem.n_constraints)
    state = problem.state(params, aux)
    _, by_params, by_aux = problem.lagrangian(state, multipliers)
    jacobian, jacobian_aux = problem.jacobian(state)
    expected = problem.loss(state)[1] + np.tensordot(multipliers, jacobian, axes=1)
    assert np.allclose(by_params, expected, atol=1e-10)
    assert np.allclose(by_aux, multipliers @ jacobian_aux, atol=1e-10)
    direction, aux_direction, step = rng.normal(size=params.shape), rng.normal(size=aux.shape), 1e-6

    def value(t):
        moved = problem.state(params + t * direction, aux + t * aux_direction)
        return problem.loss(moved)[0] + multipliers @ problem.constraints(moved)

    slope = (value(step) - value(-step)) / (2 * step)
    assert slope == pytest.approx(np.sum(by_params * direction) + by_aux @ aux_direction, rel=2e-3, abs=2e-4)


def test_true_violation_counts_rows(problem_factory):
    problem, *_ = problem_factory(kappa=0.05)
    _, params, aux = random_point(problem)
    program = problem.program
    scores = np.empty(problem.design.n_rows)
    scores[problem.design.order] = problem.scores(params)
    worst = -np.inf
    for label, t in zip(program.labels[::4], aux, strict=True):
        p = float(label.rsplit(">= ", 1)[1])
        for k in range(2):
            share = np.mean(scores[program.row_subset == k] > t)
            worst = max(worst, p - share, share - p - 0.05)
    assert problem.true_violation(params, aux) == pytest.approx(worst, abs=1e-6)
