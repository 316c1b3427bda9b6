"""SGD3 with SGD inside: its rounds, a parabola, the compiled loop against the plain one, and the minimum of a dual."""

import numpy as np
import pytest

from partialfair.algorithms.regression.fair_dual import Dual, split
from partialfair.algorithms.regression.proximal_newton import solve
from partialfair.algorithms.regression.sgd3_sgd import DualDescent, PlainDescent, rounds, sgd3_sgd
from partialfair.algorithms.regression.stochastic_approximation import Schedule
from tests.algorithms.regression.test_fair_dual import random_dual
from tests.algorithms.regression.test_stochastic_approximation import FromOne


def test_rounds_of_a_stage() -> None:
    assert rounds(0.5, 3.0, 5) == []  # the budget has no round of 6 steps
    assert rounds(0.5, 3.0, 30) == [(1 / 6, 6)] * 5 + [(1 / 3, 24), (1 / 6, 48)]
    spent = sum(steps for _, steps in rounds(0.01, 3.0, 10_000))
    assert 3 * 10_000 <= spent <= 5 * 10_000


def test_a_parabola_on_both_sides_of_the_orthant() -> None:
    run = PlainDescent(lambda w: w - np.array([1.0, -1.0]))
    found = sgd3_sgd(run, np.zeros(2), Schedule(1.0, 1 / 64, 6000))
    assert found == pytest.approx([1.0, 0.0], abs=1e-3)
    assert not sgd3_sgd(run, np.zeros(2), Schedule(1.0, 1 / 4, 4)).any(), "no stage has a round within its budget"


def test_compiled_steps_are_the_plain_ones() -> None:
    dual, rows = random_dual(4, 3), np.random.default_rng(9)

    def one_row(point: np.ndarray) -> np.ndarray:
        i = int(rows.integers(0, dual.n_rows, 1)[0])
        return Dual(dual.t[i : i + 1], dual.r[i : i + 1], dual.eps, dual.beta).gradient(point)

    schedule, zero = Schedule(dual.bound, dual.bound / 1500, 1500), split(np.zeros(dual.shape))
    plain = sgd3_sgd(PlainDescent(one_row), zero, schedule)
    compiled = DualDescent(dual, FromOne(9))  # type: ignore[arg-type]
    np.testing.assert_allclose(sgd3_sgd(compiled, zero, schedule), plain, atol=1e-10)
    assert plain.any() and compiled.done > 0 and not zero.any()


def test_longer_runs_come_nearer_to_the_minimum() -> None:
    dual = random_dual(2, 2, 0.005)
    best, zero, gaps = solve(dual).value, split(np.zeros(dual.shape)), []
    for steps in (2000, 100_000):
        schedule = Schedule(dual.bound, dual.bound / 300, steps)
        runs = [DualDescent(dual, np.random.default_rng(seed)) for seed in range(3)]
        gaps.append(float(np.mean([dual.value(sgd3_sgd(run, zero, schedule)) - best for run in runs])))
    assert 0 <= gaps[1] < 0.5 * gaps[0]
