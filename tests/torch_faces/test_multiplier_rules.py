"""The rules: the same bits as the papers' runs, on NumPy's arrays, and known answers on PyTorch's."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

torch = pytest.importorskip("torch")

from papers.plada.algorithms.gap_problem import GapState  # noqa: E402
from papers.plada.algorithms.network_plada import NetworkPlada  # noqa: E402
from papers.plada.algorithms.plada_solver import Parameters  # noqa: E402
from papers.plada.algorithms.plada_solver import Plada as PladaRun  # noqa: E402
from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings  # noqa: E402
from papers.stochastic_benchmark.algorithms.stochastic_switching import (  # noqa: E402
    StochasticSwitchingSettings,
    SwitchingSteps,
)
from partialfair.algorithms.stochastic_steps import largest, prox_linear_signs, sign  # noqa: E402
from partialfair.errors import ConfigError  # noqa: E402
from partialfair.torch.rules import (  # noqa: E402
    Ascent,
    Plada,
    PrimalStep,
    Slacks,
    Switching,
    at_least_zero,
)

Array = Any
RUNS, SIZE, M = 8, 7, 3


class Noisy:
    """A problem whose "rows" are noise: quadratic loss, linear constraints, R runs at once."""

    n_constraints = M

    def __init__(self, dtype: Any) -> None:
        random = np.random.default_rng(5)
        self.centre = random.normal(size=SIZE).astype(dtype)
        self.matrix = random.normal(size=(M, SIZE)).astype(dtype)

    def gradient(self, x: Array, rows: Array) -> Array:
        return x - self.centre + rows

    def constraints(self, x: Array, rows: Array) -> tuple[Array, Any]:
        values = (x @ self.matrix.T).astype(np.float64) + rows
        return values, lambda weights: weights.astype(x.dtype) @ self.matrix


class Noise:
    """Rows of every step, as the streams of the papers' runs give them."""

    def __init__(self, purpose: int, size: int, dtype: Any, scale: float) -> None:
        self.purpose, self.size, self.dtype, self.scale = purpose, size, dtype, scale
        self.pool, self.batch = np.zeros(100), 10  # ten steps a pass

    def drawn_at(self, k: int) -> Array:
        random = np.random.default_rng((self.purpose, k))
        return (self.scale * random.normal(size=(RUNS, self.size))).astype(self.dtype)


def noise(dtype: Any) -> tuple[Noise, Noise, Noise]:
    return Noise(0, SIZE, dtype, 0.1), Noise(1, M, np.float64, 0.3), Noise(2, M, np.float64, 0.3)


def start(dtype: Any) -> Array:
    return np.random.default_rng(9).normal(size=(RUNS, SIZE)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("proximal", [0.0, 2.0])
def test_slacks_give_the_bits_of_the_papers_runs(dtype: Any, proximal: float) -> None:
    settings = SSLALMSettings(proximal=proximal, dual_bound=1.5, step_size=0.02, dual_step=0.1)
    method, problem, streams, rule = SmoothedSteps(settings), Noisy(dtype), noise(dtype), Slacks(1.0, 0.1, 1.5)
    theirs = method.start(problem, start(dtype))
    x, anchor = start(dtype), start(dtype)
    state = {name: np.zeros((RUNS, M)) for name in rule.STATE}
    resets = 0
    for k in range(200):
        objective, first, second = (stream.drawn_at(k) for stream in streams)
        values, pull_back = problem.constraints(x, first)
        weights = rule.weigh(state, values, problem.constraints(x, second)[0], k)
        gradient = problem.gradient(x, objective)
        gradient += pull_back(weights.constraints)
        if proximal:
            gradient += dtype(proximal) * (x - anchor)
            anchor += dtype(settings.smoothing) * (x - anchor)
        gradient *= dtype(settings.step_size)
        x -= gradient
        state |= rule.commit(state, weights, k, PrimalStep(settings.step_size, proximal, settings.smoothing))
        method.step(problem, streams, theirs, k)
        resets += int((theirs["dual"] == 0).all(axis=1).sum())
        assert np.array_equal(x, theirs["x"])
        assert np.array_equal(state["dual"], theirs["dual"]) and np.array_equal(state["slack"], theirs["slack"])
    assert 0 < resets < 200 * RUNS, "the bound on the multipliers was met now and then"
    assert np.abs(x - start(dtype)).max() > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_switching_gives_the_bits_of_the_papers_runs(dtype: Any) -> None:
    settings = StochasticSwitchingSettings(objective_step=0.05, tolerance=0.6, decay_start=3, tolerance_decay=0.9)
    method, problem, streams = SwitchingSteps(settings), Noisy(dtype), noise(dtype)
    rule = Switching(0.05, tolerance=0.6, decay_start=3, tolerance_decay=0.9, steps_per_pass=10)
    theirs, x, on_loss = method.start(problem, start(dtype)), start(dtype), 0
    for k in range(200):
        objective, first, second = (stream.drawn_at(k) for stream in streams)
        holds = rule.holds(problem.constraints(x, first)[0], k)
        again, pull_back = problem.constraints(x, second)
        on_constraint = dtype(rule.constraint_lr) * pull_back(rule.weigh({}, again, again, k).constraints)
        x = x - np.where(holds, dtype(settings.objective_step) * problem.gradient(x, objective), on_constraint)
        method.step(problem, streams, theirs, k)
        on_loss += int(holds.sum())
        assert np.array_equal(x, theirs["x"])
    assert np.array_equal(theirs["objective_steps"].sum(), on_loss) and 200 < on_loss < 1400


class Gaps:
    """A quadratic loss and two curved gaps, B points in columns."""

    def __init__(self, tolerance: float) -> None:
        self.eps = np.full(2, tolerance)
        random = np.random.default_rng(2)
        self.centre = 2 * random.normal(size=(SIZE, 1))
        self.a = random.normal(size=(2, SIZE))

    def state(self, theta: Array) -> GapState:
        loss = np.sum((theta - self.centre) ** 2, axis=0) / 2
        return GapState(theta, loss, self.a @ theta + 0.05 * np.sum(theta**2, axis=0))

    def gradients(self, state: GapState) -> tuple[Array, Array]:
        return state.theta - self.centre, self.a[:, :, None] + 0.1 * state.theta[None]

    def combined(self, state: GapState, loss: Array, gaps: Array) -> Array:
        return loss * (state.theta - self.centre) + self.a.T @ gaps + 0.1 * state.theta * gaps.sum(axis=0)

    def project(self, theta: Array) -> Array:
        return theta


@pytest.mark.parametrize("reading", ["linearised", "prox_linear"])
def test_plada_gives_the_steps_of_the_papers_run(reading: Any) -> None:
    tolerance = 0.1 if reading == "linearised" else 0.0  # without a tolerance, the optimum is on the kink
    problem, eta, batch = Gaps(tolerance), 0.05, 6
    theta = np.random.default_rng(1).normal(size=(SIZE, batch))
    run = PladaRun(problem, Parameters(eta=eta, tau=0.04, kappa=3.0), theta, theta_step=reading)
    rule = Plada(tolerance, penalty=5.0, dual_step=0.1, decay=3.0, slack_step=0.04, theta_step=reading)
    state = {name: np.zeros((batch, 2)) for name in rule.STATE}
    largest_difference = kinks = 0.0
    for k in range(200):
        now = problem.state(theta)
        weights = rule.weigh(state, now.gaps.T, now.gaps.T, k)
        dual = weights.pending["dual"]
        if reading == "linearised":
            theta = theta - eta * problem.combined(now, np.ones(batch), weights.constraints.T)
        else:
            loss, jacobian = problem.gradients(now)
            rows = np.moveaxis(jacobian, 2, 0)  # (B, m, d)
            gram = rows @ rows.swapaxes(1, 2)
            value = now.gaps.T - eta * (rows @ loss.T[:, :, None])[:, :, 0]
            chosen = prox_linear_signs(gram.transpose(1, 2, 0), value.T, dual.T, eta).T
            kinks += np.sum(abs(chosen) < 0.999)
            theta = theta - eta * (loss + np.einsum("bmd,bm->db", rows, dual * chosen))
        state |= rule.commit(state, weights, k, PrimalStep(eta))
        run.step()
        largest_difference = max(largest_difference, np.abs(theta - run.state.theta).max())
        if reading == "linearised":
            assert np.array_equal(theta, run.state.theta)
            assert np.array_equal(state["centre"].T, run.mu) and np.array_equal(state["slack"].T, run.u)
    assert largest_difference <= 1e-13
    assert reading == "linearised" or kinks > 20
    assert np.abs(run.lam).max() > 0.1


def test_plada_moves_as_on_the_papers_networks() -> None:
    """The dual half alone, on given constraint values; the run moves its multipliers after the step, at new values."""
    random, m = np.random.default_rng(4), 5
    values = 0.2 * random.normal(size=(301, m))
    step = iter(values[1:])
    run = NetworkPlada.__new__(NetworkPlada)
    run.parameters, run.network = Parameters(eta=1.0, tau=0.03, kappa=2.0), SimpleNamespace(losses=None)  # type: ignore[assignment]
    run.groups = SimpleNamespace(values=lambda losses: next(step))  # type: ignore[assignment]
    run.u, run.lam, run.mu, run.iteration = np.zeros(m), np.zeros(m), np.zeros(m), 0
    rule = Plada(penalty=5.0, decay=2.0, slack_step=0.03)
    state = {name: np.zeros(m) for name in rule.STATE}
    for k in range(300):
        state |= rule.commit(state, rule.weigh(state, values[k], values[k], k), k, PrimalStep(0.0))
        run._move(slice(None))
        run.iteration += 1
        after = rule.weigh(state, values[k + 1], values[k + 1], k + 1)
        assert np.array_equal(after.constraints, run.lam)
        assert np.array_equal(state["centre"], run.mu) and np.array_equal(state["slack"], run.u)


def test_momentum_is_that_of_torch() -> None:
    errors = torch.randn(30, M, generator=torch.Generator().manual_seed(0))
    dual = torch.zeros(M, requires_grad=True)
    sgd = torch.optim.SGD([dual], 0.1, momentum=0.8, dampening=0.3, maximize=True)
    rule, state = Ascent(0.1, momentum=0.8, dampening=0.3), {name: torch.zeros(M) for name in Ascent.STATE}
    for k, error in enumerate(errors):
        dual.grad = error.clone()
        sgd.step()
        state |= rule.commit(state, rule.weigh(state, error, error, k, torch.ones(M)), k, PrimalStep(0.0))
    torch.testing.assert_close(state["dual"], dual.detach())


@pytest.mark.parametrize("smoothing", [0.0, 0.9])
def test_the_proportional_term_sums_up_to_the_last_average(smoothing: float) -> None:
    """``y_T = dual_step (sum of e + proportional (x_T - x_0))``, with x the exponential average of the errors."""
    errors = np.random.default_rng(0).normal(size=(40, M))
    rule, state = Ascent(0.1, proportional=2.0, smoothing=smoothing), {name: np.zeros(M) for name in Ascent.STATE}
    for k, error in enumerate(errors):
        state |= rule.commit(state, rule.weigh(state, error, error, k, np.ones(M)), k, PrimalStep(0.0))
    average = lfilter([1 - smoothing], [1, -smoothing], errors, axis=0, zi=smoothing * errors[:1])[0]
    np.testing.assert_allclose(state["dual"], 0.1 * (errors.sum(axis=0) + 2.0 * (average[-1] - errors[0])), atol=1e-12)


def test_bounds_and_equalities_of_multipliers() -> None:
    rule, state = Ascent(1.0, penalty=0.0, upper=2.0), {name: np.zeros(3) for name in Ascent.STATE}
    values = np.array([-1.0, 3.0, -3.0])
    assert rule.weigh(state, values, values, 0).pending["dual"].tolist() == [0, 2, 0]
    assert rule.weigh(state, values, values, 0, np.array([0.0, 0.0, 1.0])).pending["dual"].tolist() == [0, 2, -2]
    slacks, state = Slacks(), {name: np.zeros(2) for name in Slacks.STATE}
    for k in range(20):
        weights = slacks.weigh(state, np.array([-1.0, -1.0]), np.array([-1.0, -1.0]), k)
        state |= slacks.commit(state, weights, k, PrimalStep(0.1), np.array([0.0, 1.0]))
    assert state["slack"][0] > 0.5 and state["slack"][1] == 0
    assert state["dual"][1] == pytest.approx(-20 * 0.05) and state["dual"][0] > state["dual"][1] + 0.3


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_signs_solve_the_subproblem(seed: int, m: int) -> None:
    """Optimality: a sign inside (-1, 1) puts the linearised gap on its kink, any other agrees with the gap's sign."""
    random = np.random.default_rng(seed)
    jacobian, dual, lr = random.normal(size=(m, 12)), random.random(m) + 0.1, 0.05
    gram, value = jacobian @ jacobian.T, 0.2 * random.normal(size=m)
    found = prox_linear_signs(*(torch.as_tensor(part) for part in (gram, value, dual)), lr).numpy()
    np.testing.assert_allclose(found, prox_linear_signs(gram, value, dual, lr), atol=1e-12)
    after = value - lr * gram @ (dual * found)
    assert (np.abs(found) <= 1).all()
    inside = np.abs(found) < 1
    assert np.abs(after[inside]).max(initial=0) < 0.02 * np.abs(value).max() + 1e-9  # twenty sweeps, not to the end
    assert (after[~inside] * found[~inside] >= -0.02).all()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6))
def test_helpers_are_those_of_both_libraries(numbers: list[int]) -> None:
    a = np.array(numbers, float)
    t = torch.as_tensor(a)
    assert largest(a).tolist() == largest(t).tolist() == [i == a.argmax() for i in range(a.size)]
    assert sign(a).tolist() == sign(t).tolist() == np.sign(a).tolist()
    mask = (np.arange(a.size) % 2).astype(float)
    expected = np.where(mask == 1, a, np.maximum(a, 0)).tolist()
    assert at_least_zero(a, mask).tolist() == at_least_zero(t, torch.as_tensor(mask)).tolist() == expected


def test_a_tolerance_falls_within_a_pass() -> None:
    rule = Switching(tolerance=1.0, tolerance_decay=0.5, decay_start=2, steps_per_pass=5)
    assert [rule.limit(k) for k in range(7)] == [1, 1, 1, 0.5, 0.25, 1, 1]
    assert Switching(tolerance=1.0, tolerance_decay=0.5, decay_start=2).limit(6) == 1 / 16


@pytest.mark.parametrize("wrong", ["a", float("nan"), float("inf"), True, -1, None])
@pytest.mark.parametrize(
    ("rule", "name"),
    [(Ascent, "dual_step"), (Ascent, "penalty"), (Slacks, "penalty"), (Plada, "decay"), (Switching, "tolerance")],
)
def test_settings_are_finite_numbers(rule: Any, name: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {wrong!r}; use"):
        rule(**{name: wrong})


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="penalty is 0; use a positive number"):
        Slacks(penalty=0)
    with pytest.raises(ConfigError, match="use 'linearised' or 'prox_linear'"):
        Plada(0.1, theta_step="exact")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="pass their tolerance"):
        Plada(theta_step="prox_linear")
    assert Ascent(upper=float("inf")).upper == float("inf")
