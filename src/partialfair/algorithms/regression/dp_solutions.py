"""What a solved dual of DP post-processing leaves behind, for variants of ``dp_postproc`` in modules of their own."""

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Task
from partialfair.algorithms.regression.fair_dual import Dual
from partialfair.algorithms.solution import Certificate, Record, Solution

Vector = NDArray[np.float64]


def solution_of(
    task: Task, dual: Dual, difference: Vector, residual: float, steps: int, clock: tuple[float, float], status: str
) -> tuple[Solution, list[Record], Vector]:
    """Solution at D (K, G), its history (before, after), and no path.

    Args:
        task: reports.
        dual: on single atoms, whose predictor D gives; its violations are not those of the certificate's residual.
        difference: D.
        residual: norm of the gradient mapping of the problem that was solved.
        steps: of the solver.
        clock: processor seconds before and after.
        status: "ok", or why it should not be used.
    """
    nothing = np.zeros(0)
    risk = float((dual.probabilities(difference) * dual.r).sum() / dual.n_rows)
    sums = np.cumsum(dual.smooth(difference)[1], axis=1)
    excess = float((np.abs(sums) - dual.eps[:, None]).max())
    task.report(f"eps {dual.eps.max():.3g}: risk {risk:.5f}, distance - eps {excess:+.1e}, residual {residual:.1e}")
    history = [
        Record(0, 0, risk, excess, clock[0], np.zeros(dual.shape), nothing),
        Record(1, steps, risk, excess, clock[1], difference, nothing),
    ]
    certificate = Certificate(risk, max(excess, 0.0), residual, difference.ravel())
    return Solution(difference, nothing, certificate, history, status), history, np.zeros((0, *dual.shape))
