"""Deterministic solver of the finite-sample dual: proximal Newton steps in D = Lambda - V.

The dual (Lemma 3.1 of the DP post-processing paper) equals ``min_D f(D) + sum_{s,l} eps_s |D_ls|`` with f the mean
log-sum-exp, a smooth convex function; the paper has neither this form nor a deterministic solver. Each step minimises
the quadratic model of f plus the absolute values exactly (its orthant is found by feature-sign search), which takes no
further look at the rows. With two groups whose probabilities sum to one, t_1 is a multiple of t_0 and one row of D is
enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.fair_dual import Dual, split
from partialfair.errors import InfeasibleError
from partialfair.kernels import fair_dual_steps as kernels

Vector = NDArray[np.float64]
FIRST_RIDGE, LEAST_RIDGE, LARGEST_RIDGE = 1e-6, 1e-8, 1e3
LENGTHS = (1.0, 0.25, 0.0625, 0.015625)
INNER = 5  # steps per variable in the quadratic model
ROUNDING = 1e-12
TINY = 1e-4


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
    dual: Dual, start: Vector | None = None, *, tolerance: float = 1e-8, iterations: int = 100, reduce: bool = True
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
        return _newton(dual, _start(dual, tolerance, iterations) if start is None else start, tolerance, iterations)
    code, factor, eps = row
    opposite = 1 - code
    begin = None if start is None else start[code : code + 1] + factor * start[opposite : opposite + 1]
    one_group = Dual(dual.t[:, code : code + 1], dual.r, np.array([eps]), dual.beta)
    solution = _newton(one_group, np.zeros(one_group.shape) if begin is None else begin, tolerance, iterations)
    difference = np.zeros(dual.shape)
    difference[code] = solution.difference[0]
    return DualOptimum(difference, solution.value, solution.residual, solution.iterations, solution.status)


def _start(dual: Dual, tolerance: float, iterations: int) -> Vector:
    """Where to begin with several rows: near slack 0 at its solution, from which the signs are nearly right."""
    smooth = dual.with_eps(0.0)
    if dual.eps.max() >= TINY or not dual.eps.any() or smooth.shortfall > ROUNDING:
        return np.zeros(dual.shape)
    difference = _newton(smooth, np.zeros(dual.shape), tolerance, iterations).difference
    # of all shifts of a row the one of least norm
    return np.asarray(difference - np.median(difference, axis=1, keepdims=True))


def _single_row(dual: Dual) -> tuple[int, float, float] | None:
    """Row whose constraints imply the other's, how the other row counts in it, and its slack; None if there is none."""
    if dual.shape[0] != 2:
        return None
    squares = (dual.t**2).sum(axis=0)
    if not squares.all():
        return None
    # two groups: t_1 = -(p_0 / p_1) t_0 when tau_0 + tau_1 = 1, so that U_1 = |factor| U_0 and one row of D is enough
    factor = float(dual.t[:, 0] @ dual.t[:, 1]) / squares[0]  # t_1 = factor t_0
    if factor == 0 or np.abs(dual.t[:, 1] - factor * dual.t[:, 0]).max() > 1e-9 * np.abs(dual.t).max():
        return None
    if dual.eps[0] <= dual.eps[1] / abs(factor):
        return 0, factor, float(dual.eps[0])
    return 1, 1.0 / factor, float(dual.eps[1])


def _newton(dual: Dual, difference: Vector, tolerance: float, iterations: int) -> DualOptimum:
    # F(D) = E[LSE] + sum_s eps_s sum_l |D_ls|, since Lambda and V of least norm are the positive and negative part of D
    eps = np.repeat(dual.eps, dual.shape[1])
    state = _State.at_point(dual, difference)
    ridge = FIRST_RIDGE
    for iteration in range(iterations):
        if state.residual <= tolerance:
            return DualOptimum(state.difference, state.value, state.residual, iteration)
        # quadratic model of the mean LSE, the term in eps kept as it is: a lasso problem in K G variables
        hessian = dual.hessian(state.probabilities)
        scale = float(np.trace(hessian)) / len(hessian) or 1.0
        solution = None
        while solution is None and ridge < LARGEST_RIDGE:
            # min over D of <grad, D - D0> + (D - D0)' (H + ridge) (D - D0) / 2 + sum eps |D|: in the terms of
            # :func:`l1_quadratic`, curvature H + ridge and slope (H + ridge) D0 - grad.
            current = state.difference.ravel()
            curved = hessian + ridge * scale * np.eye(len(hessian))
            moved = current.copy()
            slope = curved @ current - state.slope.ravel()
            accuracy = min(1e-2 * tolerance, 1e-3 * state.residual)
            kernels.l1_quadratic(curved, slope, eps, moved, INNER * current.size, accuracy)
            solution = _line_search(dual, state, (moved - current).reshape(dual.shape))
            ridge = ridge * 10.0 if solution is None else ridge
        if solution is None:
            status = "stalled: rounding hides any further decrease"
            return DualOptimum(state.difference, state.value, state.residual, iteration, status)
        state, full = solution
        ridge = max(ridge / 10.0, LEAST_RIDGE) if full else ridge
    status = "ok" if state.residual <= tolerance else "iteration limit reached"
    return DualOptimum(state.difference, state.value, state.residual, iterations, status)


@dataclass(frozen=True, eq=False)
class _State:
    """A point with its value, slope of the smooth part, probabilities and the norm of its least subgradient."""

    difference: Vector
    value: float
    slope: Vector
    probabilities: Vector
    residual: float

    @classmethod
    def at_point(cls, dual: Dual, difference: Vector) -> "_State":
        """Evaluate a point D (K, G)."""
        smooth, slope, probabilities = dual.smooth(difference)
        eps = dual.eps[:, None]
        value = smooth + float((eps * np.abs(difference)).sum())
        # the least subgradient of F by D: slope + eps sign(D) where D != 0, the part of |slope| beyond eps where D = 0
        at_zero = np.maximum(np.abs(slope) - eps, 0.0)
        least = np.where(difference != 0, slope + np.sign(difference) * eps, at_zero)
        return cls(difference, value, slope, probabilities, float(np.linalg.norm(least)))


def _line_search(dual: Dual, state: _State, step: Vector) -> tuple[_State, bool] | None:
    """The first length with enough decrease of F, or of the residual where rounding hides that of F; None if none."""
    if not step.any():
        return None
    # what F's linearisation with its exact term in eps promises for the whole step; Armijo asks for 1e-4 of it
    eps = dual.eps[:, None]
    change = float(
        (state.slope * step).sum() + (eps * (np.abs(state.difference + step) - np.abs(state.difference))).sum()
    )
    for length in LENGTHS:
        new = _State.at_point(dual, state.difference + length * step)
        flat = abs(new.value - state.value) <= ROUNDING * 1e-3 * max(1.0, abs(state.value))
        if new.value <= state.value + 1e-4 * length * min(change, 0.0) and change < 0:
            return new, length == 1.0
        if flat and new.residual <= 0.9 * state.residual:
            return new, length == 1.0
    return None
