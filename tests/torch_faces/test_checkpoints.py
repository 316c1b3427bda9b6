"""Checkpoints: a run that goes on from one is the run that was not stopped, whatever the constructor was told."""

import copy
import io
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed.checkpoint as dcp  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.checkpoint.state_dict import (  # noqa: E402
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from partialfair.errors import ConfigError  # noqa: E402
from partialfair.torch import Ascent, Lagrangian, Multipliers, Plada, Slacks, StochasticIDCA  # noqa: E402
from tests.torch_faces.loops import ALL, METHODS, IDCALoop, Loop, gap, loop_of, mlp  # noqa: E402

OTHER: dict[str, dict[str, Any]] = {
    "ascent": {"dual_step": 0.7, "penalty": 5.0, "momentum": 0.5},
    "ssl_alm": {"penalty": 5.0, "dual_step": 0.5, "dual_bound": 3.0, "proximal": 0.7, "smoothing": 0.1},
    "alm": {"penalty": 5.0, "dual_step": 0.5},
    "switching": {
        "tolerance": 0.05,
        "tolerance_decay": 0.9,
        "decay_start": 2,
        "steps_per_pass": 7,
        "constraint_lr": 0.2,
    },
    "plada": {"penalty": 3.0, "decay": 7.0, "slack_step": 0.01},
    "plada prox-linear": {"penalty": 3.0, "decay": 7.0},
    "multiplier model": {"dual_scale": 3.0, "rate": 0.3},
}
"""Settings of the stored run that differ from those of the run that loads it."""

ADAM = lambda params: torch.optim.Adam(params, 0.01)  # noqa: E731


def stored(loop: Any) -> dict[str, Any]:
    """All state of a loop, through a file that may hold nothing but plain data."""
    parts = {"network": loop.network, "optimiser": loop.optimiser}
    if hasattr(loop, "idca"):
        parts |= {"method": loop.idca, "constraint": loop.gap}
    elif hasattr(loop, "schedule"):
        parts["schedule"] = loop.schedule
    else:
        parts["method"] = loop.multipliers
    file = io.BytesIO()
    torch.save({name: part.state_dict() for name, part in parts.items()}, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def load(loop: Any, state: dict[str, Any]) -> None:
    loop.network.load_state_dict(state["network"])
    loop.optimiser.load_state_dict(state["optimiser"])
    if "method" in state:
        (loop.idca if hasattr(loop, "idca") else loop.multipliers).load_state_dict(state["method"])
    if "constraint" in state:
        loop.gap.load_state_dict(state["constraint"])
    if "schedule" in state:
        loop.schedule.load_state_dict(state["schedule"])


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
@pytest.mark.parametrize("method", ALL)
def test_a_run_goes_on_to_the_same_bits_with_the_stored_settings(method: str, optimiser: str) -> None:
    make = [ADAM] if optimiser == "Adam" else []
    settings = OTHER.get(method, {"inner_steps": 4, "rho": 0.7, "next_iterate": "last"} if method == "idca" else {})
    loop = loop_of(method, *make, **settings).run(13)
    state = stored(loop)
    again = loop_of(method, *make)
    load(again, state)
    loop.run(12, first=13)
    again.run(12, first=13)
    assert torch.equal(loop.vector, again.vector)
    if method in METHODS:
        assert torch.equal(loop.duals, again.duals) and again.multipliers.steps == 25
        assert loop.multipliers.rule == again.multipliers.rule
        assert again.multipliers.rule != loop_of(method).multipliers.rule
        groups = [each.optimiser.param_groups[0] for each in (loop, again)]
        assert groups[0].get("proximal") == groups[1].get("proximal") == settings.get("proximal")
    if method == "idca":
        assert torch.equal(loop.idca.queues, again.idca.queues) and again.idca.inner_steps == 4
    without = loop_of(method, *make).run(25)
    assert not torch.equal(loop.vector, without.vector) or not settings, "the settings make a difference"


@pytest.mark.parametrize("method", ALL)
def test_a_loaded_state_is_a_copy(method: str) -> None:
    """Rolling back works, and training the copy leaves the original alone."""
    loop = loop_of(method).run(8)
    states = [loop.network.state_dict(), loop.optimiser.state_dict()]
    method_of = getattr(loop, "multipliers", getattr(loop, "idca", None))
    states += [method_of.state_dict()] if method_of is not None else []
    before = copy.deepcopy(states[1:])
    other = loop_of(method)
    other.network.load_state_dict(states[0])
    other.optimiser.load_state_dict(states[1])
    if method_of is not None:
        (other.multipliers if hasattr(other, "multipliers") else other.idca).load_state_dict(states[2])
    other.run(8, first=8)
    now = [loop.optimiser.state_dict(), *([method_of.state_dict()] if method_of is not None else [])]
    anchors = [[entry.get("anchor") for entry in state[0]["state"].values()] for state in (before, now)]
    for old, new in zip(*anchors, strict=True):
        assert old is None or torch.equal(old, new)
    for name, value in before[1].items() if method_of is not None else ():
        assert not torch.is_tensor(value) or torch.equal(value, now[1][name]), name


def test_a_changed_setting_is_stored_as_it_is_now() -> None:
    loop = Loop("ascent").run(3)
    for _ in range(4):
        loop.multipliers.rule.penalty *= 1.5
    state = loop.multipliers.state_dict()
    loop.multipliers.rule.penalty = 1.0
    loop.multipliers.load_state_dict(state)
    assert loop.multipliers.rule.penalty == 1.5**4


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Multipliers(2, Slacks()), "the checkpoint is of Ascent, these multipliers of Slacks"),
        (lambda: Multipliers(["a", "b"], Ascent()), r"the checkpoint is of the constraints \['constraint 0'"),
        (lambda: Multipliers(3, Ascent()), "these multipliers are of"),
        (lambda: Multipliers(2, Plada()), "the checkpoint is of Ascent, these multipliers of Plada"),
    ],
)
def test_a_checkpoint_of_another_method_or_of_other_constraints_is_refused_whole(make: Any, said: str) -> None:
    state = Loop("ascent").run(5).multipliers.state_dict()
    multipliers = make()
    with pytest.raises(ConfigError, match=said):
        multipliers.load_state_dict(state)
    assert multipliers.steps == 0 and not multipliers.dual.any()


def test_idca_refuses_a_checkpoint_of_other_parameters() -> None:
    state = IDCALoop().run(2).idca.state_dict()
    other = StochasticIDCA(nn.Linear(5, 1), gap())
    with pytest.raises(ConfigError, match="anchor has 43 numbers, here 6"):
        other.load_state_dict(state)
    assert other.steps == 0


@pytest.mark.parametrize("method", [*METHODS, "idca"])
@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
def test_distributed_checkpoints_hold_everything(method: str, optimiser: str, tmp_path: Path) -> None:
    make = [ADAM] if optimiser == "Adam" else [lambda p: torch.optim.SGD(p, 0.1, momentum=0.5)]
    loop = loop_of(method, *make, **OTHER.get(method, {})).run(7)

    def modules(of: Any) -> dict[str, Any]:
        own = {"method": of.idca} if method == "idca" else {"method": of.multipliers}
        return {"network": of.network, "constraint": of.gap} | own

    def state_of(of: Any) -> dict[str, Any]:
        together = nn.ModuleDict({"network": of.network, "constraint": of.gap})
        parts = {name: module.state_dict() for name, module in modules(of).items()}
        return parts | {"optimiser": get_optimizer_state_dict(together, of.optimiser)}

    dcp.save(state_of(loop), checkpoint_id=tmp_path / "checkpoint")
    again = loop_of(method, *make)
    again.run(1)  # the states that are loaded into must be there
    state = state_of(again)
    dcp.load(state, checkpoint_id=tmp_path / "checkpoint")
    for name, module in modules(again).items():
        module.load_state_dict(state[name])
    together = nn.ModuleDict({"network": again.network, "constraint": again.gap})
    set_optimizer_state_dict(together, again.optimiser, state["optimiser"])
    assert torch.equal(loop.run(9, first=7).vector, again.run(9, first=7).vector)
    if method in METHODS:
        assert torch.equal(loop.duals, again.duals) and loop.multipliers.rule == again.multipliers.rule


@pytest.mark.parametrize("method", ["ascent", "ssl_alm", "idca"])
def test_a_state_moves_to_the_type_of_the_parameters(method: str) -> None:
    """As the moments of PyTorch's own optimisers do."""
    before = loop_of(method).run(4)
    after = loop_of(method, network=mlp().double())
    after.data = (after.data[0].double(), after.data[1], after.data[2].double())
    after.gap.double()
    after.optimiser.load_state_dict(before.optimiser.state_dict())
    if method == "idca":
        after.idca.double()
        after.idca.load_state_dict(before.idca.state_dict())
    else:
        after.multipliers.double()
        after.multipliers.load_state_dict(before.multipliers.state_dict())
    after.network.load_state_dict(before.network.state_dict())
    after.run(3, first=4)
    of = after.idca if method == "idca" else after.multipliers
    assert {value.dtype for value in of.buffers()} == {torch.float64}
    assert all(
        value.dtype == torch.float64 for state in after.optimiser.state.values() for value in state.values()
        if torch.is_tensor(value)
    )  # fmt: skip


def test_multipliers_move_to_the_device_of_the_values() -> None:
    multipliers = Multipliers(2, check=False)
    values = torch.zeros(2, device="meta")
    evaluation = multipliers.weigh(values, None, None)
    assert evaluation.weights.constraints.device.type == multipliers.dual.device.type == "meta"


def test_a_whole_module_survives_pickling() -> None:
    loop = Loop("ssl_alm").run(4)
    file = io.BytesIO()
    torch.save(loop.multipliers, file)
    file.seek(0)
    twin = torch.load(file, weights_only=False)
    assert torch.equal(twin.slack, loop.multipliers.slack) and twin.rule == loop.multipliers.rule
    other = Loop("ssl_alm")
    other.lagrangian = Lagrangian(twin.follow(other.optimiser))
    other.run(2)
    assert twin.steps == 6 and loop.multipliers.steps == 4
