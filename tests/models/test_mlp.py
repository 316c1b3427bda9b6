"""The fully connected network: size, values, initial weights, group input, derivatives."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from partialfair.models.mlp import ACTIVATIONS, MLP  # noqa: E402
from partialfair.seeding import generator  # noqa: E402


def scores(network, x, group=None):
    codes = np.zeros(len(x), np.int64) if group is None else np.asarray(group)
    with torch.no_grad():
        return network(torch.as_tensor(x), torch.as_tensor(codes)).numpy()


def test_size_and_value_of_the_benchmark_network():
    network = MLP(9, (64, 32)).double()
    assert sum(part.numel() for part in network.parameters()) == 2753
    with torch.no_grad():
        for part in network.parameters():
            part.fill_(0.01)
    assert scores(network, np.ones((1, 9)))[0] == pytest.approx(0.03368, abs=1e-7)


def test_initial_weights_depend_on_the_stream_alone():
    first, second, other = MLP(9), MLP(9), MLP(9)
    first.initialise(generator("initialisation", 3))
    torch.manual_seed(0)
    second.initialise(generator("initialisation", 3))
    other.initialise(generator("initialisation", 4))
    for one, same, different in zip(first.parameters(), second.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, same)
        assert not torch.equal(one, different)
    for layer in first.layers:
        bound = layer.in_features**-0.5
        assert float(layer.weight.detach().abs().max()) <= bound
        assert float(layer.weight.detach().std()) == pytest.approx(bound / 3**0.5, rel=0.25)


def test_features_are_standardised():
    network = MLP(3, (5,), "tanh").double()
    x = np.random.default_rng(0).normal(size=(4, 3))
    plain = scores(network, (x - [0, 2, 0]) / [1, 4, 1])
    network.centre[1], network.scale[1] = 2.0, 4.0
    np.testing.assert_allclose(scores(network, x), plain, rtol=1e-12)


def test_group_input():
    network = MLP(3, (5,), n_groups=3, uses_group=True).double()
    x = np.random.default_rng(0).normal(size=(3, 3))
    own = scores(network, x, [0, 1, 2])
    assert network.layers[0].in_features == 5
    assert not np.allclose(own, scores(network, x, [1, 1, 2]))
    blind = MLP(3, (5,), n_groups=3).double()
    np.testing.assert_array_equal(scores(blind, x, [0, 1, 2]), scores(blind, x, [2, 2, 2]))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_against_central_differences(activation):
    network = MLP(4, (6, 3), activation).double()
    network.initialise(generator("initialisation", activation))
    x, group = torch.as_tensor(np.random.default_rng(1).normal(size=(5, 4))), torch.zeros(5, dtype=torch.long)
    network(x, group).sum().backward()
    weight = network.layers[0].weight
    found, h = weight.grad[2, 1].item(), 1e-5
    ends = []
    for step in (h, -h):
        with torch.no_grad():
            weight[2, 1] += step
            ends.append(network(x, group).sum().item())
            weight[2, 1] -= step
    assert found == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-9)


def test_without_hidden_layers_it_is_linear_and_without_bias_homogeneous():
    network = MLP(3, (), output_bias=False).double()
    x = np.random.default_rng(2).normal(size=(4, 3))
    np.testing.assert_allclose(scores(network, 2 * x), 2 * scores(network, x), rtol=1e-12)


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match="unknown activation 'rely'"):
        MLP(3, activation="rely")
    with pytest.raises(ValueError, match="must be positive"):
        MLP(3, (0,))
