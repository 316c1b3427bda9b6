"""The three baselines as algorithms: what they apply to, and that they do what their names say."""

import dataclasses

import numpy as np
import pytest

from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.jobs.train import attempt

NAMES = ("group_auc", "inter_group", "intra_group")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return simulated.load(tmp_path_factory.mktemp("raw"), rows=1500)


def make_task(data, kappa, constraint="partial_statistical_parity"):
    split = make_split(data, 0)
    return Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint=constraint,
        interval=[[0.1, 0.4]], kappa=kappa, kappa_scale="absolute", report=lambda line: None,
    )  # fmt: skip


def surrogate(first, second):
    """Mean of (1 + s - s')^2 / 2 over all pairs."""
    return float(((1 + first[:, None] - second[None, :]) ** 2 / 2).mean())


@pytest.mark.parametrize("name", NAMES)
def test_the_fitted_model_satisfies_its_constraint_over_all_pairs(name, data):
    task = make_task(data, 0.2)
    algorithm = plugins.load("algorithms", name).ALGORITHM
    found = attempt(algorithm, task, algorithm.settings())
    scores = found.fit.model.scores(task.train.X, task.train.group)
    part = {(k, c): scores[(task.train.group == k) & (task.train.y == c)] for k in (0, 1) for c in (-1, 1)}
    whole = {k: np.concatenate([part[k, -1], part[k, 1]]) for k in (0, 1)}
    values = {
        "group_auc": [surrogate(whole[k], whole[1 - k]) - 0.5 for k in (0, 1)],
        "inter_group": [
            surrogate(part[k, 1], part[1 - k, -1]) + surrogate(part[k, -1], part[1 - k, 1]) - 1 for k in (0, 1)
        ],
        "intra_group": [
            surrogate(part[k, 1], part[k, -1]) + surrogate(part[1 - k, -1], part[1 - k, 1]) - 1 for k in (0, 1)
        ],
    }[name]
    assert found.status == "ok" and max(values) == pytest.approx(0.2, abs=1e-4), (
        "the tightest constraint must be active"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_experiments_constraint_does_not_matter(name, data):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    fits = []
    for constraint in ("partial_statistical_parity", "partial_demographic_parity"):
        task = make_task(data, 0.2, constraint)
        fits.append(algorithm.fit(task, algorithm.settings()))
        measured = measure(algorithm, task, fits[-1])
        assert measured.max_violation is not None and measured.true_violation is None
    assert np.array_equal(fits[0].model.weights, fits[1].model.weights)


@pytest.mark.parametrize("name", NAMES)
def test_a_negative_kappa_is_infeasible_with_a_reason(name, data):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    found = attempt(algorithm, make_task(data, -0.5), algorithm.settings())
    assert found.fit is None and found.status == "infeasible" and "kappa is -0.5" in found.reason


def test_a_group_with_one_class_does_not_apply(data):
    one_class = dataclasses.replace(data, y=np.where(data.group == 1, 1.0, data.y).astype(data.y.dtype))
    task = make_task(one_class, 0.2)
    for name in ("inter_group", "intra_group"):
        algorithm = plugins.load("algorithms", name).ALGORITHM
        found = attempt(algorithm, task, algorithm.settings())
        assert found.fit is None and found.status == "not_applicable" and "negative label" in found.reason
    algorithm = plugins.load("algorithms", "group_auc").ALGORITHM
    assert attempt(algorithm, task, algorithm.settings()).status == "ok"
