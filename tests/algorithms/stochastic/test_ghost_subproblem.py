"""The subproblem of Stochastic Ghost: known answers, the QP library, the linear program, and speed."""

import time

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import sparse
from scipy.optimize import linprog

from partialfair.algorithms.ghost_subproblem import Subproblem, general_direction, kappa_of, pair_direction, pair_kappa

SLACK = 0.005


def pair(g, a, difference, options, slack=SLACK):
    d, kappa = pair_direction(np.atleast_2d(g), np.atleast_2d(a), np.atleast_1d(difference), slack, options)
    return d[0], kappa[0]


def as_general(a, difference, slack=SLACK):
    return np.stack([a, -a]), np.array([difference - slack, -difference - slack])


@pytest.mark.parametrize(
    ("g", "a", "difference", "mixing", "radius", "box", "kappa", "d"),
    [
        ((1, -2), (1, 1), 0.3, 0.5, 0.8, 10, 0.1475, (-1.57375, 1.42625)),
        ((1, -2), (1, 1), 0.3, 0.8, 0.5, 10, 0.059, (-1.618, 1.382)),
        ((1, -2), (1, 1), -3.0, 0.5, 0.8, 10, 2.195, (-1, 2)),
        ((1, -2), (0.01, 0.01), 0.3, 0.5, 0.8, 10, 0.287, (-1.9, 1.1)),
        ((1, -2), (1, 1), -30.0, 0.5, 0.8, 1, 29.195, (-0.2, 1)),
        ((0.3, -0.1), (0.2, 0.4), 0.0, 0.5, 0.8, 10, 0.0, (-0.285, 0.13)),
    ],
)
def test_known_answers(g, a, difference, mixing, radius, box, kappa, d):
    options = Subproblem(weight=1.0, box=box, mixing=mixing, radius=radius)
    found, level = pair(np.array(g, float), np.array(a, float), difference, options)
    assert level == pytest.approx(kappa, abs=1e-6)
    np.testing.assert_allclose(found, d, atol=1e-6)


def instances(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, 41))
        g, a = rng.normal(size=(2, n)) * 10 ** rng.uniform(-1, 1, size=(2, 1))
        box = float(10 ** rng.uniform(-0.5, 1))
        weight, mixing = float(10 ** rng.uniform(-0.5, 0.5)), rng.uniform()
        options = Subproblem(weight=weight, box=box, mixing=mixing, radius=float(rng.uniform(0.05, 1) * box))
        yield g, a, float(rng.normal() * 10 ** rng.uniform(-1, 1)), options


def test_closed_form_equals_the_qp_library_and_the_linear_program():
    pytest.importorskip("clarabel")
    binding = boxed = 0
    for g, a, difference, options in instances(200):
        d, kappa = pair(g, a, difference, options)
        jacobian, values = as_general(a, difference)
        expected, level = general_direction(g, jacobian, values, options, tolerance=1e-12)
        assert kappa == pytest.approx(level, abs=1e-10)
        np.testing.assert_allclose(d, expected, atol=1e-7)
        assert abs(difference + a @ d) <= SLACK + kappa + 1e-9
        binding += abs(difference + a @ d) > SLACK + kappa - 1e-6
        boxed += np.abs(d).max() > options.box - 1e-9
    assert binding > 60 and boxed > 60, "the instances must reach every branch"


def test_kappa_of_many_constraints_equals_its_primal_program():
    rng = np.random.default_rng(1)
    for _ in range(30):
        m, n = rng.integers(1, 7), rng.integers(2, 9)
        jacobian, values = rng.normal(size=(m, n)), rng.normal(size=m)
        options = Subproblem(mixing=rng.uniform(), radius=0.4)
        rows = np.hstack([jacobian, -np.ones((m, 1))])  # min t : c + A d <= t, t >= 0, |d| <= radius
        bounds = [(-0.4, 0.4)] * n + [(0, None)]
        primal = linprog(np.append(np.zeros(n), 1.0), rows, -values, bounds=bounds)
        expected = (1 - options.mixing) * max(values.max(), 0) + options.mixing * primal.fun
        assert kappa_of(values, jacobian, options) == pytest.approx(expected, abs=1e-10)


def test_general_direction_satisfies_its_constraints_and_optimality():
    pytest.importorskip("clarabel")
    rng = np.random.default_rng(2)
    for box in (0.3, 10.0):
        options = Subproblem(weight=1.3, box=box, mixing=0.7, radius=0.2)
        g, jacobian, values = rng.normal(size=12), rng.normal(size=(5, 12)), rng.normal(size=5)
        d, kappa = general_direction(g, jacobian, values, options)
        assert (values + jacobian @ d <= kappa + 1e-7).all() and np.abs(d).max() <= box + 1e-7
        objective = g @ d + 0.65 * d @ d
        for _ in range(300):  # no feasible point nearby is better
            other = np.clip(d + rng.normal(size=12) * 0.05, -box, box)
            if (values + jacobian @ other <= kappa).all():
                assert g @ other + 0.65 * other @ other >= objective - 1e-6


def test_closed_form_is_200_times_faster_at_the_size_of_the_network():
    clarabel = pytest.importorskip("clarabel")
    assert clarabel
    rng = np.random.default_rng(3)
    g, a = rng.normal(size=(2, 2753)) * 0.05
    jacobian, values = as_general(a, 0.1)
    options = Subproblem()

    def general():
        # The problem as it stands, as a general QP solver has to take it: all 2,753 variables in their box.
        from partialfair.algorithms import ghost_subproblem as module

        kappa = kappa_of(values, jacobian, options)
        eye = sparse.eye_array(g.size)
        rows, limits = sparse.vstack([jacobian, eye, -eye]), np.append(kappa - values, np.full(2 * g.size, options.box))
        return module._solve(eye, g, rows, limits, 1e-10)

    began = time.process_time()
    expected = general()
    slow = time.process_time() - began
    repeats = 50
    began = time.process_time()
    for _ in range(repeats):
        found, _ = pair(g, a, 0.1, options)
    fast = (time.process_time() - began) / repeats
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert slow / fast > 200, f"general {slow:.3f} s, closed form {fast * 1e6:.0f} microseconds"


def test_float32_batches_of_runs_are_each_by_themselves():
    rng = np.random.default_rng(4)
    g, a, difference = rng.normal(size=(5, 30)), rng.normal(size=(5, 30)), rng.normal(size=5)
    together, _ = pair_direction(g, a, difference, SLACK, Subproblem(box=0.5))
    for r in range(5):
        alone, _ = pair(g[r], a[r], difference[r], Subproblem(box=0.5))
        np.testing.assert_allclose(together[r], alone, atol=1e-12)


def test_kappa_vanishes_where_the_constraint_holds():
    assert pair_kappa(np.array(0.004), np.array(1.0), SLACK, Subproblem()) == 0


@pytest.mark.parametrize("options", [{"radius": 11.0}, {"mixing": 1.2}, {"weight": 0.0}])
def test_parameters_without_a_solution_are_refused(options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        Subproblem(**options)


def test_constraints_that_rounding_tells_apart_leave_the_subproblem_feasible():
    """The linear program holds to 1e-7; with its own value for kappa, the last row would ask for 0 <= -8e-8."""
    pytest.importorskip("clarabel")
    jacobian, values = np.array([[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]]), np.array([0.5, 0.6999999, 0.7])
    d, kappa = general_direction(np.ones(2), jacobian, values, Subproblem())
    assert (values + jacobian @ d <= kappa + 1e-9).all() and np.isfinite(d).all()


@pytest.mark.parametrize("broken", ["g", "jacobian", "values"])
def test_no_direction_follows_from_what_is_not_finite(broken):
    given = {"g": np.ones(2), "jacobian": np.eye(2), "values": np.ones(2)}
    given[broken][0] = np.nan
    d, kappa = general_direction(**given, options=Subproblem())
    assert np.isnan(d).all() and np.isnan(kappa)
