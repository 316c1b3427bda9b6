"""Linear problems whose rows lie on a GPU against the compiled kernels on the CPU."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from partialfair.algorithms.linear import augmented_lagrangian
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.torch_problem import TorchProblem
from partialfair.estimators import PartialFairClassifier
from reproduction.datasets import simulated
from tests.algorithms.linear.test_torch_problem import FAMILIES, agree, build


@pytest.fixture(params=FAMILIES)
def pair(request: pytest.FixtureRequest) -> tuple[LinearProblem, TorchProblem]:
    problem = build(request.param)
    return problem, TorchProblem.on_device(problem, "cuda")


def test_values_and_derivatives_agree_to_two_millionths(pair: tuple[LinearProblem, TorchProblem]) -> None:
    problem, twin = pair
    assert twin.rows.X.device.type == "cuda"
    agree(problem, twin)


def test_the_direct_solver_finds_the_same_model(pair: tuple[LinearProblem, TorchProblem]) -> None:
    wanted, found = (
        LinearPoint(problem, one.params, one.aux)
        for problem, one in ((problem, augmented_lagrangian.solve(problem)) for problem in pair)
    )
    assert found.objective() == pytest.approx(wanted.objective(), abs=1e-4)
    assert found.violation() <= 1e-4 and wanted.violation() <= 1e-4


def test_the_same_fit_gives_the_same_bits_twice() -> None:
    first, second = (
        augmented_lagrangian.solve(TorchProblem.on_device(build(FAMILIES[0], rows=20_000), "cuda")) for _ in range(2)
    )
    assert np.array_equal(first.params, second.params) and np.array_equal(first.aux, second.aux)


@pytest.mark.parametrize("uses_group", [True, False])
def test_the_classifier_keeps_its_tolerance_on_the_gpu(uses_group: bool) -> None:
    X, y = make_classification(30_000, 20, n_informative=10, random_state=0)
    group = (X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 0).astype(int)
    fits = {}
    for device in ("cpu", "cuda", "auto"):
        fit = PartialFairClassifier(
            solver="alm", kappa=0.1, interval=[[0.0, 0.4]], uses_group=uses_group, device=device
        ).fit(X, y, sensitive_features=group)
        fits[device] = fit
    for device in ("cuda", "auto"):
        assert isinstance(fits[device].coef_, np.ndarray)
        assert fits[device].certificate_.objective == pytest.approx(fits["cpu"].certificate_.objective, abs=1e-3)
        assert fits[device].train_violation_ == pytest.approx(fits["cpu"].train_violation_, abs=0.02)
        assert fits[device].status_ == fits["cpu"].status_
    assert np.array_equal(fits["cuda"].coef_, fits["auto"].coef_)


def test_simulated_rows_keep_their_tolerance() -> None:
    data = simulated.load(rows=4000)
    fit = PartialFairClassifier(solver="alm", kappa=0.1, device="cuda").fit(
        data.X, data.y, sensitive_features=data.group
    )
    assert fit.status_ == "ok" and fit.train_violation_ <= 0.1
