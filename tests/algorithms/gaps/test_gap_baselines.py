"""The switching and proximal methods and the exact solver on the toy problem with known answers."""

import numpy as np
import pytest

from partialfair.algorithms.gaps.gap_problem import kkt_residuals
from partialfair.algorithms.gaps.gap_reference import near_stationarity, optimum
from partialfair.algorithms.gaps.proximal_point import ConEx, ProximalPoint, ProximalRule, Switching
from partialfair.algorithms.gaps.switching_gaps import SwitchingGaps, SwitchingRule
from tests.algorithms.gaps.toy_gaps import toy

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
    step, tolerance = SwitchingRule(step=0.2, tolerance=1e-3, diminishing=np.array([True, False])).at(3)
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
