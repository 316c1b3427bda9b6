"""The switching and proximal methods and the exact solver on the toy problem with known answers."""

import numpy as np
import pytest

from papers.plada.algorithms.gap_problem import kkt_residuals
from papers.plada.algorithms.gap_reference import near_stationarity, optimum
from papers.plada.algorithms.gap_runs import Curve
from papers.plada.algorithms.gap_tasks import preferred
from papers.plada.algorithms.plada_solver import Parameters, Plada
from papers.plada.algorithms.proximal_point import ConEx, ProximalPoint, ProximalRule, Switching
from papers.plada.algorithms.switching_gaps import SwitchingGaps, SwitchingRule
from papers.plada.tests.toy_gaps import toy

AT = np.array([[0.5]])


def test_switching_iterates():
    method = SwitchingGaps(toy(), SwitchingRule(step=0.5, tolerance=0.0), np.zeros((1, 1)))
    path = []
    for _ in range(5):
        path.append(method.state.theta[0, 0])
        method.step()
    assert path == [0, 1, 1.5, 1, 1.5]
    assert method.best[0, 0] == 1 and method.best_loss[0] == 0.5


def test_diminishing_rule():
    step, tolerance = SwitchingRule(step=0.2, tolerance=1e-3, diminishing=np.array([True, False])).step_and_tolerance(3)
    assert step == pytest.approx((0.1, 0.2)) and tolerance == pytest.approx((5e-4, 1e-3))


@pytest.mark.parametrize(("inner", "expected"), [(3, 0.625), (10, 0.791341146), (100, 0.900352129)])
def test_inner_switching(inner, expected):
    solver = Switching(toy(), ProximalRule(1.0, inner, first_step=1.0), AT)
    for _ in range(inner):
        solver.step()
    assert solver.average[0, 0] == pytest.approx(expected, abs=1e-9)


def test_constraint_extrapolation():
    solver = ConEx(toy(), ProximalRule(1.0, 1000, "conex", c1=1.0, c2=10.0), AT)
    for _ in range(1000):
        solver.step()
    assert solver.x[0, 0] == pytest.approx(np.sqrt(2) - 0.5, abs=1e-9)
    assert solver.average[0, 0] == pytest.approx(0.914219249, abs=1e-9)


@pytest.mark.parametrize("solver", ["ssg", "conex"])
def test_double_loop_reaches_the_solution(solver):
    method = ProximalPoint(toy(), ProximalRule(1.0, 50, solver, c2=10.0), np.zeros((1, 1)))
    reported = 0
    for _ in range(50 * 60):
        method.step()
        reported += method.settled
    assert reported == 60 and method.state.theta[0, 0] == pytest.approx(1, abs=0.03)


def test_near_stationarity():
    distance, found = near_stationarity(toy(), np.array([0.5]), 1.0)
    assert found.theta[0] == pytest.approx(0.914213562, abs=1e-6)
    assert found.multipliers[0, 0] == pytest.approx(0.474873734, abs=1e-5)
    assert distance == pytest.approx(0.414213562, abs=1e-6)
    assert near_stationarity(toy(), np.array([1.0]), 1.0)[0] == pytest.approx(0, abs=1e-6)


def test_optimum():
    problem = toy((2.0, 1.0), (1.0, 2.0))
    found = optimum(problem, np.zeros(2))
    assert found.theta == pytest.approx((1, 1), abs=1e-6)
    assert found.multipliers == pytest.approx(np.array([[1, 0], [0, 0]]), abs=1e-5)
    assert kkt_residuals(problem, problem.state(found.theta[:, None]))[0][0] < 1e-6


def methods():
    """Every method on the toy, with the products with the data that its text says an iteration takes."""
    start = np.zeros((1, 1))
    yield "plada", Plada(toy(), Parameters(eta=0.05, tau=0.06), start), 3
    yield "ssg", SwitchingGaps(toy(), SwitchingRule(0.1), start), 2
    yield "ipp-ssg", ProximalPoint(toy(), ProximalRule(1.0, 4), start), 2.25
    yield "ipp-conex", ProximalPoint(toy(), ProximalRule(1.0, 4, "conex"), start), 3.75


class Counting:
    """A problem that counts the products that a real one would take."""

    def __init__(self, problem):
        self.problem, self.products = problem, 0

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def state(self, theta):
        self.products += 1
        return self.problem.state(theta)

    def gradients(self, state):
        self.products += 1 + len(self.problem.eps)
        return self.problem.gradients(state)

    def combined(self, state, loss, gaps):
        self.products += 1
        return self.problem.combined(state, loss, gaps)


@pytest.mark.parametrize("place", range(4))
def test_work_is_what_was_multiplied(place):
    """Equal work is compared by this count; the values at the start belong to no iteration."""
    name, method, per_iteration = list(methods())[place]
    counting = Counting(toy())
    method.problem = counting
    if name.startswith("ipp"):
        method._inner.problem = counting
    began = method.work
    for _ in range(40):
        method.step()
    assert method.work - began == counting.products == 40 * per_iteration


def test_a_batch_of_proximal_rules_is_each_of_them_alone():
    starts = np.zeros((1, 2))
    c1, c2 = np.array([0.5, 2.0]), np.array([1.0, 0.1])
    batch = ProximalPoint(toy(), ProximalRule(1.0, 5, "conex", c1=c1, c2=c2), starts)
    alone = [
        ProximalPoint(toy(), ProximalRule(1.0, 5, "conex", c1=a, c2=b), np.zeros((1, 1)))
        for a, b in zip(c1, c2, strict=True)
    ]
    for _ in range(50):
        for method in (batch, *alone):
            method.step()
    assert batch.state.theta[0] == pytest.approx([one.state.theta[0, 0] for one in alone], abs=1e-12)


def curve(losses, violations):
    numbers = np.arange(len(losses), dtype=float)
    return Curve(numbers, np.array(losses, float), np.array(violations, float), numbers, numbers)


def test_an_exact_penalty_decides_among_candidates():
    """Neither an accidental crossing of the boundary nor a last iterate that is outside decides."""
    good, late, outside = (
        curve([3, 1, 0.9], [0, 0, 0.2]),
        curve([3, 2, 2], [0, 0, 0]),
        curve([0.1, 0.1, 0.1], [1, 1, 1]),
    )
    assert preferred({"late": late, "good": good, "outside": outside}) == "good"
    crossing, approaching = curve([3, 0.5, 0.4], [0, 0, 0.3]), curve([3, 0.5, 0.4], [0, 0.1, 0.002])
    assert preferred({"crossing": crossing, "approaching": approaching}) == "approaching"
