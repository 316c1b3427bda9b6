"""Regularization and SSG direct as algorithms: the penalty's meaning, the tuning protocols, the settings."""

import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError

from papers.partial_fairness.algorithms import regularization, ssg
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear import idca
from partialfair.algorithms.linear.problem import linear_problem, score_at
from partialfair.algorithms.measure import measure
from partialfair.errors import ConfigError
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.jobs.train import attempt

INTERVAL = [[0.1, 0.4]]
REGULARIZATION, SSG = regularization.ALGORITHM, ssg.ALGORITHM


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return simulated.load(tmp_path_factory.mktemp("raw"), rows=1500)


def make_task(data, kappa, constraint="partial_statistical_parity"):
    split = make_split(data, 0)
    return Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint=constraint,
        interval=INTERVAL, kappa=kappa, kappa_scale="absolute", report=lambda line: None,
    )  # fmt: skip


def smoothed_share(scores, threshold):
    return np.clip(scores - threshold + 0.5, 0, 1).mean()


def test_penalty_of_statistical_parity_is_that_of_the_paper(data):
    task = make_task(data, 0.6)
    problem = regularization.penalised(task)
    rng = np.random.default_rng(0)
    params, aux = rng.normal(size=problem.model.shape), rng.normal(size=10)
    scores = score_at(task, params).scores(task.train.X, task.train.group)
    shares = np.array([[smoothed_share(scores[task.train.group == k], t) for t in aux] for k in (0, 1)])
    expected = np.abs(shares - (0.1 + 0.3 * np.arange(10) / 10)).max()
    assert problem.constraints(problem.state(params, aux)).max() == pytest.approx(expected, abs=1e-6)
    assert regularization.penalty_weight(task, problem, "printed") == pytest.approx(2 * 0.6 / 0.3)


def test_penalty_of_demographic_parity_is_that_of_the_paper(data):
    task = make_task(data, 0.6, "partial_demographic_parity")
    problem = regularization.penalised(task)
    params = np.random.default_rng(0).normal(size=problem.model.shape)
    scores = score_at(task, params).scores(task.train.X, task.train.group)
    c = [smoothed_share(scores[task.train.group == k], 0.0) for k in (0, 1)]
    rates = [min(share, 0.4) - min(share, 0.1) for share in c]
    largest = problem.constraints(problem.state(params, np.zeros(0))).max()
    assert largest == pytest.approx(abs(rates[0] - rates[1]), abs=1e-6)
    assert regularization.penalty_weight(task, problem, "printed") == pytest.approx(0.6 / 0.3)


@pytest.mark.parametrize(("scale", "expected"), [("absolute", 0.6), ("relative", 2 * 0.6 / 0.3)])
def test_the_weight_is_lambda_where_ranks_are_not_divided_by_the_length(data, scale, expected):
    task = dataclasses.replace(make_task(data, 0.6), kappa_scale=scale)
    problem = regularization.penalised(task)
    assert regularization.penalty_weight(task, problem) == pytest.approx(expected)
    settings = REGULARIZATION.settings(steps=[5e-3], tuning_steps=1000, total_steps=1000)
    assert REGULARIZATION.fit(task, settings).chosen["weight"] == pytest.approx(expected)


def test_a_larger_lambda_gives_a_smaller_penalty(data):
    settings = REGULARIZATION.settings(steps=[5e-3], tuning_steps=2000, total_steps=10_000)
    weak, strong = (attempt(REGULARIZATION, make_task(data, value), settings).measured for value in (0.001, 1.0))
    assert strong.max_violation < 0.3 * weak.max_violation and strong.objective > weak.objective
    assert strong.status == "ok" and strong.true_violation is None, "a weight promises no violation"


def test_step_length_is_chosen_on_validation_rows(data):
    task = make_task(data, 0.3)
    settings = REGULARIZATION.settings(steps=[1e-6, 5e-3], tuning_steps=1000, total_steps=2000)
    fit = REGULARIZATION.fit(task, settings)
    last = {name: records[-1] for name, records in fit.trace.candidates.items()}
    assert fit.trace.result == "step=0.005" and fit.chosen["step"] == 0.005
    assert {name: record.work for name, record in last.items()} == {"step=1e-06": 1000, "step=0.005": 2000}
    upside_down = dataclasses.replace(task, validation=dataclasses.replace(task.validation, y=-task.validation.y))
    assert REGULARIZATION.fit(upside_down, settings).trace.result == "step=1e-06"


def test_ssg_chooses_by_loss_and_stays_within_its_tolerance(data):
    task = make_task(data, 0.1)
    settings = SSG.settings(
        static=[1e-4, 5e-3], diminishing=[0.2, 2.0], tuning_steps=1000, total_steps=3000,
        selection="feasible_first", start="feasible",
    )  # fmt: skip
    fit = SSG.fit(task, settings)
    assert set(fit.trace.candidates) == {"eps=0.0001", "eps=0.005", "eps=0.2/(t+1)", "eps=2/(t+1)"}
    at_tuning = {
        name: records[-1].objective for name, records in fit.trace.candidates.items() if name.startswith("eps=0.0")
    }
    assert fit.trace.result == "eps=0.005" == min(at_tuning, key=at_tuning.get)
    measured = measure(SSG, task, fit)
    assert measured.solved and measured.max_violation <= 5e-3 + 1e-5
    assert [record.work for record in fit.trace.records] == list(range(0, 3001, 250))
    assert max(records[-1].work for name, records in fit.trace.candidates.items() if name != fit.trace.result) == 1000


def test_feasible_first_never_prefers_a_candidate_outside_its_own_tolerance(data):
    """After 70 steps the smaller tolerance has overtaken the best point of the second, and no other is within yet."""
    settings = SSG.settings(
        static=[5e-3], diminishing=[2.0], tuning_steps=70, total_steps=70, selection="feasible_first", start="feasible"
    )
    fit = SSG.fit(make_task(data, 0.1), settings)
    last = {name: records[-1] for name, records in fit.trace.candidates.items()}
    assert last["eps=2/(t+1)"].objective < last["eps=0.005"].objective
    assert last["eps=2/(t+1)"].violation > 2 / 70
    assert fit.trace.result == "eps=0.005"


def test_the_printed_selection_takes_the_smallest_objective_feasible_or_not(data):
    """Appendix G.7: "the smallest objective value at termination"; the infeasible candidate of the test above wins."""
    settings = SSG.settings(
        static=[5e-3], diminishing=[2.0], tuning_steps=70, total_steps=70, selection="printed", start="feasible"
    )
    assert SSG.settings().selection == "printed"
    fit = SSG.fit(make_task(data, 0.1), settings)
    assert fit.trace.result == "eps=2/(t+1)" and fit.trace.records[-1].violation > 2 / 70


@pytest.mark.parametrize("algorithm", [SSG, idca.ALGORITHM])
def test_a_start_at_zero_has_the_loss_and_the_constraints_of_zero(data, algorithm):
    """At w = 0, thresholds included, scores are 0 and the loss is log 2; the feasible start is another point."""
    task = make_task(data, 0.1)
    problem = linear_problem(task)
    zero = problem.state(np.zeros(problem.model.shape), np.zeros(problem.n_aux))
    short = (
        {"static": [1e-3], "diminishing": [], "tuning_steps": 1, "total_steps": 1}
        if algorithm is SSG
        else {"inner_steps": [1], "tolerances": [1e-3], "tuning_rounds": 1, "rounds": [1]}
    )
    first = {
        start: algorithm.fit(task, algorithm.settings(**short, start=start)).trace.records[0].violation
        for start in ("zero", "feasible")
    }
    assert first["zero"] == pytest.approx(float(problem.constraints(zero).max()), abs=1e-6)
    assert first["feasible"] <= 1e-6 < 0.05 < first["zero"]
    assert SSG.settings().start == "zero"


def test_a_result_outside_what_the_method_accepts_misses_the_tolerance(data):
    task = make_task(data, 0.1)
    settings = SSG.settings(static=[5e-3], diminishing=[], tuning_steps=1000, total_steps=1000, start="feasible")
    fit = SSG.fit(task, settings)
    assert fit.evaluated_point.accepted == pytest.approx(5e-3, abs=2e-5)
    moved = dataclasses.replace(fit.evaluated_point, aux=fit.evaluated_point.aux + 1.0)
    found = measure(SSG, task, dataclasses.replace(fit, evaluated_point=moved))
    assert found.status == "tolerance missed" and "use static tolerances" in found.reason
    assert f"{found.max_violation:.2g}, accepted 0.005" in found.reason


def test_settings_that_cannot_be_used_are_refused(data):
    with pytest.raises(ValidationError, match="total_steps"):
        REGULARIZATION.settings(tuning_steps=100, total_steps=50)
    with pytest.raises(ValidationError, match="total_steps"):
        SSG.settings(tuning_steps=100, total_steps=50)
    with pytest.raises(ValidationError, match="both empty"):
        SSG.settings(static=[], diminishing=[])
    with pytest.raises(ConfigError, match="lambda"):
        REGULARIZATION.fit(make_task(data, 0.0), REGULARIZATION.settings())
