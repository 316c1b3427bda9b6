"""Networks, and constraints in a training loop of one's own, on a GPU."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: E402

from papers.partial_fairness.algorithms.deep_idca import ALGORITHM as IDCA  # noqa: E402
from papers.partial_fairness.algorithms.deep_unconstrained import ALGORITHM as UNCONSTRAINED  # noqa: E402
from papers.partial_fairness.datasets import drawn_faces  # noqa: E402
from papers.partial_fairness.tests.test_deep_algorithms import SHORT, TINY, taken_up  # noqa: E402
from partialfair.algorithms.contract import Task  # noqa: E402
from partialfair.algorithms.measure import measure  # noqa: E402
from partialfair.errors import DataError  # noqa: E402
from partialfair.models.network_function import NetworkFunction  # noqa: E402
from partialfair.models.resnet import ResNet18, initialise  # noqa: E402
from partialfair.models.torch_backend import pick_device  # noqa: E402
from partialfair.torch import (  # noqa: E402
    BatchConstraint,
    Lagrangian,
    Multipliers,
    StochasticGhost,
    StochasticIDCA,
    alm,
    plada,
    ssl_alm,
    switching_subgradient,
)
from reproduction.datasets.splits import make_split  # noqa: E402

FAMILIES = (
    "partial_statistical_parity", "partial_demographic_parity", "partial_equalized_odds", "loss_parity",
)  # fmt: skip


@pytest.fixture(scope="module")
def faces() -> Any:
    return drawn_faces.load(images=400, size=32)


def make_task(data: Any, kappa: float = 0.1, **options: Any) -> Task:
    split = make_split(data, 0)
    settings = {"interval": [[0.2, 0.6]], "grid": 4, "kappa_scale": "absolute", "report": lambda line: None} | options
    return Task(
        data.take(split.train), data.take(split.validation), "partial_statistical_parity", kappa=kappa, device="cuda",
        **settings,
    )  # fmt: skip


def functions(**options: Any) -> tuple[NetworkFunction, NetworkFunction]:
    """The same ResNet-18 on the CPU and on the GPU."""
    network = ResNet18()
    initialise(network, 0)
    return (
        NetworkFunction(copy.deepcopy(network), pick_device("cpu")),
        NetworkFunction(network, pick_device("cuda"), **options),
    )


@pytest.mark.parametrize(
    ("options", "bound"),
    [({}, 1e-5), ({"channels_last": True}, 1e-5), ({"channels_last": True, "autocast": True}, 0.05)],
    ids=["plain", "channels_last", "autocast"],
)
def test_scores_and_directional_derivatives_are_those_of_the_cpu(
    faces: Any, options: dict[str, bool], bound: float
) -> None:
    cpu, gpu = functions(**options)
    w = cpu.start()
    scores = [one.all_scores(w.to(one.device), faces.X, faces.group) for one in (cpu, gpu)]
    assert np.abs(scores[1] - scores[0]).max() <= bound * np.abs(scores[0]).max()
    rows = np.arange(64)
    direction = torch.randn(w.numel(), generator=torch.Generator().manual_seed(0))
    slopes = [
        one.tangent(w.to(one.device), direction.to(one.device), one.inputs(faces.X, faces.group, rows))
        for one in (cpu, gpu)
    ]
    # The median: where a rounded sum changes its sign, ReLU changes its slope, which few rows show.
    assert np.median(np.abs(slopes[1] - slopes[0])) <= bound * np.abs(slopes[0]).max()
    assert np.ptp(slopes[0]) > 0


@pytest.mark.parametrize("options", [{}, {"channels_last": True, "autocast": True}], ids=["plain", "fast"])
def test_the_same_training_gives_the_same_bits_twice(faces: Any, options: dict[str, bool]) -> None:
    settings = IDCA.settings(**SHORT | {"width": 16, "start": "unconstrained"} | options)
    first, second = (IDCA.fit(make_task(faces), settings) for _ in range(2))
    assert all(np.array_equal(first.model.state[name], second.model.state[name]) for name in first.model.state)
    assert np.array_equal(first.model.aux, second.model.aux) and first.chosen == second.chosen


@pytest.mark.parametrize("survived", [1, 3, 5], ids=lambda n: f"{n} checkpoints")
def test_an_interrupted_fit_goes_on_to_the_same_bits(faces: Any, tmp_path: Path, survived: int) -> None:
    settings = IDCA.settings(**SHORT, start="constant")
    whole = IDCA.fit(make_task(faces), settings)
    again = taken_up(make_task(faces), settings, tmp_path / "checkpoint.npz", survived)
    assert all(np.array_equal(again.model.state[name], values) for name, values in whole.model.state.items())
    assert np.array_equal(again.model.aux, whole.model.aux) and again.chosen == whole.chosen


def test_a_model_that_was_trained_on_the_gpu_scores_on_the_cpu(faces: Any) -> None:
    task = make_task(faces, math.inf)
    fit = UNCONSTRAINED.fit(task, UNCONSTRAINED.settings(**TINY))
    scores = fit.model.scores(task.train.X, task.train.group)
    loss = np.logaddexp(0, -task.train.y * scores).mean()
    assert measure(UNCONSTRAINED, task, fit).objective == pytest.approx(loss, rel=1e-4)


# --- a loop of one's own --------------------------------------------------------------------------------------------


def batch(n: int = 600) -> tuple[Any, Any, Any]:
    draw = torch.Generator().manual_seed(0)
    group = torch.randint(0, 2, (n,), generator=draw)
    X = torch.randn(n, 4, generator=draw)
    X[:, 0] += 1.5 * group
    y = (torch.rand(n, generator=draw) < torch.sigmoid(X[:, 0] + X[:, 1])).float()
    return X, group, y


@pytest.mark.parametrize("family", FAMILIES)
def test_constraints_have_the_values_and_derivatives_of_the_cpu(family: str) -> None:
    _, group, y = batch()
    scores, found = torch.randn(600, generator=torch.Generator().manual_seed(1)), {}
    for device in ("cpu", "cuda"):
        module = BatchConstraint(2, family, interval=[(0.1, 0.6)] if family != "loss_parity" else [(0, 1)]).to(device)
        leaf = scores.to(device).detach().requires_grad_()
        values = module(leaf, group.to(device), y.to(device))
        values.square().sum().backward()
        assert leaf.grad is not None
        found[device] = values.detach().cpu(), leaf.grad.cpu()
    for one, other in zip(found["cpu"], found["cuda"], strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)


def test_codes_out_of_range_are_a_sentence_and_the_gpu_goes_on() -> None:
    constraint = BatchConstraint(2, "partial_demographic_parity", kappa=0.1).to("cuda")
    scores = torch.randn(8, device="cuda")
    for codes in ([0, 1, 2, 0, 1, 0, 1, 0], [0, 1, -1, 0, 1, 0, 1, 0]):
        with pytest.raises(DataError, match=r"0\.\.1"):
            constraint(scores, torch.tensor(codes, device="cuda"))
    assert torch.isfinite(constraint(scores, torch.tensor([0, 1] * 4, device="cuda"))).all()


def sgd(params: Any) -> Any:
    return torch.optim.SGD(params, 0.1)


METHODS: dict[str, tuple[Callable[[Any], Any], Callable[..., Lagrangian]]] = {
    "ssl_alm": (sgd, ssl_alm),
    "alm": (sgd, alm),
    "switching": (lambda p: torch.optim.SGD(p, 0.05), switching_subgradient),
    "plada": (sgd, plada),
    "adam": (lambda p: torch.optim.Adam(p, 0.01), lambda o, m: Lagrangian(Multipliers(m).follow(o))),
    "fused adam, smoothed": (lambda p: torch.optim.Adam(p, 0.01, fused=True), ssl_alm),
}
DIRECTIONS = ("ghost", "ghost of any constraints", "idca")


@pytest.mark.parametrize("name", [*METHODS, *DIRECTIONS])
def test_every_method_takes_the_steps_of_the_cpu_and_survives_its_file(name: str, tmp_path: Path) -> None:
    X, group, y = batch()
    ends = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
        family = "partial_demographic_parity" if name.startswith("ghost") else "partial_statistical_parity"
        constraint = BatchConstraint(2, family, kappa=0.1, grid=4).to(device)
        rows, codes, labels = X.to(device), group.to(device), y.to(device)
        params = [*network.parameters(), *(() if name.startswith("ghost") else constraint.parameters())]
        optimiser = METHODS[name][0](params) if name in METHODS else torch.optim.SGD(params, 0.05)
        stateful = {"optimiser": optimiser}
        if name in METHODS:
            lagrangian = METHODS[name][1](optimiser, constraint.labels)
            stateful["multipliers"] = lagrangian.multipliers
        elif name == "idca":
            stateful["idca"] = StochasticIDCA(network, constraint, inner_steps=5).follow(optimiser)
        else:
            ghost = StochasticGhost(params, 0.1 if name == "ghost" else None)

        def loss(scores: Any, labels: Any = labels) -> Any:
            return binary_cross_entropy_with_logits(scores, labels)

        for k in range(12):
            if k == 6:  # through a file, as of a job that goes on
                torch.save({part: of.state_dict() for part, of in stateful.items()}, tmp_path / "state.pt")
                stored = torch.load(tmp_path / "state.pt", weights_only=True)
                for part, of in stateful.items():
                    of.load_state_dict(stored[part])
            optimiser.zero_grad()
            if name == "idca":
                stateful["idca"].backward(rows, codes, loss=loss)
            else:
                scores = network(rows).squeeze(1)
                values = constraint(scores, codes)
                if name in METHODS:
                    lagrangian(loss(scores), values).backward()
                else:
                    ghost.full_backward(loss(scores), values)
            optimiser.step()
        ends.append(torch.cat([p.detach().cpu().reshape(-1) for p in network.parameters()]))
    assert torch.isfinite(ends[1]).all()
    torch.testing.assert_close(ends[1], ends[0], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", METHODS)
def test_half_precision_with_a_scaler_stays_near_single_precision(name: str) -> None:
    """fp16 under ``autocast``; a first scale that overflows is skipped without a trace."""
    X, group, y = (part.to("cuda") for part in batch())
    ends = {}
    for half in (False, True):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to("cuda")
        constraint = BatchConstraint(2, "partial_demographic_parity", kappa=0.1).to("cuda")
        optimiser = METHODS[name][0](network.parameters())
        lagrangian = METHODS[name][1](optimiser, 2)
        scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40, enabled=half)
        while lagrangian.multipliers.steps < 20:
            with torch.autocast("cuda", torch.float16, enabled=half):
                scores = network(X).squeeze(1)
            optimiser.zero_grad()
            scaler.scale(
                lagrangian(binary_cross_entropy_with_logits(scores.float(), y), constraint(scores, group))
            ).backward()
            scaler.step(optimiser)
            scaler.update()
        ends[half] = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
    torch.testing.assert_close(ends[True], ends[False], rtol=0.1, atol=0.02)
