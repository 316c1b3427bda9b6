"""Optimisers under constraints: known iterates and optima, and the steps of the project's own methods."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: E402

from partialfair.algorithms.deep.network_problem import NetworkProblem  # noqa: E402
from partialfair.algorithms.deep.networks import DeepIDCASettings  # noqa: E402
from partialfair.algorithms.deep.stochastic_idca import first_state, outer_iteration  # noqa: E402
from partialfair.algorithms.stochastic.ssl_alm import SmoothedSteps, SSLALMSettings  # noqa: E402
from partialfair.algorithms.stochastic.stochastic_ghost import GhostSettings, GhostSteps  # noqa: E402
from partialfair.algorithms.stochastic.stochastic_problem import StochasticProblem  # noqa: E402
from partialfair.algorithms.stochastic.stochastic_switching import (  # noqa: E402
    StochasticSwitchingSettings,
    SwitchingSteps,
)
from partialfair.constraints import loss_parity, partial_demographic_parity, partial_statistical_parity  # noqa: E402
from partialfair.constraints.stratum_means import sampled  # noqa: E402
from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.models.network_function import NetworkFunction  # noqa: E402
from partialfair.models.stacked import StackedMLP  # noqa: E402
from partialfair.torch import (  # noqa: E402
    SSLALM,
    BatchConstraint,
    StochasticALM,
    StochasticGhost,
    StochasticIDCA,
    SwitchingSubgradient,
)

SLACK = 0.25


@pytest.fixture(autouse=True)
def double() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


# --- (x - 1)^2 / 2 subject to |x| <= .25, from x = 1: the iterates are known ----------------------------------------


def walk(make: Callable[[list[Any]], Any], steps: int) -> tuple[list[float], Any]:
    x = torch.ones(1, requires_grad=True)
    optimiser, points = make([x]), []
    for _ in range(steps):
        loss, values = (x - 1).square().sum() / 2, torch.cat([x, -x]) - SLACK
        optimiser.full_step(loss, values) if isinstance(optimiser, StochasticGhost) else optimiser.step(loss, values)
        points.append(float(x.detach()))
    return points, optimiser


def test_ssl_alm_takes_the_known_steps_to_the_solution() -> None:
    points, optimiser = walk(SSLALM, 3)
    np.testing.assert_allclose(points, [0.979, 0.95820881, 0.93743339], atol=5e-9)
    np.testing.assert_allclose(optimiser.multipliers, [0.10936044, -0.18239148], atol=5e-9)
    points, optimiser = walk(SSLALM, 1500)
    assert points[-1] == pytest.approx(0.25, abs=5e-3)
    np.testing.assert_allclose(optimiser.multipliers, [0.75, 0], atol=0.03)


def test_alm_takes_the_known_steps() -> None:
    np.testing.assert_allclose(walk(StochasticALM, 3)[0], [0.979, 0.95778881, 0.93640335], atol=5e-9)


def test_ghost_takes_the_known_steps() -> None:
    points, optimiser = walk(lambda params: StochasticGhost(params, slack=SLACK), 475)
    np.testing.assert_allclose(points[:3], [0.98, 0.96005, 0.94014975], atol=1e-8)
    assert points[-1] == pytest.approx(0.25000253, abs=1e-8)
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.02286281, abs=1e-8)
    general = walk(StochasticGhost, 30)[0]
    np.testing.assert_allclose(general, points[:30], atol=1e-6)


def test_switching_steps_on_the_worst_constraint_until_it_holds() -> None:
    points, _ = walk(SwitchingSubgradient, 16)
    np.testing.assert_allclose(points, [*(1 - 0.05 * np.arange(1, 16)), 0.625], atol=1e-12)


# --- logistic regression on the group alone, |difference of mean losses or of shares| bounded: one number to find -----

RATES = (0.5, 0.62)


def scores_of_groups() -> tuple[Any, Any]:
    group = torch.as_tensor(np.repeat([0, 1], 100))
    y = torch.as_tensor(np.concatenate([np.arange(100) < 100 * rate for rate in RATES]).astype(float))
    return group, y


def loss_at(low: float, gap: float) -> float:
    rate, b = np.array(RATES), np.array([low, low + gap])
    return float(np.mean(np.logaddexp(0, b) - rate * b))


OPTIMISERS: dict[str, tuple[Callable[..., Any], int, float]] = {
    "ssl_alm": (lambda p: SSLALM(p, 0.3, proximal=0.5, dual_step=0.1, smoothing=0.9), 800, 2e-3),
    "alm": (lambda p: StochasticALM(p, 0.2, penalty=2.0, dual_step=0.2), 800, 2e-3),
    "switching": (lambda p: SwitchingSubgradient(p, 0.05, constraint_lr=0.01), 800, 5e-3),
    "ghost": (lambda p: StochasticGhost(p, 0.5, slack=0.1, decay=0.01), 400, 2e-3),
}


@pytest.mark.parametrize("name", [*OPTIMISERS, "idca"])
def test_every_optimiser_ends_at_the_constrained_optimum(name: str) -> None:
    group, y = scores_of_groups()
    network = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(network.weight)
    constraint = BatchConstraint(2, "partial_demographic_parity", kappa=0.1)
    X = torch.eye(2)[group]

    def loss(scores: Any) -> Any:
        return binary_cross_entropy_with_logits(scores, y)

    if name == "idca":
        idca, tolerance = StochasticIDCA(network, constraint, inner_steps=50, step_scale=10.0, rho=0.0), 5e-3
        for _ in range(400):
            idca.step(X, group, loss=loss)
    else:
        make, steps, tolerance = OPTIMISERS[name]
        optimiser = make(network.parameters())
        step = optimiser.full_step if name == "ghost" else optimiser.step
        for _ in range(steps):
            scores = network(X)[:, 0]
            step(loss(scores), constraint(scores, group))
    low = minimize_scalar(lambda b: loss_at(b, 0.1)).x
    np.testing.assert_allclose(network.weight.detach()[0], [low, low + 0.1], atol=5 * tolerance)
    assert float(loss(network(X)[:, 0]).detach()) == pytest.approx(loss_at(low, 0.1), abs=tolerance)
    assert np.log(RATES[1] / (1 - RATES[1])) > low + 0.25, "without the constraint it would lie elsewhere"


# --- the same batches as the project's own methods --------------------------------------------------------------------


def drawn(n: int = 400) -> tuple[StochasticProblem, Any, Any, Any]:
    random = np.random.default_rng(0)
    group = (random.random(n) < 0.3).astype(int)
    X = random.normal(size=(n, 5)) + 0.5 * group[:, None]
    y = np.where(X[:, 0] + 0.7 * group + random.normal(size=n) > 0.3, 1.0, -1.0)
    means = sampled(loss_parity.build(group, y, interval=[(0.0, 1.0)], kappa=0.01))
    problem = StochasticProblem(StackedMLP(5, (6, 4)), X, (y > 0).astype(float), means)
    return problem, torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(group)


def mlp(theta: Any, shapes: Any) -> Any:
    layers: list[Any] = []
    for n_out, n_in in shapes:
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    network = nn.Sequential(*layers[:-1])
    nn.utils.vector_to_parameters(torch.tensor(theta), network.parameters())
    return network


SAME: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "ssl_alm": (SmoothedSteps(SSLALMSettings()), SSLALM),
    "alm": (SmoothedSteps(SSLALMSettings(proximal=0.0)), StochasticALM),
    "switching": (
        SwitchingSteps(StochasticSwitchingSettings(objective_step=0.1, decay_start=3)),
        lambda p: SwitchingSubgradient(p, 0.1, decay_start=3, steps_per_pass=25),
    ),
    "ghost": (GhostSteps(GhostSettings()), lambda p: StochasticGhost(p, slack=0.01)),
}


@pytest.mark.parametrize("name", SAME)
def test_steps_are_those_of_the_projects_own_method_on_the_same_rows(name: str) -> None:
    method, make = SAME[name]
    problem, X, y, group = drawn()
    x = problem.score.initial(np.random.default_rng(1))[None]
    network, constraint = mlp(x[0], problem.score.shapes), BatchConstraint(2, "loss_parity", kappa=0.01)
    optimiser, streams, state = make(network.parameters()), method.streams(problem, [7]), method.start(problem, x)

    def loss(rows: Any) -> Any:
        return binary_cross_entropy_with_logits(network(X[rows])[:, 0], (y[rows] > 0).double())

    def values(rows: Any) -> Any:
        rows = rows.ravel()
        return constraint(network(X[rows])[:, 0], group[rows], y[rows])

    for k in range(40):
        if name == "ghost":
            draw = streams.at(k)[0]
            parts = iter([slice(0, 1), slice(1, None, 2), slice(2, None, 2)])
            sizes: list[int] = []

            def sample(size: int, draw: Any = draw, parts: Any = parts, sizes: Any = sizes) -> Any:
                part = next(parts)
                sizes.append(size)
                assert draw.objective[part].size == size
                return loss(draw.objective[part]), values(draw.strata[:, part])

            optimiser.step(sample, draw.level)
        else:
            objective, first, second = (part.at(k)[0] for part in streams)
            lazily = (lambda f: f) if name == "switching" else (lambda f: f())
            optimiser.step(
                *(lazily(lambda f=f, r=r: f(r)) for f, r in ((loss, objective), (values, first), (values, second)))
            )
        method.step(problem, streams, state, k)
    found = nn.utils.parameters_to_vector(network.parameters()).detach()
    assert np.abs(state["x"][0] - x[0]).max() > 0.01
    np.testing.assert_allclose(found, state["x"][0], atol=1e-10)
    if name in ("ssl_alm", "alm"):
        np.testing.assert_allclose(optimiser.multipliers, state["dual"][0], atol=1e-10)


@pytest.mark.parametrize("family", [partial_statistical_parity, partial_demographic_parity])
@pytest.mark.parametrize("keep", [True, False])
def test_idca_is_the_projects_own_on_the_same_rows(family: Any, keep: bool) -> None:
    problem, X, y, group = drawn()
    options = {"interval": ((0.1, 0.6),), "kappa": 0.05, "kappa_scale": "absolute", "grid": 3}
    program = family.build(group.numpy().astype(np.int16), y.numpy(), **options)
    constraint = BatchConstraint(2, family.__name__.split(".")[-1], **options)
    network = mlp(problem.score.initial(np.random.default_rng(1)), problem.score.shapes)
    own = NetworkProblem(
        NetworkFunction(Ungrouped(copy.deepcopy(network)), torch.device("cpu")),
        X.numpy(),
        y.numpy(),
        group.numpy(),
        program,
    )
    settings = DeepIDCASettings(inner_steps=15, rho=0.5, batch=24, step_scale=2.0, keep_queues=keep)
    idca = StochasticIDCA(network, constraint, inner_steps=15, rho=0.5, step_scale=2.0, keep_queues=keep)
    state = first_state(own, own.function.start(), program.start)
    shares = torch.as_tensor([len(rows) for rows in own.subset_rows]) / len(y)
    for outer in range(3):
        state = outer_iteration(own, settings, state, np.random.default_rng(outer))
        stream = np.random.default_rng(outer)
        for _ in range(15):
            rows = np.concatenate([stream.choice(part, 12, replace=False) for part in own.subset_rows])
            weights = shares[group[rows]] / 12

            def loss(scores: Any, rows: Any = rows, weights: Any = weights) -> Any:
                return (weights * nn.functional.softplus(-y[rows] * scores)).sum()

            idca.step(X[rows], group[rows], y[rows], loss=loss)
        found = torch.cat([p.detach().reshape(-1) for p in [*network.parameters(), constraint.thetas]])
        np.testing.assert_allclose(found, state.x, atol=1e-6)  # the project's batches are float32
    if keep:
        np.testing.assert_allclose(idca.queues, state.queues, atol=1e-5)
        assert state.multipliers.max() > 1e-3


class Ungrouped(nn.Module):  # type: ignore[misc]
    """A network as the project calls it, with the group, which it does not use."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any, group: Any) -> Any:
        return self.inner(x.double())[:, 0]


# --- torch.optim's habits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [SSLALM, StochasticALM, SwitchingSubgradient, lambda p: StochasticGhost(p, slack=SLACK)]
)
def test_a_stored_state_goes_on_as_if_nothing_had_happened(make: Any) -> None:
    whole = walk(make, 8)[0]
    x = torch.ones(1, requires_grad=True)
    optimiser = make([x])
    for k in range(8):
        if k == 4:
            stored = copy.deepcopy(optimiser.state_dict())
            optimiser = make([x])
            optimiser.load_state_dict(stored)
        loss, values = (x - 1).square().sum() / 2, torch.cat([x, -x]) - SLACK
        optimiser.full_step(loss, values) if isinstance(optimiser, StochasticGhost) else optimiser.step(loss, values)
        assert float(x.detach()) == pytest.approx(whole[k], abs=1e-15)


def test_a_schedule_of_the_step_is_followed() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = SwitchingSubgradient([x], 0.5)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.5)
    points = []
    for _ in range(2):
        optimiser.step(x.square().sum() / 2, -torch.ones(1))
        schedule.step()
        points.append(float(x.detach()))
    assert points == [0.5, 0.375] and optimiser.on_loss


def test_what_is_not_needed_is_not_computed() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = SwitchingSubgradient([x])

    def never() -> Any:
        raise AssertionError

    optimiser.step(never, lambda: x - 0.5)
    assert float(x.detach()) == 0.95 and not optimiser.on_loss
    optimiser.step(lambda: x.sum(), lambda: x - 2, never)
    assert float(x.detach()) == pytest.approx(0.45) and optimiser.on_loss


def test_levels_have_a_geometric_distribution() -> None:
    torch.manual_seed(0)
    ghost = StochasticGhost([torch.ones(1, requires_grad=True)], success=0.5, largest=3)
    levels = np.bincount([ghost.draw_level() for _ in range(3000)], minlength=4) / 3000
    np.testing.assert_allclose(levels, np.array([8, 4, 2, 1]) / 15, atol=0.03)


def test_what_cannot_be_used_is_refused() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ConfigError, match="lr is 0"):
        SSLALM([x], 0.0)
    with pytest.raises(ConfigError, match="proximal is -1"):
        SSLALM([x], proximal=-1)
    with pytest.raises(ConfigError, match="radius is 20"):
        StochasticGhost([x], radius=20)
    with pytest.raises(ConfigError, match="success is 1"):
        StochasticGhost([x], success=1.0)
    for values, said in (
        (torch.zeros(6), "there are 6: leave slack out"),
        (torch.cat([x - 0.2, -x - 0.2]), "slack is 0.05, the two constraints have 0.2"),
    ):
        with pytest.raises(ConfigError, match=said):
            StochasticGhost([x], slack=0.05).full_step(x.sum() ** 2, values)
    assert not SSLALM([x]).multipliers.numel()
    with pytest.raises(ConfigError, match="'average' or 'last'"):
        StochasticIDCA(nn.Linear(1, 1), BatchConstraint(2), next_iterate="best")
    with pytest.raises(DataError, match="lower lr"):
        StochasticGhost([x], slack=0.1).full_step(x.sum() * torch.nan, torch.cat([x - 0.1, -x - 0.1]))


def fitted(kind: str, net: nn.Module) -> tuple[Any, Callable[[], None]]:
    """An optimiser of a network, and what makes a step of it on one batch."""
    random = np.random.default_rng(0)
    dtype = next(net.parameters()).dtype
    x, group = torch.as_tensor(random.normal(size=(40, 2)), dtype=dtype), torch.as_tensor(np.arange(40) % 2)
    y = torch.as_tensor(random.normal(size=40) > 0, dtype=dtype)
    constraint = BatchConstraint(2, kappa=0.05).to(dtype)

    def loss(scores: Any) -> Any:
        return binary_cross_entropy_with_logits(scores, y)

    if kind == "StochasticIDCA":
        idca = StochasticIDCA(net, constraint, inner_steps=5)
        return idca, lambda: (idca.step(x, group, loss=loss), None)[1]
    own = SSLALM([*net.parameters(), *constraint.parameters()])

    def step() -> None:
        scores = net(x).reshape(-1)
        own.step(loss(scores), constraint(scores, group))

    return own, step


@pytest.mark.parametrize("kind", ["StochasticIDCA", "SSLALM"])
def test_a_state_moves_to_the_type_and_device_of_the_parameters(kind: str) -> None:
    """As the moments of PyTorch's own optimisers do."""
    torch.manual_seed(0)
    net = nn.Linear(2, 1).float()
    before, step = fitted(kind, net)
    step()
    double = copy.deepcopy(net).double()
    after, step = fitted(kind, double)
    after.load_state_dict(before.state_dict())
    tensors = [one for value in after.kept.values() for one in (value if isinstance(value, list) else [value])]
    assert {one.dtype for one in tensors if isinstance(one, torch.Tensor)} == {torch.float64}
    step()
    elsewhere, _ = fitted(kind, copy.deepcopy(net))
    for group in elsewhere.param_groups:
        group["params"] = [nn.Parameter(p.detach().to("meta")) for p in group["params"]]
    elsewhere.load_state_dict(before.state_dict())
    tensors = [one for value in elsewhere.kept.values() for one in (value if isinstance(value, list) else [value])]
    assert {one.device.type for one in tensors if isinstance(one, torch.Tensor)} == {"meta"}


@pytest.mark.parametrize("kind", ["StochasticIDCA", "SSLALM"])
def test_parameters_that_are_frozen_later_are_noticed(kind: str) -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    _, step = fitted(kind, net)
    step()
    net[0].weight.requires_grad_(False)
    with pytest.raises(ConfigError, match="not those of the steps before; make a new optimiser"):
        step()


@pytest.mark.parametrize("wrong", ["a", float("nan"), float("inf"), True])
def test_settings_of_an_optimiser_are_finite_numbers(wrong: Any) -> None:
    for name in ("lr", "penalty", "proximal"):
        with pytest.raises(ConfigError, match=f"{name} is {wrong!r}; use"):
            SSLALM([nn.Parameter(torch.zeros(1))], **{name: wrong})
