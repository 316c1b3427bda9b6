"""AUC gaps: ``|AUC(G1, G1') - AUC(G2, G2')| <= kappa`` for four sets of rows, with a surrogate for the indicator.

Source: AUC fairness paper, section 3 and appendix A, Examples 1 to 5. ``AUC(A, B)`` becomes the mean over pairs (i in
A, j in B) of ``sigma(s_i - s_j)``, a difference of convex functions of the scores; with a piecewise-linear sigma all
pair sums take O(n log n). (The quadratic surrogate of the paper, which makes the constraint convex, is in
:mod:`partialfair.algorithms.auc.quadratic_auc`.) Every group in turn is the protected one and the rest are the others;
where that only swaps the sign of the gap, the second group's constraints are left out. All rows count: the interval is
not used, and kappa means the same on either scale.

Values of the option ``between``:

- ``group``: one group ranks above the rest as often as below (Example 1).
- ``inter_group``: positives of either group win against negatives of the other equally often (Example 2).
- ``intra_group``: positives win against negatives of their own group equally often (Example 3).
- ``positive_average``: a group's positives against all positives (Example 4, first part).
- ``negative_average``: a group's negatives against all negatives (Example 4, second part).
- ``bpsn_bnsp``: background positives over subgroup negatives as often as the reverse (Example 5).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.family import Variant, variant
from partialfair.constraints.pair_constraints import PairConstraints
from partialfair.constraints.parts import Constraints, Parts, Vector
from partialfair.constraints.surrogates import Surrogate
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.auc_sets import PRESETS, FourSets, cell_counts, cells_of
from partialfair.data.intervals import Interval, for_groups
from partialfair.kernels.pair_sums import pair_hinge, sorted_pair_sum


def _gap(name: str, preset: str) -> Variant:
    """Return the variant of a preset of sets; kappa has one scale, and the metric bears the variant's name."""
    return Variant(name=name, title=PRESETS[preset].title, violation={"absolute": name, "relative": name})


OPTION = "between"
VARIANTS = {
    "group": _gap(name="auc_gap_group", preset="group"),
    "inter_group": _gap(name="auc_gap_inter_group", preset="inter_group"),
    "intra_group": _gap(name="auc_gap_intra_group", preset="intra_group"),
    "positive_average": _gap(name="auc_gap_positive_average", preset="positive_average"),
    "negative_average": _gap(name="auc_gap_negative_average", preset="negative_average"),
    "bpsn_bnsp": _gap(name="auc_gap_bpsn_bnsp", preset="bpsn_bnsp"),
}
FUSED = False

SIGN_ONLY = ("group", "inter_group", "intra_group")
"""Metrics whose sign alone changes when two groups swap roles."""

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class AUCGap:
    """The family on fixed rows, before a surrogate is chosen.

    Attributes:
        sets: the four sets.
        pairs: for every protected group the rows of (G1, G1') and of (G2, G2'); ``None`` for a set against itself.
        protected: codes of those groups.
        group: (n,) group codes.
        kappa: tolerance.
        start_score: score of the feasible start.
    """

    sets: FourSets
    pairs: tuple[tuple[Pair | None, Pair | None], ...]
    protected: tuple[int, ...]
    group: NDArray[np.int64]
    kappa: float
    start_score: float

    @property
    def start(self) -> Vector:
        """The family has no auxiliary variables."""
        return np.zeros(0)

    def on(self, surrogate: Surrogate) -> Constraints:
        """The constraints with a piecewise-linear surrogate.

        Raises:
            ConfigError: the surrogate is not piecewise linear.
        """
        return AUCGapConstraints.of(self, surrogate, VARIANTS[self.sets.name].name)


@dataclass(frozen=True, eq=False)
class AUCGapConstraints(PairConstraints[AUCGap]):
    """The constraints ``Delta - kappa <= 0`` and ``-Delta - kappa <= 0`` of every protected group."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        title, kappa = self.program.sets.title, self.program.kappa
        pairs = [(f"{title} of group {k} <= {kappa:.4g}", f"... >= -{kappa:.4g}") for k in self.program.protected]
        return tuple(chain.from_iterable(pairs))

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Values and derivatives; O(n log n)."""
        # With AUC(G1, G1') = p1 - q1 and AUC(G2, G2') = p2 - q2, all convex: Delta = upper - lower of the convex
        # upper = p1 + q2 and lower = q1 + p2. The constraints are upper - (lower + kappa), lower - (upper + kappa).
        m, kappa = len(self.program.protected), self.program.kappa
        convex, concave = np.empty((m, 2)), np.empty((m, 2))
        gradients = []
        for i, (first, second) in enumerate(self.program.pairs):
            p1, q1, by_p1, by_q1 = self._share(scores, first)
            p2, q2, by_p2, by_q2 = self._share(scores, second)
            upper, lower = p1 + q2, q1 + p2
            convex[i], concave[i] = (upper, lower), (lower + kappa, upper + kappa)
            gradients.append((by_p1 + by_q2, by_q1 + by_p2))

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            # sum_i a_i f+_i + b_i f-_i = sum over groups of (a1 + b2) upper + (a2 + b1) lower
            weights = a.reshape(m, 2) + b.reshape(m, 2)[:, ::-1]
            residual = np.zeros(scores.size)
            for (upper_weight, lower_weight), (by_upper, by_lower) in zip(weights, gradients, strict=True):
                residual += upper_weight * by_upper + lower_weight * by_lower
            return residual, np.zeros(0)

        return Parts(convex.ravel(), concave.ravel(), pull_back)

    def _share(self, scores: Vector, pair: Pair | None) -> tuple[float, float, Vector, Vector]:
        """Convex functions whose difference is the mean of sigma over the pairs, and their subgradients (n,)."""
        by_plus, by_minus = np.zeros(scores.size), np.zeros(scores.size)
        if pair is None:
            return 0.5, 0.0, by_plus, by_minus
        a, b = (rows[np.argsort(scores[rows], kind="stable")] for rows in pair)
        # sigma(x) = max(s x + u, 0) - max(s x + v, 0); each part is s max(x + u/s, 0), averaged over all pairs
        s, values = self.surrogate.sharpness, []
        scale, ones_a, ones_b = s / (a.size * b.size), np.ones(a.size), np.ones(b.size)
        for shift, out in zip(self.hinges, (by_plus, by_minus), strict=True):
            total, by_a, by_b = sorted_pair_sum(pair_hinge, scores[a], ones_a, scores[b], ones_b, shift / s)
            out[a] += scale * by_a
            out[b] += scale * by_b
            values.append(scale * total)
        return values[0], values[1], by_plus, by_minus

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """Shifts that give all groups the same mean score; a gap within groups does not depend on them."""
        sizes = np.bincount(group)
        means = np.bincount(group, weights=scores) / np.maximum(sizes, 1)
        return float(scores.mean()) - means, np.zeros(0)


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    between: str,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> AUCGap:
    """Build two constraints per protected group.

    Args:
        group: (n,) group codes.
        y: (n,) labels -1 and +1.
        between: a key of :data:`VARIANTS`.
        interval: not used: all rows count.
        kappa: tolerance, a difference of AUCs.
        grid: not used.
        kappa_scale: "relative" or "absolute", which are the same here.

    Raises:
        ConfigError: an unknown gap, or an interval or kappa that cannot be used.
        NotEstimableError: one of the sets has no rows.
    """
    variant(__name__, VARIANTS, OPTION, between)  # refuses an unknown value
    sets, n_groups = PRESETS[between], int(group.max()) + 1
    slack_per_group(for_groups(interval, n_groups), kappa, kappa_scale)  # refuses unusable values
    protected = (0,) if n_groups == 2 and between in SIGN_ONLY else tuple(range(n_groups))
    pairs = []
    for k in protected:
        cells = cells_of(y, group, k)
        sets.require(cell_counts(cells))
        rows = [np.flatnonzero(np.isin(cells, members)) for members in sets.sets]
        # AUC(all, all) = 1/2 whatever the scores: no sum over pairs is needed
        first, second = (None if sets.sets[j] == sets.sets[j + 1] else (rows[j], rows[j + 1]) for j in (0, 2))
        pairs.append((first, second))
    start_score = float(np.mean(y > 0)) - 0.5
    return AUCGap(sets, tuple(pairs), protected, np.asarray(group, np.int64), kappa, start_score)
