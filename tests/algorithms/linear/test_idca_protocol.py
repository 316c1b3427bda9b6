"""The tuning protocol of IDCA by its outcome: what is returned is the best on validation rows, of what was tried."""

import dataclasses

import numpy as np
import pytest

from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.problem import linear_problem, score_at
from partialfair.algorithms.tuning import accuracy
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split

IDCA = plugins.load("algorithms", "idca").ALGORITHM
TUNING_ROUNDS, ROUNDS = 3, [3, 5, 8, 12, 16, 20]


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    data = simulated.load(tmp_path_factory.mktemp("raw"), rows=1500)
    split = make_split(data, 0)
    return Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint="partial_statistical_parity",
        interval=((0.1, 0.4),), kappa=0.05, kappa_scale="absolute", report=lambda line: None,
    )  # fmt: skip


def fit(task, **changes):
    settings = {"inner_steps": [5, 40], "tolerances": [1e-3, 2e-2], "tuning_rounds": TUNING_ROUNDS, "rounds": ROUNDS}
    return IDCA.fit(task, IDCA.settings(**settings | changes))


def iterate(records, rounds):
    """The record of the iterate after so many rounds: the last one that moved it."""
    return [record for record in records if record.step <= rounds][-1]


def ranked(task, records):
    """Validation accuracy, largest first, and violation of records, as the protocol orders them."""
    return [(-accuracy(score_at(task, record.point[0]), task.validation), record.violation) for record in records]


def mirrored(task):
    """The same training rows, and validation rows on which the worst model is the best one."""
    return dataclasses.replace(task, validation=dataclasses.replace(task.validation, y=-task.validation.y))


@pytest.mark.parametrize("turn", [lambda task: task, mirrored])
def test_the_pair_that_goes_on_is_the_best_on_validation_rows(task, turn):
    task = turn(task)
    found = fit(task)
    qualities = {
        name: ranked(task, [iterate(records, TUNING_ROUNDS)])[0] for name, records in found.trace.candidates.items()
    }
    assert len(qualities) == 4 and len({quality[0] for quality in qualities.values()}) > 1, "they differ"
    assert found.trace.result == min(qualities, key=qualities.get)
    assert found.trace.result == f"T={found.chosen['inner_steps']} eps={found.chosen['tolerance']:g}"


@pytest.mark.parametrize("turn", [lambda task: task, mirrored])
def test_the_checkpoint_that_is_returned_is_the_best_on_validation_rows(task, turn):
    task = turn(task)
    found = fit(task)
    records = [iterate(found.trace.records, rounds) for rounds in ROUNDS]
    qualities = ranked(task, records)
    best = qualities.index(min(qualities))
    assert min(qualities)[0] < max(qualities)[0], "they differ"
    assert found.chosen["rounds"] == ROUNDS[best]
    assert found.chosen["validation_accuracy"] == -qualities[best][0]
    assert np.array_equal(found.model.weights, score_at(task, records[best].point[0]).weights)
    assert np.array_equal(found.evaluated_point.params, records[best].point[0]), "what is measured is what is returned"


def test_training_rows_choose_nothing(task):
    """The two validation sets have the same training rows; each gets a model of its own."""
    one, other = fit(task), fit(mirrored(task))
    assert one.chosen["validation_accuracy"] > 0.5 and other.chosen["validation_accuracy"] < 0.5
    assert not np.array_equal(one.model.weights, other.model.weights)


def test_equally_accurate_checkpoints_give_way_to_the_one_that_violates_less(task):
    row = task.validation.take(np.array([0]))
    found = fit(dataclasses.replace(task, validation=row))
    records = [iterate(found.trace.records, rounds) for rounds in ROUNDS]
    qualities = ranked(dataclasses.replace(task, validation=row), records)
    tied = [quality for quality in qualities if quality[0] == min(qualities)[0]]
    assert len({violation for _, violation in tied}) > 1, "several are as accurate, and differ in their violation"
    assert found.evaluated_point.violation() == pytest.approx(min(violation for _, violation in tied))


def test_a_residual_is_counted_in_gradients_of_the_loss_at_zero(task):
    problem = linear_problem(task)
    start = problem.start()
    gradient = problem.loss(problem.state(np.zeros(problem.model.shape), start[1]))[1]
    free = dataclasses.replace(task, kappa=np.inf)
    unconstrained = linear_problem(free)
    residual = certify(unconstrained, np.zeros(unconstrained.model.shape), np.zeros(0)).value
    assert residual == pytest.approx(1.0), "all of the gradient is left there"
    params = np.full(problem.model.shape, 0.01)
    left = np.linalg.norm(unconstrained.loss(unconstrained.state(params, np.zeros(0)))[1])
    assert certify(unconstrained, params, np.zeros(0)).value == pytest.approx(left / np.linalg.norm(gradient))
