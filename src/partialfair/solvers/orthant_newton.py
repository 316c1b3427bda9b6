"""Deterministic solver of the finite-sample dual: Newton steps within orthants of D = Lambda - V.

The dual equals ``min_D f(D) + sum_{s,l} eps_s |D_ls|`` with f the mean log-sum-exp, a smooth convex function (spec:
section 2, "structure", and section 3.4). A step takes the Newton direction in the free variables and sets components
that would change sign to zero. With two groups whose probabilities sum to one, t_1 is a multiple of t_0 and one row
of D is enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from partialfair.errors import InfeasibleError
from partialfair.solvers.fair_dual import Dual, split

Vector = NDArray[np.float64]
FIRST_RIDGE, LEAST_RIDGE, LARGEST_RIDGE = 1e-9, 1e-12, 1e3
LENGTHS = (1.0, 0.5, 0.25, 0.125)
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DualOptimum:
    """A minimum of the dual.

    Attributes:
        difference: (K, G) D.
        value: F there.
        residual: norm of the subgradient of least norm.
        iterations: Newton steps.
        status: "ok", or why the residual is larger than asked for.
    """

    difference: Vector
    value: float
    residual: float
    iterations: int
    status: str = "ok"

    @property
    def point(self) -> Vector:
        """Lambda and V, (2, K, G)."""
        return split(self.difference)


def solve(
    dual: Dual, start: Vector | None = None, *, tolerance: float = 1e-8, iterations: int = 300, reduce: bool = True
) -> DualOptimum:
    """Minimise the dual of a sample.

    Args:
        dual: the problem.
        start: (K, G) where to begin, for instance the solution at a neighbouring slack; by default 0.
        tolerance: norm of the subgradient to stop at. It bounds the gradient mapping of every step length.
        iterations: Newton steps at most.
        reduce: with two opposite groups, solve for one row.

    Raises:
        InfeasibleError: no predictor satisfies the constraints, so F has no minimum.
    """
    if dual.shortfall > ROUNDING:
        raise InfeasibleError(
            f"no predictor has differences within these tolerances: the mean of 1 - tau/p over the sample exceeds the "
            f"number of atoms times the tolerance by {dual.shortfall * dual.shape[1]:.2g}, and the dual is unbounded "
            "below; use the mean of tau over the sample as p (calibrated shares), or a larger tolerance"
        )
    row = _single_row(dual) if reduce else None
    if row is None:
        return _newton(dual, np.zeros(dual.shape) if start is None else start, tolerance, iterations)
    code, factor, eps = row
    other = 1 - code
    begin = None if start is None else start[code : code + 1] + factor * start[other : other + 1]
    single = Dual(dual.t[:, code : code + 1], dual.r, np.array([eps]), dual.beta)
    found = _newton(single, np.zeros(single.shape) if begin is None else begin, tolerance, iterations)
    difference = np.zeros(dual.shape)
    difference[code] = found.difference[0]
    return DualOptimum(difference, found.value, found.residual, found.iterations, found.status)


def _single_row(dual: Dual) -> tuple[int, float, float] | None:
    """Row whose constraints imply the other's, how the other row counts in it, and its slack; None if there is none."""
    if dual.shape[0] != 2:
        return None
    squares = (dual.t**2).sum(axis=0)
    if not squares.all():
        return None
    factor = float(dual.t[:, 0] @ dual.t[:, 1]) / squares[0]  # t_1 = factor t_0
    if factor == 0 or np.abs(dual.t[:, 1] - factor * dual.t[:, 0]).max() > 1e-9 * np.abs(dual.t).max():
        return None
    if dual.eps[0] <= dual.eps[1] / abs(factor):
        return 0, factor, float(dual.eps[0])
    return 1, 1.0 / factor, float(dual.eps[1])


def _newton(dual: Dual, difference: Vector, tolerance: float, iterations: int) -> DualOptimum:
    eps = np.broadcast_to(dual.eps[:, None], dual.shape)
    ridge = FIRST_RIDGE
    smooth, slope, pi = dual.smooth(difference)
    value = smooth + float((eps * np.abs(difference)).sum())
    least = _least_subgradient(difference, slope, eps)
    residual = float(np.linalg.norm(least))
    for iteration in range(iterations):
        if residual <= tolerance:
            return DualOptimum(difference, value, residual, iteration)
        hessian = dual.hessian(pi)
        while True:
            step = _direction(hessian, difference, least, ridge)
            found = _line_search(dual, difference, step, least, value, residual, eps)
            if found is not None or ridge >= LARGEST_RIDGE:
                break
            ridge *= 10.0
        if found is None:
            return DualOptimum(difference, value, residual, iteration, "stalled: rounding hides any further decrease")
        difference, value, least, residual, pi, full = found
        ridge = max(ridge / 10.0, LEAST_RIDGE) if full else ridge
    status = "ok" if residual <= tolerance else "iteration limit reached"
    return DualOptimum(difference, value, residual, iterations, status)


def _least_subgradient(difference: Vector, slope: Vector, eps: Vector) -> Vector:
    """Subgradient of ``f + eps |D|`` of least norm."""
    at_zero = np.sign(slope) * np.maximum(np.abs(slope) - eps, 0.0)
    return np.where(difference != 0, slope + np.sign(difference) * eps, at_zero)


def _direction(hessian: Vector, difference: Vector, least: Vector, ridge: float) -> Vector:
    """Newton direction in the variables that are not held at zero."""
    free = np.flatnonzero((difference != 0) | (least != 0))
    own = hessian[np.ix_(free, free)]
    out = np.zeros(difference.size)
    scale = float(np.trace(own)) / len(free)
    own[np.diag_indices(len(free))] += ridge * (scale if scale > 0 else 1.0)
    try:
        out[free] = -cho_solve(cho_factor(own, check_finite=False), least.ravel()[free], check_finite=False)
    except LinAlgError:
        return np.zeros_like(difference)  # no decrease: the caller takes a larger ridge
    return out.reshape(difference.shape)


def _line_search(
    dual: Dual, difference: Vector, step: Vector, least: Vector, value: float, residual: float, eps: Vector
) -> tuple[Vector, float, Vector, float, Vector, bool] | None:
    """The first length that decreases the objective enough, or the residual where the objective cannot be told apart.

    Returns:
        The new D, value, subgradient, residual, probabilities and whether the step was full; None if no length does.
    """
    if not step.any():
        return None
    orthant = np.where(difference != 0, np.sign(difference), -np.sign(least))
    for length in LENGTHS:
        moved = difference + length * step
        moved = np.where(np.sign(moved) == orthant, moved, 0.0)
        smooth, slope, pi = dual.smooth(moved)
        new = smooth + float((eps * np.abs(moved)).sum())
        gain = 1e-4 * float((least * (moved - difference)).sum())
        subgradient = _least_subgradient(moved, slope, eps)
        norm = float(np.linalg.norm(subgradient))
        same = abs(new - value) <= 1e-15 * max(1.0, abs(value)) * 4
        if (gain < 0 and new <= value + gain) or (same and norm <= 0.9 * residual):
            return moved, new, subgradient, norm, pi, length == 1.0
    return None
