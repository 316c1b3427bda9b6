"""AC-SA, AC-SA^2 and SGD3: known answers on a quadratic, and the compiled loops against plain ones."""

from typing import Literal

import numpy as np
import pytest

from papers.dp_postprocessing.algorithms.per_step import EveryStep
from papers.dp_postprocessing.algorithms.stochastic_approximation import (
    OPTIMISERS,
    DualSteps,
    PlainSteps,
    Schedule,
    minimise,
    sgd3,
    sgd3_with_sgd,
    shift_of,
)
from partialfair.algorithms.regression.fair_dual import Dual, split
from partialfair.models.grid_predictor import PlugIns
from tests.algorithms.regression.test_fair_dual import random_dual


def quadratic(w: np.ndarray) -> np.ndarray:
    return w - 1


@pytest.mark.parametrize(
    ("shift", "mu", "expected"),
    [
        (1, 0.1, (0.4761904762, 0.7798481712, 0.9370100963, 0.9974624303, 1.0129202755)),
        (0, 0.1, (1.9047619048, 1.0144927536, 0.9996283909, 0.9993750211, 0.9997752433)),
        (1, 0.0, (0.5, 0.8333333333, 0.9791666667, 1.0075, 1.0036111111)),
    ],
)
def test_acsa_on_a_parabola(shift: int, mu: float, expected: tuple[float, ...]) -> None:
    run, zero = PlainSteps(quadratic, shift), np.zeros(1)
    for steps, value in enumerate(expected, start=1):
        assert run.acsa(zero, zero, mu, 1.0, steps, 0.0, zero)[1][0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("preset", "regularised", "long", "short"),
    [
        ("theory", True, 0.9846153846, 0.9846002003),
        ("theory", False, 1.0, 0.9999795379),
        ("released", True, 1.0000000086, 1.0029281138),
    ],
)
def test_sgd3_on_a_parabola(
    preset: Literal["theory", "released"], regularised: bool, long: float, short: float
) -> None:
    for steps, value in ((600, long), (60, short)):
        schedule = Schedule(1.0, 1 / 64, steps, preset, regularised)
        assert schedule.stages == 6
        found = sgd3(PlainSteps(quadratic, shift_of(preset)), np.zeros(1), schedule, twice=True)
        assert found[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("preset", ["theory", "released"])
def test_compiled_steps_are_the_plain_ones(optimiser: str, preset: Literal["theory", "released"]) -> None:
    dual = random_dual(4, 3)
    rows = np.random.default_rng(9)

    def one_row(point: np.ndarray) -> np.ndarray:
        i = int(rows.integers(0, dual.n_rows, 1)[0])
        return Dual(dual.t[i : i + 1], dual.r[i : i + 1], dual.eps, dual.beta).gradient(point)

    schedule = Schedule(dual.bound, dual.bound / 240, 240, preset)
    zero = split(np.zeros(dual.shape))
    plain = minimise(PlainSteps(one_row, shift_of(preset)), zero, optimiser, schedule)
    compiled = DualSteps(dual, FromOne(9), shift_of(preset), every=40, budget=480)
    found = minimise(compiled, zero, optimiser, schedule)
    np.testing.assert_allclose(found, plain, atol=1e-10)
    assert found.any() and not zero.any()
    last = compiled.done // 40 - 1
    if compiled.done % 40 == 0 and not optimiser.startswith("sgd3"):
        np.testing.assert_allclose(compiled.trace[last], found[0] - found[1], atol=1e-12)


class FromOne:
    """Draws as many rows at once as are wanted, in the order of single draws."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def integers(self, low: int, high: int, size: int | None = None) -> np.ndarray:
        if size is None:
            return self._random.integers(low, high, 1)[0]
        return np.concatenate([self._random.integers(low, high, 1) for _ in range(size)])


def test_base_models_evaluated_at_every_step_change_nothing() -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 2))
    base = PlugIns(np.array([0.2, -0.3, 0.1]), np.array([[0.8, 0.5, -0.2]]))
    tau, theta = base.tau(X), np.linspace(-1, 1, 7)
    shares = tau.mean(axis=0)
    dual = Dual(1 - tau / shares, (base.eta(X)[:, None] - theta) ** 2, np.full(2, 0.01), 10.0)
    schedule, zero = Schedule(dual.bound, dual.bound / 60, 60), split(np.zeros(dual.shape))
    slow = EveryStep.build(dual, base, X, shares, FromOne(3), 0)  # type: ignore[arg-type]
    fast = DualSteps(dual, FromOne(3), 0)
    expected = minimise(fast, zero, "sgd3_acsa2", schedule)
    np.testing.assert_allclose(minimise(slow, zero, "sgd3_acsa2", schedule), expected, atol=1e-8)


def test_longer_runs_come_nearer_to_the_minimum() -> None:
    from partialfair.algorithms.regression.proximal_newton import solve

    dual = random_dual(2, 2, 0.005)
    best = solve(dual).value
    zero = split(np.zeros(dual.shape))
    gaps = []
    for steps in (300, 30_000):
        schedule = Schedule(dual.bound, 1e-3 * dual.bound, steps)
        values = [
            dual.value(minimise(DualSteps(dual, np.random.default_rng(seed)), zero, "acsa", schedule)) - best
            for seed in range(3)
        ]
        gaps.append(float(np.mean(values)))
    assert 0 <= gaps[1] < 0.5 * gaps[0]


def test_sgd3_with_sgd_takes_the_rounds_of_the_released_code() -> None:
    taken: list[tuple[float, int]] = []

    class Noted(PlainSteps):
        def pulled_sgd(self, w, size, steps, weight, centre):
            taken.append((size, steps))
            return super().pulled_sgd(w, size, steps, weight, centre)

    schedule = Schedule(1.0, 1 / 64, 1200, "released")
    found = sgd3_with_sgd(Noted(quadratic, 0), np.zeros(1), schedule)
    # 6 stages of 200 steps with constant 3 (1 + 1/64): mu = 1/64 gives floor(200 mu / 3.046875) = 1 round of 195 steps.
    assert taken[0] == (pytest.approx(1 / 6.09375), 195)
    assert taken[1] == (pytest.approx(1 / 6.09375), 97) and taken[3] == (pytest.approx(1 / 3.046875), 390)
    assert found[0] == pytest.approx(1.0, abs=1e-6)


def test_a_budget_shorter_than_a_round_leaves_sgd3_with_sgd_where_it_is() -> None:
    assert not sgd3_with_sgd(PlainSteps(quadratic, 0), np.zeros(1), Schedule(1.0, 1 / 64, 6, "released")).any()
