"""Non-negative least squares that always end."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

Vector = NDArray[np.float64]


def non_negative(matrix: Vector, target: Vector) -> tuple[Vector, float]:
    """Return the x >= 0 with the smallest ``|matrix x - target|``, and that distance.

    scipy's method changes one active set after the other, and gives up where they go round in circles, as seen in a
    fit on law school; bounded-variable least squares (Stark and Parker 1995) then solves the same problem.

    Args:
        matrix: (m, n).
        target: (m,).
    """
    try:
        solution, distance = nnls(matrix, target)
    except RuntimeError:
        solution = lsq_linear(matrix, target, bounds=(0.0, np.inf), method="bvls").x
        distance = float(np.linalg.norm(matrix @ solution - target))
    return np.asarray(solution, np.float64), float(distance)
