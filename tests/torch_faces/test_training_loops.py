"""What a training loop in PyTorch may contain beside these methods, line by line; what cannot be is refused by name."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits as bce  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.torch import (  # noqa: E402
    Ascent,
    BalancedBatches,
    BatchConstraint,
    Lagrangian,
    Multipliers,
    Plada,
    Slacks,
    StochasticGhost,
    StochasticIDCA,
    Switching,
    alm,
    smoothed,
    ssl_alm,
    switching_subgradient,
)
from tests.torch_faces.loops import ALL, KAPPA, METHODS, Loop, batch_of, gap, loop_of, mlp, table  # noqa: E402

OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1),
    "Nesterov, weight decay": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda p: torch.optim.Adam(p, 0.01),
    "Adam, amsgrad": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True, foreach=False),
    "Adam, fused": lambda p: torch.optim.Adam(p, 0.01, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.003),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.05),
    "NAdam": lambda p: torch.optim.NAdam(p, 0.01),
}
LAGRANGIANS = [method for method in METHODS if method not in ("switching",)]


def finite(loop: Any) -> bool:
    return bool(torch.isfinite(loop.vector).all())


# --- network and data -------------------------------------------------------------------------------------------------


class Convolutions(nn.Module):  # type: ignore[misc]
    """The five features as an image of 5 pixels."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(20, 1))

    def forward(self, x: Any) -> Any:
        return self.body(x[:, None])


def trained_by_a_loader(loop: Loop) -> float:
    """Violation on all rows after forty epochs of balanced batches."""
    X, group, y = loop.data
    loader = DataLoader(TensorDataset(X, group, y), batch_sampler=BalancedBatches(group, 32))
    for epoch in range(40):
        loader.batch_sampler.set_epoch(epoch)
        for x, codes, labels in loader:
            scores = loop.network(x)[:, 0]
            loop.optimiser.zero_grad()
            loop.lagrangian(bce(scores, labels), loop.values(scores, codes)).backward()
            loop.optimiser.step()
    return loop.violation()


@pytest.mark.parametrize("make", [mlp, Convolutions])
def test_a_network_and_a_data_loader_learn_to_hold_the_constraint(make: Any) -> None:
    assert trained_by_a_loader(Loop("ascent", network=make(), dual_step=0.0, penalty=0.0)) > 0.15
    for method in METHODS:
        assert trained_by_a_loader(Loop(method, network=make())) < 0.05, method


@pytest.mark.parametrize("method", ALL)
def test_every_method_trains_a_network(method: str) -> None:
    loop = loop_of(method).run(150)
    assert finite(loop) and loop.violation() < 0.08
    assert loop_of("ascent", dual_step=0.0, penalty=0.0).run(150).violation() > 0.15


@pytest.mark.parametrize("method", METHODS)
def test_batch_normalisation_and_dropout_see_one_forward_pass_a_step(method: str) -> None:
    network = mlp(norm=True)
    loop = Loop(method, network=nn.Sequential(network, nn.Dropout(0.1)).train())
    loop.run(30)
    assert int(network[1].num_batches_tracked) == 30 and finite(loop)


def test_directions_of_ghost_add_up_and_idca_takes_whole_batches() -> None:
    loop, twice = loop_of("ghost"), loop_of("ghost")
    loop.draw = twice.draw = torch.Generator().manual_seed(0)
    parts = []
    for level in (0, 1):
        loop.optimiser.zero_grad()
        loop.ghost.backward(loop.sample, level)
        parts.append(loop.network[0].weight.grad.clone())
    twice.draw.manual_seed(0)
    for level in (0, 1):
        twice.ghost.backward(twice.sample, level)
    torch.testing.assert_close(twice.network[0].weight.grad, parts[0] + parts[1])
    idca = loop_of("idca")
    idca.optimiser.step = lambda: None
    idca.step(0)
    with pytest.raises(ConfigError, match="twice without a step"):
        idca.step(1)


@pytest.mark.parametrize("layer", [nn.Dropout(0.2), nn.BatchNorm1d(1)])
def test_idca_refuses_layers_that_compare_rows_or_draw(layer: nn.Module) -> None:
    network = nn.Sequential(mlp(), layer)
    loop = loop_of("idca", network=network)
    with pytest.raises(ConfigError, match=r"call network\.eval\(\)"):
        loop.step(0)
    network.eval()
    assert finite(loop.run(3))
    dropout = nn.Sequential(mlp(), nn.Dropout(0.2))
    assert finite(loop_of("ghost", network=dropout).run(3))


def test_ghost_refuses_batch_normalisation_that_trains() -> None:
    network = mlp(norm=True)
    with pytest.raises(ConfigError, match=r"single rows.*call network.eval\(\)"):
        single_rows(network)
    network.eval()
    single_rows(network)
    assert next(network.parameters()).grad is not None


def single_rows(network: nn.Module) -> None:
    """A direction of Stochastic Ghost whose first rows are a batch of one."""
    X, group, y = table()

    def sample(size: int) -> Any:
        loss = bce(network(X[:size])[:, 0], y[:size])
        rows = torch.cat([torch.nonzero(group == code).flatten()[:size] for code in (0, 1)])
        return loss, gap()(network(X[rows])[:, 0], group[rows])

    StochasticGhost(network.parameters(), KAPPA).backward(sample, 1)


def test_ghost_says_that_a_batch_lacks_a_group() -> None:
    network, (X, group, y) = mlp(), table()
    rows = torch.nonzero(group == 0).flatten()[:8]
    scores = network(X[rows])[:, 0]
    with pytest.raises(DataError, match="lacks a group; draw rows of every group"):
        StochasticGhost(network.parameters(), KAPPA).full_backward(bce(scores, y[rows]), gap()(scores, group[rows]))


# --- optimisers and schedules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("method", ALL)
def test_any_optimiser_of_torch_steps(method: str, optimiser: str) -> None:
    loop = loop_of(method, OPTIMISERS[optimiser]).run(40)
    assert finite(loop) and (loop.vector - loop_of(method).vector).abs().max() > 1e-3
    assert method not in METHODS or (torch.isfinite(loop.duals).all() and loop.multipliers.steps == 40)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_with_weights_of_zero_the_steps_are_the_optimisers_own_to_the_bit(optimiser: str) -> None:
    """Momentum, weight decay, moments and schedules of any group: none of them is ours."""
    networks = mlp(), mlp()
    runs = []
    for network in networks:
        *first, last = network.parameters()
        groups = [{"params": first, "weight_decay": 0.1}, {"params": [last], "lr": 0.003}]
        runs.append(OPTIMISERS[optimiser](groups))
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(run, 30) for run in runs]
    lagrangian = Lagrangian(Multipliers(2, Ascent(dual_step=0.0, penalty=0.0)).follow(runs[0]))
    X, group, y = table()
    for k in range(30):
        rows = batch_of(k)
        for network, run in zip(networks, runs, strict=True):
            run.zero_grad()
            scores = network(X[rows])[:, 0]
            loss = bce(scores, y[rows])
            (lagrangian(loss, gap()(scores, group[rows])) if run is runs[0] else loss).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.05)
            run.step()
        for schedule in schedules:
            schedule.step()
    for one, other in zip(*(network.parameters() for network in networks), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("settings", [{"weight_decay": 0.3}, {"momentum": 0.9}])
def test_weight_decay_and_momentum_of_a_group_count(method: str, settings: dict[str, float]) -> None:
    plain = loop_of(method, lambda p: torch.optim.SGD(p, 0.1)).run(20).vector
    other = loop_of(method, lambda p: torch.optim.SGD([{"params": list(p), **settings}], 0.1)).run(20).vector
    assert (plain - other).abs().max() > 1e-3


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(
    "schedule",
    [
        lambda o: torch.optim.lr_scheduler.StepLR(o, 10, 0.5),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 40),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=41),
    ],
    ids=["StepLR", "CosineAnnealingLR", "OneCycleLR"],
)
def test_schedules_and_clipping(method: str, schedule: Any) -> None:
    loop = loop_of(method, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9))
    plan, seen = schedule(loop.optimiser), set()
    inner = loop.optimiser.step

    def clipped(*args: Any) -> Any:
        assert all(p.grad is not None for p in loop.network.parameters()), "gradients can be logged and clipped"
        nn.utils.clip_grad_norm_(loop.network.parameters(), 0.5)
        return inner(*args)

    loop.optimiser.step = clipped
    for k in range(40):
        loop.step(k)
        seen.add((loop.optimiser.param_groups[0]["lr"], loop.optimiser.param_groups[0]["momentum"]))
        plan.step()
    assert finite(loop) and len(seen) >= 4


def test_parameter_groups_may_differ_in_the_proximal_term() -> None:
    network = mlp()
    first, *rest = network.parameters()
    optimiser = torch.optim.SGD([{"params": [first], "proximal": 0.0}], 0.1)
    loop_multipliers = ssl_alm(optimiser, 2, proximal=1.5).multipliers
    optimiser.add_param_group({"params": rest, "lr": 0.05})
    assert [group["proximal"] for group in optimiser.param_groups] == [0.0, 1.5]
    X, group, y = table()
    lagrangian = Lagrangian(loop_multipliers)
    for k in range(3):
        rows = batch_of(k)
        scores = network(X[rows])[:, 0]
        optimiser.zero_grad()
        lagrangian(bce(scores, y[rows]), gap()(scores, group[rows])).backward()
        optimiser.step()
    assert "anchor" not in optimiser.state[first] and all("anchor" in optimiser.state[p] for p in rest)


@pytest.mark.parametrize("method", [*METHODS, "ghost"])
def test_a_layer_that_is_frozen_stands_still_and_moves_again(method: str) -> None:
    loop = loop_of(method)
    layer = loop.network[0].weight
    for first, frozen, none in ((0, False, False), (10, True, False), (20, False, True), (30, True, True)):
        layer.requires_grad_(not frozen)
        before = layer.detach().clone()
        for k in range(first, first + 10):
            loop.step(k, none)
        assert torch.equal(before, layer.detach()) == frozen


def test_idca_refuses_parameters_that_were_frozen_meanwhile() -> None:
    loop = loop_of("idca").run(3)
    loop.network[0].weight.requires_grad_(False)
    with pytest.raises(ConfigError, match="not those of the steps before; make a new object"):
        loop.step(3)


# --- closures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
def test_a_closure_gives_the_same_steps(method: str) -> None:
    plain, closed = loop_of(method).run(20), loop_of(method)
    inner = closed.optimiser.step
    for k in range(20):

        def closure(k: int = k) -> Any:
            closed.optimiser.step = lambda *args: None  # the step inside is that of the closure
            closed.step(k)
            closed.optimiser.step = inner
            return torch.zeros(())

        if method == "ghost":  # its own schedule would be shortened within the step
            closed.draw = torch.Generator().manual_seed(k)
            closed.optimiser.zero_grad()
            closed.optimiser.step(lambda k=k: closed.ghost.backward(closed.sample, level=k % 3))
            closed.schedule.step()
        else:
            closed.optimiser.step(closure)
    assert torch.equal(plain.vector, closed.vector)


def test_a_line_search_compares_values_of_the_augmented_lagrangian() -> None:
    """LBFGS on all rows: an augmented Lagrangian method that ends at the optimum of the smooth problem."""
    network, (X, group, y) = mlp(), table()
    optimiser = torch.optim.LBFGS(network.parameters(), line_search_fn="strong_wolfe", max_iter=10)
    multipliers = Multipliers(2, Ascent(dual_step=5.0, penalty=5.0)).follow(optimiser)
    lagrangian, constraint = Lagrangian(multipliers), gap()
    loss = torch.zeros(())

    def closure() -> Any:
        nonlocal loss
        optimiser.zero_grad()
        scores = network(X)[:, 0]
        loss = bce(scores, y) + 1e-3 * sum(p.square().sum() for p in network.parameters())
        total = lagrangian(loss, constraint(scores, group))
        total.backward()
        return total

    for _ in range(60):
        optimiser.step(closure)
    assert multipliers.steps == 60
    values = constraint(network(X)[:, 0], group).detach()
    assert values.max() < 2e-3 and multipliers.dual.max() > 0.1
    assert (values * multipliers.dual).abs().max() < 2e-3, "complementarity"


def test_the_value_of_the_scalar_is_the_augmented_lagrangians_where_it_is_compared() -> None:
    x = nn.Parameter(torch.tensor([0.3, -2.0]))
    multipliers = Multipliers(2, Ascent(dual_step=1.0, penalty=2.0), equality=[False, True])
    multipliers.follow(torch.optim.LBFGS([x]))
    multipliers.dual.copy_(torch.tensor([0.5, -0.25]))
    lagrangian = Lagrangian(multipliers)
    total = lagrangian(x.sum() * 0, x)
    inequality = (max(0.5 + 2 * 0.3, 0) ** 2 - 0.5**2) / 4
    assert float(total) == pytest.approx(inequality + (-0.25 * -2.0 + 2.0**2), rel=1e-6)
    total.backward()
    assert x.grad.tolist() == pytest.approx([0.5 + 0.6, -0.25 - 4.0], rel=1e-6)


@pytest.mark.parametrize("rule", [Slacks(), Plada(), Switching()])
def test_a_line_search_is_refused_by_rules_without_values(rule: Any) -> None:
    network = mlp()
    with pytest.raises(ConfigError, match=rf"LBFGS .*{type(rule).__name__} .*use Ascent"):
        Multipliers(2, rule).follow(torch.optim.LBFGS(network.parameters()))
    with pytest.raises(ConfigError, match="LBFGS"):
        smoothed(torch.optim.LBFGS(network.parameters()))
    with pytest.raises(ConfigError, match="cannot follow LBFGS"):
        StochasticIDCA(network, gap()).follow(torch.optim.LBFGS(network.parameters()))


def test_a_step_on_a_constraint_has_its_step_size_and_the_optimiser_its_own_again() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.3)
    lagrangian = switching_subgradient(optimiser, 1, constraint_lr=0.05)
    lagrangian(x.sum(), x - 0.5).backward()
    optimiser.step()
    assert float(x.detach()) == pytest.approx(0.95) and optimiser.param_groups[0]["lr"] == 0.3
    optimiser.zero_grad()
    lagrangian(x.sum(), x - 2).backward()
    optimiser.step()
    assert float(x.detach()) == pytest.approx(0.65) and optimiser.param_groups[0]["lr"] == 0.3


# --- precision --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
def test_autocast_leaves_steps_near_those_of_single_precision(method: str) -> None:
    plain, loop = loop_of(method).run(20), loop_of(method)
    inner = loop.network.forward

    def forward(*args: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            scores = inner(*args)
            assert scores.dtype == torch.bfloat16
            return scores

    loop.network.forward = forward
    loop.run(20)
    assert finite(loop) and 0 < (loop.vector - plain.vector).abs().max() < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_parameters_in_half_precision_have_multipliers_in_single_precision(method: str) -> None:
    half = Loop(method, network=mlp().to(torch.bfloat16))
    half.data = (half.data[0].to(torch.bfloat16), *half.data[1:])
    half.multipliers.to(torch.bfloat16)
    half.run(20)
    assert finite(half) and all(value.dtype == torch.float32 for value in half.multipliers.buffers())


@pytest.mark.parametrize("optimiser", ["SGD", "Adam, fused"])
@pytest.mark.parametrize("method", METHODS)
def test_a_scaler_scales_steps_and_skips_them_on_overflow(method: str, optimiser: str) -> None:
    plain, scaled = Loop(method, OPTIMISERS[optimiser]).run(30), Loop(method, OPTIMISERS[optimiser])
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120, growth_interval=10**6)
    skipped = k = 0
    while k < 30:
        before = scaled.vector, scaled.duals, scaled.multipliers.steps
        scaled.optimiser.zero_grad()
        total = scaled.scalar(batch_of(k if skipped == 3 else 500 + skipped))
        scaler.scale(total * (2.0**20 if skipped < 3 else 1)).backward()
        if skipped >= 3:
            scaler.unscale_(scaled.optimiser)
            nn.utils.clip_grad_norm_(scaled.network.parameters(), 1e6)
        scale = scaler.get_scale()
        scaler.step(scaled.optimiser)
        scaler.update()
        if scaler.get_scale() < scale:
            assert torch.equal(before[0], scaled.vector) and torch.equal(before[1], scaled.duals)
            assert before[2] == scaled.multipliers.steps
            skipped += 1
            if skipped == 3:
                scaler.update(2.0**10)
            continue
        k += 1
    assert skipped == 3 and scaled.multipliers.steps == 30
    torch.testing.assert_close(scaled.vector, plain.vector, rtol=1e-3, atol=3e-5)
    torch.testing.assert_close(scaled.duals, plain.duals, rtol=1e-3, atol=3e-5)


def test_fused_optimisers_get_the_proximal_term_in_the_scale_of_their_gradients() -> None:
    """They are given scaled gradients, and unscale them themselves."""
    plain, scaled = (Loop("ssl_alm", OPTIMISERS["Adam, fused"]) for _ in range(2))
    plain.run(30)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    for k in range(30):
        scaled.optimiser.zero_grad()
        scaler.scale(scaled.scalar(batch_of(k))).backward()
        scaler.step(scaled.optimiser)
        scaler.update()
    torch.testing.assert_close(scaled.vector, plain.vector, rtol=1e-3, atol=3e-5)


def test_anchors_stay_where_they_are_on_overflow() -> None:
    loop = Loop("ssl_alm", OPTIMISERS["Adam, fused"]).run(5)
    before = [loop.optimiser.state[p]["anchor"].clone() for p in loop.network.parameters()]
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    loop.optimiser.zero_grad()
    scaler.scale(8 * loop.scalar(batch_of(5))).backward()
    scaler.step(loop.optimiser)
    scaler.update()
    assert scaler.get_scale() < 2.0**127 and loop.multipliers.steps == 5
    assert all(
        torch.equal(a, loop.optimiser.state[p]["anchor"])
        for a, p in zip(before, loop.network.parameters(), strict=True)
    )


@pytest.mark.parametrize("method", ["ghost", "idca"])
def test_directions_that_are_written_refuse_a_scaler(method: str) -> None:
    loop = loop_of(method)
    scaler = torch.amp.GradScaler("cpu")
    loop.optimiser.step = lambda: None
    loop.step(0)
    with pytest.raises(AssertionError, match=r"did not use scaler\.scale"):
        scaler.step(loop.optimiser)


# --- micro-batches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [method for method in METHODS if method != "plada prox-linear"])
def test_micro_batches_inside_hold_are_the_whole_batch(method: str) -> None:
    """Of equal sizes and equally many rows of each group, so that means of parts are means of the whole."""
    whole, parts = Loop(method), Loop(method)
    X, group, _ = whole.data
    members = [torch.nonzero(group == code).flatten() for code in (0, 1)]
    for k in range(30):
        draw = torch.Generator().manual_seed(k)
        rows = [part[torch.randint(0, len(part), (4, 8), generator=draw)] for part in members]
        micro = torch.cat(rows, dim=1)  # (4, 16)
        whole.optimiser.zero_grad()
        whole.scalar(micro.reshape(-1)).backward()
        whole.optimiser.step()
        parts.optimiser.zero_grad()
        with torch.no_grad():
            strict = parts.parts(micro.reshape(-1))[1]
        with parts.lagrangian.hold(strict):
            for rows_of_part in micro:
                (parts.scalar(rows_of_part) / 4).backward()
        parts.optimiser.step()
    assert parts.multipliers.steps == 30
    torch.testing.assert_close(parts.vector, whole.vector, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(parts.duals, whole.duals, rtol=1e-3, atol=1e-4)


def test_micro_batches_by_themselves_are_averaged_for_the_multipliers() -> None:
    """Exact for the plain Lagrangian, whose weights do not look at the batch."""
    whole, parts = (Loop("ascent", penalty=0.0) for _ in range(2))
    _, group, _ = whole.data
    members = [torch.nonzero(group == code).flatten() for code in (0, 1)]
    for k in range(30):
        micro = torch.cat([part[8 * k % 100 : 8 * k % 100 + 32].view(4, 8) for part in members], dim=1)
        whole.optimiser.zero_grad()
        whole.scalar(micro.reshape(-1)).backward()
        whole.optimiser.step()
        parts.optimiser.zero_grad()
        for rows in micro:
            (parts.scalar(rows) / 4).backward()
        parts.optimiser.step()
    torch.testing.assert_close(parts.vector, whole.vector, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parts.duals, whole.duals, rtol=1e-4, atol=1e-5)
    assert parts.multipliers.dual.max() > 0.05


def test_micro_batches_that_switch_differently_are_refused_by_name() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.1)
    lagrangian = switching_subgradient(optimiser, 1)
    lagrangian(x.sum(), x - 2).backward()
    lagrangian(x.sum(), x).backward()
    with pytest.raises(ConfigError, match=r"with lagrangian\.hold"):
        optimiser.step()
    assert float(x.detach()) == 1 and optimiser.param_groups[0]["lr"] == 0.1


def test_prox_linear_steps_refuse_micro_batches() -> None:
    loop = Loop("plada prox-linear")
    with pytest.raises(ConfigError, match="use 'linearised'"), loop.lagrangian.hold(torch.zeros(1)):
        pass


# --- compilation ------------------------------------------------------------------------------------------------------


@pytest.mark.long(suite="compiled")
@pytest.mark.parametrize("what", ["network", "forward and Lagrangian", "optimiser.step"])
@pytest.mark.parametrize("method", ["ascent", "ssl_alm", "switching", "plada"])
def test_compiled_parts_take_the_same_steps(method: str, what: str) -> None:
    torch._dynamo.reset()
    plain, compiled = Loop(method).run(6), Loop(method)
    step = torch.compile(compiled.optimiser.step, backend="aot_eager") if what == "optimiser.step" else None
    if what == "network":
        compiled.network.compile(backend="aot_eager")
    scalar = (
        compiled.scalar if what != "forward and Lagrangian" else torch.compile(compiled.scalar, backend="aot_eager")
    )
    for k in range(6):
        compiled.optimiser.zero_grad()
        scalar(batch_of(k)).backward()
        (step or compiled.optimiser.step)()
    torch.testing.assert_close(compiled.vector, plain.vector, rtol=1e-4, atol=2e-6)
    torch.testing.assert_close(compiled.duals, plain.duals, rtol=1e-4, atol=2e-6)
    assert compiled.multipliers.steps == 6


@pytest.mark.long(suite="compiled")
@pytest.mark.parametrize("method", ["ghost", "idca"])
def test_compiled_networks_serve_directions(method: str) -> None:
    torch._dynamo.reset()
    plain, compiled = loop_of(method).run(4), loop_of(method)
    compiled.network.compile(backend="aot_eager")
    torch.testing.assert_close(compiled.run(4).vector, plain.vector, rtol=1e-4, atol=2e-6)


@pytest.mark.long(suite="compiled")
@pytest.mark.parametrize("part", ["network", "loss", "loss, as told"])
def test_several_derivatives_of_a_compiled_loss_are_refused_by_name(part: str) -> None:
    """A compiled network is fine: what loss and constraints share is outside."""
    torch._dynamo.reset()
    plain, compiled = (Loop("plada prox-linear", network=relus()) for _ in range(2))
    plain.run(3)
    if part == "network":
        compiled.network.compile(backend="inductor")
    else:
        compiled.parts = torch.compile(compiled.parts, backend="inductor")
    with torch._functorch.config.patch(donated_buffer=part != "loss, as told"):
        if part == "loss":
            with pytest.raises(ConfigError, match=r"donated_buffer = False .* compile the network alone"):
                compiled.step(0)
            pair = Loop("alm", network=relus())
            ghost = StochasticGhost(pair.network.parameters(), KAPPA)
            with pytest.raises(ConfigError, match=r"donated_buffer = False .* compile the network alone"):
                ghost.full_backward(*torch.compile(pair.parts, backend="inductor")(batch_of(0)))
        else:
            torch.testing.assert_close(compiled.run(3).vector, plain.vector, rtol=1e-3, atol=1e-5)


def relus() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))


# --- constraints that are not as expected -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [alm, ssl_alm, switching_subgradient, lambda o, m: Lagrangian(Multipliers(m).follow(o))]
)
def test_a_single_constraint_may_be_a_number(make: Any) -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.1)
    lagrangian = make(optimiser, 1)
    for _ in range(5):
        optimiser.zero_grad()
        lagrangian(x.sum() ** 2, x.sum() - 0.5).backward()
        optimiser.step()
    assert 0 < float(x.detach()) < 1
    vector = torch.zeros(4)
    with pytest.raises(DataError, match=r"step 5: values has 4 constraints, these multipliers are of 1; make Multip"):
        lagrangian(x.sum(), vector + x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", ["loss", "constraint"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_leave_everything_as_it_was(method: str, wrong: str, number: float) -> None:
    loop = Loop(method).run(5)
    before = loop.vector, loop.duals
    loss, values = loop.parts(batch_of(5))
    loop.optimiser.zero_grad()
    if wrong == "loss":
        if method == "switching":
            values = values * 0 - 1  # otherwise the step does not look at the loss
        with pytest.raises(DataError, match=rf"step 5: the loss is {number}; the multipliers were left"):
            loop.lagrangian(loss * number, values)
    else:
        values = torch.cat([values[:-1], values[-1:] * 0 + number]) if len(values) > 1 else values * number
        name = loop.multipliers.names[-1]
        with pytest.raises(DataError, match=rf"step 5: constraints \['{name}'\] are not finite"):
            loop.lagrangian(loss, values)
    loop.optimiser.step()
    assert torch.equal(before[1], loop.duals) and torch.equal(before[0], loop.vector)
    loop.run(5, first=5)
    assert finite(loop) and loop.multipliers.steps == 10


@pytest.mark.parametrize("draw", ["strict", "again"])
def test_draws_without_a_graph_are_looked_at_too(draw: str) -> None:
    """The multipliers look at one and the weights at the other: the scalar alone may be finite."""
    loop = Loop("ascent", penalty=0.0).run(2)
    loss, values = loop.parts(batch_of(2))
    with pytest.raises(DataError, match=r"step 2: constraints \['constraint 1'\] are not finite"):
        loop.lagrangian(loss, values, **{"strict": values, "again": values} | {draw: torch.tensor([0.0, float("nan")])})
    loop.run(2)
    assert finite(loop) and torch.isfinite(loop.duals).all()


@pytest.mark.parametrize("wrong", ["loss", "constraint"])
def test_idca_and_ghost_refuse_numbers_that_are_not_finite(wrong: str) -> None:
    factor = {name: float("nan") if name == wrong else 1.0 for name in ("loss", "constraint")}
    loop = loop_of("idca").run(3)
    before, (X, group, y) = loop.vector, loop.data
    with pytest.raises(DataError, match="step 3: .*left as they were"):
        loop.idca.backward(X * factor["constraint"], group, loss=lambda scores: bce(scores, y) * factor["loss"])
    loop.optimiser.zero_grad()
    loop.optimiser.step()
    assert torch.equal(before, loop.vector)
    scores = loop.network(X)[:, 0]
    ghost = StochasticGhost(loop.network.parameters(), KAPPA)
    with pytest.raises(DataError, match="no finite solution"):
        ghost.full_backward(bce(scores, y) * factor["loss"], gap()(scores * factor["constraint"], group))


def test_families_are_told_apart_by_name_whatever_their_order() -> None:
    parity = BatchConstraint(2, "partial_demographic_parity", kappa=0.05)
    odds = BatchConstraint(2, "partial_equal_opportunity", kappa=0.1)
    families = {"parity": parity.labels, "opportunity": odds.labels}
    ends = []
    for order in (list(families), list(families)[::-1]):
        network, (X, group, y) = mlp(), table()
        optimiser = torch.optim.Adam(network.parameters(), 0.01)
        lagrangian = Lagrangian(Multipliers(families, Ascent(dual_step=0.5)).follow(optimiser))
        for k in range(60):
            rows = batch_of(k, 128)
            scores = network(X[rows])[:, 0]
            values = {"parity": parity(scores, group[rows]), "opportunity": odds(scores, group[rows], y[rows])}
            optimiser.zero_grad()
            lagrangian(bce(scores, y[rows]), {name: values[name] for name in order}).backward()
            optimiser.step()
        ends.append(torch.cat([p.detach().reshape(-1) for p in network.parameters()]))
    assert torch.equal(*ends)
    logged = lagrangian.multipliers.named_multipliers()
    assert next(iter(logged)) == f"parity: {parity.labels[0]}" and len(logged) == 4 and max(logged.values()) > 0
    assert lagrangian.multipliers.named_values().keys() == logged.keys()
    with pytest.raises(DataError, match=r"values are of \['odds', 'parity'\], these multipliers of \['opportunity'"):
        lagrangian(scores.sum(), {"parity": values["parity"], "odds": values["opportunity"]})


def test_nine_groups_have_seventy_two_constraints() -> None:
    draw = torch.Generator().manual_seed(0)
    group = torch.arange(900) % 9
    X = torch.randn(900, 5, generator=draw)
    X[:, 0] += 0.3 * group
    y = (torch.rand(900, generator=draw) < torch.sigmoid(X[:, 0])).float()
    constraint = BatchConstraint(9, "partial_demographic_parity", kappa=0.1)
    worst = {}
    for dual_step in (0.0, 0.1):
        network = mlp()
        optimiser = torch.optim.Adam(network.parameters(), 0.02)
        rule = Ascent(dual_step=dual_step, penalty=dual_step)
        lagrangian = Lagrangian(Multipliers(constraint.labels, rule).follow(optimiser))
        for rows in BalancedBatches(group, 25, batches=150):
            scores = network(X[rows])[:, 0]
            optimiser.zero_grad()
            lagrangian(bce(scores, y[rows]), constraint(scores, group[rows])).backward()
            optimiser.step()
        worst[dual_step] = float(constraint(network(X)[:, 0], group).detach().max())
    assert len(constraint.labels) == 72 and worst[0.0] > 0.3 and worst[0.1] < 0.1


@pytest.mark.parametrize("rule", [Ascent(dual_step=0.5), Slacks(dual_step=0.5), Switching(0.02, tolerance=0.005)])
def test_equalities_hold_from_both_sides(rule: Any) -> None:
    """``min (x - a)^2 / 2  s.t.  x = .25``, from above and from below."""
    for a in (-1.0, 1.0):
        x = torch.full((1,), a, requires_grad=True)
        optimiser = torch.optim.SGD([x], 0.05)
        lagrangian = Lagrangian(Multipliers(1, rule, equality=True).follow(optimiser))
        for _ in range(400):
            optimiser.zero_grad()
            lagrangian((x - a).square().sum() / 2, x - 0.25).backward()
            optimiser.step()
        assert float(x.detach()) == pytest.approx(0.25, abs=0.05)


def rate_gaps(scores: Any, group: Any) -> Any:
    """The differences of 0/1 rates that the smoothed constraints stand for."""
    rates = [(scores[group == code] > 0).float().mean() for code in (0, 1)]
    return torch.stack([rates[0] - rates[1], rates[1] - rates[0]]) - KAPPA


def test_surrogates_give_the_derivative_and_true_rates_decide() -> None:
    """With multipliers moved by 0/1 rates, these hold on average and the surrogate's need not."""
    network, (X, group, y) = mlp(), table()
    constraint = gap()
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    lagrangian = Lagrangian(Multipliers(2, Ascent(dual_step=0.05, penalty=0.0)).follow(optimiser))
    values: dict[str, list[float]] = {"rates": [], "surrogate": []}
    for k in range(700):
        rows = batch_of(k, 256)
        scores = network(X[rows])[:, 0]
        strict = rate_gaps(scores.detach(), group[rows])
        optimiser.zero_grad()
        lagrangian(bce(scores, y[rows]), constraint(scores, group[rows]), strict).backward()
        optimiser.step()
        if k >= 300:
            with torch.no_grad():
                scores = network(X)[:, 0]
                values["rates"].append(float(rate_gaps(scores, group).max()))
                values["surrogate"].append(float(constraint(scores, group).max()))
    means = {name: abs(float(np.mean(part))) for name, part in values.items()}
    assert means["rates"] < 0.012 < means["surrogate"]
    assert lagrangian.multipliers.latest is not None and torch.equal(lagrangian.multipliers.latest, strict)


def test_some_of_the_constraints_may_be_looked_at_in_a_step() -> None:
    x = torch.zeros(3, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.1)
    multipliers = Multipliers(3, Ascent(dual_step=1.0, penalty=0.0)).follow(optimiser)
    lagrangian = Lagrangian(multipliers)
    for j in (0, 2, 2):
        optimiser.zero_grad()
        lagrangian(x.sum() * 0, x[j : j + 1] + 1, which=torch.tensor([j])).backward()
        optimiser.step()
    assert multipliers.dual.tolist() == pytest.approx([1.0, 0.0, 2.0])
    assert x.detach().tolist() == pytest.approx([0.0, 0.0, -0.1])
    with pytest.raises(DataError, match="pass as many numbers"):
        lagrangian(x.sum(), x, which=torch.tensor([1]))


# --- following an optimiser -------------------------------------------------------------------------------------------


def test_what_is_evaluated_without_gradients_moves_nothing() -> None:
    loop = Loop("alm").run(3)
    before = loop.duals
    with torch.no_grad():
        loop.scalar(batch_of(99))
    loop.optimiser.zero_grad()
    loop.optimiser.step()
    assert torch.equal(before, loop.duals) and loop.multipliers.steps == 3


def test_a_lost_hook_is_noticed() -> None:
    loop = Loop("alm")
    loop.optimiser = copy.deepcopy(loop.optimiser)  # PyTorch leaves hooks behind
    loop.optimiser.param_groups[0]["params"] = list(loop.network.parameters())
    with pytest.warns(UserWarning, match="100 evaluations without a step"):
        for k in range(100):
            loop.scalar(batch_of(k)).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Loop("alm").run(120)


def test_multipliers_can_be_copied_and_stepped_by_hand() -> None:
    loop = Loop("ascent").run(5)
    twin = copy.deepcopy(loop.multipliers)
    assert torch.equal(twin.dual, loop.multipliers.dual) and twin.steps == 5
    X, group, _ = loop.data
    values = loop.gap(loop.network(X)[:, 0], group)
    Lagrangian(twin)(values.sum() * 0, values)
    twin.step()
    assert twin.steps == 6 and loop.multipliers.steps == 5
    torch.testing.assert_close(twin.dual, (loop.multipliers.dual + 0.2 * values.detach()).clamp(min=0))
    twin.step()
    assert twin.steps == 6, "nothing was evaluated"


def test_a_skipped_step_whose_gradients_are_zero_is_forgotten_by_hand() -> None:
    loop, other = Loop("ascent"), Loop("ascent")
    loop.scalar(batch_of(0)).backward()
    loop.optimiser.zero_grad(set_to_none=False)
    loop.multipliers.discard()
    loop.step(1)
    other.step(1)
    assert torch.equal(loop.duals, other.duals)


def test_what_cannot_be_followed_is_refused() -> None:
    network = mlp()
    optimiser = torch.optim.SGD(network.parameters(), 0.1)
    multipliers = Multipliers(2).follow(optimiser)
    with pytest.raises(ConfigError, match="follow an optimiser already"):
        multipliers.follow(optimiser)
    with pytest.raises(ConfigError, match=r"Linear is no torch\.optim\.Optimizer"):
        Multipliers(2).follow(nn.Linear(1, 1))
    with pytest.raises(ConfigError, match="smoothed already"):
        smoothed(smoothed(optimiser))
    for name in ("proximal", "smoothing"):
        with pytest.raises(ConfigError, match=f"{name} is -1"):
            smoothed(torch.optim.SGD(network.parameters(), 0.1), **{name: -1})
    with pytest.raises(ConfigError, match="follow no optimiser"):
        _ = Multipliers(2).trained
    with pytest.raises(ConfigError, match=r"call follow\(optimiser\) first"):
        StochasticIDCA(network, gap()).backward(torch.zeros(2, 5), torch.arange(2), loss=lambda s: s.sum())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (0, "must be some"),
        ("abc", "use their number or their names"),
        (True, "use their number"),
        (2.0, "use their number"),
        (["a", "a"], "repeats"),
        ({}, "must be some"),
    ],
)
def test_constraints_need_a_number_or_names(wrong: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Multipliers(wrong)


def test_equalities_are_as_many_as_constraints() -> None:
    with pytest.raises(ConfigError, match="equality has 3 entries, there are 2 constraints"):
        Multipliers(2, equality=[True, False, True])
    with pytest.raises(ConfigError, match=r"Plada\(tolerance=0\.0\)"):
        Multipliers(2, Plada(), equality=True)
