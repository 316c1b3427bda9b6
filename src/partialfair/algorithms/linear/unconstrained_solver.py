"""Minimum of the loss without constraints."""

import time

from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.newton import minimise_loss
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.solution import Record, Solution


def solve(problem: LinearProblem, *, iterations: int = 50, tolerance: float = 1e-9) -> Solution:
    """Minimise f0 by Newton's method and certify the result.

    Args:
        problem: the problem; its constraints are ignored.
        iterations: at most so many Newton steps.
        tolerance: stop where a step is expected to lower the loss by less.
    """
    params = minimise_loss(problem, iterations=iterations, tolerance=tolerance)
    aux = problem.start()[1]
    certificate = certify(problem, params, aux)
    record = Record(1, 0, certificate.objective, certificate.max_violation, time.process_time(), params, aux)
    return Solution(params, aux, certificate, [record])
