"""Constraints on score pairs of two subsets, from the means and covariances of their rows.

With the surrogate ``sigma(x) = (1 + x)^2 / 2`` of ``1[x > 0]`` (Partial fairness paper, appendix G.3, the Group AUC,
Inter-group and Intra-group baselines), the mean over all pairs (i in a, j in b) of a linear score is

    E sigma(s_i - s_j) = ((1 + m_a - m_b)^2 + v_a + v_b) / 2

with the mean m and the (population) variance v of the scores of a subset. So a constraint is a convex quadratic
of the weights, made of ``m = mu . u`` and ``v = u' C u``; the n_a * n_b pairs never appear.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.gram import gram, mirrored
from partialfair.models.design import GroupedDesign

Vector = NDArray[np.float64]
Pair = tuple[int, int]


def subsets_by_group(group: NDArray[np.integer], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One subset per group: subset of every row (n,), group of every subset (G,)."""
    return group.astype(np.int64), np.arange(n_groups)


def subsets_by_class(
    group: NDArray[np.integer], y: Vector, n_groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two subsets per group k: 2k holds its negatives, 2k+1 its positives. See :func:`subsets_by_group`."""
    return 2 * group.astype(np.int64) + (y > 0), np.repeat(np.arange(n_groups), 2)


@dataclass(frozen=True, eq=False)
class PairwiseMoments:
    """The m constraints ``sum over pairs (a, b) of (E sigma(s_a - s_b) - 1/2) <= kappa``.

    Points are the weights that each group sees, u (G, d+1), intercept first.

    Attributes:
        mean: (S, d+1) mean row of every subset, 1 for the intercept.
        covariance: (S, d+1, d+1) their population covariances.
        subset_group: (S,) group of every subset.
        pairs: m lists of pairs (a, b) of subsets.
        kappa: the tolerance.
        labels: m texts that name the constraints.
    """

    mean: Vector
    covariance: Vector
    subset_group: NDArray[np.int64]
    pairs: tuple[tuple[Pair, ...], ...]
    kappa: float
    labels: tuple[str, ...]

    @classmethod
    def build(
        cls, design: GroupedDesign, pairs: Sequence[Sequence[Pair]], kappa: float, labels: Sequence[str]
    ) -> "PairwiseMoments":
        """Compute the moments of the design's subsets, in one pass over the rows' non-zeros (n d^2 at most)."""
        mean, covariance = subset_moments(design)
        return cls(mean, covariance, design.subset_group, tuple(map(tuple, pairs)), kappa, tuple(labels))

    @property
    def n_constraints(self) -> int:
        """Number of constraints, m."""
        return len(self.pairs)

    def score_moments(self, u: Vector) -> tuple[Vector, Vector]:
        """Mean and variance (S,) of the scores of every subset."""
        # m_s = mu_s . u_g and v_s = u_g' C_s u_g of every subset s, g its group
        of_group = u[self.subset_group]
        return np.einsum("sj,sj->s", self.mean, of_group), np.einsum(
            "si,sij,sj->s", of_group, self.covariance, of_group, optimize=True
        )

    def values(self, u: Vector) -> Vector:
        """Constraint values (m,); the constraints hold where none is positive."""
        # sum of (E sigma(s_a - s_b) - 1/2) - kappa, with sigma of equation (103), for the constraints of (102), (105)
        # and (107)
        m, v = self.score_moments(u)
        return np.array(
            [sum(((1 + m[a] - m[b]) ** 2 + v[a] + v[b] - 1) / 2 for a, b in pairs) - self.kappa for pairs in self.pairs]
        )

    def jacobian(self, u: Vector) -> Vector:
        """Derivatives of the constraints by the weights each group sees, (m, G, d+1)."""
        m = np.einsum("sj,sj->s", self.mean, u[self.subset_group])
        spread = np.einsum("sij,sj->si", self.covariance, u[self.subset_group])
        out = np.zeros((self.n_constraints, *u.shape))
        for i, pairs in enumerate(self.pairs):
            for a, b in pairs:
                # derivative of ((1 + m_a - m_b)^2 + v_a + v_b) / 2: by u_a, gap mu_a + C_a u_a; by u_b, -gap mu_b + C_b
                # u_b
                gap = 1 + m[a] - m[b]
                out[i, self.subset_group[a]] += gap * self.mean[a] + spread[a]
                out[i, self.subset_group[b]] += spread[b] - gap * self.mean[b]
        return out

    def hessian(self, multipliers: Vector) -> Vector:
        """Hessian of ``sum_i multipliers_i f_i``, (G, d+1, G, d+1); it is the same at every point."""
        groups, width = int(self.subset_group.max()) + 1, self.mean.shape[1]
        out = np.zeros((groups, width, groups, width))
        for weight, pairs in zip(multipliers, self.pairs, strict=True):
            for a, b in pairs:
                # d d' with d = mu_a in the block of a's group minus mu_b in that of b's, plus both covariances
                direction = np.zeros((groups, width))
                direction[self.subset_group[a]] += self.mean[a]
                direction[self.subset_group[b]] -= self.mean[b]
                used = sorted({int(self.subset_group[a]), int(self.subset_group[b])})
                for g in used:
                    for h in used:
                        out[g, :, h, :] += weight * np.outer(direction[g], direction[h])
                for s in (a, b):
                    g = self.subset_group[s]
                    out[g, :, g, :] += weight * self.covariance[s]
        return out


def subset_moments(design: GroupedDesign) -> tuple[Vector, Vector]:
    """Mean rows (S, d+1) and population covariances (S, d+1, d+1) of the design's subsets; empty ones get 0."""
    counts = np.diff(design.starts)
    n_subsets, width = counts.size, design.n_features + 2
    # S_s = mean of (1, x)(1, x)': its first row is the mean row, and C_s = S_s - mu_s mu_s'
    second_moments = np.zeros((n_subsets, width, width))
    ones, dense, dense_columns, starts, _ = design.plain_arrays
    gram(ones, dense, dense_columns, starts, np.arange(n_subsets), np.ones(design.n_rows), second_moments)
    second_moments = mirrored(second_moments[:, :-1, :-1] / np.maximum(counts, 1)[:, None, None])
    mean = second_moments[:, 0, :].copy()
    return mean, second_moments - mean[:, :, None] * mean[:, None, :]
