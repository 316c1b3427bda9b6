"""Demographic parity with the constraint on distribution functions in place of single atoms.

    |E[t_s(x) sum_{l' <= l} pi_l'(x)]| <= eps_s   for all s, l

bounds the Kolmogorov-Smirnov distance of every group from all rows by eps itself, where the constraint on atoms bounds
it by (2L + 1) eps / 2. Not in the DP post-processing paper (spec: section 8, item 6). The dual is the same with
``D_l = sum_{l' >= l} C_l'``: an L1-regularised smooth problem in C (K, G), whose gradient is the cumulative sum of the
one by D. The last sum is E[t_s] for every predictor, so its multiplier plays no part.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual
from partialfair.algorithms.regression.proximal_newton import DualOptimum

Vector = NDArray[np.float64]


def atomwise(cumulative: Vector) -> Vector:
    """D (K, G) of C (K, G): each atom has the multipliers of all sums that it is part of."""
    return np.ascontiguousarray(np.cumsum(cumulative[:, ::-1], axis=1)[:, ::-1])


@dataclass(frozen=True, eq=False)
class CumulativeDual(Dual):
    """The dual in C; every argument and result of a method that is D in :class:`Dual` is C here."""

    @cached_property
    def bound(self) -> float:
        """A smoothness constant: cumulative sums stretch by at most 2 G / pi + 1."""
        return float(super().bound * (2.0 * self.shape[1] / np.pi + 1.0) ** 2)

    @cached_property
    def shortfall(self) -> float:
        """How far the slacks are from allowing any predictor: the largest ``|mean t_s| - eps_s``."""
        return float((np.abs(self.t.mean(axis=0)) - self.eps).max())

    def probabilities(self, difference: Vector) -> Vector:
        """``pi(l | x)`` (N, G) of C (K, G)."""
        return super().probabilities(atomwise(difference))

    def smooth(self, difference: Vector) -> tuple[float, Vector, Vector]:
        """Mean LSE at C, its gradient - the differences of distribution functions - and the probabilities."""
        value, drift, weights = super().smooth(atomwise(difference))
        return value, np.cumsum(drift, axis=1), weights

    def hessian(self, probabilities: Vector) -> Vector:
        """Second derivative of the mean LSE by C, (K G, K G)."""
        groups, atoms = self.shape
        by_atom = super().hessian(probabilities).reshape(groups, atoms, groups, atoms)
        return np.cumsum(np.cumsum(by_atom, axis=1), axis=3).reshape(groups * atoms, groups * atoms)


def solve(dual: CumulativeDual, start: Vector | None = None, *, tolerance: float = 1e-8) -> DualOptimum:
    """Minimise the dual; of two groups that are opposite, one row is solved for.

    Args:
        dual: the problem.
        start: (K, G) where to begin.
        tolerance: norm of the subgradient to stop at.

    Raises:
        InfeasibleError: no predictor satisfies the constraints.
    """
    row = _tight_row(dual)
    if row is None:
        return proximal_newton.solve(dual, start, tolerance=tolerance, iterations=300, reduce=False)
    single = replace(dual, t=dual.t[:, row : row + 1], eps=dual.eps[row : row + 1])
    begin = None if start is None else start[row : row + 1]
    found = proximal_newton.solve(single, begin, tolerance=tolerance, iterations=300, reduce=False)
    difference = np.zeros(dual.shape)
    difference[row] = found.difference[0]
    return replace(found, difference=difference)


def _tight_row(dual: CumulativeDual) -> int | None:
    """The row whose constraints imply the other's, where there are two and one is a multiple of the other."""
    if dual.shape[0] != 2:
        return None
    norms = np.linalg.norm(dual.t, axis=0)
    if not norms.all() or abs(float(dual.t[:, 0] @ dual.t[:, 1])) < (1 - 1e-12) * norms[0] * norms[1]:
        return None
    return int(np.argmin(dual.eps / norms))
