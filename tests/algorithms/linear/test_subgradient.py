"""The subgradient kernel against a plain NumPy loop, lanes, continuation, and the penalty's certificate."""

import numpy as np
import pytest

from papers.partial_fairness.algorithms.subgradient import Penalty, Switching, advance, certify_penalty, start_runs
from partialfair.algorithms.linear.newton import minimise_loss

FAMILIES = ("partial_statistical_parity", "partial_demographic_parity", "partial_equalized_odds")


def random_start(problem, run):
    """A start without the ties between constraints that the symmetric one has; rounding would decide those."""
    rng = np.random.default_rng(11)
    params, aux = problem.start()
    run.current = 0.3 * rng.normal(size=params.shape), aux + 0.1 * rng.normal(size=aux.shape)


def plain_loop(problem, X, y, group, rule, point, steps):
    """The method as the paper writes it, on the paper's own parameters; returns the iterate and the best point."""
    program, model = problem.program, problem.model
    params, aux = point
    best = (np.inf, np.inf, params, aux)
    for t in range(steps):
        u = model.effective(params)
        scores = u[group, 0] + np.einsum("ij,ij->i", X, u[group, 1:])
        values = program.values(scores, aux)
        i = int(values.argmax())
        loss_rows = -y / (1 + np.exp(y * scores)) / y.size
        unit = np.eye(values.size)[i]
        constraint_rows, by_aux = program.vjp(scores, aux, unit)
        if isinstance(rule, Penalty):
            rows, by_aux, length = loss_rows + rule.weight * constraint_rows, rule.weight * by_aux, rule.step
        elif values[i] <= rule.tolerance(t):
            eps, loss = rule.tolerance(t), np.logaddexp(0, -y * scores).mean()
            if loss < best[0] or best[1] > eps:
                best = (loss, values[i], params.copy(), aux.copy())
            rows, by_aux, length = loss_rows, np.zeros(aux.size), eps
        else:
            rows, length = constraint_rows, values[i]
        by_group = np.array(
            [rows[group == g] @ np.hstack([np.ones((sum(group == g), 1)), X[group == g]]) for g in (0, 1)]
        )
        direction = model.fold(by_group)
        if isinstance(rule, Switching):
            length /= (direction**2).sum() + (by_aux**2).sum()
        params, aux = params - length * direction, aux - length * by_aux
    return params, aux, best


RULES = [Penalty(2.0, 0.05), Penalty(0.1, 0.2), Switching(static=0.01), Switching(static=0.002), Switching(0.0, 0.05)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("together", [True, False])
def test_kernel_equals_the_plain_loop(family, together, problem_factory):
    problem, X, y, group = problem_factory(family)
    runs = start_runs(problem, RULES)
    for run in runs:
        random_start(problem, run)
    start = runs[0].current
    for batch in [runs] if together else [[run] for run in runs]:
        advance(problem, batch, 30, every=7)
    for run in runs:
        params, aux, best = plain_loop(problem, X, y, group, run.rule, start, 30)
        assert run.taken == 30 and [record.work for record in run.history] == [0, 7, 14, 21, 28, 30]
        assert np.abs(params - start[0]).max() > 1e-2, "the run did not move"
        assert run.current[0] == pytest.approx(params, abs=1e-3) and run.current[1] == pytest.approx(aux, abs=1e-3)
        if isinstance(run.rule, Switching) and np.isfinite(best[0]):
            assert run.remembered[0] == pytest.approx(best[0], abs=1e-4)
            assert run.remembered[1] == pytest.approx(best[1], abs=1e-4)


def test_a_continued_run_equals_an_uninterrupted_one(problem_factory):
    problem = problem_factory()[0]
    once, twice = (start_runs(problem, RULES) for _ in range(2))
    advance(problem, once, 200)
    advance(problem, twice, 90)
    advance(problem, twice, 200)
    for a, b in zip(once, twice, strict=True):
        assert np.array_equal(a.current[0], b.current[0]) and np.array_equal(a.result[0], b.result[0])
        assert a.history[-1] == b.history[-1] or a.history[-1].objective == b.history[-1].objective


def test_a_switching_result_is_within_its_tolerance_and_improves(problem_factory):
    problem = problem_factory(kappa=0.2)[0]
    run = start_runs(problem, [Switching(static=2e-3)])[0]
    advance(problem, [run], 4000, every=500)
    losses = [record.objective for record in run.history]
    assert run.settled and all(record.violation <= 2e-3 + 1e-5 for record in run.history)
    assert np.all(np.diff(losses) <= 1e-6) and losses[-1] < losses[0] - 0.05


def test_an_overtaken_point_is_not_settled(problem_factory):
    problem = problem_factory()[0]
    run = start_runs(problem, [Switching(static=0.01)])[0]
    advance(problem, [run], 50)
    assert run.settled
    run.rule = Switching(static=run.remembered[1] / 2 - 1e-6)
    assert not run.settled


def test_the_penalty_presses_down_the_largest_constraint(problem_factory):
    problem = problem_factory(kappa=np.finfo(float).tiny, interval=((0.1, 0.5),))[0]
    runs = start_runs(problem, [Penalty(0.02, 0.05), Penalty(5.0, 0.005)])
    advance(problem, runs, 5000)
    weak, strong = (run.history[-1] for run in runs)
    assert strong.violation < 0.3 * weak.violation and strong.objective > weak.objective


def test_penalty_certificate(problem_factory):
    problem = problem_factory(kappa=np.finfo(float).tiny)[0]
    params = minimise_loss(problem, tolerance=1e-14)
    aux = problem.start()[1]
    small = certify_penalty(problem, params, aux, 1e-9)
    assert small.value < 1e-4 and small.multipliers.sum() == pytest.approx(1e-9, rel=1e-3)
    large = certify_penalty(problem, params, aux, 2.0)
    assert large.multipliers.sum() == pytest.approx(2.0, rel=1e-3) and large.multipliers.min() >= 0
    assert large.value > 0.1, "the unconstrained optimum is not optimal for the penalised loss"
