"""Stochastic algorithms as plug-ins: seed batches, known constants and the exact linear reference on the real table."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from papers.stochastic_benchmark.algorithms import stochastic_tasks as stochastic
from papers.stochastic_benchmark.algorithms.stochastic_run import run
from papers.stochastic_benchmark.datasets import acs_income_ok_race
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.data.checkpoint import Checkpoint
from partialfair.metrics import get
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split

NETWORK = {"hidden": [5], "uses_group": False, "steps": 40, "records": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return simulated.load(tmp_path_factory.mktemp("raw"), rows=600)


def task_of(data, seed=0, folder=None, kappa=0.02, lines=None):
    split = make_split(data, 0)
    checkpoint = None if folder is None else Checkpoint(folder / f"seed={seed}" / "checkpoint.npz", f"seed {seed}")
    if folder is not None:
        (folder / f"seed={seed}").mkdir(exist_ok=True)
    report = (lambda line: None) if lines is None else lines.append
    return Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint="loss_parity",
        interval=[[0.0, 1.0]], kappa=kappa, seed=seed, checkpoint=checkpoint, report=report,
    )  # fmt: skip


ALL = ["sgd", "sgd_fairret", "ssl_alm", "stochastic_alm", "stochastic_ghost", "stochastic_switching"]


@pytest.mark.parametrize("name", ALL)
def test_seeds_together_give_bit_for_bit_what_each_gives_alone(name, data, tmp_path):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    kappa, settings = 0.02 if algorithm.constrained else math.inf, algorithm.settings(**NETWORK)
    lines = []
    tasks = [task_of(data, seed, tmp_path, kappa, lines) for seed in (4, 3, 9)]
    together = algorithm.fit_together(tasks, settings)
    assert sum("step 40/40" in line for line in lines) == 1, "one run served all"
    for task, found in zip(tasks, together, strict=True):
        expected = algorithm.fit(dataclasses.replace(task, checkpoint=None), settings)
        assert found.model.theta.tobytes() == expected.model.theta.tobytes()
        for entry in ("steps", "rows", "points"):
            assert found.model.path[entry].tobytes() == expected.model.path[entry].tobytes()
        assert [r.objective for r in found.trace.records] == [r.objective for r in expected.trace.records]
        assert measure(algorithm, task, found).entries() == measure(algorithm, task, expected).entries()
    assert not list(tmp_path.rglob("*checkpoint*"))


def test_seeds_with_other_rows_are_fitted_one_by_one(data):
    algorithm = plugins.load("algorithms", "sgd").ALGORITHM
    lines = []
    first, second = (task_of(data, seed, None, math.inf, lines) for seed in (0, 1))
    other = dataclasses.replace(second, train=dataclasses.replace(second.train, y=-second.train.y))
    algorithm.fit_together([first, other], algorithm.settings(**NETWORK))
    assert sum("step 40/40" in line for line in lines) == 2


def test_families_that_rank_rows_do_not_apply(data):
    for name in ("ssl_alm", "stochastic_ghost", "stochastic_switching"):
        assert "ranks rows" in plugins.load("algorithms", name).ALGORITHM.applies_to("partial_group_auc", data)


# --- the real table ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(dataset):
    """The benchmark's problem with a linear score, in double precision, and the task."""
    table = dataset("acs_income_ok_race")
    split = acs_income_ok_race.split(table, 0)
    task = Task(
        train=table.take(split.train), validation=table.take(split.validation), constraint="loss_parity",
        interval=[[0.0, 1.0]], kappa=0.005, report=lambda line: None,
    )  # fmt: skip
    settings = stochastic.StochasticSettings(uses_group=False, fit_on="train_and_validation", precision="float64")
    rows = stochastic.training_rows(task, settings)
    shape = stochastic.Shape.from_task(task, settings, rows)
    return rows, stochastic.make_problem(task, settings, rows, shape)


@pytest.mark.real_data
def test_constant_scores_have_the_known_losses(real):
    rows, problem = real
    p = (rows.y > 0).mean()
    for constant, loss, difference in ((0.0, 0.69314718, 0.0), (math.log(p / (1 - p)), 0.59529428, 0.09347107)):
        x = np.zeros((1, 10))
        x[0, 0] = constant
        found = problem.evaluate(x)
        assert found.loss[0] == pytest.approx(loss, abs=1e-6)
        assert found.constraints[0, 0] + 0.005 == pytest.approx(difference, abs=1e-6)


@pytest.mark.real_data
def test_the_linear_reference(real):
    rows, problem = real

    def loss(x):
        return problem.evaluate(x[None]).loss[0], problem.gradient(x[None], None)[0]

    free = minimize(loss, np.zeros(10), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    assert free.fun == pytest.approx(0.44194391, abs=1e-6)
    assert problem.evaluate(free.x[None]).constraints[0, 0] + 0.005 == pytest.approx(0.06726341, abs=1e-5)
    scores = (problem.X @ free.x).astype(float)
    known = {"independence": 0.081593, "separation": 0.110511, "inaccuracy": 0.212865, "sufficiency": 0.129634}
    for name, value in {**known, "wasserstein_histogram": 0.007200}.items():
        assert get(name)(scores, rows.y, rows.group, None) == pytest.approx(value, abs=1e-4)

    def slsqp(start):
        bounds = {
            "type": "ineq",
            "fun": lambda x: -problem.constraints(x[None], None)[0][0],
            "jac": lambda x: -np.stack([problem.constraints(x[None], None)[1](v[None])[0] for v in np.eye(2)]),
        }
        return minimize(loss, start, jac=True, method="SLSQP", constraints=[bounds], options={"ftol": 1e-13})

    assert slsqp(np.zeros(10)).fun == pytest.approx(0.49592482, abs=1e-6)
    assert slsqp(free.x).fun == pytest.approx(0.49871126, abs=1e-5), "the second KKT point"


@pytest.mark.real_data
def test_ten_runs_of_ssl_alm_end_where_the_paper_has_them(dataset):
    table = dataset("acs_income_ok_race")
    split = acs_income_ok_race.split(table, 0)
    algorithm = plugins.load("algorithms", "ssl_alm").ALGORITHM
    settings = algorithm.settings(
        hidden=[64, 32], uses_group=False, fit_on="train_and_validation", steps=4250, records=1, cyclic=True
    )
    task = Task(
        train=table.take(split.train), validation=table.take(split.validation), constraint="loss_parity",
        interval=[[0.0, 1.0]], kappa=0.005, report=lambda line: None,
    )  # fmt: skip
    rows = stochastic.training_rows(task, settings)
    shape = stochastic.Shape.from_task(task, settings, rows)
    problem, seeds = stochastic.make_problem(task, settings, rows, shape), range(10)
    x = np.stack([shape.start(seed, problem.means) for seed in seeds]).astype("float32")
    found = run(algorithm.method(settings, rows, 10), problem, x, list(seeds), settings)
    scores = problem.score.forward(found.last, problem.X[None])[0]
    bands = {"independence": (0.054, 0.078), "separation": (0.051, 0.092), "inaccuracy": (0.210, 0.256)}
    for name, (low, high) in {**bands, "loss_difference": (-0.05, 0.04), "log_loss": (0.44, 0.52)}.items():
        assert low <= np.mean([get(name)(s, rows.y, rows.group, None) for s in scores]) <= high, name
