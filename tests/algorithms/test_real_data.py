"""Acceptance on real data (Partial fairness: IDCA against the direct solver, certificates)."""

import dataclasses

import pytest

from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.problem import linear_problem
from partialfair.metrics import evaluate_all
from reproduction.datasets.splits import make_split
from reproduction.jobs.train import attempt

pytestmark = pytest.mark.real_data


def make_task(data, constraint, interval, kappa, seed=0):
    split = make_split(data, seed)
    task = Task(
        train=data.take(split.train),
        validation=data.take(split.validation),
        constraint=constraint,
        interval=interval,
        kappa=kappa,
        kappa_scale="absolute",
        report=lambda line: None,
    )
    return task, data.take(split.test)


def fit(name, task, **settings):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    return attempt(algorithm, task, algorithm.settings(**settings))


def measured(found, rows, interval):
    scores = found.fit.model.scores(rows.X, rows.group)
    return evaluate_all(scores, rows.y, rows.group, interval, 0.0, ["accuracy", "rank_gap", "dp_gap", "positive_rate"])[
        0
    ]


def test_unconstrained_a9a(dataset):
    task, test = make_task(dataset("a9a"), "partial_statistical_parity", [[0.05, 0.3]], float("inf"))
    found = fit("unconstrained", task)
    values = measured(found, test, task.interval)
    assert values["accuracy"] == pytest.approx(0.8498, abs=0.001)
    assert values["positive_rate"] == pytest.approx(0.199, abs=0.003)
    assert found.measured.kkt_residual < 1e-5


def test_idca_comes_within_two_percent_of_the_direct_solver_on_a9a(dataset):
    task, test = make_task(dataset("a9a"), "partial_statistical_parity", [[0.05, 0.3]], 0.1)
    direct = fit("alm", task)
    tuned = fit("idca", task, inner_steps=[200], tolerances=[5e-3], tuning_rounds=50, rounds=[50])
    assert direct.measured.solved and direct.measured.max_violation <= 1e-4
    assert tuned.measured.max_violation <= 5e-3
    assert tuned.measured.objective <= 1.02 * direct.measured.objective
    assert direct.measured.objective <= tuned.measured.objective
    assert direct.measured.kkt_residual < 0.005
    assert tuned.measured.kkt_residual < 0.02
    values = measured(tuned, test, task.interval)
    assert values["accuracy"] == pytest.approx(0.8445, abs=0.01)  # published, Table 3
    assert 1 - values["rank_gap"] == pytest.approx(0.8732, abs=0.05)


def test_the_direct_solver_stops_at_complementary_slackness_alone(dataset):
    """There the gradient of the Lagrangian is small after two rounds, with a slack constraint that still pulls."""
    task, _ = make_task(dataset("a9a"), "partial_demographic_parity", [[0.05, 0.3]], 0.005, seed=2)
    found = fit("alm", task).measured
    assert found.kkt_residual < 5e-3
    assert found.objective == pytest.approx(0.34491, abs=1e-4)


@pytest.mark.parametrize("name", ["idca", "alm"])
def test_rate_constraints_keep_to_the_good_branch_on_bank(dataset, name):
    """Accepting more than beta of every group satisfies pDP too, at a loss above 0.25."""
    task, test = make_task(dataset("bank"), "partial_demographic_parity", [[0.0, 0.25]], 0.1)
    settings = {"inner_steps": [200], "tolerances": [5e-3], "tuning_rounds": 30, "rounds": [30]}
    found = fit(name, task, **(settings if name == "idca" else {}))
    assert found.measured.objective < 0.213
    assert measured(found, test, task.interval)["accuracy"] > 0.905


def test_every_certificate_is_of_the_rows_it_was_fitted_on(dataset):
    task, _ = make_task(dataset("law_school"), "partial_statistical_parity", [[0.7, 1.0]], 0.1)
    found = fit("alm", task)
    other = dataclasses.replace(task, train=task.validation)
    elsewhere = dataclasses.replace(found.fit.evaluated_point, problem=linear_problem(other))
    assert elsewhere.objective() != pytest.approx(found.measured.objective, abs=1e-4)


def test_group_thresholds_are_as_accurate_as_the_reductions_library_at_equal_parity(dataset):
    # fairlearn's ExponentiatedGradient on the same features: 0.8343 at a difference of 0.025, 0.831 at 0.006.
    # Where the loss cannot see the threshold, the direct solver reaches 0.826.
    task, test = make_task(dataset("a9a"), "partial_demographic_parity", [[0.0, 1.0]], 0.025)
    values = measured(fit("group_thresholds", task), test, task.interval)
    assert values["accuracy"] >= 0.833 and values["dp_gap"] <= 0.025
    tight = dataclasses.replace(task, kappa=0.006)
    values = measured(fit("group_thresholds", tight), test, task.interval)
    assert values["accuracy"] >= 0.830 and values["dp_gap"] <= 0.012
