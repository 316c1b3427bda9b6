"""The problem on a device against the compiled kernels, on PyTorch's CPU device."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from partialfair import plugins  # noqa: E402
from partialfair.algorithms.contract import Task  # noqa: E402
from partialfair.algorithms.linear import augmented_lagrangian  # noqa: E402
from partialfair.algorithms.linear.certificate import LinearPoint  # noqa: E402
from partialfair.algorithms.linear.problem import LinearProblem, linear_problem  # noqa: E402
from partialfair.algorithms.linear.torch_problem import TILE, TorchProblem, TorchRows, fetched  # noqa: E402
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


# Products are in float32: an entry is wrong by a millionth of the largest.
BOUND = 2e-6


def close(found, wanted, rtol=BOUND):
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


def test_values_and_derivatives_agree_to_two_millionths(pair):
    problem, twin = pair
    agree(problem, twin)
    assert twin.unit == pytest.approx(problem.unit, rel=BOUND)
    # The violation is a difference of means of about 1e6 (the steepness), each of which is rounded to about 1e-10.
    assert twin.true_violation(*point(problem)) == pytest.approx(problem.true_violation(*point(problem)), abs=1e-9)


def test_adjoint_is_the_transpose_of_the_scores(pair):
    _, twin = pair
    rng = np.random.default_rng(2)
    weights = torch.as_tensor(rng.normal(size=(2, twin.rows.n_groups, twin.rows.X.shape[1])))
    residual = torch.as_tensor(rng.normal(size=(2, len(twin.rows.X))))
    products = twin.rows.forward(weights) * residual
    assert (twin.rows.adjoint(residual) * weights).sum().item() == pytest.approx(
        products.sum().item(), abs=1e-7 * products.abs().sum().item()
    )


def test_blocks_of_rows_change_nothing(pair, monkeypatch):
    _, twin = pair
    whole = twin.lagrangian(twin.state(*point(twin)), np.full(twin.n_constraints, 0.2))
    monkeypatch.setattr("partialfair.algorithms.linear.torch_problem.ENTRIES", 37 * twin.rows.X.shape[1])
    parts = twin.lagrangian(twin.state(*point(twin)), np.full(twin.n_constraints, 0.2))
    for found, wanted in zip(parts, whole, strict=True):
        close(found, wanted, 1e-10)


class Wide(TorchDispatchMode):
    """Notes every float64 tensor with as many columns as the rows have, and more rows than a tile."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.columns, self.seen = columns, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        double = isinstance(out, torch.Tensor) and out.dtype == torch.float64
        if double and out.shape[-1:] == (self.columns,) and out.numel() > TILE * self.columns:
            self.seen.append((str(func), tuple(out.shape)))
        return out


@pytest.mark.parametrize("family", FAMILIES)
def test_no_pass_converts_the_rows_to_double_precision(family):
    problem = build(family, rows=5000)
    twin = TorchProblem.on_device(problem, "cpu")
    twin.state(*point(twin))  # the rows are laid out when they are first asked for
    with Wide(twin.rows.X.shape[1]) as wide:
        agree(problem, twin)
    assert twin.rows.X.dtype == torch.float32 and wide.seen == []


def test_a_converted_pass_would_be_noticed():
    with Wide(8) as wide:
        torch.zeros(2 * TILE, 8).double()
    assert len(wide.seen) == 1


def test_sums_over_rows_are_in_double_precision():
    """Equal entries round to the same side in float32: over all rows at once the sum is off by a thousandth."""
    n = 200_000
    problem = LinearProblem.build(np.full((n, 1), 1 / 3, np.float32), np.ones(n), np.zeros(n, int))
    sums = TorchProblem.on_device(problem, "cpu").rows.adjoint(torch.ones(1, n, dtype=torch.float64))[0, 0]
    assert sums[1].item() == pytest.approx(float(np.float32(1 / 3)) * n, rel=2e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_evaluation_asks_the_device_for_nothing_on_its_way(family):
    """Tensors without content: whatever would wait for the device raises an error."""
    problem = build(family)
    rows = TorchRows(problem.design, torch.device("meta"))
    aux = problem.start()[1]
    cuts = torch.as_tensor(problem.program.thresholds(aux)).to("meta")
    scores = rows.forward(torch.zeros(8, rows.n_groups, rows.X.shape[1], dtype=torch.float64, device="meta"))
    assert scores.shape == (8, len(rows.X))
    means = rows.hinge_means(scores, cuts.expand(8, -1))
    assert means.shape == (8, len(rows.groups), len(cuts)) and means.dtype == torch.float64
    labels = torch.ones(len(rows.X), dtype=torch.float64, device="meta")
    value, gradient, shares = rows.lagrangian(scores[0], labels, cuts, means[0])
    assert value.shape == () and gradient.shape == (rows.n_groups, rows.X.shape[1]) and shares.shape == means.shape[1:]
    with pytest.raises((RuntimeError, NotImplementedError)):
        float(value)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_evaluation_fetches_twice(family, monkeypatch):
    twin, calls = TorchProblem.on_device(build(family), "cpu"), []

    def counted(*tensors):
        calls.append(len(tensors))
        return fetched(*tensors)

    monkeypatch.setattr("partialfair.algorithms.linear.torch_problem.fetched", counted)
    twin.lagrangian(twin.state(*point(twin)), np.full(twin.n_constraints, 0.2))
    assert calls == [1, 3]


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
