"""The problem on a device against the compiled kernels, on PyTorch's CPU device."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from partialfair import plugins  # noqa: E402
from partialfair.algorithms.contract import Task  # noqa: E402
from partialfair.algorithms.linear import augmented_lagrangian  # noqa: E402
from partialfair.algorithms.linear.certificate import LinearPoint  # noqa: E402
from partialfair.algorithms.linear.problem import LinearProblem, linear_problem  # noqa: E402
from partialfair.algorithms.linear.torch_problem import TorchProblem  # noqa: E402
from partialfair.errors import ConfigError  # noqa: E402
from partialfair.estimators import PartialFairClassifier  # noqa: E402
from partialfair.estimators.on_device import on_device, placement  # noqa: E402
from partialfair.models.features import Standardiser  # noqa: E402
from reproduction.datasets import simulated  # noqa: E402

FAMILIES = ("partial_statistical_parity", "partial_demographic_parity", "partial_equalized_odds")


def build(family: str, uses_group: bool = True, rows: int = 900) -> LinearProblem:
    """Numeric and one-hot columns, three groups."""
    rng = np.random.default_rng(3)
    data = simulated.load(rows=rows)
    kind = (rng.integers(5, size=rows)[:, None] == np.arange(5)).astype(float)
    X = np.hstack([np.asarray(data.X), kind])
    numeric = np.arange(data.X.shape[1])
    group = rng.integers(3, size=rows)
    program = plugins.load("constraints", family).build(
        group, data.y, interval=[[0.1, 0.4]], kappa=0.05, grid=4, kappa_scale="absolute"
    )
    return LinearProblem.build(
        X, data.y, group, program=program, standardiser=Standardiser.fit(X, numeric), uses_group=uses_group
    )


@pytest.fixture(params=FAMILIES)
def pair(request) -> tuple[LinearProblem, TorchProblem]:
    problem = build(request.param)
    return problem, TorchProblem.on_device(problem, "cpu")


def point(problem: LinearProblem) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    params, aux = problem.start()
    return params + 0.3 * rng.normal(size=params.shape), aux + 0.1 * rng.normal(size=aux.shape)


def close(found, wanted, rtol=1e-11):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


def agree(problem: LinearProblem, twin: TorchProblem) -> None:
    """Values and derivatives at one point are those of the compiled kernels."""
    state, other = (one.state(*point(problem)) for one in (problem, twin))
    close(other.scores.cpu().numpy(), state.scores)
    close(other.means, state.means)
    close(twin.constraints(other), problem.constraints(state))
    multipliers = np.random.default_rng(1).random(problem.n_constraints)
    for found, wanted in zip(twin.lagrangian(other, multipliers), problem.lagrangian(state, multipliers), strict=True):
        close(found, wanted)
    for found, wanted in zip(twin.loss(other), problem.loss(state), strict=True):
        close(found, wanted)
    for found, wanted in zip(twin.jacobian(other), problem.jacobian(state), strict=True):
        close(found, wanted)


def test_values_and_derivatives_agree_to_1e_11(pair):
    problem, twin = pair
    agree(problem, twin)
    assert twin.unit == pytest.approx(problem.unit, rel=1e-11)
    # The violation is a difference of means of about 1e6 (the steepness), each of which is rounded to about 1e-10.
    assert twin.true_violation(*point(problem)) == pytest.approx(problem.true_violation(*point(problem)), abs=1e-9)


def test_adjoint_is_the_transpose_of_the_scores(pair):
    _, twin = pair
    rng = np.random.default_rng(2)
    weights = torch.as_tensor(rng.normal(size=(2, twin.rows.n_groups, twin.rows.X.shape[1])))
    residual = torch.as_tensor(rng.normal(size=(2, len(twin.rows.X))))
    close(
        (twin.rows.forward(weights) * residual).sum().item(),
        (twin.rows.adjoint(residual) * weights).sum().item(),
        1e-10,
    )


def test_blocks_of_rows_change_nothing(pair, monkeypatch):
    _, twin = pair
    whole = twin.lagrangian(twin.state(*point(twin)), np.full(twin.n_constraints, 0.2))
    monkeypatch.setattr("partialfair.algorithms.linear.torch_problem.ENTRIES", 37 * twin.rows.X.shape[1])
    parts = twin.lagrangian(twin.state(*point(twin)), np.full(twin.n_constraints, 0.2))
    for found, wanted in zip(parts, whole, strict=True):
        close(found, wanted, 1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_direct_solver_finds_the_same_model(family):
    problem = build(family)
    solutions = [augmented_lagrangian.solve(one) for one in (problem, TorchProblem.on_device(problem, "cpu"))]
    wanted, found = (LinearPoint(problem, one.params, one.aux) for one in solutions)
    assert found.objective() == pytest.approx(wanted.objective(), abs=1e-4)
    assert found.violation() <= 1e-4 and wanted.violation() <= 1e-4


def test_a_missing_device_is_a_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="no CUDA device"):
        TorchProblem.on_device(build(FAMILIES[0]), "cuda")


def test_a_task_on_a_device_is_solved_there():
    data = simulated.load(rows=600)
    none = data.take(np.zeros(0, int))
    algorithm = plugins.load("algorithms", "alm").ALGORITHM
    options = {"kappa_scale": "absolute", "report": lambda line: None}
    tasks = [
        Task(data, none, FAMILIES[0], [[0.1, 0.4]], 0.1, **options, place=place) for place in (None, on_device("cpu"))
    ]
    one, other = (algorithm.fit(task, algorithm.settings()).evaluated_point for task in tasks)
    assert isinstance(other.problem, TorchProblem) and not isinstance(one.problem, TorchProblem)
    assert other.objective() == pytest.approx(one.objective(), abs=1e-4)
    assert other.violation() <= 1e-4
    assert linear_problem(tasks[1]) is linear_problem(tasks[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "device is 'gpu'; choose from auto, cpu, cuda"),
        ({"device": "cuda", "solver": "idca"}, "solver='idca' runs on the CPU only"),
        ({"device": "cuda", "solver": "alm", "constraint": "partial_group_auc"}, "constraint runs on the CPU only"),
    ],
)
def test_what_does_not_run_on_a_device_is_a_sentence(options, message):
    data = simulated.load(rows=400)
    with pytest.raises(ValueError, match=message):
        PartialFairClassifier(**options).fit(data.X, data.y, sensitive_features=data.group)


def test_auto_falls_back_to_the_compiled_kernels(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert placement("auto", "alm", True) is None
    with pytest.raises(ConfigError, match="no CUDA device"):
        placement("cuda", "alm", True)
