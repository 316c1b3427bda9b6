"""The formulas of the stochastic methods, against the papers' lines written out number by number, in both libraries."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair.algorithms import stochastic_steps as steps

torch = pytest.importorskip("torch")

LIBRARIES = {"numpy": np.asarray, "torch": lambda numbers: torch.as_tensor(np.array(numbers, np.float64))}
library = pytest.mark.parametrize("library", LIBRARIES)
REAL = st.floats(-4, 4).filter(lambda number: number == 0 or abs(number) > 1e-6)
ROWS = st.lists(st.tuples(REAL, REAL, REAL), min_size=1, max_size=6)


def parts(result):
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def close(result, expected):
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12, atol=1e-12)


@library
@given(ROWS, st.floats(0.01, 2), st.floats(0.1, 5))
def test_ssl_alm(library, rows, eta, bound):
    array, (dual, slack, values) = LIBRARIES[library], zip(*rows, strict=True)
    moved = [y + eta * (c + s) for y, s, c in rows]
    if abs(math.hypot(*moved) - bound) > 1e-9:
        expected = [0.0] * len(rows) if math.hypot(*moved) >= bound else moved
        close(steps.bounded_dual(array(dual), array(slack), array(values), eta, bound), expected)
    close(steps.penalised(array(dual), array(slack), array(values), eta), [y + eta * (c + s) for y, s, c in rows])
    derivative, anchor = steps.smoothed(array(dual), array(slack), array(values), eta, 0.5)
    close(derivative, [g + eta * d for g, _, d in rows])
    close(anchor, [a + 0.5 * d for _, a, d in rows])
    close(steps.moved_slack(array(slack), array(values), eta), [max(0.0, s - eta * d) for _, s, d in rows])


@library
@given(ROWS, st.integers(0, 50), st.floats(0.1, 5), st.floats(0.1, 3))
def test_plada(library, rows, k, rho, bound):
    array, (centre, slack, dual) = LIBRARIES[library], zip(*rows, strict=True)
    close(steps.perturbed_dual(array(centre), array(dual), array(slack), rho), [m + rho * (g + u) for m, u, g in rows])
    square = sum((y - m) ** 2 for m, _, y in rows)
    gamma = min(0.1, rho * (2.0 / (k + 1)) / (square + 1))
    numbers = {"penalty": rho, "slack_step": 0.3, "slack_bound": bound, "dual_step": 0.1, "decay": 2.0}
    new_slack, new_centre = steps.perturbed_move(array(slack), array(centre), array(dual), k, **numbers)
    close(new_slack, [min(max(u - 0.3 * y, 0.0), bound) for _, u, y in rows])
    close(new_centre, [m + gamma * (y - m) / rho for m, _, y in rows])


@library
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.integers(-3, 3))
def test_switching(library, numbers, tolerance):
    values = LIBRARIES[library](np.array(numbers, float))
    assert bool(steps.seems_feasible(values, tolerance)) == (max(numbers) <= tolerance)
    assert steps.largest(values).tolist() == [i == numbers.index(max(numbers)) for i in range(len(numbers))]
    assert steps.sign(values).tolist() == [(number > 0) - (number < 0) for number in numbers]
    assert [steps.tolerance_at(k, 1.0, 0.5, 2) for k in range(5)] == [1, 1, 1, 0.5, 0.25]


@library
def test_constraints_may_stand_along_any_axis(library):
    """Runs in rows and points in columns have the numbers of each alone."""
    array, random = LIBRARIES[library], np.random.default_rng(0)
    dual, slack, values = (random.normal(size=(5, 3)) for _ in range(3))
    plada = {"k": 7, "penalty": 2.0, "dual_step": 0.1, "decay": 3.0}
    for name, options in {
        "bounded_dual": {"dual_step": 0.3, "bound": 1.5},
        "perturbed_move": plada | {"slack_step": 0.3, "slack_bound": 1.0},
        "seems_feasible": {"tolerance": 0.5},
        "largest": {},
    }.items():
        formula = getattr(steps, name)
        arrays = (dual, slack, values) if name in ("bounded_dual", "perturbed_move") else (values,)
        together = parts(formula(*(array(part) for part in arrays), **options))
        columns = parts(formula(*(array(part.T) for part in arrays), **options, axis=0))
        for run in range(5):
            alone = parts(formula(*(array(part[run]) for part in arrays), **options))
            for rows, points, expected in zip(together, columns, alone, strict=True):
                assert np.array_equal(rows[run], expected) and len(np.unique(rows)) > 1
                close(points[:, run], expected)


@library
def test_nothing_but_the_largest_is_marked_beside_numbers_that_are_none(library):
    """A run whose constraints are no numbers steps on one of them, and so tells of it."""
    values = LIBRARIES[library](np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 1.0]]))
    assert steps.largest(values).tolist() == [[False, True, False], [True, False, False]]


@library
def test_ghost_and_multiplier_model(library):
    array, random = LIBRARIES[library], np.random.default_rng(1)
    single, joint, first, second = random.normal(size=(4, 6))
    expected = [a + (b - (c + d) / 2) / 0.24 for a, b, c, d in zip(single, joint, first, second, strict=True)]
    close(steps.multilevel(array(single), array(joint), array((first + second) / 2), 0.24), expected)
    assert steps.shortened(0.05, 0.4) == pytest.approx(0.05 - 0.4 * 0.05**2)
    multipliers, slope = steps.model_multipliers(array(single))
    close(multipliers, [abs(number) for number in single])
    ahead = [(abs(number + 1e-7) - abs(number)) / 1e-7 for number in single]
    np.testing.assert_allclose(np.asarray(slope), ahead, atol=1e-6)
    close(steps.model_weights(array(joint), 2.5), [-2.5 * number for number in joint])


@library
def test_stochastic_idca(library):
    """On quadratics, whose change to first order is known, and queues that would fall below 0."""
    array, random = LIBRARIES[library], np.random.default_rng(2)
    w, anchor, step = random.normal(size=(3, 4))
    distance = w - anchor
    reached = steps.half_distance(array(distance @ distance), array(distance @ step))
    after = ((w + step - anchor) ** 2).sum() / 2
    assert float(reached) == pytest.approx(after - (step**2).sum() / 2)
    queues, values = np.array([0.5, 0.1, 2.0]), np.array([0.2, -0.3, -0.5])
    close(steps.moved_queues(array(queues), array(values)), [0.7, 0.0, 1.5])
    assert steps.loss_weight(49) == 7
    assert steps.proximal_weight(0.5, 7.0, array(queues)) == pytest.approx(0.5 * (7 + 2.6))
    parts = random.normal(size=(4, 3))
    expected = [a + b - c - d + 0.3 for a, b, c, d in parts.T]
    close(steps.extrapolated(*(array(part) for part in parts), 0.3), expected)


@library
@given(REAL, st.floats(0.1, 3), st.floats(-2, 2), st.floats(0.01, 0.5))
def test_one_sign_solves_the_prox_linear_step(library, value, square, dual, lr):
    """``min_y l |h + a (y - x)| + (y - z)^2 / (2 lr)`` in one dimension, by its value on a fine grid of steps."""
    array = LIBRARIES[library]
    if abs(dual) < 1e-3:
        return
    signs = steps.prox_linear_signs(array([[square]]), array([value]), array([dual]), lr)
    slope = math.sqrt(square)

    def model(y):
        return dual * np.abs(value + slope * y) + y**2 / (2 * lr)  # y counted from z, value the gap there

    reached = -lr * slope * dual * float(signs[0])
    grid = np.linspace(-4, 4, 40_001) * lr * slope
    assert model(reached) <= model(grid).min() + 1e-9
