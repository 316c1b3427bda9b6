"""The best mixture of decisions whose rates are to agree: a linear program, and its solution for two groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Vector = NDArray[np.float64]
USED = 1e-9
"""Probabilities up to this count as zero."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of decisions.

    Attributes:
        used: (m,) places of the decisions that have a probability.
        shares: (m,) their probabilities.
        errors: expected share of wrong decisions.
        multipliers: (S, G) Lagrange multipliers of the rates.
    """

    used: NDArray[np.int64]
    shares: Vector
    errors: float
    multipliers: Vector


def best_mixture(errors: Vector, rates: Vector, kappa: float) -> Mixture:
    """The mixture with the fewest errors among those whose rates differ by at most kappa in every stratum.

    Args:
        errors: (J,) share of wrong decisions of each; some decision has equal rates.
        rates: (J, S, G) by stratum and group.
        kappa: largest difference, not negative.
    """
    if rates.shape[1:] == (1, 2):
        return of_two_rates(errors, rates[:, 0, 0] - rates[:, 0, 1], kappa)
    return of_many_rates(errors, rates, kappa)


def of_two_rates(errors: Vector, gaps: Vector, kappa: float) -> Mixture:
    """The program of two groups and one rate, whose decisions are points (J,) in the plane of gaps and errors.

    The mixtures with the fewest errors at each gap are the lower hull of these points. On ACS income of one state (9
    columns) the general solver took a fifth of a fit.
    """
    hull = _lower_hull(gaps, errors)
    x, y = gaps[hull], errors[hull]
    best = int(np.argmin(y))
    bound = float(np.clip(x[best], -kappa, kappa))
    if bound == x[best]:
        return Mixture(hull[best : best + 1], np.ones(1), float(y[best]), np.zeros((1, 2)))
    # Segment j joins vertices j - 1 and j; of two that meet at the bound the one towards the fewest errors counts.
    j = int(np.searchsorted(x, bound, side="right" if x[best] > bound else "left"))
    slope = (y[j] - y[j - 1]) / (x[j] - x[j - 1])
    share = (bound - x[j - 1]) / (x[j] - x[j - 1])
    shares = np.array([1 - share, share])
    used = shares > USED
    value = float(shares @ y[j - 1 : j + 1])
    return Mixture(hull[j - 1 : j + 1][used], shares[used] / shares[used].sum(), value, np.array([[-slope, slope]]))


def _lower_hull(x: Vector, y: Vector) -> NDArray[np.int64]:
    """Places of the vertices of the lower hull of points (J,), from left to right (Andrew's monotone chain)."""
    hull: list[int] = []
    for new in np.lexsort((y, x)).tolist():
        if hull and x[new] == x[hull[-1]]:
            continue  # above the point that stands there
        while len(hull) > 1 and _above_line(x, y, hull[-2], hull[-1], new):
            hull.pop()
        hull.append(new)
    return np.array(hull)


def _above_line(x: Vector, y: Vector, start: int, mid: int, end: int) -> bool:
    """Whether the middle one of three points lies on or above the line through the others."""
    return bool((y[mid] - y[start]) * (x[end] - x[start]) >= (y[end] - y[start]) * (x[mid] - x[start]))


def of_many_rates(errors: Vector, rates: Vector, kappa: float) -> Mixture:
    """The program of any number of groups and strata: with levels z_s, ``z_s <= r_sk <= z_s + kappa``."""
    n, strata, groups = rates.shape
    upper = np.zeros((strata, groups, n + strata))
    upper[:, :, :n] = rates.transpose(1, 2, 0)
    upper[np.arange(strata), :, n + np.arange(strata)] = -1.0
    table = upper.reshape(strata * groups, -1)
    solution = linprog(
        np.concatenate([errors, np.zeros(strata)]),
        A_ub=np.vstack([table, -table]),
        b_ub=np.concatenate([np.full(len(table), kappa), np.zeros(len(table))]),
        A_eq=np.concatenate([np.ones(n), np.zeros(strata)])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)] * strata,
        method="highs-ds",
    )
    prices = -np.asarray(solution.ineqlin.marginals)
    multipliers = (prices[: len(table)] - prices[len(table) :]).reshape(strata, groups)
    shares = solution.x[:n]
    used = np.flatnonzero(shares > USED)
    return Mixture(used, shares[used] / shares[used].sum(), float(solution.fun), multipliers)
