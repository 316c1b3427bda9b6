"""The subproblem of Stochastic Ghost, in closed form for a pair of opposite constraints and by a QP library for more.

Source: Benchmark of stochastic approximation algorithms, section 3.2 (after Facchinei and Kungurtsev). With values c
(m,) and Jacobian A (m, N), a direction solves

    min  g.d + (tau / 2) ||d||^2   subject to   c + A d <= kappa,  ||d||_inf <= box

    kappa = (1 - lam) max_i (c_i)+  +  lam min {max_i (c_i + a_i.d)+ : ||d||_inf <= radius}
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, model_validator
from scipy import sparse

from partialfair.algorithms.contract import Settings
from partialfair.errors import ConfigError

Array = NDArray[np.floating]


class Subproblem(Settings):
    """Its parameters, under names of their own (the paper's letters have other meanings elsewhere).

    Attributes:
        weight: (tau), of the quadratic term.
        box: (beta), largest step of a coordinate.
        mixing: (lambda), weight of what a step can reach in kappa.
        radius: (rho), how far such a step goes; at most ``box``, so that the problem is feasible. The paper states
            mixing .5 and radius .8; its published code exchanges the two in the call, so that its numbers come from .8
            and .5.
    """

    weight: PositiveFloat = 1.0
    box: PositiveFloat = 10.0
    mixing: float = Field(0.8, ge=0, le=1)
    radius: PositiveFloat = 0.5

    @model_validator(mode="after")
    def _feasible(self) -> Self:
        if self.radius > self.box:
            raise ValueError(f"radius {self.radius} must be at most box {self.box}; correct the settings")
        return self


def pair_kappa(difference: Array, slope_norm: Array, slack: float, options: Subproblem) -> Array:
    """Return kappa for ``|D| <= slack``: values D and ``||a||_1`` of any shape."""
    # for the pair +-D - delta: max_i (c_i)+ = (|D| - delta)+, and a step with |d|_inf <= r changes D by at most r |a|_1
    now = np.maximum(np.abs(difference) - slack, 0)
    reachable = np.maximum(np.abs(difference) - slack - options.radius * slope_norm, 0)
    return np.asarray((1 - options.mixing) * now + options.mixing * reachable)


def pair_direction(g: Array, a: Array, difference: Array, slack: float, options: Subproblem) -> tuple[Array, Array]:
    """Directions for the two constraints ``+-D <= slack``, which are one interval for ``a.d``.

    Args:
        g: (R, N) gradients of the objective; a: (R, N) gradients of D.
        difference: (R,) values D.
        slack: delta.
        options: parameters.

    Returns:
        Directions (R, N) and kappa (R,).
    """
    # without constraints d = clip(-g / tau, -box, box); it is the answer where |D + a.d| <= delta + kappa already
    tau, box = options.weight, options.box
    kappa = pair_kappa(difference, np.abs(a).sum(axis=1), slack, options)
    free = np.clip(-g / tau, -box, box)
    moved = _dot(a, free)
    target = np.clip(moved, -(slack + kappa) - difference, slack + kappa - difference)
    binding = target != moved
    if not binding.any():
        return free, kappa
    # Else a.d is at the end of its interval, and d = -(g + nu a) / tau with the nu that puts it there; should a
    # coordinate leave the box, the piecewise linear a.d(nu) is solved instead.
    square = _dot(a, a)
    shift = np.where(binding, (target + _dot(a, g) / tau) / np.where(square > 0, square, 1.0), 0.0)
    d = np.where(binding[:, None], -g / tau + shift[:, None].astype(g.dtype) * a, free)
    for r in np.flatnonzero(binding & (np.abs(d).max(axis=1) > box)):
        d[r] = _boxed(g[r], a[r], float(target[r]), options)
    return d, kappa


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("rn,rn->r", a, b)


def _boxed(g: Array, a: Array, target: float, options: Subproblem) -> Array:
    """``clip(-(g + nu a) / tau, +-box)`` with the nu at which ``a.d`` is the target.

    ``a.d(nu)`` falls and is linear between the nu at which a coordinate reaches or leaves the box: the piece that holds
    the target is found by bisection among these, the nu in it by interpolation.
    """
    tau, box = options.weight, options.box
    used = a != 0
    # the nu at which some coordinate of clip(-(g + nu a) / tau) meets the box: between two of them a.d is linear
    ends = np.concatenate([(-g[used] - tau * box) / a[used], (-g[used] + tau * box) / a[used]]).astype(np.float64)
    ends.sort()

    def direction(nu: float) -> Array:
        return np.clip(-(g + nu * a) / tau, -box, box)

    low, high = 0, ends.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(a @ direction(ends[middle])) > target else (low, middle)
    at_low, at_high = (float(a @ direction(ends[index])) for index in (low, high))
    share = 0.0 if at_low == at_high else (at_low - target) / (at_low - at_high)
    return direction(float(ends[low] + np.clip(share, 0, 1) * (ends[high] - ends[low])))


def kappa_of(values: Array, jacobian: Array, options: Subproblem) -> float:
    """Return kappa for any number of constraints, by the dual of its inner problem.

    The inner minimum is ``max {nu.c - radius ||A' nu||_1 : nu >= 0, sum nu <= 1}``, a linear program. What counts is
    what its step d reaches, not the program's own value: that may be smaller by what the library tolerates, and no
    direction would satisfy the constraints. NaN if the library does not solve it.
    """
    from scipy.optimize import linprog

    now = float(max(values.max(initial=0.0), 0.0))
    if now == 0 or options.mixing == 0:
        return (1 - options.mixing) * now
    m, n = jacobian.shape
    # variables (nu, w) with |A' nu| <= w: minimise -c.nu + radius sum w, nu >= 0, sum nu <= 1
    cost = np.concatenate([-values, np.full(n, options.radius)])
    eye, sums = sparse.eye_array(n), np.concatenate([np.ones(m), np.zeros(n)])[None]
    rows = sparse.vstack([sparse.hstack([jacobian.T, -eye]), sparse.hstack([-jacobian.T, -eye]), sums]).tocsr()
    solution = linprog(cost, rows, np.append(np.zeros(2 * n), 1.0), bounds=(0, None), method="highs")
    if solution.status != 0:
        return math.nan
    # the step d is the multiplier of the rows A'nu - w <= 0 less that of -A'nu - w <= 0
    by_row = solution.ineqlin.marginals
    step = np.clip(by_row[:n] - by_row[n : 2 * n], -options.radius, options.radius)
    reached = min(now, float((values + jacobian @ step).max(initial=0.0)))
    return (1 - options.mixing) * now + options.mixing * reached


def general_direction(
    g: Array, jacobian: Array, values: Array, options: Subproblem, tolerance: float = 1e-10
) -> tuple[Array, float]:
    """Direction (N,) and kappa for any number of constraints.

    The library (Clarabel) solves the dual, which has one variable per constraint, as long as no coordinate reaches the
    box; the problem itself otherwise, or where rounding has made the dual unbounded. The problem is feasible for all
    finite numbers; where they are not, or the library does not solve it, the answer is NaN.
    """
    g, jacobian, values = (np.asarray(array, np.float64) for array in (g, jacobian, values))
    finite = np.isfinite(g).all() and np.isfinite(jacobian).all() and np.isfinite(values).all()
    kappa = kappa_of(values, jacobian, options) if finite else math.nan
    if math.isnan(kappa):
        return np.full(g.shape, math.nan), kappa
    bound = kappa - values
    free = -g / options.weight
    if (np.abs(free) <= options.box).all() and (jacobian @ free <= bound).all():
        return free, kappa
    # dual of the problem without the box: min over nu >= 0 of nu'A A'nu / (2 tau) + nu.(A g / tau + kappa - c)
    gram = jacobian @ jacobian.T / options.weight
    linear = jacobian @ g / options.weight + bound
    nu = _solve(gram, linear, -np.eye(len(values)), np.zeros(len(values)), tolerance)
    if nu is not None:
        d = -(g + jacobian.T @ np.maximum(nu, 0)) / options.weight
        if (np.abs(d) <= options.box).all():
            return d, kappa
    eye = sparse.eye_array(g.size)
    rows = sparse.vstack([jacobian, eye, -eye])
    limits = np.concatenate([bound, np.full(2 * g.size, options.box)])
    boxed = _solve(options.weight * eye, g, rows, limits, tolerance)
    return (np.full(g.shape, math.nan) if boxed is None else boxed), kappa


def _solve(P: Any, q: Array, A: Any, b: Array, tolerance: float) -> Array | None:
    """``min z'Pz / 2 + q'z`` subject to ``A z <= b``, by Clarabel; ``None`` if it does not solve it."""
    try:
        import clarabel
    except ImportError as error:
        raise ConfigError(
            "stochastic_ghost: more than two constraints need Clarabel; install `partialfair[convex]`"
        ) from (error)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    upper, rows = sparse.csc_matrix(sparse.triu(P)), sparse.csc_matrix(A)
    solver = clarabel.DefaultSolver(upper, q, rows, b, [clarabel.NonnegativeConeT(len(b))], settings)
    solution = solver.solve()
    return np.asarray(solution.x) if str(solution.status) in ("Solved", "AlmostSolved") else None


def level_weight(level: int, success: float, largest: int | None = None) -> float:
    """P(N = level); conditional on ``N <= largest`` if that is given."""
    chance = success * (1 - success) ** level
    return chance if largest is None else chance / (1 - (1 - success) ** (largest + 1))
