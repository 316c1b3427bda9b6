"""The dual of risk minimisation under demographic parity on a grid of atoms, with entropic regularisation.

Source: DP post-processing paper, section 3 (Lemma 3.1). With group weights ``t_s(x) = 1 - tau_s(x) / p_s`` and
costs ``r_l(x)`` of predicting atom l, minimise over Lambda, V >= 0, both (K, G),

    F = mean_x LSE_beta((<lambda_l - nu_l, t(x)> - r_l(x))_l) + sum_{l,s} eps_s (lambda_ls + nu_ls).

The predictor of a point is ``pi(l | x) = softmax_l(beta (<lambda_l - nu_l, t(x)> - r_l(x)))``; it depends on
``D = Lambda - V`` alone, and min F = - min of the regularised risk.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.models.grid_predictor import softmax

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual on a finite sample; points are arrays (2, K, G) of Lambda and V.

    Attributes:
        t: (N, K) group weights.
        r: (N, G) costs of the atoms; squared error is one choice, any other gives the same dual.
        eps: (K,) slacks.
        beta: inverse strength of the entropic term.
    """

    t: Vector
    r: Vector
    eps: Vector
    beta: float

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.t)

    @property
    def shape(self) -> tuple[int, int]:
        """Groups and atoms (K, G)."""
        return self.t.shape[1], self.r.shape[1]

    @cached_property
    def bound(self) -> float:
        """A smoothness constant that holds: beta times the mean squared norm of t; Lemma 3.4 has a looser one."""
        return float(self.beta * np.mean(np.sum(self.t**2, axis=1)))

    @cached_property
    def shortfall(self) -> float:
        """How far the slacks are from allowing any predictor: the largest ``|mean t_s| / G - eps_s``.

        ``sum_l mean(pi_l t_s) = mean t_s`` for every predictor. Where this is positive the constraints contradict each
        other and F is unbounded below.
        """
        return float((np.abs(self.t.mean(axis=0)) / self.shape[1] - self.eps).max())

    def probabilities(self, difference: Vector) -> Vector:
        """``pi(l | x)`` (N, G) of D (K, G)."""
        return softmax(self.beta * (self.t @ difference - self.r))

    def value(self, point: Vector) -> float:
        """Objective F, with its term in eps, at a point (2, K, G)."""
        return self.smooth(point[0] - point[1])[0] + float((self.eps[:, None] * point.sum(axis=0)).sum())

    def gradient(self, point: Vector) -> Vector:
        """Derivative of F, (2, K, G)."""
        # equation (10): dF/dlambda_ls = E[pi_l t_s] + eps_s, dF/dnu_ls = -E[pi_l t_s] + eps_s
        drift = self.smooth(point[0] - point[1])[1]
        return np.stack([drift + self.eps[:, None], self.eps[:, None] - drift])

    def smooth(self, difference: Vector) -> tuple[float, Vector, Vector]:
        """Mean LSE at D, its gradient (K, G) - the violations - and the probabilities (N, G)."""
        # (N, G) logits; LSE_beta = (1 / beta) log sum_l exp(beta (...)), the largest logit taken out
        logits = self.beta * (self.t @ difference - self.r)
        top = logits.max(axis=1)
        weights: Vector = np.exp(logits - top[:, None])
        total = weights.sum(axis=1)
        weights /= total[:, None]
        value = float((top + np.log(total)).mean()) / self.beta
        return value, np.asarray(self.t.T @ weights / self.n_rows), weights

    def violations(self, difference: Vector) -> Vector:
        """``U_s(l) = |mean(pi_l t_s)|`` (K, G): by how much a group's share of an atom differs from the overall one."""
        return np.abs(self.smooth(difference)[1])

    def gradient_mapping(self, point: Vector, step: float) -> Vector:
        """``(w - max(w - step grad F(w), 0)) / step``: zero exactly at the minima."""
        # equation (8), with alpha the step
        return np.asarray((point - np.maximum(point - step * self.gradient(point), 0.0)) / step)

    def hessian(self, probabilities: Vector) -> Vector:
        """Second derivative of the mean LSE by D, (K G, K G)."""
        groups, atoms = self.shape
        out = np.empty((groups, atoms, groups, atoms))
        # beta E[t_s t_q (diag(pi) - pi pi')] for every pair of groups, an (G, G) block each; symmetric in (s, q)
        for s in range(groups):
            for q in range(s, groups):
                weighted = probabilities * (self.t[:, s] * self.t[:, q] * (self.beta / self.n_rows))[:, None]
                block = -weighted.T @ probabilities
                block[np.diag_indices(atoms)] += weighted.sum(axis=0)
                out[s, :, q, :] = block
                out[q, :, s, :] = block.T
        return out.reshape(groups * atoms, groups * atoms)

    def with_eps(self, eps: Any) -> "Dual":
        """The same problem at another slack, one number or one per group."""
        return replace(self, eps=np.broadcast_to(np.asarray(eps, np.float64), self.eps.shape).copy())


def split(difference: Vector) -> Vector:
    """The point (2, K, G) of least norm with Lambda - V = D."""
    return np.stack([np.maximum(difference, 0.0), np.maximum(-difference, 0.0)])


def atoms(size: int, bound: float = 1.0) -> Vector:
    """The grid ``l bound / size``, l = -size..size."""
    return np.arange(-size, size + 1, dtype=np.float64) * (bound / size)


def spread(shares: Vector) -> float:
    """``sigma^2 = sum_s (1 - p_s) / p_s``: bounds the variance of a stochastic gradient."""
    return float(((1.0 - shares) / shares).sum())
