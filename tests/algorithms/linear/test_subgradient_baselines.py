"""Regularization and SSG direct as algorithms: the penalty's meaning, the tuning protocols, the settings."""

import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError

from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear import regularization, ssg
from partialfair.algorithms.linear.subgradient import Switching, start_runs
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.errors import ConfigError

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
    problem, weight = regularization.penalised(task)
    rng = np.random.default_rng(0)
    params, aux = rng.normal(size=problem.model.shape), rng.normal(size=10)
    scores = task.linear_score(params, aux).scores(task.train.X, task.train.group)
    shares = np.array([[smoothed_share(scores[task.train.group == k], t) for t in aux] for k in (0, 1)])
    expected = np.abs(shares - (0.1 + 0.3 * np.arange(10) / 10)).max()
    assert problem.constraints(problem.state(params, aux)).max() == pytest.approx(expected, abs=1e-6)
    assert weight == pytest.approx(2 * 0.6 / 0.3)


def test_penalty_of_demographic_parity_is_that_of_the_paper(data):
    task = make_task(data, 0.6, "partial_demographic_parity")
    problem, weight = regularization.penalised(task)
    params = np.random.default_rng(0).normal(size=problem.model.shape)
    scores = task.linear_score(params, np.zeros(0)).scores(task.train.X, task.train.group)
    c = [smoothed_share(scores[task.train.group == k], 0.0) for k in (0, 1)]
    rates = [min(share, 0.4) - min(share, 0.1) for share in c]
    largest = problem.constraints(problem.state(params, np.zeros(0))).max()
    assert largest == pytest.approx(abs(rates[0] - rates[1]), abs=1e-6)
    assert weight == pytest.approx(0.6 / 0.3)


def test_a_larger_lambda_gives_a_smaller_penalty(data):
    settings = REGULARIZATION.settings_model(steps=[5e-3], tuning_steps=2000, total_steps=10_000)
    weak, strong = (REGULARIZATION.fit(make_task(data, value), settings) for value in (0.001, 1.0))
    assert strong.solution.certificate.max_violation < 0.3 * weak.solution.certificate.max_violation
    assert strong.solution.certificate.objective > weak.solution.certificate.objective


def test_step_length_is_chosen_on_validation_rows(data):
    task = make_task(data, 0.3)
    settings = REGULARIZATION.settings_model(steps=[1e-6, 5e-3], tuning_steps=1000, total_steps=2000)
    fit = REGULARIZATION.fit(task, settings)
    last = {name: records[-1] for name, records in fit.histories.items()}
    assert fit.chosen == "step=0.005" and fit.selected["step"] == 0.005
    assert {name: record.inner_steps for name, record in last.items()} == {"step=1e-06": 1000, "step=0.005": 2000}
    upside_down = dataclasses.replace(task, validation=dataclasses.replace(task.validation, y=-task.validation.y))
    assert REGULARIZATION.fit(upside_down, settings).chosen == "step=1e-06"


def test_ssg_chooses_by_loss_and_stays_within_its_tolerance(data):
    task = make_task(data, 0.1)
    settings = SSG.settings_model(static=[1e-4, 5e-3], diminishing=[0.2, 2.0], tuning_steps=1000, total_steps=3000)
    fit = SSG.fit(task, settings)
    assert set(fit.histories) == {"eps=0.0001", "eps=0.005", "eps=0.2/(t+1)", "eps=2/(t+1)"}
    at_tuning = {name: records[-1].objective for name, records in fit.histories.items() if name.startswith("eps=0.0")}
    assert fit.solution.status == "ok" and fit.chosen == "eps=0.005" == min(at_tuning, key=at_tuning.get)
    assert fit.solution.certificate.max_violation <= 5e-3 + 1e-5
    assert [record.inner_steps for record in fit.histories[fit.chosen]] == list(range(0, 3001, 250))
    assert max(records[-1].inner_steps for name, records in fit.histories.items() if name != fit.chosen) == 1000


def test_a_result_outside_the_tolerance_is_infeasible(data):
    run = start_runs(make_task(data, 0.1).problem, [Switching(diminishing=2.0)])[0]
    run.taken = 1000
    assert ssg._status(run, 0.3) == "infeasible: largest constraint value 0.3 after 1000 steps; use static tolerances"
    assert ssg._status(run, 9e-4) == "ok"
    run.remembered = (0.5, 1e-3, *run.current)
    assert ssg._status(run, 0.3) == "ok"


def test_settings_that_cannot_be_used_are_refused(data):
    with pytest.raises(ValidationError, match="total_steps"):
        REGULARIZATION.settings_model(tuning_steps=100, total_steps=50)
    with pytest.raises(ValidationError, match="total_steps"):
        SSG.settings_model(tuning_steps=100, total_steps=50)
    with pytest.raises(ValidationError, match="both empty"):
        SSG.settings_model(static=[], diminishing=[])
    with pytest.raises(ConfigError, match="lambda"):
        REGULARIZATION.fit(make_task(data, 0.0), REGULARIZATION.settings_model())
