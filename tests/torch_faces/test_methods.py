"""The papers' methods by their names: known iterates and optima, and the steps of the project's own runs."""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: E402

from papers.partial_fairness.algorithms.network_problem import NetworkProblem  # noqa: E402
from papers.partial_fairness.algorithms.networks import DeepIDCASettings  # noqa: E402
from papers.partial_fairness.algorithms.stochastic_idca import first_state, outer_iteration  # noqa: E402
from papers.plada.algorithms.gap_problem import GapState  # noqa: E402
from papers.plada.algorithms.group_losses import GroupLosses  # noqa: E402
from papers.plada.algorithms.network_plada import MultiplierModel as PaperModel  # noqa: E402
from papers.plada.algorithms.network_plada import Network as PaperNetwork  # noqa: E402
from papers.plada.algorithms.plada_solver import Parameters as PladaParameters  # noqa: E402
from papers.plada.algorithms.plada_solver import Plada as PladaRun  # noqa: E402
from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings  # noqa: E402
from papers.stochastic_benchmark.algorithms.stochastic_ghost import GhostSettings, GhostSteps  # noqa: E402
from papers.stochastic_benchmark.algorithms.stochastic_problem import StochasticProblem  # noqa: E402
from papers.stochastic_benchmark.algorithms.stochastic_switching import (  # noqa: E402
    StochasticSwitchingSettings,
    SwitchingSteps,
)
from partialfair.algorithms import stochastic_steps  # noqa: E402
from partialfair.constraints.family import built  # noqa: E402
from partialfair.constraints.stratum_means import sampled  # noqa: E402
from partialfair.errors import ConfigError  # noqa: E402
from partialfair.models.network_function import NetworkFunction  # noqa: E402
from partialfair.models.stacked import StackedMLP  # noqa: E402
from partialfair.torch import (  # noqa: E402
    BatchConstraint,
    GhostDecay,
    Lagrangian,
    MultiplierModel,
    StochasticGhost,
    StochasticIDCA,
    alm,
    plada,
    ssl_alm,
    switching_subgradient,
)
from tests.torch_faces.loops import KAPPA, batch_of, gap, table  # noqa: E402
from tests.torch_faces.loops import mlp as small_mlp  # noqa: E402
from tests.torch_faces.plain_steps import ghost_step, ssl_alm_step, switching_step  # noqa: E402

SLACK = 0.25


@pytest.fixture(autouse=True)
def double() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


# --- (x - 1)^2 / 2 subject to |x| <= .25, from x = 1: the iterates are known ----------------------------------------


Step = Callable[[Any, Any], None]


def by(make: Callable[..., Lagrangian], lr: float, m: int = 2, **settings: Any) -> Callable[[Any], tuple[Step, Any]]:
    """A method on parameters: its step on loss and constraint values, and its Lagrangian."""

    def started(params: Any) -> tuple[Step, Any]:
        optimiser = torch.optim.SGD(params, lr)
        lagrangian = make(optimiser, m, **settings)

        def step(loss: Any, values: Any) -> None:
            optimiser.zero_grad()
            lagrangian(loss, values).backward()
            optimiser.step()

        return step, lagrangian

    return started


def by_ghost(lr: float, slack: float | None, decay: float = 0.05) -> Callable[[Any], tuple[Step, Any]]:
    """The same of Stochastic Ghost without levels, and its optimiser."""

    def started(params: Any) -> tuple[Step, Any]:
        params = list(params)
        optimiser = torch.optim.SGD(params, lr)
        schedule, ghost = GhostDecay(optimiser, decay), StochasticGhost(params, slack)

        def step(loss: Any, values: Any) -> None:
            optimiser.zero_grad()
            ghost.full_backward(loss, values)
            optimiser.step()
            schedule.step()

        return step, optimiser

    return started


def walk(make: Callable[[Any], tuple[Step, Any]], steps: int) -> tuple[list[float], Any]:
    x = torch.ones(1, requires_grad=True)
    (step, method), points = make([x]), []
    for _ in range(steps):
        step((x - 1).square().sum() / 2, torch.cat([x, -x]) - SLACK)
        points.append(float(x.detach()))
    return points, method


def test_ssl_alm_takes_the_known_steps_to_the_solution() -> None:
    points, lagrangian = walk(by(ssl_alm, 0.01), 3)
    np.testing.assert_allclose(points, [0.979, 0.95820881, 0.93743339], atol=5e-9)
    np.testing.assert_allclose(lagrangian.multipliers.dual, [0.10936044, -0.18239148], atol=5e-9)
    points, lagrangian = walk(by(ssl_alm, 0.01), 1500)
    assert points[-1] == pytest.approx(0.25, abs=5e-3)
    np.testing.assert_allclose(lagrangian.multipliers.dual, [0.75, 0], atol=0.03)


def test_alm_takes_the_known_steps() -> None:
    np.testing.assert_allclose(walk(by(alm, 0.01), 3)[0], [0.979, 0.95778881, 0.93640335], atol=5e-9)


def test_ghost_takes_the_known_steps() -> None:
    points, optimiser = walk(by_ghost(0.05, SLACK), 475)
    np.testing.assert_allclose(points[:3], [0.98, 0.96005, 0.94014975], atol=1e-8)
    assert points[-1] == pytest.approx(0.25000253, abs=1e-8)
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.02286281 * (1 - 0.05 * 0.02286281), abs=1e-8)
    general = walk(by_ghost(0.05, None), 30)[0]
    np.testing.assert_allclose(general, points[:30], atol=1e-6)


def test_switching_steps_on_the_worst_constraint_until_it_holds() -> None:
    points, _ = walk(by(switching_subgradient, 0.5), 16)
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


METHODS: dict[str, tuple[Callable[[Any], tuple[Step, Any]], int, float]] = {
    "ssl_alm": (by(ssl_alm, 0.3, proximal=0.5, dual_step=0.1, smoothing=0.9), 800, 2e-3),
    "alm": (by(alm, 0.2, penalty=2.0, dual_step=0.2), 800, 2e-3),
    "switching": (by(switching_subgradient, 0.05, constraint_lr=0.01), 800, 5e-3),
    "plada": (by(plada, 0.1, penalty=1.0), 1500, 5e-3),
    "plada prox-linear": (by(plada, 0.1, 1, tolerance=0.1, theta_step="prox_linear"), 1500, 5e-3),
    "ghost": (by_ghost(0.5, 0.1, 0.01), 400, 2e-3),
}


@pytest.mark.parametrize("name", [*METHODS, "idca"])
def test_every_method_ends_at_the_constrained_optimum(name: str) -> None:
    group, y = scores_of_groups()
    network = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(network.weight)
    constraint = BatchConstraint(2, "partial_demographic_parity", kappa=0.1)
    X = torch.eye(2)[group]

    def loss(scores: Any) -> Any:
        return binary_cross_entropy_with_logits(scores, y)

    if name == "idca":
        idca, tolerance = StochasticIDCA(network, constraint, inner_steps=50, rho=0.0), 5e-3
        optimiser = torch.optim.SGD(idca.trained, 0.1)
        idca.follow(optimiser)
        for _ in range(400):
            idca.backward(X, group, loss=loss)
            optimiser.step()
    else:
        make, steps, tolerance = METHODS[name]
        step, _ = make(network.parameters())
        values = constraint.signed if name == "plada prox-linear" else constraint
        for _ in range(steps):
            scores = network(X)[:, 0]
            step(loss(scores), values(scores, group))
    low = minimize_scalar(lambda b: loss_at(b, 0.1)).x
    np.testing.assert_allclose(network.weight.detach()[0], [low, low + 0.1], atol=5 * tolerance)
    assert float(loss(network(X)[:, 0]).detach()) == pytest.approx(loss_at(low, 0.1), abs=tolerance)
    assert np.log(RATES[1] / (1 - RATES[1])) > low + 0.25, "without the constraint it would lie elsewhere"


# --- the steps written out: the same bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["ssl_alm", "alm", "switching", "ghost"])
def test_steps_have_the_bits_of_the_steps_written_out(name: str, dtype: Any) -> None:
    torch.set_default_dtype(dtype)
    X, group, y = table()
    constraint, networks = gap(), (small_mlp(), small_mlp())
    params, start = list(networks[0].parameters()), nn.utils.parameters_to_vector(networks[0].parameters()).detach()
    optimiser, lr = torch.optim.SGD(networks[1].parameters(), 0.1), 0.1
    ghost, schedule = StochasticGhost(networks[1].parameters(), KAPPA), GhostDecay(optimiser)
    settings = {"tolerance": 0.01, "tolerance_decay": 1.0} if name == "switching" else {}
    factory = {"ssl_alm": ssl_alm, "alm": alm, "switching": switching_subgradient, "ghost": alm}[name]
    lagrangian, state, on_loss = factory(optimiser, 2, **settings), {}, 0

    def parts(network: Any, number: int) -> Any:
        rows = batch_of(number, 48)
        scores = network(X[rows])[:, 0]
        return binary_cross_entropy_with_logits(scores, y[rows]), constraint(scores, group[rows])

    for k in range(50):
        batches, others = ([parts(network, 3 * k + j) for j in range(3)] for network in networks)
        (loss, _), (_, first), (_, second) = batches
        if name == "ghost":
            lr = lr * (1 - 0.05 * lr) if k else lr
            ghost_step(params, batches, k % 3, KAPPA, lr)
            draws = iter(others)
            optimiser.zero_grad()
            ghost.backward(lambda size, draws=draws: next(draws), k % 3)
        elif name == "switching":
            on_loss += switching_step(params, 0.01, loss, first, second, lr, 0.05)
            optimiser.zero_grad()
            lagrangian(others[0][0], others[2][1], strict=others[1][1]).backward()
        else:
            ssl_alm_step(params, state, loss, first, second, lr=lr, proximal=2.0 if name == "ssl_alm" else 0.0)
            optimiser.zero_grad()
            lagrangian(others[0][0], others[1][1], again=others[2][1]).backward()
        optimiser.step()
        if name == "ghost":
            schedule.step()
    ends = [nn.utils.parameters_to_vector(network.parameters()).detach() for network in networks]
    assert torch.equal(*ends) and (ends[0] - start).abs().max() > 0.05 and ends[0].dtype == dtype
    if state:
        assert torch.equal(state["dual"], lagrangian.multipliers.dual)
        assert torch.equal(state["slack"], lagrangian.multipliers.slack)
    assert name != "switching" or 5 < on_loss < 45


# --- the same batches as the project's own methods --------------------------------------------------------------------


def drawn(n: int = 400) -> tuple[StochasticProblem, Any, Any, Any]:
    random = np.random.default_rng(0)
    group = (random.random(n) < 0.3).astype(int)
    X = random.normal(size=(n, 5)) + 0.5 * group[:, None]
    y = np.where(X[:, 0] + 0.7 * group + random.normal(size=n) > 0.3, 1.0, -1.0)
    means = sampled(built("loss_parity", group, y, interval=[(0.0, 1.0)], kappa=0.01))
    problem = StochasticProblem(StackedMLP(5, (6, 4)), X, (y > 0).astype(float), means)
    return problem, torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(group)


def mlp(theta: Any, shapes: Any) -> Any:
    layers: list[Any] = []
    for n_out, n_in in shapes:
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    network = nn.Sequential(*layers[:-1])
    nn.utils.vector_to_parameters(torch.tensor(theta), network.parameters())
    return network


SAME: dict[str, tuple[Any, float, Any]] = {
    "ssl_alm": (SmoothedSteps(SSLALMSettings()), 0.01, ssl_alm),
    "alm": (SmoothedSteps(SSLALMSettings(proximal=0.0)), 0.01, alm),
    "switching": (
        SwitchingSteps(StochasticSwitchingSettings(objective_step=0.1, decay_start=3)),
        0.1,
        lambda optimiser, m: switching_subgradient(optimiser, m, decay_start=3, steps_per_pass=25),
    ),
    "ghost": (GhostSteps(GhostSettings()), 0.05, None),
}


def both_on_drawn_rows(name: str) -> tuple[Any, Any]:
    """Parameters of the network and of the paper's run after 40 steps on the same rows."""
    method, lr, make = SAME[name]
    problem, X, y, group = drawn()
    x = problem.score.initial(np.random.default_rng(1))[None]
    network, constraint = mlp(x[0], problem.score.shapes), BatchConstraint(2, "loss_parity", kappa=0.01)
    optimiser, streams, state = (
        torch.optim.SGD(network.parameters(), lr),
        method.streams(problem, [7]),
        method.start(problem, x),
    )
    lagrangian = make(optimiser, 2) if make else None
    ghost, schedule = StochasticGhost(network.parameters(), 0.01), GhostDecay(optimiser)

    def loss(rows: Any) -> Any:
        return binary_cross_entropy_with_logits(network(X[rows])[:, 0], (y[rows] > 0).double())

    def values(rows: Any) -> Any:
        rows = rows.ravel()
        return constraint(network(X[rows])[:, 0], group[rows], y[rows])

    for k in range(40):
        optimiser.zero_grad()
        if lagrangian is None:
            draw = streams.drawn_at(k)[0]
            parts = iter([slice(0, 1), slice(1, None, 2), slice(2, None, 2)])

            def sample(size: int, draw: Any = draw, parts: Any = parts) -> Any:
                part = next(parts)
                assert draw.objective[part].size == size
                return loss(draw.objective[part]), values(draw.strata[:, part])

            ghost.backward(sample, draw.level)
        else:
            objective, first, second = (part.drawn_at(k)[0] for part in streams)
            if name == "switching":
                functions = (lambda f=f, r=r: f(r) for f, r in ((loss, objective), (values, second), (values, first)))
                lagrangian(*functions).backward()
            else:
                lagrangian(loss(objective), values(first), again=values(second)).backward()
        optimiser.step()
        if lagrangian is None:
            schedule.step()
        method.step(problem, streams, state, k)
    moved = nn.utils.parameters_to_vector(network.parameters()).detach()
    assert np.abs(state["x"][0] - x[0]).max() > 0.01
    if name in ("ssl_alm", "alm"):
        np.testing.assert_allclose(lagrangian.multipliers.dual, state["dual"][0], atol=1e-10)
    return moved.numpy(), state["x"][0]


@pytest.mark.parametrize("name", SAME)
def test_steps_are_those_of_the_projects_own_runs_on_the_same_rows(name: str) -> None:
    np.testing.assert_allclose(*both_on_drawn_rows(name), atol=1e-10)


def both_pladas(reading: Any) -> tuple[Any, Any]:
    """A linear score on a table, two gaps, 200 steps; the paper's settings and its ball, which is not reached."""
    random = np.random.default_rng(0)
    X, group = random.normal(size=(300, 6)), np.arange(300) % 2
    y = np.where(X[:, 1] + 1.5 * group + random.normal(size=300) > 0.7, 1.0, -1.0)
    X[:, 0] += group
    dataset = SimpleNamespace(X=X, y=y, group=group)
    problem = sigmoid_gaps(dataset)
    settings = PladaParameters(eta=0.5, tau=0.05, kappa=5.0)
    run = PladaRun(problem, settings, np.zeros((6, 1)), theta_step=reading)
    theta = nn.Parameter(torch.zeros(6))
    optimiser = torch.optim.SGD([theta], settings.eta)
    lagrangian = plada(
        optimiser, 2, tolerance=0.02, penalty=settings.rho, decay=5.0, slack_step=0.05, theta_step=reading
    )
    for _ in range(200):
        scores = torch.as_tensor(X) @ theta
        optimiser.zero_grad()
        lagrangian(problem.torch_loss(scores), problem.torch_gaps(scores)).backward()
        optimiser.step()
        run.step()
    np.testing.assert_allclose(lagrangian.multipliers.centre, run.mu[:, 0], atol=1e-13)
    assert np.abs(theta.detach().numpy()).max() > 0.2 and np.abs(run.mu).max() > 0.05
    return theta.detach().numpy(), run.state.theta[:, 0]


@pytest.mark.parametrize("reading", ["linearised", "prox_linear"])
def test_plada_takes_the_steps_of_the_papers_run(reading: Any) -> None:
    np.testing.assert_allclose(*both_pladas(reading), atol=1e-14)


@dataclass
class SigmoidGaps:
    """Mean log loss of a linear score, and differences of mean sigmoids between groups: of all rows, and of y = 1."""

    X: Any
    y: Any
    pairs: list[tuple[Any, Any]]
    eps: Any

    def torch_loss(self, scores: Any) -> Any:
        return nn.functional.softplus(-torch.as_tensor(self.y) * scores).mean()

    def torch_gaps(self, scores: Any) -> Any:
        shares = torch.sigmoid(scores)
        return torch.stack([shares[a].mean() - shares[b].mean() for a, b in self.pairs])

    def state(self, theta: Any) -> GapState:
        margins = self.y[:, None] * (self.X @ theta)
        return GapState(theta, np.logaddexp(0, -margins).mean(axis=0), self._gaps(self._shares(theta)))

    def _shares(self, theta: Any) -> Any:
        return 1 / (1 + np.exp(-(self.X @ theta)))

    def _gaps(self, shares: Any) -> Any:
        return np.stack([shares[a].mean(axis=0) - shares[b].mean(axis=0) for a, b in self.pairs])

    def gradients(self, state: GapState) -> tuple[Any, Any]:
        margins = self.y[:, None] * (self.X @ state.theta)
        loss = self.X.T @ (-self.y[:, None] / (1 + np.exp(margins))) / len(self.y)
        shares = self._shares(state.theta)
        slopes = shares * (1 - shares)
        means = [self.X[a].T @ slopes[a] / a.sum() - self.X[b].T @ slopes[b] / b.sum() for a, b in self.pairs]
        return loss, np.stack(means)

    def combined(self, state: GapState, loss: Any, gaps: Any) -> Any:
        by_loss, by_gaps = self.gradients(state)
        return loss * by_loss + np.einsum("mb,mdb->db", gaps, by_gaps)

    def project(self, theta: Any) -> Any:
        return theta


def sigmoid_gaps(data: Any) -> SigmoidGaps:
    one, positive = data.group == 1, data.y > 0
    return SigmoidGaps(data.X, data.y, [(one, ~one), (one & positive, ~one & positive)], np.full(2, 0.02))


def both_multiplier_models() -> tuple[Any, Any]:
    """Networks of the project are float32, so to single precision; a group is drawn in every step."""
    random = np.random.default_rng(0)
    torch.set_default_dtype(torch.float32)
    X, y = random.normal(size=(200, 4)), np.where(random.random(200) < 0.5, -1.0, 1.0)
    members = random.random((6, 200)) < 0.3
    members[:, :6] = True
    model, phi_model = StackedMLP(4, (5,)), StackedMLP(2, (4,))
    theta, phi = (one.initial(random) for one in (model, phi_model))
    descriptions = random.normal(size=(6, 2))
    groups = GroupLosses(members, 0.02, "each")
    run = PaperModel(
        PaperNetwork(model, theta, X, y, "logistic"), groups, phi_model, phi, descriptions, 0.05, 2.0,
        np.random.default_rng(3),
    )  # fmt: skip
    network, dual = mlp(theta, model.shapes), mlp(phi, phi_model.shapes)
    nn.init.ones_(dual[-1].bias)
    networks = network.float(), dual.float()
    optimiser, dual_optimiser = (torch.optim.Adagrad(one.parameters(), 0.05) for one in networks)
    multipliers = MultiplierModel(
        6, torch.as_tensor(descriptions).float(), dual, dual_optimiser, dual_scale=2.0
    ).follow(optimiser)
    lagrangian, draws = Lagrangian(multipliers), np.random.default_rng(3)
    rows, weights = torch.as_tensor(X).float(), torch.as_tensor(groups.weights)
    for _ in range(60):
        j = torch.as_tensor(draws.integers(6, size=1))
        losses = nn.functional.softplus(-torch.as_tensor(y).float() * network(rows)[:, 0])
        wrong = (losses.detach() >= np.log(2.0)).float()
        optimiser.zero_grad()
        lagrangian(losses.mean(), weights[j] @ losses - 0.02, strict=weights[j] @ wrong - 0.02, which=j).backward()
        optimiser.step()
        run.step()
    moved = nn.utils.parameters_to_vector(network.parameters()).detach()
    np.testing.assert_allclose(multipliers.multipliers().detach(), run.multipliers(), atol=2e-3)
    assert np.abs(run.network.theta[0] - theta).max() > 0.1
    assert list(multipliers.named_multipliers()) == [f"constraint {j}" for j in range(6)]
    return moved.numpy(), run.network.theta[0]


def test_a_multiplier_model_takes_the_steps_of_the_papers_run() -> None:
    np.testing.assert_allclose(*both_multiplier_models(), atol=2e-4)


def both_idcas(family: str, keep: bool) -> tuple[Any, Any]:
    """Network and thresholds after three subproblems of 15 steps on the same rows."""
    problem, X, y, group = drawn()
    options = {"interval": ((0.1, 0.6),), "kappa": 0.05, "kappa_scale": "absolute", "grid": 3}
    program = built(family, group.numpy().astype(np.int16), y.numpy(), **options)
    constraint = BatchConstraint(2, family, **options)
    network = mlp(problem.score.initial(np.random.default_rng(1)), problem.score.shapes)
    own = NetworkProblem(
        NetworkFunction(Ungrouped(copy.deepcopy(network)), torch.device("cpu")),
        X.numpy(),
        y.numpy(),
        group.numpy(),
        program,
    )
    settings = DeepIDCASettings(inner_steps=15, rho=0.5, batch=24, step_scale=2.0, keep_queues=keep)
    idca = StochasticIDCA(network, constraint, inner_steps=15, rho=0.5, keep_queues=keep)
    optimiser = torch.optim.SGD(idca.trained, 2.0 / (2 * 15))
    idca.follow(optimiser)
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

            idca.backward(X[rows], group[rows], y[rows], loss=loss)
            optimiser.step()
        moved = torch.cat([p.detach().reshape(-1) for p in [*network.parameters(), constraint.thetas]])
        np.testing.assert_allclose(moved, state.x, atol=1e-6)  # the project's batches are float32
    if keep:
        np.testing.assert_allclose(idca.queues, state.queues, atol=1e-5)
        assert state.multipliers.max() > 1e-3
    return moved.numpy(), state.x.numpy()


@pytest.mark.parametrize("family", ["partial_statistical_parity", "partial_demographic_parity"])
@pytest.mark.parametrize("keep", [True, False])
def test_idca_is_the_projects_own_on_the_same_rows(family: str, keep: bool) -> None:
    both_idcas(family, keep)


class Ungrouped(nn.Module):  # type: ignore[misc]
    """A network as the project calls it, with the group, which it does not use."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any, group: Any) -> Any:
        return self.inner(x.double())[:, 0]


# --- one function for both -------------------------------------------------------------------------------------------

BOTH: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(both_on_drawn_rows, name) for name in SAME},
    "plada": partial(both_pladas, "linearised"),
    "plada prox-linear": partial(both_pladas, "prox_linear"),
    "multiplier model": both_multiplier_models,
    "idca": partial(both_idcas, "partial_demographic_parity", True),
}
USERS = {
    **dict.fromkeys(("bounded_dual", "penalised", "moved_slack"), ("ssl_alm", "alm")),
    "smoothed": ("ssl_alm",),
    **dict.fromkeys(("tolerance_at", "seems_feasible", "largest"), ("switching",)),
    **dict.fromkeys(("multilevel", "shortened"), ("ghost",)),
    **dict.fromkeys(("perturbed_dual", "perturbed_move"), ("plada", "plada prox-linear")),
    "sign": ("plada", "multiplier model"),
    "prox_linear_signs": ("plada prox-linear",),
    **dict.fromkeys(("model_multipliers", "model_weights"), ("multiplier model",)),
    **dict.fromkeys(
        ("loss_weight", "proximal_weight", "half_distance", "extrapolated", "moved_queues"), ("idca",)
    ),
}  # fmt: skip
"""Methods that take each formula."""


FAULTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("seems_feasible", "largest"), lambda decision: ~decision),
    **dict.fromkeys(("sign", "model_weights"), lambda number: -number),  # Adagrad sees no factor
    "tolerance_at": lambda tolerance: tolerance + 0.02,
}


def faulty(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula with numbers that are off by a hundredth, or with the fault that is named for it."""

    def wrong(*arguments: Any, **options: Any) -> Any:
        if formula.__name__ == "smoothed":  # which may write into its arguments
            derivative, anchor, distance, proximal, *others = arguments
            return formula(derivative, anchor, distance, 1.01 * proximal, *others, **options)
        result = formula(*arguments, **options)
        if isinstance(result, tuple):
            return tuple(1.01 * part for part in result)
        return FAULTS.get(formula.__name__, lambda number: 1.01 * number)(result)

    return wrong


@pytest.mark.parametrize(("formula", "method"), [(formula, method) for formula in USERS for method in USERS[formula]])
def test_a_fault_in_a_formula_is_a_fault_of_paper_and_training_loop(
    formula: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends move, and by the same: the two faces have no copy of the formula."""
    right = BOTH[method]()
    monkeypatch.setattr(stochastic_steps, formula, faulty(getattr(stochastic_steps, formula)))
    wrong = BOTH[method]()
    for before, after in zip(right, wrong, strict=True):
        assert np.abs(before - after).max() > 1e-6
    np.testing.assert_allclose(wrong[0], wrong[1], atol=2e-4 if method == "multiplier model" else 1e-6)


def test_every_formula_has_its_methods() -> None:
    formulas = {name for name, part in vars(stochastic_steps).items() if inspect.isfunction(part)}
    assert formulas - {"plus"} == set(USERS), "plus is the addition of the others"


# --- names and settings ----------------------------------------------------------------------------------------------


def test_what_is_not_needed_is_not_computed() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.5)
    lagrangian = switching_subgradient(optimiser, 1)

    def never() -> Any:
        raise AssertionError

    lagrangian(never, lambda: x - 0.5).backward()
    optimiser.step()
    assert float(x.detach()) == 0.95
    optimiser.zero_grad()
    lagrangian(lambda: x.sum(), never, lambda: x - 2).backward()
    optimiser.step()
    assert float(x.detach()) == pytest.approx(0.45)
    with pytest.raises(ConfigError, match="pass the draw that decides as strict"):
        lagrangian(x.sum(), x, again=x)


def test_levels_have_a_geometric_distribution() -> None:
    torch.manual_seed(0)
    ghost = StochasticGhost([torch.ones(1, requires_grad=True)], success=0.5, largest=3)
    levels = np.bincount([ghost.draw_level() for _ in range(3000)], minlength=4) / 3000
    np.testing.assert_allclose(levels, np.array([8, 4, 2, 1]) / 15, atol=0.03)


def test_what_cannot_be_used_is_refused() -> None:
    x = torch.ones(1, requires_grad=True)
    optimiser = torch.optim.SGD([x], 0.1)
    with pytest.raises(ConfigError, match="penalty is 0"):
        alm(optimiser, 2, penalty=0.0)
    with pytest.raises(ConfigError, match="proximal is -1"):
        ssl_alm(optimiser, 2, proximal=-1)
    with pytest.raises(ConfigError, match="radius is 20"):
        StochasticGhost([x], radius=20)
    with pytest.raises(ConfigError, match="success is 1"):
        StochasticGhost([x], success=1.0)
    with pytest.raises(ConfigError, match="decay is -1"):
        GhostDecay(optimiser, -1.0)
    for values, said in (
        (torch.cat([x, x, x]), "there are 3: leave slack out"),
        (torch.cat([x - 0.2, -x - 0.2]), "slack is 0.05, the two constraints have 0.2"),
    ):
        with pytest.raises(ConfigError, match=said):
            StochasticGhost([x], 0.05).full_backward(x.sum() ** 2, values)
    for name, wrong, said in (
        ("next_iterate", "best", "'average' or 'last'"),
        ("inner_steps", 0, "at least 1"),
        ("rho", float("nan"), "use 0 or a positive number"),
    ):
        with pytest.raises(ConfigError, match=said):
            StochasticIDCA(nn.Linear(1, 1), BatchConstraint(2), **{name: wrong})
    with pytest.raises(ConfigError, match=r"descriptions has 3 rows; pass one for each of the 2"):
        MultiplierModel(2, torch.zeros(3, 2), nn.Linear(2, 1))


@pytest.mark.parametrize("make", [ssl_alm, alm, switching_subgradient, plada])
def test_settings_of_every_method_reach_its_multipliers(make: Any) -> None:
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)
    lagrangian = make(optimiser, ["a", "b"], check=False)
    assert lagrangian.multipliers.names == ("a", "b") and not lagrangian.multipliers.check
    with pytest.raises(TypeError, match="unheard_of"):
        make(torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1), 2, unheard_of=1)
