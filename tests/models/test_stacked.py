"""The stacked network: size, value, derivatives, and agreement with PyTorch and with its stored form."""

import numpy as np
import pytest

from partialfair.errors import DataError
from partialfair.models.features import Standardiser
from partialfair.models.mlp_score import MLPScore
from partialfair.models.stacked import StackedLinear, StackedMLP
from partialfair.models.stored import load_model
from partialfair.seeding import generator

BENCHMARK = StackedMLP(9, (64, 32))


def test_size_and_value_of_the_benchmark_network():
    assert BENCHMARK.size == 2753
    scores, _ = BENCHMARK.forward(np.full((1, 2753), 0.01), np.ones((1, 1, 9)))
    assert scores[0, 0] == pytest.approx(0.03368, abs=1e-7)


@pytest.mark.parametrize("model", [StackedMLP(4, (6, 3)), StackedMLP(4, (5,)), StackedLinear(4)])
def test_derivatives_against_central_differences(model):
    rng = np.random.default_rng(0)
    theta, X, residual = rng.normal(size=(3, model.size)) * 0.5, rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 5))
    scores, cache = model.forward(theta, X)
    found = model.backward(theta, cache, residual)
    direction, h = rng.normal(size=theta.shape), 1e-5
    ends = [(residual * model.forward(theta + step * direction, X)[0]).sum(axis=1) for step in (h, -h)]
    np.testing.assert_allclose((found * direction).sum(axis=1), (ends[0] - ends[1]) / (2 * h), rtol=1e-5)


def test_initial_weights_scores_and_derivatives_equal_pytorchs():
    torch = pytest.importorskip("torch")
    from partialfair.models.mlp import MLP

    network = MLP(9, (64, 32)).double()
    network.initialise(generator("initialisation", 5))
    theta = BENCHMARK.initial(generator("initialisation", 5))[None]
    for name, part in network.named_parameters():
        np.testing.assert_array_equal(part.detach().numpy(), BENCHMARK.state(theta[0])[name])
    X, residual = np.random.default_rng(1).normal(size=(1, 7, 9)), np.random.default_rng(2).normal(size=(1, 7))
    scores, cache = BENCHMARK.forward(theta, X)
    expected = network(torch.as_tensor(X[0]), torch.zeros(7, dtype=torch.long))
    np.testing.assert_allclose(scores[0], expected.detach().numpy(), atol=1e-14)
    (expected * torch.as_tensor(residual[0])).sum().backward()
    flat = np.concatenate([part.grad.numpy().ravel() for part in network.parameters()])
    np.testing.assert_allclose(BENCHMARK.backward(theta, cache, residual)[0], flat, atol=1e-13)


def stored(uses_group):
    rng = np.random.default_rng(3)
    model = StackedMLP(3 + uses_group, (4,))
    standardiser = Standardiser(np.array([1]), np.array([2.0]), np.array([4.0]))
    path = {"steps": np.arange(2), "points": rng.normal(size=(2, model.size)).astype(np.float32)}
    theta = rng.normal(size=model.size)
    return MLPScore(theta, (4,), standardiser, np.zeros(0), ("a", "b"), ("u", "v", "w"), uses_group, path=path)


@pytest.mark.parametrize("uses_group", [False, True])
def test_a_stored_model_scores_as_before_and_keeps_its_path(uses_group, tmp_path):
    model, X, group = stored(uses_group), np.random.default_rng(4).normal(size=(6, 3)), np.array([0, 1] * 3)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.scores(X, group), model.scores(X, group))
    np.testing.assert_array_equal(again.path["points"], model.path["points"])
    assert np.allclose(model.scores(X, group), model.scores(X, 1 - group)) is not uses_group


def test_rows_that_do_not_fit_are_refused(tmp_path):
    model = stored(True)
    with pytest.raises(DataError, match="2 features"):
        model.scores(np.zeros((1, 2)), np.zeros(1, int))
    with pytest.raises(DataError, match="depend on the group"):
        model.scores(np.zeros((1, 3)))
    with pytest.raises(DataError, match="group codes"):
        model.scores(np.zeros((1, 3)), np.array([2]))
    broken = stored(False)
    broken.theta[0] = np.nan
    broken.save(tmp_path / "model.npz")
    with pytest.raises(DataError, match="finite ones expected"):
        load_model(tmp_path / "model.npz")
