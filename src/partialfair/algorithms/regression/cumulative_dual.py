"""The dual of :mod:`fair_dual` with a bound on distribution functions instead of one on every atom.

The groups' shares of predictions up to atom l, not those of atom l, are kept close: for all l and s,
``|mean_x sum_{k <= l} pi_k(x) t_s(x)| <= eps_s``. With ``t_s = 1 - tau_s / p_s`` the left side is the distance of group
s's distribution function from that of all rows, so the slack is one of Kolmogorov-Smirnov distance; the bound per atom
allows G / 2 times as much. The multipliers E of these constraints give those of atoms by ``D_l = sum_{k >= l} E_k``,
and everything else is as in the paper (DP post-processing paper, section 3; the change of constraint is ours).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.regression.fair_dual import Dual

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CumulativeDual(Dual):
    """The dual as a function of E (K, G); attributes as in :class:`Dual`, ``eps`` bounds distribution functions."""

    @cached_property
    def shortfall(self) -> float:
        """How far the slacks are from allowing any predictor: the largest ``|mean t_s| - eps_s``."""
        return float((np.abs(self.t.mean(axis=0)) - self.eps).max())

    def probabilities(self, difference: Vector) -> Vector:
        """``pi(l | x)`` (N, G) of E (K, G)."""
        return super().probabilities(per_atom(difference))

    def smooth(self, difference: Vector) -> tuple[float, Vector, Vector]:
        """Mean LSE at E, its gradient (K, G) and the probabilities (N, G)."""
        value, drift, weights = super().smooth(per_atom(difference))
        # D_l = sum_{k >= l} E_k, so that dF/dE_k = sum_{l <= k} dF/dD_l
        return value, np.cumsum(drift, axis=1), weights

    def hessian(self, probabilities: Vector) -> Vector:
        """Second derivative of the mean LSE by E, (K G, K G)."""
        groups, atoms = self.shape
        blocks = super().hessian(probabilities).reshape(groups, atoms, groups, atoms)
        return np.asarray(np.cumsum(np.cumsum(blocks, axis=1), axis=3).reshape(groups * atoms, groups * atoms))


def per_atom(cumulative: Vector) -> Vector:
    """D (K, G) of E (K, G): the sums from the last atom down."""
    return np.asarray(np.cumsum(cumulative[:, ::-1], axis=1)[:, ::-1])
