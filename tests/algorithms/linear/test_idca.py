"""IDCA against the plain loop, and its guarantees."""

import numpy as np
import pytest

from partialfair.algorithms.linear import idca_solver
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.idca_solver import Configuration, advance, start_runs
from tests.benchmarks.naive_idca import NaivePSP

CONFIGURATIONS = [Configuration(20, 5e-3), Configuration(30, 2e-3), Configuration(20, 1e-3), Configuration(10, 2e-2)]


def run(problem, configurations, rounds, keep=()):
    runs = start_runs(problem, configurations)
    advance(problem, runs, rounds, keep=keep)
    return runs


def test_one_round_equals_the_plain_loop(problem_factory):
    problem, X, y, group = problem_factory()
    naive = NaivePSP(X, y, group, 0.1 + 0.08 * np.arange(5), 0.1)
    params, aux = naive.idca(30, 2e-3, 1)
    found = run(problem, [Configuration(30, 2e-3)], 1)[0]
    assert np.allclose(found.params, params, atol=2e-4)
    assert np.allclose(found.aux, aux, atol=2e-4)


def test_after_many_rounds_the_plain_loop_has_the_same_loss(problem_factory):
    """Switching amplifies rounding, so iterates part in time; what they reach does not."""
    problem, X, y, group = problem_factory()
    naive = NaivePSP(X, y, group, 0.1 + 0.08 * np.arange(5), 0.1)
    params, _ = naive.idca(30, 5e-3, 30)
    found = run(problem, [Configuration(30, 5e-3)], 30)[0]
    assert found.history[-1].objective == pytest.approx(naive.loss(naive.scores(params))[0], rel=0.01)


def test_every_round_takes_all_its_steps(problem_factory, monkeypatch):
    problem, *_ = problem_factory()
    taken, steps = [], idca_solver.switching_steps
    monkeypatch.setattr(idca_solver, "switching_steps", lambda *given: (taken.append(given[-3]), steps(*given)))
    found = run(problem, [Configuration(20, 5e-3)], 3)[0]
    assert sum(taken) == 60 == found.inner_steps


def test_columns_of_a_batch_equal_single_runs(problem_factory):
    problem, *_ = problem_factory()
    for batched, single in zip(
        run(problem, CONFIGURATIONS, 2), [run(problem, [c], 2)[0] for c in CONFIGURATIONS], strict=True
    ):
        assert np.allclose(batched.params, single.params, atol=1e-3)
        assert batched.inner_steps == single.inner_steps


@pytest.mark.parametrize("family", ["partial_statistical_parity", "partial_demographic_parity"])
def test_every_iterate_is_feasible_within_its_tolerance(problem_factory, family):
    problem, *_ = problem_factory(family, interval=((0.0, 0.4),))
    for found, _ in zip(run(problem, CONFIGURATIONS, 15), CONFIGURATIONS, strict=True):
        assert all(record.violation <= found.configuration.tolerance + 1e-5 for record in found.history)
        assert found.history[-1].objective < found.history[0].objective


def test_a_fixed_point_is_what_all_further_rounds_would_give(problem_factory):
    problem, *_ = problem_factory()
    found = run(problem, [Configuration(10, 2e-2)], 400, keep=(200, 400))[0]
    assert found.fixed and found.round < 400
    again = run(problem, [Configuration(10, 2e-2)], found.round - 1)[0]
    again.fixed = False
    advance(problem, [again], found.round + 5)
    assert np.array_equal(again.params, found.params)
    assert np.array_equal(found.checkpoints[200][0], found.checkpoints[400][0])


def test_a_run_continued_equals_a_run_uninterrupted(problem_factory):
    problem, *_ = problem_factory()
    straight = run(problem, [Configuration(20, 5e-3)], 8)[0]
    parted = run(problem, [Configuration(20, 5e-3)], 3)
    advance(problem, parted, 8)
    assert np.array_equal(straight.params, parted[0].params)
    assert [r.objective for r in straight.history] == [r.objective for r in parted[0].history]


def test_two_runs_are_identical(problem_factory):
    first, second = (run(problem_factory()[0], CONFIGURATIONS, 5) for _ in range(2))
    assert all(np.array_equal(a.params, b.params) for a, b in zip(first, second, strict=True))


def test_the_certificate_names_active_constraints_only(problem_factory):
    problem, *_ = problem_factory(kappa=0.02)
    found = run(problem, [Configuration(60, 1e-3)], 120)[0]
    certificate = certify(problem, found.params, found.aux, active_within=5e-3)
    values = problem.constraints(problem.state(found.params, found.aux))
    assert np.all(certificate.multipliers >= 0)
    assert np.all(certificate.multipliers[values < -5e-3] == 0)
    assert certificate.multipliers.max() > 0
    assert certificate.kind == "kkt" and certificate.value < 0.05


def test_a_column_is_the_same_whatever_is_computed_beside_it(problem_factory):
    """Eleven runs of three slacks share eight columns, each taking the place of one that is done."""
    problems = [problem_factory(kappa=kappa)[0] for kappa in (0.05, 0.1, 0.3)]
    ends = [Configuration(10, 2e-2), Configuration(20, 5e-3), Configuration(30, 2e-3), Configuration(20, 1e-3)]
    pairs = [(problem, one) for problem in problems for one in ends][:11]
    alone = [start_runs(problem, [one])[0] for problem, one in pairs]
    for (problem, _), single in zip(pairs, alone, strict=True):
        advance(problem, [single], 6, keep=(3,), lanes=8)
    together = [start_runs(problem, [one])[0] for problem, one in pairs]
    advance([problem for problem, _ in pairs], together, 6, keep=(3,), lanes=8)
    assert len({single.params.tobytes() for single in alone}) == len(alone)
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one.params, other.params) and np.array_equal(one.aux, other.aux)
        assert (one.round, one.inner_steps, one.fixed) == (other.round, other.inner_steps, other.fixed)
        assert [r.objective for r in one.history] == [r.objective for r in other.history]
        assert np.array_equal(one.checkpoints[3][0], other.checkpoints[3][0])
