"""Loss gaps: the groups' mean log losses differ by at most delta.

Source: Benchmark of stochastic approximation algorithms, Table 1 and equation (4). With ``L_k`` the mean log loss of a
stratum of group k, ``|L_k - L_k'| <= delta`` for every pair of groups, as one constraint for either sign. The templates
of the table are named after notions of parity; losses are bounded, not rates of decisions. A mean log loss is convex in
the scores, so that ``A L - slack`` is a difference of convex functions, and the general path serves this family too.

Values of the option ``notion``:

- ``parity``: over all rows (Table 1, demographic parity).
- ``equal_opportunity``: over the rows with y = +1.
- ``equalized_odds``: the sum over both labels of the differences on the rows of that label; four constraints.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.constraints.family import Variant, variant
from partialfair.constraints.parts import LossConstraints, Parts, Vector
from partialfair.constraints.stratum_means import LossMeans, log_loss, sigmoid
from partialfair.constraints.tolerance import check_tolerance
from partialfair.data.intervals import Interval
from partialfair.errors import NotEstimableError


@dataclass(frozen=True, kw_only=True)
class LossNotion(Variant):
    """A notion of equal losses.

    Attributes:
        labels: strata within a group: ``None`` for all its rows, or a label.
        signs: for each constraint on a pair of groups, the sign of each stratum's difference.
    """

    labels: tuple[float | None, ...]
    signs: tuple[tuple[float, ...], ...]


OPTION = "notion"
VARIANTS = {
    "parity": LossNotion(
        name="loss_parity",
        title="loss parity",
        violation={"absolute": "loss_gap", "relative": "loss_gap"},
        labels=(None,),
        signs=((1.0,), (-1.0,)),
    ),
    "equal_opportunity": LossNotion(
        name="loss_equal_opportunity",
        title="equal opportunity of losses",
        violation={"absolute": "loss_gap_positive", "relative": "loss_gap_positive"},
        labels=(1.0,),
        signs=((1.0,), (-1.0,)),
    ),
    "equalized_odds": LossNotion(
        name="loss_equalized_odds",
        title="equalized odds of losses",
        violation={"absolute": "loss_gap_odds", "relative": "loss_gap_odds"},
        labels=(1.0, -1.0),
        # |a| + |b| <= delta without a kink: +-a +-b <= delta for all signs
        signs=((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)),
    ),
}
FUSED = False
STRATUM_MEANS = True


@dataclass(frozen=True, eq=False)
class LossGaps(LossConstraints):
    """Constraints ``A L <= slack`` on fixed rows.

    Attributes:
        means: the constraints as functions of the strata's mean losses.
        positive: (n,) labels 0/1.
    """

    means: LossMeans
    positive: Vector

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self.means.labels

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Positive entries of A make the convex part, negative ones and the slack the concave part."""
        matrix, average = self.means.matrix, self._average
        # L = average @ loss(scores), loss'(z) = sigmoid(z) - Y;  f+ = A+ L,  f- = A- L + slack
        losses = average @ log_loss(scores, self.positive)
        slope = sigmoid(scores) - self.positive
        convex, concave = np.maximum(matrix, 0), np.maximum(-matrix, 0)

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            return (average.T @ (a @ convex + b @ concave)) * slope, np.zeros(0)

        return Parts(convex @ losses, concave @ losses + self.means.slack, pull_back)

    @property
    def _average(self) -> sparse.csr_array:
        """(S, n) matrix that takes means over the rows of each stratum."""
        stratum = self.means.row_stratum
        rows = np.flatnonzero(stratum >= 0)
        counts = np.bincount(stratum[rows], minlength=self.means.n_strata)
        entries = (1.0 / counts[stratum[rows]], (stratum[rows], rows))
        return sparse.csr_array(entries, shape=(self.means.n_strata, stratum.size))


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    notion: str,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> LossGaps:
    """Build the constraints on every pair of groups k < k'.

    Args:
        group: (n,) group codes.
        y: (n,) labels -1 and +1.
        notion: a key of :data:`VARIANTS`.
        interval: not used: all rows count.
        kappa: tolerance delta, a difference of losses.
        grid: not used.
        kappa_scale: not used: there is no interval to be relative to.

    Raises:
        ConfigError: an unknown notion, or a tolerance or scale that cannot be used.
        NotEstimableError: a stratum has no rows.
    """
    shape = variant(__name__, VARIANTS, OPTION, notion)
    check_tolerance(kappa, kappa_scale)
    n_groups, labels = int(group.max()) + 1, shape.labels
    row_stratum = np.full(group.size, -1, np.int64)
    for stratum, (label, code) in enumerate(product(labels, range(n_groups))):
        inside = (group == code) if label is None else (group == code) & (y == label)
        if not inside.any():
            suffix = "" if label is None else f" with label {label:+.0f}"
            raise NotEstimableError(f"group {code}: no rows{suffix}, so its mean loss is not defined")
        row_stratum[inside] = stratum
    # A row of A for each pair of groups k < m and each combination of signs s: sum_i s_i (L_ik - L_im) <= delta
    rows, names = [], []
    for k, m in combinations(range(n_groups), 2):
        for signs in shape.signs:
            row = np.zeros((len(labels), n_groups))
            row[:, k], row[:, m] = signs, -np.asarray(signs)
            rows.append(row.ravel())
            names.append(_name(k, m, labels, signs, kappa))
    means = LossMeans(np.array(rows), float(kappa), row_stratum, tuple(names))
    return LossGaps(means, (y > 0).astype(np.float64))


def _name(k: int, m: int, labels: tuple[float | None, ...], signs: tuple[float, ...], kappa: float) -> str:
    """Name of the constraint on a pair of groups with given signs."""
    differences = []
    for label, sign in zip(labels, signs, strict=True):
        first, second = (k, m) if sign > 0 else (m, k)
        suffix = "" if label is None else f" (y = {label:+.0f})"
        differences.append(f"loss of group {first} - loss of group {second}{suffix}")
    return f"{' + '.join(differences)} <= {kappa:.4g}"
