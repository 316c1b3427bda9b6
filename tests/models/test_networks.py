"""Networks: ResNet-18 as published, scores that survive a round trip, and sentences where something is missing."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from partialfair.data.images import ImageRows  # noqa: E402
from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.models import torch_backend  # noqa: E402
from partialfair.models.linear_network import LinearNetwork  # noqa: E402
from partialfair.models.network import NetworkScore  # noqa: E402
from partialfair.models.network_function import NetworkFunction, to_numpy  # noqa: E402
from partialfair.models.resnet import ResNet18, initialise, load_public_weights  # noqa: E402
from partialfair.models.stored import load_model  # noqa: E402

PUBLISHED = 11_689_512  # weights of ResNet-18 with 1000 classes, as torchvision and its papers count them


@pytest.fixture(scope="module")
def tiny():
    network = ResNet18(width=2)
    initialise(network, 3)
    return network


@pytest.fixture(scope="module")
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3 * 32 * 32), dtype=np.uint8)
    return ImageRows.of_pixels(pixels, (3, 32, 32))


def stored(network, shape=(3, 32, 32), width=2):
    state = {name: values.numpy() for name, values in network.state_dict().items()}
    return NetworkScore("resnet18", {"width": width, "stem": "imagenet"}, state, np.arange(3.0), shape, ("a", "b"))


def test_the_network_is_resnet_18():
    network = ResNet18(outputs=1000)
    assert sum(part.numel() for part in network.parameters()) == PUBLISHED
    names = {name.rsplit(".", 1)[0] for name, _ in network.named_parameters()}
    convolutions = {f"layer{stage}.{block}.conv{i}" for stage in range(1, 5) for block in (0, 1) for i in (1, 2)}
    assert convolutions | {"conv1", "bn1", "fc"} <= names
    assert {name for name in names if "downsample" in name} == {
        f"layer{stage}.0.downsample.{part}" for stage in (2, 3, 4) for part in (0, 1)
    }


def test_scores_are_the_same_bits_on_any_number_of_threads():
    network = ResNet18(width=16)
    initialise(network, 0)
    pixels = np.random.default_rng(0).integers(0, 256, (300, 3 * 32 * 32), dtype=np.uint8)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(stored(network, width=16).scores(ImageRows.of_pixels(pixels, (3, 32, 32))))
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert np.ptp(found[0]) > 0


def test_the_stages_have_the_published_output_sizes():
    sizes = {}
    network = ResNet18(width=2).eval()
    for name in ("conv1", "pool", "layer1", "layer2", "layer3", "layer4"):
        getattr(network, name).register_forward_hook(
            lambda module, inputs, out, name=name: sizes.__setitem__(name, (out.shape[1] // 2, out.shape[2]))
        )
    network(torch.zeros(1, 3, 224, 224))
    assert sizes == {
        "conv1": (1, 112), "pool": (1, 56), "layer1": (1, 56), "layer2": (2, 28), "layer3": (4, 14), "layer4": (8, 7),
    }  # fmt: skip


def test_public_weights_load_but_for_the_classifier_and_run_no_code(tmp_path):
    donor, network = ResNet18(outputs=1000), ResNet18()
    initialise(network, 0)
    classifier = network.fc.weight.clone()
    torch.save(donor.state_dict(), tmp_path / "weights.pth")
    load_public_weights(network, tmp_path / "weights.pth")
    assert torch.equal(network.layer3[1].conv2.weight, donor.layer3[1].conv2.weight)
    assert torch.equal(network.fc.weight, classifier)
    with pytest.raises(ConfigError, match="width 64"):
        load_public_weights(ResNet18(width=2), tmp_path / "weights.pth")
    with pytest.raises(DataError, match=r"resnet18-f37072fd\.pth"):
        load_public_weights(network, tmp_path / "absent.pth")
    torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(DataError, match="not torchvision's weights"):
        load_public_weights(network, tmp_path / "other.pth")
    torch.save(Unwanted(), tmp_path / "code.pth")
    with pytest.raises(DataError, match="not executed"):
        load_public_weights(network, tmp_path / "code.pth")
    assert not Unwanted.ran


class Unwanted:
    ran = False

    def __reduce__(self):
        return (setattr, (Unwanted, "ran", True))


def test_initial_weights_depend_on_the_seed_alone(tiny):
    again, other = ResNet18(width=2), ResNet18(width=2)
    torch.manual_seed(99)
    initialise(again, 3)
    initialise(other, 4)
    assert torch.equal(again.layer4[1].conv2.weight, tiny.layer4[1].conv2.weight)
    assert not torch.equal(other.layer4[1].conv2.weight, tiny.layer4[1].conv2.weight)


def test_a_model_survives_the_file_bit_by_bit(tiny, images, tmp_path):
    model = stored(tiny)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.status == "ok" and again.usable and not again.uses_group and np.array_equal(again.aux, np.arange(3.0))
    scores = model.scores(images)
    assert np.array_equal(again.scores(images), scores) and np.ptp(scores) > 0
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_rows_of_another_shape_and_groups_out_of_range_are_refused(tiny, images):
    with pytest.raises(DataError, match=r"\(3, 32, 32\)"):
        stored(tiny, (3, 64, 64)).scores(images)
    with pytest.raises(DataError, match=r"0\.\.1"):
        stored(tiny).scores(images, np.full(5, 2))


def test_without_pytorch_scoring_says_how_to_get_it(tiny, images, monkeypatch):
    monkeypatch.setattr(torch_backend, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="make torch"):
        stored(tiny).scores(images)


def test_a_device_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert torch_backend.pick_device("auto").type == "cpu"
    with pytest.raises(ConfigError, match="device is cuda"):
        torch_backend.pick_device("cuda")


def test_the_directional_derivative_is_that_of_the_scores(tiny, images):
    function = NetworkFunction(tiny.double(), torch.device("cpu"), channels_last=True)
    w = function.start()
    draw = torch.Generator().manual_seed(0)
    direction = torch.randn(function.size, generator=draw, dtype=torch.float64)
    inputs = function.inputs(images, np.zeros(5, int), np.arange(5))
    step = 1e-6
    moved = [to_numpy(function.scores(w + sign * step * direction, inputs)) for sign in (1, -1)]
    found = function.tangent(w, direction, inputs)
    assert np.abs(found).max() > 1e-3
    assert np.allclose(found, (moved[0] - moved[1]) / (2 * step), rtol=1e-4, atol=1e-6)
    assert np.array_equal(function.all_scores(w, images, np.zeros(5, int)), to_numpy(function.scores(w, inputs)))
    tiny.float()


def test_the_linear_network_is_the_linear_score():
    network = LinearNetwork(2, 3)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [10.0, 0.0, 0.0], [0.0, 1.0, -1.0]]))
    x, group = torch.tensor([[1.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), torch.tensor([0, 1, 2])
    assert network(x, group).tolist() == [6.0, 16.0, 1.0 + 2 * 3.0 + 1 * 2.0]
    network.make_constant(0.25)
    assert network(x, group).tolist() == [0.25] * 3
    alone = LinearNetwork(2, 3, uses_group=False)
    assert alone.weight.shape == (1, 3)
