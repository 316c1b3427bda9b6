"""The inequalities of PLADA's lemmas: known answers on the toy problem, and faults that break them."""

from dataclasses import replace

import pytest

from papers.cross_paper.exhibits.inequalities import summary
from papers.plada.algorithms.plada_solver import Constants, Parameters, safe_steps
from papers.plada.exhibits import descent_inequalities
from papers.plada.exhibits.descent_inequalities import LemmaConstants
from papers.plada.tests.test_linear_gaps import problem_of
from papers.plada.tests.toy_gaps import toy


def constants_and_iterates(iterations: int = 60):
    """Return constants and iterates of the toy problem, whose L_F and M_G are 1."""
    rho = Constants().rho
    eta, tau = safe_steps(1.0, 1.0, rho)
    parameters = Parameters(eta=eta, tau=tau)
    iterates = descent_inequalities.run(toy(), parameters, iterations, "exact")
    return LemmaConstants(rho, eta, tau, parameters.gamma_0, parameters.kappa, 1.0, 1.0), iterates


def broken(constants, iterates) -> set[str]:
    lines = summary(list(descent_inequalities.along(iterates, constants)))
    return {line["statement"] for line in lines if line["broken"]}


def test_the_lemmas_hold_along_a_run():
    constants, iterates = constants_and_iterates()
    assert not broken(constants, iterates) - {"(33), larger of C_1, C_2"}


def test_the_lagrangian_by_hand():
    """F = .5 (theta - 2)^2, G = |theta| - 1: L = F + lambda (G + u) - (lambda - mu)^2 / (2 rho)."""
    constants, iterates = constants_and_iterates(2)
    point = iterates[2]
    theta, u, lam, mu = (float(part[0]) for part in (point.theta, point.u, point.lam, point.mu))
    by_hand = 0.5 * (theta - 2) ** 2 + lam * (abs(theta) - 1 + u) - (lam - mu) ** 2 / (2 * constants.rho)
    assert point.lagrangian == pytest.approx(by_hand)
    assert point.jacobian_norm == 1.0


@pytest.mark.parametrize(
    ("fault", "statement"),
    [
        (lambda point: replace(point, mu=point.mu + 20.0), "Lemma 3 (19a)"),
        (lambda point: replace(point, mu=point.mu + 1e-4), "Lemma 3 (19b)"),
        (lambda point: replace(point, lam=point.lam + 100.0), "Lemma 3 (19c)"),
        (lambda point: replace(point, lagrangian=point.lagrangian + 100.0), "Lemma 4"),
        (lambda point: replace(point, residual=point.residual + 1e4), "Lemma 5"),
    ],
)
def test_a_fault_in_one_iterate_breaks_its_lemma(fault, statement):
    constants, iterates = constants_and_iterates()
    iterates[30] = fault(iterates[30])
    assert statement in broken(constants, iterates)


def test_constants_by_hand():
    constants = LemmaConstants(rho=2.0, eta=0.1, tau=0.05, gamma_0=0.1, kappa=1.0, curvature=1.0, slope=0.5)
    assert constants.decrease == pytest.approx(((10 - 1 - 1.5) / 2, (20 - 6) / 2))
    assert constants.residual == pytest.approx(max(1 + 20 + 2 * 0.75, 2 * 1.5 + 20))


@pytest.mark.real_data
def test_no_iteration_on_compas_breaks_a_lemma(dataset):
    problem = problem_of(dataset("compas_two_years"))
    lines = list(descent_inequalities.lines_of(problem, 40, "exact", 0.01))
    assert {line["points"] for line in lines} == {39}
    assert not [line for line in lines if line["broken"] and line["statement"].startswith("Lemma")]
